//! The things that a sender offers, read before anything is decided about it.
//!
//! Until it has been greeted a sender says little ([`PRE_GREETING_BYTES`](super::messages::PRE_GREETING_BYTES)): how many things it was told to
//! send, what the first of them are, and how much there is as soon as it has counted. That is enough to ask somebody, and
//! what was read is kept for the transfer.

use super::fault::{Error, Fault, FaultKind, printable};
use super::frames::{FrameReader, FrameWriter};
use super::messages::{Offer, OfferKind, ToReceiver, ToSender, VERSION};
use super::progress::Total;
use std::io::{self, Read, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use thalweg_proto::units::Bytes;

/// The most that is kept of what a sender says before it is greeted, in bytes.
const MAX_KEPT: usize = 64 << 10;
/// The things that are described one by one.
const MAX_THINGS: usize = 8;

/// The things that a sender offers, as far as it has said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preview {
    /// The number of files and folders that its user named.
    pub named: u64,
    /// The first of them.
    pub things: Vec<Thing>,
    /// The files in all of them, once it has counted.
    pub total: Option<Total>,
    /// There is nothing more to be learnt before it is greeted.
    pub is_complete: bool,
}

/// A thing that a sender's user named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thing {
    /// Its name, as it can be shown.
    pub name: String,
    /// The kind of it.
    pub kind: ThingKind,
}

/// The kind of a thing that a sender's user named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThingKind {
    /// A file of so many bytes.
    File(u64),
    /// A folder.
    Folder,
    /// Bytes whose number nobody knows yet.
    Stream,
}

/// Reads what a sender says before it is greeted, and tells it that somebody is asked. `seen` grows meanwhile. Ends when all
/// is known, or with the stream; what was read is appended to `kept`, and belongs before what is read next.
///
/// # Errors
/// The streams end, or the peer is no sender of this version. It is told why.
pub fn preview<R: Read, W: Write>(
    from_peer: R,
    to_peer: W,
    seen: &Mutex<Preview>,
    kept: &mut Vec<u8>,
) -> Result<(), Error> {
    let mut frames = FrameReader::new(Keeping { stream: from_peer, kept });
    let mut writer = FrameWriter::new(to_peer);
    let result = read(&mut frames, &mut writer, seen);
    if let Err(Error::Refused(fault)) = &result {
        let refuse = ToSender::Refuse { fault: fault.clone() };
        let _ = writer.frame(&ToSender::Hello { version: VERSION });
        let _ = writer.frame(&refuse).and_then(|()| writer.flush());
    }
    result
}

fn read<R: Read, W: Write>(
    frames: &mut FrameReader<R>,
    writer: &mut FrameWriter<W>,
    seen: &Mutex<Preview>,
) -> Result<(), Error> {
    match frames.next()? {
        Some(ToReceiver::Hello { version: VERSION, named, .. }) => lock(seen).named = named,
        Some(ToReceiver::Hello { version, .. }) => {
            let text = format!("the sender speaks version {version}, the receiver {VERSION}");
            return Err(Error::Refused(Fault::new(FaultKind::Version, text)));
        }
        Some(_) => return Err(Error::Protocol("it does not begin with a greeting".to_owned())),
        None => return Err(Error::Interrupted(io::ErrorKind::UnexpectedEof.into())),
    }
    writer.frame(&ToSender::Asked).and_then(|()| writer.flush()).map_err(Error::Interrupted)?;
    loop {
        let frame = match frames.next() {
            Ok(frame) => frame,
            // As much is kept as may be.
            Err(Error::Interrupted(error)) if error.kind() == io::ErrorKind::OutOfMemory => None,
            Err(error) => return Err(error),
        };
        let mut seen = lock(seen);
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

fn lock(seen: &Mutex<Preview>) -> MutexGuard<'_, Preview> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Preview {
    fn add(&mut self, offer: &Offer) {
        let kind = match offer.kind {
            OfferKind::File { size, .. } => ThingKind::File(size),
            OfferKind::Folder { .. } => ThingKind::Folder,
            OfferKind::Stream => ThingKind::Stream,
            OfferKind::Name { .. } | OfferKind::Link { .. } => return,
        };
        if self.things.len() < MAX_THINGS {
            self.things.push(Thing { name: printable(&offer.name), kind });
        }
    }

    /// The first things are known, and how much there is; nobody counts a stream.
    fn knows_all(&self) -> bool {
        let is_stream = self.things.first().is_some_and(|thing| thing.kind == ThingKind::Stream);
        let has_things = self.things.len() as u64 >= self.named.min(MAX_THINGS as u64);
        is_stream || has_things && self.total.is_some()
    }
}

/// Keeps what is read, until it is too much.
struct Keeping<'a, R> {
    stream: R,
    kept: &'a mut Vec<u8>,
}

impl<R: Read> Read for Keeping<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let room = (MAX_KEPT - self.kept.len()).min(into.len());
        if room == 0 {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let count = self.stream.read(&mut into[..room])?;
        self.kept.extend_from_slice(&into[..count]);
        Ok(count)
    }
}
