//! Wire format of the messages of a file transfer.
//!
//! A frame consists of a kind (one byte), the length of the body as a variable-length integer (RFC 9000, section 16),
//! and the body. Integers in bodies use the same encoding unless stated otherwise. The fields must use up the body.
//! File contents follow the header of a [`ToReceiver::Data`] frame and are not decoded here.

use super::transfer_error::{Fault, FaultKind};
use super::transfer_messages::{
    MAX_DATA_BYTES, MAX_HOLE_BYTES, MAX_NAME_BYTES, MAX_OUTSTANDING_DIGESTS, MAX_TARGET_BYTES,
    ModificationTime, Offer, OfferKind, ToReceiver, ToSender, UnpreservedMetadata, VERSION,
};
use super::transfer_priority::Priority;
use super::tree_hash::{BLOCK, Digest};
use std::fmt;

/// Magic at the start of either direction, to reject other protocols at once.
const MAGIC: &[u8; 8] = b"thalwegt";

/// Decoding error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireError {
    /// Unknown frame kind.
    Kind(u8),
    /// The body exceeds the maximum length of all kinds.
    TooLong,
    /// The body ends before its last field.
    TooShort,
    /// The body has bytes after its last field.
    Surplus,
    /// A field has an invalid value.
    Value(&'static str),
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => write!(f, "there is no frame of kind {kind}"),
            Self::TooLong => f.write_str("a frame is too long"),
            Self::TooShort => f.write_str("a frame is too short"),
            Self::Surplus => f.write_str("a frame is longer than its fields"),
            Self::Value(what) => write!(f, "{what} is out of range"),
        }
    }
}

impl std::error::Error for WireError {}

/// Frames of one direction.
pub trait Frame: Sized {
    /// Appends the frame. For `Data`, appends the header; the contents must follow.
    fn encode(&self, into: &mut Vec<u8>);

    /// Returns true if `kind` is a known frame kind in this direction.
    fn is_known(kind: u8) -> bool;

    /// Returns true if file contents follow the header of a frame of this kind.
    fn is_data(kind: u8) -> bool;

    /// Returns the frame that carries `length` bytes of file contents.
    ///
    /// # Errors
    /// `length` exceeds the maximum.
    fn data(length: u64) -> Result<Self, WireError>;

    /// Decodes a frame from its kind and body.
    ///
    /// # Errors
    /// It is not a valid frame of this direction.
    fn decode(kind: u8, body: &[u8]) -> Result<Self, WireError>;
}

mod kind {
    pub const HELLO: u8 = 0;
    pub const OFFER: u8 = 1;
    pub const TOTAL: u8 = 2;
    pub const SAME: u8 = 3;
    pub const VERIFY: u8 = 4;
    pub const BEGIN: u8 = 5;
    pub const KEEP: u8 = 6;
    pub const DATA: u8 = 7;
    pub const END: u8 = 8;
    pub const ABANDON: u8 = 9;
    pub const FINISH: u8 = 10;
    pub const MISSING: u8 = 11;
    pub const HOLE: u8 = 12;
    pub const LOST: u8 = 13;
    pub const WELCOME: u8 = 128;
    pub const WANT: u8 = 129;
    pub const SKIP: u8 = 130;
    pub const PART: u8 = 131;
    pub const HASH: u8 = 132;
    pub const DIGESTS: u8 = 133;
    pub const STORED: u8 = 134;
    pub const FAILED: u8 = 135;
    pub const PROGRESS: u8 = 136;
    pub const DONE: u8 = 137;
    pub const REFUSE: u8 = 138;
    pub const HELD: u8 = 139;
    pub const AWAITING_APPROVAL: u8 = 140;
}

/// Flags of an offer: its type, and whether another name differs only in case.
mod flag {
    pub const FILE: u8 = 0;
    pub const FOLDER: u8 = 1;
    pub const STREAM: u8 = 2;
    pub const NAME: u8 = 3;
    pub const LINK: u8 = 4;
    pub const KIND: u8 = 7;
    pub const ALIKE: u8 = 8;
    pub const SHARED: u8 = 16;
}

