//! Test cases of ProbeBW.

use super::*;

/// Runs until the next ProbeBW_UP is over.
fn probe_up(path: &mut Path) -> BbrState {
    path.reach_next(BbrState::ProbeUp);
    path.leave(BbrState::ProbeUp)
}

/// Not at 600 ms, where a probe with its queue takes longer than the interval between ProbeRTT phases.
#[test]
fn exiting_probe_up_on_bandwidth_plateau() {
    for setup in paths().filter(|setup| setup.rtt <= Duration::from_millis(100)) {
        let mut path = setup.build_shrinking();
        path.reach(BbrState::ProbeUp);
        let dropped = path.dropped;
        path.setup.buffer = 20.0;
        assert_eq!(path.see(|bbr| bbr.state.pacing_gain()), 1.25);
        assert_eq!(path.see(|bbr| bbr.state.cwnd_gain()), 2.25);
        assert_eq!(probe_up(&mut path), BbrState::ProbeDown, "{}", name(&path));
        let bbr = path.bbr();
        assert!(bbr.full_bw.now && bbr.full_bw.count == 3, "{}", name(&path));
        assert!(!bbr.cycle.too_high);
        assert!((bandwidth_share(&path) - 1.0).abs() < 0.02, "{}", name(&path));
        assert_eq!(path.dropped, dropped);
    }
}

#[test]
fn exiting_probe_up_on_loss_when_application_limited() {
    for setup in paths_of(80.0) {
        let mut path = setup.build_shrinking();
        path.reach(BbrState::ProbeUp);
        offer_load(&mut path, 0.6);
        // The application has been the limit for a round trip, and for the data in flight.
        path.pass(path.setup.rtt * 2);
        assert_eq!(path.state(), BbrState::ProbeUp, "{}", name(&path));
        let longterm = path.see(|bbr| bbr.inflight_longterm);
        path.lose = Box::new(|number, _| number % 10 == 0);
        let now = path.now;
        assert_eq!(path.leave(BbrState::ProbeUp), BbrState::ProbeDown, "{}", name(&path));
        assert!(path.now.since(now) <= path.setup.rtt * 3, "{}", name(&path));
        let bbr = path.bbr();
        assert!(bbr.cycle.too_high && !bbr.cycle.is_probe_sample);
        // HandleInflightTooHigh() does not set a bound from application-limited data.
        assert_eq!(bbr.inflight_longterm, longterm, "{}", name(&path));
    }
}

#[test]
fn never_exiting_probe_up_when_application_limited_with_no_loss() {
    for setup in paths_of(10.0) {
        let mut path = setup.build_shrinking();
        path.reach(BbrState::ProbeUp);
        offer_load(&mut path, 0.4);
        let limit = path.setup.rtt * 200;
        assert!(!path.run(limit, |path| path.state() != BbrState::ProbeUp), "{}", name(&path));
    }
}

#[test]
fn exiting_probe_down_on_inflight() {
    // At 600 ms the next probe is always due before sending a tenth below the rate has drained the queue.
    for setup in paths_of(80.0).filter(|setup| setup.rtt <= Duration::from_millis(100)) {
        // The queue of the first path loses nothing; the second one loses packets.
        for buffer in [2.0, 0.5] {
            let mut path = Setup {
                buffer,
                ..Setup::new(setup.rate.as_bits_per_sec() / 1_000_000, setup.rtt.as_millis_f64() as u64)
            }
            .build_shrinking();
            let mut tries = 0;
            loop {
                let _ = probe_up(&mut path);
                let bbr = path.bbr();
                if bbr.state != BbrState::ProbeDown {
                    continue;
                }
                assert!((bbr.pacing_rate / bbr.bw - 0.9 * 0.99).abs() < 1e-6, "{}", name(&path));
                tries += 1;
                if path.leave(BbrState::ProbeDown) == BbrState::ProbeCruise || tries == 5 {
                    break;
                }
            }
            let bbr = path.bbr();
            assert_eq!(bbr.state, BbrState::ProbeCruise, "{}", name(&path));
            let slack = bbr.send_quantum + 2.0 * bbr.smss;
            assert!(path.in_flight() <= bbr.inflight(bbr.max_bw.get(), 1.0) + slack, "{}", name(&path));
            assert!(path.in_flight() <= bbr.inflight_with_headroom() + slack, "{}", name(&path));
            if buffer < 1.0 {
                assert!(bbr.inflight_longterm.is_finite(), "{}", name(&path));
                assert!((bbr.inflight_with_headroom() / bbr.inflight_longterm - 0.85).abs() < 0.02);
            }
        }
    }
}

/// With 10 % less bandwidth, as in the appendix, sending at 89 % would still drain; with 30 % less it does not.
#[test]
fn exiting_probe_down_after_max_time() {
    for setup in paths_of(80.0) {
        let mut path = Setup { buffer: 4.0, ..setup }.build_shrinking();
        let rate = path.setup.rate;
        path.reach_next(BbrState::ProbeDown);
        path.set_rate(rate.mul_f64(0.7));
        assert_eq!(path.leave(BbrState::ProbeDown), BbrState::ProbeRefill, "{}", name(&path));
        let bbr = path.bbr();
        let waited = path.now.since(bbr.cycle.since);
        let rounds = (bbr.target_inflight() / bbr.smss).min(63.0);
        let is_time = waited > bbr.cycle.wait || f64::from(bbr.cycle.rounds_since_up) >= rounds;
        assert!(is_time, "{}", name(&path));
        assert!(bbr.cycle.wait >= Duration::from_secs(2) && bbr.cycle.wait < Duration::from_secs(3));
    }
}

