//! Test cases of Startup and Drain.

use super::*;

#[test]
fn exiting_startup_on_bandwidth_plateau() {
    for setup in paths() {
        let mut path = setup.build();
        assert!(
            path.run(Duration::from_secs(60), |path| path.see(|bbr| bbr.full_bw.is_reached)),
            "{}",
            name(&path)
        );
        assert!((bandwidth_share(&path) - 1.0).abs() < 0.02, "{}", name(&path));
        let bbr = path.bbr();
        assert!(bbr.full_bw.now && bbr.full_bw.count == 3, "{}", name(&path));
        // On a path of a few packets there is no queue to drain.
        let drains = path.setup.bdp() > 25.0 * bbr.smss;
        assert!(bbr.state == BbrState::Drain || !drains && bbr.state.is_probe_bw(), "{}", name(&path));
        assert_eq!(bbr.undo.state, None);
    }
}

/// Three rounds without growth follow the last round with growth: the rate is that of the path from the round in which
/// the window first fills it.
#[test]
fn startup_doubles_the_rate_each_round_trip() {
    let mut path = Setup::new(10_000, 100).build();
    let mut rates: Vec<f64> = Vec::new();
    let mut rounds = 0;
    let _ = path.run(Duration::from_secs(60), |path| {
        path.see(|bbr| {
            if bbr.sampler.rounds() > rounds {
                rounds = bbr.sampler.rounds();
                rates.push(bbr.max_bw.get());
            }
            bbr.full_bw.is_reached
        })
    });
    // "Startup Dynamics": each 25 % at least, or Startup would end; at most a doubling in two round trips.
    let full = path.setup.rate.as_f64() / 8.0 * 0.8;
    let rising: Vec<f64> = rates.iter().copied().filter(|&rate| rate > 0.0 && rate < full).collect();
    assert!(rising.len() > 5, "{rates:?}");
    for pair in rising.windows(3) {
        assert!(pair[1] > 1.25 * pair[0] && pair[2] > 2.0 * pair[0], "{rates:?}");
    }
}

#[test]
fn exiting_startup_on_loss_when_application_limited() {
    for setup in paths_of(150.0) {
        let mut path = setup.build();
        offer_load(&mut path, 0.5);
        let limit = path.setup.rtt * 40;
        path.pass(path.setup.rtt * 6);
        assert_eq!(path.state(), BbrState::Startup, "{}", name(&path));
        path.lose = Box::new(|number, _| number % 8 == 0);
        assert!(path.run(limit, |path| path.see(|bbr| bbr.full_bw.is_reached)), "{}", name(&path));
        let bbr = path.bbr();
        // Not by a plateau.
        assert!(bbr.full_bw.count == 0 && bbr.full_bw.now, "{}", name(&path));
        assert_eq!(bbr.undo.state, Some(BbrState::Startup));
        assert!(bbr.state == BbrState::Drain || bbr.state.is_probe_bw(), "{}", name(&path));
        assert!(bbr.inflight_longterm >= bbr.bdp() && bbr.inflight_longterm < 2.0 * path.setup.bdp());
    }
}

/// Five ranges in a round trip are not six, and 1 % of a round trip is less than 2 %.
#[test]
fn startup_continues_with_few_losses() {
    let mut path = Setup::new(10_000, 100).build();
    offer_load(&mut path, 0.5);
    path.pass(path.setup.rtt * 12);
    // Of about 500 segments in flight, 5 are lost in a round trip.
    let mut count = 0;
    path.lose = Box::new(move |_, _| {
        count += 1;
        count % 100 == 0
    });
    path.pass(path.setup.rtt * 20);
    assert_eq!(path.state(), BbrState::Startup, "{}", name(&path));
    assert!(path.dropped > 0);
    // 6 % in three bursts are three ranges.
    path.lose = Box::new(|_, _| false);
    path.pass(path.setup.rtt * 4);
    let mut count = 0;
    path.lose = Box::new(move |_, _| {
        count += 1;
        count <= 1000 && count % 333 < 20
    });
    path.pass(path.setup.rtt * 4);
    assert_eq!(path.state(), BbrState::Startup, "{}", name(&path));
}

#[test]
fn exiting_drain_based_on_inflight() {
    for setup in paths_of(25.0) {
        let mut path = setup.build();
        path.reach(BbrState::Drain);
        let bbr = path.bbr();
        assert!((bbr.pacing_rate / bbr.bw - 0.5 * 0.99).abs() < 1e-6, "{}", name(&path));
        assert!(path.in_flight() > 1.3 * path.setup.bdp(), "{}", name(&path));
        assert!(matches!(path.leave(BbrState::Drain), BbrState::ProbeDown | BbrState::ProbeCruise));
        let bbr = path.bbr();
        let slack = bbr.send_quantum + 2.0 * bbr.smss;
        assert!(path.in_flight() <= bbr.inflight(bbr.bw, 1.0) + slack, "{}", name(&path));
        assert!(path.in_flight() > 0.8 * path.setup.bdp(), "{}", name(&path));
        assert!(bbr.sampler.rounds() <= bbr.drain_start_round + 3, "{}", name(&path));
    }
}

/// With 10 % less bandwidth, as in the appendix, half the rate would still drain the queue within three round trips;
/// with 60 % less it does not.
#[test]
fn exiting_drain_based_on_time() {
    // At 600 ms ProbeRTT comes first.
    for setup in paths_of(25.0).filter(|setup| setup.rtt <= Duration::from_millis(100)) {
        let mut path = Setup { buffer: 20.0, ..setup }.build();
        path.reach(BbrState::Drain);
        let start = path.see(|bbr| bbr.sampler.rounds());
        assert_eq!(path.see(|bbr| bbr.drain_start_round), start);
        path.set_rate(path.setup.rate.mul_f64(0.4));
        let next = path.leave(BbrState::Drain);
        assert_eq!(next, BbrState::ProbeDown, "{}", name(&path));
        let bbr = path.bbr();
        assert_eq!(bbr.sampler.rounds(), start + 4, "{}", name(&path));
        assert!(path.in_flight() > bbr.inflight(bbr.bw, 1.0), "{}", name(&path));
    }
}

#[test]
fn never_exiting_startup_when_application_limited_with_no_loss() {
    for setup in paths() {
        let mut path = setup.build();
        offer_load(&mut path, 0.3);
        let limit = (path.setup.rtt * 100).max(Duration::from_secs(8));
        let left = path.run(limit, |path| !matches!(path.state(), BbrState::Startup | BbrState::ProbeRtt));
        assert!(!left, "{}", name(&path));
        assert_eq!(path.see(|bbr| bbr.full_bw.count), 0);
    }
}

#[test]
fn achieving_expected_startup_bandwidth_on_a_link_with_aggregation() {
    for setup in paths_of(80.0) {
        let mut path = setup.build();
        path.ack_slot = path.setup.rtt / 4;
        let mut widest = 0.0_f64;
        let reached = path.run(Duration::from_secs(60), |path| {
            widest = widest.max(path.window());
            path.see(|bbr| bbr.full_bw.is_reached)
        });
        assert!(reached, "{}", name(&path));
        // Aggregated acknowledgements may suggest a higher rate, but not beyond the sending rate.
        assert!((0.95..1.25).contains(&bandwidth_share(&path)), "{}", name(&path));
        // The excess over the mean rate is about one slot's worth of data.
        let extra = path.see(|bbr| bbr.aggregation.extra) / (path.setup.bdp() / 4.0);
        assert!((0.5..=2.5).contains(&extra), "{extra} {}", name(&path));
        assert!(widest > 2.0 * path.setup.bdp(), "{}", name(&path));
    }
}
