//! Frames at the receiver: completeness, display, and freezes of the picture.

use super::pdu::{Data, from_ticks, to_rtp_ticks};
use crate::data_unit_numbers::unwrap_number;
use crate::histogram::Histogram;
use crate::media_frame_counters::PlayoutCounters;
use crate::units::{Duration, Time};
use std::collections::{BTreeMap, VecDeque};

/// Maximum number of incomplete frames.
const MAX_WAITING: usize = 256;
/// Modulus of frame numbers.
const FRAME_MODULUS: u64 = 1 << 32;
/// Number of later frames after whose completion an incomplete frame is given up.
const MAX_LATER_FRAMES: u64 = 2;

/// Number of frame durations in the average for freeze detection; also the minimum.
const AVERAGED_FRAMES: usize = 30;
const MIN_AVERAGED: usize = 5;
const FREEZE_EXCESS: Duration = Duration::from_millis(150);

/// A partially received frame.
#[derive(Clone, Debug, Default)]
struct Frame {
    first: Option<u64>,
    last: Option<u64>,
    packets: u64,
    is_key: bool,
    /// Delay of the packet that completed it.
    completion_delay: Option<Duration>,
}

/// Frames, in display order.
#[derive(Clone, Debug)]
pub(super) struct Playout {
    late_delay: Duration,
    frames: BTreeMap<u64, Frame>,
    /// Number of the next frame to be shown.
    next: u64,
    /// True if decoding must wait for a key frame.
    is_broken: bool,
    last_shown: Option<Time>,
    /// The last durations of frames.
    durations: VecDeque<Duration>,
    counts: PlayoutCounters,
    delay: Histogram,
}

impl Playout {
    pub fn new(late: Duration) -> Self {
        Self {
            late_delay: late,
            frames: BTreeMap::new(),
            next: 0,
            is_broken: true,
            last_shown: None,
            durations: VecDeque::new(),
            counts: PlayoutCounters::default(),
            delay: Histogram::default(),
        }
    }

    /// Returns true if decoding needs a key frame, and data has arrived.
    pub fn wants_key(&self) -> bool {
        self.is_broken && self.next > 0
    }

    /// Returns the outcome of frames, and the delays of complete ones.
    pub const fn counts(&self) -> (PlayoutCounters, &Histogram) {
        (self.counts, &self.delay)
    }

    /// Resets the counters.
    pub fn forget(&mut self) {
        self.counts = PlayoutCounters::default();
        self.delay = Histogram::default();
    }

    /// Records the first arrival of packet `number`.
    pub fn arrive<P>(&mut self, now: Time, number: u64, data: &Data<P>) {
        let frame = unwrap_number(u64::from(data.frame), FRAME_MODULUS, self.next);
        if frame < self.next {
            return;
        }
        let missing = frame - self.next;
        if missing >= MAX_WAITING as u64 {
            // More frames are missing than the buffer holds.
            self.counts.lost += missing;
            self.is_broken = true;
            self.frames.clear();
            self.next = frame;
        }
        let part = self.frames.entry(frame).or_default();
        part.packets += 1;
        part.is_key |= data.is_key;
        if data.is_first {
            part.first = Some(number);
        }
        if data.is_last {
            part.last = Some(number);
        }
        let packets = part.first.zip(part.last).and_then(|(first, last)| Some(last.checked_sub(first)? + 1));
        if part.completion_delay.is_none() && packets == Some(part.packets) {
            let elapsed = to_rtp_ticks(now).wrapping_sub(data.timestamp);
            // With unsynchronised clocks the arrival may precede the capture.
            let delay = if elapsed >> 31 == 0 { from_ticks(elapsed) } else { Duration::ZERO };
            part.completion_delay = Some(delay);
            self.delay.record(delay);
            self.counts.late += u64::from(delay > self.late_delay);
            self.show(now);
        }
    }

    /// Shows complete frames, and gives up missing ones before them.
    fn show(&mut self, now: Time) {
        let is_complete = |frame: &Frame| frame.completion_delay.is_some();
        while let Some((&newest, _)) = self.frames.iter().rev().find(|(_, frame)| is_complete(frame)) {
            match self.frames.get(&self.next).filter(|frame| is_complete(frame)) {
                Some(frame) => {
                    self.is_broken &= !frame.is_key;
                    if self.is_broken {
                        self.counts.undecodable += 1;
                    } else {
                        self.render(now);
                    }
                }
                None if newest >= self.next + MAX_LATER_FRAMES => {
                    self.counts.lost += 1;
                    self.is_broken = true;
                }
                None => return,
            }
            self.frames.remove(&self.next);
            self.next += 1;
        }
    }

