//! Octets as a script for one SSCOP endpoint: for the fuzz target and tests with fixed inputs.

use std::sync::Arc;
use thalweg_proto::payload::Slice;
use thalweg_proto::sscop::rate::RateConfig;
use thalweg_proto::sscop::{Config, Credit, Input, Pdu, Request, Retrieve, Sscop};
use thalweg_proto::units::{Duration, Time};
use thalweg_proto::{Engine, Output};

/// Maximum number of outputs at one moment: a window of answers, and the retrieval of all messages of a script. More
/// indicate a loop.
const MAX_OUTPUTS: u32 = 20_000;

/// Runs a script. The first octet selects the parameters. Each step is an octet that selects the action and, for a
/// frame, an octet with its length in words and the frame.
pub fn run(script: &[u8]) {
    let mut octets = script.iter().copied();
    let Some(options) = octets.next() else { return };
    let flag = |bit: u8| options >> bit & 1 == 1;
    let config = Config {
        window: if flag(0) { 4 } else { 200 },
        max_stat: if flag(1) { 3 } else { 67 },
        max_pd: if flag(2) { 1 } else { 25 },
        credit: if flag(3) { Credit::User } else { Credit::Delivery },
        ignore_old_data: flag(4),
        accept_any_begin: flag(5),
        rate: flag(6).then(RateConfig::amended),
        k: 200,
        j: 40,
        ..Config::default()
    };
    let mut end = Sscop::new(Arc::new(config));
    let mut now = Time::ZERO;
    while let Some(step) = octets.next() {
        let small = || Slice::new(vec![step; usize::from(step >> 4)]);
        let uu = || (step & 0x40 != 0).then(small);
        let clear_buffers = step & 0x80 == 0;
        let input = match step & 0xf {
            0..=5 => {
                let words = usize::from(octets.next().unwrap_or(0) % 20);
                let frame: Vec<u8> = octets.by_ref().take(4 * words).collect();
                frame_input(&Slice::new(frame))
            }
            6 => Input::Request(Request::Establish { uu: uu(), clear_buffers }),
            7 => Input::Request(Request::AcceptEstablish { uu: uu(), clear_buffers }),
            8 => Input::Request(Request::Release { uu: uu() }),
            9 => Input::Request(Request::Data(small())),
            10 => Input::Request(if clear_buffers { Request::AcceptRecover } else { Request::AcceptResync }),
            11 => Input::Request(Request::Resync { uu: uu() }),
            12 => Input::Request(Request::Retrieve(Retrieve::Total)),
            13 => Input::Credit(u32::from(step >> 4)),
            14 => Input::Busy(step & 0x10 != 0),
            _ => {
                now += Duration::from_millis(1 << (step >> 4));
                Input::Credit(0)
            }
        };
        end.handle(now, input);
        // Some drivers are slow.
        if step & 0x20 == 0 {
            drain(&mut end, now);
        }
    }
    drain(&mut end, now);
}

/// Returns the input of a frame: a PDU, which must survive encoding and decoding, or an invalid frame.
fn frame_input(frame: &Slice) -> Input<Slice> {
    let Ok(pdu) = Pdu::decode(frame) else { return Input::Invalid };
    let encoded = |pdu: &Pdu<Slice>| {
        let mut octets = Vec::new();
        pdu.encode(&mut octets);
        assert_eq!(octets.len(), pdu.wire_len() as usize);
        octets
    };
    let first = encoded(&pdu);
    let again = Pdu::decode(&Slice::new(first.clone())).map(|pdu| encoded(&pdu));
    assert_eq!(again, Ok(first));
    Input::Pdu(pdu)
}

fn drain(end: &mut Sscop<Slice>, now: Time) {
    for _ in 0..MAX_OUTPUTS {
        match end.poll(now) {
            Output::Transmit(_) | Output::Event(_) => {}
            Output::Timeout { at, .. } => {
                assert!(at > now, "a timeout that is due already");
                return;
            }
            Output::Idle => return,
        }
    }
    panic!("a loop: {end:?}");
}
