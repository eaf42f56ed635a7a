//! Test cases with a change of the path.

use super::*;

#[test]
fn increasing_bandwidth_10x_and_ensuring_full_bandwidth_is_reached() {
    for (mbits, millis) in [(10, 100), (100, 20), (100, 100), (1000, 20), (1000, 100)] {
        let segment = Setup::new(mbits * 10, millis).segment;
        let mut path = Setup { segment, buffer: 0.6, ..Setup::new(mbits, millis) }.build();
        path.reach(BbrState::ProbeUp);
        assert!(
            path.run(Duration::from_secs(60), |path| path.see(|bbr| bbr.inflight_longterm.is_finite())),
            "{}",
            name(&path)
        );
        path.reach(BbrState::ProbeCruise);
        path.set_rate(Rate::from_mbits_per_sec(mbits * 10));
        let began = path.now;
        // Growth of the bound in each round trip of a probe, in segments.
        let mut rounds: Vec<(u64, f64, f64)> = Vec::new();
        let reached = path.run(Duration::from_secs(60), |path| {
            path.see(|bbr| {
                if bbr.state == BbrState::ProbeUp && bbr.cwnd_limited.get() {
                    let round = bbr.sampler.rounds();
                    if rounds.last().is_none_or(|(last, ..)| *last != round) {
                        rounds.push((round, bbr.inflight_longterm, bbr.cycle.up_acked_per_inc));
                    }
                }
                bbr.max_bw.get() * 8.0 > 0.95 * path.setup.rate.as_f64()
            })
        });
        assert!(reached, "{}", name(&path));
        let took = path.now.since(began);
        assert!(took < Duration::from_millis(3200) + path.setup.rtt * 24, "{took}: {}", name(&path));
        // RaiseInflightLongtermSlope(): in each round trip twice as many segments as in the previous one.
        let in_a_row: Vec<_> = rounds.windows(2).take_while(|pair| pair[1].0 == pair[0].0 + 1).collect();
        assert!(in_a_row.len() >= 4, "{rounds:?}");
        let mut before = 0.0;
        for pair in in_a_row.iter().take(5) {
            let slope = pair[1].2 / pair[0].2;
            assert!((0.45..0.7).contains(&slope), "{rounds:?}");
            let added = (pair[1].1 - pair[0].1) / f64::from(segment);
            assert!(added >= 1.5 * before - 1.0 && added <= 64.0, "{rounds:?}");
            before = added;
        }
    }
}

#[test]
fn decreasing_bandwidth_10x_and_ensuring_max_bandwidth_adapts_down() {
    for (mbits, millis) in [(100, 20), (100, 100), (1000, 100), (10_000, 20), (10_000, 100)] {
        let mut path = Setup { buffer: 1.0, ..Setup::new(mbits, millis) }.build();
        path.reach(BbrState::ProbeCruise);
        let full = path.setup.rate;
        path.set_rate(full.mul_f64(0.1));
        let began = path.now;
        let fell = path.run(Duration::from_secs(10), |path| {
            path.see(|bbr| bbr.bw_shortterm * 8.0) < 0.5 * full.as_f64()
        });
        let short = path.now.since(began);
        assert!(fell, "{}", name(&path));
        let adapted = path.run(Duration::from_secs(60), |path| bandwidth_share(path) < 1.03);
        assert!(adapted, "{}", name(&path));
        // Upon the loss, and two cycles later.
        assert!(short < path.setup.rtt * 12, "{short}: {}", name(&path));
        let cycles = (Duration::from_secs(3) + path.setup.rtt * 10) * 2;
        assert!(path.now.since(began) < cycles, "{}", name(&path));
    }
}

/// Not at 600 ms: ProbeRTT, every 5 s, interrupts most probes there. The samples that follow count as
/// application-limited, so the bandwidth filter hardly ever advances. The rate from before the policer then persists,
/// and 37 % are lost.
#[test]
fn handling_token_bucket_policers() {
    for setup in paths_of(80.0).filter(|setup| setup.rtt <= Duration::from_millis(100)) {
        let mut path = setup.build();
        path.reach(BbrState::ProbeCruise);
        let tokens = path.setup.rate.mul_f64(0.5);
        path.policer = Some((tokens, path.setup.bdp() / 4.0));
        let bounded = path.run(Duration::from_secs(30), |path| {
            path.see(|bbr| bbr.bw_shortterm.is_finite() && bbr.inflight_shortterm.is_finite())
        });
        assert!(bounded, "{}", name(&path));
        path.pass(Duration::from_secs(20));
        let (sent, dropped, through) = (path.sent, path.dropped, path.through);
        let span = Duration::from_secs(30);
        path.pass(span);
        let lost = (path.dropped - dropped) as f64 / (path.sent - sent) as f64;
        let used = (path.through - through) as f64 * 8.0 / span.as_secs_f64() / tokens.as_f64();
        assert!(used > 0.8, "{used} {}", name(&path));
        assert!(lost < 0.05, "{lost} {}", name(&path));
    }
}
