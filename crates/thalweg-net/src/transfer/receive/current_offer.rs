//! The offer whose contents are being received.

use super::sync_threads::Results;
use super::unfinished_file::Part;
use crate::transfer::transfer_error::{Error, Fault, FaultKind};
use crate::transfer::transfer_messages::{ModificationTime, ToSender};
use crate::transfer::tree_hash::{BLOCK, Digest, Piece, Pieces, TreeHasher};
use std::collections::VecDeque;
use std::io::{self, Read as _, Write};
use thalweg_proto::units::Bytes;

/// The offer whose contents are being received.
pub struct CurrentOffer {
    pub id: u64,
    pub name: String,
    pub sink: Sink,
    pub file: Option<(u64, ModificationTime)>,
    pub mode: u32,
    pub pieces: Pieces,
    pub hasher: TreeHasher,
    pub position: u64,
    /// Pieces whose digests were sent; `None` for a piece that is shorter than expected.
    pub digested: VecDeque<(Piece, Option<Digest>)>,
    /// Index of the next piece to send a digest of.
    pub next: u64,
}

pub enum Sink {
    File(Part),
    Output(Box<dyn Write + Send>),
    /// Discards contents after a failure; the sender will be notified.
    Discard,
}

impl CurrentOffer {
    /// Gives up the file and reports it, once.
    pub fn fail(&mut self, fault: Fault, results: &Results) {
        match (core::mem::replace(&mut self.sink, Sink::Discard), self.file, fault.kind) {
            // A partial stream cannot be resumed and would occupy the exhausted quota.
            (Sink::File(part), None, FaultKind::SenderQuota) => {
                part.discard();
                results.note(|report| report.unresumable = None);
            }
            (Sink::File(part), Some(_), FaultKind::DiskFull) => results.fillers.keep(part),
            _ => {}
        }
        report_failed_file(self.id, &self.name, fault, results);
    }

    /// Sends the digests of the next `count` pieces.
    pub fn verify(&mut self, count: u64, results: &Results) {
        let Sink::File(part) = &mut self.sink else { return };
        let first_block = self.next;
        let mut digests = Vec::new();
        let mut buffer = vec![0; BLOCK as usize];
        for number in first_block..first_block + count {
            let Some(piece) = self.pieces.get(number) else { break };
            let bytes = &mut buffer[..usize::try_from(piece.length).unwrap_or(0)];
            let have = match part.read(piece.start, bytes) {
                Ok(have) => have,
                Err(fault) => return self.fail(fault, results),
            };
            let is_full = have == bytes.len();
            let digest = piece.digest(bytes);
            // If the file has become shorter, send a digest that cannot match.
            let digested = if is_full { digest } else { *blake3::hash(&digest).as_bytes() };
            digests.push(digested);
            self.digested.push_back((piece, is_full.then_some(digest)));
        }
        self.next += digests.len() as u64;
        results.reply(ToSender::Digests { id: self.id, first_block, digests });
    }

    /// Handles the sender's confirmation of a piece.
    pub fn keep(&mut self, results: &Results) -> Result<(), Error> {
        let Sink::File(part) = &mut self.sink else { return Ok(()) };
        let Some((piece, Some(digest))) =
            self.digested.pop_front().filter(|(piece, _)| piece.start == self.position)
        else {
            return sender_violation("it keeps what it was not told of");
        };
        if piece.is_block {
            self.hasher.push_block(digest);
        } else {
            let mut bytes = vec![0; usize::try_from(piece.length).unwrap_or(0)];
            match part.read(piece.start, &mut bytes) {
                Ok(have) => self.hasher.update(&bytes[..have]),
                Err(fault) => {
                    self.fail(fault, results);
                    return Ok(());
                }
            }
        }
        self.position += piece.length;
        results.progress.add_kept(piece.length);
        results.progress.add_bytes(piece.length);
        results.note(|report| report.resumed += Bytes::new(piece.length));
        Ok(())
    }

    /// Handles a hole of `length` bytes.
    pub fn hole(&mut self, length: u64, results: &Results) -> Result<(), Error> {
        // Decoding ensures that a hole consists of full blocks.
        let Some(end) = self.position.checked_add(length).filter(|_| self.position.is_multiple_of(BLOCK))
        else {
            return sender_violation("a hole begins within a block");
        };
        if self.file.is_none_or(|(size, _)| end >= size) {
            return sender_violation("a hole extends beyond its file");
        }
        let made = match &mut self.sink {
            Sink::File(part) => results.fillers.make_room(|| part.hole(self.position, length)),
            Sink::Output(output) => io::copy(&mut io::repeat(0).take(length), output)
                .map(|_| ())
                .map_err(|error| Fault::from_io_error(&error)),
            Sink::Discard => return Ok(()),
        };
        if let Err(fault) = made {
            self.fail(fault, results);
            return Ok(());
        }
        self.hasher.push_hole(length / BLOCK);
        results.note(|report| report.holes += Bytes::new(length));
        self.advance(end, length, results);
        Ok(())
    }

    /// Records that the file is valid up to `end`, with `length` new bytes.
    fn advance(&mut self, end: u64, length: u64, results: &Results) {
        self.position = end;
        results.progress.add_bytes(length);
        while self.digested.front().is_some_and(|(piece, _)| piece.start < self.position) {
            self.digested.pop_front();
        }
    }

    pub fn write(&mut self, bytes: &[u8], results: &Results) -> Result<(), Error> {
        let length = bytes.len() as u64;
        let Some(end) = self.position.checked_add(length) else {
            return sender_violation("a file is too long");
        };
        if self.file.is_some_and(|(size, _)| end > size) {
            return sender_violation("a file extends beyond its size");
        }
        results.progress.add_moved(length);
        let written = match &mut self.sink {
            Sink::File(part) => results.fillers.make_room(|| part.write(self.position, bytes)),
            Sink::Output(output) => output.write_all(bytes).map_err(|error| Fault::from_io_error(&error)),
            Sink::Discard => return Ok(()),
        };
        if let Err(fault) = written {
            self.fail(fault, results);
            return Ok(());
        }
        self.hasher.update(bytes);
        self.advance(end, length, results);
        Ok(())
    }
}

/// Reports a failed file to the sender.
pub fn report_failed_file(id: u64, name: &str, fault: Fault, results: &Results) {
    results.note(|report| report.fail(name, fault.clone()));
    results.progress.file_done();
    results.reply(ToSender::Failed { id, fault });
    results.shared.finish_file(id, None, results);
}

/// Returns a protocol error of the sender.
pub fn sender_violation<T>(what: &str) -> Result<T, Error> {
    Err(Error::Protocol(what.to_owned()))
}
