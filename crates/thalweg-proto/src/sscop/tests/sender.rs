//! Sender responses to STAT and USTAT.

use super::*;

/// Returns a sender that has sent `sent` SDs and `polls` POLLs.
fn sender(sent: usize, polls: u32) -> End {
    let mut end = End::ready(Config::default());
    end.data(&"x".repeat(sent));
    for _ in 0..polls {
        end.expire(Timer::Poll);
    }
    end
}

/// T01 to T03: the POLL number identifies SDs in flight.
#[test]
fn a_gap_reported_twice_is_repaired_once() {
    let mut end = sender(3, 1);
    assert_eq!(end.pdu(ustat(0, 128, 0, 1)), "!V1 >SD(0)");
    assert_eq!(end.pdu(stat(1, 0, 128, &[0, 1, 3])), "");
    assert_eq!(end.expire(Timer::Poll), ">POLL(2,3)");
    assert_eq!(end.pdu(stat(2, 0, 130, &[0, 1, 3])), "!V1 >SD(0)");
    assert_eq!(end.sscop.stats().retransmissions, 2);
}

/// T04: an SD sent before the very first POLL.
#[test]
fn the_first_poll_counts_too() {
    let mut end = sender(1, 1);
    assert_eq!(end.pdu(stat(1, 0, 128, &[0, 1])), "!V1 >SD(0)");
}

/// T05 to T07: N(PS).
#[test]
fn invalid_poll_numbers_are_errors() {
    let error = "!R >ER(1;128)";
    let mut end = sender(0, 0);
    assert_eq!(end.pdu(stat(1, 0, 128, &[])), error);
    assert_eq!(end.sscop.state(), State::OutgoingRecovery);
    assert_eq!(sender(0, 0).pdu(stat(0, 0, 128, &[])), error);
    assert_eq!(sender(5, 1).pdu(stat(2, 5, 128, &[])), error);
    let mut end = sender(5, 2);
    assert_eq!(end.pdu(stat(2, 5, 128, &[])), "");
    assert_eq!(end.pdu(stat(1, 5, 128, &[])), error);
}

/// T08 to T10: N(R) and the list.
#[test]
fn invalid_lists_are_errors() {
    let error = "!S >ER(1;128)";
    assert_eq!(sender(5, 1).pdu(stat(1, 6, 128, &[])), error);
    for list in
        [&[2, 6][..], &[5, 5], &[3, 3], &[4, 3], &[5, 6], &[0, 3], &[2, 3, 3], &[2, 3, 9], &[2, 4, 5, 4]]
    {
        assert_eq!(sender(5, 1).pdu(stat(1, 2, 128, list)), error, "{list:?}");
    }
}

/// T11.
#[test]
fn a_list_with_a_single_element_has_no_effect() {
    assert_eq!(sender(5, 1).pdu(stat(1, 2, 128, &[4])), "");
}

/// T12, T13: selectively acknowledged SDs are freed, unless kept for retrieval.
#[test]
fn selective_acknowledgement() {
    for clear_buffers in [true, false] {
        let mut end = End::ready_with(Config::default(), clear_buffers);
        end.data("abcdefgh");
        end.expire(Timer::Poll);
        assert_eq!(end.pdu(stat(1, 1, 128, &[1, 2, 4, 6, 8])), "!V3 >SD(1) >SD(4) >SD(5)");
        let kept: Vec<u32> = (0..7)
            .filter(|&offset| end.sscop.transmission_buffer.poll_of(offset).is_some())
            .map(|o| o + 1)
            .collect();
        let expected = if clear_buffers { vec![1, 4, 5] } else { (1..8).collect() };
        assert_eq!(kept, expected);
        end.expire(Timer::Poll);
        let again = end.pdu(stat(2, 1, 128, &[1, 3]));
        assert_eq!(again, if clear_buffers { "!S >ER(1;128)" } else { "!V2 >SD(1) >SD(2)" });
    }
}

/// T14.
#[test]
fn a_ustat_requests_acknowledges_and_grants_credit() {
    let mut end = sender(8, 0);
    assert_eq!(end.pdu(ustat(2, 140, 3, 5)), "!V2 >SD(3) >SD(4)");
    let v = end.sscop.variables();
    assert_eq!((v.vt_a, v.vt_ms, v.vt_pa), (n(2), n(140), n(1)));
}

/// T15.
#[test]
fn invalid_ustats_are_errors() {
    for (r, first, end) in [(8, 8, 9), (2, 5, 5), (2, 6, 8), (2, 1, 3), (9, 10, 11), (2, 6, 5)] {
        assert_eq!(sender(8, 0).pdu(ustat(r, 128, first, end)), "!T >ER(1;128)", "{first},{end}");
    }
}

/// T16, T17: requests wait while the lower layer is busy, each once; acknowledged SDs leave the queue.
#[test]
fn queued_requests() {
    let mut end = sender(5, 1);
    end.sscop.handle(end.now, Input::Busy(true));
    assert_eq!(end.pdu(ustat(0, 128, 0, 2)), "!V2");
    assert_eq!(end.pdu(ustat(0, 128, 0, 2)), "!V2");
    // POLLs and replies continue.
    assert_eq!(end.expire(Timer::Poll), ">POLL(2,5)");
    end.sscop.handle(end.now, Input::Busy(false));
    assert_eq!(end.drain(), [">SD(0)", ">SD(1)"]);
    end.sscop.handle(end.now, Input::Busy(true));
    end.expire(Timer::Poll);
    assert_eq!(end.pdu(stat(3, 0, 128, &[0, 2, 3, 4, 5])), "!V3");
    end.expire(Timer::Poll);
    assert_eq!(end.pdu(stat(4, 2, 128, &[])), "");
    end.sscop.handle(end.now, Input::Busy(false));
    assert_eq!(end.drain(), [">SD(3)"]);
}

/// T18: a split list requests the same SDs as the whole list.
#[test]
fn split_lists_request_the_same_sds() {
    let retransmitted = |lists: &[&[u32]]| {
        let mut end = sender(9, 1);
        end.sscop.handle(end.now, Input::Busy(true));
        for list in lists {
            end.pdu(stat(1, 1, 128, list));
        }
        end.sscop.handle(end.now, Input::Busy(false));
        end.drain().join(" ")
    };
    let unsplit = retransmitted(&[&[1, 2, 3, 4, 5, 6, 7, 9]]);
    assert_eq!(unsplit, ">SD(1) >SD(3) >SD(5) >SD(7) >SD(8)");
    assert_eq!(retransmitted(&[&[1, 2, 3], &[3, 4, 5], &[5, 6, 7], &[7, 9]]), unsplit);
}

/// Retransmissions precede new SDs.
#[test]
fn repeats_go_first() {
    let mut end = sender(3, 0);
    end.sscop.handle(end.now, Input::Busy(true));
    end.data("yz");
    end.pdu(ustat(0, 128, 1, 2));
    end.sscop.handle(end.now, Input::Busy(false));
    assert_eq!(end.drain(), [">SD(1)", ">SD(3)", ">SD(4)"]);
}
