//! Model of a live video encoder: RFC 8593, section 5 (statistical), with the differences listed in the
//! [module](super).

use super::config::EncoderConfig;
use crate::random::RandomStream;
use crate::units::{Duration, Time};

/// Limits of frame sizes, as multiples of their mean.
const MIN_FRAME_SIZE: f64 = 0.1;
const MAX_FRAME_SIZE: f64 = 2.0;
/// Minimum reduction of the frames after a key frame, as a share of the mean size, until they have compensated its extra
/// size.
const MIN_REDUCTION: f64 = 0.2;
/// Minimum reduction as a share of the extra size that remains: after several key frames frames are smaller.
const REPAID_OF_DEBT: f64 = 0.05;
/// Extra size up to which the next key frame may come, in mean sizes. Without a limit the rate would exceed the target if
/// receivers request key frames often.
const MAX_DEBT: f64 = 12.0;
/// Maximum size of a frame, in bytes.
const MAX_BYTES: f64 = 16_777_216.0;

/// Encoder model.
#[derive(Clone, Debug)]
pub(super) struct Encoder {
    config: EncoderConfig,
    stream: RandomStream,
    /// Current rate, in bit/s.
    rate: f64,
    /// Time of the last rate change.
    changed: Option<Time>,
    /// Capture time of the next frame.
    next: Time,
    /// Time of the last key frame.
    key: Option<Time>,
    is_key_requested: bool,
    /// Extra bytes of key frames not yet compensated by smaller frames.
    debt: f64,
}

/// An encoded frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub bytes: u64,
    pub is_key: bool,
}

impl Encoder {
    pub fn new(config: EncoderConfig, stream: RandomStream) -> Self {
        let (next, rate) = (Time::ZERO, 0.0);
        Self { config, stream, rate, changed: None, next, key: None, is_key_requested: false, debt: 0.0 }
    }

    /// Sets the random-number stream for frame sizes.
    pub fn draw_from(&mut self, stream: RandomStream) {
        self.stream = stream;
    }

    /// Returns the capture time of the next frame.
    pub const fn due(&self) -> Time {
        self.next
    }

    /// Returns the likely maximum size of a frame in bytes, at `target` bit/s.
    pub fn max(&self, target: f64) -> u64 {
        (target.max(self.rate) / 8.0 / self.config.fps * self.config.key_size.max(MAX_FRAME_SIZE))
            .min(MAX_BYTES) as u64
    }

    /// Requests a key frame as the next frame, at `now` or later.
    pub fn request_key_frame(&mut self, now: Time, round_trip: Duration) {
        // A key frame in flight may already answer the request.
        let wait = round_trip * 2 + self.interval();
        if self.key.is_none_or(|key| now.since(key) > wait) {
            self.is_key_requested = true;
        }
    }

    fn interval(&self) -> Duration {
        Duration::from_secs_f64(1.0 / self.config.fps)
    }

    /// Captures no frame at `now`.
    pub fn skip(&mut self, now: Time) {
        let next = self.next + self.interval();
        // After a pause the frame clock restarts.
        self.next = if next > now { next } else { now + self.interval() };
    }

    /// Captures a frame at `now`, at a requested rate of `target` bit/s.
    pub fn encode(&mut self, now: Time, target: f64) -> Frame {
        // RFC 8593, section 5.1: requests within tau_v of the last transition are ignored.
        if self.rate != target && self.changed.is_none_or(|at| now.since(at) >= self.config.reaction) {
            (self.rate, self.changed) = (target, Some(now));
        }
        self.skip(now);
        let mean = self.rate / 8.0 / self.config.fps;
        let is_due = self.is_key_requested
            || self
                .key
                .is_none_or(|key| self.config.key_interval.is_some_and(|every| now.since(key) >= every));
        let is_key = is_due && self.debt <= mean * MAX_DEBT;
        // RFC 8593, section 5.2: sizes deviate by a Laplacian distribution.
        let size = mean * (1.0 + self.laplacian()).clamp(MIN_FRAME_SIZE, MAX_FRAME_SIZE);
        let size = if is_key {
            (self.key, self.is_key_requested) = (Some(now), false);
            self.debt += size * (self.config.key_size - 1.0);
            size * self.config.key_size
        } else {
            let due = (mean * MIN_REDUCTION).max(self.debt * REPAID_OF_DEBT).min(self.debt);
            let smaller = (size - due).max(mean * MIN_FRAME_SIZE);
            self.debt -= size - smaller;
            smaller
        };
        Frame { bytes: size.clamp(1.0, MAX_BYTES) as u64, is_key }
    }

