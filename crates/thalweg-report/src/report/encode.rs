//! Numbers as text within a page: few bytes, in base64 (RFC 4648, section 4).
//!
//! Neighbours in a series are close to each other, and most series are counts of something: so many packets, so many
//! bytes in an interval. Numbers are therefore written as multiples of a step, of which only the differences are
//! stored, or by their places in a table of the numbers that there are, each in as few bytes as it needs.

use serde::Serialize;
use std::collections::BTreeMap;

/// An array of numbers within a page. The text has whole numbers in groups of seven bits, lowest first; all groups but the
/// last of each have the highest bit of their byte set. What they mean:
///
/// - with a `table`, the places of the numbers in it;
/// - otherwise the numbers are `first + step * k`, and the text has the differences d between one k and the next,
///   beginning with 0, as 2 d for d >= 0 and as -2 d - 1 below;
/// - with a step of zero, the text has 64-bit numbers instead (IEEE 754), least significant byte first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Numbers {
    first: f64,
    step: f64,
    count: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    table: Vec<f64>,
    text: String,
}

impl Numbers {
    /// The numbers in the shortest form. Nothing is lost of whole numbers and of those of which there are few different
    /// ones, unless the page would get more than twice as long by it; of others what is less than a millionth of the span
    /// between the smallest and the largest.
    pub(super) fn of(values: &[f64]) -> Self {
        if values.iter().any(|value| !value.is_finite()) {
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            return Self {
                first: 0.0,
                step: 0.0,
                count: values.len(),
                table: Vec::new(),
                text: base64(&bytes),
            };
        }
        let whole = values.iter().all(|value| value.fract() == 0.0 && value.abs() <= LARGEST_WHOLE);
        let exact = if whole { Some(Self::whole(values)) } else { None };
        if let Some(exact) = exact.as_ref().filter(|exact| exact.is_short()) {
            return exact.clone();
        }
        let exact = [exact, Self::listed(values)].into_iter().flatten().min_by_key(Self::size);
        if let Some(exact) = exact.as_ref().filter(|exact| exact.is_short()) {
            return exact.clone();
        }
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let span = values.iter().copied().fold(f64::NEG_INFINITY, f64::max) - low;
        // A span that is no normal number, or a single value, is stored as a whole number of itself.
        let step = Some(span / PRECISION).filter(|step| step.is_normal()).unwrap_or(1.0);
        let rounded = Self::stepped(values, step);
        exact.filter(|exact| exact.size() <= 2 * rounded.size()).unwrap_or(rounded)
    }

    /// Whole numbers, with nothing lost of those below 2^52.
    pub(super) fn whole(values: &[f64]) -> Self {
        Self::stepped(values, common_step(values))
    }

    /// A byte for each number, nearly.
    fn is_short(&self) -> bool {
        self.size() <= self.count * 3 / 2 + 64
    }

    fn stepped(values: &[f64], step: f64) -> Self {
        let first = values.first().copied().unwrap_or(0.0);
        let mut bytes = Vec::with_capacity(values.len() * 2);
        let mut before = 0i64;
        for value in values {
            let steps = ((value - first) / step).round() as i64;
            let difference = steps - before;
            before = steps;
            // The sign goes to the lowest bit, so that small differences are small numbers.
            push(&mut bytes, (difference << 1 ^ difference >> 63).cast_unsigned());
        }
        Self { first, step, count: values.len(), table: Vec::new(), text: base64(&bytes) }
    }

    /// With a table, if there are few different numbers. Frequent ones have the first places.
    fn listed(values: &[f64]) -> Option<Self> {
        let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
        for value in values {
            *counts.entry(value.to_bits()).or_default() += 1;
            if counts.len() > LONGEST_TABLE {
                return None;
            }
        }
        let mut order: Vec<(u64, usize)> = counts.iter().map(|(bits, count)| (*bits, *count)).collect();
        order.sort_by_key(|(bits, count)| (core::cmp::Reverse(*count), *bits));
        let places = &mut counts;
        for (place, (bits, _)) in order.iter().enumerate() {
            places.insert(*bits, place);
        }
        let mut bytes = Vec::with_capacity(values.len());
        for value in values {
            push(&mut bytes, places.get(&value.to_bits()).map_or(0, |place| *place as u64));
        }
        let table = order.iter().map(|(bits, _)| f64::from_bits(*bits)).collect();
        Some(Self { first: 0.0, step: 1.0, count: values.len(), table, text: base64(&bytes) })
    }

