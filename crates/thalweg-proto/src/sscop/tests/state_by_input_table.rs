//! Every state with every input: PDUs, requests, expiry of the running timer. One table per state, as in the
//! Recommendation.
//!
//! A line is `inputs | actions | next state`. `BGN`, `RS` and `ER` stand for both a repeated one and a new one. An
//! input not in the table changes nothing: a PDU is ignored, a request refused. The running timers follow from the
//! state: `Timer_CC` where an answer is awaited (2, 4, 5, 7), `Timer_POLL` and `Timer_NO-RESPONSE` in state 10, none
//! elsewhere.
//!
//! The peer's N(MR) is 50 and its SSCOP-UU "u"; the user's SSCOP-UU is "x"; VT(SQ) is 5 before, the last N(SQ) 7. `MS`
//! means that VT(MS) became 50, `!?` is the code for an unsolicited PDU of that kind. UD, MD, AA-UNITDATA.request and
//! MAA-UNITDATA.request are the same everywhere and tested below.

use super::*;

const INPUTS: [&str; 26] = [
    "BGN repeat",
    "BGN new",
    "BGAK",
    "BGREJ",
    "END",
    "ENDAK",
    "RS repeat",
    "RS new",
    "RSAK",
    "ER repeat",
    "ER new",
    "ERAK",
    "SD",
    "POLL",
    "STAT",
    "USTAT",
    "ESTABLISH.req",
    "ESTABLISH.resp",
    "RELEASE.req",
    "DATA.req",
    "RESYNC.req",
    "RESYNC.resp",
    "RECOVER.resp",
    "RETRIEVE.req",
    "CC, tries left",
    "CC, last try",
];

const IDLE_COLUMN: &str = "
    BGN repeat                                      | >BGREJ                 | 1
    BGN new                                         | MS ^ESTABLISH.ind(u)   | 3
    BGAK, RS, RSAK, ER, ERAK, SD, POLL, STAT, USTAT | !? >END(1)             | 1
    BGREJ                                           | !?                     | 1
    END                                             | >ENDAK                 | 1
    ESTABLISH.req                                   | >BGN(6;128)(x)         | 2
    RETRIEVE.req                                    | ^RETRIEVE-COMPLETE.ind | 1";

const OUTGOING_CONNECTION: &str = "
    BGN new        | MS >BGAK(128) ^ESTABLISH.conf(u) | 10
    BGAK           | MS ^ESTABLISH.conf(u)            | 10
    BGREJ          | ^RELEASE.ind[user](u)            | 1
    RELEASE.req    | >END(0)(x)                       | 4
    CC, tries left | >BGN(5;128)(o)                   | 2
    CC, last try   | !O >END(1) ^RELEASE.ind[sscop]   | 1";

const INCOMING_CONNECTION: &str = "
    BGN new                  | MS ^RELEASE.ind[user] ^ESTABLISH.ind(u) | 3
    BGAK, RS, RSAK, ER, ERAK | !?                                      | 3
    BGREJ, ENDAK             | !? ^RELEASE.ind[sscop]                  | 1
    END                      | >ENDAK ^RELEASE.ind[user](u)            | 1
    SD, POLL, STAT, USTAT    | !? >END(1) ^RELEASE.ind[sscop]          | 1
    ESTABLISH.resp           | >BGAK(128)(x)                           | 10
    RELEASE.req              | >BGREJ(x)                               | 1
    RETRIEVE.req             | ^RETRIEVE-COMPLETE.ind                  | 3";

const OUTGOING_DISCONNECTION: &str = "
    BGN repeat     | >BGAK(128) >END(0)(o)              | 4
    BGN new        | MS ^RELEASE.conf ^ESTABLISH.ind(u) | 3
    BGREJ, ENDAK   | ^RELEASE.conf                      | 1
    END            | >ENDAK ^RELEASE.conf               | 1
    ESTABLISH.req  | >BGN(6;128)(x)                     | 2
    RETRIEVE.req   | ^RETRIEVE-COMPLETE.ind             | 4
    CC, tries left | >END(0)(o)                         | 4
    CC, last try   | !O ^RELEASE.conf                   | 1";