    fn laplacian(&mut self) -> f64 {
        let place = self.stream.unit() - 0.5;
        let size = -libm::log(1.0 - 2.0 * place.abs()) * self.config.spread;
        if place < 0.0 { -size } else { size }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoder(config: EncoderConfig) -> Encoder {
        Encoder::new(config, RandomStream::new(1, "frames", 0))
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// RFC 8593, section 5.1: an encoder that has changed its rate ignores requests for tau_v, 0.2 s.
    #[test]
    fn rates_change_once_in_a_reaction_time() {
        let mut encoder = encoder(EncoderConfig { spread: 0.0, key_size: 1.0, ..EncoderConfig::default() });
        let mut bytes = |millis, target| encoder.encode(at(millis), target).bytes;
        assert_eq!(bytes(0, 1e6), 5000);
        assert_eq!([40, 80, 120, 160].map(|millis| bytes(millis, 2e6)), [5000; 4]);
        assert_eq!(bytes(200, 2e6), 10_000);
        assert_eq!(bytes(240, 4e5), 10_000);
        assert_eq!(bytes(400, 4e5), 2000);
    }

    /// RFC 8593, section 5.2: the deviation of sizes is Laplacian with a scale of 0.15, so its mean is 0 and its mean
    /// absolute value is the scale.
    #[test]
    fn sizes_deviate_by_the_scale() {
        let mut encoder = encoder(EncoderConfig { key_size: 1.0, ..EncoderConfig::default() });
        let frames: u64 = 50_000;
        let shares: Vec<f64> =
            (0..frames).map(|frame| encoder.encode(at(frame * 40), 2e7).bytes as f64 / 1e5 - 1.0).collect();
        let mean = shares.iter().sum::<f64>() / frames as f64;
        let deviation = shares.iter().map(|share| share.abs()).sum::<f64>() / frames as f64;
        assert!(mean.abs() < 0.003, "{mean}");
        assert!((deviation / 0.15 - 1.0).abs() < 0.02, "{deviation}");
    }

    /// Key frames come first, on request, and at their interval; smaller frames compensate them and keep the mean rate.
    #[test]
    fn key_frames_do_not_change_the_mean() {
        let config = EncoderConfig {
            spread: 0.0,
            key_size: 5.0,
            key_interval: Some(Duration::from_secs(4)),
            ..EncoderConfig::default()
        };
        let mut encoder = encoder(config);
        let frames: Vec<Frame> = (0..1000).map(|frame| encoder.encode(at(frame * 40), 1e6)).collect();
        let keys: Vec<usize> =
            frames.iter().enumerate().filter(|(_, of)| of.is_key).map(|(at, _)| at).collect();
        assert_eq!(keys, (0..10).map(|key| key * 100).collect::<Vec<_>>());
        assert_eq!((frames[0].bytes, frames[1].bytes, frames[50].bytes), (25_000, 4000, 5000));
        assert_eq!(frames.iter().map(|frame| frame.bytes).sum::<u64>(), 5_000_000);
        encoder.request_key_frame(at(40_000), Duration::from_millis(100));
        assert!(encoder.encode(at(40_000), 1e6).is_key);
        // The answer to this request is in flight.
        encoder.request_key_frame(at(40_200), Duration::from_millis(100));
        assert!(!encoder.encode(at(40_200), 1e6).is_key);
        encoder.request_key_frame(at(40_300), Duration::from_millis(100));
        assert!(encoder.encode(at(40_300), 1e6).is_key);
    }

    /// A receiver that loses packets requests key frames all the time. The mean rate is that of the target nevertheless.
    #[test]
    fn frequent_requests_do_not_raise_the_mean_rate() {
        // After 2 round trips and a frame another request is answered: after 120 ms and 280 ms.
        for round_trip in [40, 120] {
            let mut encoder = encoder(EncoderConfig::default());
            let (mut bytes, mut keys) = (0, 0);
            for frame in 0..1500 {
                encoder.request_key_frame(at(frame * 40), Duration::from_millis(round_trip));
                let frame = encoder.encode(at(frame * 40), 1e6);
                (bytes, keys) = (bytes + frame.bytes, keys + u32::from(frame.is_key));
            }
            let share = bytes as f64 / 7_500_000.0;
            assert!((0.98..1.02).contains(&share), "{share} with {keys} key frames");
            assert!(keys > 150, "{keys} key frames");
        }
    }

    #[test]
    fn frame_times_restart_after_a_skipped_frame() {
        let mut encoder = encoder(EncoderConfig::default());
        encoder.encode(at(0), 1e6);
        assert_eq!(encoder.due(), at(40));
        encoder.encode(at(45), 1e6);
        assert_eq!(encoder.due(), at(80));
        encoder.skip(at(500));
        assert_eq!(encoder.due(), at(540));
    }
}