    /// The size of the numbers within a page, in bytes, or nearly so.
    pub(super) fn size(&self) -> usize {
        self.text.len() + self.table.len() * DIGITS
    }

    /// The reverse, for tests.
    #[cfg(test)]
    pub(super) fn values(&self) -> Vec<f64> {
        let bytes = decode(&self.text);
        if self.step == 0.0 {
            return bytes.chunks(8).map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap())).collect();
        }
        let (mut values, mut steps, mut group, mut shift) = (Vec::new(), 0i64, 0u64, 0);
        for byte in bytes {
            group |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                steps += (group >> 1).cast_signed() ^ -(group & 1).cast_signed();
                let listed = self.table.get(group as usize).copied();
                values.push(listed.unwrap_or(self.first + self.step * steps as f64));
                (group, shift) = (0, 0);
            }
        }
        assert_eq!(values.len(), self.count);
        values
    }
}

/// Adds a number in groups of seven bits.
fn push(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The greatest number of which all differences from the first are multiples; one where all are the same.
fn common_step(values: &[f64]) -> f64 {
    let first = values.first().copied().unwrap_or(0.0);
    let mut step = 0u64;
    for value in values {
        // Whole numbers below 2^53 have whole differences below 2^54.
        let mut rest = (value - first).abs() as u64;
        while rest != 0 {
            (step, rest) = (rest, step % rest);
        }
        if step == 1 {
            break;
        }
    }
    step.max(1) as f64
}

/// Differences of whole numbers up to here are whole and exact.
const LARGEST_WHOLE: f64 = 4_503_599_627_370_496.0;

/// Steps in the span of a series that is not of whole numbers.
const PRECISION: f64 = 1_048_576.0;

/// A table that is longer gains nothing.
const LONGEST_TABLE: usize = 1000;

/// Bytes of a number in a table.
const DIGITS: usize = 18;

fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let held =
            group.iter().fold(0u32, |held, byte| held << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let digit = (held >> (18 - 6 * place) & 0x3f) as usize;
            text.push(if place <= group.len() { char::from(ALPHABET[digit]) } else { '=' });
        }
    }
    text
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The reverse, for tests.
#[cfg(test)]
fn decode(text: &str) -> Vec<u8> {
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
            assert_eq!(base64(bytes), *expected);
            assert_eq!(decode(expected), bytes);
        }
    }

    #[test]
    fn what_is_regular_takes_a_byte() {
        let times: Vec<f64> = (0..3000).map(|index| f64::from(index) * 3e9).collect();
        let numbers = Numbers::of(&times);
        assert_eq!((numbers.step, numbers.size()), (3e9, 4000));
        assert_eq!(numbers.values(), times);
        // 10 000 bytes in 3 ms, in bit/s, and so on.
        let rates: Vec<f64> =
            [10_000.0, 13_000.0, 7000.0].repeat(100).iter().map(|bytes| bytes * 8000.0 / 3.0).collect();
        assert_eq!(Numbers::of(&rates).table.len(), 3);
        assert_eq!((Numbers::of(&rates).text.len(), Numbers::of(&rates).values()), (400, rates));
    }

    #[test]
    fn constants_and_nothing_have_a_form() {
        for values in [vec![], vec![0.0], vec![0.25], vec![0.1; 7], vec![f64::NAN, f64::INFINITY, 1.0, -0.0]]
        {
            let back: Vec<u64> = Numbers::of(&values).values().iter().map(|value| value.to_bits()).collect();
            assert_eq!(back, values.iter().map(|value| value.to_bits()).collect::<Vec<_>>());
        }
    }

    proptest! {
        #[test]
        fn whole_numbers_come_back(values in prop::collection::vec(-1_000_000i64..=1_000_000, 0..50)) {
            let values: Vec<f64> = values.iter().map(|value| *value as f64).collect();
            prop_assert_eq!(Numbers::of(&values).values(), values);
        }

        #[test]
        fn others_come_back_to_a_millionth(values in prop::collection::vec(-1e9f64..1e9, 0..50)) {
            let back = Numbers::of(&values).values();
            prop_assert_eq!(back.len(), values.len());
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            for (back, value) in back.iter().zip(&values) {
                prop_assert!((back - value).abs() <= (high - low) * 1e-6);
            }
        }

        #[test]
        fn times_come_back(steps in prop::collection::vec(0u64..1_000_000_000_000, 0..50)) {
            let mut time = 0u64;
            let times: Vec<f64> = steps.iter().map(|step| { time += step; time as f64 }).collect();
            let numbers = Numbers::whole(&times);
            prop_assert_eq!(numbers.values(), times);
        }
    }
}
