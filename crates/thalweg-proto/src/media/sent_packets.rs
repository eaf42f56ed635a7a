//! Sent packets, and their outcome by packet reports (sections 4.1 and 4.2.1.1).

use super::pdu::{Report, to_ntp_middle_bits};
use crate::data_unit_numbers::unwrap_number;
use crate::units::{Duration, Time};
use std::collections::VecDeque;

/// Maximum number of remembered packets.
const MAX_PACKETS: usize = 32_768;
/// Lifetime of a packet below the highest received one.
const PACKET_LIFETIME: Duration = Duration::from_secs(2);
/// Modulus of packet numbers on the wire.
pub(super) const PACKET_MODULUS: u64 = 1 << 32;

/// A sent packet.
#[derive(Clone, Debug)]
struct SentPacket {
    bytes: u32,
    sent_at: Time,
    is_acked: bool,
    /// Time of the first report of a later packet.
    missed: Option<Time>,
    is_lost: bool,
}

/// The remembered packets.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// Number of the first packet in `sent_packets`.
    first: u64,
    sent_packets: VecDeque<SentPacket>,
    /// Number after the highest received packet.
    acked: u64,
    /// Bytes of the packets from `acked` on.
    in_flight: u64,
    /// Reordering window for packets below the highest received one.
    reordering: Duration,
}

/// New information in a report.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Outcome {
    /// Round-trip time of the highest packet.
    pub rtt: Option<Duration>,
    /// Its relative one-way delay, in 1/65536 s modulo 2^32.
    pub one_way: u32,
    /// Received packets, and those with CE.
    pub packets: u32,
    pub marked_packets: u32,
    /// bytes_newly_acked and bytes_newly_acked_ce.
    pub bytes: u64,
    pub marked_bytes: u64,
    pub is_loss: bool,
}

impl History {
    /// Returns the number of the next packet.
    pub fn next(&self) -> u64 {
        self.first + self.sent_packets.len() as u64
    }

    /// Returns bytes_in_flight.
    pub const fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Returns the number of packets above the highest received one.
    pub fn outstanding(&self) -> u64 {
        self.next() - self.acked
    }

    /// Records the transmission of a packet.
    pub fn send(&mut self, now: Time, bytes: u32) {
        if self.sent_packets.len() >= MAX_PACKETS
            && let Some(oldest) = self.sent_packets.pop_front()
        {
            // No report for this many packets: the fate of the oldest remains unknown.
            if self.first >= self.acked {
                self.acked = self.first + 1;
                self.in_flight -= u64::from(oldest.bytes);
            }
            self.first += 1;
        }
        self.in_flight += u64::from(bytes);
        self.sent_packets.push_back(SentPacket {
            bytes,
            sent_at: now,
            is_acked: false,
            missed: None,
            is_lost: false,
        });
    }

    /// Handles a packet report.
    pub fn report(&mut self, now: Time, report: &Report, smoothed_rtt: Duration) -> Outcome {
        let mut outcome = Outcome::default();
        let begin = unwrap_number(u64::from(report.begin), PACKET_MODULUS, self.acked.max(self.first));
        let mut highest = None;
        for (number, arrival) in (begin..).zip(&report.packets) {
            let (Some(arrival), Some(place)) = (arrival, number.checked_sub(self.first)) else { continue };
            let Some(sent) = self.sent_packets.get_mut(place as usize).filter(|sent| !sent.is_acked) else {
                continue;
            };
            sent.is_acked = true;
            if let Some(missed) = sent.missed {
                // The packet was late, not lost: the reordering window grows to its lateness.
                self.reordering = self.reordering.max(now.since(missed)).min(smoothed_rtt);
            }
            outcome.packets += 1;
            if arrival.ecn.is_ce() {
                outcome.marked_packets += 1;
                outcome.marked_bytes += u64::from(sent.bytes);
            }
            if number >= self.acked {
                highest = Some((number, sent.sent_at, arrival.time_offset));
            }
        }
        if let Some((number, at, before)) = highest {
            let places = (self.acked.max(self.first) - self.first) as usize..=(number - self.first) as usize;
            outcome.bytes = self.sent_packets.range(places).map(|sent| u64::from(sent.bytes)).sum();
            self.in_flight -= outcome.bytes;
            self.acked = number + 1;
            outcome.rtt = Some(now.since(at));
            // From 1/1024 s to 1/65536 s.
            let arrived = report.report_time.wrapping_sub(u32::from(before) << 6);
            outcome.one_way = arrived.wrapping_sub(to_ntp_middle_bits(at));
        }
        outcome.is_loss = self.find_lost(now);
        self.forget(now);
        outcome
    }

    /// Section 4.2.1.1: a packet not received within the reordering window after a higher one is lost.
    fn find_lost(&mut self, now: Time) -> bool {
        let below = (self.acked.saturating_sub(self.first)) as usize;
        let mut is_loss = false;
        for sent in self.sent_packets.range_mut(..below.min(self.sent_packets.len())) {
            if sent.is_acked || sent.is_lost {
                continue;
            }
            let missed = *sent.missed.get_or_insert(now);
            sent.is_lost = now.since(missed) >= self.reordering;
            is_loss |= sent.is_lost;
        }
        is_loss
    }

