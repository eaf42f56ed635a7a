//! Captures of real packets in pcapng format (draft-ietf-opsawg-pcapng): one interface per host, timestamps in
//! nanoseconds.

use std::io::{self, Write};

/// Capture writer.
#[derive(Debug)]
pub struct Capture<W: Write> {
    to: W,
    /// Start of the run, in nanoseconds since 1970.
    start_nanos: u64,
    failed: Option<io::Error>,
}

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// Link type: packets start with their IP header.
const LINKTYPE_RAW: u16 = 101;
/// Interface options: name, and timestamp resolution.
const NAME: u16 = 2;
const RESOLUTION: u16 = 9;
const DIRECTION: u16 = 2;

impl<W: Write> Capture<W> {
    /// Starts a capture with these interfaces. `start_nanos` is the start of the run, in nanoseconds since 1970.
    ///
    /// # Errors
    ///
    /// `to` cannot be written.
    pub fn new(mut to: W, start_nanos: u64, interfaces: &[&str]) -> io::Result<Self> {
        let section = [BYTE_ORDER.to_le_bytes().as_slice(), &[1, 0, 0, 0], &u64::MAX.to_le_bytes()].concat();
        to.write_all(&encode_block(SECTION, &section))?;
        for interface in interfaces {
            let mut body = [LINKTYPE_RAW.to_le_bytes().as_slice(), &[0; 6]].concat();
            append_option(&mut body, NAME, interface.as_bytes());
            append_option(&mut body, RESOLUTION, &[9]);
            append_option(&mut body, 0, &[]);
            to.write_all(&encode_block(INTERFACE, &body))?;
        }
        Ok(Self { to, start_nanos, failed: None })
    }

    /// Records a packet that a host received (`inbound`) or sent, `nanos` nanoseconds after the start of the run.
    pub fn packet(&mut self, interface: u32, nanos: u64, inbound: bool, bytes: &[u8]) {
        let time = self.start_nanos + nanos;
        let length = bytes.len() as u32;
        let words = [interface, (time >> 32) as u32, time as u32, length, length];
        let mut body: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        body.extend(bytes);
        pad_to_32_bits(&mut body);
        append_option(&mut body, DIRECTION, &(if inbound { 1u32 } else { 2 }).to_le_bytes());
        append_option(&mut body, 0, &[]);
        if self.failed.is_none() {
            self.failed = self.to.write_all(&encode_block(PACKET, &body)).err();
        }
    }

    /// Ends the capture.
    ///
    /// # Errors
    ///
    /// The first write error.
    pub fn finish(mut self) -> io::Result<W> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.to.flush().map(|()| self.to),
        }
    }
}

fn encode_block(kind: u32, body: &[u8]) -> Vec<u8> {
    let total = (body.len() as u32 + 12).to_le_bytes();
    [kind.to_le_bytes().as_slice(), &total, body, &total].concat()
}

fn append_option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    pad_to_32_bits(body);
}

fn pad_to_32_bits(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses the output by the format's rules: each block has its length at both ends.
    #[test]
    fn a_capture_can_be_read() {
        let mut capture = Capture::new(Vec::new(), 1_000_000_000, &["client", "web server"]).unwrap();
        capture.packet(1, 5, true, b"seven b");
        let bytes = capture.finish().unwrap();
        let word = |at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().unwrap());
        let (mut at, mut kinds) = (0, Vec::new());
        while at < bytes.len() {
            let length = word(at + 4) as usize;
            assert!(length.is_multiple_of(4) && word(at + length - 4) as usize == length);
            kinds.push((word(at), at));
            at += length;
        }
        assert_eq!(
            kinds.iter().map(|kind| kind.0).collect::<Vec<_>>(),
            [SECTION, INTERFACE, INTERFACE, PACKET]
        );
        let packet = kinds[3].1;
        assert_eq!([8, 12, 16, 20, 24].map(|field| word(packet + field)), [1, 0, 1_000_000_005, 7, 7]);
        assert_eq!(&bytes[packet + 28..packet + 35], b"seven b");
    }
}
