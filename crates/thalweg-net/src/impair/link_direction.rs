//! One direction of the relay, sans-I/O: queue, transmitter and wire.

use super::DirectionSpec;
use std::collections::BTreeMap;
use thalweg_proto::Ecn;
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_queue::random_delay::Variation;
use thalweg_queue::{
    Aggregation, Any, ContractViolation, Discipline as _, DropReason, DroppedPacket, Entry, Impairment,
    ImpairmentOutcome, StartDelay, VariationPeriod,
};

/// Delayed datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelayedDatagram {
    /// UDP payload.
    pub bytes: Vec<u8>,
    /// Size of the headers around the payload, in bytes.
    pub header: u32,
    /// Flow of the datagram, for flow-queueing disciplines.
    pub flow: u64,
    /// ECN codepoint.
    pub ecn: Ecn,
}

/// Counters of one direction, in datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkDirectionStats {
    /// Datagrams received.
    pub received: u64,
    /// Bytes received, without headers.
    pub received_bytes: u64,
    /// Datagrams delivered, including duplicates.
    pub delivered: u64,
    /// Bytes delivered, without headers.
    pub delivered_bytes: u64,
    /// Losses on the wire.
    pub lost: u64,
    /// Drops during a blackout.
    pub blacked_out: u64,
    /// Drops above the MTU.
    pub too_long: u64,
    /// Drops at a full queue.
    pub full: u64,
    /// Early drops by the queue's discipline.
    pub early: u64,
    /// Drops for lack of memory in the relay.
    pub overflow: u64,
    /// ECN marks by the queue.
    pub marked: u64,
    /// Duplicates made on the wire.
    pub duplicated: u64,
    /// Datagrams corrupted on the wire.
    pub corrupted: u64,
    /// Datagrams delayed for reordering.
    pub held_back: u64,
    /// Maximum queue length.
    pub longest_queue: u64,
}

impl LinkDirectionStats {
    /// Returns the number of undelivered datagrams.
    pub const fn dropped(&self) -> u64 {
        self.lost + self.blacked_out + self.too_long + self.full + self.early + self.overflow
    }
}

/// One direction of a relay.
#[derive(Debug)]
pub struct LinkDirection {
    spec: DirectionSpec,
    queue: Any,
    /// Queued datagrams, by their number in the queue.
    queued_datagrams: Vec<Option<DelayedDatagram>>,
    free: Vec<u32>,
    /// End of the last transmission.
    busy_until: Time,
    /// End of the last transmission.
    idle_since: Time,
    impairment: Impairment,
    /// Number of datagrams still exempt from random impairments.
    spared: u64,
    /// True if the discipline must see every packet, even without a rate.
    always_queues: bool,
    start_delay: StartDelay,
    aggregation: Option<Aggregation>,
    variation: Variation,
    /// Periods of the variation: random stream, current values, and number of periods begun.
    periods: RandomStream,
    period: VariationPeriod,
    begun: u64,
    /// Random stream for the corrupted byte and bit.
    damage: RandomStream,
    /// Datagrams on the wire, by arrival time and departure order.
    wire: BTreeMap<(Time, u64), DelayedDatagram>,
    launched: u64,
    held_bytes: usize,
    dropped: Vec<DroppedPacket>,
    /// Arrival time of the first datagram of any direction; blackouts count from it.
    first: Option<Time>,
    stats: LinkDirectionStats,
}

/// Size of a full datagram with its headers, for the rate of full batches.
const FULL_PACKET: Bytes = Bytes::new(1500);

/// Maximum payload held on the wire and in the queue, in bytes.
const MAX_HELD_BYTES: usize = 512 << 20;

impl LinkDirection {
    /// Returns the first contract violation of an external discipline.
    pub fn violation(&self) -> Option<ContractViolation> {
        self.queue.violation()
    }

