//! The payload of a segment: a length in simulation, bytes when deployed.

use core::fmt::Debug;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A piece of application data.
pub trait Payload: Clone + Debug + PartialEq {
    /// Queue of written data, not yet cut into segments.
    type Queue: Queue<Self>;
    /// Out-of-order buffer of received data.
    type Store: Store<Self>;
    /// The content of a piece apart from its length.
    type StoredForm: Clone + Debug;

    /// Returns the number of bytes.
    fn len(&self) -> u32;

    /// Returns true for an empty piece.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the part from `start` (inclusive) to `end` (exclusive), both within the length.
    fn slice(&self, start: u32, end: u32) -> Self;

    /// Returns a piece of `length` bytes without content of its own: zeros where bytes are real.
    fn blank(length: u32) -> Self;

    /// Returns the content apart from the length.
    fn keep(&self) -> Self::StoredForm;

    /// Restores a piece from its content and its length.
    fn restore(kept: &Self::StoredForm, length: u32) -> Self;
}

/// A first-in first-out buffer of application data.
pub trait Queue<P>: Default + Debug {
    /// Appends `data`.
    fn push(&mut self, data: P);
    /// Takes up to `max` bytes from the front; `None` when empty or `max` is zero. Splits a written piece where needed,
    /// but never joins two.
    fn take(&mut self, max: u32) -> Option<P>;
    /// Takes up to `max` bytes of a byte stream, with joined pieces: returns `max` bytes whenever that many are queued.
    /// Otherwise each of many small writes would become a packet that counts in the window.
    fn fill(&mut self, max: u32) -> Option<P> {
        self.take(max)
    }
    /// Returns the number of queued bytes.
    fn len(&self) -> u64;
    /// Returns true when the queue is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Buffer for out-of-order data.
pub trait Store<P>: Default + Debug {
    /// Buffers `data`, which starts at byte `offset` of the stream and overlaps nothing buffered.
    fn insert(&mut self, offset: u64, data: P);
    /// Takes buffered data that starts exactly at `offset`. The caller knows that `contiguous` bytes from there are
    /// buffered, so a store of lengths can return all of them as one piece.
    fn take(&mut self, offset: u64, contiguous: u64) -> Option<P>;
}

/// A payload without content, only a length: the simulator's payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Length(pub u32);

/// A queue of [`Length`]s is their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LengthQueue(u64);

/// A store of [`Length`]s is empty: the receiver's ranges are sufficient.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LengthStore;

impl Payload for Length {
    type Queue = LengthQueue;
    type Store = LengthStore;
    type StoredForm = ();

    #[inline]
    fn len(&self) -> u32 {
        self.0
    }

    fn slice(&self, start: u32, end: u32) -> Self {
        Self(end - start)
    }

    #[inline]
    fn blank(length: u32) -> Self {
        Self(length)
    }

    fn keep(&self) {}

    #[inline]
    fn restore(&(): &(), length: u32) -> Self {
        Self(length)
    }
}

impl Queue<Length> for LengthQueue {
    #[inline]
    fn push(&mut self, data: Length) {
        self.0 += u64::from(data.0);
    }

    #[inline]
    fn take(&mut self, max: u32) -> Option<Length> {
        let taken = u32::try_from(self.0).unwrap_or(u32::MAX).min(max);
        self.0 -= u64::from(taken);
        (taken > 0).then_some(Length(taken))
    }

    #[inline]
    fn len(&self) -> u64 {
        self.0
    }
}

impl Store<Length> for LengthStore {
    fn insert(&mut self, _offset: u64, _data: Length) {}

    fn take(&mut self, _offset: u64, contiguous: u64) -> Option<Length> {
        let taken = u32::try_from(contiguous).unwrap_or(u32::MAX);
        (taken > 0).then_some(Length(taken))
    }
}

/// Real bytes, shared without copying between the application, the wire and retransmission. Two are equal when their bytes
/// are.
#[derive(Clone, Debug)]
pub struct Slice {
    bytes: Arc<[u8]>,
    start: u32,
    end: u32,
}

impl Slice {
    /// Creates a slice of all of `bytes`, truncated to 4 GiB.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        let end = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        Self { bytes, start: 0, end }
    }

