//! Options for the draft's open questions (pull requests 5 and 6, issue 109 of its repository).

use super::*;
use crate::congestion::bbr::{AckedData, Bbr, BbrConfig, FilterAdvance, ProbeRttBasis};
use crate::congestion::delivery_rate::RateSample;

/// Returns a flow with the model of a path of 1 MB/s and 100 ms, in segments of 1000 bytes.
fn flow(config: BbrConfig) -> Bbr {
    let mut bbr = Bbr::new(&config);
    (bbr.smss, bbr.cwnd, bbr.full_bw.is_reached) = (1000.0, 200_000.0, true);
    bbr.max_bw.update(1e6);
    bbr.bw = 1e6;
    bbr.min_rtt.update(Time::ZERO, Some(Duration::from_millis(100)), config.probe_rtt_interval);
    bbr
}

fn acked_at(seconds: u64, rtt: u64) -> AckedData {
    AckedData {
        now: Time::ZERO + Duration::from_secs(seconds),
        rs: RateSample::default(),
        rate: 0.0,
        rtt: Some(Duration::from_millis(rtt)),
        in_flight: 200_000.0,
    }
}

/// Pull request 6: 0.5 or 0.35 times the estimated rate, minus the margin of 1 %.
#[test]
fn drain_paces_by_the_configured_gain() {
    for gain in [0.5, 0.35] {
        let mut bbr = flow(BbrConfig { drain_gain: gain, ..BbrConfig::default() });
        bbr.enter(BbrState::Drain);
        bbr.update_control(&acked_at(1, 100));
        assert!((bbr.pacing_rate - gain * 0.99e6).abs() < 1.0, "{}", bbr.pacing_rate);
    }
}

/// Pull request 5: the filter advances when a probe ends, or a round trip later.
#[test]
fn the_filter_advances_at_the_end_of_a_probe_or_after_its_feedback() {
    for (filter_advance, then) in [(FilterAdvance::AfterFeedback, 1e6), (FilterAdvance::AtDown, 5e5)] {
        let mut bbr = flow(BbrConfig { filter_advance, ..BbrConfig::default() });
        // The previous cycle holds the maximum; this cycle has only a lower rate.
        bbr.max_bw.advance();
        bbr.max_bw.update(5e5);
        bbr.start_down(Time::ZERO);
        assert_eq!(bbr.max_bw.get(), then, "{filter_advance:?}");
        let mut feedback = acked_at(1, 100);
        feedback.rs.round_start = true;
        bbr.update_cycle(&feedback);
        assert_eq!(bbr.max_bw.get(), 5e5, "{filter_advance:?}");
    }
}

/// Version 1's filter: after five to ten round trips without an equal rate the maximum is forgotten; the draft's cycles
/// keep it.
#[test]
fn a_filter_of_ten_round_trips_expires() {
    for (filter_advance, then) in [(FilterAdvance::TenRounds, 1e5), (FilterAdvance::AfterFeedback, 1e6)] {
        let mut bbr = flow(BbrConfig { filter_advance, ..BbrConfig::default() });
        for round in 0..11 {
            let mut ack = acked_at(round, 100);
            (ack.rate, ack.rs.round_start) = (1e5, true);
            bbr.update_max_bw(&ack);
        }
        assert_eq!(bbr.max_bw.get(), then, "{filter_advance:?}");
    }
}

/// Issue 109: if the sample that begins ProbeRTT also expires the minimum round-trip time, half of the bandwidth-delay
/// product includes a queue, unless the previous value is used.
#[test]
fn an_expired_round_trip_counts_in_probe_rtt_if_configured() {
    for (basis, seconds, window) in [
        (ProbeRttBasis::Current, 5, 50_000.0),
        (ProbeRttBasis::Current, 10, 150_000.0),
        (ProbeRttBasis::BeforeExpiry, 5, 50_000.0),
        (ProbeRttBasis::BeforeExpiry, 10, 50_000.0),
    ] {
        let interval = Duration::from_secs(seconds);
        let config =
            BbrConfig { probe_rtt_basis: basis, probe_rtt_interval: interval, ..BbrConfig::default() };
        let mut bbr = flow(config);
        bbr.enter(BbrState::ProbeCruise);
        // A queue of 200 ms from the start.
        let late = acked_at(seconds + 1, 300);
        bbr.min_rtt.update(late.now, late.rtt, interval);
        bbr.check_probe_rtt(&late);
        assert_eq!(bbr.state, BbrState::ProbeRtt, "{basis:?}, {seconds} s");
        assert!(
            (bbr.probe_rtt_cwnd() - window).abs() < 1.0,
            "{basis:?}, {seconds} s: {}",
            bbr.probe_rtt_cwnd()
        );
    }
}