    /// Creates an empty line. `direction` names its random streams under `seed`.
    pub fn new(spec: &DirectionSpec, seed: u64, direction: u64) -> Self {
        Self::drawing(spec, |purpose| RandomStream::new(seed, purpose, direction))
    }

    /// Creates a line with the random streams of the simulator's link of that name. It loses, duplicates, corrupts and
    /// delays the same packets, by number.
    pub fn for_link(spec: &DirectionSpec, seed: u64, direction: u64, link: &str) -> Self {
        Self::drawing(spec, |purpose| RandomStream::new(seed, &format!("{purpose}@link {link}"), direction))
    }

    fn drawing(spec: &DirectionSpec, stream: impl Fn(&'static str) -> RandomStream + Copy) -> Self {
        let mut queue = Any::new(&spec.queue, stream);
        let rate = spec.rate.unwrap_or(Rate::MAX);
        let batches = spec.aggregation.and_then(|batches| batches.rate_of_full_batches(FULL_PACKET));
        queue.set_rate(batches.map_or(rate, |batches| rate.min(batches)));
        Self {
            queue,
            always_queues: spec.rate.is_some()
                || spec.queue.enqueues_when_link_idle()
                || !spec.start_delay.is_none()
                || batches.is_some(),
            start_delay: StartDelay::new(&spec.start_delay),
            aggregation: spec.aggregation.map(Aggregation::new),
            variation: Variation::new(stream("variation")),
            periods: stream("rhythm"),
            period: VariationPeriod { rate, delay: spec.delay },
            begun: 0,
            queued_datagrams: Vec::new(),
            free: Vec::new(),
            busy_until: Time::ZERO,
            idle_since: Time::ZERO,
            impairment: Impairment::new(&spec.impairment(), stream),
            spared: 0,
            damage: stream("damage"),
            wire: BTreeMap::new(),
            launched: 0,
            held_bytes: 0,
            dropped: Vec::new(),
            first: None,
            stats: LinkDirectionStats::default(),
            spec: spec.clone(),
        }
    }

    /// Exempts the first `count` packets from random impairments, without consuming random numbers. Live connections
    /// begin with packets that simulated flows do not have.
    #[must_use]
    pub const fn exempting_first(mut self, count: u64) -> Self {
        self.spared = count;
        self
    }

    /// Returns the counters.
    pub const fn stats(&self) -> LinkDirectionStats {
        self.stats
    }

    /// Sets the arrival time of the first datagram of any direction.
    pub fn begin(&mut self, now: Time) {
        self.first.get_or_insert(now);
    }

    /// Processes an arriving datagram.
    pub fn arrive(&mut self, now: Time, datagram: DelayedDatagram) {
        self.begin(now);
        self.transmit(now);
        self.stats.received += 1;
        self.stats.received_bytes += datagram.bytes.len() as u64;
        // Fits: a datagram is short.
        let size = datagram.bytes.len() as u32 + datagram.header;
        let first = self.first.unwrap_or(now);
        if self.spec.is_blacked_out(first, now) {
            self.stats.blacked_out += 1;
        } else if self.spec.mtu_at(first, now).is_some_and(|mtu| u64::from(size) > mtu.get()) {
            self.stats.too_long += 1;
        } else if self.held_bytes + datagram.bytes.len() > MAX_HELD_BYTES {
            self.stats.overflow += 1;
        } else if self.always_queues {
            if self.queue.packets() == 0 {
                // An idle transmitter starts now, not at the end of its last transmission.
                self.busy_until = self.busy_until.max(now);
            }
            self.enqueue(now, size, datagram);
            self.transmit(now);
        } else {
            self.launch(now, datagram);
        }
    }

    /// Returns the next datagram that has passed the line by `now`, if any.
    pub fn poll(&mut self, now: Time) -> Option<DelayedDatagram> {
        self.transmit(now);
        let entry = self.wire.first_entry().filter(|entry| entry.key().0 <= now)?;
        let datagram = entry.remove();
        self.held_bytes -= datagram.bytes.len();
        self.stats.delivered += 1;
        self.stats.delivered_bytes += datagram.bytes.len() as u64;
        Some(datagram)
    }

    /// Returns the arrival time of the next datagram on the wire.
    pub fn due(&self) -> Option<Time> {
        self.wire.first_key_value().map(|(&(at, _), _)| at)
    }

    /// Returns the time of the next event; `None` if the line is empty.
    pub fn next(&self) -> Option<Time> {
        let arrival = self.due();
        let service = (self.queue.packets() > 0).then_some(self.busy_until);
        arrival.into_iter().chain(service).min()
    }

    /// Advances to the period at `now`.
    fn keep_time(&mut self, now: Time) {
        let (Some(periodic_variation), Some(first)) = (self.spec.periodic_variation, self.first) else {
            return;
        };
        let begun = now.since(first).as_picos() / periodic_variation.every.as_picos().max(1) + 1;
        while self.begun < begun {
            self.begun += 1;
            let rate = self.spec.rate.unwrap_or(Rate::MAX);
            self.period = periodic_variation.draw_period(rate, self.spec.delay, &mut self.periods);
        }
    }

    /// Returns the end of the outage at `now`, or `now` without one.
    fn after_outage(&self, now: Time) -> Time {
        let (Some(periodic_variation), Some(first)) = (self.spec.periodic_variation, self.first) else {
            return now;
        };
        let since = now.since(first);
        let number = since.as_picos() / periodic_variation.every.as_picos().max(1);
        // There is no outage at the start.
        if number == 0 {
            now
        } else {
            now.max(first + periodic_variation.every * number + periodic_variation.outage)
        }
    }

    fn enqueue(&mut self, now: Time, size: u32, datagram: DelayedDatagram) {
        let packet = self.free.pop().unwrap_or_else(|| {
            self.queued_datagrams.push(None);
            // Fits: the memory holds far fewer.
            (self.queued_datagrams.len() - 1) as u32
        });
        let entry = Entry {
            packet,
            size,
            flow: datagram.flow as u32,
            priority: 1,
            is_feedback: false,
            ecn: self.spec.ecn.codepoint_at_queue(datagram.ecn),
            marked: false,
        };
        self.held_bytes += datagram.bytes.len();
        self.queued_datagrams[packet as usize] = Some(datagram);
        // A client is a host.
        self.queue.set_hosts([entry.flow; 2]);
        self.queue.enqueue(now, entry, &mut self.dropped);
        self.drop_what_was_dropped();
        self.stats.longest_queue = self.stats.longest_queue.max(self.queue.packets());
    }

    /// Transmits until `now`, back to back, however late it is called.
    fn transmit(&mut self, now: Time) {
        while self.queue.packets() > 0 && self.busy_until <= now {
            let start = self.busy_until;
            let next = self.queue.dequeue(start, &mut self.dropped);
            self.drop_what_was_dropped();
            // A discipline may drop the last packet at dequeue.
            let Some(entry) = next else { break };
            let Some(mut datagram) = self.take(entry.packet) else { break };
            if entry.marked {
                datagram.ecn = self.spec.ecn.codepoint_on_arrival(datagram.ecn, true);
                self.stats.marked += 1;
            }
            let ready = self.start_delay.begin(start, self.idle_since, u64::from(entry.size));
            let begins = self.after_outage(ready);
            self.keep_time(begins);
            let VariationPeriod { rate, delay } = self.period;
            let takes = if rate == Rate::MAX {
                Duration::ZERO
            } else {
                rate.transmission_time(Bytes::new(u64::from(entry.size)))
            };
            let begins = self
                .aggregation
                .as_ref()
                .map_or(begins, |batches| batches.begin(begins, delay, |begins| begins + takes));
            self.busy_until = begins + takes;
            self.idle_since = self.busy_until;
            self.launch(self.busy_until, datagram);
        }
    }

    fn take(&mut self, packet: u32) -> Option<DelayedDatagram> {
        let datagram = self.queued_datagrams.get_mut(packet as usize)?.take()?;
        self.free.push(packet);
        self.held_bytes -= datagram.bytes.len();
        Some(datagram)
    }

    fn drop_what_was_dropped(&mut self) {
        while let Some(DroppedPacket { entry, reason }) = self.dropped.pop() {
            self.take(entry.packet);
            match reason {
                DropReason::Full => self.stats.full += 1,
                DropReason::Early | DropReason::Filtered => self.stats.early += 1,
            }
        }
    }

    /// Puts a datagram on the wire at `at`.
    fn launch(&mut self, at: Time, mut datagram: DelayedDatagram) {
        self.keep_time(at);
        let is_spared = self.spared > 0;
        self.spared = self.spared.saturating_sub(1);
        let outcome = if is_spared {
            ImpairmentOutcome::UNIMPAIRED
        } else {
            self.impairment.outcome(datagram.bytes.len() as u32 + datagram.header)
        };
        let ImpairmentOutcome { is_lost: lost, corrupted, duplicated, copy_corrupted, extra_delay } = outcome;
        let arrival = at + self.period.delay;
        // Lost datagrams take a place in their batch, too.
        let arrival = self.aggregation.as_mut().map_or(arrival, |batches| batches.delayed_arrival(arrival));
        if lost {
            self.stats.lost += 1;
            return;
        }
        self.stats.held_back += u64::from(!extra_delay.is_zero());
        datagram.ecn = self.spec.ecn.codepoint_on_arrival(datagram.ecn, false);
        let mut copy = duplicated.then(|| datagram.clone());
        for damaged in [Some(&mut datagram).filter(|_| corrupted), copy.as_mut().filter(|_| copy_corrupted)] {
            self.corrupt(damaged);
        }
        let arrival = match &self.spec.jitter {
            Some(jitter) if !is_spared => {
                self.variation.delayed_arrival(jitter, arrival, 0, || Duration::ZERO)
            }
            _ => arrival,
        };
        let arrival = arrival + extra_delay;
        if let Some(copy) = copy {
            self.stats.duplicated += 1;
            self.put_on_wire(arrival, copy);
        }
        self.put_on_wire(arrival, datagram);
    }

    /// Inverts a random bit of a datagram, if it has any.
    fn corrupt(&mut self, datagram: Option<&mut DelayedDatagram>) {
        if let Some(datagram) = datagram.filter(|datagram| !datagram.bytes.is_empty()) {
            let at = self.damage.below(datagram.bytes.len() as u64) as usize;
            datagram.bytes[at] ^= 1 << self.damage.below(8);
            self.stats.corrupted += 1;
        }
    }

    fn put_on_wire(&mut self, at: Time, datagram: DelayedDatagram) {
        self.held_bytes += datagram.bytes.len();
        self.launched += 1;
        self.wire.insert((at, self.launched), datagram);
    }
}

#[cfg(test)]
mod tests {
    //! Tests delivery times against hand-computed values, then that every datagram is accounted for with any
    //! impairment.
    use super::*;
    use crate::flow::Registry;
    use proptest::prelude::*;
    use thalweg_proto::units::Duration;