    /// Returns the bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.start as usize..self.end as usize]
    }

    /// Narrows the slice to the part from `start` (inclusive) to `end` (exclusive), both within the length. Cheaper
    /// than [`slice`](Payload::slice): it adds no reference to the memory.
    #[inline]
    #[must_use]
    pub fn into_part(mut self, start: u32, end: u32) -> Self {
        self.end = (self.start + end).min(self.end);
        self.start = (self.start + start).min(self.end);
        self
    }
}

impl PartialEq for Slice {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Slice {}

impl Payload for Slice {
    type Queue = SliceQueue;
    type Store = SliceStore;
    type StoredForm = Self;

    #[inline]
    fn len(&self) -> u32 {
        self.end - self.start
    }

    #[inline]
    fn slice(&self, start: u32, end: u32) -> Self {
        let (start, end) = (self.start + start, (self.start + end).min(self.end));
        Self { bytes: Arc::clone(&self.bytes), start: start.min(end), end }
    }

    fn blank(length: u32) -> Self {
        Self::new(vec![0; length as usize])
    }

    #[inline]
    fn keep(&self) -> Self {
        self.clone()
    }

    #[inline]
    fn restore(kept: &Self, _length: u32) -> Self {
        kept.clone()
    }
}

/// A queue of [`Slice`]s.
#[derive(Clone, Debug, Default)]
pub struct SliceQueue {
    pieces: VecDeque<Slice>,
    len: u64,
}

impl Queue<Slice> for SliceQueue {
    #[inline]
    fn push(&mut self, data: Slice) {
        if !data.is_empty() {
            self.len += u64::from(data.len());
            self.pieces.push_back(data);
        }
    }

    #[inline]
    fn take(&mut self, max: u32) -> Option<Slice> {
        let first = self.pieces.front_mut().filter(|_| max > 0)?;
        let taken = if first.len() <= max {
            self.pieces.pop_front()?
        } else {
            let taken = first.slice(0, max);
            first.start += max;
            taken
        };
        self.len -= u64::from(taken.len());
        Some(taken)
    }

    #[inline]
    fn fill(&mut self, max: u32) -> Option<Slice> {
        let is_full = self.pieces.len() < 2 || self.pieces.front().is_some_and(|first| first.len() >= max);
        if is_full { self.take(max) } else { self.join(max) }
    }

    #[inline]
    fn len(&self) -> u64 {
        self.len
    }
}

impl SliceQueue {
    /// Copies several pieces into one.
    #[inline(never)]
    fn join(&mut self, max: u32) -> Option<Slice> {
        let length = u32::try_from(self.len).unwrap_or(u32::MAX).min(max);
        let mut joined = Vec::with_capacity(length as usize);
        // At most `length` bytes, a 32-bit number.
        while let Some(piece) = self.take(length - joined.len() as u32) {
            joined.extend_from_slice(piece.as_bytes());
        }
        (!joined.is_empty()).then(|| Slice::new(joined))
    }
}

/// Pieces shorter than this are copied into blocks, in bytes.
const COPY_BELOW_BYTES: u32 = 512;
/// Block size, in bytes.
const BLOCK: u64 = 4096;

/// Out-of-order [`Slice`]s by start offset.
///
/// Most pieces arrive in sequence, after a missing piece or faster than the application reads: these form a queue.
/// Short pieces are copied into blocks, except a short piece behind a long one, such as the last of one write. A peer
/// that sends single bytes therefore cannot create an entry for each. Memory is bounded by the window, plus twice the
/// size of the containing datagram for the bytes of longer pieces.
#[derive(Clone, Debug, Default)]
pub struct SliceStore {
    /// Consecutive pieces, from `run_start` to `run_end`.
    run: VecDeque<Slice>,
    run_start: u64,
    run_end: u64,
    later_slices: BTreeMap<u64, Slice>,
    /// Blocks by number: block n has the bytes from n * [`BLOCK`] on. Bytes covered by a slice are invalid.
    blocks: BTreeMap<u64, Box<[u8]>>,
}

impl Store<Slice> for SliceStore {
    #[inline]
    fn insert(&mut self, offset: u64, data: Slice) {
        let is_next =
            offset == self.run_end && self.run.back().is_some_and(|last| last.len() >= COPY_BELOW_BYTES);
        if data.len() < COPY_BELOW_BYTES && !is_next {
            return self.copy(offset, data.as_bytes());
        }
        if self.run.is_empty() {
            (self.run_start, self.run_end) = (offset, offset);
        }
        if offset == self.run_end {
            self.run_end += u64::from(data.len());
            self.run.push_back(data);
        } else {
            self.later_slices.insert(offset, data);
        }
    }

