//! The pages of a column chunk: compression, missing values, encodings.

use super::file_metadata::{Chunk, Column, Type};
use super::thrift_compact_protocol::{MalformedThrift, ReadResult, Thrift, kind, varint};
use ruzstd::decoding::StreamingDecoder;
use std::borrow::Cow;
use std::io;
use std::sync::Arc;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A signed integer.
    Signed(i64),
    /// An unsigned integer.
    Unsigned(u64),
    /// A floating-point number of 32 bits.
    Float(f32),
    /// A floating-point number of 64 bits.
    Double(f64),
    /// Text, shared between the uses of an entry of a dictionary.
    Text(Arc<str>),
}

/// A failure to read the values of a column; what it says follows the column's name.
pub type Fault = String;

impl From<MalformedThrift> for Fault {
    fn from(_: MalformedThrift) -> Self {
        "is damaged".to_owned()
    }
}

/// A page's header.
#[derive(Debug, Default)]
struct Header {
    of: i64,
    decompressed: usize,
    stored: usize,
    values: usize,
    encoding: i64,
    /// Encoding of missing values, in version 1.
    levels: i64,
    /// Lengths of the levels of version 2, before the values and not compressed: repetition, definition.
    level_lengths: [usize; 2],
    is_compressed: bool,
}

/// Types of pages.
const DATA: i64 = 0;
const INDEX: i64 = 1;
const DICTIONARY: i64 = 2;
const DATA_V2: i64 = 3;

/// Encodings: values one after another; indices into the dictionary, by the old and the new number; runs.
const PLAIN_ENCODING: i64 = 0;
const PLAIN_DICTIONARY: i64 = 2;
const RUNS: i64 = 3;
const RUNS_OF_DICTIONARY: i64 = 8;

/// Appends the values of a chunk to `cells`. `left` is the number of bytes that may still be decompressed.
///
/// # Errors
///
/// [`Fault`]
pub fn read_column(
    file: &[u8],
    column: &Column,
    chunk: Chunk,
    left: &mut usize,
    cells: &mut Vec<Cell>,
) -> Result<(), Fault> {
    let end = cells.len() + usize::try_from(chunk.values).map_err(|_| MalformedThrift)?;
    // Some writers give 0 for a dictionary that is not there.
    let start = chunk.dictionary.filter(|at| (1..chunk.data).contains(at)).unwrap_or(chunk.data);
    let start = usize::try_from(start).map_err(|_| MalformedThrift)?;
    let length = usize::try_from(chunk.length).map_err(|_| MalformedThrift)?;
    let mut rest = file.get(start..).and_then(|rest| rest.get(..length)).ok_or(MalformedThrift)?;
    let mut dictionary: Option<Vec<Cell>> = None;
    while cells.len() < end {
        let mut thrift = Thrift::new(rest);
        let header = parse_page_header(&mut thrift)?;
        let stored;
        (stored, rest) = thrift.unread().split_at_checked(header.stored).ok_or(MalformedThrift)?;
        *left = left
            .checked_sub(header.decompressed.max(header.stored))
            .ok_or("has more data than a list of a million rows")?;
        if header.of == INDEX {
            continue;
        }
        let lengths = header.level_lengths;
        let split = lengths[0].checked_add(lengths[1]).ok_or(MalformedThrift)?;
        let (levels, values) = stored.split_at_checked(split).ok_or(MalformedThrift)?;
        let whole = header.decompressed.checked_sub(split).ok_or(MalformedThrift)?;
        let codec = if header.is_compressed { chunk.codec } else { 0 };
        let values = &decompress_page(codec, values, whole)?[..];
        if header.of == DICTIONARY {
            if header.encoding != PLAIN_ENCODING && header.encoding != PLAIN_DICTIONARY {
                return Err(wrong_encoding(header.encoding));
            }
            dictionary = Some(parse_plain_values(&column.of, values, header.values)?);
            continue;
        }
        if header.values > end - cells.len() {
            return Err(MalformedThrift.into());
        }
        let (levels, values) = match header.of {
            DATA_V2 => (&levels[lengths[0]..], values),
            DATA if column.is_optional && header.levels != RUNS => {
                return Err(wrong_encoding(header.levels));
            }
            DATA if column.is_optional => {
                let (length, rest) = values.split_first_chunk().ok_or(MalformedThrift)?;
                rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or(MalformedThrift)?
            }
            DATA => (&[][..], values),
            _ => return Err(MalformedThrift.into()),
        };
        if column.is_optional {
            let mut row = cells.len();
            parse_rle_runs(levels, 1, header.values, |level, count| {
                if level == 0 {
                    return Err(format!("has no value in row {}: expected one in each row", row + 1));
                }
                row += count;
                Ok(())
            })?;
        }
        match (header.encoding, &dictionary) {
            (PLAIN_ENCODING, _) => cells.append(&mut parse_plain_values(&column.of, values, header.values)?),
            (PLAIN_DICTIONARY | RUNS_OF_DICTIONARY, Some(dictionary)) => {
                let (width, indices) = values.split_first().ok_or(MalformedThrift)?;
                parse_rle_runs(indices, *width, header.values, |index, count| {
                    let value = dictionary.get(index as usize).ok_or(MalformedThrift)?;
                    cells.extend(std::iter::repeat_n(value, count).cloned());
                    Ok(())
                })?;
            }
            (PLAIN_DICTIONARY | RUNS_OF_DICTIONARY, None) => return Err(MalformedThrift.into()),
            (encoding, _) => return Err(wrong_encoding(encoding)),
        }
    }
    Ok(())
}