    fn line(options: &str) -> LinkDirection {
        let mut spec = DirectionSpec::default();
        spec.set_all(options, &Registry::default()).unwrap();
        spec.check().unwrap();
        LinkDirection::new(&spec, 1, 0)
    }

    fn datagram(number: u8, length: usize) -> DelayedDatagram {
        DelayedDatagram { bytes: vec![number; length], header: 28, flow: 0, ecn: Ecn::NotEct }
    }

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    /// Returns all remaining datagrams, with times in microseconds.
    fn drain_datagrams(line: &mut LinkDirection) -> Vec<(u64, u8)> {
        let mut all = Vec::new();
        while let Some(next) = line.next() {
            while let Some(datagram) = line.poll(next) {
                all.push((next.since(Time::ZERO).as_picos() / 1_000_000, datagram.bytes[0]));
            }
        }
        all
    }

    #[test]
    fn rate_and_delay_are_exact() {
        // 1000 bytes with their headers at 8 Mbit/s take 1 ms, the wire 5 ms.
        let mut path = line("rate=8Mbit/s,delay=5ms");
        for number in 0..3 {
            path.arrive(at(0), datagram(number, 972));
        }
        assert_eq!(path.poll(at(5999)), None);
        // A late call does not delay the transmitter; an idle one starts anew.
        path.arrive(at(9500), datagram(3, 472));
        assert_eq!(drain_datagrams(&mut path), [(6000, 0), (7000, 1), (8000, 2), (15_000, 3)]);
        assert_eq!((path.stats().delivered, path.stats().dropped()), (4, 0));
    }

