//! The media receiver: packet reports (section 5; RFC 8888), and frames.

use super::config::Config;
use super::frame_playout::Playout;
use super::pdu::{Arrival, Data, MAX_REPORTED, Pdu, Report, to_ntp_middle_bits};
use crate::Ecn;
use crate::data_unit_numbers::unwrap_number;
use crate::engine_contract::{Engine, Output};
use crate::media_frame_counters::MediaCounts;
use crate::payload::Payload;
use crate::transport::{Event, Input, ReceiverCounts};
use crate::units::{Bytes, Duration, Rate, Time};
use std::collections::VecDeque;

/// Modulus of packet numbers.
const PACKET_MODULUS: u64 = 1 << 32;
/// Packets per report (section 5). A report covers at least this many of the latest packets, as reports may be lost
/// (section 6).
const PACKETS_PER_REPORT: u32 = 16;
const REPORT_OVERLAP: u64 = 32;
/// Section 5: reports of 100 bytes take a fiftieth of the received rate, at 10 to 1000 per second.
const REPORT_SHARE: f64 = 0.02;
const REPORT_BYTES: f64 = 100.0;
const REPORT_RATES: [f64; 2] = [10.0, 1000.0];
/// Measurement interval of the received rate.
const RATE_INTERVAL: Duration = Duration::from_millis(200);

/// Cause of a receiver timer expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverReason {
    /// A report is due.
    Report,
}

/// Receives media packets and reports on them.
#[derive(Clone, Debug)]
pub struct Receiver<P> {
    playout: Playout,
    arrived: VecDeque<P>,
    /// Number of the first packet in `log`, and the arrivals from there on.
    first: u64,
    log: VecDeque<Option<(Time, Ecn)>>,
    /// First unreported packet, and the number of unreported ones.
    unreported: Option<(u64, u32)>,
    reported: Time,
    /// A report is due at once.
    is_urgent: bool,
    /// Received rate, and the bytes since the last measurement.
    rate: Rate,
    bytes: u64,
    measured_until: Time,
    duplicates: u64,
    counts: ReceiverCounts,
}

impl<P: Payload> Receiver<P> {
    /// Creates a receiver.
    pub fn new(config: &Config) -> Self {
        Self {
            playout: Playout::new(config.late_delay),
            arrived: VecDeque::new(),
            first: 0,
            log: VecDeque::new(),
            unreported: None,
            reported: Time::ZERO,
            is_urgent: false,
            rate: Rate::ZERO,
            bytes: 0,
            measured_until: Time::ZERO,
            duplicates: 0,
            counts: ReceiverCounts::default(),
        }
    }

    /// Returns the counts of received packets.
    pub const fn counts(&self) -> ReceiverCounts {
        self.counts
    }

    /// Returns the number of duplicate packets, including those too late to be identified.
    pub const fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Returns the outcome of frames.
    pub fn media(&self) -> MediaCounts {
        let (shown, delay) = self.playout.counts();
        MediaCounts { shown, delay: delay.clone(), ..MediaCounts::default() }
    }

    /// Resets the frame counters.
    pub fn reset_media(&mut self) {
        self.playout.forget();
    }

    fn receive(&mut self, now: Time, data: Data<P>, ecn: Ecn) {
        let next = self.first + self.log.len() as u64;
        let number = unwrap_number(u64::from(data.sequence), PACKET_MODULUS, next);
        if number < self.first || number < next && self.log[(number - self.first) as usize].is_some() {
            self.duplicates += 1;
            return;
        }
        if number - self.first >= 2 * MAX_REPORTED as u64 {
            self.log.clear();
            self.first = number;
            self.unreported = None;
        }
        let place = (number - self.first) as usize;
        if place >= self.log.len() {
            self.log.resize(place + 1, None);
        }
        self.log[place] = Some((now, ecn));
        while self.log.len() > MAX_REPORTED {
            self.log.pop_front();
            self.first += 1;
        }
        let (from, count) = self.unreported.unwrap_or((number, 0));
        self.unreported = Some((from.min(number), count + 1));
        // Section 5: at the end of a frame no packet follows soon that could trigger the report.
        self.is_urgent |= data.is_last || count + 1 >= PACKETS_PER_REPORT;
        self.measure(now, data.payload.len());
        self.playout.arrive(now, number, &data);
        self.counts.packets += 1;
        self.counts.payload += u64::from(data.payload.len());
        self.arrived.push_back(data.payload);
    }

    fn measure(&mut self, now: Time, bytes: u32) {
        let span = now.since(self.measured_until);
        if span >= RATE_INTERVAL {
            self.rate = Rate::from_transfer(Bytes::new(self.bytes), span);
            (self.bytes, self.measured_until) = (0, now);
        }
        self.bytes += u64::from(bytes);
    }

    /// Returns the time of the next report, if there is anything to report.
    fn due(&self) -> Option<Time> {
        self.unreported?;
        let [min, max] = REPORT_RATES;
        let rate = (REPORT_SHARE * self.rate.as_f64() / (REPORT_BYTES * 8.0)).clamp(min, max);
        Some(if self.is_urgent { Time::ZERO } else { self.reported + Duration::from_secs_f64(1.0 / rate) })
    }