const OUTGOING_RESYNC: &str = "
    BGN repeat     | >BGAK(128) >RS(5;128)(o)                | 5
    BGN new        | MS ^RELEASE.ind[user] ^ESTABLISH.ind(u) | 3
    BGREJ, ENDAK   | !? ^RELEASE.ind[sscop]                  | 1
    END            | >ENDAK ^RELEASE.ind[user](u)            | 1
    RS new         | MS >RSAK(128) ^RESYNC.conf              | 10
    RSAK           | MS ^RESYNC.conf                         | 10
    RELEASE.req    | >END(0)(x)                              | 4
    CC, tries left | >RS(5;128)(o)                           | 5
    CC, last try   | !O >END(1) ^RELEASE.ind[sscop]          | 1";

const INCOMING_RESYNC: &str = "
    BGN repeat, BGAK, RS new, RSAK, ER, ERAK | !?                                      | 6
    BGN new                                  | MS ^RELEASE.ind[user] ^ESTABLISH.ind(u) | 3
    BGREJ, ENDAK                             | !? ^RELEASE.ind[sscop]                  | 1
    END                                      | >ENDAK ^RELEASE.ind[user](u)            | 1
    SD, POLL, STAT, USTAT                    | !? >END(1) ^RELEASE.ind[sscop]          | 1
    RELEASE.req                              | >END(0)(x)                              | 4
    RESYNC.resp                              | >RSAK(128)                              | 10
    RETRIEVE.req                             | ^RETRIEVE-COMPLETE.ind                  | 6";

const OUTGOING_RECOVERY: &str = "
    BGN repeat, BGAK, RS repeat, RSAK, ER repeat | !?                                      | 7
    BGN new                                      | MS ^RELEASE.ind[user] ^ESTABLISH.ind(u) | 3
    BGREJ, ENDAK                                 | !? ^RELEASE.ind[sscop]                  | 1
    END                                          | >ENDAK ^RELEASE.ind[user](u)            | 1
    RS new                                       | MS ^RESYNC.ind(u)                       | 6
    ER new                                       | MS >ERAK(128) ^RECOVER.ind              | 8
    ERAK                                         | MS ^RECOVER.ind                         | 8
    RELEASE.req                                  | >END(0)(x)                              | 4
    DATA.req                                     |                                         | 7
    RESYNC.req                                   | >RS(6;128)(x)                           | 5
    CC, tries left                               | >ER(5;128)                              | 7
    CC, last try                                 | !O >END(1) ^RELEASE.ind[sscop]          | 1";

const RECOVERY_RESPONSE: &str = "
    BGN repeat, BGAK, RS repeat, RSAK, ER new | !?                                      | 8
    BGN new                                   | MS ^RELEASE.ind[user] ^ESTABLISH.ind(u) | 3
    BGREJ, ENDAK                              | !? ^RELEASE.ind[sscop]                  | 1
    END                                       | >ENDAK ^RELEASE.ind[user](u)            | 1
    RS new                                    | MS ^RESYNC.ind(u)                       | 6
    ER repeat                                 | >ERAK(128)                              | 8
    STAT, USTAT                               | !? >END(1) ^RELEASE.ind[sscop]          | 1
    RELEASE.req                               | >END(0)(x)                              | 4
    RESYNC.req                                | >RS(6;128)(x)                           | 5
    RECOVER.resp                              |                                         | 10
    RETRIEVE.req                              | ^RETRIEVE-COMPLETE.ind                  | 8";

const INCOMING_RECOVERY: &str = "
    BGN repeat, BGAK, RS repeat, RSAK, ER new, ERAK | !?                                      | 9
    BGN new                                         | MS ^RELEASE.ind[user] ^ESTABLISH.ind(u) | 3
    BGREJ, ENDAK                                    | !? ^RELEASE.ind[sscop]                  | 1
    END                                             | >ENDAK ^RELEASE.ind[user](u)            | 1
    RS new                                          | MS ^RESYNC.ind(u)                       | 6
    SD, POLL, STAT, USTAT                           | !? >END(1) ^RELEASE.ind[sscop]          | 1
    RELEASE.req                                     | >END(0)(x)                              | 4
    RESYNC.req                                      | >RS(6;128)(x)                           | 5
    RECOVER.resp                                    | >ERAK(128)                              | 10
    RETRIEVE.req                                    | ^RETRIEVE-COMPLETE.ind                  | 9";