impl Frame for ToReceiver {
    fn encode(&self, into: &mut Vec<u8>) {
        match self {
            Self::Hello { version, checksum, priority, named_items } => {
                append_frame(into, kind::HELLO, |body| {
                    body.extend_from_slice(MAGIC);
                    append_varint(body, *version);
                    body.push(u8::from(*checksum));
                    body.push(priority.get());
                    append_varint(body, *named_items);
                });
            }
            Self::Offer(offer) => append_frame(into, kind::OFFER, |body| offer.encode(body)),
            Self::Total { files, bytes } => append_integer_frame(into, kind::TOTAL, &[*files, *bytes]),
            Self::Unchanged { id } => append_integer_frame(into, kind::SAME, &[*id]),
            Self::Verify { id, first_block, count } => {
                append_integer_frame(into, kind::VERIFY, &[*id, *first_block, *count]);
            }
            Self::Begin { id } => append_integer_frame(into, kind::BEGIN, &[*id]),
            Self::KeepBlock => append_integer_frame(into, kind::KEEP, &[]),
            Self::Data { length } => {
                into.push(kind::DATA);
                append_varint(into, *length);
            }
            Self::End { hash } => append_frame(into, kind::END, |body| body.extend_from_slice(hash)),
            Self::Abandon { id, fault } => append_frame(into, kind::ABANDON, |body| {
                put_fault(body, Some(*id), fault);
            }),
            Self::Missing { depth, name, fault } => append_frame(into, kind::MISSING, |body| {
                append_varint(body, *depth);
                append_varint(body, name.len() as u64);
                body.extend_from_slice(name);
                put_fault(body, None, fault);
            }),
            Self::Hole { length } => append_integer_frame(into, kind::HOLE, &[*length]),
            Self::Unpreserved(lost) => {
                append_integer_frame(into, kind::LOST, &lost.counts().map(|(count, ..)| count));
            }
            Self::Finish => append_integer_frame(into, kind::FINISH, &[]),
        }
    }

    fn is_known(kind: u8) -> bool {
        kind <= kind::LOST
    }

    fn is_data(kind: u8) -> bool {
        kind == kind::DATA
    }

    fn data(length: u64) -> Result<Self, WireError> {
        if (1..=MAX_DATA_BYTES).contains(&length) {
            Ok(Self::Data { length })
        } else {
            Err(WireError::Value("the length of contents"))
        }
    }

    fn decode(kind: u8, body: &[u8]) -> Result<Self, WireError> {
        let mut fields = Fields(body);
        let frame = match kind {
            kind::HELLO => {
                fields.magic()?;
                let version = fields.number()?;
                // Other versions may append fields.
                if version != VERSION {
                    let priority = Priority::default();
                    return Ok(Self::Hello { version, checksum: false, priority, named_items: 0 });
                }
                let checksum = fields.bit()?;
                let priority = Priority::new(fields.byte()?).ok_or(WireError::Value("a priority"))?;
                Self::Hello { version, checksum, priority, named_items: fields.number()? }
            }
            kind::OFFER => Self::Offer(Offer::decode(&mut fields)?),
            kind::TOTAL => Self::Total { files: fields.number()?, bytes: fields.number()? },
            kind::SAME => Self::Unchanged { id: fields.number()? },
            kind::VERIFY => {
                Self::Verify { id: fields.number()?, first_block: fields.number()?, count: fields.number()? }
            }
            kind::BEGIN => Self::Begin { id: fields.number()? },
            kind::KEEP => Self::KeepBlock,
            kind::END => Self::End { hash: fields.digest()? },
            kind::ABANDON => Self::Abandon { id: fields.number()?, fault: fields.fault()? },
            kind::FINISH => Self::Finish,
            kind::HOLE => match fields.number()? {
                length @ BLOCK..=MAX_HOLE_BYTES if length % BLOCK == 0 => Self::Hole { length },
                _ => return Err(WireError::Value("the length of a hole")),
            },
            kind::LOST => Self::Unpreserved(UnpreservedMetadata {
                owners: fields.number()?,
                attributes: fields.number()?,
                access_control_lists: fields.number()?,
                setuid_bits: fields.number()?,
                hard_links: fields.number()?,
            }),
            kind::MISSING => {
                let (depth, length) = (fields.number()?, fields.number()?);
                let length =
                    usize::try_from(length).ok().filter(|length| (1..=MAX_NAME_BYTES).contains(length));
                let name = fields.take(length.ok_or(WireError::Value("the length of a name"))?)?.to_vec();
                Self::Missing { depth, name, fault: fields.fault()? }
            }
            _ => return Err(WireError::Kind(kind)),
        };
        fields.end(frame)
    }
}

