//! Hosts: single processors that handle every packet sent or received, and [threads](Thread).

use crate::Pdu;
use crate::components::endpoint_thread_model::Thread;
use crate::components::packet_pool::EndpointIndex;
use crate::processing_cost::Processing;
use std::collections::VecDeque;
use thalweg_proto::units::Duration;

/// Maximum number of packets waiting for a host's processor; more are dropped.
pub(crate) const MAX_WAITING: usize = 1 << 16;

/// The current job of a processor.
#[derive(Debug)]
pub(crate) enum Job {
    Receive { endpoint: EndpointIndex, packet: u32 },
    Send { endpoint: EndpointIndex, pdu: Pdu },
}

/// A non-ideal host.
#[derive(Debug)]
pub(crate) enum Host {
    /// The processor of a node, shared by all endpoints there.
    Processor(Processor),
    /// The thread of one endpoint of a flow.
    Thread(Box<Thread>),
    /// A real host outside the simulation: it receives what arrives, and sends on its own.
    Outside,
}

impl Host {
    /// Returns the placeholder for a host of another partition: idle, at the same cost.
    pub fn placeholder(&self) -> Self {
        match self {
            Self::Processor(processor) => Self::Processor(Processor::new(processor.processing)),
            Self::Thread(thread) => Self::Thread(Box::new(thread.placeholder())),
            Self::Outside => Self::Outside,
        }
    }

    /// Returns the processing time of a packet of `size` bytes.
    pub fn cost(&self, size: u32) -> Duration {
        match self {
            Self::Processor(processor) => processor.cost(size),
            Self::Thread(thread) => thread.spec().cost(size),
            Self::Outside => Duration::ZERO,
        }
    }
}

/// A processor that takes time for each packet. It serves three queues in order of priority: received answers (from
/// data receivers: acknowledgements, reports; and routers' messages), endpoints with something to send, and packets
/// received from data senders. Processing and transmission overlap: the transmitter has its own queue.
#[derive(Debug)]
pub(crate) struct Processor {
    processing: Processing,
    pub job: Option<Job>,
    pub control: VecDeque<(EndpointIndex, u32)>,
    pub ready_endpoints: VecDeque<EndpointIndex>,
    pub data: VecDeque<(EndpointIndex, u32)>,
}

impl Processor {
    pub fn new(processing: Processing) -> Self {
        Self {
            processing,
            job: None,
            control: VecDeque::new(),
            ready_endpoints: VecDeque::new(),
            data: VecDeque::new(),
        }
    }

    pub(crate) fn cost(&self, size: u32) -> Duration {
        self.processing.cost(size)
    }
}