const READY: &str = "
    BGN repeat   | >BGAK(128)                              | 10
    BGN new      | MS ^RELEASE.ind[user] ^ESTABLISH.ind(u) | 3
    BGREJ, ENDAK | !? ^RELEASE.ind[sscop]                  | 1
    END          | >ENDAK ^RELEASE.ind[user](u)            | 1
    RS repeat    | >RSAK(128)                              | 10
    RS new       | MS ^RESYNC.ind(u)                       | 6
    ER repeat    | >ERAK(128)                              | 10
    ER new       | MS ^RECOVER.ind                         | 9
    SD           | ^0:x                                    | 10
    POLL         | >STAT(1;0;128;)                         | 10
    STAT         | !R >ER(6;128)                           | 7
    USTAT        | !T >ER(6;128)                           | 7
    RELEASE.req  | >END(0)(x)                              | 4
    DATA.req     | >SD(0)                                  | 10
    RESYNC.req   | >RS(6;128)(x)                           | 5";

const TABLES: [&str; 10] = [
    IDLE_COLUMN,
    OUTGOING_CONNECTION,
    INCOMING_CONNECTION,
    OUTGOING_DISCONNECTION,
    OUTGOING_RESYNC,
    INCOMING_RESYNC,
    OUTGOING_RECOVERY,
    RECOVERY_RESPONSE,
    INCOMING_RECOVERY,
    READY,
];

/// Returns an endpoint that reached `state` through regular events. The user's SSCOP-UU on the way was "o".
fn in_state(state: State) -> End {
    let config = Config { max_cc: 2, ..Config::default() };
    let uu = || Some(bytes("o"));
    let mut end = match state {
        State::Idle | State::OutgoingConnection | State::IncomingConnection => End::new(config),
        _ => End::ready(config),
    };
    // VT(SQ) is 5 in the end, even if it increases on the way.
    end.sscop.variables.vt_sq = 5;
    let raised = matches!(
        state,
        State::OutgoingConnection | State::OutgoingResync | State::OutgoingRecovery | State::RecoveryResponse
    );
    end.sscop.variables.vt_sq -= u8::from(raised);
    match state {
        State::Idle | State::Ready => {}
        State::OutgoingConnection => {
            end.request(Request::Establish { uu: uu(), clear_buffers: true });
        }
        State::IncomingConnection => {
            end.pdu(bgn(3, 100));
        }
        State::OutgoingDisconnection => {
            end.request(Request::Release { uu: uu() });
        }
        State::OutgoingResync => {
            end.request(Request::Resync { uu: uu() });
        }
        State::IncomingResync => {
            end.pdu(Pdu::Rs { sq: 3, mr: n(100), uu: None });
        }
        State::OutgoingRecovery => {
            end.pdu(stat(9, 0, 100, &[]));
        }
        State::RecoveryResponse => {
            end.pdu(stat(9, 0, 100, &[]));
            end.pdu(Pdu::Erak { mr: n(100) });
        }
        State::IncomingRecovery => {
            end.pdu(er(3, 100));
        }
    }
    assert_eq!(end.sscop.state(), state);
    (end.sscop.variables.vt_ms, end.sscop.variables.vr_sq) = (n(100), 7);
    end
}

fn apply(end: &mut End, input: &str) -> String {
    let (mr, uu, user_uu) = (n(50), Some(bytes("u")), Some(bytes("x")));
    let sq = if input.ends_with("repeat") { 7 } else { 9 };
    let request = match input {
        "BGN repeat" | "BGN new" => return end.pdu(Pdu::Bgn { sq, mr, uu }),
        "BGAK" => return end.pdu(Pdu::Bgak { mr, uu }),
        "BGREJ" => return end.pdu(Pdu::Bgrej { uu }),
        "END" => return end.pdu(Pdu::End { source: Source::User, uu }),
        "ENDAK" => return end.pdu(Pdu::Endak),
        "RS repeat" | "RS new" => return end.pdu(Pdu::Rs { sq, mr, uu }),
        "RSAK" => return end.pdu(Pdu::Rsak { mr }),
        "ER repeat" | "ER new" => return end.pdu(Pdu::Er { sq, mr }),
        "ERAK" => return end.pdu(Pdu::Erak { mr }),
        "SD" => return end.pdu(sd(0)),
        "POLL" => return end.pdu(poll(1, 0)),
        "STAT" => return end.pdu(stat(1, 0, 100, &[])),
        "USTAT" => return end.pdu(ustat(0, 100, 0, 1)),
        "UD" => return end.pdu(Pdu::Ud { mu: bytes("u") }),
        "MD" => return end.pdu(Pdu::Md { mu: bytes("u") }),
        "CC, tries left" => return end.expire(Timer::Cc),
        "CC, last try" => {
            end.expire(Timer::Cc);
            return end.expire(Timer::Cc);
        }
        "ESTABLISH.req" => Request::Establish { uu: user_uu, clear_buffers: true },
        "ESTABLISH.resp" => Request::AcceptEstablish { uu: user_uu, clear_buffers: true },
        "RELEASE.req" => Request::Release { uu: user_uu },
        "DATA.req" => Request::Data(bytes("d")),
        "RESYNC.req" => Request::Resync { uu: user_uu },
        "RESYNC.resp" => Request::AcceptResync,
        "RECOVER.resp" => Request::AcceptRecover,
        "RETRIEVE.req" => Request::Retrieve(Retrieve::Total),
        _ => panic!("{input}: no such input"),
    };
    match end.sscop.request(end.now, request) {
        Ok(()) => end.drain().join(" "),
        Err(RequestError::State) => "no".into(),
        Err(RequestError::Length) => "too long".into(),
    }
}

