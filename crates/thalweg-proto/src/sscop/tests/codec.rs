//! The wire format: examples, every length, every bit pattern.

use super::*;
use crate::random::RandomStream;

/// Hexadecimal words.
fn octets(words: &str) -> Slice {
    let digits: String = words.split_whitespace().collect();
    let octets: Vec<u8> =
        (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect();
    Slice::new(octets)
}

fn encoded(pdu: &Pdu<Slice>) -> Slice {
    let mut out = Vec::new();
    pdu.encode(&mut out);
    assert_eq!(out.len(), pdu.wire_len() as usize, "{pdu:?}");
    Slice::new(out)
}

fn uu(text: &str) -> Option<Slice> {
    Some(bytes(text))
}

/// C01, C02: built by hand from the formats, and checked with tshark's dissector.
#[test]
fn examples() {
    let message = |s, text: &str| Pdu::Sd { s: n(s), mu: bytes(text) };
    let end = |source, uu| Pdu::End { source, uu };
    let examples = [
        ("00000001 01000080", bgn(1, 128)),
        ("48454c4c4f000000 000000ff c1fffffe", Pdu::Bgn { sq: 255, mr: n(0xff_fffe), uu: uu("HELLO") }),
        ("00000000 02000050", bgak(80)),
        ("4f4b0000 00000000 8200001e", Pdu::Bgak { mr: n(30), uu: uu("OK") }),
        ("00000000 03000000", end(Source::User, None)),
        ("00000000 13000000", end(Source::Sscop, None)),
        ("62796500 00000000 43000000", end(Source::User, uu("bye"))),
        ("00000000 04000000", Pdu::Endak),
        ("00000002 05000080", Pdu::Rs { sq: 2, mr: n(128), uu: None }),
        ("00000000 06000080", Pdu::Rsak { mr: n(128) }),
        ("4e4f0000 00000000 87000000", Pdu::Bgrej { uu: uu("NO") }),
        ("08000000", message(0, "")),
        ("61626364 08000005", message(5, "abcd")),
        ("61620000 88fffffe", message(0xff_fffe, "ab")),
        ("00000003 09000080", er(3, 128)),
        ("00000001 0a000006", poll(1, 6)),
        ("00000001 00000080 0b000006", stat(1, 6, 128, &[])),
        ("00000003 00000005 00000002 00000083 0b000003", stat(2, 3, 131, &[3, 5])),
        ("00000003 00000005 00000007 00000002 00000083 0b000003", stat(2, 3, 131, &[3, 5, 7])),
        ("00000003 00000005 00000083 0c000003", ustat(3, 131, 3, 5)),
        ("78797a00 4d000000", Pdu::Ud { mu: bytes("xyz") }),
        ("6d000000 ce000000", Pdu::Md { mu: bytes("m") }),
        ("00000000 0f000080", Pdu::Erak { mr: n(128) }),
    ];
    let mut kinds: Vec<u8> = examples.iter().map(|(_, pdu)| pdu.kind() as u8).collect();
    kinds.dedup();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, (1..=15).collect::<Vec<u8>>(), "all fifteen types");
    for (hex, pdu) in examples {
        assert_eq!(encoded(&pdu).as_bytes(), octets(hex).as_bytes(), "{pdu:?}");
        assert_eq!(Pdu::decode(&octets(hex)).map(|pdu| show_pdu(&pdu)), Ok(show_pdu(&pdu)));
        // Slices are equal if their octets are equal, wherever they are stored.
        assert_eq!(
            Pdu::decode(&octets(hex)).map(|pdu| encoded(&pdu)).unwrap().as_bytes(),
            octets(hex).as_bytes()
        );
    }
}

/// C03: padding of 0 to 3 octets.
#[test]
fn every_user_field_is_padded_to_words() {
    for (text, pad) in [("", 0), ("1", 3), ("12", 2), ("123", 1), ("1234", 0), ("12345", 3)] {
        let (mr, uu, mu) = (n(7), uu(text).filter(|uu| !uu.as_bytes().is_empty()), bytes(text));
        let pdus = [
            Pdu::Bgn { sq: 1, mr, uu: uu.clone() },
            Pdu::Bgak { mr, uu: uu.clone() },
            Pdu::Bgrej { uu: uu.clone() },
            Pdu::End { source: Source::User, uu: uu.clone() },
            Pdu::Rs { sq: 1, mr, uu },
            Pdu::Sd { s: mr, mu: mu.clone() },
            Pdu::Ud { mu: mu.clone() },
            Pdu::Md { mu },
        ];
        for pdu in pdus {
            let frame = encoded(&pdu);
            let octets = frame.as_bytes();
            let control = if matches!(pdu.kind(), PduKind::Sd | PduKind::Ud | PduKind::Md) { 4 } else { 8 };
            assert_eq!(octets.len(), text.len() + pad + control);
            assert_eq!(octets[octets.len() - 4] >> 6, pad as u8, "{pdu:?}");
            assert_eq!(Pdu::decode(&frame).map(|pdu| show_pdu(&pdu)), Ok(show_pdu(&pdu)));
        }
    }
}

