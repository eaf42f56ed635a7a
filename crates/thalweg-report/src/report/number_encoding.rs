//! Compact encoding of numbers as text within a page, in base64 (RFC 4648, section 4).
//!
//! Neighbouring values of a series are close to each other, and most series are counts, such as packets or bytes per
//! interval. Numbers are therefore written as delta-encoded multiples of a step, or as indices into a table of the
//! distinct numbers, each in as few bytes as it needs.

use serde::Serialize;
use std::collections::BTreeMap;

/// Array of numbers within a page. The text holds integers in groups of seven bits, lowest first; the highest bit of a
/// byte is set in all groups but the last. They are:
///
/// - with a `table`, indices into it;
/// - otherwise, for numbers `first + step * k`, the differences d between successive k, beginning with 0, as 2 d for d
///   >= 0 and as -2 d - 1 below;
/// - with a step of zero, 64-bit numbers instead (IEEE 754), least significant byte first.
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
    /// Encodes the numbers in the shortest form. Integers and series with few distinct values are lossless, unless that
    /// would more than double the page; other values lose less than a millionth of the span between the smallest and
    /// the largest.
    pub(super) fn from_values(values: &[f64]) -> Self {
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
        let integers = values.iter().all(|value| value.fract() == 0.0 && value.abs() <= MAX_EXACT_INTEGER);
        let exact = if integers { Some(Self::integers(values)) } else { None };
        if let Some(exact) = exact.as_ref().filter(|exact| exact.is_short()) {
            return exact.clone();
        }
        let exact = [exact, Self::encode_with_table(values)].into_iter().flatten().min_by_key(Self::size);
        if let Some(exact) = exact.as_ref().filter(|exact| exact.is_short()) {
            return exact.clone();
        }
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let span = values.iter().copied().fold(f64::NEG_INFINITY, f64::max) - low;
        // A span that is zero, subnormal or infinite cannot define a step: use a step of one.
        let step = Some(span / PRECISION).filter(|step| step.is_normal()).unwrap_or(1.0);
        let rounded = Self::encode_steps(values, step);
        exact.filter(|exact| exact.size() <= 2 * rounded.size()).unwrap_or(rounded)
    }

    /// Encodes integers; lossless below 2^52.
    pub(super) fn integers(values: &[f64]) -> Self {
        Self::encode_steps(values, common_step(values))
    }

    /// Returns true at about one byte per number.
    fn is_short(&self) -> bool {
        self.size() <= self.count * 3 / 2 + 64
    }

    fn encode_steps(values: &[f64], step: f64) -> Self {
        let first = values.first().copied().unwrap_or(0.0);
        let mut bytes = Vec::with_capacity(values.len() * 2);
        let mut before = 0i64;
        for value in values {
            let steps = ((value - first) / step).round() as i64;
            let difference = steps - before;
            before = steps;
            // Zigzag encoding: the sign goes to the lowest bit, and small differences stay small numbers.
            append_varint(&mut bytes, (difference << 1 ^ difference >> 63).cast_unsigned());
        }
        Self { first, step, count: values.len(), table: Vec::new(), text: base64(&bytes) }
    }

    /// Encodes with a table if there are few distinct numbers. Frequent ones get the lowest indices.
    fn encode_with_table(values: &[f64]) -> Option<Self> {
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
            append_varint(&mut bytes, places.get(&value.to_bits()).map_or(0, |place| *place as u64));
        }
        let table = order.iter().map(|(bits, _)| f64::from_bits(*bits)).collect();
        Some(Self { first: 0.0, step: 1.0, count: values.len(), table, text: base64(&bytes) })
    }

    /// Returns the approximate size of the numbers within a page, in bytes.
    pub(super) fn size(&self) -> usize {
        self.text.len() + self.table.len() * NUMBER_BYTES
    }

    /// Decodes the numbers.
    #[cfg(test)]
    pub(super) fn values(&self) -> Vec<f64> {
        let bytes = decode_base64(&self.text);
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

/// Appends a number in groups of seven bits.
fn append_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Returns the greatest number that divides all differences from the first value; one where all are equal.
fn common_step(values: &[f64]) -> f64 {
    let first = values.first().copied().unwrap_or(0.0);
    let mut step = 0u64;
    for value in values {
        // Integers below 2^53 have integer differences below 2^54.
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

/// Largest integer up to which differences are integers and exact.
const MAX_EXACT_INTEGER: f64 = 4_503_599_627_370_496.0;

/// Number of steps in the span of a series of non-integers.
const PRECISION: f64 = 1_048_576.0;

/// Maximum table length; a longer table gains nothing.
const LONGEST_TABLE: usize = 1000;

/// Size of a number in a table, in bytes.
const NUMBER_BYTES: usize = 18;

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

/// Decodes base64 text.
#[cfg(test)]
fn decode_base64(text: &str) -> Vec<u8> {
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
            assert_eq!(decode_base64(expected), bytes);
        }
    }

    #[test]
    fn regular_series_take_a_byte_per_value() {
        let times: Vec<f64> = (0..3000).map(|index| f64::from(index) * 3e9).collect();
        let numbers = Numbers::from_values(&times);
        assert_eq!((numbers.step, numbers.size()), (3e9, 4000));
        assert_eq!(numbers.values(), times);
        // 10 000 bytes in 3 ms, in bit/s, and so on.
        let rates: Vec<f64> =
            [10_000.0, 13_000.0, 7000.0].repeat(100).iter().map(|bytes| bytes * 8000.0 / 3.0).collect();
        assert_eq!(Numbers::from_values(&rates).table.len(), 3);
        assert_eq!(
            (Numbers::from_values(&rates).text.len(), Numbers::from_values(&rates).values()),
            (400, rates)
        );
    }

    #[test]
    fn constants_and_nothing_have_a_form() {
        for values in [vec![], vec![0.0], vec![0.25], vec![0.1; 7], vec![f64::NAN, f64::INFINITY, 1.0, -0.0]]
        {
            let back: Vec<u64> =
                Numbers::from_values(&values).values().iter().map(|value| value.to_bits()).collect();
            assert_eq!(back, values.iter().map(|value| value.to_bits()).collect::<Vec<_>>());
        }
    }

    proptest! {
        #[test]
        fn integers_round_trip_exactly(values in prop::collection::vec(-1_000_000i64..=1_000_000, 0..50)) {
            let values: Vec<f64> = values.iter().map(|value| *value as f64).collect();
            prop_assert_eq!(Numbers::from_values(&values).values(), values);
        }

        #[test]
        fn fractions_round_trip_to_a_millionth(values in prop::collection::vec(-1e9f64..1e9, 0..50)) {
            let back = Numbers::from_values(&values).values();
            prop_assert_eq!(back.len(), values.len());
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            for (back, value) in back.iter().zip(&values) {
                prop_assert!((back - value).abs() <= (high - low) * 1e-6);
            }
        }

        #[test]
        fn times_round_trip(steps in prop::collection::vec(0u64..1_000_000_000_000, 0..50)) {
            let mut time = 0u64;
            let times: Vec<f64> = steps.iter().map(|step| { time += step; time as f64 }).collect();
            let numbers = Numbers::integers(&times);
            prop_assert_eq!(numbers.values(), times);
        }
    }
}
