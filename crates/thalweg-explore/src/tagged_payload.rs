//! A payload that identifies its part of the written data.

use std::collections::BTreeMap;
use thalweg_proto::payload::{Payload, Queue, Store};

/// Bytes `start` to `start + length - 1` of all that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag {
    /// The first.
    pub start: u32,
    /// The number of bytes.
    pub length: u32,
}

/// Written and not yet sent: a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TagQueue {
    start: u32,
    length: u32,
}

/// Tags by position in the stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TagStore(BTreeMap<u64, Tag>);

impl Payload for Tag {
    type Queue = TagQueue;
    type Store = TagStore;
    type StoredForm = Self;

    fn len(&self) -> u32 {
        self.length
    }

    fn slice(&self, start: u32, end: u32) -> Self {
        Self { start: self.start + start, length: end - start }
    }

    fn blank(length: u32) -> Self {
        Self { start: 0, length }
    }

    fn keep(&self) -> Self {
        *self
    }

    fn restore(kept: &Self, _length: u32) -> Self {
        *kept
    }
}

impl Queue<Tag> for TagQueue {
    /// Extends the preceding data.
    fn push(&mut self, data: Tag) {
        if self.length == 0 {
            self.start = data.start;
        }
        self.length += data.length;
    }

    fn take(&mut self, max: u32) -> Option<Tag> {
        let tag = Tag { start: self.start, length: self.length.min(max) };
        self.start += tag.length;
        self.length -= tag.length;
        (tag.length > 0).then_some(tag)
    }

    fn len(&self) -> u64 {
        u64::from(self.length)
    }
}

impl Store<Tag> for TagStore {
    fn insert(&mut self, offset: u64, data: Tag) {
        self.0.insert(offset, data);
    }

    fn take(&mut self, offset: u64, _contiguous: u64) -> Option<Tag> {
        self.0.remove(&offset)
    }
}
