//! Every scheme over bytes and hostile paths: each byte arrives, in order, and both ends learn of the end.

use crate::hostile_path::{Conditions, Transfer, data, transfer};
use thalweg_net::flow::{PathHints, Scheme};
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Duration, Time};
use thalweg_queue::LossSpec;

fn scheme(text: &str) -> Scheme {
    text.parse().unwrap()
}

#[test]
fn every_scheme_moves_bytes_over_a_calm_path() {
    let bytes = data(300_000);
    for name in Scheme::names() {
        let report = transfer(
            &scheme(name),
            &PathHints::default(),
            &Conditions::calm(1, Duration::from_millis(10)),
            &bytes,
        );
        println!("{name}: {report:?}");
        assert_eq!((report.retransmissions, report.dropped), (0, 0), "{name}");
        // At 10 Mbit/s, the rate of schemes that need one, 300 kB take 0.24 s. A window of one packet grows to 270
        // packets in nine round trips, or in 22 if it grows by one packet per round trip. None needs a timeout.
        assert!(report.time < Duration::from_millis(1300), "{name}: {report:?}");
        assert!(report.sent < 700, "{name}: {report:?}");
    }
}

#[test]
fn an_empty_stream_ends_too() {
    for name in Scheme::names() {
        println!("{name}");
        transfer(&scheme(name), &PathHints::default(), &Conditions::calm(1, Duration::from_millis(10)), &[]);
    }
}

/// Options that exercise rules unused with the defaults: windows that are too small, every kind of loss recovery,
/// buffers smaller than windows.
const VARIANTS: &[&str] = &[
    "cubic:receive-window=8KiB",
    "cubic:recovery=newreno,counting=bytes,delayed-ack=false",
    "newreno:recovery=go-back-n,keep-out-of-order=false",
    "newreno:delayed-ack.every=8,delayed-ack.delay=100ms,nagle=true",
    "cubic:rack=false",
    "newreno:undo=false,tail-probe=false,delayed-ack=false",
    "vegas:fine-timer=true,recovery=fast-retransmit",
    "fixed:window=200pkt,recovery=newreno",
    "fixed:window=1pkt",
    "adaptive-ack:window=4pkt,t-normal=200ms",
    "sscop:window=3pkt,max-pd=2,max-stat=3",
    "sscop-rate:start-rate=64kbit/s,probing=packet-pair,drain=2s",
    "sstp:acknowledgement=hard,window=12,buffer=12,rate=100Mbit/s",
    "sstp:window=24,buffer=6,rate=50Mbit/s,segment-packets=4pkt",
    "sstp:rate=1Mbit/s,burst=1pkt,resume=next-burst,segment=256B",
];

fn number_from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Random schedules of loss, bursts, reordering, duplicates, corruption and blackouts. THALWEG_SEED and
/// THALWEG_SCHEDULES set the first seed and the number: `THALWEG_SCHEDULES=10000 cargo test -p thalweg-net --test it
/// flows::random` soaks.
#[test]
fn random_schedules_change_no_byte() {
    let (first, schedules) =
        (number_from_environment("THALWEG_SEED", 1), number_from_environment("THALWEG_SCHEDULES", 200));
    let bytes = data(300_000);
    let texts = Scheme::names().chain(VARIANTS.iter().copied());
    let schemes: Vec<Scheme> = texts.map(scheme).filter(Scheme::is_reliable).collect();
    for seed in first..first + schedules {
        let conditions = Conditions::random(seed);
        let mut rng = RandomStream::new(seed, "sizes", 0);
        for scheme in &schemes {
            // Small transfers mostly test the end of a stream.
            let max = if rng.chance(0.1) { bytes.len() as u64 } else { 20_000 };
            let length = rng.below(max) as usize;
            println!("seed {seed}: {scheme}, {length} bytes");
            transfer(scheme, &PathHints::default(), &conditions, &bytes[..length]);
        }
    }
}

/// The path takes datagrams of 1200 bytes, then only of 600: earlier data is split and retransmitted.
#[test]
fn window_transports_survive_a_black_hole() {
    let bytes = data(2_000_000);
    for name in ["cubic", "newreno", "vegas", "slow-start", "seif", "fixed"] {
        let conditions = Conditions {
            mtu_change: Some((Time::ZERO + Duration::from_millis(200), 600)),
            ..Conditions::calm(1, Duration::from_millis(20))
        };
        let hints = PathHints::default();
        let mut transfer = Transfer::new(&scheme(name), &hints, &conditions, &bytes);
        transfer.black_hole = Some(600);
        let report = transfer.run();
        assert!(report.retransmissions > 0, "{name}: {report:?}");
    }
}

#[test]
fn a_lossy_path_costs_no_more_than_its_losses() {
    let mut conditions = Conditions::calm(3, Duration::from_millis(20));
    conditions.impairment.loss = LossSpec::Uniform { probability: 0.02 };
    let bytes = data(1_000_000);
    for name in ["cubic", "newreno", "vegas"] {
        let report = transfer(&scheme(name), &PathHints::default(), &conditions, &bytes);
        assert!(report.retransmissions < 40, "{name}: {report:?}");
    }
}

/// Handshake measurements are hints, and the path may be slower or faster. No stream stalls because of windows and
/// timers derived from them.
#[test]
fn hints_may_be_wrong() {
    let bytes = data(300_000);
    for rtt in [Duration::from_micros(50), Duration::from_millis(6), Duration::from_secs(5)] {
        for name in Scheme::names() {
            let scheme = scheme(name);
            if !scheme.is_reliable() {
                continue;
            }
            for seed in 1..=number_from_environment("THALWEG_HINTS", 5) {
                let hints = PathHints { rtt: Some(rtt), ..PathHints::default() };
                println!("{name}, {rtt}, seed {seed}");
                let mut conditions = Conditions::calm(seed, Duration::from_millis(3));
                conditions.impairment.loss = LossSpec::Uniform { probability: 0.03 };
                transfer(&scheme, &hints, &conditions, &bytes);
            }
        }
    }
}