impl Frame for ToSender {
    fn encode(&self, into: &mut Vec<u8>) {
        match self {
            Self::Hello { version } => append_frame(into, kind::WELCOME, |body| {
                body.extend_from_slice(MAGIC);
                append_varint(body, *version);
            }),
            Self::Want { id } => append_integer_frame(into, kind::WANT, &[*id]),
            Self::Skip { id } => append_integer_frame(into, kind::SKIP, &[*id]),
            Self::HasPartial { id, length } => append_integer_frame(into, kind::PART, &[*id, *length]),
            Self::Hash { id, hash } => append_frame(into, kind::HASH, |body| {
                append_varint(body, *id);
                body.extend_from_slice(hash);
            }),
            Self::Digests { id, first_block, digests } => append_frame(into, kind::DIGESTS, |body| {
                append_varint(body, *id);
                append_varint(body, *first_block);
                digests.iter().for_each(|digest| body.extend_from_slice(digest));
            }),
            Self::Stored { id } => append_integer_frame(into, kind::STORED, &[*id]),
            Self::Failed { id, fault } => {
                append_frame(into, kind::FAILED, |body| put_fault(body, Some(*id), fault));
            }
            Self::Progress { bytes } => append_integer_frame(into, kind::PROGRESS, &[*bytes]),
            Self::AwaitingApproval => append_integer_frame(into, kind::AWAITING_APPROVAL, &[]),
            Self::Paused { paused } => append_integer_frame(into, kind::HELD, &[u64::from(*paused)]),
            Self::Done => append_integer_frame(into, kind::DONE, &[]),
            Self::Refuse { fault } => append_frame(into, kind::REFUSE, |body| put_fault(body, None, fault)),
        }
    }

    fn is_known(kind: u8) -> bool {
        (kind::WELCOME..=kind::AWAITING_APPROVAL).contains(&kind)
    }

    fn is_data(_: u8) -> bool {
        false
    }

    fn data(_: u64) -> Result<Self, WireError> {
        Err(WireError::Kind(kind::DATA))
    }

    fn decode(kind: u8, body: &[u8]) -> Result<Self, WireError> {
        let mut fields = Fields(body);
        let frame = match kind {
            kind::WELCOME => {
                fields.magic()?;
                let version = fields.number()?;
                if version != VERSION {
                    return Ok(Self::Hello { version });
                }
                Self::Hello { version }
            }
            kind::WANT => Self::Want { id: fields.number()? },
            kind::SKIP => Self::Skip { id: fields.number()? },
            kind::PART => Self::HasPartial { id: fields.number()?, length: fields.number()? },
            kind::HASH => Self::Hash { id: fields.number()?, hash: fields.digest()? },
            kind::DIGESTS => {
                let (id, first_block) = (fields.number()?, fields.number()?);
                let mut digests = Vec::new();
                while !fields.0.is_empty() {
                    digests.push(fields.digest()?);
                }
                if digests.len() as u64 > MAX_OUTSTANDING_DIGESTS {
                    return Err(WireError::Value("the number of digests"));
                }
                Self::Digests { id, first_block, digests }
            }
            kind::STORED => Self::Stored { id: fields.number()? },
            kind::FAILED => Self::Failed { id: fields.number()?, fault: fields.fault()? },
            kind::PROGRESS => Self::Progress { bytes: fields.number()? },
            kind::AWAITING_APPROVAL => Self::AwaitingApproval,
            kind::HELD => Self::Paused { paused: fields.bit()? },
            kind::DONE => Self::Done,
            kind::REFUSE => Self::Refuse { fault: fields.fault()? },
            _ => return Err(WireError::Kind(kind)),
        };
        fields.end(frame)
    }
}

