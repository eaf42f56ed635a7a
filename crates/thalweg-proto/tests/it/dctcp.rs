//! DCTCP by the sections of RFC 8257, and the share of marks in equilibrium.

#[allow(dead_code, reason = "not every test uses all of it")]
use crate::ack_samples::{ack, loss};
use thalweg_proto::congestion::{AckSample, ConnectionState, Controller, Dctcp, DctcpConfig, LossKind};

fn dctcp(window: f64) -> Dctcp {
    Dctcp::new(&DctcpConfig { initial_window: window, initial_ssthresh: 2.0, gain: 1.0 / 16.0 })
}

/// Acknowledges a window of `segments`, the last `marked` of them with CE; each acknowledgement releases a segment.
fn round(controller: &mut Dctcp, start: &mut u64, segments: u64, marked: u64) {
    for segment in 1..=segments {
        let connection =
            ConnectionState { next_sequence: *start + segments + segment - 1, ..ack(0).connection };
        let ce = u32::from(segment > segments - marked);
        controller.on_ack(&AckSample { cumulative: *start + segment, connection, ce, ..ack(0) }, ());
    }
    *start += segments;
}

/// Section 3.3: per window of data alpha moves by g towards the share of marks, and the window shrinks by half of
/// alpha, once.
#[test]
fn the_window_shrinks_by_the_share_of_marks() {
    let mut controller = dctcp(64.0);
    let mut start = 0;
    // Alpha starts at 1: the first mark halves the window, and further marks of the window of data have no effect.
    round(&mut controller, &mut start, 64, 64);
    assert_eq!((controller.decision().window, controller.alpha()), (32.0, 1.0));
    // With a quarter marked alpha moves by a sixteenth of the difference per window. A window ends with the first
    // acknowledgement behind it, which counts in it.
    let mut expected = 1.0;
    for rounds in 0..40 {
        round(&mut controller, &mut start, 64, 16);
        let share = if rounds == 0 { 1.0 } else { 0.25 };
        expected += (share - expected) / 16.0;
        assert!((controller.alpha() - expected).abs() < 0.02, "{} for {expected}", controller.alpha());
    }
    let window = controller.decision().window;
    let connection = ConnectionState { next_sequence: start + 128, ..ack(0).connection };
    controller.on_ack(&AckSample { cumulative: start + 64, connection, ce: 1, ..ack(0) }, ());
    assert_eq!(controller.decision().window, window * (1.0 - controller.alpha() / 2.0));
}

/// Section 3.4: without marks it grows like NewReno, and acknowledgements that report marks do not increase it.
#[test]
fn growth_matches_newreno() {
    let mut controller = dctcp(10.0);
    controller.on_ack(&ack(0), ());
    assert_eq!(controller.decision().window, 10.1);
    let connection = ConnectionState { next_sequence: 100, ..ack(0).connection };
    controller.on_ack(&AckSample { cumulative: 1, connection, ce: 1, ..ack(0) }, ());
    let reduced = controller.decision().window;
    controller.on_ack(&AckSample { cumulative: 2, connection, ce: 1, ..ack(0) }, ());
    assert_eq!(controller.decision().window, reduced);
}

/// Section 3.5: a loss halves for any alpha, and marks of the same window of data have no further effect.
#[test]
fn a_loss_halves_the_window() {
    let mut controller = dctcp(64.0);
    let mut start = 0;
    for _ in 0..100 {
        round(&mut controller, &mut start, 8, 0);
    }
    assert!(controller.alpha() < 0.01);
    let window = controller.decision().window;
    let mut sample = loss(LossKind::Detected, window as u32);
    sample.connection.next_sequence = start + 16;
    controller.on_loss(&sample);
    let halved = controller.decision().window;
    assert!((halved - window / 2.0).abs() <= 0.5, "{halved} of {window}");
    let connection = ConnectionState { next_sequence: start + 16, ..ack(0).connection };
    controller.on_ack(&AckSample { cumulative: start + 1, connection, ce: 1, ..ack(0) }, ());
    assert_eq!(controller.decision().window, halved);
}

/// Alizadeh et al. 2010, section 3.3, equation 6: at a queue that marks all of a window above W segments,
/// alpha^2 (1 - alpha / 4) = (2 W + 1) / (W + 1)^2, about 2 / W.
#[test]
fn alpha_converges_to_the_value_of_step_marking() {
    for threshold in [20u64, 50, 200] {
        let mut controller = dctcp(threshold as f64);
        let (mut start, mut sum, mut rounds) = (0, 0.0, 0);
        for number in 0..4000 {
            let window = controller.decision().window as u64;
            round(&mut controller, &mut start, window, if window > threshold { window } else { 0 });
            if number >= 1000 {
                sum += controller.alpha();
                rounds += 1;
            }
        }
        let (mean, expected) = (sum / f64::from(rounds), (2.0 / threshold as f64).sqrt());
        assert!((mean / expected - 1.0).abs() < 0.2, "{mean} for {expected} at {threshold}");
    }
}