    #[test]
    fn without_a_rate_there_is_no_queue() {
        let mut path = line("delay=5ms,buffer=1pkt");
        for number in 0..3 {
            path.arrive(at(u64::from(number)), datagram(number, 972));
        }
        assert_eq!(drain_datagrams(&mut path), [(5000, 0), (5001, 1), (5002, 2)]);
    }

    #[test]
    fn shapers_sleep_and_batches_are_exact() {
        // 2000 bytes at once, then 1 ms per thousand, on a line of 0.1 ms per thousand.
        let mut path = line("rate=80Mbit/s,shaper=8Mbit/s:2kB");
        for number in 0..4 {
            path.arrive(at(0), datagram(number, 972));
        }
        assert_eq!(drain_datagrams(&mut path), [(100, 0), (200, 1), (1100, 2), (2100, 3)]);
        let mut path = line("rate=8Mbit/s,sleep=1s:50ms");
        for (number, micros) in [(0, 0), (1, 900_000), (2, 2_000_000)] {
            path.arrive(at(micros), datagram(number, 972));
        }
        assert_eq!(drain_datagrams(&mut path), [(1000, 0), (901_000, 1), (2_051_000, 2)]);
        let mut path = line("delay=1ms,aggregation=4ms:2pkt");
        for number in 0..3 {
            path.arrive(at(10), datagram(number, 972));
        }
        assert_eq!(drain_datagrams(&mut path), [(4000, 0), (4000, 1), (8000, 2)]);
    }

