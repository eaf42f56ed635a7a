//! Hosts: those whose one processor works on every packet that is sent or received, and [threads](Thread).

use crate::Pdu;
use crate::parts::packet::EndpointId;
use crate::parts::thread::Thread;
use crate::processing::Processing;
use std::collections::VecDeque;
use thalweg_proto::units::Duration;

/// Packets that wait for a host's processor; further ones are dropped.
pub(crate) const MAX_WAITING: usize = 1 << 16;

/// The job that a processor is working on.
#[derive(Debug)]
pub(crate) enum Job {
    Receive { endpoint: EndpointId, packet: u32 },
    Send { endpoint: EndpointId, pdu: Pdu },
}

/// A host that is not ideal.
#[derive(Debug)]
pub(crate) enum Host {
    /// Of a node, and of all endpoints there.
    Processor(Processor),
    /// Of one end of a flow.
    Thread(Box<Thread>),
    /// A real one, outside of the simulation: it gets what arrives, and sends of its own accord.
    Outside,
}

impl Host {
    /// The host as it stands in for itself where another part of the run has it: it has nothing to do, at the same cost.
    pub fn stand_in(&self) -> Self {
        match self {
            Self::Processor(processor) => Self::Processor(Processor::new(processor.processing)),
            Self::Thread(thread) => Self::Thread(Box::new(thread.stand_in())),
            Self::Outside => Self::Outside,
        }
    }

    /// The time for which it works on a packet of `size` bytes.
    pub fn cost(&self, size: u32) -> Duration {
        match self {
            Self::Processor(processor) => processor.cost(size),
            Self::Thread(thread) => thread.spec().cost(size),
            Self::Outside => Duration::ZERO,
        }
    }
}

/// A processor that needs time for each packet. Work waits in three lines: received answers (what a receiver of data sends:
/// acknowledgements, reports; and routers' messages), endpoints that want to send, and what senders of data sent; the
/// first that is not empty is served. Work and transmission overlap: the transmitter has
/// a queue of its own.
#[derive(Debug)]
pub(crate) struct Processor {
    processing: Processing,
    pub job: Option<Job>,
    pub control: VecDeque<(EndpointId, u32)>,
    pub ready: VecDeque<EndpointId>,
    pub data: VecDeque<(EndpointId, u32)>,
}

impl Processor {
    pub fn new(processing: Processing) -> Self {
        Self {
            processing,
            job: None,
            control: VecDeque::new(),
            ready: VecDeque::new(),
            data: VecDeque::new(),
        }
    }

    pub(crate) fn cost(&self, size: u32) -> Duration {
        self.processing.cost(size)
    }
}
