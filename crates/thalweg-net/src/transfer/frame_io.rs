//! Buffered reading and writing of frames over byte streams.

use super::transfer_error::Error;
use super::transfer_messages::MAX_BODY_BYTES;
use super::wire_format::{Frame, WireError, length_from};
use std::io::{self, Read, Write};

/// Size of the write buffer, in bytes.
const WRITE_BUFFER: usize = 32 << 10;
/// Maximum size of one read, in bytes.
const READ_AHEAD: usize = 64 << 10;

/// Frame writer.
#[derive(Debug)]
pub struct FrameWriter<W> {
    stream: W,
    batch: Vec<u8>,
    bytes_written: u64,
}

impl<W: Write> FrameWriter<W> {
    /// Creates a writer of frames to `stream`.
    pub fn new(stream: W) -> Self {
        Self { stream, batch: Vec::with_capacity(2 * WRITE_BUFFER), bytes_written: 0 }
    }

    /// Returns the bytes of frames written so far, without file contents.
    pub fn written(&self) -> u64 {
        self.bytes_written
    }

    /// Writes a frame, possibly buffered.
    pub fn frame(&mut self, frame: &impl Frame) -> io::Result<()> {
        let before = self.batch.len();
        frame.encode(&mut self.batch);
        self.bytes_written += (self.batch.len() - before) as u64;
        self.write_batch(WRITE_BUFFER)
    }

    /// Writes a frame followed by contents.
    pub fn data(&mut self, header: &impl Frame, contents: &[u8]) -> io::Result<()> {
        header.encode(&mut self.batch);
        if self.batch.len() + contents.len() <= WRITE_BUFFER {
            self.batch.extend_from_slice(contents);
            return Ok(());
        }
        self.write_batch(0)?;
        self.stream.write_all(contents)
    }

    /// Flushes buffered frames to the stream.
    pub fn flush(&mut self) -> io::Result<()> {
        self.write_batch(0)?;
        self.stream.flush()
    }

    fn write_batch(&mut self, above: usize) -> io::Result<()> {
        if self.batch.len() > above {
            self.stream.write_all(&self.batch)?;
            self.batch.clear();
        }
        Ok(())
    }
}

/// Frame reader.
#[derive(Debug)]
pub struct FrameReader<R> {
    stream: R,
    buffer: Box<[u8]>,
    /// Unread range of the buffer: `begin` to `end`.
    begin: usize,
    end: usize,
    /// Unread bytes of the contents after the last header.
    contents: u64,
}

impl<R: Read> FrameReader<R> {
    /// Creates a reader of frames from `stream`.
    pub fn new(stream: R) -> Self {
        Self { stream, buffer: vec![0; READ_AHEAD].into(), begin: 0, end: 0, contents: 0 }
    }

    /// Returns the next frame, or `None` if the stream ends between frames. The contents of the previous frame must
    /// have been read.
    pub fn next<F: Frame>(&mut self) -> Result<Option<F>, Error> {
        debug_assert_eq!(self.contents, 0, "contents have not been read");
        if self.begin == self.end && self.fill()? == 0 {
            return Ok(None);
        }
        let kind = self.byte()?;
        // Reject unknown kinds before reading their length.
        if !F::is_known(kind) {
            return Err(to_protocol_error(WireError::Kind(kind)));
        }
        let first = self.byte()?;
        let mut length = u64::from(first & 0x3f);
        for _ in 1..length_from(first) {
            length = length << 8 | u64::from(self.byte()?);
        }
        if F::is_data(kind) {
            let frame = F::data(length).map_err(to_protocol_error)?;
            self.contents = length;
            return Ok(Some(frame));
        }
        let length = usize::try_from(length).ok().filter(|length| *length <= MAX_BODY_BYTES);
        let length = length.ok_or_else(|| to_protocol_error(WireError::TooLong))?;
        let mut body = [0; MAX_BODY_BYTES];
        let mut have = 0;
        while have < length {
            have += self.copy(&mut body[have..length])?;
        }
        F::decode(kind, &body[..length]).map(Some).map_err(to_protocol_error)
    }

    /// Returns true while contents of the last header remain unread.
    pub fn has_contents(&self) -> bool {
        self.contents > 0
    }