    /// Of ten datagrams two join the first batch, one waits for the next, and three wait in the queue.
    #[test]
    fn datagrams_wait_in_the_queue_while_a_batch_is_full() {
        let mut path = line("delay=1ms,aggregation=4ms:2pkt,buffer=3pkt");
        for number in 0..10 {
            path.arrive(at(10), datagram(number, 972));
        }
        let expected = [(4000, 0), (4000, 1), (8000, 2), (8000, 3), (12_000, 4), (12_000, 5)];
        assert_eq!(drain_datagrams(&mut path), expected);
        assert_eq!((path.stats().full, path.stats().longest_queue), (4, 3));
    }

    /// netem (Linux) duplicates first, and corrupts each of the two.
    #[test]
    fn copies_are_corrupted_independently_and_counted() {
        let mut path = line("delay=1ms,duplicate=100%,corrupt=50%");
        let (mut damaged, mut differ) = (0, 0);
        for number in 0..1000 {
            path.arrive(at(10 * number), datagram(0, 10));
        }
        while let Some(next) = path.next() {
            let mut pair = || path.poll(next).map(|datagram| datagram.bytes.iter().any(|&byte| byte != 0));
            while let (Some(copy), Some(original)) = (pair(), pair()) {
                damaged += u64::from(copy) + u64::from(original);
                differ += u64::from(copy != original);
            }
        }
        assert_eq!((path.stats().delivered, path.stats().corrupted), (2000, damaged));
        assert!(damaged.abs_diff(1000) < 100 && u64::abs_diff(differ, 500) < 80, "{damaged}, {differ}");
    }

