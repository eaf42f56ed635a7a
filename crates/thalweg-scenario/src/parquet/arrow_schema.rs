//! The schema of Arrow that pyarrow, pandas and polars add to Parquet's: it alone tells time spans from integers.
//!
//! Specification: Apache Arrow, `format/Schema.fbs` and `format/Message.fbs`, in FlatBuffers' binary format.

/// The number of the type of time spans in `Schema.fbs`.
const DURATION: u8 = 18;

/// Returns the names of the columns with time spans. What is not understood has none.
pub fn duration_columns(schema: &str) -> Vec<String> {
    let bytes = decode_base64(schema);
    // An encapsulated message: a continuation mark, its length, and the buffer.
    let buffer = bytes.strip_prefix(&[0xFF; 4]).unwrap_or(&bytes).get(4..).unwrap_or_default();
    parse_column_names(Buffer(buffer)).unwrap_or_default()
}

fn parse_column_names(buffer: Buffer<'_>) -> Option<Vec<String>> {
    // Message.header, Schema.fields; Field.name and Field.type_type.
    let schema = buffer.reference(buffer.field(buffer.reference(0)?, 2)?)?;
    let fields = buffer.reference(buffer.field(schema, 1)?)?;
    let count = buffer.number(fields)?;
    let mut found = Vec::new();
    for place in 0..count {
        let field = buffer.reference(fields.checked_add(4)?.checked_add(place.checked_mul(4)?)?)?;
        let is_duration = buffer.field(field, 2).and_then(|at| buffer.0.get(at)) == Some(&DURATION);
        if is_duration {
            let name = buffer.reference(buffer.field(field, 0)?)?;
            let text = buffer.0.get(name + 4..)?.get(..buffer.number(name)?)?;
            found.push(String::from_utf8_lossy(text).into_owned());
        }
    }
    Some(found)
}

/// A buffer of tables, vectors and texts that refer to each other by relative offsets.
#[derive(Clone, Copy)]
struct Buffer<'a>(&'a [u8]);

impl Buffer<'_> {
    fn number(self, at: usize) -> Option<usize> {
        let bytes = self.0.get(at..)?.first_chunk()?;
        usize::try_from(u32::from_le_bytes(*bytes)).ok()
    }

    fn small_number(self, at: usize) -> Option<usize> {
        let bytes = self.0.get(at..)?.first_chunk()?;
        Some(usize::from(u16::from_le_bytes(*bytes)))
    }

    /// Follows the reference at this place.
    fn reference(self, at: usize) -> Option<usize> {
        at.checked_add(self.number(at)?).filter(|to| *to < self.0.len())
    }

    /// Returns the place of a table's field, if the table has it.
    fn field(self, table: usize, id: usize) -> Option<usize> {
        let bytes = self.0.get(table..)?.first_chunk()?;
        let layout =
            usize::try_from(i64::try_from(table).ok()? - i64::from(i32::from_le_bytes(*bytes))).ok()?;
        let entry = 4 + 2 * id;
        if entry >= self.small_number(layout)? {
            return None;
        }
        let offset = self.small_number(layout.checked_add(entry)?)?;
        (offset > 0).then_some(table + offset)
    }
}

/// Decodes base64 up to the first byte that does not belong to it.
fn decode_base64(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0);
    for octet in text.bytes() {
        let value = match octet {
            b'A'..=b'Z' => octet - b'A',
            b'a'..=b'z' => octet - b'a' + 26,
            b'0'..=b'9' => octet - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => break,
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4648, section 10.
    #[test]
    fn base64_is_that_of_the_rfc() {
        for (text, bytes) in
            [("", ""), ("Zg==", "f"), ("Zm9v", "foo"), ("Zm9vYg==", "foob"), ("Zm9vYmFy", "foobar")]
        {
            assert_eq!(decode_base64(text), bytes.as_bytes());
        }
    }

    #[test]
    fn other_schemas_have_no_time_spans() {
        for text in ["", "////", "/////wAAAAA=", "/////xAAAAAQAAAA//////////8="] {
            assert!(duration_columns(text).is_empty(), "{text}");
        }
    }
}
