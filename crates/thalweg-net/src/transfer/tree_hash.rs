//! Incremental BLAKE3 hashes of files, by block.
//!
//! BLAKE3 is a tree: the hash of a file combines the chaining values of its sub-trees (the BLAKE3 paper, section 2.1).
//! Aligned ranges whose length is a power of two are sub-trees, and [`BLOCK`] is such a length. One pass over a file
//! thus yields both the block digests that resuming compares and the hash of the whole file, as printed by `b3sum`.

use blake3::hazmat::{HasherExt as _, Mode, merge_subtrees_non_root, merge_subtrees_root};
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};

/// Block size for resuming transfers, in bytes: a power of two.
pub const BLOCK: u64 = 1 << 20;

/// A BLAKE3 hash, or the chaining value of a block.
pub type Digest = [u8; 32];

/// Incremental hash of a file, from its bytes or the digests of its blocks, in order.
#[derive(Debug)]
pub struct TreeHasher {
    /// Chaining values of complete sub-trees, largest first: one per set bit of `blocks`.
    stack: Vec<Digest>,
    /// Number of blocks in the stack.
    blocks: u64,
    /// Hash of the current block.
    block_hasher: blake3::Hasher,
    filled: u64,
}

impl Default for TreeHasher {
    fn default() -> Self {
        Self::new()
    }
}

impl TreeHasher {
    /// Creates a hasher for an empty file.
    pub fn new() -> Self {
        Self { stack: Vec::new(), blocks: 0, block_hasher: blake3::Hasher::new(), filled: 0 }
    }

    /// Appends bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            self.close_block();
            let room = usize::try_from(BLOCK - self.filled).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(bytes.len().min(room));
            self.block_hasher.update(now);
            self.filled += now.len() as u64;
            bytes = later;
        }
    }

    /// Appends the next block by its [digest](block_digest). It must start at a multiple of [`BLOCK`] and bytes must
    /// follow it: BLAKE3 hashes the last block of a file differently.
    pub fn push_block(&mut self, digest: Digest) {
        self.close_block();
        debug_assert_eq!(self.filled, 0, "a block begins in the middle of another");
        self.push(digest);
        self.block_hasher = Self::hasher(self.blocks);
    }

    /// Appends a hole of `blocks` full blocks. Holes have a digest of their own rather than that of zeros: otherwise a
    /// peer could make this side hash terabytes by claiming a hole. The hash of a file with holes therefore differs
    /// from plain BLAKE3.
    pub fn push_hole(&mut self, blocks: u64) {
        for _ in 0..blocks {
            self.push_block(HOLE);
        }
    }

    /// Returns the hash of the whole file, or `None` if it ended with [`TreeHasher::push_block`].
    pub fn finish(mut self) -> Option<Digest> {
        let Some(first) = self.stack.first().copied() else {
            return Some(*self.block_hasher.finalize().as_bytes());
        };
        if self.filled == 0 {
            return None;
        }
        let mut right = self.block_hasher.finalize_non_root();
        while self.stack.len() > 1
            && let Some(left) = self.stack.pop()
        {
            right = merge_subtrees_non_root(&left, &right, Mode::Hash);
        }
        Some(*merge_subtrees_root(&first, &right, Mode::Hash).as_bytes())
    }

    /// Pushes a full block to the stack; called once more data follows.
    fn close_block(&mut self) {
        if self.filled == BLOCK {
            let digest = self.block_hasher.finalize_non_root();
            self.push(digest);
            self.block_hasher = Self::hasher(self.blocks);
            self.filled = 0;
        }
    }

    fn push(&mut self, digest: Digest) {
        self.stack.push(digest);
        self.blocks += 1;
        // More data follows, so no sub-tree is the root: merge sub-trees of equal size.
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

/// Returns true if the file occupies less disk space than its size.
pub fn is_sparse(metadata: &Metadata) -> bool {
    // The system counts blocks of 512 bytes.
    metadata.blocks().saturating_mul(512) < metadata.len()
}

/// Returns the end of the hole at `position` in a file of `size` bytes; `position` if there is none. Changes the read
/// position of the file.
pub fn end_of_hole(file: &File, position: u64, size: u64) -> u64 {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(position)) {
        Ok(data) => data.min(size),
        // No data follows.
        Err(rustix::io::Errno::NXIO) => size,
        Err(_) => position,
    }
}

/// Returns the hash for comparing whole files: full blocks of zeros before the last block count as holes, stored or
/// not. Holes therefore need not be read.
///
/// # Errors
/// The file cannot be read, or is shorter than `size` bytes.
pub fn hash_file(file: &File, size: u64) -> io::Result<Digest> {
    let is_sparse = is_sparse(&file.metadata()?);
    let mut hasher = TreeHasher::new();
    let mut buffer = vec![0; usize::try_from(size.min(BLOCK)).unwrap_or(BLOCK as usize)];
    let mut position = 0;
    while position < size {
        let end = if is_sparse { end_of_hole(file, position, size) } else { position };
        // The last block is always hashed from its bytes.
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
    // The last block was hashed from its bytes, so the hash exists.
    hasher.finish().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// Digest that represents a full block of a hole: the BLAKE3 hash of the empty input. No feasible block has it as its
/// chaining value.
const HOLE: Digest = [
    0xaf, 0x13, 0x49, 0xb9, 0xf5, 0xf9, 0xa1, 0xa6, 0xa0, 0x40, 0x4d, 0xea, 0x36, 0xdc, 0xc9, 0x49, 0x9b,
    0xcb, 0x25, 0xc9, 0xad, 0xc1, 0x12, 0xb7, 0xcc, 0x9a, 0x93, 0xca, 0xe4, 0x1f, 0x32, 0x62,
];

/// Returns the chaining value of full block `block` of a longer file.
pub fn block_digest(block: u64, bytes: &[u8]) -> Digest {
    TreeHasher::hasher(block).update(bytes).finalize_non_root()
}

/// Pieces compared when resuming: an unfinished file of `length` bytes whose final size is `size`.
///
/// All pieces are full blocks other than the file's last block, except for the last piece, which holds the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pieces {
    blocks: u64,
    bytes_left: u64,
}

/// One of [`Pieces`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Index, from 0.
    pub number: u64,
    /// Start position, in bytes.
    pub start: u64,
    /// Length, in bytes; at most [`BLOCK`].
    pub length: u64,
    /// True for a block other than the file's last; its digest is a node of the file's hash tree.
    pub is_block: bool,
}

impl Pieces {
    /// Creates the pieces; `length` must be at most `size`.
    pub fn new(size: u64, length: u64) -> Self {
        let length = length.min(size);
        let blocks = (length / BLOCK).min(size.saturating_sub(1) / BLOCK);
        Self { blocks, bytes_left: length - blocks * BLOCK }
    }

    /// Returns the number of pieces.
    pub fn count(self) -> u64 {
        self.blocks + u64::from(self.bytes_left > 0)
    }

    /// Returns the total length of the pieces, in bytes.
    pub fn length(self) -> u64 {
        self.blocks * BLOCK + self.bytes_left
    }

    /// Returns piece `number`, or `None` beyond the last.
    pub fn get(self, number: u64) -> Option<Piece> {
        if number >= self.count() {
            return None;
        }
        let is_block = number < self.blocks;
        let length = if is_block { BLOCK } else { self.bytes_left };
        Some(Piece { number, start: number * BLOCK, length, is_block })
    }
}

impl Piece {
    /// Returns the digest to compare for a piece with contents `bytes`.
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
