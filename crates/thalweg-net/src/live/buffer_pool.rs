//! Receive buffers: shared with the application without copying, and reused once it has released them.

use std::collections::VecDeque;
use std::sync::Arc;
use thalweg_proto::payload::Slice;

/// Exclusively owned buffer.
#[derive(Debug)]
pub struct Buffer(Arc<[u8]>);

impl Buffer {
    fn new(size: usize) -> Self {
        Self(std::iter::repeat_n(0, size).collect())
    }

    /// Returns the whole buffer.
    pub fn bytes(&mut self) -> &mut [u8] {
        Arc::get_mut(&mut self.0).expect("nobody else holds a buffer that was taken from a pool")
    }
}

/// Pool of buffers of one size.
#[derive(Debug)]
pub struct Pool {
    size: usize,
    /// Lent buffers, the latest at the back.
    lent: VecDeque<Arc<[u8]>>,
    /// Maximum number of retained free buffers.
    max: usize,
    /// Maximum number of lent buffers, if they are limited.
    max_lent: Option<usize>,
    /// Number of reused buffers.
    buffers_reused: u32,
}

impl Pool {
    /// Creates a pool of buffers of `size` bytes that retains up to `max`.
    pub fn new(size: usize, max: usize) -> Self {
        Self { size, lent: VecDeque::new(), max, max_lent: None, buffers_reused: 0 }
    }

    /// Limits the number of lent buffers to `max`, or to the number of retained ones if that is more.
    pub fn with_max_lent(self, max: usize) -> Self {
        Self { max_lent: Some(max.max(self.max)), ..self }
    }

    /// Returns true if the maximum number of buffers is lent.
    pub fn is_exhausted(&mut self) -> bool {
        if self.max_lent.is_none_or(|max| self.lent.len() < max) {
            return false;
        }
        for _ in 0..MAX_SCANNED {
            if self.lent.front().is_none_or(|bytes| Arc::strong_count(bytes) == 1) {
                return false;
            }
            self.lent.rotate_left(1);
        }
        true
    }

    /// Returns a free buffer, a reused one if available.
    pub fn take(&mut self) -> Buffer {
        // Applications mostly release buffers in order. The rotation skips buffers that are kept for long.
        for _ in 0..self.lent.len().min(MAX_SCANNED) {
            let Some(mut bytes) = self.lent.pop_front() else { break };
            if Arc::get_mut(&mut bytes).is_some() {
                self.forget_one();
                return Buffer(bytes);
            }
            self.lent.push_back(bytes);
        }
        Buffer::new(self.size)
    }

    /// Occasionally drops a buffer if the pool is larger than needed.
    fn forget_one(&mut self) {
        self.buffers_reused = self.buffers_reused.wrapping_add(1);
        let is_due = self.lent.len() >= self.max && self.buffers_reused.is_multiple_of(REUSES_PER_DROP);
        if is_due && self.lent.front().is_some_and(|bytes| Arc::strong_count(bytes) == 1) {
            self.lent.pop_front();
        }
    }

    /// Lends the buffer; it becomes free when all its slices are dropped.
    pub fn lend(&mut self, buffer: Buffer) -> Slice {
        let Buffer(bytes) = buffer;
        if self.lent.len() < self.max_lent.unwrap_or(self.max) {
            self.lent.push_back(Arc::clone(&bytes));
        }
        Slice::new(bytes)
    }
}

/// Number of reuses after which one buffer is dropped.
const REUSES_PER_DROP: u32 = 64;

/// Number of lent buffers examined before a new one is allocated.
const MAX_SCANNED: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn released_buffers_are_reused() {
        let mut pool = Pool::new(10, 2);
        let mut buffer = pool.take();
        buffer.bytes()[0] = 7;
        let first = pool.lend(buffer);
        let mut fresh = pool.take();
        assert_eq!(fresh.bytes()[0], 0, "the first is still held");
        let second = pool.lend(fresh);
        assert_eq!(first.as_bytes()[0], 7);
        drop(first);
        assert_eq!(pool.take().bytes()[0], 7);
        drop(second);
        // At most two are retained.
        let many: Vec<_> = (0..5).map(|_| Buffer::new(10)).map(|buffer| pool.lend(buffer)).collect();
        assert_eq!((many.len(), pool.lent.len()), (5, 2));
    }

    #[test]
    fn a_pool_knows_that_all_is_lent_and_keeps_less_than_that() {
        let mut pool = Pool::new(10, 2).with_max_lent(100);
        let mut lent = VecDeque::new();
        while !pool.is_exhausted() {
            let buffer = pool.take();
            lent.push_back(pool.lend(buffer));
        }
        assert_eq!(lent.len(), 100);
        lent.pop_front();
        assert!((0..100).any(|_| !pool.is_exhausted()), "one is back, wherever it stands in the list");
        lent.clear();
        for _ in 0..100 * REUSES_PER_DROP {
            let buffer = pool.take();
            drop(pool.lend(buffer));
        }
        assert!(pool.lent.len() <= 2, "{}", pool.lent.len());
    }
}
