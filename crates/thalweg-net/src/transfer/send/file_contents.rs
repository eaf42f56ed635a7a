//! Contents of one file or stream: verifies the part that the receiver has, and sends the rest.

use super::reply_inbox::ReceivedDigests;
use super::{SendingTransfer, size_of, stopped_fault, stream_fault};
use crate::transfer::folder_walk::SourceFile;
use crate::transfer::transfer_error::{Error, Fault};
use crate::transfer::transfer_messages::{MAX_HOLE_BYTES, MAX_OUTSTANDING_DIGESTS, ToReceiver};
use crate::transfer::tree_hash::{BLOCK, Digest, Piece, Pieces, TreeHasher};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use thalweg_proto::units::Bytes;

/// Read and send chunk, in bytes.
const CHUNK: usize = 256 << 10;
/// Number of digests per request.
const DIGEST_BATCH: u64 = MAX_OUTSTANDING_DIGESTS / 4;

/// Outcome of sending a file.
enum End {
    /// All contents are sent; the hash of the file.
    Sent(Digest),
    /// The file cannot be sent.
    Fault(Fault),
    /// The receiver has given up the file and reported the reason.
    Unwanted,
}

impl<W: Write> SendingTransfer<'_, W> {
    /// Sends a file or stream. The receiver may already hold `length` bytes.
    pub(super) fn send_contents(&mut self, id: u64, length: u64) -> Result<(), Error> {
        // An unknown offer was already given up here.
        let Some(outstanding) = self.outstanding_file(id) else { return Ok(()) };
        self.progress.set_current(outstanding.name.as_bytes());
        let end = match outstanding.item.clone() {
            Some(item) => match SourceFile::open(&item) {
                Ok(file) => self.send_file(id, file, size_of(&item), length)?,
                Err(fault) => End::Fault(fault),
            },
            None => self.send_stream(id)?,
        };
        match end {
            End::Sent(hash) => self.frame(&ToReceiver::End { hash })?,
            End::Fault(fault) => return self.abandon(id, fault),
            // The receiver's reason is still queued and takes precedence.
            End::Unwanted => self.frame(&ToReceiver::Abandon { id, fault: stopped_fault() })?,
        }
        // An answer may have arrived meanwhile.
        if let Some(outstanding) = self.outstanding.get_mut(&id) {
            self.sent += usize::from(!core::mem::replace(&mut outstanding.is_sent, true));
        }
        Ok(())
    }

    fn send_file(&mut self, id: u64, mut file: SourceFile, size: u64, length: u64) -> Result<End, Error> {
        let mut hasher = TreeHasher::new();
        let mut position = 0;
        self.frame(&ToReceiver::Begin { id })?;
        if length > 0 {
            match self.resume(id, &mut file, Pieces::new(size, length), &mut hasher)? {
                Ok(at) => position = at,
                Err(end) => return Ok(end),
            }
        }
        let mut buffer = vec![0; usize::try_from(size - position).unwrap_or(CHUNK).min(CHUNK)];
        while position < size {
            let hole = self.hole(&mut file, position, size, &mut hasher)?;
            if hole > position {
                if let Err(fault) = file.go_to(hole) {
                    return Ok(End::Fault(fault));
                }
                position = hole;
                continue;
            }
            let max = usize::try_from(size - position).unwrap_or(CHUNK).min(buffer.len());
            // Look for holes at block boundaries.
            let max = max.min((BLOCK - position % BLOCK) as usize);
            let count = match file.read(&mut buffer[..max]) {
                Ok(0) => return Ok(End::Fault(file.short_fault())),
                Ok(count) => count,
                Err(fault) => return Ok(End::Fault(fault)),
            };
            hasher.update(&buffer[..count]);
            self.data(&buffer[..count])?;
            position += count as u64;
            if position < size && self.inbox.has_failed(id)? {
                return Ok(End::Unwanted);
            }
        }
        if let Err(fault) = file.check_end() {
            return Ok(End::Fault(fault));
        }
        // The last block was read, so the hash exists.
        Ok(hasher.finish().map_or_else(|| End::Fault(stopped_fault()), End::Sent))
    }

    /// Sends a hole at `position` if it spans full blocks; returns the position behind it.
    fn hole(
        &mut self,
        file: &mut SourceFile,
        position: u64,
        size: u64,
        hasher: &mut TreeHasher,
    ) -> Result<u64, Error> {
        if !position.is_multiple_of(BLOCK) {
            return Ok(position);
        }
        // The last block is always sent.
        let end = file.hole(position).unwrap_or(position).min(size - 1);
        let length = ((end - position) / BLOCK * BLOCK).min(MAX_HOLE_BYTES);
        if length > 0 {
            self.frame(&ToReceiver::Hole { length })?;
            hasher.push_hole(length / BLOCK);
            self.report.holes += Bytes::new(length);
        }
        Ok(position + length)
    }

    /// Compares the receiver's pieces: confirms matching ones and sends the others. Returns the position behind them.
    fn resume(
        &mut self,
        id: u64,
        file: &mut SourceFile,
        pieces: Pieces,
        hasher: &mut TreeHasher,
    ) -> Result<Result<u64, End>, Error> {
        let mut theirs =
            Digests { id, pieces: pieces.count(), requested: 0, received: VecDeque::new(), next: 0 };
        let mut buffer = Vec::new();
        let mut position = 0;
        for number in 0..pieces.count() {
            let Some(piece) = pieces.get(number) else { break };
            buffer.resize(usize::try_from(piece.length).unwrap_or(BLOCK as usize), 0);
            if let Err(fault) = file.read_all(&mut buffer) {
                return Ok(Err(End::Fault(fault)));
            }
            let ours = piece.digest(&buffer);
            match theirs.next(self)? {
                None => return Ok(Err(End::Unwanted)),
                Some(theirs) if theirs == ours => self.keep(piece, ours, &buffer, hasher)?,
                Some(_) => {
                    hasher.update(&buffer);
                    for chunk in buffer.chunks(CHUNK) {
                        self.data(chunk)?;
                    }
                }
            }
            position += piece.length;
        }
        Ok(Ok(position))
    }

    fn keep(
        &mut self,
        piece: Piece,
        digest: Digest,
        bytes: &[u8],
        hasher: &mut TreeHasher,
    ) -> Result<(), Error> {
        if piece.is_block {
            hasher.push_block(digest);
        } else {
            hasher.update(bytes);
        }
        self.report.resumed += Bytes::new(piece.length);
        self.progress.add_kept(piece.length);
        self.frame(&ToReceiver::KeepBlock)
    }

    fn send_stream(&mut self, id: u64) -> Result<End, Error> {
        let Some(mut stream) = self.stream.take() else { return Ok(End::Fault(stopped_fault())) };
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; CHUNK];
        self.frame(&ToReceiver::Begin { id })?;
        loop {
            // Flush before blocking on the stream.
            self.writer.flush().map_err(Error::ConnectionEnded)?;
            match stream.read(&mut buffer) {
                Ok(0) => return Ok(End::Sent(*hasher.finalize().as_bytes())),
                Ok(count) => {
                    hasher.update(&buffer[..count]);
                    self.data(&buffer[..count])?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Ok(End::Fault(stream_fault(&error))),
            }
            if self.inbox.has_failed(id)? {
                return Ok(End::Unwanted);
            }
        }
    }

    fn data(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.send_total()?;
        let length = bytes.len() as u64;
        self.progress.add_moved(length);
        self.writer.data(&ToReceiver::Data { length }, bytes).map_err(Error::ConnectionEnded)
    }
}

