//! Test cases of ProbeRTT and of a restart from idle.

use super::*;

#[test]
fn entering_and_exiting_probe_rtt() {
    for setup in paths() {
        let mut path = setup.build();
        path.reach(BbrState::ProbeCruise);
        // "For more than 5 seconds": the stamp is that of the last minimum.
        let mut stamp = Time::ZERO;
        assert!(
            path.run(Duration::from_secs(12), |path| {
                path.see(|bbr| {
                    if bbr.state != BbrState::ProbeRtt {
                        stamp = bbr.min_rtt.probe_stamp;
                    }
                    bbr.state == BbrState::ProbeRtt
                })
            }),
            "{}",
            name(&path)
        );
        let since = path.now.since(stamp);
        let late = path.setup.rtt * 2 + Duration::from_millis(50);
        assert!(since > Duration::from_secs(5) && since < Duration::from_secs(5) + late, "{}", name(&path));
        assert_eq!(path.see(|bbr| bbr.state.cwnd_gain()), 0.5);
        let maximum = path.see(|bbr| (0.5 * bbr.bdp()).max(4.0 * bbr.smss));
        assert!(path.window() <= maximum + 1.0, "{}", name(&path));
        let (began, rounds) = (path.now, path.see(|bbr| bbr.sampler.rounds()));
        let mut minimum = f64::MAX;
        assert!(path.run(Duration::from_secs(10), |path| {
            minimum = minimum.min(path.in_flight());
            path.state() != BbrState::ProbeRtt
        }));
        assert!(minimum <= maximum, "{}", name(&path));
        assert_eq!(path.state(), BbrState::ProbeCruise, "{}", name(&path));
        let took = path.now.since(began);
        let maximum = Duration::from_millis(200) + path.setup.rtt * 5 + Duration::from_millis(100);
        assert!(took > Duration::from_millis(200) && took < maximum, "{took} {}", name(&path));
        assert!(path.see(|bbr| bbr.sampler.rounds()) > rounds);
        // The window is restored, and the path is full again.
        assert!(path.window() > 0.95 * path.setup.bdp(), "{}", name(&path));
        let (through, span) = (path.through, Duration::from_secs(2));
        path.pass(span);
        let used = (path.through - through) as f64 * 8.0 / span.as_secs_f64() / path.setup.rate.as_f64();
        assert!(used > 0.9 || path.setup.rtt > Duration::from_millis(500), "{used} {}", name(&path));
    }
}

/// "ProbeRTT Logic": the minimum of ten seconds, so a longer path is recognised after the second ProbeRTT at the
/// latest.
#[test]
fn a_longer_path_raises_the_minimum_round_trip_time() {
    let mut path = Setup::new(100, 20).build();
    path.reach(BbrState::ProbeCruise);
    path.setup.rtt = Duration::from_millis(40);
    path.setup.buffer = 4.0;
    path.pass(Duration::from_secs(17));
    let rtt = path.see(|bbr| bbr.min_rtt.rtt);
    assert!(rtt >= Duration::from_millis(40) && rtt < Duration::from_millis(45), "{}", name(&path));
    // A shorter path is recognised at once.
    path.setup.rtt = Duration::from_millis(10);
    path.reach_next(BbrState::ProbeRtt);
    path.pass(Duration::from_millis(300));
    let rtt = path.see(|bbr| bbr.min_rtt.rtt);
    assert!(rtt < Duration::from_millis(15), "{}", name(&path));
}

#[test]
fn skipping_probe_rtt_due_to_application_limited_sending() {
    for setup in paths() {
        let mut path = setup.build();
        path.reach(BbrState::ProbeCruise);
        path.limit_application(Duration::from_secs(3600), 1);
        path.pass(Duration::from_secs(3));
        let empty = path.run(Duration::from_secs(60), |path| path.in_flight() == 0.0);
        assert!(empty || path.in_flight() == 0.0, "{}", name(&path));
        path.pass(Duration::from_secs(6));
        let (window, was_probing) = (path.window(), path.state().is_probe_bw());
        path.unlimit_application();
        assert!(path.restart(), "{}", name(&path));
        let bbr = path.bbr();
        if was_probing {
            // "Restarting From Idle": exactly at the estimated rate of the path.
            assert!((bbr.pacing_rate / bbr.bw - 0.99).abs() < 1e-6, "{}", name(&path));
            assert!((bbr.cwnd - window).abs() < 1.0, "{}", name(&path));
        }
        let probes = path.run(Duration::from_secs(4), |path| path.state() == BbrState::ProbeRtt);
        assert!(!probes, "{}", name(&path));
        assert!(!path.see(|bbr| bbr.idle_restart));
    }
}

#[test]
fn entering_and_exiting_probe_rtt_during_startup() {
    for setup in paths_of(80.0) {
        let mut path = setup.build();
        offer_load(&mut path, 0.3);
        path.reach(BbrState::ProbeRtt);
        assert!(!path.see(|bbr| bbr.full_bw.is_reached), "{}", name(&path));
        assert!(path.now >= Time::ZERO + Duration::from_secs(5));
        path.unlimit_application();
        assert_eq!(path.leave(BbrState::ProbeRtt), BbrState::Startup, "{}", name(&path));
        assert!(path.run(Duration::from_secs(60), |path| path.see(|bbr| bbr.full_bw.is_reached)));
        assert!((bandwidth_share(&path) - 1.0).abs() < 0.02, "{}", name(&path));
    }
}
