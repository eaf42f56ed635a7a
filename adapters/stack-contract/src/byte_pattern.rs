//! Application data: a fixed sequence of bytes that repeats after a prime number of bytes.

use std::sync::LazyLock;

/// Length of the sequence in bytes: a prime number. Data that arrives shifted by a packet or a block differs.
pub const PERIOD: usize = 65_521;

/// Maximum length of a piece, in bytes.
pub const MAX_PIECE: usize = 65_521;

/// The sequence, twice: each piece is contiguous.
static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut state = 1_u32;
    let once: Vec<u8> = (0..PERIOD)
        .map(|_| {
            // The minimal standard generator (Park and Miller 1988), with the multiplier 48271.
            state = ((u64::from(state) * 48_271) % 0x7fff_ffff) as u32;
            (state >> 11) as u8
        })
        .collect();
    [once.as_slice(), &once].concat()
});

/// Returns `length` bytes of the stream from `offset` on, at most [`MAX_PIECE`].
pub fn pattern_bytes(offset: u64, length: usize) -> &'static [u8] {
    let start = (offset % PERIOD as u64) as usize;
    &BYTES[start..start + length.min(MAX_PIECE)]
}

/// Returns true if these are the bytes of the stream from `offset` on.
pub fn matches_pattern(mut offset: u64, bytes: &[u8]) -> bool {
    bytes.chunks(MAX_PIECE).all(|chunk| {
        let is_equal = pattern_bytes(offset, chunk.len()) == chunk;
        offset += chunk.len() as u64;
        is_equal
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_continue_each_other() {
        let whole: Vec<u8> =
            (0..10).flat_map(|number| pattern_bytes(number * 30_000, 30_000).to_vec()).collect();
        assert!(matches_pattern(0, &whole));
        assert!(matches_pattern(123_456, &whole[123_456..]));
        assert_eq!(pattern_bytes(0, 10), pattern_bytes(PERIOD as u64, 10));
    }

    #[test]
    fn shifted_and_damaged_bytes_differ() {
        let mut bytes = pattern_bytes(0, 3000).to_vec();
        for shift in 1..3000 {
            assert!(!matches_pattern(shift, &bytes), "{shift}");
        }
        bytes[2999] ^= 1;
        assert!(!matches_pattern(0, &bytes));
    }
}