    /// Reads some of the contents after a header into `into`; returns 0 once all are read.
    pub fn contents(&mut self, into: &mut [u8]) -> Result<usize, Error> {
        let max = usize::try_from(self.contents).unwrap_or(usize::MAX).min(into.len());
        if max == 0 {
            return Ok(0);
        }
        let into = &mut into[..max];
        let count = if self.begin == self.end && max >= READ_AHEAD {
            end_of_stream_error(read_some(&mut self.stream, into)?)?
        } else {
            self.copy(into)?
        };
        self.contents -= count as u64;
        Ok(count)
    }

    fn byte(&mut self) -> Result<u8, Error> {
        let mut byte = [0];
        self.copy(&mut byte)?;
        Ok(byte[0])
    }

    /// Copies at least one byte, unless `into` is empty.
    fn copy(&mut self, into: &mut [u8]) -> Result<usize, Error> {
        if self.begin == self.end {
            end_of_stream_error(self.fill()?)?;
        }
        let count = into.len().min(self.end - self.begin);
        into[..count].copy_from_slice(&self.buffer[self.begin..self.begin + count]);
        self.begin += count;
        Ok(count)
    }

    /// Refills the empty buffer.
    fn fill(&mut self) -> Result<usize, Error> {
        self.begin = 0;
        self.end = 0;
        self.end = read_some(&mut self.stream, &mut self.buffer)?;
        Ok(self.end)
    }
}

fn read_some(stream: &mut impl Read, into: &mut [u8]) -> Result<usize, Error> {
    loop {
        match stream.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result.map_err(Error::ConnectionEnded),
        }
    }
}

fn end_of_stream_error(count: usize) -> Result<usize, Error> {
    if count == 0 { Err(Error::ConnectionEnded(io::ErrorKind::UnexpectedEof.into())) } else { Ok(count) }
}

fn to_protocol_error(error: WireError) -> Error {
    Error::Protocol(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::transfer_messages::{Offer, OfferKind, ToReceiver};
    use proptest::prelude::*;

    /// Reader that returns a few bytes per call.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let max = into.len().min(self.1);
            self.0.read(&mut into[..max])
        }
    }

    fn offer(name: &[u8]) -> ToReceiver {
        ToReceiver::Offer(Offer {
            depth: 0,
            name: name.to_vec(),
            has_case_variant: false,
            mode: 0,
            kind: OfferKind::Stream,
        })
    }

    #[test]
    fn frames_are_decoded_at_any_read_size() {
        let contents: Vec<u8> = (0..200_000).map(|at| (at % 255) as u8).collect();
        let mut bytes = Vec::new();
        let mut writer = FrameWriter::new(&mut bytes);
        for size in [1, 70_000, 200_000] {
            writer.frame(&offer(b"name")).unwrap();
            writer.data(&ToReceiver::Data { length: size as u64 }, &contents[..size]).unwrap();
        }
        writer.frame(&ToReceiver::Finish).unwrap();
        writer.flush().unwrap();
        for piece in [1, 7, 65_536, usize::MAX] {
            let mut reader = FrameReader::new(Trickle(&bytes, piece));
            for size in [1, 70_000, 200_000] {
                assert_eq!(reader.next().unwrap(), Some(offer(b"name")));
                assert_eq!(reader.next().unwrap(), Some(ToReceiver::Data { length: size as u64 }));
                let mut read = vec![0; size];
                let mut have = 0;
                while have < size {
                    have += reader.contents(&mut read[have..]).unwrap();
                }
                assert_eq!(reader.contents(&mut [0; 10]).unwrap(), 0);
                assert_eq!(read, contents[..size]);
            }
            assert_eq!(reader.next().unwrap(), Some(ToReceiver::Finish));
            assert_eq!(reader.next::<ToReceiver>().unwrap(), None);
        }
        let truncated_frame = FrameReader::new(&bytes[..3]).next::<ToReceiver>();
        assert!(matches!(truncated_frame, Err(Error::ConnectionEnded(_))));
    }

    proptest! {
        #[test]
        fn any_stream_ends_or_fails(bytes in prop::collection::vec(any::<u8>(), 0..2000), piece in 1..50usize) {
            let mut reader = FrameReader::new(Trickle(&bytes, piece));
            let mut buffer = [0; 512];
            while let Ok(Some(_)) = reader.next::<ToReceiver>() {
                while matches!(reader.contents(&mut buffer), Ok(1..)) {}
                if reader.contents != 0 {
                    break;
                }
            }
        }
    }
}
