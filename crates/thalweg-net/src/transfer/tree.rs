//! BLAKE3 of a file, block by block.
//!
//! BLAKE3 is a tree: the hash of a file is put together from the chaining values of its parts (the BLAKE3 paper,
//! section 2.1). Cut at multiples of a power of two, those of [`BLOCK`] bytes are sub-trees, so one pass over a file
//! gives both what resuming compares and the hash of the whole, which is what `b3sum` prints.

use blake3::hazmat::{HasherExt as _, Mode, merge_subtrees_non_root, merge_subtrees_root};
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};

/// The size of the blocks that a resumed transfer compares, in bytes: a power of two.
pub const BLOCK: u64 = 1 << 20;

/// A BLAKE3 hash, or the chaining value of a block.
pub type Digest = [u8; 32];

/// The hash of a file whose bytes, or the digests of whose blocks, come in order.
#[derive(Debug)]
pub struct TreeHasher {
    /// Chaining values of complete sub-trees, the largest first: one for each bit that is set in `blocks`.
    stack: Vec<Digest>,
    /// Blocks that went into the stack.
    blocks: u64,
    /// The block that is being filled.
    open: blake3::Hasher,
    filled: u64,
}

impl Default for TreeHasher {
    fn default() -> Self {
        Self::new()
    }
}

impl TreeHasher {
    /// Before the first byte.
    pub fn new() -> Self {
        Self { stack: Vec::new(), blocks: 0, open: blake3::Hasher::new(), filled: 0 }
    }

    /// The next bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            self.close_block();
            let room = usize::try_from(BLOCK - self.filled).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(bytes.len().min(room));
            self.open.update(now);
            self.filled += now.len() as u64;
            bytes = later;
        }
    }

    /// The next block by its [digest](block_digest). It must begin at a multiple of [`BLOCK`] and bytes must follow it,
    /// as the last block of a file enters its hash differently.
    pub fn push_block(&mut self, digest: Digest) {
        self.close_block();
        debug_assert_eq!(self.filled, 0, "a block begins in the middle of another");
        self.push(digest);
        self.open = Self::hasher(self.blocks);
    }

    /// So many full blocks are a hole. They are not hashed as the zeros that they read as: whoever claims a hole of a
    /// terabyte would have the other side hash it. The hash of a file with holes is one of its own for this reason.
    pub fn push_hole(&mut self, blocks: u64) {
        for _ in 0..blocks {
            self.push_block(HOLE);
        }
    }

    /// The hash of the whole, or nothing if it ended with [`TreeHasher::push_block`].
    pub fn finish(mut self) -> Option<Digest> {
        let Some(first) = self.stack.first().copied() else {
            return Some(*self.open.finalize().as_bytes());
        };
        if self.filled == 0 {
            return None;
        }
        let mut right = self.open.finalize_non_root();
        while self.stack.len() > 1
            && let Some(left) = self.stack.pop()
        {
            right = merge_subtrees_non_root(&left, &right, Mode::Hash);
        }
        Some(*merge_subtrees_root(&first, &right, Mode::Hash).as_bytes())
    }

    /// Puts a full block away: called when something follows it.
    fn close_block(&mut self) {
        if self.filled == BLOCK {
            let digest = self.open.finalize_non_root();
            self.push(digest);
            self.open = Self::hasher(self.blocks);
            self.filled = 0;
        }
    }

    fn push(&mut self, digest: Digest) {
        self.stack.push(digest);
        self.blocks += 1;
        // Something follows, so no sub-tree here is the whole: those of equal size become one.
        while self.stack.len() > self.blocks.count_ones() as usize
            && let (Some(right), Some(left)) = (self.stack.pop(), self.stack.pop())
        {
            self.stack.push(merge_subtrees_non_root(&left, &right, Mode::Hash));
        }
    }

    fn hasher(block: u64) -> blake3::Hasher {
        let mut hasher = blake3::Hasher::new();
        hasher.set_input_offset(block * BLOCK);
        hasher
    }
}

/// A file takes less room than its bytes need.
pub fn is_sparse(metadata: &Metadata) -> bool {
    // The system counts blocks of 512 bytes.
    metadata.blocks().saturating_mul(512) < metadata.len()
}

/// The end of the hole that a file of `size` bytes has at `position`; `position` if there is none. The position of the next read is
/// another afterwards.
pub fn end_of_hole(file: &File, position: u64, size: u64) -> u64 {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(position)) {
        Ok(data) => data.min(size),
        // There is none behind it.
        Err(rustix::io::Errno::NXIO) => size,
        Err(_) => position,
    }
}

