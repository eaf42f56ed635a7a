//! Every scheme over bytes and hostile paths: each byte arrives, in order, and both ends learn of the end.

mod hostile;

use hostile::{Transfer, Weather, data, transfer};
use thalweg_net::flow::{PathHints, Scheme};
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
            &Weather::calm(1, Duration::from_millis(10)),
            &bytes,
        );
        println!("{name}: {report:?}");
        assert_eq!(report.retransmissions, 0, "{name}");
    }
}

#[test]
fn an_empty_stream_ends_too() {
    for name in Scheme::names() {
        transfer(&scheme(name), &PathHints::default(), &Weather::calm(1, Duration::from_millis(10)), &[]);
    }
}

/// Schedules of loss, bursts, reordering, copies, damage and blackouts by seed. THALWEG_SCHEDULES and THALWEG_SEED change how
/// many there are and where they begin.
#[test]
fn random_schedules_change_no_byte() {
    let number =
        |name: &str, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (first, schedules) = (number("THALWEG_SEED", 1), number("THALWEG_SCHEDULES", 20));
    let bytes = data(60_000);
    let schemes: Vec<Scheme> = Scheme::names().map(scheme).filter(Scheme::is_reliable).collect();
    for seed in first..first + schedules {
        let weather = Weather::random(seed);
        for scheme in &schemes {
            println!("{scheme}, seed {seed}");
            transfer(scheme, &PathHints::default(), &weather, &bytes);
        }
    }
}

/// The path takes datagrams of 1200 bytes, then only of 600: what was sent before is cut and goes again.
#[test]
fn window_transports_survive_a_black_hole() {
    let bytes = data(2_000_000);
    for name in ["cubic", "newreno", "vegas", "slow-start", "seif", "fixed"] {
        let weather = Weather {
            narrows: Some((Time::ZERO + Duration::from_millis(300), 600)),
            ..Weather::calm(1, Duration::from_millis(20))
        };
        let hints = PathHints::default();
        let mut transfer = Transfer::new(&scheme(name), &hints, &weather, &bytes);
        transfer.black_hole = Some(600);
        let report = transfer.run();
        assert!(report.retransmissions > 0, "{name}: {report:?}");
    }
}

#[test]
fn a_lossy_path_costs_no_more_than_its_losses() {
    let mut weather = Weather::calm(3, Duration::from_millis(20));
    weather.impairment.loss = LossSpec::Uniform { probability: 0.02 };
    let bytes = data(1_000_000);
    for name in ["cubic", "newreno", "vegas"] {
        let report = transfer(&scheme(name), &PathHints::default(), &weather, &bytes);
        assert!(report.retransmissions < 40, "{name}: {report:?}");
    }
}
