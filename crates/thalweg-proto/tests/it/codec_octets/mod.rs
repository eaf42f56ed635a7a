//! Arbitrary octets as PDUs of each family: for fuzz targets and tests with fixed inputs.
#![allow(dead_code, reason = "each fuzz target has one of them")]

use thalweg_proto::payload::Slice;
use thalweg_proto::{adaptive_ack, media, sstp, window};

/// Checks that octets are rejected, or decode to a PDU of the window transport that encodes to the same octets.
pub fn window(octets: &[u8]) {
    if let Ok(pdu) = window::wire::decode(Slice::new(octets.to_vec())) {
        let mut written = Vec::new();
        window::wire::encode(&pdu, &mut written);
        assert_eq!(written, octets, "{pdu:?}");
    }
}

/// Checks that octets are rejected, or decode to a PDU of adaptive acknowledgement that encodes to the same octets.
pub fn adaptive_ack(octets: &[u8]) {
    let bytes = Slice::new(octets.to_vec());
    if let Ok(pdu) = adaptive_ack::wire::decode(&bytes) {
        let mut written = Vec::new();
        adaptive_ack::wire::encode(&pdu, &mut written);
        assert_eq!(written, octets, "{pdu:?}");
    }
}

/// Checks that octets are rejected, or decode to a PDU of live media that encodes to the same octets.
pub fn media(octets: &[u8]) {
    if let Some(pdu) = media::wire::decode(&Slice::new(octets.to_vec())) {
        let mut written = Vec::new();
        media::wire::encode(&pdu, &mut written);
        assert_eq!(written, octets, "{pdu:?}");
    }
}

/// Checks that octets are rejected, or decode to a packet of two-level flow control that survives encoding and
/// decoding. Repeats this with a valid checksum, which random octets hardly ever have.
pub fn sstp(octets: &[u8]) {
    sstp_packet(octets);
    if octets.len() >= 2 {
        let (body, _) = octets.split_at(octets.len() - 2);
        let mut summed = body.to_vec();
        summed.extend(internet_checksum(body));
        sstp_packet(&summed);
    }
}

fn sstp_packet(octets: &[u8]) {
    let Ok((connection, pdu)) = sstp::wire::decode(&Slice::new(octets.to_vec())) else { return };
    let mut written = Vec::new();
    sstp::wire::encode(connection, &pdu, &mut written);
    // Undefined flags are dropped.
    assert_eq!(written.len(), octets.len(), "{pdu:?}");
    assert_eq!(sstp::wire::decode(&Slice::new(written)), Ok((connection, pdu.clone())));
    if let sstp::Pdu::Data(data) = pdu {
        assert_eq!(data.payload.as_bytes(), &octets[16..octets.len() - 2]);
    }
}

/// RFC 1071, section 1: the complement of the sum in ones' complement of all words of 16 bits.
fn internet_checksum(bytes: &[u8]) -> [u8; 2] {
    let sum = bytes.chunks(2).fold(0u64, |sum, pair| {
        sum + u64::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]))
    });
    let folded = (0..4).fold(sum, |sum, _| (sum >> 16) + (sum & 0xffff));
    (!(folded as u16)).to_be_bytes()
}