#[test]
fn achieving_expected_cruise_bandwidth_on_a_link_with_aggregation() {
    for setup in paths_of(80.0) {
        let mut path = setup.build_shrinking();
        path.reach(BbrState::ProbeCruise);
        path.ack_slot = path.setup.rtt / 2;
        path.pass(path.setup.rtt * 12);
        path.reach_next(BbrState::ProbeCruise);
        // Half a bandwidth-delay product arrives at once.
        let extra = path.see(|bbr| bbr.aggregation.extra) / (path.setup.bdp() / 2.0);
        assert!((0.5..=2.5).contains(&extra), "{extra}: {}", name(&path));
        let (through, now) = (path.through, path.now);
        let next = path.leave(BbrState::ProbeCruise);
        assert!(matches!(next, BbrState::ProbeRefill | BbrState::ProbeRtt));
        let bbr = path.bbr();
        assert!(bbr.cwnd > 2.0 * path.setup.bdp() || next == BbrState::ProbeRtt, "{}", name(&path));
        let span = path.now.since(now).as_secs_f64();
        let used = (path.through - through) as f64 * 8.0 / span / path.setup.rate.as_f64();
        assert!(used > 0.93, "{used} in {span}: {}", name(&path));
    }
}

#[test]
fn correctly_managing_sub_packet_bdps() {
    for (kbits, millis) in [(64, 1), (64, 100), (1000, 1), (1000, 10)] {
        let rate = Rate::from_bits_per_sec(kbits * 1000);
        let mut path = Setup { rate, delayed_acks: true, ..Setup::new(1, millis) }.build_shrinking();
        assert!(path.setup.bdp() < f64::from(path.setup.segment));
        path.reach(BbrState::ProbeCruise);
        assert!(path.window() >= 4.0 * 1448.0, "{}", name(&path));
        let (through, mut minimum) = (path.through, f64::MAX);
        let span = Duration::from_secs(120);
        let _ = path.run(span, |path| {
            minimum = minimum.min(path.window());
            false
        });
        assert!((minimum - 4.0 * 1448.0).abs() < 1e-6, "{minimum} {}", name(&path));
        let used = (path.through - through) as f64 * 8.0 / span.as_secs_f64() / rate.as_f64();
        assert!(used > 0.95, "{used}: {}", name(&path));
        assert!((bandwidth_share(&path) - 1.0).abs() < 0.05, "{}", name(&path));
    }
}

#[test]
fn handling_loss_during_probe_up_after_inflight_longterm_is_set() {
    for setup in paths_of(80.0) {
        let mut path = Setup { buffer: 0.5, ..setup }.build_shrinking();
        path.reach(BbrState::ProbeUp);
        assert!(path.run(Duration::from_secs(60), |path| path.see(|bbr| bbr.inflight_longterm.is_finite())));
        path.setup.buffer = 4.0;
        // A probe without loss, so the next one is not precautionary.
        let mut tries = 0;
        while path.see(|bbr| bbr.cycle.too_high) || path.state() != BbrState::ProbeUp {
            path.reach_next(BbrState::ProbeUp);
            let _ = path.leave(BbrState::ProbeUp);
            tries += 1;
            assert!(tries < 10, "{}", name(&path));
            path.reach(BbrState::ProbeUp);
        }
        path.lose = Box::new(|number, _| number % 20 == 0);
        let before = path.bbr();
        let next = path.leave(BbrState::ProbeUp);
        let after = path.bbr();
        assert_eq!(next, BbrState::ProbeDown, "{}", name(&path));
        assert!(after.cycle.too_high && !after.full_bw.now, "{}", name(&path));
        assert_eq!(after.undo.state, Some(BbrState::ProbeUp));
        assert!(after.inflight_longterm >= after.target_inflight() * 0.7, "{}", name(&path));
        assert!(after.inflight_longterm <= before.inflight_longterm.max(2.3 * path.setup.bdp()));
    }
}

#[test]
fn handling_application_limited_sending_during_probe_refill() {
    for setup in paths_of(25.0) {
        let mut path = setup.build_shrinking();
        path.reach(BbrState::ProbeRefill);
        let before = path.see(|bbr| bbr.max_bw.get());
        path.limit_application(path.setup.rtt / 4, path.setup.segment);
        let next = path.leave(BbrState::ProbeRefill);
        assert_eq!(next, BbrState::ProbeUp, "{}", name(&path));
        path.pass(path.setup.rtt * 3);
        // No lower value has replaced the estimate.
        assert!(path.see(|bbr| bbr.max_bw.get()) >= before, "{}", name(&path));
        assert!(path.see(|bbr| bbr.sampler.is_app_limited()));
        path.unlimit_application();
        assert_eq!(probe_up(&mut path), BbrState::ProbeDown, "{}", name(&path));
        assert!((bandwidth_share(&path) - 1.0).abs() < 0.02, "{}", name(&path));
    }
}
