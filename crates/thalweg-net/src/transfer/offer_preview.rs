//! Preview of an offered transfer, read before it is approved.
//!
//! Before the receiver's greeting, a sender sends at most [`PRE_ACCEPTANCE_BYTES`](super::transfer_messages::PRE_ACCEPTANCE_BYTES):
//! the number of items that its user named, the first of them, and the total amount once counted. This is enough for an
//! approval prompt. The bytes read are buffered for the transfer.

use super::frame_io::{FrameReader, FrameWriter};
use super::transfer_error::{Error, Fault, FaultKind, escape_unsafe};
use super::transfer_messages::{Offer, OfferKind, ToReceiver, ToSender, VERSION};
use super::transfer_progress::Total;
use std::io::{self, Read, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use thalweg_proto::units::Bytes;

/// Maximum size of the bytes buffered before the greeting.
const MAX_KEPT: usize = 64 << 10;
/// Maximum number of items listed individually.
const MAX_ITEMS: usize = 8;

/// Known contents of an offered transfer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preview {
    /// Number of files and folders named by the sending user.
    pub named_items: u64,
    /// First of these items.
    pub items: Vec<PreviewItem>,
    /// Total amount, once counted.
    pub total: Option<Total>,
    /// True if the sender sends nothing more before the greeting.
    pub is_complete: bool,
}

/// An item named by the sending user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviewItem {
    /// Printable name.
    pub name: String,
    /// Type.
    pub kind: PreviewItemKind,
}

/// Type of an item named by the sending user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreviewItemKind {
    /// A file of this size, in bytes.
    File(u64),
    /// A folder.
    Folder,
    /// A stream of unknown length.
    Stream,
}

/// Reads a sender's frames before the greeting and notifies it that approval is pending. Updates `seen` meanwhile.
/// Returns once everything is known, or at the end of the stream. Appends the bytes read to `kept`; the transfer must
/// read them first.
///
/// # Errors
/// The streams end, or the peer is not a sender of this version. It is notified of the reason.
pub fn preview_offer<R: Read, W: Write>(
    from_peer: R,
    to_peer: W,
    seen: &Mutex<Preview>,
    kept: &mut Vec<u8>,
) -> Result<(), Error> {
    let mut frames = FrameReader::new(RecordingReader { stream: from_peer, recorded: kept });
    let mut writer = FrameWriter::new(to_peer);
    let result = read_offers(&mut frames, &mut writer, seen);
    if let Err(Error::EndedByPeer(fault)) = &result {
        let refuse = ToSender::Refuse { fault: fault.clone() };
        let _ = writer.frame(&ToSender::Hello { version: VERSION });
        let _ = writer.frame(&refuse).and_then(|()| writer.flush());
    }
    result
}

fn read_offers<R: Read, W: Write>(
    frames: &mut FrameReader<R>,
    writer: &mut FrameWriter<W>,
    seen: &Mutex<Preview>,
) -> Result<(), Error> {
    match frames.next()? {
        Some(ToReceiver::Hello { version: VERSION, named_items, .. }) => {
            lock_preview(seen).named_items = named_items;
        }
        Some(ToReceiver::Hello { version, .. }) => {
            let text = format!("the sender uses version {version}, the receiver {VERSION}");
            return Err(Error::EndedByPeer(Fault::new(FaultKind::Version, text)));
        }
        Some(_) => return Err(Error::Protocol("it does not begin with a greeting".to_owned())),
        None => return Err(Error::ConnectionEnded(io::ErrorKind::UnexpectedEof.into())),
    }
    writer
        .frame(&ToSender::AwaitingApproval)
        .and_then(|()| writer.flush())
        .map_err(Error::ConnectionEnded)?;
    loop {
        let frame = match frames.next() {
            Ok(frame) => frame,
            // The buffer is full.
            Err(Error::ConnectionEnded(error)) if error.kind() == io::ErrorKind::OutOfMemory => None,
            Err(error) => return Err(error),
        };
        let mut seen = lock_preview(seen);
        match &frame {
            Some(ToReceiver::Offer(offer)) if offer.depth == 0 => seen.add(offer),
            Some(ToReceiver::Total { files, bytes }) => {
                seen.total = Some(Total { files: *files, bytes: Bytes::new(*bytes) });
            }
            _ => {}
        }
        if frame.is_none() || seen.knows_all() {
            seen.is_complete = true;
            return Ok(());
        }
    }
}

fn lock_preview(seen: &Mutex<Preview>) -> MutexGuard<'_, Preview> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Preview {
    fn add(&mut self, offer: &Offer) {
        let kind = match offer.kind {
            OfferKind::File { size, .. } => PreviewItemKind::File(size),
            OfferKind::Folder { .. } => PreviewItemKind::Folder,
            OfferKind::Stream => PreviewItemKind::Stream,
            OfferKind::HardLink { .. } | OfferKind::SymbolicLink { .. } => return,
        };
        if self.items.len() < MAX_ITEMS {
            self.items.push(PreviewItem { name: escape_unsafe(&offer.name), kind });
        }
    }

    /// Returns true if the first items and the total amount are known; streams are not counted.
    fn knows_all(&self) -> bool {
        let is_stream = self.items.first().is_some_and(|item| item.kind == PreviewItemKind::Stream);
        let has_items = self.items.len() as u64 >= self.named_items.min(MAX_ITEMS as u64);
        is_stream || has_items && self.total.is_some()
    }
}

/// Reader that records the bytes read, up to a limit.
struct RecordingReader<'a, R> {
    stream: R,
    recorded: &'a mut Vec<u8>,
}

impl<R: Read> Read for RecordingReader<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let room = (MAX_KEPT - self.recorded.len()).min(into.len());
        if room == 0 {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let count = self.stream.read(&mut into[..room])?;
        self.recorded.extend_from_slice(&into[..count]);
        Ok(count)
    }
}
