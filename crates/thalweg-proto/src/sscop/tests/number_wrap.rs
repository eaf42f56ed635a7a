//! Numbers that wrap at 2^24.

use super::*;

const TOP: u32 = 0xff_fffe;

fn sender_at(s: u32, ms: u32) -> End {
    let mut end = End::ready(Config::default());
    let v = &mut end.sscop.variables;
    (v.vt_s, v.vt_a, v.vt_ms) = (n(s), n(s), n(ms));
    end
}

/// W01, W02.
#[test]
fn the_sender_wraps() {
    let mut end = sender_at(TOP, 2);
    assert_eq!(end.data("abcdef"), ">SD(16777214) >SD(16777215) >SD(0) >SD(1)");
    assert_eq!(end.expire(Timer::Poll), ">POLL(1,2)");
    assert_eq!(end.pdu(stat(1, 0xff_ffff, 5, &[0xff_ffff, 0, 2])), "!V1 >SD(16777215) >SD(2) >SD(3)");
    assert_eq!(end.pdu(ustat(0, 9, 1, 2)), "!T >ER(1;128)");
}

/// W03.
#[test]
fn the_receiver_wraps() {
    let mut end = receiver_at(TOP);
    assert_eq!(end.pdu(sd(TOP)), "^16777214:x");
    assert_eq!(end.pdu(sd(0)), ">USTAT(16777215;3;16777215,0)");
    assert_eq!(end.pdu(sd(0xff_ffff)), "^16777215:x ^0:x");
}

/// W04.
#[test]
fn lists_wrap() {
    let mut end = receiver_at(TOP);
    end.pdu(sd(0));
    assert_eq!(end.pdu(poll(7, 1)), ">STAT(7;16777214;2;16777214,0,1)");
}

fn receiver_at(r: u32) -> End {
    let mut end = End::ready(Config::default());
    let v = &mut end.sscop.variables;
    (v.vr_r, v.vr_h, v.vr_mr) = (n(r), n(r), n(r).plus(4));
    end
}

/// W05.
#[test]
fn poll_numbers_wrap() {
    let mut end = End::ready(Config::default());
    let v = &mut end.sscop.variables;
    (v.vt_ps, v.vt_pa) = (n(0xff_ffff), n(0xff_ffff));
    end.data("ab");
    assert_eq!(end.expire(Timer::Poll), ">POLL(0,2)");
    assert_eq!(end.pdu(stat(0, 0, 128, &[0, 1, 2])), "!V1 >SD(0)");
}

/// The connection sequence number has 8 bits, and only equality matters.
#[test]
fn connection_numbers_wrap() {
    let mut end = End::new(Config::default());
    for sq in (1..=255).chain(0..=3) {
        assert_eq!(end.pdu(bgn(sq, 9)), "^ESTABLISH.ind", "{sq}");
        assert_eq!(end.request(Request::Release { uu: None }), ">BGREJ");
    }
}
