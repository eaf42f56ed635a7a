//! Recovery, resynchronisation, retrieval.

use super::*;

/// E01: each error begins a recovery with a new number and the initial window.
#[test]
fn each_error_leads_to_recovery() {
    type Provoke = fn(&mut End) -> String;
    let errors: [(char, Provoke); 4] = [
        ('Q', |end| end.pdu(poll(1, 1))),
        ('R', |end| end.pdu(stat(5, 0, 128, &[]))),
        ('S', |end| end.pdu(stat(1, 7, 128, &[]))),
        ('T', |end| end.pdu(ustat(7, 128, 8, 9))),
    ];
    for (code, provoke) in errors {
        let mut end = End::ready(Config { window: 8, ..Config::default() });
        end.data("ab");
        end.expire(Timer::Poll);
        end.pdu(sd(0));
        end.pdu(sd(2));
        assert_eq!(provoke(&mut end), format!("!{code} >ER(1;8)"));
        assert_eq!((end.sscop.state(), end.running().as_str()), (State::OutgoingRecovery, "C"));
        // E02.
        assert_eq!(end.pdu(Pdu::Erak { mr: n(9) }), "^RECOVER.ind");
        assert_eq!(end.request(Request::AcceptRecover), "");
        let v = end.sscop.variables();
        assert_eq!((v.vt_s, v.vt_a, v.vr_r, v.vr_h, v.vt_ms), (n(0), n(0), n(0), n(0), n(9)));
        assert_eq!(end.data("c"), ">SD(0)");
    }
}

/// E03, E05: the peer's view. Its ERAK may be lost.
#[test]
fn the_peer_recovers_too() {
    let mut end = End::ready(Config::default());
    assert_eq!(end.pdu(er(1, 40)), ">ERAK(128)", "the number of the last BGN: a repetition");
    assert_eq!(end.pdu(er(2, 40)), "^RECOVER.ind");
    assert_eq!(end.request(Request::AcceptRecover), ">ERAK(128)");
    assert_eq!(end.pdu(er(2, 40)), ">ERAK(128)");
    assert_eq!(end.sscop.state(), State::Ready);
}

/// E04: both endpoints at once.
#[test]
fn recoveries_collide() {
    let mut ends = [End::ready(Config::default()), End::ready(Config::default())];
    for end in &mut ends {
        end.pdu(stat(9, 0, 128, &[]));
        assert_eq!(end.pdu(er(7, 128)), ">ERAK(128) ^RECOVER.ind");
        assert_eq!(end.sscop.state(), State::RecoveryResponse);
        assert_eq!(end.pdu(Pdu::Erak { mr: n(128) }), "");
        end.request(Request::AcceptRecover);
        assert_eq!(end.sscop.state(), State::Ready);
    }
}

/// Returns an endpoint with three unacknowledged and two queued messages, after an error.
fn endpoint_after_error(clear_buffers: bool) -> End {
    let mut end = End::ready_with(Config::default(), clear_buffers);
    end.sscop.variables.vt_ms = n(3);
    end.data("abcde");
    end.pdu(stat(9, 0, 128, &[]));
    end
}

/// E06, E07, E08.
#[test]
fn unacknowledged_messages_can_be_retrieved() {
    let recover = |end: &mut End| end.pdu(Pdu::Erak { mr: n(128) });
    let all = "^RETRIEVE.ind(a) ^RETRIEVE.ind(b) ^RETRIEVE.ind(c) ^RETRIEVE.ind(d) ^RETRIEVE.ind(e) ^RETRIEVE-COMPLETE.ind";
    let mut end = endpoint_after_error(false);
    recover(&mut end);
    assert_eq!(end.request(Request::Retrieve(Retrieve::Total)), all);
    assert_eq!(end.request(Request::Retrieve(Retrieve::Total)), "^RETRIEVE-COMPLETE.ind");
    assert_eq!(end.request(Request::AcceptRecover), "");
    // Not retrieved: sent messages are discarded, unsent messages are sent.
    let mut end = endpoint_after_error(false);
    end.request(Request::Data(bytes("f")));
    recover(&mut end);
    assert_eq!(end.request(Request::AcceptRecover), ">SD(0) >SD(1) >SD(2)");
    // Buffers are not kept: all messages are discarded.
    let mut end = endpoint_after_error(true);
    end.request(Request::Data(bytes("f")));
    recover(&mut end);
    assert_eq!(end.request(Request::AcceptRecover), "");
}