    #[test]
    fn a_policer_needs_no_rate() {
        let mut spec = DirectionSpec::default();
        spec.set("queue", "policer:rate=8Mbit/s,burst=2kB", &Registry::default()).unwrap();
        let mut path = LinkDirection::new(&spec, 1, 0);
        for number in 0..4 {
            path.arrive(at(0), datagram(number, 972));
        }
        path.arrive(at(1000), datagram(4, 972));
        assert_eq!(drain_datagrams(&mut path), [(0, 0), (0, 1), (1000, 4)]);
        assert_eq!((path.stats().early, path.stats().full), (2, 0));
    }

    #[test]
    fn ecn_is_treated_before_and_behind_the_queue() {
        let of = |treatment: &str| {
            let mut path = line(&format!("rate=8Mbit/s,queue=step:threshold=1pkt,ecn={treatment}"));
            for number in 0..4 {
                path.arrive(at(0), DelayedDatagram { ecn: Ecn::Ect1, ..datagram(number, 972) });
            }
            let mut codepoints = Vec::new();
            while let Some(next) = path.next() {
                codepoints.extend(std::iter::from_fn(|| path.poll(next)).map(|datagram| datagram.ecn));
            }
            codepoints
        };
        assert_eq!(of("kept"), [Ecn::Ect1, Ecn::Ect1, Ecn::Ect1, Ecn::Ce]);
        assert_eq!(of("ect1-to-ect0"), [Ecn::Ect0, Ecn::Ect0, Ecn::Ect0, Ecn::Ce]);
        assert_eq!(of("marks-lost"), [Ecn::Ect1; 4]);
        assert_eq!(of("tunnel-compatible"), [Ecn::Ect1; 4]);
        assert_eq!(of("bleached"), [Ecn::NotEct; 4]);
    }

    /// As in the simulator, rate and delay change at every multiple of the interval, with an outage.
    #[test]
    fn periodic_variation_changes_rate_and_delay() {
        let ms = Duration::from_millis;
        let mut spec = DirectionSpec {
            rate: Some(Rate::from_mbits_per_sec(8)),
            delay: ms(20),
            ..DirectionSpec::default()
        };
        spec.periodic_variation = Some(thalweg_queue::PeriodicVariationSpec {
            every: ms(100),
            rate_spread: 0.5,
            delay_spread: ms(10),
            outage: ms(30),
        });
        let mut path = LinkDirection::new(&spec, 1, 0);
        let mut took = Vec::new();
        for period in 0..200 {
            let sent = at(period * 100_000 + 50_000 * u64::from(period > 0));
            path.arrive(sent, datagram(0, 972));
            took.extend(
                drain_datagrams(&mut path)
                    .into_iter()
                    .map(|(arrived, _)| arrived - sent.since(Time::ZERO).as_picos() / 1_000_000),
            );
        }
        let (min, max) = (*took.iter().min().unwrap(), *took.iter().max().unwrap());
        assert!((20_666..21_500).contains(&min), "{min} us");
        assert!((30_501..=32_000).contains(&max), "{max} us");
        // A datagram at the beginning of an outage waits for its end.
        path.arrive(at(30_000_000), datagram(0, 972));
        let (arrived, _) = drain_datagrams(&mut path)[0];
        assert!((30_050_000..30_063_000).contains(&arrived), "{arrived}");
    }

    #[test]
    fn oversized_and_excess_datagrams_are_dropped_and_counted() {
        let mut path = line("rate=8Mbit/s,buffer=2pkt,mtu=1000B,blackout=1s..2s");
        path.arrive(at(0), datagram(0, 973));
        for number in 1..5 {
            path.arrive(at(0), datagram(number, 972));
        }
        // The first is in service, two are queued.
        assert_eq!(drain_datagrams(&mut path), [(1000, 1), (2000, 2), (3000, 3)]);
        path.arrive(at(1_000_000), datagram(5, 10));
        path.arrive(at(1_999_999), datagram(6, 10));
        path.arrive(at(2_000_000), datagram(7, 10));
        let stats = path.stats();
        assert_eq!((stats.too_long, stats.full, stats.blacked_out, stats.dropped()), (1, 1, 2, 4));
        assert_eq!(stats.longest_queue, 2);
        assert_eq!(drain_datagrams(&mut path), [(2_000_038, 7)]);
    }

