//! Tests of the media sender: frames, packets and their times.

use super::*;
use crate::Ecn;
use crate::media::pdu::{Arrival, to_ntp_middle_bits};
use crate::payload::Length;

fn at(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

/// A sender that always has data, at 25 frames a second.
struct Source {
    sender: Sender<Length>,
    events: Vec<(u64, Data<Length>)>,
}

impl Source {
    fn new(config: &Config) -> Self {
        Self { sender: Sender::new(config), events: Vec::new() }
    }

    /// Polls until `end`, in milliseconds.
    fn run(&mut self, mut now: Time, end: u64) -> Time {
        loop {
            match self.sender.poll(now) {
                Output::Transmit(Pdu::Data(data)) => {
                    self.events.push(((now.since(Time::ZERO).as_millis_f64() * 1000.0) as u64, data));
                }
                Output::Event(Event::Writable) => self.sender.handle(now, Input::Write(Length(100_000))),
                Output::Timeout { at: next, .. } if next <= at(end) => now = next,
                Output::Timeout { .. } => return at(end),
                other => panic!("{other:?}"),
            }
        }
    }
}

/// Section 4.3.3: packets leave at 1.5 times the target; the first frame is a key frame, and frame intervals are
/// constant.
#[test]
fn packets_are_paced_within_the_frame_interval() {
    let config = Config {
        encoder: super::super::EncoderConfig {
            min_rate: Rate::from_bits_per_sec(400_000),
            spread: 0.0,
            key_size: 2.0,
            ..super::super::EncoderConfig::default()
        },
        segment: 984,
        ..Config::default()
    };
    let mut source = Source::new(&config);
    source.run(Time::ZERO, 90);
    // 400 kbit/s are 2000 bytes a frame, 1968 without headers; a key frame has twice as many.
    let sent: Vec<(u64, u32, u32, bool, bool)> = source
        .events
        .iter()
        .map(|(micros, data)| (*micros, data.frame, data.payload.0, data.is_first, data.is_last))
        .collect();
    assert_eq!(
        sent[..6],
        [
            (0, 0, 984, true, false),
            (13_333, 0, 984, false, false),
            (26_666, 0, 984, false, false),
            (40_000, 0, 984, false, true),
            (53_333, 1, 984, true, false),
            (66_666, 1, 590, false, true),
        ]
    );
    assert!(source.events[3].1.is_key && !source.events[4].1.is_key);
}

/// Sections 4.3.1 and 1: the window allows 5 times as much, and then RATE_PACE_MIN, to detect a recovered path.
#[test]
fn without_reports_the_rate_falls_to_the_minimum() {
    let config = Config {
        encoder: super::super::EncoderConfig {
            min_rate: Rate::from_mbits_per_sec(2),
            spread: 0.0,
            key_size: 1.0,
            ..super::super::EncoderConfig::default()
        },
        ..Config::default()
    };
    let mut source = Source::new(&config);
    source.run(Time::ZERO, 2000);
    let full = source.events.iter().position(|(micros, _)| *micros > 300_000).unwrap();
    let waits: Vec<u64> = source.events[full..].windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!(waits.len() > 5);
    // Full packets have 1216 bytes.
    assert!(waits.iter().all(|wait| *wait <= 194_560), "{waits:?}");
    assert!(waits.contains(&194_560), "{waits:?}");
    let bytes: u32 = source.events[..full].iter().map(|(_, data)| data.payload.0 + 16).sum();
    assert!((13_000..=17_500).contains(&bytes), "{bytes}");
    assert!(source.sender.media(at(2000)).encoded.skipped > 10, "frames are not gathered");
    assert_eq!(source.sender.limit(), Some(Limit::CongestionWindow));
}

/// RFC 4585, section 6.3.1: a picture loss indication causes one key frame.
#[test]
fn a_key_frame_answers_the_receiver() {
    let mut source = Source::new(&Config::default());
    let mut now = source.run(Time::ZERO, 390);
    for round in 0..3 {
        let begin = source.events.last().unwrap().1.sequence;
        let packets = vec![Some(Arrival { ecn: Ecn::Ect1, time_offset: 0 })];
        let report = Report { begin, report_time: to_ntp_middle_bits(now), wants_key: true, packets };
        source.sender.handle(now, Input::Pdu { pdu: Pdu::Report(report), ecn: Ecn::NotEct });
        now = source.run(now, 430 + round * 40);
    }
    let mut keys: Vec<u32> =
        source.events.iter().filter(|(_, data)| data.is_key).map(|(_, data)| data.frame).collect();
    keys.dedup();
    assert_eq!(keys.len(), 2, "{keys:?}");
}

#[test]
fn a_transfer_of_fixed_size_ends() {
    let mut sender = Sender::new(&Config::default());
    sender.handle(at(0), Input::Write(Length(3000)));
    sender.handle(at(0), Input::Finish);
    let (mut now, mut bytes) = (at(0), 0);
    loop {
        match sender.poll(now) {
            Output::Transmit(Pdu::Data(data)) => bytes += data.payload.0,
            Output::Timeout { at, .. } => now = at,
            Output::Event(Event::Finished) => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((bytes, sender.poll(now)), (3000, Output::Idle));
}