/// Codes of MAA-ERROR for unsolicited PDUs (annex A).
const UNSOLICITED: [(&str, char); 12] = [
    ("SD", 'A'),
    ("BGN", 'B'),
    ("BGAK", 'C'),
    ("BGREJ", 'D'),
    ("ENDAK", 'F'),
    ("POLL", 'G'),
    ("STAT", 'H'),
    ("USTAT", 'I'),
    ("RS", 'J'),
    ("RSAK", 'K'),
    ("ER", 'L'),
    ("ERAK", 'M'),
];

/// Returns "RS" for "RS repeat".
fn kind(input: &str) -> &str {
    input.split([' ', ',']).next().unwrap_or(input)
}

/// Returns the table row of an input: the actions, and the next state.
fn expected(table: &str, state: State, input: &str) -> (String, String) {
    let names = |list: &str| list.split(", ").any(|name| name == input || name == kind(input));
    let mut rows = table.lines().skip(1).filter_map(|row| {
        let [inputs, done, next] = row.splitn(3, '|').map(str::trim).collect::<Vec<_>>()[..] else {
            panic!("{row}: not three columns");
        };
        // Only these inputs contain a comma.
        let is_named = if inputs.starts_with("CC") { inputs == input } else { names(inputs) };
        is_named.then(|| (done.to_owned(), next.to_owned()))
    });
    let named = rows.next();
    assert!(rows.next().is_none(), "{state:?}: {input} is there twice");
    let (done, next) = named.unwrap_or_else(|| {
        let refused = if input.contains(".re") { "no" } else { "" };
        (refused.to_owned(), (state as u8).to_string())
    });
    let code = UNSOLICITED.iter().find(|(unsolicited, _)| *unsolicited == kind(input));
    (code.map_or(done.clone(), |(_, letter)| done.replace('?', &letter.to_string())), next)
}

#[test]
fn every_state_handles_every_input_by_the_tables() {
    let mut cells = 0;
    for (state, table) in State::ALL.into_iter().zip(TABLES) {
        for input in INPUTS {
            // Timer_CC runs only in four states.
            if input.starts_with("CC") && in_state(state).running() != "C" {
                continue;
            }
            let (done, next) = expected(table, state, input);
            let mut end = in_state(state);
            let mut seen = apply(&mut end, input);
            if end.sscop.variables.vt_ms == n(50) {
                seen = format!("MS {seen}");
            }
            let what = format!("state {}, {input}", state as u8);
            let next_seen = (end.sscop.state() as u8).to_string();
            assert_eq!((seen.trim(), &next_seen), (done.as_str(), &next), "{what}");
            let timers = match next.as_str() {
                "2" | "4" | "5" | "7" => "C",
                "10" => "PN",
                _ => "",
            };
            assert_eq!(end.running(), timers, "{what}: timers");
            if state != State::Ready || next != "10" {
                end.check();
            }
            cells += 1;
        }
        // Every input of a table must be known.
        for row in table.lines().skip(1) {
            let inputs = row.split('|').next().unwrap_or_default().trim();
            let is_known = |name: &str| INPUTS.iter().any(|input| *input == name || kind(input) == name);
            let all_known = INPUTS.contains(&inputs) || inputs.split(", ").all(is_known);
            assert!(all_known, "{state:?}: {inputs}");
        }
    }
    assert_eq!(cells, 10 * 24 + 4 * 2);
}

