//! Phases, polling and credit at the sender.

use super::*;

fn step(end: &mut End, expected: &str, running: &str, done: &str) {
    assert_eq!((done, end.running().as_str()), (expected, running));
}

/// P01 to P08: from active to transient to idle and back.
#[test]
fn a_life_through_the_phases() {
    let mut end = End::ready(Config::default());
    assert_eq!(end.running(), "PN");
    let done = end.expire(Timer::Poll);
    step(&mut end, ">POLL(1,0)", "KN", &done);
    let done = end.pdu(stat(1, 0, 128, &[]));
    step(&mut end, "", "I", &done);
    let done = end.data("a");
    step(&mut end, ">SD(0)", "PN", &done);
    assert_eq!(end.sscop.variables().vt_pd, 1);
    let done = end.expire(Timer::Poll);
    step(&mut end, ">POLL(2,1)", "PN", &done);
    let before = end.sscop.timers.next();
    end.now += Duration::from_millis(10);
    let done = end.pdu(stat(2, 1, 129, &[]));
    step(&mut end, "", "PN", &done);
    // NO-RESPONSE was restarted, POLL was not.
    assert_eq!(end.sscop.timers.next(), before);
    end.sscop.timers.stop(Timer::Poll);
    assert_eq!(end.sscop.timers.next(), Some((end.now + Duration::from_secs(7), Timer::NoResponse)));
    end.sscop.timers.start(Timer::Poll, end.now, Duration::from_secs(1));
    let done = end.expire(Timer::Poll);
    step(&mut end, ">POLL(3,1)", "KN", &done);
    let done = end.pdu(stat(3, 1, 129, &[]));
    step(&mut end, "", "I", &done);
    let done = end.expire(Timer::Idle);
    step(&mut end, ">POLL(4,1)", "KN", &done);
    let done = end.expire(Timer::KeepAlive);
    step(&mut end, ">POLL(5,1)", "KN", &done);
}

/// P09: a peer that never answers: POLL at 0.75 s, then every 2 s, the end at 7 s.
#[test]
fn a_silent_peer_is_given_up() {
    let mut end = End::ready(Config::default());
    let mut story = Vec::new();
    while end.sscop.state() == State::Ready {
        let Output::Timeout { at, .. } = end.sscop.poll(end.now) else { panic!("a timer runs") };
        end.now = at;
        story.push(format!("{} {}", at, end.drain().join(" ")));
    }
    let polls = ["750 ms >POLL(1,0)", "2.75 s >POLL(2,0)", "4.75 s >POLL(3,0)", "6.75 s >POLL(4,0)"];
    assert_eq!(story[..4], polls);
    assert_eq!(story[4..], ["7 s !P >END(1) ^RELEASE.ind[sscop]"]);
}

/// P10.
#[test]
fn a_poll_after_max_pd() {
    let mut end = End::ready(Config { max_pd: 3, ..Config::default() });
    let done = end.data("abcdefg");
    assert_eq!(done, ">SD(0) >SD(1) >SD(2) >POLL(1,3) >SD(3) >SD(4) >SD(5) >POLL(2,6) >SD(6)");
    assert_eq!(end.sscop.variables().vt_pd, 1);
}

/// P11: data in the transient phase does not affect NO-RESPONSE.
#[test]
fn transient_data_does_not_restart_no_response() {
    let mut end = End::ready(Config::default());
    end.expire(Timer::Poll);
    end.now += Duration::from_secs(1);
    end.data("a");
    assert_eq!(end.running(), "PN");
    end.sscop.timers.stop(Timer::Poll);
    assert_eq!(end.sscop.timers.next(), Some((Time::ZERO + Duration::from_secs(7), Timer::NoResponse)));
}

/// P12: SDs do not affect a running `Timer_POLL`.
#[test]
fn data_does_not_restart_the_poll_timer() {
    let mut end = End::ready(Config::default());
    let due = end.sscop.timers.next();
    end.now += Duration::from_millis(100);
    end.data("abcdef");
    assert_eq!(end.sscop.timers.next(), due);
    // A POLL by count restarts it.
    end.data(&"x".repeat(20));
    let due = Some((end.now + Duration::from_millis(750), Timer::Poll));
    assert_eq!((end.sscop.timers.next(), end.sscop.variables().vt_ps), (due, n(1)));
}