/// The hash by which whole files are compared: full blocks of zeros before the last block count as holes, whether they are stored or
/// not, so that holes need not be read.
///
/// # Errors
/// The file cannot be read, or has fewer bytes than `size`.
pub fn checksum(file: &File, size: u64) -> io::Result<Digest> {
    let is_sparse = is_sparse(&file.metadata()?);
    let mut hasher = TreeHasher::new();
    let mut buffer = vec![0; usize::try_from(size.min(BLOCK)).unwrap_or(BLOCK as usize)];
    let mut position = 0;
    while position < size {
        let end = if is_sparse { end_of_hole(file, position, size) } else { position };
        // The last block is always read.
        let blocks = (end.min(size - 1) - position) / BLOCK;
        if blocks > 0 {
            hasher.push_hole(blocks);
            position += blocks * BLOCK;
            continue;
        }
        let length = (size - position).min(BLOCK);
        let bytes = &mut buffer[..usize::try_from(length).unwrap_or(BLOCK as usize)];
        file.read_exact_at(bytes, position)?;
        position += length;
        if position < size && bytes.iter().all(|byte| *byte == 0) {
            hasher.push_hole(1);
        } else {
            hasher.update(bytes);
        }
    }
    // The last block was read.
    hasher.finish().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// The digest that stands for a full block that is a hole: the BLAKE3 hash of nothing, which is the chaining value of
/// no block that anybody could find.
const HOLE: Digest = [
    0xaf, 0x13, 0x49, 0xb9, 0xf5, 0xf9, 0xa1, 0xa6, 0xa0, 0x40, 0x4d, 0xea, 0x36, 0xdc, 0xc9, 0x49, 0x9b,
    0xcb, 0x25, 0xc9, 0xad, 0xc1, 0x12, 0xb7, 0xcc, 0x9a, 0x93, 0xca, 0xe4, 0x1f, 0x32, 0x62,
];

/// The chaining value of the full block number `block` of a longer file.
pub fn block_digest(block: u64, bytes: &[u8]) -> Digest {
    TreeHasher::hasher(block).update(bytes).finalize_non_root()
}

/// Of an unfinished file of `length` bytes, what will have `size`: the pieces that are compared when it is resumed.
///
/// All are full blocks that are not the file's last, but for the last piece, which is what is beyond them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pieces {
    blocks: u64,
    rest: u64,
}

/// One of [`Pieces`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its number, from 0.
    pub number: u64,
    /// The position at which it begins, in bytes.
    pub start: u64,
    /// Bytes in it, at most [`BLOCK`].
    pub length: u64,
    /// It is a block that is not the file's last, so its digest is a part of the file's hash.
    pub is_block: bool,
}

impl Pieces {
    /// `length` is at most `size`.
    pub fn new(size: u64, length: u64) -> Self {
        let length = length.min(size);
        let blocks = (length / BLOCK).min(size.saturating_sub(1) / BLOCK);
        Self { blocks, rest: length - blocks * BLOCK }
    }

    /// The number of pieces.
    pub fn count(self) -> u64 {
        self.blocks + u64::from(self.rest > 0)
    }

    /// Bytes in all of them.
    pub fn length(self) -> u64 {
        self.blocks * BLOCK + self.rest
    }

    /// Piece `number`, if there is one.
    pub fn get(self, number: u64) -> Option<Piece> {
        if number >= self.count() {
            return None;
        }
        let is_block = number < self.blocks;
        let length = if is_block { BLOCK } else { self.rest };
        Some(Piece { number, start: number * BLOCK, length, is_block })
    }
}

impl Piece {
    /// The digest that is compared, of the piece's bytes.
    pub fn digest(self, bytes: &[u8]) -> Digest {
        if self.is_block { block_digest(self.number, bytes) } else { *blake3::hash(bytes).as_bytes() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at * 31 % 251) as u8).collect()
    }

    #[test]
    fn the_hash_is_that_of_the_published_function() {
        let block = BLOCK as usize;
        for length in [
            0,
            1,
            1024,
            block - 1,
            block,
            block + 1,
            2 * block,
            3 * block,
            4 * block,
            5 * block + 17,
            7 * block,
        ] {
            let bytes = bytes(length);
            let mut tree = TreeHasher::new();
            bytes.chunks(300_000).for_each(|chunk| tree.update(chunk));
            assert_eq!(tree.finish(), Some(*blake3::hash(&bytes).as_bytes()), "{length} bytes");
        }
    }

    #[test]
    fn a_hole_is_not_a_block_of_zeros_and_has_its_place() {
        assert_eq!(HOLE, *blake3::hash(b"").as_bytes());
        let hash = |holes: [u64; 2]| {
            let mut tree = TreeHasher::new();
            tree.push_hole(holes[0]);
            tree.update(&bytes(BLOCK as usize));
            tree.push_hole(holes[1]);
            tree.update(b"end");
            tree.finish().unwrap()
        };
        assert_eq!(hash([3, 0]), hash([3, 0]));
        assert_ne!(hash([3, 0]), hash([2, 1]));
        assert_ne!(hash([3, 0]), hash([2, 0]));
        assert_ne!(hash([0, 1]), hash([0, 0]));
        let mut zeros = TreeHasher::new();
        zeros.update(&vec![0; BLOCK as usize]);
        zeros.update(&bytes(BLOCK as usize));
        zeros.update(b"end");
        assert_ne!(zeros.finish().unwrap(), hash([1, 0]));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn kept_blocks_and_bytes_mix(length in 0..6 * BLOCK as usize, kept in any::<u8>()) {
            let bytes = bytes(length);
            let mut tree = TreeHasher::new();
            for (number, block) in bytes.chunks(BLOCK as usize).enumerate() {
                let is_last = (number + 1) * BLOCK as usize >= length;
                if kept >> number & 1 == 1 && !is_last {
                    tree.push_block(block_digest(number as u64, block));
                } else {
                    tree.update(block);
                }
            }
            prop_assert_eq!(tree.finish(), Some(*blake3::hash(&bytes).as_bytes()));
        }

        #[test]
        fn pieces_cover_what_is_there(size in 0..10 * BLOCK, length in 0..12 * BLOCK) {
            let pieces = Pieces::new(size, length);
            let mut end = 0;
            for number in 0..pieces.count() {
                let piece = pieces.get(number).unwrap();
                prop_assert_eq!(piece.start, end);
                prop_assert!(piece.length > 0 && piece.length <= BLOCK);
                end += piece.length;
                prop_assert_eq!(piece.is_block, piece.length == BLOCK && end < size);
            }
            prop_assert_eq!(end, length.min(size));
            prop_assert_eq!(pieces.get(pieces.count()), None);
        }
    }
}