/// Digests of the receiver's pieces, requested in batches.
struct Digests {
    id: u64,
    pieces: u64,
    requested: u64,
    received: VecDeque<Digest>,
    /// Index of the first piece in `received`.
    next: u64,
}

impl Digests {
    /// Returns the next digest, or `None` if the receiver gives up the file.
    fn next<W: Write>(&mut self, sending: &mut SendingTransfer<'_, W>) -> Result<Option<Digest>, Error> {
        while self.requested < self.pieces
            && self.requested + DIGEST_BATCH <= self.next + MAX_OUTSTANDING_DIGESTS
        {
            let count = DIGEST_BATCH.min(self.pieces - self.requested);
            sending.frame(&ToReceiver::Verify { id: self.id, first_block: self.requested, count })?;
            self.requested += count;
        }
        if self.received.is_empty() {
            sending.writer.flush().map_err(Error::ConnectionEnded)?;
            let Some(ReceivedDigests { first_block, digests }) = sending.inbox.wait_for_digests(self.id)?
            else {
                return Ok(None);
            };
            let end = first_block.saturating_add(digests.len() as u64);
            if first_block != self.next || digests.is_empty() || end > self.requested {
                return Err(Error::Protocol("it sent digests that were not requested".to_owned()));
            }
            self.received.extend(digests);
        }
        self.next += 1;
        Ok(self.received.pop_front())
    }
}