fn wrong_encoding(encoding: i64) -> Fault {
    let name = match encoding {
        RUNS => "RLE",
        4 => "BIT_PACKED",
        5 => "DELTA_BINARY_PACKED",
        6 => "DELTA_LENGTH_BYTE_ARRAY",
        7 => "DELTA_BYTE_ARRAY",
        9 => "BYTE_STREAM_SPLIT",
        _ => "of an unknown number",
    };
    format!(
        "has the encoding {name}: expected PLAIN or a dictionary, the defaults of pyarrow, pandas and polars"
    )
}

fn parse_page_header(thrift: &mut Thrift<'_>) -> ReadResult<Header> {
    let mut header = Header { is_compressed: true, ..Header::default() };
    thrift.structure(kind::STRUCT, |thrift, id, of| {
        match id {
            1 => header.of = thrift.integer(of)?,
            2 => header.decompressed = thrift.count(of)?,
            3 => header.stored = thrift.count(of)?,
            // The headers of data pages, of dictionaries, and of data pages of version 2.
            5 | 7 | 8 => thrift.structure(of, |thrift, field, of| {
                match (id, field) {
                    (_, 1) => header.values = thrift.count(of)?,
                    (5 | 7, 2) | (8, 4) => header.encoding = thrift.integer(of)?,
                    (5, 3) => header.levels = thrift.integer(of)?,
                    (8, 5) => header.level_lengths[1] = thrift.count(of)?,
                    (8, 6) => header.level_lengths[0] = thrift.count(of)?,
                    (8, 7) => {
                        header.is_compressed = of == kind::TRUE;
                        thrift.skip(of)?;
                    }
                    _ => thrift.skip(of)?,
                }
                Ok(())
            })?,
            _ => thrift.skip(of)?,
        }
        Ok(())
    })?;
    Ok(header)
}

/// Decompresses to exactly `length` bytes.
fn decompress_page(codec: i64, bytes: &[u8], length: usize) -> Result<Cow<'_, [u8]>, Fault> {
    let found = match codec {
        // Some writers compress no empty page.
        _ if length == 0 => Cow::default(),
        0 => bytes.into(),
        1 if snap::raw::decompress_len(bytes).is_ok_and(|found| found == length) => {
            snap::raw::Decoder::new().decompress_vec(bytes).map_err(|_| MalformedThrift)?.into()
        }
        6 => {
            let mut found = Vec::new();
            let frame = StreamingDecoder::new(bytes).map_err(|_| MalformedThrift)?;
            io::Read::read_to_end(&mut io::Read::take(frame, length as u64 + 1), &mut found)
                .map_err(|_| MalformedThrift)?;
            found.into()
        }
        1 => return Err(MalformedThrift.into()),
        _ => {
            let name = match codec {
                2 => "gzip",
                3 => "LZO",
                4 => "Brotli",
                5 | 7 => "LZ4",
                _ => "an unknown compression",
            };
            return Err(format!("is compressed with {name}: expected snappy, zstd or none"));
        }
    };
    if found.len() == length { Ok(found) } else { Err(MalformedThrift.into()) }
}

