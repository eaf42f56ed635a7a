//! What a segment carries: a length in simulation, bytes when deployed.

use core::fmt::Debug;
use std::collections::VecDeque;
use std::sync::Arc;

/// A piece of application data.
pub trait Payload: Clone + Debug + PartialEq {
    /// Written data that waits to be cut into segments.
    type Queue: Queue<Self>;
    /// Received data that waits for what comes before it.
    type Store: Store<Self>;

    /// The number of bytes.
    fn len(&self) -> u32;

    /// True for a piece of no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The part from `start` (inclusive) to `end` (exclusive), both within the length.
    fn slice(&self, start: u32, end: u32) -> Self;
}

/// A first-in first-out buffer of application data.
pub trait Queue<P>: Default + Debug {
    /// Appends `data`.
    fn push(&mut self, data: P);
    /// Takes up to `max` bytes from the front; `None` when empty or `max` is zero. A piece that was written as a
    /// whole is cut, and never joined with the next.
    fn take(&mut self, max: u32) -> Option<P>;
    /// How many bytes wait.
    fn len(&self) -> u64;
    /// True when nothing waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Out-of-order data, kept until it can be delivered.
pub trait Store<P>: Default + Debug {
    /// Keeps `data`, which starts at byte `offset` of the stream and overlaps nothing kept.
    fn insert(&mut self, offset: u64, data: P);
    /// Takes kept data that starts exactly at `offset`; `contiguous` bytes from there are known to be kept, so a
    /// store of lengths can give all of them as one piece.
    fn take(&mut self, offset: u64, contiguous: u64) -> Option<P>;
}

/// A payload that is only a length: what the simulator carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Length(pub u32);

/// A queue of [`Length`]s is their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LengthQueue(u64);

/// A store of [`Length`]s keeps nothing: the receiver's ranges say all there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LengthStore;

impl Payload for Length {
    type Queue = LengthQueue;
    type Store = LengthStore;

    fn len(&self) -> u32 {
        self.0
    }

    fn slice(&self, start: u32, end: u32) -> Self {
        Self(end - start)
    }
}

impl Queue<Length> for LengthQueue {
    fn push(&mut self, data: Length) {
        self.0 += u64::from(data.0);
    }

    fn take(&mut self, max: u32) -> Option<Length> {
        let taken = u32::try_from(self.0).unwrap_or(u32::MAX).min(max);
        self.0 -= u64::from(taken);
        (taken > 0).then_some(Length(taken))
    }

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

/// Real bytes, shared without copying between the application, the wire and retransmission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    bytes: Arc<[u8]>,
    start: u32,
    end: u32,
}

impl Slice {
    /// All of `bytes`. More than 4 GiB are cut off.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        let end = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        Self { bytes, start: 0, end }
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.start as usize..self.end as usize]
    }
}

impl Payload for Slice {
    type Queue = SliceQueue;
    type Store = SliceStore;

    fn len(&self) -> u32 {
        self.end - self.start
    }

    fn slice(&self, start: u32, end: u32) -> Self {
        let (start, end) = (self.start + start, (self.start + end).min(self.end));
        Self { bytes: Arc::clone(&self.bytes), start: start.min(end), end }
    }
}

/// A queue of [`Slice`]s.
#[derive(Clone, Debug, Default)]
pub struct SliceQueue {
    pieces: VecDeque<Slice>,
    len: u64,
}

impl Queue<Slice> for SliceQueue {
    fn push(&mut self, data: Slice) {
        if !data.is_empty() {
            self.len += u64::from(data.len());
            self.pieces.push_back(data);
        }
    }

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

    fn len(&self) -> u64 {
        self.len
    }
}

/// Out-of-order [`Slice`]s by where they start.
#[derive(Clone, Debug, Default)]
pub struct SliceStore(std::collections::BTreeMap<u64, Slice>);

impl Store<Slice> for SliceStore {
    fn insert(&mut self, offset: u64, data: Slice) {
        self.0.insert(offset, data);
    }

    fn take(&mut self, offset: u64, _contiguous: u64) -> Option<Slice> {
        self.0.remove(&offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
