//! The router of SEIF, synchronous control by explicit and implicit feedback (Liang 1991, chapter 3).
//!
//! The router notifies all sources of a queue at once, before the queue overflows. All sources then reduce their
//! windows at the same time, and share the link fairly.
//!
//! | thesis | here | reason | effect |
//! | --- | --- | --- | --- |
//! | the threshold is "reached" | the queue is above the threshold after an arrival was stored, and is ready again below it | reproduces its tables best | at most one packet |
//! | the queue's length | queued packets, without the one in service | the same | one packet |
//! | the response time is estimated | a parameter, plus the transmission time of queued packets | a router has no way to measure it | dynamic policy only |
//! | the arrival rate is estimated | the mean of the last second | no method is given | dynamic policy only |
//! | the dynamic policy's filter | ready again when the rule does not hold | the policy has no threshold | dynamic policy only |
//! | the reacting policy's filter | owners of dropped packets are always notified, other sources only if the filter is ready; it is ready again below the threshold | both rules of the text hold | how often other sources are notified |

use super::arrival_rate::Arrivals;
use super::seif_message_limit::MessageLimit;
use super::source_table::{SourceState, Sources};
use super::{ArrivalOutcome, FlowId, Message, PassingPacket, Policy, SeifPolicy, SeifSpec, Source, View};
use crate::Limit;

/// SEIF router at one output queue.
///
/// - When its policy triggers (a drop, a queue above the threshold, or expected arrivals above the free buffer), every
///   source in the table gets a message without a number.
/// - The owner of a dropped packet always gets a message with its number, instead of the other message.
/// - With the filter, there is no second warning before the congestion has ended.
#[derive(Clone, Debug)]
pub struct Seif {
    spec: SeifSpec,
    limit: Limit,
    sources: Sources,
    /// True if sources were warned, and the congestion has not ended since.
    has_warned: bool,
    /// Arrival-rate estimate of the dynamic policy.
    arrivals: Option<Box<Arrivals>>,
    /// Limit on messages, if configured.
    overhead: Option<Box<MessageLimit>>,
    /// Largest packet so far, in bytes: the slot size of a buffer that counts packets.
    largest: u32,
}

impl Seif {
    /// Creates a policy for an empty queue with this limit.
    pub fn new(spec: &SeifSpec, limit: Limit) -> Self {
        let arrivals = match spec.policy {
            SeifPolicy::Dynamic { window, .. } => Some(Box::new(Arrivals::new(window))),
            SeifPolicy::Reacting | SeifPolicy::Static => None,
        };
        let sources = Sources::new(spec.routing_interval);
        let overhead = spec.overhead.map(|limit| Box::new(MessageLimit::new(limit)));
        Self { spec: *spec, limit, sources, has_warned: false, arrivals, overhead, largest: 0 }
    }

    /// Returns the queue length minus the threshold, in the unit of the buffer. An unlimited buffer has no threshold.
    fn excess(&self, view: &View) -> f64 {
        match self.limit {
            Limit::Packets(limit) => view.packets as f64 - self.spec.threshold_share * limit as f64,
            Limit::Bytes(limit) => view.bytes as f64 - self.spec.threshold_share * limit as f64,
            Limit::Unlimited => f64::NEG_INFINITY,
        }
    }

    /// Evaluates the dynamic rule (Liang 1991, section 3.2): `(lambda - mu) * dt > alpha * b`, in bytes and seconds.
    fn predicts_overflow(&mut self, view: &View) -> bool {
        let (SeifPolicy::Dynamic { alpha, response_time, .. }, Some(arrivals)) =
            (self.spec.policy, &mut self.arrivals)
        else {
            return false;
        };
        let free = match self.limit {
            Limit::Packets(limit) => limit.saturating_sub(view.packets) as f64 * f64::from(self.largest),
            Limit::Bytes(limit) => limit.saturating_sub(view.bytes) as f64,
            Limit::Unlimited => return false,
        };
        let (lambda, mu) = (arrivals.rate(view.now), view.rate.as_f64() / 8.0);
        if lambda <= mu {
            return false;
        }
        let waiting = if mu > 0.0 { view.bytes as f64 / mu } else { f64::INFINITY };
        (lambda - mu) * (response_time.as_secs_f64() + waiting) > alpha * free
    }

    /// Re-arms the policy once the congestion has ended.
    fn recover(&mut self, view: &View) {
        if !self.has_warned {
            return;
        }
        let well = match self.spec.policy {
            SeifPolicy::Reacting | SeifPolicy::Static => self.excess(view) < 0.0,
            SeifPolicy::Dynamic { .. } => !self.predicts_overflow(view),
        };
        if well {
            self.has_warned = false;
            self.sources.iter(view.now).for_each(|(_, known)| known.informed = false);
        }
    }

