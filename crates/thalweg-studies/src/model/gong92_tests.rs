//! Tests the formulas against independent values, their limits, and direct simulation.

use super::*;
use thalweg_proto::random::RandomStream;

const SMALL_PATH: Path = Path {
    rate: Rate::from_mbits_per_sec(100),
    round_trip: Duration::from_millis(30),
    packet: Bytes::new(1024),
    segment: 16,
};

fn throughput_efficiency_of(p: f64, window: f64, form: Form) -> f64 {
    SMALL_PATH.analyse(p, window, form).unwrap().efficiency
}

/// 1024 bytes at 100 Mbit/s are 81.92 us, 16 of them 1.31072 ms.
#[test]
fn quantities_follow_from_the_path() {
    let analysis = SMALL_PATH.analyse(1e-3, 12.0, Form::Corrected).unwrap();
    let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 5e-5, "{a} is not {b}");
    near(analysis.packet_time, 81.92e-6);
    near(analysis.segment_time, 1.31072e-3);
    near(analysis.acknowledgement_time, 30.24576e-3);
    near(analysis.round_trip_window, 23.0756);
    // 1 + (1 - (1 - 1e-3)^16) + 16·1e-6 + ...
    near(analysis.rounds, 1.0159);
    near(analysis.sender_delay, 32.0386e-3);
    near(analysis.receiver_delay, 16.7928e-3);
    near(analysis.efficiency, 0.43213);
}

/// Values computed independently of this code, at fractions of w_a.
#[test]
fn all_regimes_have_their_values() {
    let w_a = SMALL_PATH.round_trip_window();
    for (p, times, printed, corrected) in [
        (1e-5, 0.25, 0.2394, 0.2394),
        (1e-5, 1.5, 0.9962, 0.9980),
        (1e-4, 0.5, 0.4711, 0.4711),
        (1e-4, 2.0, 0.9654, 0.9985),
        (1e-3, 1.0, 0.7625, 0.7625),
        (1e-3, 1.5, 0.8021, 0.8860),
        (1e-2, 0.5, 0.2985, 0.2985),
        (1e-2, 1.5, 0.6319, 0.7657),
        (1e-2, 2.5, 0.99, 0.99),
        (1e-1, 0.25, 0.1336, 0.1336),
        (1e-1, 2.0, 0.6509, 0.8933),
    ] {
        let window = times * w_a;
        assert!((throughput_efficiency_of(p, window, Form::Printed) - printed).abs() < 6e-5, "{p}, {times}");
        assert!(
            (throughput_efficiency_of(p, window, Form::Corrected) - corrected).abs() < 6e-5,
            "{p}, {times}"
        );
    }
    assert!((throughput_efficiency_of(1e-2, 1.0, Form::Corrected) - 0.0363).abs() < 5e-5);
}

#[test]
fn the_corrected_form_meets_the_next_regime_and_the_printed_one_does_not() {
    let w_a = SMALL_PATH.round_trip_window();
    for p in [1e-5, 1e-4, 1e-3] {
        let step = |form, at: f64| {
            throughput_efficiency_of(p, at + 1e-9, form) - throughput_efficiency_of(p, at - 1e-9, form)
        };
        // At the lower end both meet the first formula up to the wait of one segment.
        assert!(step(Form::Corrected, w_a + 1.0).abs() < 0.01, "{p}");
        assert!(
            step(Form::Corrected, 2.0 * w_a + 1.0).abs() < 0.01,
            "{p}: {}",
            step(Form::Corrected, 2.0 * w_a + 1.0)
        );
    }
    let jump = throughput_efficiency_of(1e-3, 2.0 * w_a + 1.0 + 1e-9, Form::Printed)
        - throughput_efficiency_of(1e-3, 2.0 * w_a + 1.0 - 1e-9, Form::Printed);
    assert!(jump > 0.15, "{jump}");
}

#[test]
fn limits_are_the_obvious_ones() {
    let w_a = SMALL_PATH.round_trip_window();
    // Without losses the efficiency is 1, or the window's share of a round trip.
    assert_eq!(throughput_efficiency_of(0.0, 2.0, Form::Corrected), 2.0 / (w_a + 1.0));
    assert_eq!(throughput_efficiency_of(0.0, w_a + 1.5, Form::Corrected), 1.0);
    assert_eq!(throughput_efficiency_of(0.0, 100.0, Form::Printed), 1.0);
    let lossless = SMALL_PATH.analyse(0.0, 1.0, Form::Corrected).unwrap();
    assert_eq!(lossless.rounds, 1.0);
    assert!((lossless.sender_delay - (30.24576e-3 + 1.31072e-3)).abs() < 1e-12);
    for window in [0.5, 1.0, 2.0, 12.0, 30.0, 46.0, 47.5] {
        let (zero, tiny) = (
            throughput_efficiency_of(0.0, window, Form::Corrected),
            throughput_efficiency_of(1e-12, window, Form::Corrected),
        );
        assert!((zero - tiny).abs() < 1e-6, "{window}: {zero}, {tiny}");
    }
    // An unlimited window reaches 1 - p; with total loss nothing arrives.
    assert_eq!(throughput_efficiency_of(0.25, f64::INFINITY, Form::Corrected), 0.75);
    let hopeless = SMALL_PATH.analyse(1.0, 100.0, Form::Corrected).unwrap();
    assert_eq!((hopeless.efficiency, hopeless.sender_delay), (0.0, f64::INFINITY));
    assert_eq!(throughput_efficiency_of(1.0, 1.0, Form::Corrected), 0.0);
    for window in [0.5, 12.0, 25.0, 47.0, 48.0] {
        assert_eq!(throughput_efficiency_of(1.0, window, Form::Corrected), 0.0, "{window}");
    }
    assert!(throughput_efficiency_of(1.0, 12.0, Form::Printed).is_finite());
}

