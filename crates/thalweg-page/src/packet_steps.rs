//! Steps of packets, for a run that is followed packet by packet.

use serde::Serialize;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use thalweg_proto::pdu::DataUnit as _;
use thalweg_sim::packet_trace::{Record, Step, Tracer};

/// Maximum number of steps that are kept until they are taken; older ones are discarded.
const MAX_KEPT: usize = 500;

/// A step of a packet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PacketStep {
    /// Time in seconds.
    pub time: f64,
    /// The step.
    pub step: &'static str,
    /// Position of the link direction among the run's transmitters; `None` at endpoints.
    pub link: Option<u32>,
    /// Position of the flow.
    pub flow: u32,
    /// True for packets from the receiver to the sender.
    pub backward: bool,
    /// Size on the wire in bytes.
    pub size: u32,
    /// The PDU, with its own numbers.
    pub label: String,
    /// True for a packet with data.
    pub data: bool,
}

/// The steps since they were last taken.
#[derive(Debug, Default)]
pub struct KeptSteps {
    steps: VecDeque<PacketStep>,
    /// Number of steps that were discarded.
    omitted: u64,
}

/// The tracer of a run: records steps if it is on.
#[derive(Clone, Debug)]
pub struct Steps(Option<Rc<RefCell<KeptSteps>>>);

impl Steps {
    /// Returns a tracer that records, or one that does not and costs nothing.
    pub fn new(is_on: bool) -> Self {
        Self(is_on.then(Rc::default))
    }

    /// Takes the steps since the last call, and the number of older ones that were discarded.
    pub fn take(&self) -> (Vec<PacketStep>, u64) {
        let Some(kept) = &self.0 else { return (Vec::new(), 0) };
        let kept = kept.take();
        (kept.steps.into(), kept.omitted)
    }

    /// Returns true if no step was recorded since the last call of [`take`](Self::take).
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|kept| kept.borrow().steps.is_empty())
    }
}

impl Tracer for Steps {
    fn is_enabled(&self) -> bool {
        self.0.is_some()
    }

    fn record(&mut self, record: &Record<'_>) {
        let Some(kept) = &self.0 else { return };
        let mut kept = kept.borrow_mut();
        if kept.steps.len() == MAX_KEPT {
            kept.steps.pop_front();
            kept.omitted += 1;
        }
        kept.steps.push_back(PacketStep {
            time: record.time.as_secs_f64(),
            step: step_name(record.step),
            link: (record.link_direction != u32::MAX).then_some(record.link_direction),
            flow: record.flow,
            backward: record.packet.backward,
            size: record.size,
            label: record.pdu.label(),
            data: record.pdu.payload_len().is_some(),
        });
    }
}

const fn step_name(step: Step) -> &'static str {
    match step {
        Step::Sent => "sent",
        Step::Queued => "queued",
        Step::Transmitted => "transmitted",
        Step::Arrived => "arrived",
        Step::Dropped => "dropped",
        Step::Filtered => "filtered",
        Step::Lost => "lost",
        Step::Corrupted => "corrupted",
        Step::Duplicated => "duplicated",
        Step::Delivered => "delivered",
    }
}
