//! Two in-memory byte streams that break together.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::{Arc, Condvar, Mutex};

/// Numbers of bytes after which the connection breaks.
#[derive(Clone, Copy, Debug)]
pub struct Break {
    /// Bytes written by the sender of files.
    pub to_receiver: u64,
    /// Bytes written by the receiver.
    pub to_sender: u64,
}

impl Break {
    pub fn never() -> Self {
        Self { to_receiver: u64::MAX, to_sender: u64::MAX }
    }
}

struct Connection {
    state: Mutex<[Direction; 2]>,
    changed: Condvar,
}

struct Direction {
    bytes: VecDeque<u8>,
    /// Number of bytes until the break.
    left: u64,
    is_closed: bool,
    is_broken: bool,
}

/// Maximum number of queued bytes per direction.
const CAPACITY: usize = 48 << 10;

/// Writing end of a direction.
pub struct Writer(Arc<Connection>, usize);
pub struct Reader(Arc<Connection>, usize);

/// Returns writer and reader towards the receiver, and writer and reader towards the sender.
pub fn pipes(breaks: Break) -> (Writer, Reader, Writer, Reader) {
    let direction = |left| Direction { bytes: VecDeque::new(), left, is_closed: false, is_broken: false };
    let state = Mutex::new([direction(breaks.to_receiver), direction(breaks.to_sender)]);
    let connection = Arc::new(Connection { state, changed: Condvar::new() });
    let end = || Arc::clone(&connection);
    (Writer(end(), 0), Reader(end(), 0), Writer(end(), 1), Reader(end(), 1))
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.0.state.lock().unwrap();
        while !state[self.1].is_broken && state[self.1].bytes.len() >= CAPACITY {
            state = self.0.changed.wait(state).unwrap();
        }
        let direction = &mut state[self.1];
        if direction.is_broken {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        let room = (CAPACITY - direction.bytes.len()).min(bytes.len());
        let count = usize::try_from(direction.left).unwrap_or(usize::MAX).min(room);
        direction.bytes.extend(&bytes[..count]);
        direction.left -= count as u64;
        // Earlier writes are delivered.
        if direction.left == 0 {
            state.iter_mut().for_each(|direction| direction.is_broken = true);
        }
        self.0.changed.notify_all();
        if count == 0 { Err(io::ErrorKind::ConnectionReset.into()) } else { Ok(count) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Reader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut state = self.0.state.lock().unwrap();
        loop {
            let direction = &mut state[self.1];
            if !direction.bytes.is_empty() {
                let count = direction.bytes.read(into)?;
                self.0.changed.notify_all();
                return Ok(count);
            }
            if direction.is_broken {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            if direction.is_closed {
                return Ok(0);
            }
            state = self.0.changed.wait(state).unwrap();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.state.lock().unwrap()[self.1].is_closed = true;
        self.0.changed.notify_all();
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.state.lock().unwrap()[self.1].is_broken = true;
        self.0.changed.notify_all();
    }
}
