//! Indented JSON, written in large pieces.

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use std::io::{self, BufWriter, Write};

/// Bytes per write to the output. Smaller pieces cost more system calls, larger ones leave the processor's cache.
const PIECE: usize = 1 << 16;

/// Writes `value` as JSON, byte for byte like [`serde_json::to_writer_pretty`], with a final newline.
///
/// # Errors
///
/// The I/O errors of `out`.
pub(super) fn write_indented(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(PIECE, out);
    value.serialize(&mut Serializer::with_formatter(&mut out, Indented::default()))?;
    out.write_all(b"\n")?;
    out.flush()
}

/// End of a value that another one follows, and the indentation of that one.
const NEXT: &[u8; 2 + 2 * MAX_DEPTH] = &{
    let mut text = [b' '; 2 + 2 * MAX_DEPTH];
    (text[0], text[1]) = (b',', b'\n');
    text
};
/// Maximum depth that is indented by one write. A document has 7.
const MAX_DEPTH: usize = 16;

/// Layout of [`serde_json::ser::PrettyFormatter`], which writes the indentation of each level on its own: in a document
/// of many flows this is every third write.
#[derive(Debug, Default)]
struct Indented {
    depth: usize,
    /// False within an array or object that is empty so far.
    has_value: bool,
}

impl Indented {
    fn begin<W: ?Sized + Write>(&mut self, out: &mut W, bracket: u8) -> io::Result<()> {
        self.depth += 1;
        self.has_value = false;
        out.write_all(&[bracket])
    }

    fn end<W: ?Sized + Write>(&mut self, out: &mut W, bracket: u8) -> io::Result<()> {
        self.depth -= 1;
        if self.has_value {
            self.next_line(out, true)?;
        }
        out.write_all(&[bracket])
    }

    /// Writes a line end with the indentation, after a comma unless `is_first`.
    fn next_line<W: ?Sized + Write>(&self, out: &mut W, is_first: bool) -> io::Result<()> {
        let levels = self.depth.min(MAX_DEPTH);
        out.write_all(&NEXT[usize::from(is_first)..2 + 2 * levels])?;
        (levels..self.depth).try_for_each(|_| out.write_all(b"  "))
    }
}

impl Formatter for Indented {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b'[')
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b']')
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        self.next_line(out, is_first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _out: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b'{')
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b'}')
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        self.next_line(out, is_first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _out: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn indented(value: &Value) -> String {
        let mut out = Vec::new();
        write_indented(value, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let plain = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,6}".prop_map(Value::from),
        ];
        plain.prop_recursive(6, 64, 4, |of| {
            prop_oneof![
                prop::collection::vec(of.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((".{0,6}", of), 0..4)
                    .prop_map(|of| Value::Object(of.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_layout_is_that_of_serde_json(value in any_value()) {
            prop_assert_eq!(indented(&value), serde_json::to_string_pretty(&value).unwrap() + "\n");
        }
    }

    /// Values deeper than any document has, and than one write indents.
    #[test]
    fn deep_values_are_indented() {
        let nest = |of: Value, depth: usize| {
            if depth.is_multiple_of(2) { serde_json::json!([of, 1]) } else { serde_json::json!({ "a": of }) }
        };
        let value = (0..MAX_DEPTH + 5).fold(serde_json::json!([]), nest);
        assert_eq!(indented(&value), serde_json::to_string_pretty(&value).unwrap() + "\n");
    }
}