    /// Returns true for a source within reach of messages.
    fn reaches(&self, hops: u32) -> bool {
        self.spec.max_links.is_none_or(|reach| hops <= reach)
    }

    /// Notifies the owners of dropped packets.
    fn notify_owners(&mut self, view: &View, dropped: &[PassingPacket], messages: &mut Vec<Message>) {
        for packet in dropped {
            let Some(source) = packet.source.filter(|source| self.reaches(source.hops)) else { continue };
            if self.overhead.as_mut().is_none_or(|overhead| overhead.spend_on_message(view, source.hops)) {
                let growth =
                    self.overhead.as_ref().and_then(|overhead| overhead.windows_per_packet_of_growth());
                messages.push(Message { growth, ..Message::new(source.flow, packet.sequence) });
            }
        }
    }

    /// Notifies all other sources; owners of dropped packets get a separate message.
    fn warn(&mut self, view: &View, dropped: &[PassingPacket], messages: &mut Vec<Message>) {
        self.has_warned = true;
        let (reach, mark) = (self.spec.max_links, self.spec.mark);
        let is_owner =
            |flow| dropped.iter().any(|packet| packet.source.is_some_and(|owner: Source| owner.flow == flow));
        let is_due = |known: &SourceState| {
            reach.is_none_or(|reach| known.hops <= reach) && !(mark && known.is_notified)
        };
        let mut growth = None;
        let mut farthest = None;
        if let Some(overhead) = &mut self.overhead {
            let due = self.sources.iter(view.now).filter(|(flow, known)| is_due(known) && !is_owner(*flow));
            let mut targets: Vec<(u32, FlowId)> = due.map(|(flow, known)| (known.hops, flow)).collect();
            // The nearest first.
            targets.sort_unstable();
            let permitted = overhead.on_warning(view, targets.iter().map(|(hops, _)| *hops));
            farthest = Some(permitted.checked_sub(1).and_then(|last| targets.get(last).copied()));
            growth = overhead.windows_per_packet_of_growth();
        }
        for (flow, known) in self.sources.iter(view.now) {
            if !is_due(known) {
                continue;
            }
            if is_owner(flow) {
                known.informed = true;
            } else if farthest.is_none_or(|last| last.is_some_and(|last| (known.hops, flow) <= last)) {
                known.informed = true;
                messages.push(Message { growth, ..Message::new(flow, None) });
            }
        }
    }

    /// Removes dropped packets from the table.
    fn forget(&mut self, dropped: &[PassingPacket]) {
        for source in dropped.iter().filter_map(|packet| packet.source) {
            self.sources.leave(source.flow);
        }
    }

    fn may_warn(&self) -> bool {
        !self.spec.filter || !self.has_warned
    }
}

/// Returns true if something other than messages was dropped.
fn is_loss(dropped: &[PassingPacket]) -> bool {
    dropped.iter().any(|packet| !packet.message)
}

impl Policy for Seif {
    fn on_arrival(
        &mut self,
        view: &View,
        arrival: &PassingPacket,
        outcome: ArrivalOutcome,
        dropped: &[PassingPacket],
        messages: &mut Vec<Message>,
    ) -> bool {
        self.largest = self.largest.max(arrival.size);
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.add(view.now, arrival.size);
        }
        if let Some(source) = arrival.source {
            // A dropped arrival counts as queued until it is removed with the others.
            self.sources.arrive(view.now, source, outcome != ArrivalOutcome::InService);
        }
        self.forget(dropped);
        self.recover(view);
        // An arriving message, enqueued or dropped, causes no further messages.
        let stored = outcome == ArrivalOutcome::Waits && !arrival.message;
        let is_triggered = match self.spec.policy {
            SeifPolicy::Reacting => is_loss(dropped),
            SeifPolicy::Static => stored && self.excess(view) > 0.0,
            SeifPolicy::Dynamic { .. } => stored && self.predicts_overflow(view),
        };
        self.notify_owners(view, dropped, messages);
        if is_triggered && self.may_warn() {
            self.warn(view, dropped, messages);
        }
        false
    }

    fn on_departure(
        &mut self,
        view: &View,
        departure: Option<&PassingPacket>,
        dropped: &[PassingPacket],
        messages: &mut Vec<Message>,
    ) -> bool {
        let source = departure.and_then(|packet| packet.source);
        let mut mark = false;
        if let Some(source) = source {
            self.sources.leave(source.flow);
            mark = self.spec.mark && self.sources.get(source.flow).is_some_and(|known| known.informed);
        }
        self.forget(dropped);
        self.recover(view);
        self.notify_owners(view, dropped, messages);
        if self.spec.policy == SeifPolicy::Reacting && is_loss(dropped) && self.may_warn() {
            self.warn(view, dropped, messages);
        }
        mark
    }
}
