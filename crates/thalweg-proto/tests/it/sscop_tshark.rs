//! Wireshark's dissector decodes our PDUs: every type, every displayed field.

use std::process::Command;
use thalweg_proto::payload::{Payload, Slice};
use thalweg_proto::sscop::{Pdu, SequenceNumber, Source, Stat, Ustat};

const PORT: u16 = 2110;

/// Displayed fields of a PDU, in this order.
const FIELDS: [&str; 10] = [
    "sscop.type",
    "sscop.sq",
    "sscop.mr",
    "sscop.s",
    "sscop.ps",
    "sscop.r",
    "sscop.stat.s",
    "sscop.pad_length",
    "sscop.source",
    "_ws.malformed",
];

fn n(value: u32) -> SequenceNumber {
    SequenceNumber::new(value)
}

fn octets(text: &str) -> Slice {
    Slice::new(text.as_bytes())
}

/// Returns all fifteen types, with user fields of every padding, the largest numbers, and lists of every kind.
fn pdus() -> Vec<Pdu<Slice>> {
    let mr = n(0xff_fffe);
    let stat = |list: &[u32]| {
        let list = list.iter().copied().map(n).collect();
        Pdu::Stat(Stat { ps: n(2), mr: n(131), r: n(3), list, rate: None })
    };
    let mut pdus = vec![
        Pdu::Endak,
        Pdu::Rsak { mr },
        Pdu::Er { sq: 3, mr },
        Pdu::Erak { mr: n(0) },
        Pdu::Poll { ps: n(0xff_ffff), s: n(6) },
        stat(&[]),
        stat(&[3, 5]),
        stat(&[3, 5, 7]),
        stat(&[3, 5, 7, 0xff_ffff]),
        Pdu::Ustat(Ustat { mr: n(131), r: n(3), first: n(3), end: n(5), rate: None }),
    ];
    for text in ["", "1", "12", "123", "1234"] {
        let uu = Some(octets(text)).filter(|uu| !uu.is_empty());
        pdus.extend([
            Pdu::Bgn { sq: 255, mr, uu: uu.clone() },
            Pdu::Bgak { mr, uu: uu.clone() },
            Pdu::Bgrej { uu: uu.clone() },
            Pdu::End { source: Source::User, uu: uu.clone() },
            Pdu::End { source: Source::Sscop, uu: uu.clone() },
            Pdu::Rs { sq: 2, mr, uu },
            Pdu::Sd { s: n(0xff_fffe), mu: octets(text) },
            Pdu::Ud { mu: octets(text) },
            Pdu::Md { mu: octets(text) },
        ]);
    }
    pdus
}

/// Returns the expected line of the dissector for a PDU.
fn expected(pdu: &Pdu<Slice>) -> String {
    let show =
        |number: Option<&SequenceNumber>| number.map_or(String::new(), |number| number.get().to_string());
    let (mut sq, mut mr, mut s, mut ps, mut r) = (None, None, None, None, None);
    let mut list = Vec::new();
    let mut source = "";
    match pdu {
        Pdu::Bgn { sq: number, mr: credit, .. }
        | Pdu::Rs { sq: number, mr: credit, .. }
        | Pdu::Er { sq: number, mr: credit } => (sq, mr) = (Some(number), Some(credit)),
        Pdu::Bgak { mr: credit, .. } | Pdu::Rsak { mr: credit } | Pdu::Erak { mr: credit } => {
            mr = Some(credit);
        }
        Pdu::End { source: by, .. } => source = if *by == Source::User { "User" } else { "SSCOP" },
        Pdu::Sd { s: number, .. } => s = Some(number),
        Pdu::Poll { ps: poll, s: number } => (ps, s) = (Some(poll), Some(number)),
        Pdu::Stat(stat) => {
            (ps, mr, r) = (Some(&stat.ps), Some(&stat.mr), Some(&stat.r));
            list.clone_from(&stat.list);
        }
        Pdu::Ustat(ustat) => {
            (mr, r) = (Some(&ustat.mr), Some(&ustat.r));
            list = vec![ustat.first, ustat.end];
        }
        Pdu::Bgrej { .. } | Pdu::Endak | Pdu::Ud { .. } | Pdu::Md { .. } => {}
    }
    let list: Vec<String> = list.iter().map(|number| number.get().to_string()).collect();
    // The dissector shows the padding of every type with a user field except MD.
    let pad = match pdu {
        Pdu::Md { .. }
        | Pdu::Endak
        | Pdu::Rsak { .. }
        | Pdu::Er { .. }
        | Pdu::Erak { .. }
        | Pdu::Poll { .. } => None,
        Pdu::Stat(_) | Pdu::Ustat(_) => None,
        pdu => {
            let length = pdu.user_field().map_or(0, Payload::len);
            Some((length.next_multiple_of(4) - length).to_string())
        }
    };
    let kind = format!("0x{:02x}", pdu.kind() as u8);
    let sq = sq.map_or(String::new(), u8::to_string);
    let pad = pad.unwrap_or_default();
    [kind, sq, show(mr), show(s), show(ps), show(r), list.join(","), pad, source.into(), String::new()]
        .join("|")
}

/// Returns a capture of UDP datagrams that carry the PDUs.
fn capture(pdus: &[Pdu<Slice>]) -> Vec<u8> {
    let mut file = Vec::new();
    // Little endian, version 2.4, no time zone, any length, raw IP.
    for word in [0xa1b2_c3d4, 4 << 16 | 2, 0, 0, 65_535, 101u32] {
        file.extend(word.to_le_bytes());
    }
    for (index, pdu) in (0u32..).zip(pdus) {
        let mut frame = Vec::new();
        pdu.encode(&mut frame);
        let length = frame.len() as u16;
        let mut packet = vec![0x45, 0];
        packet.extend((length + 28).to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        for word in [PORT, PORT, length + 8, 0] {
            packet.extend(word.to_be_bytes());
        }
        packet.extend(&frame);
        for word in [index, 0, packet.len() as u32, packet.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(&packet);
    }
    file
}

#[test]
fn tshark_reads_every_pdu_as_meant() {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("skipped: tshark is not installed");
        return;
    }
    let pdus = pdus();
    let mut kinds: Vec<u8> = pdus.iter().map(|pdu| pdu.kind() as u8).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, (1..=15).collect::<Vec<u8>>(), "all fifteen types");
    let path = std::env::temp_dir().join(format!("thalweg-sscop-{}.pcap", std::process::id()));
    std::fs::write(&path, capture(&pdus)).unwrap();
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(&path).args(["-n", "-d", &format!("udp.port=={PORT},sscop")]);
    tshark.args(["-o", "sscop.payload:Data (no further dissection)"]);
    tshark.args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=a"]);
    for field in FIELDS {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().unwrap();
    std::fs::remove_file(&path).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), pdus.len(), "{}", String::from_utf8_lossy(&output.stderr));
    for (line, pdu) in lines.iter().zip(&pdus) {
        assert_eq!(*line, expected(pdu), "{pdu:?}");
    }
}