#[test]
fn efficiency_grows_with_the_window_and_falls_with_loss() {
    for p in [0.0, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 0.9, 0.99, 1.0] {
        let windows: Vec<f64> = (4..280).map(|quarter| f64::from(quarter) / 4.0).collect();
        for pair in windows.windows(2) {
            let (less, more) = (
                throughput_efficiency_of(p, pair[0], Form::Corrected),
                throughput_efficiency_of(p, pair[1], Form::Corrected),
            );
            assert!(more <= 1.0 - p, "{p}: {more} at {}", pair[1]);
            // At regime boundaries the formulas meet only up to the time of a segment.
            assert!(more >= less - 0.01, "{p}: {} at {}, {} at {}", less, pair[0], more, pair[1]);
        }
    }
    for window in [1.0, 6.0, 12.0, 23.0, 30.0, 40.0, 58.0] {
        let mut last = 1.0;
        for step in 0..=60 {
            let p = libm::pow(10.0, -6.0 + f64::from(step) / 12.0);
            let now = throughput_efficiency_of(p, window, Form::Corrected);
            assert!(now <= last + 1e-12 && now > 0.0, "{window} at {p}");
            last = now;
            let delays = SMALL_PATH.analyse(p, window, Form::Corrected).unwrap();
            assert!(delays.receiver_delay < delays.sender_delay && delays.rounds >= 1.0);
        }
    }
}

/// D_s and the rounds, by random simulation.
#[test]
fn delays_are_those_of_direct_simulation() {
    let mut stream = RandomStream::new(1, "rounds", 0);
    for p in [0.003, 0.03, 0.3] {
        let trials = 200_000;
        let (mut rounds_drawn, mut packets) = (0u64, 0u64);
        for _ in 0..trials {
            let mut missing = SMALL_PATH.segment;
            while missing > 0 {
                rounds_drawn += 1;
                packets += u64::from(missing);
                missing = (0..missing).filter(|_| stream.chance(p)).count() as u32;
            }
        }
        let analysis = SMALL_PATH.analyse(p, 1.0, Form::Corrected).unwrap();
        let mean = rounds_drawn as f64 / f64::from(trials);
        assert!((analysis.rounds / mean - 1.0).abs() < 0.005, "{p}: {} and {mean}", analysis.rounds);
        let time =
            packets as f64 / f64::from(trials) * analysis.packet_time + mean * analysis.acknowledgement_time;
        assert!(
            (analysis.sender_delay / time - 1.0).abs() < 0.005,
            "{p}: {} and {time}",
            analysis.sender_delay
        );
    }
}

#[test]
fn values_outside_the_domain_are_rejected() {
    let analyse = |p, window| SMALL_PATH.analyse(p, window, Form::Corrected).err();
    assert_eq!(analyse(-0.1, 1.0), Some(DomainError::Probability));
    assert_eq!(analyse(1.1, 1.0), Some(DomainError::Probability));
    assert_eq!(analyse(f64::NAN, 1.0), Some(DomainError::Probability));
    assert_eq!(analyse(0.1, 0.0), Some(DomainError::Window));
    assert_eq!(analyse(0.1, f64::NAN), Some(DomainError::Window));
    for path in [
        Path { rate: Rate::ZERO, ..SMALL_PATH },
        Path { packet: Bytes::ZERO, ..SMALL_PATH },
        Path { segment: 0, ..SMALL_PATH },
    ] {
        assert_eq!(path.analyse(0.1, 1.0, Form::Corrected).err(), Some(DomainError::Path));
    }
}

/// The delays near total loss are computed quickly, and join the summed ones. For segments of one packet the number of
/// rounds is 1/(1 - p).
#[test]
fn hardly_anything_arrives() {
    for segment in [1, 2, 16, 1000, 100_000] {
        let path = Path { segment, ..SMALL_PATH };
        let rounds = |p: f64| path.analyse(p, 100.0, Form::Corrected).unwrap().rounds;
        // On both sides of the boundary rounds times loss per round is almost equal.
        let (below, above) = (0.9999 - 1e-9, 0.9999 + 1e-9);
        let scaled = |p: f64| rounds(p) * -libm::log(p);
        assert!((scaled(above) / scaled(below) - 1.0).abs() < 1e-8, "{segment}");
        let last = rounds(0.999_999_999_999_999_9);
        assert!(last.is_finite() && last >= 9e15 * libm::log(f64::from(segment)), "{segment}: {last}");
    }
    let one = Path { segment: 1, ..SMALL_PATH };
    for lost in [1e-4, 1e-6, 1e-9] {
        let rounds = one.analyse(1.0 - lost, 1.0, Form::Corrected).unwrap().rounds;
        assert!((rounds * lost - 1.0).abs() < 1e-6, "{lost}: {rounds}");
    }
}
