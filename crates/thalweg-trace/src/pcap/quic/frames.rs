//! Frames of QUIC (RFC 9000, section 19).

use crate::qlog::{CRYPTO, Frames};

/// Bytes being read.
pub(super) struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub(super) fn take(&mut self, count: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    /// Reads an integer of variable length (RFC 9000, section 16).
    pub(super) fn integer(&mut self) -> Option<u64> {
        let first = self.byte()?;
        let rest = self.take((1 << (first >> 6)) - 1)?;
        Some(rest.iter().fold(u64::from(first & 0x3f), |number, byte| number << 8 | u64::from(*byte)))
    }
}

/// Data of a CRYPTO frame: offset and bytes.
pub(super) type Crypto<'a> = (u64, &'a [u8]);

/// Reads the frames of a packet; calls `crypto` with the data of CRYPTO frames. `None` if one is invalid or unknown.
pub(super) fn read_frames<'a>(payload: &'a [u8], mut crypto: impl FnMut(Crypto<'a>)) -> Option<Frames> {
    let mut bytes = Bytes(payload);
    let mut frames = Frames::default();
    while let Some(first) = bytes.0.first().copied() {
        if first == 0 {
            bytes.byte();
            continue;
        }
        let kind = bytes.integer()?;
        // All but PADDING, ACK and CONNECTION_CLOSE (RFC 9000, section 13.2.1).
        frames.elicits |= !matches!(kind, 0x02 | 0x03 | 0x1c | 0x1d);
        match kind {
            0x01 | 0x1e => {}
            0x02 | 0x03 => read_ack_frame(&mut bytes, kind == 0x03, &mut frames)?,
            0x04 => skip_integers(&mut bytes, 3)?,
            0x05 | 0x11 | 0x15 => {
                frames.max_stream_data |= kind == 0x11;
                frames.is_blocked |= kind == 0x15;
                skip_integers(&mut bytes, 2)?;
            }
            0x06 => {
                let (offset, length) = (bytes.integer()?, bytes.integer()?);
                crypto((offset, bytes.take(length)?));
                frames.data.push((CRYPTO, offset, length));
            }
            0x07 => {
                let length = bytes.integer()?;
                bytes.take(length)?;
            }
            0x08..=0x0f => {
                let stream = bytes.integer()?;
                let offset = if kind & 4 == 0 { 0 } else { bytes.integer()? };
                let length = if kind & 2 == 0 { bytes.0.len() as u64 } else { bytes.integer()? };
                bytes.take(length)?;
                frames.data.push((stream, offset, length));
            }
            0x10 => frames.max_data = Some(bytes.integer()?),
            0x12 | 0x13 | 0x16 | 0x17 | 0x19 => skip_integers(&mut bytes, 1)?,
            0x14 => {
                frames.is_blocked = true;
                skip_integers(&mut bytes, 1)?;
            }
            0x18 => {
                skip_integers(&mut bytes, 2)?;
                let length = bytes.byte()?;
                bytes.take(u64::from(length) + 16)?;
            }
            0x1a | 0x1b => drop(bytes.take(8)?),
            0x1c | 0x1d => {
                skip_integers(&mut bytes, if kind == 0x1c { 2 } else { 1 })?;
                let length = bytes.integer()?;
                bytes.take(length)?;
            }
            // DATAGRAM (RFC 9221).
            0x30 | 0x31 => {
                let length = if kind == 0x30 { bytes.0.len() as u64 } else { bytes.integer()? };
                bytes.take(length)?;
                frames.datagrams += length;
            }
            // ACK_FREQUENCY and IMMEDIATE_ACK (draft-ietf-quic-ack-frequency).
            0xaf => skip_integers(&mut bytes, 4)?,
            0x1f => {}
            _ => return None,
        }
    }
    Some(frames)
}

fn skip_integers(bytes: &mut Bytes<'_>, count: usize) -> Option<()> {
    (0..count).try_for_each(|_| bytes.integer().map(drop))
}

/// Reads an ACK frame (RFC 9000, section 19.3).
fn read_ack_frame(bytes: &mut Bytes<'_>, has_counts: bool, frames: &mut Frames) -> Option<()> {
    let largest = bytes.integer()?;
    let _delay = bytes.integer()?;
    let count = bytes.integer()?;
    let mut last = largest;
    let mut first = last.checked_sub(bytes.integer()?)?;
    frames.is_ack = true;
    frames.acked.push((first, last));
    for _ in 0..count {
        last = first.checked_sub(bytes.integer()?)?.checked_sub(2)?;
        first = last.checked_sub(bytes.integer()?)?;
        frames.acked.push((first, last));
    }
    // Ascending, as in logs.
    frames.acked.reverse();
    if has_counts { skip_integers(bytes, 3) } else { Some(()) }
}