    fn forget(&mut self, now: Time) {
        while self.first < self.acked
            && self.sent_packets.front().is_some_and(|sent| {
                sent.is_acked || sent.is_lost && now.since(sent.sent_at) > PACKET_LIFETIME
            })
        {
            self.sent_packets.pop_front();
            self.first += 1;
        }
        // The memory of lost packets serves only to detect late arrivals.
        while self.sent_packets.len() > MAX_PACKETS / 2 && self.first < self.acked {
            self.sent_packets.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pdu::Arrival;
    use super::*;
    use crate::Ecn;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn report(begin: u32, at_millis: u64, packets: &[Option<Ecn>]) -> Report {
        let packets = packets.iter().map(|ecn| ecn.map(|ecn| Arrival { ecn, time_offset: 0 })).collect();
        Report { begin, report_time: to_ntp_middle_bits(at(at_millis)), wants_key: false, packets }
    }

    const ARRIVED_ECN: Option<Ecn> = Some(Ecn::Ect1);
    const MARKED_ECN: Option<Ecn> = Some(Ecn::Ce);
    const RTT: Duration = Duration::from_millis(50);

    /// Section 4.1, the examples: bytes in flight are those above the highest received number. Bytes newly acknowledged
    /// are those up to it, including lost packets.
    #[test]
    fn bytes_are_counted_up_to_the_highest() {
        let mut history = History::default();
        (0..10).for_each(|number| history.send(at(number), 100 + number as u32));
        assert_eq!((history.in_flight(), history.outstanding()), (1045, 10));
        let outcome = history.report(at(50), &report(0, 25, &[ARRIVED_ECN, ARRIVED_ECN, MARKED_ECN]), RTT);
        assert_eq!(
            (outcome.bytes, outcome.marked_bytes, outcome.packets, outcome.marked_packets),
            (303, 102, 3, 1)
        );
        assert_eq!((outcome.rtt, outcome.is_loss), (Some(Duration::from_millis(48)), false));
        assert_eq!(outcome.one_way, to_ntp_middle_bits(at(25)) - to_ntp_middle_bits(at(2)));
        // The report of packet 3 is lost, that of packet 4 is not.
        let outcome = history.report(at(60), &report(3, 35, &[ARRIVED_ECN, None, ARRIVED_ECN]), RTT);
        assert_eq!((outcome.bytes, outcome.packets, outcome.is_loss), (103 + 104 + 105, 2, true));
        assert_eq!((history.in_flight(), history.outstanding()), (106 + 107 + 108 + 109, 4));
        // A repeated report has no effect.
        assert_eq!(
            history.report(at(70), &report(3, 35, &[ARRIVED_ECN, None, ARRIVED_ECN]), RTT),
            Outcome::default()
        );
    }

    /// Section 4.2.1.1: the reordering window grows to the observed reordering, and no packet is lost within it.
    #[test]
    fn late_packets_widen_the_reordering_window() {
        let mut history = History::default();
        (0..10).for_each(|number| history.send(at(number), 1000));
        assert!(history.report(at(50), &report(0, 25, &[None, ARRIVED_ECN]), RTT).is_loss);
        assert!(!history.report(at(58), &report(0, 33, &[ARRIVED_ECN, ARRIVED_ECN]), RTT).is_loss);
        assert!(!history.report(at(60), &report(2, 34, &[None, ARRIVED_ECN]), RTT).is_loss);
        assert!(!history.report(at(67), &report(2, 34, &[None, ARRIVED_ECN]), RTT).is_loss);
        assert!(history.report(at(68), &report(2, 34, &[None, ARRIVED_ECN]), RTT).is_loss);
    }

    #[test]
    fn memory_is_bounded_without_reports() {
        let mut history = History::default();
        (0..100_000).for_each(|number| history.send(at(number), 10));
        assert_eq!((history.sent_packets.len(), history.outstanding()), (MAX_PACKETS, MAX_PACKETS as u64));
        assert_eq!(history.in_flight(), 10 * MAX_PACKETS as u64);
    }

    #[test]
    fn numbers_that_were_never_sent_are_ignored() {
        let mut history = History::default();
        (0..4).for_each(|number| history.send(at(number), 1000));
        assert_eq!(history.report(at(9), &report(100, 9, &[ARRIVED_ECN; 5]), RTT), Outcome::default());
        assert_eq!(history.report(at(9), &report(u32::MAX, 9, &[ARRIVED_ECN]), RTT), Outcome::default());
        assert_eq!(history.report(at(9), &report(2, 9, &[ARRIVED_ECN; 5]), RTT).bytes, 4000);
        assert_eq!((history.in_flight(), history.next()), (0, 4));
    }
}