#[test]
fn unassured_data_and_invalid_frames_are_handled_alike_in_every_state() {
    for state in State::ALL {
        let mut end = in_state(state);
        let before = (end.sscop.variables(), end.running());
        assert_eq!(apply(&mut end, "UD"), "^UNITDATA.ind(u)");
        assert_eq!(apply(&mut end, "MD"), "^MAA-UNITDATA.ind(u)");
        assert_eq!(end.request(Request::UnitData(bytes("d"))), ">UD(d)");
        assert_eq!(end.request(Request::ManagementData(bytes("d"))), ">MD(d)");
        end.sscop.handle(end.now, Input::Invalid);
        assert_eq!(end.drain(), ["!U"]);
        // A busy lower layer accepts none of them.
        end.sscop.handle(end.now, Input::Busy(true));
        assert_eq!(end.request(Request::UnitData(bytes("e"))), "");
        end.sscop.handle(end.now, Input::Busy(false));
        assert_eq!(end.drain(), [">UD(e)"]);
        assert_eq!((end.sscop.variables(), end.running(), end.sscop.state()), (before.0, before.1, state));
    }
}

/// C11: k and j count octets without padding.
#[test]
fn messages_above_the_agreed_length_are_invalid() {
    let mut end = End::ready(Config { k: 5, j: 3, ..Config::default() });
    assert_eq!(end.pdu(Pdu::Sd { s: n(0), mu: bytes("12345") }), "^0:12345");
    assert_eq!(end.pdu(Pdu::Sd { s: n(1), mu: bytes("123456") }), "!U");
    assert_eq!(end.pdu(Pdu::Bgn { sq: 1, mr: n(9), uu: Some(bytes("1234")) }), "!U");
    assert_eq!(end.pdu(Pdu::Bgn { sq: 1, mr: n(9), uu: Some(bytes("123")) }), ">BGAK(129)");
    let too_long = end.sscop.request(end.now, Request::Data(bytes("123456")));
    assert_eq!(too_long, Err(RequestError::Length));
    assert_eq!(
        end.sscop.request(end.now, Request::Resync { uu: Some(bytes("1234")) }),
        Err(RequestError::Length)
    );
    assert_eq!((end.sscop.stats().invalid, end.sscop.stats().refused), (2, 2));
}

/// M24: END carries the originator.
#[test]
fn the_source_of_a_release_is_passed_on() {
    for state in [State::Ready, State::IncomingConnection, State::OutgoingResync, State::RecoveryResponse] {
        let mut end = in_state(state);
        let done = end.pdu(Pdu::End { source: Source::Sscop, uu: None });
        assert_eq!(done, ">ENDAK ^RELEASE.ind[sscop]");
    }
}

/// M02: an endpoint that accepts any BGN.
#[test]
fn any_begin_is_accepted_if_configured() {
    let mut end = End::new(Config { accept_any_begin: true, ..Config::default() });
    assert_eq!(end.pdu(bgn(0, 50)), "^ESTABLISH.ind");
}

/// M09, M27: four BGNs with the same number, which wraps, then the end of the attempt.
#[test]
fn tries_end() {
    let mut end = End::new(Config::default());
    end.sscop.variables.vt_sq = 255;
    assert_eq!(end.request(Request::Establish { uu: None, clear_buffers: true }), ">BGN(0;128)");
    for _ in 0..3 {
        assert_eq!(end.expire(Timer::Cc), ">BGN(0;128)");
    }
    assert_eq!(end.expire(Timer::Cc), "!O >END(1) ^RELEASE.ind[sscop]");
}

/// M07, and the same for resynchronisation and recovery: late answers after a collision are ignored.
#[test]
fn late_answers_are_ignored() {
    let mut end = in_state(State::OutgoingConnection);
    apply(&mut end, "BGN new");
    for late in [bgak(60), Pdu::Rsak { mr: n(60) }, Pdu::Erak { mr: n(60) }] {
        assert_eq!(end.pdu(late), "");
    }
    assert_eq!(end.sscop.variables.vt_ms, n(50));
}

/// M12: the repeated END carries the same parameters as the first one; so does a repeated BGAK in state 10.
#[test]
fn repeated_pdus_carry_the_same_octets() {
    let mut end = End::new(Config::default());
    end.pdu(bgn(1, 128));
    assert_eq!(
        end.request(Request::AcceptEstablish { uu: Some(bytes("hi")), clear_buffers: true }),
        ">BGAK(128)(hi)"
    );
    assert_eq!(end.pdu(bgn(1, 128)), ">BGAK(128)(hi)");
    end.request(Request::Release { uu: Some(bytes("x")) });
    assert_eq!(end.pdu(bgn(1, 128)), ">BGAK(128) >END(0)(x)");
}