/// E09: an endpoint that keeps data delivers received messages despite gaps; the numbers show the gaps.
#[test]
fn received_messages_are_delivered_before_recovery() {
    for (clear_buffers, expected) in [(false, "^2:x ^3:x ^RECOVER.ind"), (true, "^RECOVER.ind")] {
        let mut end = End::ready_with(Config::default(), clear_buffers);
        for s in [0, 2, 3] {
            end.pdu(sd(s));
        }
        assert_eq!(end.pdu(er(9, 50)), expected);
    }
    let mut end = End::ready_with(Config::default(), false);
    end.pdu(sd(1));
    end.pdu(stat(9, 0, 50, &[]));
    assert_eq!(end.pdu(Pdu::Erak { mr: n(50) }), "^1:x ^RECOVER.ind");
}

/// E10: resynchronisation discards everything.
#[test]
fn resynchronisation_starts_from_zero() {
    let mut end = End::ready_with(Config::default(), false);
    end.data("abc");
    end.pdu(sd(0));
    end.pdu(sd(5));
    assert_eq!(end.request(Request::Resync { uu: None }), ">RS(1;128)");
    assert_eq!(end.pdu(Pdu::Rsak { mr: n(60) }), "^RESYNC.conf");
    let v = end.sscop.variables();
    assert_eq!((v.vt_s, v.vt_a, v.vt_ms, v.vr_r, v.vr_h), (n(0), n(0), n(60), n(0), n(0)));
    assert_eq!(end.data("d"), ">SD(0)");
    assert_eq!(end.pdu(sd(0)), "^0:x");
}

/// E12, E13: the retrieved messages, in each state that allows retrieval.
#[test]
fn retrieval() {
    let show = |letters: &str| {
        let mut shown: Vec<String> =
            letters.chars().map(|letter| format!("^RETRIEVE.ind({letter})")).collect();
        shown.push("^RETRIEVE-COMPLETE.ind".into());
        shown.join(" ")
    };
    type Leave = fn(&mut End);
    let cases: [(State, Leave); 5] = [
        (State::IncomingConnection, |end| drop(end.pdu(bgn(9, 9)))),
        (State::OutgoingDisconnection, |end| drop(end.request(Request::Release { uu: None }))),
        (State::IncomingResync, |end| drop(end.pdu(Pdu::Rs { sq: 9, mr: n(9), uu: None }))),
        (State::IncomingRecovery, |end| drop(end.pdu(er(9, 9)))),
        (State::Idle, |end| drop(end.pdu(Pdu::End { source: Source::User, uu: None }))),
    ];
    for (state, leave) in cases {
        for (which, expected) in [
            (Retrieve::Unknown, "e"),
            (Retrieve::After(n(11)), "cde"),
            (Retrieve::After(n(13)), "e"),
            (Retrieve::After(n(400)), "e"),
            (Retrieve::Total, "abcde"),
        ] {
            let mut end = End::ready_with(Config::default(), false);
            let v = &mut end.sscop.variables;
            (v.vt_s, v.vt_a, v.vt_ms) = (n(10), n(10), n(14));
            end.data("abcde");
            leave(&mut end);
            assert_eq!(end.sscop.state(), state);
            assert_eq!(end.request(Request::Retrieve(which)), show(expected), "{state:?} {which:?}");
        }
    }
}

/// Data of one connection never leaks into the next.
#[test]
fn a_new_connection_starts_empty() {
    for clear_buffers in [true, false] {
        let mut end = End::ready_with(Config::default(), clear_buffers);
        end.sscop.variables.vt_ms = n(2);
        end.data("abcd");
        end.pdu(sd(3));
        end.pdu(Pdu::End { source: Source::User, uu: None });
        end.request(Request::Establish { uu: None, clear_buffers });
        assert_eq!(end.pdu(bgak(128)), "^ESTABLISH.conf");
        assert_eq!(end.data("e"), ">SD(0)");
        assert_eq!(end.pdu(sd(0)), "^0:x");
    }
}
