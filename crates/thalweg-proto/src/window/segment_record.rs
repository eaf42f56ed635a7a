//! A sent segment in compact form: with ten thousand senders these records are most of the memory.

use crate::payload::Payload;
use crate::units::Time;

/// The sender's view of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum SegmentState {
    /// In the network.
    InFlight,
    /// Selectively acknowledged.
    Sacked,
    /// Lost, and not yet retransmitted.
    Lost,
}

/// The cause of a retransmission, made or pending. Later signals about the same drop are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Repair {
    /// Nothing yet.
    None,
    /// Loss detection by the sender: timer or acknowledgements.
    Implicit,
    /// Feedback of a router.
    Explicit,
}

/// A segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<I> {
    pub start: u64,
    /// In bytes.
    pub length: u32,
    pub sent_at: Time,
    pub info: I,
    pub state: SegmentState,
    pub repair: Repair,
    /// Number of retransmissions, saturating.
    pub retransmissions: u8,
}

impl<I> Record<I> {
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.length)
    }
}

/// Bits below the start of a segment: number of retransmissions, cause of the retransmission, state.
const BITS_BELOW_START: u32 = 12;
const RETRANSMISSIONS: u32 = 4;
const REPAIR: u32 = 2;
/// Mask of the start's bits. They cover 4.5 PB, more than can be outstanding, so the full position can be restored.
const START_MASK: u64 = u64::MAX >> BITS_BELOW_START;

/// A stored segment: 16 bytes where the payload is only a length. It ends where the next one starts.
#[derive(Clone, Debug)]
pub(super) struct StoredSegment<P: Payload, I> {
    pub sent_at: Time,
    packed: u64,
    pub payload: P::StoredForm,
    pub info: I,
}

impl<P: Payload, I> StoredSegment<P, I> {
    /// Creates a record of a segment that starts at `start` and leaves at `sent_at`.
    #[inline]
    pub fn new(start: u64, sent_at: Time, payload: P::StoredForm, info: I) -> Self {
        Self { sent_at, packed: start << BITS_BELOW_START, payload, info }
    }

    /// Returns the start, which is at least `position`.
    #[inline]
    pub fn start(&self, position: u64) -> u64 {
        position - (position.wrapping_sub(self.packed >> BITS_BELOW_START) & START_MASK)
    }

    /// Unpacks the record, for a segment that starts at `start` and ends at `end`.
    #[inline(always)]
    pub fn record(&self, start: u64, end: u64) -> Record<I>
    where
        I: Copy,
    {
        Record {
            start,
            length: (end - start) as u32,
            sent_at: self.sent_at,
            info: self.info,
            state: self.state(),
            repair: self.repair(),
            retransmissions: self.retransmissions(),
        }
    }

    #[inline]
    pub fn state(&self) -> SegmentState {
        match self.packed & 3 {
            0 => SegmentState::InFlight,
            1 => SegmentState::Sacked,
            _ => SegmentState::Lost,
        }
    }

    #[inline]
    pub fn set_state(&mut self, state: SegmentState) {
        self.packed = self.packed & !3 | state as u64;
    }

    #[inline]
    pub fn repair(&self) -> Repair {
        match self.packed >> REPAIR & 3 {
            0 => Repair::None,
            1 => Repair::Implicit,
            _ => Repair::Explicit,
        }
    }

    #[inline]
    pub fn set_repair(&mut self, repair: Repair) {
        self.packed = self.packed & !(3 << REPAIR) | (repair as u64) << REPAIR;
    }

    #[inline]
    pub fn retransmissions(&self) -> u8 {
        (self.packed >> RETRANSMISSIONS) as u8
    }

    /// Records a retransmission.
    pub fn resend(&mut self, now: Time) {
        self.sent_at = now;
        if self.retransmissions() < u8::MAX {
            self.packed += 1 << RETRANSMISSIONS;
        }
    }

    /// Truncates the segment to its first `length` bytes, with payload `head`. Returns the rest, with payload `tail`,
    /// as a segment of the same state.
    pub fn split(&mut self, length: u32, head: P::StoredForm, tail: P::StoredForm) -> Self
    where
        I: Clone,
    {
        self.payload = head;
        let packed = self.packed.wrapping_add(u64::from(length) << BITS_BELOW_START);
        Self { packed, payload: tail, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::Length;

    /// With ten thousand senders of twenty segments each, records are most of the memory: their size must not grow
    /// unnoticed.
    #[test]
    fn a_segment_of_the_simulator_takes_sixteen_bytes() {
        assert_eq!(size_of::<StoredSegment<Length, ()>>(), 16);
    }

    /// Each field survives packing for all values of the others, also where the start exceeds the stored bits.
    #[test]
    fn packed_fields_are_independent() {
        let wrap = 1 << (64 - BITS_BELOW_START);
        for start in [0, 1500, wrap - 1500, wrap - 1, wrap, 7 * wrap + 3] {
            let mut kept = StoredSegment::<Length, _>::new(start, Time::ZERO, (), 'i');
            for sent in 0..=300u64 {
                for state in [SegmentState::Lost, SegmentState::Sacked, SegmentState::InFlight] {
                    for repair in [Repair::Explicit, Repair::None, Repair::Implicit] {
                        kept.set_state(state);
                        kept.set_repair(repair);
                        assert_eq!((kept.state(), kept.repair()), (state, repair));
                        assert_eq!(u64::from(kept.retransmissions()), sent.min(255));
                        for offset in [0, 1, 1500, u64::from(u32::MAX), wrap - 1] {
                            assert_eq!(kept.start(start + offset), start);
                        }
                    }
                }
                kept.resend(Time::from_picos(sent));
                assert_eq!(kept.sent_at, Time::from_picos(sent));
            }
            let tail = kept.split(1500, (), ());
            assert_eq!((kept.start(start + 2000), tail.start(start + 2000)), (start, start + 1500));
            assert_eq!(
                (tail.state(), tail.repair(), tail.retransmissions()),
                (kept.state(), kept.repair(), 255)
            );
        }
    }
}
