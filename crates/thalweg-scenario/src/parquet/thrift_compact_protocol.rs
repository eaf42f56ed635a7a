//! Thrift's compact protocol, as far as Parquet's metadata need it.
//!
//! Specification: Apache Thrift, `doc/specs/thrift-compact-protocol.md`.

/// Maximum nesting of structures and lists. Parquet's metadata need seven levels.
const MAX_DEPTH: u8 = 16;

/// The type of a value, as in the headers of fields and lists.
pub mod kind {
    /// Boolean true; in lists, any boolean.
    pub const TRUE: u8 = 1;
    /// Boolean false.
    pub const FALSE: u8 = 2;
    /// Integer of 8 bits.
    pub const BYTE: u8 = 3;
    /// Integer of 16 bits.
    pub const I16: u8 = 4;
    /// Integer of 32 bits.
    pub const I32: u8 = 5;
    /// Integer of 64 bits.
    pub const I64: u8 = 6;
    /// Floating-point number of 64 bits.
    pub const DOUBLE: u8 = 7;
    /// Bytes or text.
    pub const BINARY: u8 = 8;
    /// List.
    pub const LIST: u8 = 9;
    /// Set.
    pub const SET: u8 = 10;
    /// Map.
    pub const MAP: u8 = 11;
    /// Structure.
    pub const STRUCT: u8 = 12;
    /// Identifier of 16 bytes.
    pub const UUID: u8 = 13;
}

/// A malformed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedThrift;

/// A result of reading.
pub type ReadResult<T> = Result<T, MalformedThrift>;

/// A reader of values.
#[derive(Debug)]
pub struct Thrift<'a> {
    unread: &'a [u8],
    depth: u8,
}

impl<'a> Thrift<'a> {
    /// Creates a reader.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { unread: bytes, depth: 0 }
    }

    /// Returns what is not read yet.
    pub const fn unread(&self) -> &'a [u8] {
        self.unread
    }

    fn take(&mut self, length: usize) -> ReadResult<&'a [u8]> {
        let (taken, rest) = self.unread.split_at_checked(length).ok_or(MalformedThrift)?;
        self.unread = rest;
        Ok(taken)
    }

    fn octet(&mut self) -> ReadResult<u8> {
        self.take(1).map(|taken| taken[0])
    }

    fn varint(&mut self) -> ReadResult<u64> {
        let (value, rest) = varint(self.unread).ok_or(MalformedThrift)?;
        self.unread = rest;
        Ok(value)
    }

    fn zigzag(&mut self) -> ReadResult<i64> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// Reads an integer of this type.
    pub fn integer(&mut self, of: u8) -> ReadResult<i64> {
        match of {
            kind::BYTE => Ok(i64::from(self.octet()?.cast_signed())),
            kind::I16 | kind::I32 | kind::I64 => self.zigzag(),
            _ => Err(MalformedThrift),
        }
    }

    /// Reads an integer of this type that counts something: from 0 to 2^31.
    pub fn count(&mut self, of: u8) -> ReadResult<usize> {
        let value = self.integer(of)?;
        usize::try_from(value).ok().filter(|value| *value <= 1 << 31).ok_or(MalformedThrift)
    }

    /// Reads bytes of this type.
    pub fn binary(&mut self, of: u8) -> ReadResult<&'a [u8]> {
        if of != kind::BINARY {
            return Err(MalformedThrift);
        }
        let length = self.varint()?;
        self.take(usize::try_from(length).map_err(|_| MalformedThrift)?)
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> ReadResult<T>) -> ReadResult<T> {
        if self.depth == MAX_DEPTH {
            return Err(MalformedThrift);
        }
        self.depth += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    /// Reads a structure of this type: `field` gets the identifier and type of each field, and reads or skips it. The
    /// value of a boolean is its type.
    pub fn structure(
        &mut self,
        of: u8,
        mut field: impl FnMut(&mut Self, i16, u8) -> ReadResult<()>,
    ) -> ReadResult<()> {
        if of != kind::STRUCT {
            return Err(MalformedThrift);
        }
        self.nested(|thrift| {
            let mut id = 0_i16;
            loop {
                let head = thrift.octet()?;
                if head == 0 {
                    return Ok(());
                }
                id = match head >> 4 {
                    0 => i16::try_from(thrift.zigzag()?).map_err(|_| MalformedThrift)?,
                    step => id.checked_add(i16::from(step)).ok_or(MalformedThrift)?,
                };
                field(thrift, id, head & 15)?;
            }
        })
    }

    /// Reads a list of this type: `element` reads each element by its type.
    pub fn list(
        &mut self,
        of: u8,
        mut element: impl FnMut(&mut Self, u8) -> ReadResult<()>,
    ) -> ReadResult<()> {
        if of != kind::LIST && of != kind::SET {
            return Err(MalformedThrift);
        }
        self.nested(|thrift| {
            let head = thrift.octet()?;
            let count = if head >> 4 == 15 { thrift.varint()? } else { u64::from(head >> 4) };
            // Each element has at least a byte.
            if count > thrift.unread.len() as u64 {
                return Err(MalformedThrift);
            }
            (0..count).try_for_each(|_| element(thrift, head & 15))
        })
    }

    /// Skips the value of a field.
    pub fn skip(&mut self, of: u8) -> ReadResult<()> {
        match of {
            kind::TRUE | kind::FALSE => Ok(()),
            _ => self.skip_element(of),
        }
    }

    /// Skips a value of a list, where booleans have a byte.
    fn skip_element(&mut self, of: u8) -> ReadResult<()> {
        match of {
            kind::TRUE | kind::FALSE | kind::BYTE => self.take(1).map(|_| ()),
            kind::I16 | kind::I32 | kind::I64 => self.varint().map(|_| ()),
            kind::DOUBLE => self.take(8).map(|_| ()),
            kind::BINARY => self.binary(of).map(|_| ()),
            kind::LIST | kind::SET => self.list(of, Self::skip_element),
            kind::MAP => self.nested(|thrift| {
                let count = thrift.varint()?;
                if count == 0 {
                    return Ok(());
                }
                let kinds = thrift.octet()?;
                if count > thrift.unread.len() as u64 {
                    return Err(MalformedThrift);
                }
                (0..count).try_for_each(|_| {
                    thrift.skip_element(kinds >> 4)?;
                    thrift.skip_element(kinds & 15)
                })
            }),
            kind::STRUCT => self.structure(of, |thrift, _, of| thrift.skip(of)),
            kind::UUID => self.take(16).map(|_| ()),
            _ => Err(MalformedThrift),
        }
    }
}

