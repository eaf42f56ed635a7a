//! Bitmap of a segment's received packets.

use core::fmt;

/// Bitmap with one bit per packet: 1 for "received", 0 for "send again". It is the retransmission bitmap of a SNAK and
/// the receiver's record of a segment.
///
/// Its length is a whole number of bytes; bits beyond the segment's packets are 1.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Bitmap {
    bytes: u16,
    words: Words,
}

/// Segments of up to 64 packets need no heap memory.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Words {
    One(u64),
    Many(Box<[u64]>),
}

impl Bitmap {
    /// Creates the bitmap of a segment of `packets` packets (at most 65535) with none received.
    pub fn none_received(packets: u16) -> Self {
        let mut bitmap = Self::zeroed(packets.div_ceil(8));
        for bit in u32::from(packets)..bitmap.len() {
            bitmap.mark_received(bit);
        }
        bitmap
    }

    fn zeroed(bytes: u16) -> Self {
        let words = if bytes <= 8 {
            Words::One(0)
        } else {
            Words::Many(vec![0; usize::from(bytes).div_ceil(8)].into())
        };
        Self { bytes, words }
    }

    /// Creates a bitmap from wire bytes; the first packet is the highest bit of the first byte. At most 8192 bytes are
    /// used.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let count = bytes.len().min(MAX_BYTES);
        let mut bitmap = Self::zeroed(count as u16);
        for (at, &byte) in bytes[..count].iter().enumerate() {
            for bit in 0..8 {
                if byte & (0x80 >> bit) != 0 {
                    bitmap.mark_received(at as u32 * 8 + bit);
                }
            }
        }
        bitmap
    }

    /// Returns the bytes of the wire format, in the order of [`from_bytes`](Self::from_bytes).
    pub fn to_bytes(&self) -> impl Iterator<Item = u8> + '_ {
        (0..u32::from(self.bytes)).map(|at| {
            (0..8).fold(0, |byte, bit| byte | (u8::from(self.is_received(at * 8 + bit)) * (0x80 >> bit)))
        })
    }

    /// Returns the number of bits: the packets of the segment, rounded up to whole bytes.
    pub fn len(&self) -> u32 {
        u32::from(self.bytes) * 8
    }

    /// Returns true if the bitmap has no bits.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    fn words(&self) -> &[u64] {
        match &self.words {
            Words::One(word) => core::slice::from_ref(word),
            Words::Many(words) => words,
        }
    }

    /// Returns true if a packet has been received; packets beyond the end count as received.
    #[inline]
    pub fn is_received(&self, packet: u32) -> bool {
        packet >= self.len() || self.words()[packet as usize / 64] & (1 << (packet % 64)) != 0
    }

    /// Marks a packet as received; returns true if it was missing.
    #[inline]
    pub fn mark_received(&mut self, packet: u32) -> bool {
        if packet >= self.len() {
            return false;
        }
        let word = match &mut self.words {
            Words::One(word) => word,
            Words::Many(words) => &mut words[packet as usize / 64],
        };
        let bit = 1 << (packet % 64);
        let was_missing = *word & bit == 0;
        *word |= bit;
        was_missing
    }

    /// Marks as missing the packets that are missing in `other`. Bits that only one bitmap has stay unchanged.
    pub fn mark_missing(&mut self, other: &Self) {
        for packet in other.missing_from(0) {
            self.clear_received(packet);
        }
    }

    fn clear_received(&mut self, packet: u32) {
        if packet >= self.len() {
            return;
        }
        let word = match &mut self.words {
            Words::One(word) => word,
            Words::Many(words) => &mut words[packet as usize / 64],
        };
        *word &= !(1 << (packet % 64));
    }

    /// Returns the number of missing packets.
    pub fn count_missing(&self) -> u32 {
        self.len() - self.words().iter().map(|word| word.count_ones()).sum::<u32>()
    }

    /// Returns the number of missing packets before `packet`.
    pub fn count_missing_before(&self, packet: u32) -> u32 {
        self.missing_from(0).take_while(|&missing| missing < packet).count() as u32
    }

    /// Returns the first missing packet from `start` on.
    #[inline]
    pub fn first_missing(&self, start: u32) -> Option<u32> {
        let mut at = start;
        while at < self.len() {
            let rest = !self.words()[at as usize / 64] >> (at % 64);
            if rest != 0 {
                return Some(at + rest.trailing_zeros()).filter(|&found| found < self.len());
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }

    /// Returns the missing packets from `start` on, in order.
    pub fn missing_from(&self, start: u32) -> impl Iterator<Item = u32> + '_ {
        let mut at = start;
        core::iter::from_fn(move || {
            let found = self.first_missing(at)?;
            at = found + 1;
            Some(found)
        })
    }
}

impl fmt::Debug for Bitmap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for packet in 0..self.len() {
            f.write_str(if self.is_received(packet) { "1" } else { "0" })?;
        }
        Ok(())
    }
}

/// Enough for 65535 packets.
const MAX_BYTES: usize = 8192;

#[cfg(test)]
mod tests {
    //! Checks that small and large bitmaps behave alike and survive encoding.
    use super::*;

    #[test]
    fn bits_beyond_the_segment_are_received() {
        for packets in [1, 7, 8, 9, 63, 64, 65, 200, u16::MAX] {
            let bitmap = Bitmap::none_received(packets);
            assert_eq!(bitmap.count_missing(), u32::from(packets));
            assert!(bitmap.is_received(u32::from(packets)) && !bitmap.is_received(u32::from(packets) - 1));
            assert_eq!(bitmap.len(), u32::from(packets).div_ceil(8) * 8);
        }
    }

    #[test]
    fn missing_packets_are_found_in_order() {
        let mut bitmap = Bitmap::none_received(130);
        for packet in (0..130).filter(|packet| ![3, 63, 64, 129].contains(packet)) {
            assert!(bitmap.mark_received(packet));
        }
        assert!(!bitmap.mark_received(5), "it was there");
        assert_eq!(bitmap.missing_from(0).collect::<Vec<_>>(), [3, 63, 64, 129]);
        assert_eq!(bitmap.missing_from(64).collect::<Vec<_>>(), [64, 129]);
        assert_eq!((bitmap.count_missing(), bitmap.count_missing_before(64)), (4, 2));
        let bytes: Vec<u8> = bitmap.to_bytes().collect();
        assert_eq!((bytes.len(), bytes[0], bytes[7], bytes[8], bytes[16]), (17, 0xef, 0xfe, 0x7f, 0xbf));
        assert_eq!(Bitmap::from_bytes(&bytes), bitmap);
    }

    #[test]
    fn losses_are_united() {
        let (mut one, mut other) = (Bitmap::none_received(10), Bitmap::none_received(10));
        (0..10).filter(|&packet| packet != 2).for_each(|packet| assert!(one.mark_received(packet)));
        (0..10).filter(|&packet| packet != 7).for_each(|packet| assert!(other.mark_received(packet)));
        one.mark_missing(&other);
        assert_eq!(one.missing_from(0).collect::<Vec<_>>(), [2, 7]);
    }
}
