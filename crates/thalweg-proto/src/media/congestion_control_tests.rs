//! Tests of the congestion control of SCReAMv2 (sections 4.2 and 4.4).

use super::*;
use crate::media::config::EncoderConfig;

fn at(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

/// Returns a controller with a window of `segments` segments and a round trip of `rtt` ms, not limited by the flight.
fn control(response: Response, segments: f64, rtt: u64) -> Control {
    let encoder = EncoderConfig { max_rate: Rate::from_mbits_per_sec(1000), ..EncoderConfig::default() };
    let config = Config { ecn: response, segment: 984, encoder, ..Config::default() };
    let mut control = Control::new(&config);
    assert_eq!((control.mss, control.window), (1000.0, 3000.0));
    control.window = segments * 1000.0;
    control.rtt = Some(rtt as f64 / 1000.0);
    control.target = 8.0 * control.window / (rtt as f64 / 1000.0);
    control.note_in_flight(u64::MAX / 2);
    control.congested = Some(at(0));
    control
}

/// Returns the outcome of `packets` packets, `marked` of them CE-marked, with a queueing delay of `queue` ms.
fn outcome(packets: u32, marked: u32, rtt: u64, queue: u32) -> Outcome {
    Outcome {
        rtt: Some(Duration::from_millis(rtt)),
        one_way: queue * 65_536 / 1000,
        packets,
        marked_packets: marked,
        bytes: u64::from(packets) * 1000,
        marked_bytes: u64::from(marked) * 1000,
        is_loss: false,
    }
}

/// Section 4.2.1.3: alpha rises by an eighth of the difference, and falls by a 128th.
#[test]
fn alpha_attacks_fast_and_decays_slowly() {
    let mut control = control(Response::L4s, 50.0, 40);
    control.on_report(at(1000), &outcome(10, 5, 40, 0), 0);
    assert_eq!(control.alpha, 0.5 / 8.0);
    // Marks are accumulated over 10 ms.
    control.on_report(at(1005), &outcome(10, 10, 40, 0), 0);
    assert_eq!(control.alpha, 0.5 / 8.0);
    control.on_report(at(1010), &outcome(10, 0, 40, 0), 0);
    assert_eq!(control.alpha, 0.0625 + (0.5 - 0.0625) / 8.0);
    let before = control.alpha;
    control.on_report(at(1020), &outcome(10, 0, 40, 0), 0);
    assert_eq!(control.alpha, before * 127.0 / 128.0);
}

/// Section 4.2.2.1: BETA_LOSS is 0.7, BETA_ECN 0.8, with at most one reduction per min(VIRTUAL_RTT, s_rtt).
#[test]
fn losses_and_classic_marks_cut_by_fixed_factors() {
    let mut control = control(Response::Classic, 50.0, 40);
    let lost = Outcome { bytes: 0, is_loss: true, ..outcome(0, 0, 40, 0) };
    control.on_report(at(1000), &lost, 0);
    assert_eq!(control.window, 35_000.0);
    control.on_report(at(1024), &lost, 0);
    assert_eq!(control.window, 35_000.0);
    control.on_report(at(1025), &Outcome { is_loss: false, ..lost }, 0);
    assert_eq!(control.window, 24_500.0, "what was lost meanwhile counts");
    control.on_report(at(1050), &Outcome { bytes: 0, marked_packets: 1, packets: 1, ..lost }, 0);
    assert_eq!(control.window.round(), (24_500.0_f64 * 0.7 * 0.8).round(), "a loss and a mark");
    let mut marked = control_with_mark(Response::Classic);
    assert_eq!(marked.window, 40_000.0);
    marked.on_report(at(2000), &Outcome { is_loss: true, bytes: 0, ..outcome(0, 0, 40, 0) }, 0);
    assert_eq!(marked.window, 28_000.0);
    assert_eq!(control_with_mark(Response::None).window, 50_000.0, "marks of others say nothing");
}

fn control_with_mark(response: Response) -> Control {
    let mut control = control(response, 50.0, 40);
    control.on_report(at(1000), &Outcome { bytes: 0, ..outcome(1, 1, 40, 0) }, 0);
    control
}

/// Section 4.2.2.1, L4S mode: a reduction by half of alpha, less for small windows, and a quarter of that close to the
/// inflection point while the queue is short.
#[test]
fn marks_of_l4s_cut_by_their_share() {
    let window_after_mark = |segments: f64, queue: u32, inflection: f64| {
        let mut control = control(Response::L4s, segments, 40);
        control.alpha = 0.4;
        control.inflection = inflection * segments * 1000.0;
        control.inflected = Some(at(900));
        control.reacted = Some(at(950));
        control.delay.measure(at(900), 0);
        let before = control.window;
        // All packets are marked: there is no increase.
        control.on_report(at(1000), &Outcome { packets: 0, bytes: 0, ..outcome(0, 1, 40, queue) }, 0);
        (1e6 * (1.0 - control.window / before)).round()
    };
    assert_eq!(window_after_mark(50.0, 0, 0.5), 196_000.0);
    assert_eq!(window_after_mark(4.0, 0, 0.5), 150_000.0);
    assert_eq!(window_after_mark(50.0, 0, 1.0), 49_000.0);
    assert_eq!(window_after_mark(50.0, 20, 1.0), 196_000.0);
}

/// Section 4.2.2.1: after a hundred round trips without congestion the window is reduced to the maximum flight.
#[test]
fn an_unused_window_is_reduced() {
    let marked_after = |millis: u64| {
        let mut control = control(Response::L4s, 100.0, 40);
        control.max_in_flight = [30_000, 20_000];
        control.reacted = Some(at(0));
        control.on_report(at(millis), &Outcome { bytes: 0, ..outcome(1, 1, 40, 0) }, 0);
        control.window
    };
    assert!(marked_after(4000) > 90_000.0);
    assert!((18_000.0..20_000.0).contains(&marked_after(4041)));
}

/// Section 4.2.1.4: without marks, a queueing delay between half of the target and the target reduces the window as if
/// the corresponding share of alpha's limit were marked.
#[test]
fn delay_stands_for_marks_where_there_are_none() {
    let held = |queue: u32, alpha: f64| {
        let mut control = control(Response::L4s, 50.0, 50);
        control.delay = Delay::new(false);
        control.delay.measure(at(900), 0);
        control.inflection = 1.0;
        control.alpha = alpha;
        for round in 0..100 {
            control.delay.measure(at(1000 + round * 25), queue * 65_536 / 1000);
            control.delay.update(at(1000 + round * 25), Duration::from_millis(25));
        }
        let silent = Outcome { bytes: 0, packets: 0, ..outcome(0, 0, 50, queue) };
        control.on_report(at(4000), &silent, 0);
        1.0 - control.window / 50_000.0
    };
    assert_eq!(held(29, 0.0), 0.0);
    // alpha's limit is 2 MSS over the window: 0.04. At 45 ms the reduction is half of 2 * 0.04, halved again, times
    // 0.98.
    assert!((held(45, 0.0) / (0.04 / 2.0 * 0.98) - 1.0).abs() < 0.02, "{}", held(45, 0.0));
    assert!((held(60, 0.0) / (0.08 / 2.0 * 0.98) - 1.0).abs() < 0.02, "{}", held(60, 0.0));
    assert_eq!(held(45, 0.1), 0.0, "L4S is active");
}

/// Section 4.2.2.2: one segment per round trip after congestion, plus up to 2 % of the window over the next hundred
/// round trips.
#[test]
fn the_window_grows_by_a_segment_and_then_by_a_share() {
    let grown = |rtt: u64, millis: u64| {
        let mut control = control(Response::L4s, 50.0, rtt);
        control.inflection = 1.0;
        control.on_report(at(millis), &outcome(50, 0, rtt, 0), 0);
        control.window - 50_000.0
    };
    // The ratio of the small window reduces the increase by a factor of 0.98.
    assert!((grown(40, 0) - 980.0).abs() < 1e-6);
    assert!((grown(40, 2000) - 980.0 * (1.0 + 1.0 * 0.5)).abs() < 1e-6);
    assert!((grown(40, 4000) - 980.0 * 2.0).abs() < 1e-6);
    assert!((grown(40, 9000) - 980.0 * 2.0).abs() < 1e-6);
    // Below VIRTUAL_RTT the increase is scaled by the square of the ratio.
    assert!((grown(5, 0) - 980.0 / 25.0).abs() < 1e-6);
}

/// Section 4.2.2.2: the increase is a quarter close to the inflection point, a tenth with a queue, and zero beyond the
/// flight limit or at the maximum rate.
#[test]
fn growth_is_held_back() {
    let grown = |change: fn(&mut Control), queue: u32| {
        let mut control = control(Response::L4s, 50.0, 40);
        control.inflection = 1.0;
        control.delay.measure(at(0), 0);
        change(&mut control);
        control.congested = Some(at(1000));
        control.on_report(at(1000), &outcome(50, 0, 40, queue), 0);
        ((control.window - 50_000.0) / 9.8).round() / 100.0
    };
    assert_eq!(grown(|_| {}, 0), 1.0);
    assert_eq!(grown(|control| control.inflection = 50_000.0, 0), 0.25);
    assert_eq!(grown(|_| {}, 28), 0.53, "the average is a quarter of the queue");
    assert_eq!(grown(|control| control.alpha = 0.01, 28), 1.0);
    assert_eq!(grown(|control| control.max_in_flight = [33_000, 0], 0), 0.0);
    assert_eq!(grown(|control| control.max_in_flight = [0, 34_000], 0), 1.0);
    assert_eq!(grown(|control| control.max_rate = control.target, 0), 0.0);
}

/// Section 4.4: the window over the round-trip time, less for small windows and for a flight above a standing queue.
#[test]
fn the_target_is_the_window_over_the_round_trip() {
    let target = |segments: f64, queue: u32, in_flight: f64| {
        let mut control = control(Response::L4s, segments, 40);
        control.delay.measure(at(0), 0);
        control.delay.measure(at(0), queue * 65_536 / 1000);
        control.set_target(0.04, in_flight);
        (control.target / (segments * 1000.0 * 8.0 / 0.04) * 1e6).round() / 1e6
    };
    assert_eq!(target(50.0, 0, 2.0), 1.0);
    assert_eq!(target(5.0, 0, 1.0), 0.9);
    assert_eq!(target(3.0, 0, 1.0), 0.8);
    assert_eq!(target(50.0, 20, 1.08), (1e6_f64 / 1.2).round() / 1e6);
    assert_eq!(target(50.0, 20, 3.0), (1e6_f64 / 1.5).round() / 1e6);
    let control = control(Response::L4s, 50.0, 40);
    assert_eq!(control.media(), control.target() * 0.984);
    // Section 4.3.3.
    assert_eq!(control.pacing(), Rate::from_bits_per_sec(15_000_000));
}