    #[test]
    fn codel_marks_or_drops_what_waits_too_long() {
        // 1 ms per datagram, a hundred at once and one more each millisecond: all wait 100 ms, and CoDel's target is 5
        // ms.
        let run = |ecn| {
            let mut path = line("rate=8Mbit/s,queue=codel,buffer=1000pkt");
            let mut marked = 0;
            for step in 0..1000 {
                for _ in 0..if step == 0 { 100 } else { 1 } {
                    path.arrive(at(1000 * step), DelayedDatagram { ecn, ..datagram(0, 972) });
                }
                while let Some(datagram) = path.poll(at(1000 * step)) {
                    marked += u64::from(datagram.ecn.is_ce());
                }
            }
            (path.stats().early, marked)
        };
        let (dropped, marked) = run(Ecn::NotEct);
        assert!(dropped > 5 && marked == 0);
        let (dropped, marked) = run(Ecn::Ect0);
        assert!(dropped == 0 && marked > 5);
    }

    #[test]
    fn a_seed_determines_the_impairments() {
        let run = |seed| {
            let mut spec = DirectionSpec::default();
            spec.set_all(
                "loss=10%,burst=3pkt,duplicate=5%,reorder=20%,reorder-delay=3ms",
                &Registry::default(),
            )
            .unwrap();
            let mut path = LinkDirection::new(&spec, seed, 0);
            for number in 0..200 {
                path.arrive(at(u64::from(number) * 100), datagram(number, 10));
            }
            drain_datagrams(&mut path)
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }

    #[test]
    fn damage_is_one_bit() {
        let mut path = line("corrupt=100%");
        path.arrive(at(0), datagram(0, 100));
        let bytes = path.poll(at(0)).unwrap().bytes;
        assert_eq!(bytes.iter().map(|byte| byte.count_ones()).sum::<u32>(), 1);
    }

    proptest! {
        #[test]
        fn every_datagram_is_accounted_for(
            queue in prop::sample::select(vec!["fcfs", "random-drop", "red", "codel", "fq-codel", "pie", "sfq", "drr"]),
            shares in prop::array::uniform4(0u32..40),
            buffer in 1u32..50,
            steps in prop::collection::vec((0u64..3000, 0usize..1500, 0u64..4), 1..300),
        ) {
            let [loss, duplicate, corrupt, reorder] = shares;
            let mut path = line(&format!(
                "rate=8Mbit/s,delay=3ms,queue={queue},buffer={buffer}pkt,loss={loss}%,duplicate={duplicate}%,\
                 corrupt={corrupt}%,reorder={reorder}%,mtu=1400B,blackout=20ms..30ms"
            ));
            let mut now = 0;
            for (gap, length, flow) in steps {
                now += gap;
                path.arrive(at(now), DelayedDatagram { flow, ..datagram(0, length) });
                while path.poll(at(now)).is_some() {}
                prop_assert!(path.next().is_none_or(|next| next > at(now)));
            }
            let mut last = at(now);
            while let Some(next) = path.next() {
                prop_assert!(next > last);
                last = next;
                while path.poll(next).is_some() {}
            }
            let stats = path.stats();
            prop_assert_eq!(stats.received + stats.duplicated, stats.delivered + stats.dropped());
            prop_assert_eq!(path.held_bytes, 0);
            prop_assert_eq!(path.free.len(), path.queued_datagrams.len());
            prop_assert!(stats.longest_queue <= u64::from(buffer));
        }
    }
}
