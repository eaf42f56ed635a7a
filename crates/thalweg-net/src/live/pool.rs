//! Memory for datagrams that come: shared with the application without copying, and used again once it has let go.

use std::collections::VecDeque;
use std::sync::Arc;
use thalweg_proto::payload::Slice;

/// A buffer that nobody else holds.
#[derive(Debug)]
pub struct Buffer(Arc<[u8]>);

impl Buffer {
    fn new(size: usize) -> Self {
        Self(std::iter::repeat_n(0, size).collect())
    }

    /// All of it.
    pub fn bytes(&mut self) -> &mut [u8] {
        Arc::get_mut(&mut self.0).expect("nobody else holds a buffer that was taken from a pool")
    }
}

/// Buffers of one size.
#[derive(Debug)]
pub struct Pool {
    size: usize,
    /// Those that were given out last are at the back.
    lent: VecDeque<Arc<[u8]>>,
    /// Buffers that are kept when nobody holds them, and that may be lent.
    most: usize,
    most_lent: Option<usize>,
    /// Buffers that were used again.
    taken: u32,
}

impl Pool {
    /// Buffers of `size` bytes, of which `most` are kept.
    pub fn new(size: usize, most: usize) -> Self {
        Self { size, lent: VecDeque::new(), most, most_lent: None, taken: 0 }
    }

    /// So many may be lent at a time, no fewer than are kept.
    pub fn lending(self, most: usize) -> Self {
        Self { most_lent: Some(most.max(self.most)), ..self }
    }

    /// True if as many are lent as may be.
    pub fn is_exhausted(&mut self) -> bool {
        if self.most_lent.is_none_or(|most| self.lent.len() < most) {
            return false;
        }
        for _ in 0..LOOKED_AT {
            if self.lent.front().is_none_or(|bytes| Arc::strong_count(bytes) == 1) {
                return false;
            }
            self.lent.rotate_left(1);
        }
        true
    }

    /// A buffer that nobody holds: one that was used before, if there is one.
    pub fn take(&mut self) -> Buffer {
        // Applications mostly let go in the order in which they got. One that keeps some does not hold up the others.
        for _ in 0..self.lent.len().min(LOOKED_AT) {
            let Some(mut bytes) = self.lent.pop_front() else { break };
            if Arc::get_mut(&mut bytes).is_some() {
                self.forget_one();
                return Buffer(bytes);
            }
            self.lent.push_back(bytes);
        }
        Buffer::new(self.size)
    }

    /// Lets go of a buffer now and then, if more are kept than need be.
    fn forget_one(&mut self) {
        self.taken = self.taken.wrapping_add(1);
        let is_due = self.lent.len() >= self.most && self.taken.is_multiple_of(FORGETS);
        if is_due && self.lent.front().is_some_and(|bytes| Arc::strong_count(bytes) == 1) {
            self.lent.pop_front();
        }
    }

    /// Gives the buffer out; it comes back when all slices of it are gone.
    pub fn lend(&mut self, buffer: Buffer) -> Slice {
        let Buffer(bytes) = buffer;
        if self.lent.len() < self.most_lent.unwrap_or(self.most) {
            self.lent.push_back(Arc::clone(&bytes));
        }
        Slice::new(bytes)
    }
}

/// So many buffers are used again for one that is let go.
const FORGETS: u32 = 64;

/// Buffers that are asked whether they are free before a new one is made.
const LOOKED_AT: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_come_back_when_they_are_let_go() {
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
        // No more than two are kept.
        let many: Vec<_> = (0..5).map(|_| Buffer::new(10)).map(|buffer| pool.lend(buffer)).collect();
        assert_eq!((many.len(), pool.lent.len()), (5, 2));
    }

    #[test]
    fn a_pool_knows_that_all_is_lent_and_keeps_less_than_that() {
        let mut pool = Pool::new(10, 2).lending(100);
        let mut lent = VecDeque::new();
        while !pool.is_exhausted() {
            let buffer = pool.take();
            lent.push_back(pool.lend(buffer));
        }
        assert_eq!(lent.len(), 100);
        lent.pop_front();
        assert!((0..100).any(|_| !pool.is_exhausted()), "one is back, wherever it stands in the list");
        lent.clear();
        for _ in 0..100 * FORGETS {
            let buffer = pool.take();
            drop(pool.lend(buffer));
        }
        assert!(pool.lent.len() <= 2, "{}", pool.lent.len());
    }
}