/// Parses an unsigned LEB128 number; returns it with what follows.
pub fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (place, octet) in bytes.iter().take(10).enumerate() {
        let bits = u64::from(octet & 127);
        if place == 9 && bits > 1 {
            return None;
        }
        value |= bits << (7 * place);
        if octet & 128 == 0 {
            return Some((value, &bytes[place + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the specification: 50399 is `DF 89 03`, and zigzag maps 0, -1, 1, -2 to 0, 1, 2, 3.
    #[test]
    fn numbers_are_those_of_the_specification() {
        assert_eq!(varint(&[0xDF, 0x89, 0x03, 7]), Some((50399, &[7][..])));
        let mut thrift = Thrift::new(&[0, 1, 2, 3]);
        let read: Vec<i64> = (0..4).map(|_| thrift.integer(kind::I32).unwrap()).collect();
        assert_eq!(read, [0, -1, 1, -2]);
        assert_eq!(varint(&[0x80; 11]), None);
        assert_eq!(varint(&[0xFF; 9]), None);
    }

    /// A field of each type is skipped, and the one after them is read.
    #[test]
    fn unknown_fields_are_skipped() {
        let bytes = [
            0x11, // true
            0x13, 9, // byte
            0x17, 0, 0, 0, 0, 0, 0, 0, 0, // double
            0x18, 2, b'a', b'b', // binary
            0x19, 0x21, 1, 2, // list of booleans
            0x1B, 1, 0x86, 1, b'x', 6, // map of a text and an integer
            0x1C, 0x15, 4, 0, // structure
            0x15, 14, // integer
            0, 99,
        ];
        let mut found = Vec::new();
        let mut thrift = Thrift::new(&bytes);
        let read = thrift.structure(kind::STRUCT, |thrift, id, of| {
            if id == 8 {
                found.push(thrift.integer(of)?);
                return Ok(());
            }
            thrift.skip(of)
        });
        assert_eq!((read, found, thrift.unread()), (Ok(()), vec![7], &[99][..]));
    }

    /// Nesting and declared lengths are bounded by what follows.
    #[test]
    fn hostile_lengths_are_refused() {
        let nested = [0x1C; 1000];
        let lists = [[0x19].as_slice(), &[0x19; 1000]].concat();
        let long = [0x19, 0xF5, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F];
        let binary = [0x18, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 1];
        for bytes in [&nested[..], &lists, &long, &binary, &[]] {
            let mut thrift = Thrift::new(bytes);
            let read = thrift.structure(kind::STRUCT, |thrift, _, of| thrift.skip(of));
            assert_eq!(read, Err(MalformedThrift));
        }
    }
}