    #[inline]
    fn take(&mut self, offset: u64, contiguous: u64) -> Option<Slice> {
        let piece = if self.run_start == offset && !self.run.is_empty() {
            let piece = self.run.pop_front()?;
            self.run_start += u64::from(piece.len());
            piece
        } else if let Some(piece) = self.later_slices.remove(&offset) {
            piece
        } else {
            self.take_copied(offset, contiguous)?
        };
        let taken = offset + u64::from(piece.len());
        while let Some(first) = self.blocks.first_entry()
            && (first.key() + 1).saturating_mul(BLOCK) <= taken
        {
            first.remove();
        }
        Some(piece)
    }
}

impl SliceStore {
    /// Copies a short piece into blocks.
    fn copy(&mut self, mut offset: u64, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let start = (offset % BLOCK) as usize;
            let (here, rest) = bytes.split_at(bytes.len().min(BLOCK as usize - start));
            let block = self
                .blocks
                .entry(offset / BLOCK)
                .or_insert_with(|| vec![0; BLOCK as usize].into_boxed_slice());
            block[start..start + here.len()].copy_from_slice(here);
            offset += here.len() as u64;
            bytes = rest;
        }
    }

    /// Returns the bytes copied from `offset` on: to the end of the block, to the next slice, or to the end of the
    /// buffered data.
    fn take_copied(&self, offset: u64, contiguous: u64) -> Option<Slice> {
        let block = self.blocks.get(&(offset / BLOCK))?;
        let run = Some(self.run_start).filter(|&start| !self.run.is_empty() && start > offset);
        let other = self.later_slices.range(offset..).next().map(|(&start, _)| start);
        let ends = [Some((offset / BLOCK + 1) * BLOCK), offset.checked_add(contiguous), run, other];
        let end = ends.into_iter().flatten().min()?;
        let start = (offset % BLOCK) as usize;
        let bytes = block.get(start..start + (end - offset) as usize)?;
        (!bytes.is_empty()).then(|| Slice::new(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn slices_are_cut_without_loss() {
        let mut queue = SliceQueue::default();
        queue.push(Slice::new(*b"hello world"));
        queue.push(Slice::new(*b"!"));
        let pieces: Vec<_> = core::iter::from_fn(|| queue.take(4)).collect();
        let text: Vec<u8> = pieces.iter().flat_map(|piece| piece.as_bytes().to_vec()).collect();
        assert_eq!(text, b"hello world!");
        assert_eq!(pieces.iter().map(Payload::len).collect::<Vec<_>>(), [4, 4, 3, 1]);
        assert_eq!(Queue::len(&queue), 0);
    }

    /// Several writes leave in full pieces, and in order.
    #[test]
    fn small_writes_are_joined() {
        let queue = || {
            let mut queue = SliceQueue::default();
            for piece in [&b"hello "[..], b"w", b"o", b"", b"rld", b"!"] {
                queue.push(Slice::new(piece));
            }
            queue
        };
        for max in 1..14 {
            let mut queue = queue();
            let pieces: Vec<_> = core::iter::from_fn(|| queue.fill(max)).collect();
            let text: Vec<u8> = pieces.iter().flat_map(|piece| piece.as_bytes().to_vec()).collect();
            assert_eq!((text.as_slice(), Queue::len(&queue)), (&b"hello world!"[..], 0));
            assert!(pieces.iter().rev().skip(1).all(|piece| piece.len() == max), "{pieces:?}");
        }
        // Messages are not joined, and zero bytes give none.
        assert_eq!(queue().take(13).unwrap().as_bytes(), b"hello ");
        assert_eq!(queue().fill(0), None);
    }

    #[test]
    fn the_short_end_of_a_longer_write_stays_in_the_queue() {
        let mut store = SliceStore::default();
        for (from, to) in [(0, 1400), (1400, 1500), (1500, 2900), (2900, 3000), (3000, 3001)] {
            store.insert(from, Slice::new(stream(from, to)));
        }
        // A second short one in a row is copied.
        assert_eq!((store.run.len(), store.later_slices.len(), store.blocks.len()), (4, 0, 1));
        assert_eq!(store.take(0, 3001).unwrap().as_bytes(), stream(0, 1400));
        assert_eq!(store.take(1400, 1601).unwrap().as_bytes(), stream(1400, 1500));
    }

    /// Returns the test bytes between two offsets of a stream.
    fn stream(from: u64, to: u64) -> Vec<u8> {
        (from..to).map(|at| (at * 7 + at / 251) as u8).collect()
    }

    /// Holds RFC 9000, section 21.7.
    #[test]
    fn single_bytes_take_memory_proportional_to_their_number() {
        // In reverse order: no piece follows a buffered one.
        let mut store = SliceStore::default();
        for at in (1..100_000).rev() {
            store.insert(at, Slice::new(stream(at, at + 1)));
        }
        assert_eq!((store.blocks.len(), store.later_slices.len(), store.run.len()), (25, 0, 0));
        store.insert(0, Slice::new(stream(0, 1)));
        let mut taken = Vec::new();
        while taken.len() < 100_000 {
            let at = taken.len() as u64;
            taken.extend_from_slice(store.take(at, 100_000 - at).unwrap().as_bytes());
        }
        assert_eq!(taken, stream(0, 100_000));
        // Blocks before the end of the data taken are freed.
        assert_eq!(store.blocks.len(), 1);
    }

    proptest! {
        /// Inserts pieces of all lengths in any order and takes in-order data now and then. All data comes out, once.
        #[test]
        fn stored_bytes_are_returned_in_order(
            lengths in prop::collection::vec(prop_oneof![1u64..40, 1u64..2000, Just(600), Just(4096)], 1..60),
            order in prop::collection::vec(any::<prop::sample::Index>(), 60),
            takes in prop::collection::vec(any::<bool>(), 60),
        ) {
            let mut pieces = Vec::new();
            let mut end = 0;
            for length in lengths {
                pieces.push((end, end + length));
                end += length;
            }
            let mut store = SliceStore::default();
            let mut arrived = std::collections::BTreeSet::new();
            let mut taken = 0;
            let mut sequence = order.iter().zip(takes);
            while let Some((index, take)) = sequence.next().filter(|_| !pieces.is_empty()) {
                let (from, to) = pieces.swap_remove(index.index(pieces.len()));
                store.insert(from, Slice::new(stream(from, to)));
                arrived.extend(from..to);
                let contiguous = (taken..).take_while(|at| arrived.contains(at)).count() as u64;
                let until = taken + contiguous;
                while take && taken < until {
                    let piece = store.take(taken, until - taken).unwrap();
                    prop_assert_eq!(piece.as_bytes(), stream(taken, taken + u64::from(piece.len())));
                    taken += u64::from(piece.len());
                    prop_assert!(taken <= until);
                }
            }
            while taken < end && pieces.is_empty() {
                let piece = store.take(taken, end - taken).unwrap();
                prop_assert_eq!(piece.as_bytes(), stream(taken, taken + u64::from(piece.len())));
                taken += u64::from(piece.len());
            }
            prop_assert!(!pieces.is_empty() || store.run.is_empty() && store.later_slices.is_empty());
        }
    }
}