/// C04 to C10: invalid lengths, in general or for the type.
#[test]
fn wrong_lengths_are_invalid() {
    for length in [0, 1, 2, 3, 5, 6, 7] {
        assert_eq!(Pdu::decode(&Slice::new(vec![8; length])), Err(InvalidFrame), "{length} octets");
    }
    let word = |kind: u8, words: usize| {
        let mut octets = vec![0; 4 * words];
        octets[4 * words - 4] = kind;
        Pdu::decode(&Slice::new(octets)).is_ok()
    };
    // The valid numbers of words, up to 5, for each type.
    let right: [(u8, &[usize]); 16] = [
        (0x0, &[]),
        (0x1, &[2, 3, 4, 5]),
        (0x2, &[2, 3, 4, 5]),
        (0x3, &[2, 3, 4, 5]),
        (0x4, &[2]),
        (0x5, &[2, 3, 4, 5]),
        (0x6, &[2]),
        (0x7, &[2, 3, 4, 5]),
        (0x8, &[1, 2, 3, 4, 5]),
        (0x9, &[2]),
        (0xa, &[2]),
        (0xb, &[3, 4, 5]),
        (0xc, &[4]),
        (0xd, &[1, 2, 3, 4, 5]),
        (0xe, &[1, 2, 3, 4, 5]),
        (0xf, &[2]),
    ];
    for (kind, right) in right {
        let valid: Vec<usize> = (1..=5).filter(|&words| word(kind, words)).collect();
        assert_eq!(valid, right, "type {kind:x}");
    }
    // Padding without a user field.
    for hex in ["c8000000", "00000001 41000000"] {
        assert_eq!(Pdu::decode(&octets(hex)), Err(InvalidFrame), "{hex}");
    }
}

/// C12, C13: reserved bits are ignored; the ones that hold a rate do not affect the rest.
#[test]
fn reserved_bits_are_ignored() {
    for (plain, set) in [
        ("00000001 01000080", "ffffff01 31000080"),
        ("00000000 02000050", "ffffffff 32000050"),
        ("00000000 04000000", "ffffffff f4ffffff"),
        ("00000001 0a000006", "ff000001 fa000006"),
        ("00000003 00000005 00000002 00000083 0b000003", "ff000003 ff000005 ff000002 ff000083 fb000003"),
        ("00000003 00000005 00000083 0c000003", "ff000003 ff000005 ff000083 fc000003"),
        ("61626364 08000005", "61626364 38000005"),
    ] {
        let shown = |hex| Pdu::decode(&octets(hex)).map(|pdu| show_pdu(&pdu));
        assert_eq!(shown(set), shown(plain));
    }
    let Ok(Pdu::Stat(stat)) = Pdu::decode(&octets("12000001 34000080 0b000006")) else { panic!() };
    assert_eq!(stat.rate.map(rate::RateField::bits), Some(0x1234));
    assert_eq!(encoded(&Pdu::Stat(stat)).as_bytes(), octets("12000001 34000080 0b000006").as_bytes());
}

/// C14: the longest list and the longest PDU.
#[test]
fn the_largest_pdus_are_accepted() {
    let list: Vec<u32> = (0..MAX_ELEMENTS as u32).map(|element| 2 * element).collect();
    let frame = encoded(&stat(1, 0, 9, &list));
    assert_eq!(frame.as_bytes().len(), 65_532);
    assert!(matches!(Pdu::decode(&frame), Ok(Pdu::Stat(stat)) if stat.list.len() == MAX_ELEMENTS));
    let sd = Pdu::Sd { s: n(0), mu: Slice::new(vec![1; MAX_MESSAGE as usize]) };
    assert!(Pdu::decode(&encoded(&sd)).is_ok());
    let mut longer = vec![0; MAX_PDU + 4];
    longer[MAX_PDU] = 8;
    assert_eq!(Pdu::decode(&Slice::new(longer)), Err(InvalidFrame));
}

/// C15: random octets. A valid PDU is encoded again to octets that decode to the same PDU.
#[test]
fn any_octets_are_read_or_refused() {
    let mut stream = RandomStream::new(1, "octets", 0);
    let mut valid = 0;
    for round in 0..60_000 {
        let length = if round % 3 == 0 { stream.below(301) } else { stream.below(12) * 4 } as usize;
        let octets: Vec<u8> = (0..length).map(|_| stream.next_u64() as u8).collect();
        let Ok(pdu) = Pdu::decode(&Slice::new(octets)) else { continue };
        valid += 1;
        let again = encoded(&pdu);
        assert_eq!(
            Pdu::decode(&again).map(|pdu| encoded(&pdu).as_bytes().to_vec()),
            Ok(again.as_bytes().to_vec())
        );
    }
    assert!(valid > 10_000, "{valid}");
}