    /// Records the display of a frame. W3C's webrtc-stats, freezeCount: the picture froze if that took at least max(3
    /// average, average + 150 ms), where the average is that of the last 30 frames.
    fn render(&mut self, now: Time) {
        self.counts.frames += 1;
        let Some(before) = self.last_shown.replace(now) else { return };
        let duration = now.since(before);
        if self.durations.len() >= MIN_AVERAGED {
            let sum = self.durations.iter().fold(Duration::ZERO, |sum, of| sum + *of);
            let average = sum / self.durations.len() as u64;
            if duration >= (average * 3).max(average + FREEZE_EXCESS) {
                self.counts.freezes += 1;
                self.counts.frozen += duration;
            }
        }
        self.durations.push_back(duration);
        if self.durations.len() > AVERAGED_FRAMES {
            self.durations.pop_front();
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

    /// Frames of two packets each, captured every 40 ms, with a configurable number of arrivals and delay.
    struct Call {
        playout: Playout,
    }

    impl Call {
        fn new() -> Self {
            Self { playout: Playout::new(Duration::from_millis(400)) }
        }

        fn packet(&mut self, frame: u64, part: u64, delay: u64, is_key: bool) {
            let data = Data {
                sequence: 0,
                frame: frame as u32,
                timestamp: to_rtp_ticks(at(frame * 40)),
                is_first: part == 0,
                is_last: part == 1,
                is_key,
                payload: Length(100),
            };
            self.playout.arrive(at(frame * 40 + delay), frame * 2 + part, &data);
        }

        fn frame(&mut self, frame: u64, delay: u64) {
            self.packet(frame, 0, delay, frame == 0);
            self.packet(frame, 1, delay, frame == 0);
        }

        fn counts(&self) -> PlayoutCounters {
            self.playout.counts().0
        }
    }

    #[test]
    fn a_frame_is_as_late_as_its_last_packet() {
        let mut call = Call::new();
        for frame in 0..10 {
            call.packet(frame, 1, 20, frame == 0);
            call.packet(frame, 0, 30 + frame, frame == 0);
        }
        assert_eq!(call.counts(), PlayoutCounters { frames: 10, ..PlayoutCounters::default() });
        let delay = call.playout.counts().1.summary();
        assert_eq!((delay.count, delay.min.as_millis_f64().round()), (10, 30.0));
        assert_eq!(delay.max.as_millis_f64().round(), 39.0);
        call.frame(10, 401);
        assert_eq!((call.counts().frames, call.counts().late), (11, 1));
    }

    #[test]
    fn a_lost_frame_makes_frames_undecodable_until_a_key_frame() {
        let mut call = Call::new();
        assert!(!call.playout.wants_key());
        (0..3).for_each(|frame| call.frame(frame, 20));
        call.packet(3, 0, 20, false);
        call.frame(4, 20);
        // The frame may still arrive.
        assert_eq!(
            (call.counts(), call.playout.wants_key()),
            (PlayoutCounters { frames: 3, ..PlayoutCounters::default() }, false)
        );
        call.frame(5, 20);
        assert_eq!(
            call.counts(),
            PlayoutCounters { frames: 3, lost: 1, undecodable: 2, ..PlayoutCounters::default() }
        );
        assert!(call.playout.wants_key());
        call.packet(3, 1, 120, false);
        call.packet(6, 0, 20, true);
        call.packet(6, 1, 20, true);
        call.frame(7, 20);
        assert_eq!(
            call.counts(),
            PlayoutCounters { frames: 5, lost: 1, undecodable: 2, ..PlayoutCounters::default() }
        );
        assert!(!call.playout.wants_key());
    }

    /// W3C's webrtc-stats, freezeCount and totalFreezesDuration, at 40 ms a frame: 190 ms are a freeze, 189 ms are none.
    #[test]
    fn a_freeze_is_as_webrtc_stats_has_it() {
        let mut call = Call::new();
        (0..40).for_each(|frame| call.frame(frame, 20));
        call.frame(40, 169);
        assert_eq!(call.counts().freezes, 0);
        (41..100).for_each(|frame| call.frame(frame, 169));
        call.frame(100, 169 + 150);
        assert_eq!((call.counts().freezes, call.counts().frozen), (1, Duration::from_millis(190)));
    }

    #[test]
    fn jumping_numbers_take_bounded_time_and_memory() {
        let mut call = Call::new();
        call.frame(0, 20);
        call.packet(0x7FFF_0000, 0, 20, false);
        assert_eq!((call.counts().lost, call.playout.frames.len()), (0x7FFE_FFFF, 1));
    }
}
