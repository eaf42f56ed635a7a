//! Test cases of spurious losses.

use super::*;

/// Delays packets sent within a quarter of a round trip from now by `by`.
fn hold_up(path: &mut Path, by: Duration) {
    let until = path.now + path.setup.rtt / 4;
    path.delay = Box::new(move |_, now| if now < until { by } else { Duration::ZERO });
}

#[test]
fn handling_spurious_fast_recovery() {
    for setup in paths_of(80.0) {
        let mut path = setup.build_shrinking();
        path.reach(BbrState::ProbeUp);
        path.pass(path.setup.rtt);
        if path.state() != BbrState::ProbeUp {
            continue;
        }
        let before = path.bbr();
        let late = path.setup.rtt / 2;
        hold_up(&mut path, late);
        let undone = path.undone();
        // Declared lost, and the probe considered too high.
        assert!(path.run(path.setup.rtt * 3, |path| path.state() == BbrState::ProbeDown), "{}", name(&path));
        let during = path.bbr();
        assert_eq!(during.undo.state, Some(BbrState::ProbeUp), "{}", name(&path));
        assert_eq!(during.undo.bw_shortterm, before.bw_shortterm);
        assert_eq!(during.undo.inflight_shortterm, before.inflight_shortterm);
        assert_eq!(during.undo.inflight_longterm, before.inflight_longterm);
        assert!(during.inflight_longterm.is_finite());
        assert!(path.run(path.setup.rtt * 3, |path| path.undone() > undone), "{}", name(&path));
        let after = path.bbr();
        assert_eq!(after.state, BbrState::ProbeRefill, "{}", name(&path));
        assert_eq!(after.inflight_longterm, before.inflight_longterm);
        assert_eq!(after.bw_shortterm, before.bw_shortterm);
        assert!(!after.loss.in_round && !after.loss.is_in_recovery() && after.undo.state.is_none());
        assert!(after.cwnd >= during.prior_cwnd.min(after.cwnd));
        assert_eq!(path.leave(BbrState::ProbeRefill), BbrState::ProbeUp, "{}", name(&path));
        assert_eq!(path.timeouts(), 0);
    }
}

#[test]
fn handling_spurious_rto_recovery() {
    for setup in paths_of(80.0) {
        let mut path = setup.build_shrinking();
        path.reach(BbrState::ProbeUp);
        path.pass(path.setup.rtt / 2);
        let before = path.bbr();
        // All packets are held for longer than the timeout, and then arrive in order.
        let hold = path.setup.rtt * 3 + Duration::from_millis(600);
        path.held_until = path.now + hold;
        let undone = path.undone();
        assert!(path.run(hold * 2, |path| path.timeouts() > 0), "{}", name(&path));
        let during = path.bbr();
        assert_eq!(during.undo.inflight_longterm, before.inflight_longterm);
        assert!(during.cwnd < 0.5 * before.cwnd, "{}", name(&path));
        assert!(path.run(hold * 3, |path| path.undone() > undone), "{}", name(&path));
        let after = path.bbr();
        assert_eq!(after.inflight_longterm, before.inflight_longterm, "{}", name(&path));
        assert_eq!(after.bw_shortterm, before.bw_shortterm);
        assert!(after.cwnd >= 0.9 * before.cwnd, "{}", name(&path));
    }
}