impl Offer {
    fn encode(&self, body: &mut Vec<u8>) {
        let kind = match &self.kind {
            OfferKind::File { may_have_hard_links, .. } => {
                flag::FILE | if *may_have_hard_links { flag::SHARED } else { 0 }
            }
            OfferKind::Folder { .. } => flag::FOLDER,
            OfferKind::Stream => flag::STREAM,
            OfferKind::HardLink { .. } => flag::NAME,
            OfferKind::SymbolicLink { .. } => flag::LINK,
        };
        body.push(kind | if self.has_case_variant { flag::ALIKE } else { 0 });
        append_varint(body, self.depth);
        append_varint(body, u64::from(self.mode));
        if let OfferKind::File { modified, .. }
        | OfferKind::Folder { modified }
        | OfferKind::SymbolicLink { modified, .. } = &self.kind
        {
            body.extend_from_slice(&modified.seconds.to_be_bytes());
            body.extend_from_slice(&modified.nanoseconds.to_be_bytes());
        }
        match &self.kind {
            OfferKind::File { size, .. } => append_varint(body, *size),
            OfferKind::HardLink { target_id } => append_varint(body, *target_id),
            OfferKind::SymbolicLink { target, .. } => {
                append_varint(body, target.len() as u64);
                body.extend_from_slice(target);
            }
            OfferKind::Folder { .. } | OfferKind::Stream => {}
        }
        body.extend_from_slice(&self.name);
    }

    fn decode(fields: &mut Fields<'_>) -> Result<Self, WireError> {
        let flags = fields.byte()?;
        let depth = fields.number()?;
        let mode = u32::try_from(fields.number()?).ok().filter(|mode| *mode <= 0o1777);
        let mode = mode.ok_or(WireError::Value("a mode"))?;
        let may_have_hard_links = flags & flag::SHARED != 0;
        if flags & !(flag::KIND | flag::ALIKE | flag::SHARED) != 0
            || (may_have_hard_links && flags & flag::KIND != flag::FILE)
        {
            return Err(WireError::Value("the kind of an offer"));
        }
        let kind = match flags & flag::KIND {
            flag::FILE => {
                let modified = fields.modified()?;
                OfferKind::File { modified, size: fields.number()?, may_have_hard_links }
            }
            flag::FOLDER => OfferKind::Folder { modified: fields.modified()? },
            flag::STREAM => OfferKind::Stream,
            flag::NAME => OfferKind::HardLink { target_id: fields.number()? },
            flag::LINK => {
                let modified = fields.modified()?;
                let length = usize::try_from(fields.number()?).unwrap_or(usize::MAX);
                if !(1..=MAX_TARGET_BYTES).contains(&length) {
                    return Err(WireError::Value("the length of a link's target"));
                }
                let target = fields.take(length)?.to_vec();
                if target.contains(&0) {
                    return Err(WireError::Value("a link's target"));
                }
                OfferKind::SymbolicLink { modified, target }
            }
            _ => return Err(WireError::Value("the kind of an offer")),
        };
        let name = std::mem::take(&mut fields.0).to_vec();
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            return Err(WireError::Value("the length of a name"));
        }
        Ok(Self { depth, name, has_case_variant: flags & flag::ALIKE != 0, mode, kind })
    }
}

/// Appends a frame whose body is written by `fill`.
fn append_frame(into: &mut Vec<u8>, kind: u8, fill: impl FnOnce(&mut Vec<u8>)) {
    let mut body = Vec::with_capacity(64);
    fill(&mut body);
    into.push(kind);
    append_varint(into, body.len() as u64);
    into.extend_from_slice(&body);
}

/// Appends a frame of integer fields only.
fn append_integer_frame(into: &mut Vec<u8>, kind: u8, numbers: &[u64]) {
    let length: usize = numbers.iter().map(|number| length_of(*number)).sum();
    into.push(kind);
    append_varint(into, length as u64);
    numbers.iter().for_each(|number| append_varint(into, *number));
}

fn put_fault(body: &mut Vec<u8>, id: Option<u64>, fault: &Fault) {
    id.into_iter().for_each(|id| append_varint(body, id));
    body.push(fault.kind as u8);
    body.extend_from_slice(fault.text.as_bytes());
}

