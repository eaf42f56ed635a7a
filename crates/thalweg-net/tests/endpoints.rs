//! Two endpoints over a channel that loses, reorders, duplicates and corrupts datagrams, changes addresses and swallows
//! large ones: no byte may be wrong, and nothing may hang.

mod pair;

use pair::{Channel, Pair};
use thalweg_proto::random::Stream;
use thalweg_proto::units::{Duration, Time};

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn a_clean_channel_carries_both_streams() {
    let mut pair = Pair::new(1, Channel::default());
    pair.transfer("cubic", 1, [300_000, 200_000], MINUTE);
    assert_eq!(pair.ends[0].endpoint.stats().forged, 0);
}

#[test]
fn two_hundred_random_channels() {
    for seed in 0..200 {
        let mut random = Stream::new(seed, "schedule", 0);
        let channel = Channel {
            loss: random.unit() * 0.3,
            duplication: random.unit() * 0.2,
            corruption: random.unit() * 0.1,
            delay: Duration::from_micros(random.below(100_000)),
            jitter: Duration::from_micros(random.below(50_000)),
            mtu: 1200 + random.below(800) as usize,
            dark_until: Time::ZERO,
            marks: 0.0,
        };
        let mut pair = Pair::new(seed, channel);
        pair.transfer(
            "newreno",
            seed,
            [random.below(60_000) as usize, random.below(60_000) as usize],
            MINUTE * 60,
        );
    }
}