/// Parses the values of the encoding PLAIN.
fn parse_plain_values(of: &Type, mut rest: &[u8], count: usize) -> Result<Vec<Cell>, Fault> {
    // Each value has at least four bytes.
    if count > rest.len() / 4 {
        return Err(MalformedThrift.into());
    }
    let mut cells = Vec::with_capacity(count);
    for _ in 0..count {
        cells.push(match of {
            Type::Int32(false) => Cell::Signed(i64::from(i32::from_le_bytes(take_bytes(&mut rest)?))),
            Type::Int32(true) => Cell::Unsigned(u64::from(u32::from_le_bytes(take_bytes(&mut rest)?))),
            Type::Int64(false) => Cell::Signed(i64::from_le_bytes(take_bytes(&mut rest)?)),
            Type::Int64(true) => Cell::Unsigned(u64::from_le_bytes(take_bytes(&mut rest)?)),
            Type::Float => Cell::Float(f32::from_le_bytes(take_bytes(&mut rest)?)),
            Type::Double => Cell::Double(f64::from_le_bytes(take_bytes(&mut rest)?)),
            Type::Text => {
                let length = u32::from_le_bytes(take_bytes(&mut rest)?) as usize;
                let text;
                (text, rest) = rest.split_at_checked(length).ok_or(MalformedThrift)?;
                let text = std::str::from_utf8(text).map_err(|_| "has text that is not UTF-8")?;
                Cell::Text(text.into())
            }
            Type::Other(_) => return Err(MalformedThrift.into()),
        });
    }
    Ok(cells)
}

fn take_bytes<const N: usize>(rest: &mut &[u8]) -> ReadResult<[u8; N]> {
    let (taken, after) = rest.split_first_chunk().ok_or(MalformedThrift)?;
    *rest = after;
    Ok(*taken)
}

/// Parses `count` values of `width` bits in runs (the encoding RLE): `run` gets each value, and how often it repeats.
fn parse_rle_runs(
    mut rest: &[u8],
    width: u8,
    count: usize,
    mut run: impl FnMut(u32, usize) -> Result<(), Fault>,
) -> Result<(), Fault> {
    if width > 32 {
        return Err(MalformedThrift.into());
    }
    let mut left = count;
    while left > 0 {
        let head;
        (head, rest) = varint(rest).ok_or(MalformedThrift)?;
        let length = usize::try_from(head >> 1).map_err(|_| MalformedThrift)?;
        if head & 1 == 0 {
            let value;
            (value, rest) = rest.split_at_checked(usize::from(width.div_ceil(8))).ok_or(MalformedThrift)?;
            let value = value.iter().rev().fold(0, |sum, octet| sum << 8 | u32::from(*octet));
            if length == 0 {
                return Err(MalformedThrift.into());
            }
            run(value, length.min(left))?;
            left -= length.min(left);
            continue;
        }
        // Groups of eight values, from the lowest bit of each byte on.
        let bytes = length.checked_mul(usize::from(width)).ok_or(MalformedThrift)?;
        if length == 0 {
            return Err(MalformedThrift.into());
        }
        let packed;
        (packed, rest) = rest.split_at(bytes.min(rest.len()));
        let (mut bits, mut held) = (0_u64, 0);
        let mut octets = packed.iter();
        for _ in 0..length.saturating_mul(8).min(left) {
            while held < width {
                bits |= u64::from(*octets.next().ok_or(MalformedThrift)?) << held;
                held += 8;
            }
            run((bits & ((1 << width) - 1)) as u32, 1)?;
            bits >>= width;
            held -= width;
            left -= 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(bytes: &[u8], width: u8, count: usize) -> Result<Vec<u32>, Fault> {
        let mut values = Vec::new();
        parse_rle_runs(bytes, width, count, |value, times| {
            values.extend(std::iter::repeat_n(value, times));
            Ok(())
        })?;
        Ok(values)
    }

    /// The example of the specification, section Run Length Encoding / Bit-Packing Hybrid: 0 to 7 in three bits are
    /// `88 C6 FA`.
    #[test]
    fn runs_are_those_of_the_specification() {
        assert_eq!(unpacked(&[3, 0x88, 0xC6, 0xFA], 3, 8).unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(unpacked(&[3, 0x88, 0xC6, 0xFA, 6, 5], 3, 10).unwrap(), [0, 1, 2, 3, 4, 5, 6, 7, 5, 5]);
        assert_eq!(unpacked(&[8, 0x34, 0x12], 9, 4).unwrap(), [0x1234; 4]);
        assert_eq!(unpacked(&[6], 0, 3).unwrap(), [0; 3]);
        for (bytes, width) in [(&[0, 1][..], 1), (&[1], 1), (&[], 1), (&[3, 1], 3), (&[2, 1], 33), (&[4], 8)]
        {
            assert_eq!(unpacked(bytes, width, 8), Err("is damaged".to_owned()), "{bytes:?}");
        }
    }
}