/// P13.
#[test]
fn a_poll_follows_retransmissions_if_configured() {
    let mut end = End::ready(Config { poll_after_retransmission: true, ..Config::default() });
    end.data("abcd");
    assert_eq!(end.pdu(ustat(0, 128, 0, 2)), "!V2 >SD(0) >SD(1) >POLL(1,4)");
}

/// F01 to F03.
#[test]
fn credit_is_exhausted_and_restored() {
    let mut end = End::ready(Config::default());
    end.sscop.variables.vt_ms = n(4);
    assert_eq!(end.data("abcdef"), ">SD(0) >SD(1) >SD(2) >SD(3)");
    assert_eq!(end.expire(Timer::Poll), ">POLL(1,4)");
    assert_eq!(end.pdu(stat(1, 4, 4, &[])), "!W");
    // Data is waiting: the phase stays active.
    assert_eq!(end.running(), "PN");
    assert_eq!(end.expire(Timer::Poll), ">POLL(2,4)");
    // F05: reported only once.
    assert_eq!(end.pdu(stat(2, 4, 4, &[])), "");
    assert_eq!(end.expire(Timer::Poll), ">POLL(3,4)");
    assert_eq!(end.pdu(stat(3, 4, 8, &[])), "!X >SD(4) >SD(5)");
}

/// F04: data in the idle phase without credit requests credit.
#[test]
fn an_idle_sender_without_credit_polls_at_once() {
    let mut end = End::ready(Config::default());
    end.sscop.variables.vt_ms = n(2);
    end.data("ab");
    end.expire(Timer::Poll);
    end.pdu(stat(1, 2, 2, &[]));
    end.expire(Timer::Poll);
    end.pdu(stat(2, 2, 2, &[]));
    assert_eq!(end.running(), "I");
    assert_eq!(end.data("c"), ">POLL(3,2)");
    assert_eq!(end.running(), "PN");
}

/// F06, F07: retransmissions need no credit; a USTAT can grant some, which is reported with the next STAT.
#[test]
fn repeats_go_through_a_closed_window() {
    let mut end = End::ready(Config::default());
    end.sscop.variables.vt_ms = n(3);
    assert_eq!(end.data("abcde"), ">SD(0) >SD(1) >SD(2)");
    end.expire(Timer::Poll);
    assert_eq!(end.pdu(stat(1, 0, 3, &[])), "!W");
    assert_eq!(end.pdu(ustat(0, 3, 0, 1)), "!V1 >SD(0)");
    assert_eq!(end.pdu(ustat(0, 5, 1, 2)), "!V1 >SD(1) >SD(3) >SD(4)");
    end.sscop.variables.vt_ms = n(9);
    end.expire(Timer::Poll);
    assert_eq!(end.pdu(stat(2, 5, 9, &[])), "!X");
}

/// The local buffer limit acts as a window.
#[test]
fn the_buffer_limits_outstanding_data() {
    let mut end = End::ready(Config { buffer: 2, ..Config::default() });
    assert_eq!(end.data("abcd"), ">SD(0) >SD(1)");
    end.expire(Timer::Poll);
    assert_eq!(end.pdu(stat(1, 1, 129, &[])), ">SD(2)");
}

/// A repeated BGN, RS or ER in the idle phase starts no timer that could end the connection.
#[test]
fn late_repeats_do_not_end_an_idle_connection() {
    let mut end = End::ready(Config::default());
    end.expire(Timer::Poll);
    end.pdu(stat(1, 0, 128, &[]));
    assert_eq!(end.pdu(bgn(1, 128)), ">BGAK(128)");
    assert_eq!(end.running(), "I");
    // While polling, it is a sign of life.
    let mut end = End::ready(Config::default());
    end.now += Duration::from_millis(500);
    end.pdu(bgn(1, 128));
    end.sscop.timers.stop(Timer::Poll);
    assert_eq!(end.sscop.timers.next(), Some((Time::ZERO + Duration::from_millis(7500), Timer::NoResponse)));
}