    fn report(&mut self, now: Time) -> Report {
        let next = self.first + self.log.len() as u64;
        let from = self.unreported.take().map_or(next, |(from, _)| from);
        let begin = from.min(next.saturating_sub(REPORT_OVERLAP)).max(self.first);
        let packets = self.log.range((begin - self.first) as usize..);
        let arrival = |&(at, ecn): &(Time, Ecn)| Arrival::new(ecn, now.since(at));
        (self.reported, self.is_urgent) = (now, false);
        Report {
            begin: begin as u32,
            report_time: to_ntp_middle_bits(now),
            wants_key: self.playout.wants_key(),
            packets: packets.map(|packet| packet.as_ref().map(arrival)).collect(),
        }
    }
}

impl<P: Payload> Engine for Receiver<P> {
    type Pdu = Pdu<P>;
    type Input = Input<Pdu<P>, P>;
    type Event = Event<P>;
    type Reason = ReceiverReason;

    fn handle(&mut self, now: Time, input: Self::Input) {
        if let Input::Pdu { pdu: Pdu::Data(data), ecn } = input {
            self.receive(now, data, ecn);
        }
    }

    fn poll(&mut self, now: Time) -> Output<Pdu<P>, Event<P>, ReceiverReason> {
        if let Some(data) = self.arrived.pop_front() {
            return Output::Event(Event::Delivered(data));
        }
        match self.due() {
            Some(at) if at <= now => Output::Transmit(Pdu::Report(self.report(now))),
            Some(at) => Output::Timeout { at, reason: ReceiverReason::Report },
            None => Output::Idle,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::Length;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn data(sequence: u32, is_last: bool) -> Input<Pdu<Length>, Length> {
        let data = Data {
            sequence,
            frame: 0,
            timestamp: 0,
            is_first: sequence == 0,
            is_last,
            is_key: true,
            payload: Length(1000),
        };
        Input::Pdu { pdu: Pdu::Data(data), ecn: if sequence % 5 == 4 { Ecn::Ce } else { Ecn::Ect1 } }
    }

    /// Returns the report due now, if any.
    fn report(receiver: &mut Receiver<Length>, millis: u64) -> Option<Report> {
        loop {
            match receiver.poll(at(millis)) {
                Output::Event(_) => {}
                Output::Transmit(Pdu::Report(report)) => return Some(report),
                _ => return None,
            }
        }
    }

    /// Section 5: a report at the end of a frame, after 16 packets, and ten times a second at low rates.
    #[test]
    fn reports_follow_the_intervals_of_section_5() {
        let mut receiver = Receiver::new(&Config::default());
        receiver.handle(at(100), data(0, false));
        receiver.handle(at(101), data(1, true));
        let first = report(&mut receiver, 101).unwrap();
        let arrived = |before: u16| Some(Arrival { ecn: Ecn::Ect1, time_offset: before });
        assert_eq!((first.begin, &first.packets[..]), (0, &[arrived(1), arrived(0)][..]));
        assert_eq!(first.report_time, to_ntp_middle_bits(at(101)));
        for number in 2..17 {
            receiver.handle(at(102), data(number, false));
            assert_eq!(report(&mut receiver, 102), None, "{number}");
        }
        receiver.handle(at(102), data(18, false));
        let second = report(&mut receiver, 102).unwrap();
        // Earlier packets, including the missing one, are reported again.
        assert_eq!((second.begin, second.packets.len(), second.packets[17]), (0, 19, None));
        assert_eq!(second.packets[4].unwrap().ecn, Ecn::Ce);
        receiver.handle(at(150), data(19, false));
        assert!(matches!(
            { report(&mut receiver, 150); receiver.poll(at(150)) },
            Output::Timeout { at: due, .. } if due == at(202)
        ));
        assert_eq!(report(&mut receiver, 202).unwrap().packets.len(), 20);
    }

    /// Section 5: the packet that ends a frame is reported at once, long before a report is due.
    #[test]
    fn the_end_of_a_frame_is_reported_at_once() {
        let mut receiver = Receiver::new(&Config::default());
        receiver.handle(at(100), data(0, false));
        assert!(report(&mut receiver, 100).is_some());
        receiver.handle(at(110), data(1, false));
        assert_eq!(report(&mut receiver, 110), None);
        receiver.handle(at(111), data(2, true));
        assert_eq!(report(&mut receiver, 111).unwrap().packets.len(), 3);
    }

    #[test]
    fn duplicate_and_too_old_packets_are_not_delivered() {
        let mut receiver = Receiver::new(&Config::default());
        for number in [0, 1, 1, 3, 2, 3, 600, 5] {
            receiver.handle(at(1), data(number, false));
        }
        assert_eq!((receiver.counts().packets, receiver.duplicates()), (5, 3));
        assert_eq!(report(&mut receiver, 101).unwrap().begin, 600);
    }
}
