//! The body of the fuzz target for SSCOP, with fixed scripts as input.

use thalweg_proto::payload::Slice;
use thalweg_proto::random::RandomStream;
use thalweg_proto::sscop::{Pdu, SequenceNumber, Stat, Ustat};

/// Random octets exercise little but the decoder.
#[test]
fn any_octets_do_no_harm() {
    let mut stream = RandomStream::new(1, "octets", 0);
    for _ in 0..20_000 {
        let length = stream.below(400);
        let script: Vec<u8> = (0..length).map(|_| stream.next_u64() as u8).collect();
        crate::sscop_octets::run(&script);
    }
}

/// Plausible PDUs in any order, with requests and delays in between, reach every state.
#[test]
fn any_pdus_do_no_harm() {
    let mut stream = RandomStream::new(2, "pdus", 0);
    for _ in 0..5_000 {
        // Open the connection first, to test more than its establishment.
        let mut script = vec![stream.next_u64() as u8];
        frame(&mut script, &Pdu::Bgn { sq: 1, mr: SequenceNumber::new(20), uu: None });
        script.push(7);
        for _ in 0..stream.below(120) {
            if stream.chance(0.4) {
                script.push((stream.below(16) << 4 | (6 + stream.below(10))) as u8);
            } else {
                let pdu = pdu(&mut stream);
                frame(&mut script, &pdu);
            }
        }
        crate::sscop_octets::run(&script);
    }
}

fn frame(script: &mut Vec<u8>, pdu: &Pdu<Slice>) {
    script.extend([0, (pdu.wire_len() / 4) as u8]);
    pdu.encode(script);
}

fn pdu(stream: &mut RandomStream) -> Pdu<Slice> {
    let mut number = || SequenceNumber::new(stream.below(12) as u32);
    let (a, b, c, d) = (number(), number(), number(), number());
    let mut list = vec![number(), number(), number()];
    list.sort_by_key(|number| number.get());
    let sq = stream.below(3) as u8;
    match stream.below(14) {
        0 => Pdu::Bgn { sq, mr: a, uu: None },
        1 => Pdu::Rs { sq, mr: a, uu: None },
        2 => Pdu::Er { sq, mr: a },
        3 => Pdu::Erak { mr: a },
        4 => Pdu::Rsak { mr: a },
        5 | 6 => Pdu::Poll { ps: a, s: b },
        7 | 8 => {
            list.truncate(stream.below(4) as usize);
            Pdu::Stat(Stat { ps: a, mr: b, r: c, list, rate: None })
        }
        9 => Pdu::Ustat(Ustat { mr: a, r: b, first: c, end: d, rate: None }),
        _ => Pdu::Sd { s: a, mu: Slice::new(*b"data") },
    }
}