/// Appends a variable-length integer. Clamps values to 62 bits.
pub fn append_varint(into: &mut Vec<u8>, value: u64) {
    let value = value.min((1 << 62) - 1);
    match length_of(value) {
        1 => into.push(value as u8),
        2 => into.extend_from_slice(&(value as u16 | 0x4000).to_be_bytes()),
        4 => into.extend_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes()),
        _ => into.extend_from_slice(&(value | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

fn length_of(value: u64) -> usize {
    match value {
        0..=0x3f => 1,
        0x40..=0x3fff => 2,
        0x4000..=0x3fff_ffff => 4,
        _ => 8,
    }
}

/// Returns the length of the variable-length integer whose first byte is `first`, in bytes.
pub fn length_from(first: u8) -> usize {
    1 << (first >> 6)
}

/// Remaining fields of a body.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], WireError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(WireError::TooShort)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        self.take(N)?.try_into().map_err(|_| WireError::TooShort)
    }

    fn byte(&mut self) -> Result<u8, WireError> {
        Ok(self.array::<1>()?[0])
    }

    fn bit(&mut self) -> Result<bool, WireError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(WireError::Value("a flag")),
        }
    }

    fn number(&mut self) -> Result<u64, WireError> {
        let length = length_from(*self.0.first().ok_or(WireError::TooShort)?);
        let bytes = self.take(length)?;
        let value = bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
        Ok(value & (u64::MAX >> (66 - 8 * length.min(8))))
    }

    fn magic(&mut self) -> Result<(), WireError> {
        if self.take(MAGIC.len())? == MAGIC {
            Ok(())
        } else {
            Err(WireError::Value("the name of the protocol"))
        }
    }

    fn digest(&mut self) -> Result<Digest, WireError> {
        self.array()
    }

    fn modified(&mut self) -> Result<ModificationTime, WireError> {
        let seconds = i64::from_be_bytes(self.array()?);
        let nanoseconds = u32::from_be_bytes(self.array()?);
        if nanoseconds < 1_000_000_000 {
            Ok(ModificationTime { seconds, nanoseconds })
        } else {
            Err(WireError::Value("a time"))
        }
    }

    fn fault(&mut self) -> Result<Fault, WireError> {
        let kind = FaultKind::from_number(self.byte()?).ok_or(WireError::Value("the kind of a fault"))?;
        let text = std::mem::take(&mut self.0);
        if text.len() > Fault::MAX_TEXT_BYTES {
            return Err(WireError::Value("the length of a text"));
        }
        let text = std::str::from_utf8(text).map_err(|_| WireError::Value("a text"))?;
        Ok(Fault::new(kind, text))
    }

    fn end<T>(self, frame: T) -> Result<T, WireError> {
        if self.0.is_empty() { Ok(frame) } else { Err(WireError::Surplus) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::transfer_messages::MAX_BODY_BYTES;
    use proptest::prelude::*;

    /// Splits a frame into kind and body, as a stream reader does.
    fn header(bytes: &[u8]) -> (u8, &[u8]) {
        let mut fields = Fields(&bytes[1..]);
        let length = fields.number().unwrap();
        assert_eq!(length, fields.0.len() as u64);
        (bytes[0], fields.0)
    }

    #[track_caller]
    fn survives<F: Frame + PartialEq + std::fmt::Debug>(frame: &F) {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        let (kind, body) = header(&bytes);
        assert!(body.len() <= MAX_BODY_BYTES);
        assert_eq!(F::decode(kind, body).as_ref(), Ok(frame));
        for shorter in 0..body.len() {
            let decoded = F::decode(kind, &body[..shorter]);
            assert_ne!(decoded.as_ref(), Ok(frame), "cut to {shorter} bytes");
        }
    }

    #[test]
    fn frames_survive_their_bytes() {
        let modified = ModificationTime { seconds: -5, nanoseconds: 999_999_999 };
        let fault = Fault::new(FaultKind::Storage, "ä".repeat(256));
        let offer =
            |kind| Offer { depth: 3, name: vec![0xff; 255], has_case_variant: true, mode: 0o640, kind };
        for kind in [
            OfferKind::File { size: (1 << 62) - 1, modified, may_have_hard_links: false },
            OfferKind::File { size: 0, modified, may_have_hard_links: true },
            OfferKind::HardLink { target_id: 1 << 40 },
            OfferKind::SymbolicLink { modified, target: vec![b'x'; MAX_TARGET_BYTES] },
            OfferKind::Folder { modified },
            OfferKind::Stream,
        ] {
            survives(&ToReceiver::Offer(offer(kind)));
        }
        for frame in [
            ToReceiver::Hello {
                version: VERSION,
                checksum: true,
                priority: Priority::new(1).unwrap(),
                named_items: 300,
            },
            ToReceiver::Total { files: 64, bytes: 16_384 },
            ToReceiver::Unchanged { id: 63 },
            ToReceiver::Verify { id: 1, first_block: 1 << 30, count: 64 },
            ToReceiver::Begin { id: 1 << 31 },
            ToReceiver::KeepBlock,
            ToReceiver::End { hash: [7; 32] },
            ToReceiver::Abandon { id: 9, fault: fault.clone() },
            ToReceiver::Missing { depth: 255, name: vec![0xfe; 255], fault: fault.clone() },
            ToReceiver::Hole { length: MAX_HOLE_BYTES },
            ToReceiver::Unpreserved(UnpreservedMetadata {
                owners: 1,
                attributes: 2,
                access_control_lists: 3,
                setuid_bits: 4,
                hard_links: 5,
            }),
            ToReceiver::Finish,
        ] {
            survives(&frame);
        }
        for frame in [
            ToSender::Hello { version: VERSION },
            ToSender::Want { id: 0 },
            ToSender::Skip { id: 1 },
            ToSender::HasPartial { id: 2, length: 1 << 40 },
            ToSender::Hash { id: 3, hash: [1; 32] },
            ToSender::Digests { id: 4, first_block: 5, digests: vec![[6; 32]; 64] },
            ToSender::Stored { id: 7 },
            ToSender::Failed { id: 8, fault: fault.clone() },
            ToSender::Progress { bytes: 1 << 50 },
            ToSender::Paused { paused: true },
            ToSender::AwaitingApproval,
            ToSender::Done,
            ToSender::Refuse { fault },
        ] {
            survives(&frame);
        }
    }

    #[test]
    fn integers_are_those_of_rfc_9000() {
        // RFC 9000, appendix A.1.
        for (bytes, value) in [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
        ] {
            let mut written = Vec::new();
            append_varint(&mut written, value);
            assert_eq!(written, bytes);
            assert_eq!(Fields(bytes).number(), Ok(value));
        }
        assert_eq!(Fields(&[0x40, 0x25]).number(), Ok(37));
    }

    #[test]
    fn invalid_frames_are_refused() {
        let too_many = [&[1, 1][..], &[0; 65 * 32]].concat();
        assert_eq!(
            ToSender::decode(kind::DIGESTS, &too_many),
            Err(WireError::Value("the number of digests"))
        );
        for priority in [0, 7, 255] {
            let hello = [&MAGIC[..], &[VERSION as u8, 0, priority]].concat();
            assert_eq!(ToReceiver::decode(kind::HELLO, &hello), Err(WireError::Value("a priority")));
        }
        for body in [&[0, 0, 3][..], &[0, 0x41, 0, 3]] {
            let missing = ToReceiver::decode(kind::MISSING, body);
            assert_eq!(missing, Err(WireError::Value("the length of a name")));
        }
        for length in [0, 1, BLOCK + 1, MAX_HOLE_BYTES + BLOCK] {
            let mut frame = Vec::new();
            append_integer_frame(&mut frame, kind::HOLE, &[length]);
            let hole = ToReceiver::decode(kind::HOLE, header(&frame).1);
            assert_eq!(hole, Err(WireError::Value("the length of a hole")));
        }
        // A folder with the flag for shared files, and an unknown kind.
        for flags in [flag::FOLDER | flag::SHARED, 32, 5] {
            let offer = ToReceiver::decode(kind::OFFER, &[flags, 0, 0, b'x']);
            assert_eq!(offer, Err(WireError::Value("the kind of an offer")));
        }
        assert_eq!(ToReceiver::data(0), Err(WireError::Value("the length of contents")));
        assert_eq!(ToReceiver::data(MAX_DATA_BYTES + 1), Err(WireError::Value("the length of contents")));
        assert_eq!(ToReceiver::decode(kind::KEEP, &[0]), Err(WireError::Surplus));
        assert_eq!(ToReceiver::decode(kind::WANT, &[0]), Err(WireError::Kind(kind::WANT)));
        let hello = ToReceiver::decode(kind::HELLO, b"SSH-2.0-x");
        assert_eq!(hello, Err(WireError::Value("the name of the protocol")));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_frame_or_an_error(kind in any::<u8>(), body in prop::collection::vec(any::<u8>(), 0..400)) {
            if let Ok(frame) = ToReceiver::decode(kind, &body) {
                let mut bytes = Vec::new();
                frame.encode(&mut bytes);
                let (kind, body) = header(&bytes);
                prop_assert_eq!(ToReceiver::decode(kind, body), Ok(frame));
            }
            if let Ok(frame) = ToSender::decode(kind, &body) {
                let mut bytes = Vec::new();
                frame.encode(&mut bytes);
                let (kind, body) = header(&bytes);
                prop_assert_eq!(ToSender::decode(kind, body), Ok(frame));
            }
        }
    }
}
