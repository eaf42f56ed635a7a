//! Receiver responses to SDs and POLLs.

use super::*;

/// Returns a receiver with the given window, which slides with delivery or not.
fn receiver(window: u32, slides: bool) -> End {
    let credit = if slides { Credit::Delivery } else { Credit::User };
    End::ready(Config { window, credit, ..Config::default() })
}

fn receive_numbers(end: &mut End, numbers: &[u32]) -> String {
    let done: Vec<String> = numbers.iter().map(|&s| end.pdu(sd(s))).filter(|done| !done.is_empty()).collect();
    done.join(" ")
}

/// VR(R), VR(H), VR(MR).
fn vr(end: &End) -> (u32, u32, u32) {
    let v = end.sscop.variables();
    (v.vr_r.get(), v.vr_h.get(), v.vr_mr.get())
}

/// R01.
#[test]
fn in_order() {
    let mut end = receiver(8, true);
    assert_eq!(receive_numbers(&mut end, &[0, 1, 2]), "^0:x ^1:x ^2:x");
    assert_eq!(vr(&end), (3, 3, 11));
}

/// R02 to R05.
#[test]
fn a_gap_is_reported_once_and_filled() {
    let mut end = receiver(8, true);
    assert_eq!(receive_numbers(&mut end, &[0, 3]), "^0:x >USTAT(1;9;1,3)");
    assert_eq!(vr(&end).1, 4);
    assert_eq!((receive_numbers(&mut end, &[4]).as_str(), vr(&end).1), ("", 5));
    assert_eq!((receive_numbers(&mut end, &[1]).as_str(), vr(&end).0), ("^1:x", 2));
    assert_eq!(receive_numbers(&mut end, &[2]), "^2:x ^3:x ^4:x");
    assert_eq!(vr(&end), (5, 5, 13));
}

/// R06, R07.
#[test]
fn data_beyond_the_window_is_dropped_and_reported_once() {
    let mut end = receiver(4, false);
    assert_eq!(receive_numbers(&mut end, &[0, 7]), "^0:x >USTAT(1;4;1,4)");
    assert_eq!(vr(&end), (1, 4, 4));
    assert_eq!(receive_numbers(&mut end, &[8]), "");
    // The user opens the window.
    end.sscop.handle(end.now, Input::Credit(3));
    assert_eq!(vr(&end), (1, 4, 7));
}

/// R08: the same SD twice.
#[test]
fn a_duplicate_that_waits_is_an_error() {
    let mut end = receiver(8, true);
    assert_eq!(receive_numbers(&mut end, &[0, 3, 3]), "^0:x >USTAT(1;9;1,3) !Q >ER(1;8)");
    assert_eq!((end.sscop.state(), end.running().as_str()), (State::OutgoingRecovery, "C"));
}

/// R09: an SD that was delivered before looks like one far ahead, unless old SDs are ignored.
#[test]
fn a_duplicate_of_delivered_data() {
    let mut end = receiver(8, true);
    assert_eq!(receive_numbers(&mut end, &[0, 1, 0]), "^0:x ^1:x >USTAT(2;10;2,10)");
    assert_eq!(vr(&end).1, 10);
    let mut end = End::ready(Config { window: 8, ignore_old_data: true, ..Config::default() });
    assert_eq!(receive_numbers(&mut end, &[0, 1, 0]), "^0:x ^1:x");
    assert_eq!(vr(&end), (2, 2, 10));
}

/// R10 to R13, R16: the list of a STAT.
#[test]
fn a_stat_lists_missing_sds() {
    for (numbers, poll_pdu, expected) in [
        (&[0, 1, 2, 5, 6][..], poll(2, 7), ">STAT(2;3;19;3,5,7)"),
        (&[0, 1, 2], poll(2, 5), ">STAT(2;3;19;3,5)"),
        (&[0, 1, 2], poll(2, 3), ">STAT(2;3;19;)"),
        (&[0, 2, 4, 6], poll(1, 9), ">STAT(1;1;17;1,2,3,4,5,6,7,9)"),
    ] {
        let mut end = receiver(16, true);
        receive_numbers(&mut end, numbers);
        assert_eq!(end.pdu(poll_pdu), expected);
    }
    let mut end = receiver(4, false);
    receive_numbers(&mut end, &[0]);
    assert_eq!((end.pdu(poll(1, 9)).as_str(), vr(&end).1), (">STAT(1;1;4;1,4)", 4));
}

/// R14, R15: lists longer than `MaxSTAT` are split at the start of a missing run.
#[test]
fn long_lists_are_split() {
    let config = Config { window: 16, max_stat: 3, ..Config::default() };
    let stats = |poll_pdu, lists: &[&str]| {
        let mut end = End::ready(config.clone());
        receive_numbers(&mut end, &[0, 2, 4, 6]);
        let expected: Vec<String> = lists.iter().map(|list| format!(">STAT(1;1;17;{list})")).collect();
        assert_eq!(end.pdu(poll_pdu), expected.join(" "));
    };
    stats(poll(1, 9), &["1,2,3", "3,4,5", "5,6,7", "7,9"]);
    stats(poll(1, 7), &["1,2,3", "3,4,5", "5,6,7"]);
}

/// R17, R18.
#[test]
fn polls_that_go_back_are_errors_and_repeated_ones_are_answered() {
    let mut end = receiver(16, true);
    receive_numbers(&mut end, &[0, 3]);
    assert_eq!(end.pdu(poll(1, 2)), "!Q >ER(1;16)");
    let mut end = receiver(16, true);
    assert_eq!(end.pdu(poll(1, 0)), ">STAT(1;0;16;)");
    assert_eq!(end.pdu(poll(1, 0)), ">STAT(1;0;16;)");
}

/// Neither SDs nor POLLs of the peer touch a timer.
#[test]
fn receiving_touches_no_timer() {
    let mut end = receiver(16, true);
    let timers = format!("{:?}", end.sscop.timers);
    end.now += Duration::from_millis(5);
    receive_numbers(&mut end, &[0, 3, 1, 2]);
    end.pdu(poll(1, 4));
    assert_eq!(format!("{:?}", end.sscop.timers), timers);
}

/// However many messages the user takes, old and new numbers stay distinct.
#[test]
fn the_window_stays_below_half_of_all_numbers() {
    let mut end = receiver(4, false);
    for _ in 0..3 {
        end.sscop.handle(end.now, Input::Credit(u32::MAX));
    }
    assert_eq!(vr(&end).2, SequenceNumber::HALF_MODULUS - 1);
    end.check();
}
