//! Rules that no case of the appendix covers, with the numbers of the draft.

use super::*;
use crate::congestion::bbr::{AckedData, Bbr, BbrConfig};
use crate::congestion::delivery_rate::RateSample;

/// "Summary of Control Behavior in the State Machine": pacing gain and window gain of each state.
#[test]
fn gains_match_the_table() {
    let table = [
        (BbrState::Startup, 2.77, 2.0),
        (BbrState::Drain, 0.5, 2.0),
        (BbrState::ProbeDown, 0.9, 2.0),
        (BbrState::ProbeCruise, 1.0, 2.0),
        (BbrState::ProbeRefill, 1.0, 2.0),
        (BbrState::ProbeUp, 1.25, 2.25),
        (BbrState::ProbeRtt, 1.0, 0.5),
    ];
    for (state, pacing, window) in table {
        assert_eq!((state.pacing_gain(), state.cwnd_gain()), (pacing, window), "{state:?}");
    }
}

/// "When not Probing for Bandwidth": losses reduce the short-term bounds in Drain, ProbeRTT, ProbeBW_DOWN and
/// ProbeBW_CRUISE, to the latest delivery or beta times their value; in no other state.
#[test]
fn losses_set_lower_bounds_only_between_probes() {
    let bounded = [BbrState::Drain, BbrState::ProbeRtt, BbrState::ProbeDown, BbrState::ProbeCruise];
    let probing = [BbrState::Startup, BbrState::ProbeRefill, BbrState::ProbeUp];
    for state in bounded.into_iter().chain(probing) {
        let mut bbr = Bbr::new(&BbrConfig::default());
        (bbr.smss, bbr.cwnd, bbr.state) = (1000.0, 100_000.0, state);
        bbr.max_bw.update(1e6);
        (bbr.latest.bw, bbr.latest.inflight) = (9e5, 20_000.0);
        (bbr.loss.in_round, bbr.loss.round_start) = (true, true);
        bbr.update_congestion_signals();
        if bounded.contains(&state) {
            assert_eq!((bbr.bw_shortterm, bbr.inflight_shortterm), (9e5, 70_000.0), "{state:?}");
        } else {
            assert!(bbr.bw_shortterm.is_infinite() && bbr.inflight_shortterm.is_infinite(), "{state:?}");
        }
        assert!(!bbr.loss.in_round);
    }
}

/// "Send Quantum": a millisecond of the pacing rate, at least two segments, at most 64 KBytes.
#[test]
fn a_quantum_is_a_millisecond() {
    let mut bbr = Bbr::new(&BbrConfig::default());
    bbr.smss = 1000.0;
    for (rate, quantum) in [(1e5, 2000.0), (2e6, 2000.0), (1e7, 10_000.0), (1e9, 65_536.0)] {
        bbr.pacing_rate = rate;
        bbr.set_send_quantum();
        assert_eq!(bbr.send_quantum, quantum, "{rate}");
    }
}

/// "BBR.max_bw and Application-limited Delivery Rate Samples": such samples are discarded unless they exceed the
/// estimate. "Tracking Time for the BBR.max_bw Max Filter": a sample counts in its cycle and the next.
#[test]
fn lower_application_limited_samples_do_not_count() {
    let sample = |rate, app_limited| AckedData {
        now: Time::ZERO,
        rs: RateSample { app_limited, ..RateSample::default() },
        rate,
        rtt: None,
        in_flight: 0.0,
    };
    let mut bbr = Bbr::new(&BbrConfig::default());
    bbr.update_max_bw(&sample(1e6, false));
    bbr.max_bw.advance();
    bbr.update_max_bw(&sample(5e5, true));
    bbr.max_bw.advance();
    assert_eq!(bbr.max_bw.get(), 1e6);
    bbr.update_max_bw(&sample(2e6, true));
    assert_eq!(bbr.max_bw.get(), 2e6);
    bbr.max_bw.advance();
    bbr.update_max_bw(&sample(5e5, false));
    assert_eq!(bbr.max_bw.get(), 2e6);
    bbr.max_bw.advance();
    assert_eq!(bbr.max_bw.get(), 5e5);
}
