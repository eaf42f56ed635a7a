//! Numbers as text within a page: arrays of IEEE numbers, least significant byte first, in base64 (RFC 4648,
//! section 4).

/// `values` as 64-bit numbers in base64.
pub(super) fn doubles(values: &[f64]) -> String {
    base64(values.iter().flat_map(|value| value.to_le_bytes()), values.len() * 8)
}

/// `values` rounded to 32-bit numbers, in base64.
pub(super) fn singles(values: &[f64]) -> String {
    base64(values.iter().flat_map(|value| (*value as f32).to_le_bytes()), values.len() * 4)
}

fn base64(bytes: impl Iterator<Item = u8>, length: usize) -> String {
    let mut text = String::with_capacity(length.div_ceil(3) * 4);
    let mut group = 0u32;
    let mut held = 0;
    for byte in bytes {
        group = group << 8 | u32::from(byte);
        held += 1;
        if held == 3 {
            push(&mut text, group, 4);
            (group, held) = (0, 0);
        }
    }
    match held {
        1 => push(&mut text, group << 16, 2),
        2 => push(&mut text, group << 8, 3),
        _ => {}
    }
    text
}

/// Appends the first `digits` of the four of a group of 24 bits, and padding for the rest.
fn push(text: &mut String, group: u32, digits: u32) {
    for place in 0..4 {
        let digit = (group >> (18 - 6 * place) & 0x3f) as usize;
        text.push(if place < digits { char::from(ALPHABET[digit]) } else { '=' });
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The reverse, for tests.
#[cfg(test)]
pub(super) fn decode(text: &str) -> Vec<u8> {
    let digits = text.bytes().filter(|byte| *byte != b'=');
    let digits: Vec<u32> =
        digits.map(|byte| ALPHABET.iter().position(|of| *of == byte).unwrap() as u32).collect();
    let group = |digits: &[u32]| {
        let bits = digits.iter().fold(0, |bits, digit| bits << 6 | digit) << (6 * (4 - digits.len()));
        bits.to_be_bytes()[1..digits.len()].to_vec()
    };
    digits.chunks(4).flat_map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_vectors_of_rfc_4648() {
        let vectors = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        for (length, expected) in vectors.iter().enumerate() {
            let bytes = &b"foobar"[..length];
            assert_eq!(base64(bytes.iter().copied(), length), *expected);
            assert_eq!(decode(expected), bytes);
        }
    }

    proptest! {
        #[test]
        fn numbers_come_back(values: Vec<f64>) {
            let eight = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().unwrap());
            let back: Vec<u64> = decode(&doubles(&values)).chunks(8).map(|bytes| eight(bytes).to_bits()).collect();
            prop_assert_eq!(back, values.iter().map(|value| value.to_bits()).collect::<Vec<_>>());
            let four = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().unwrap());
            let back: Vec<f32> = decode(&singles(&values)).chunks(4).map(four).collect();
            for (back, value) in back.iter().zip(&values) {
                prop_assert!(*back == *value as f32 || value.is_nan());
            }
            prop_assert_eq!(back.len(), values.len());
        }
    }
}
