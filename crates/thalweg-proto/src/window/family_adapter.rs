//! The window transport's implementation of the family-independent interfaces of PDUs and endpoints.

use super::{AnySender, Pdu, Receiver, Sender, wire};
use crate::Ecn;
use crate::congestion::{CongestionState, Controller};
use crate::data_unit_numbers::numbers_below;
use crate::endpoint::{End, EndCounters, Notice};
use crate::payload::{Payload, Slice};
use crate::pdu::{DataUnit, Wire};
use crate::transport::{Limit, ReceiverCounts, SenderStats};
use crate::units::{Duration, Time};
use core::ops::Range;

impl<P: Payload> DataUnit<P> for Pdu<P> {
    fn payload(&self) -> Option<&P> {
        match self {
            Self::Segment(segment) => Some(&segment.payload),
            Self::Ack(_) => None,
        }
    }

    fn data(&self, _near: u64) -> Option<Range<u64>> {
        match self {
            Self::Segment(segment) => Some(segment.sequence..segment.end()),
            Self::Ack(_) => None,
        }
    }

    fn acknowledged(&self, _near: u64) -> Option<Vec<Range<u64>>> {
        let Self::Ack(ack) = self else { return None };
        let at = |offset: u32| ack.cumulative.saturating_add(u64::from(offset));
        let blocks = ack.sack.iter().filter(|block| !block.is_empty());
        let held = blocks.map(|block| at(block.start)..at(block.end));
        Some(numbers_below(ack.cumulative).chain(held).collect())
    }

    fn ecn(&self) -> Option<Ecn> {
        matches!(self, Self::Segment(segment) if segment.not_ect).then_some(Ecn::NotEct)
    }

    fn label(&self) -> String {
        match self {
            Self::Segment(segment) => format!("segment {}..{}", segment.sequence, segment.end()),
            Self::Ack(ack) => {
                let blocks = ack.sack.iter().filter(|block| !block.is_empty());
                let at = |offset: u32| ack.cumulative.saturating_add(u64::from(offset));
                let held: Vec<String> =
                    blocks.map(|block| format!("{}..{}", at(block.start), at(block.end))).collect();
                let held = if held.is_empty() { held.join("") } else { format!(" sack {}", held.join(" ")) };
                format!("ack {}{held}", ack.cumulative)
            }
        }
    }

    fn description(&self) -> String {
        match self {
            Self::Segment(_) => self.label(),
            Self::Ack(ack) => format!("{}, window {}", self.label(), ack.window),
        }
    }
}

impl Wire for Pdu<Slice> {
    #[inline]
    fn encode(&self, to: &mut Vec<u8>) {
        wire::encode(self, to);
    }

    #[inline]
    fn decode(bytes: Slice) -> Option<Self> {
        wire::decode(bytes).ok()
    }
}

/// Implements the methods of a sender of any controller type: `$sender` gives access to it.
macro_rules! sender {
    ($self:ident => $sender:expr) => {
        fn sender_stats(&$self, now: Time) -> Option<SenderStats> {
            Some($sender.stats(now).common)
        }

        fn take_rtt(&mut $self) -> Option<Duration> {
            $sender.take_rtt()
        }

        fn congestion_state(&$self) -> Option<CongestionState> {
            $sender.congestion_state()
        }

        fn backlog(&$self) -> u64 {
            $sender.backlog()
        }

        fn limit(&$self) -> Option<Limit> {
            $sender.limit()
        }

        fn counters(&$self, now: Time) -> EndCounters {
            EndCounters { mark_cuts: $sender.stats(now).mark_cuts, ..EndCounters::default() }
        }

        fn takes_batches(&self) -> bool {
            true
        }

        fn follows_path(&self) -> bool {
            true
        }
    };
}

/// For a built-in controller, the owner that knows its type implements the path change.
impl<P: Payload, C: Controller> End for Sender<P, C> {
    sender!(self => self);

    fn notify(&mut self, notice: Notice) {
        match notice {
            Notice::Opened { rtt, timeout } => self.opened(rtt, timeout),
            Notice::Segment(bytes) => self.set_segment(bytes),
            Notice::Silence(now) => self.await_timer(now),
            _ => {}
        }
    }
}

impl<P: Payload> End for Box<dyn AnySender<P>> {
    sender!(self => (**self));

    fn notify(&mut self, notice: Notice) {
        (**self).notify(notice);
    }
}

impl<P: Payload> End for Receiver<P> {
    fn receiver_counts(&self) -> ReceiverCounts {
        self.counts()
    }

    fn takes_batches(&self) -> bool {
        true
    }

    fn window(&self) -> Option<u64> {
        Some(self.window())
    }

    fn counters(&self, _now: Time) -> EndCounters {
        EndCounters { duplicates: self.stats().duplicates, ..EndCounters::default() }
    }

    fn notify(&mut self, notice: Notice) {
        if let Notice::Window(bytes) = notice {
            self.set_window(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::Length;
    use crate::window::{Ack, SackBlock};

    #[test]
    fn sack_blocks_count_as_acknowledged() {
        let mut ack = Ack { cumulative: 5000, ..Ack::default() };
        ack.sack[0] = SackBlock { start: 1000, end: 2000 };
        let ack = Pdu::<Length>::Ack(ack);
        assert_eq!(ack.acknowledged(0), Some(vec![0..5000, 6000..7000]));
    }
}
