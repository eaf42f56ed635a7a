//! The metadata of a Parquet file: its columns, and where their values are.

use super::thrift_compact_protocol::{MalformedThrift, ReadResult, Thrift, kind};

/// Maximum length of the metadata, in bytes. Those of a million rows have some kilobytes.
const MAX_METADATA: usize = 4 << 20;

/// Maximum number of columns with a wanted name.
const MAX_COLUMNS: usize = 32;

/// The mark at the start and the end of a file.
const MARK: &[u8] = b"PAR1";

/// The meaning of a column's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// Integers of 32 bits; unsigned if true.
    Int32(bool),
    /// Integers of 64 bits; unsigned if true.
    Int64(bool),
    /// Floating-point numbers of 32 bits.
    Float,
    /// Floating-point numbers of 64 bits.
    Double,
    /// Text in UTF-8.
    Text,
    /// Values that are neither numbers nor text, by their name.
    Other(String),
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Type of the values.
    pub of: Type,
    /// Values can be missing.
    pub is_optional: bool,
    /// Index among the column chunks of each row group.
    pub index: usize,
}

/// The values of a column in a row group.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chunk {
    /// Compression, by the number of the codec.
    pub codec: i64,
    /// Number of values, with missing ones.
    pub values: i64,
    /// Offset of the first data page.
    pub data: i64,
    /// Offset of the page with the dictionary.
    pub dictionary: Option<i64>,
    /// Length of all pages, in bytes.
    pub length: i64,
    /// The values are in another file, or encrypted.
    pub is_elsewhere: bool,
}

/// A horizontal part of the table.
#[derive(Clone, Debug, Default)]
pub struct RowGroup {
    /// Number of rows.
    pub rows: i64,
    /// The wanted columns' values, in the order of the columns.
    pub chunks: Vec<Chunk>,
}

/// The metadata of a file.
#[derive(Clone, Debug, Default)]
pub struct Metadata {
    /// Columns with a wanted name.
    pub columns: Vec<Column>,
    /// The names of all columns.
    pub names: Vec<String>,
    /// Row groups.
    pub groups: Vec<RowGroup>,
    /// The schema of Arrow, in base64, from writers that use it.
    pub arrow: Option<String>,
}

impl Metadata {
    /// Reads the metadata of a file, and keeps the columns whose name is `wanted`.
    ///
    /// # Errors
    ///
    /// What is wrong with the file.
    pub fn read(file: &[u8], wanted: impl Fn(&str) -> bool) -> Result<Self, String> {
        let bytes = metadata_bytes(file)?;
        // The schema comes first, but the protocol does not demand it.
        let mut nodes = Vec::new();
        let mut found = Self::default();
        let read = Thrift::new(bytes).structure(kind::STRUCT, |thrift, id, of| match id {
            2 => thrift.list(of, |thrift, of| parse_schema_node(thrift, of).map(|node| nodes.push(node))),
            5 => thrift.list(of, |thrift, of| key_value(thrift, of, &mut found.arrow)),
            _ => thrift.skip(of),
        });
        read.and_then(|()| found.add_columns(nodes, wanted))
            .and_then(|()| found.add_groups(bytes))
            .map_err(|MalformedThrift| "its metadata are damaged".to_owned())?;
        Ok(found)
    }

    fn add_columns(&mut self, nodes: Vec<Node>, wanted: impl Fn(&str) -> bool) -> ReadResult<()> {
        let mut nodes = nodes.into_iter();
        let root = nodes.next().ok_or(MalformedThrift)?;
        // The number of nodes to come at each level: the children of the root, and of the groups in which we are.
        let mut open = vec![root.children];
        let mut index = 0;
        for node in nodes {
            while open.last() == Some(&0) {
                open.pop();
            }
            *open.last_mut().ok_or(MalformedThrift)? -= 1;
            if open.len() == 1 {
                if wanted(&node.name) {
                    if self.columns.len() == MAX_COLUMNS {
                        return Err(MalformedThrift);
                    }
                    self.columns.push(Column {
                        of: node.column_type(),
                        is_optional: node.repetition == Some(1),
                        name: node.name.clone(),
                        index,
                    });
                }
                self.names.push(node.name);
            }
            if node.children == 0 {
                index += 1;
            } else {
                open.push(node.children);
            }
        }
        if open.iter().any(|left| *left > 0) { Err(MalformedThrift) } else { Ok(()) }
    }

    fn add_groups(&mut self, bytes: &[u8]) -> ReadResult<()> {
        let Self { columns, groups, .. } = self;
        Thrift::new(bytes).structure(kind::STRUCT, |thrift, id, of| match id {
            4 => thrift.list(of, |thrift, of| row_group(thrift, of, columns).map(|group| groups.push(group))),
            _ => thrift.skip(of),
        })
    }
}

/// Returns the bytes of the metadata, at the end of the file.
fn metadata_bytes(file: &[u8]) -> Result<&[u8], String> {
    let no_parquet = || "it is not a Parquet file: it has no `PAR1` at its start and its end".to_owned();
    if file.ends_with(b"PARE") {
        return Err("it is encrypted: expected a Parquet file without encryption".to_owned());
    }
    let inner = file.strip_prefix(MARK).and_then(|rest| rest.strip_suffix(MARK)).ok_or_else(no_parquet)?;
    let (rest, length) = inner.split_last_chunk().ok_or_else(no_parquet)?;
    let length = u32::from_le_bytes(*length) as usize;
    if length > MAX_METADATA {
        return Err(format!("its metadata have {length} B: expected at most {} MiB", MAX_METADATA >> 20));
    }
    let start = rest.len().checked_sub(length);
    start.map(|start| &rest[start..]).ok_or_else(|| "it is not complete: its metadata are cut".to_owned())
}

/// A node of the schema: a column, or a group of nested ones.
#[derive(Debug, Default)]
struct Node {
    name: String,
    physical: Option<i64>,
    repetition: Option<i64>,
    children: usize,
    converted: Option<i64>,
    logical: Option<LogicalType>,
}

/// A logical type: its field in the union, and the sign of an integer.
#[derive(Clone, Copy, Debug, Default)]
struct LogicalType {
    field: i16,
    is_signed: bool,
}

impl Node {
    /// Returns the type of a column. Legacy converted types apply where there is no logical type.
    fn column_type(&self) -> Type {
        let other = |name: &str| Type::Other(name.to_owned());
        if self.children > 0 {
            return other("nested values");
        }
        if self.repetition == Some(2) {
            return other("lists");
        }
        let meaning = match (self.logical, self.converted) {
            (Some(logical), _) => match logical.field {
                1 => ValueMeaning::Text,
                10 if logical.is_signed => ValueMeaning::Plain,
                10 => ValueMeaning::Unsigned,
                5 => ValueMeaning::Other("decimals"),
                6 => ValueMeaning::Other("dates"),
                7 => ValueMeaning::Other("times of day"),
                8 => ValueMeaning::Other("timestamps"),
                15 => ValueMeaning::Other("16-bit floating-point numbers"),
                11 => ValueMeaning::Other("nulls"),
                _ => ValueMeaning::Other("values of another logical type"),
            },
            (None, Some(converted)) => match converted {
                0 => ValueMeaning::Text,
                11..=14 => ValueMeaning::Unsigned,
                15..=18 => ValueMeaning::Plain,
                5 => ValueMeaning::Other("decimals"),
                6 => ValueMeaning::Other("dates"),
                7 | 8 => ValueMeaning::Other("times of day"),
                9 | 10 => ValueMeaning::Other("timestamps"),
                _ => ValueMeaning::Other("values of another converted type"),
            },
            (None, None) => ValueMeaning::Plain,
        };
        match (self.physical, meaning) {
            (_, ValueMeaning::Other(name)) => other(name),
            (Some(1), ValueMeaning::Plain) => Type::Int32(false),
            (Some(1), ValueMeaning::Unsigned) => Type::Int32(true),
            (Some(2), ValueMeaning::Plain) => Type::Int64(false),
            (Some(2), ValueMeaning::Unsigned) => Type::Int64(true),
            (Some(4), ValueMeaning::Plain) => Type::Float,
            (Some(5), ValueMeaning::Plain) => Type::Double,
            (Some(6), ValueMeaning::Text) => Type::Text,
            (Some(0), _) => other("booleans"),
            (Some(6 | 7), _) => other("bytes"),
            (Some(3), _) => other("timestamps"),
            _ => other("values of an unknown type"),
        }
    }
}

/// Meaning of values, by a logical or converted type.
enum ValueMeaning {
    Plain,
    Unsigned,
    Text,
    Other(&'static str),
}

fn parse_schema_node(thrift: &mut Thrift<'_>, of: u8) -> ReadResult<Node> {
    let mut node = Node::default();
    thrift.structure(of, |thrift, id, of| {
        match id {
            1 => node.physical = Some(thrift.integer(of)?),
            3 => node.repetition = Some(thrift.integer(of)?),
            4 => node.name = String::from_utf8_lossy(thrift.binary(of)?).into_owned(),
            5 => node.children = thrift.count(of)?,
            6 => node.converted = Some(thrift.integer(of)?),
            10 => node.logical = Some(parse_logical_type(thrift, of)?),
            _ => thrift.skip(of)?,
        }
        Ok(())
    })?;
    Ok(node)
}

fn parse_logical_type(thrift: &mut Thrift<'_>, of: u8) -> ReadResult<LogicalType> {
    let mut found = LogicalType { field: 0, is_signed: true };
    thrift.structure(of, |thrift, field, of| {
        found.field = field;
        thrift.structure(of, |thrift, id, of| {
            if (field, id) == (10, 2) {
                found.is_signed = of == kind::TRUE;
            }
            thrift.skip(of)
        })
    })?;
    Ok(found)
}

fn key_value(thrift: &mut Thrift<'_>, of: u8, arrow: &mut Option<String>) -> ReadResult<()> {
    let (mut key, mut value) = (&[][..], &[][..]);
    thrift.structure(of, |thrift, id, of| {
        match id {
            1 => key = thrift.binary(of)?,
            2 => value = thrift.binary(of)?,
            _ => thrift.skip(of)?,
        }
        Ok(())
    })?;
    if key == b"ARROW:schema" {
        *arrow = Some(String::from_utf8_lossy(value).into_owned());
    }
    Ok(())
}

fn row_group(thrift: &mut Thrift<'_>, of: u8, columns: &[Column]) -> ReadResult<RowGroup> {
    let mut group = RowGroup { rows: 0, chunks: vec![Chunk::default(); columns.len()] };
    let mut count = 0;
    thrift.structure(of, |thrift, id, of| match id {
        1 => thrift.list(of, |thrift, of| {
            let chunk = parse_column_chunk(thrift, of)?;
            if let Some(place) = columns.iter().position(|column| column.index == count) {
                group.chunks[place] = chunk;
            }
            count += 1;
            Ok(())
        }),
        3 => thrift.integer(of).map(|rows| group.rows = rows),
        _ => thrift.skip(of),
    })?;
    if columns.iter().any(|column| column.index >= count) {
        return Err(MalformedThrift);
    }
    Ok(group)
}

fn parse_column_chunk(thrift: &mut Thrift<'_>, of: u8) -> ReadResult<Chunk> {
    let mut chunk = Chunk::default();
    thrift.structure(of, |thrift, id, of| match id {
        1 | 8 => {
            chunk.is_elsewhere = true;
            thrift.skip(of)
        }
        3 => thrift.structure(of, |thrift, id, of| {
            match id {
                4 => chunk.codec = thrift.integer(of)?,
                5 => chunk.values = thrift.integer(of)?,
                7 => chunk.length = thrift.integer(of)?,
                9 => chunk.data = thrift.integer(of)?,
                11 => chunk.dictionary = Some(thrift.integer(of)?),
                _ => thrift.skip(of)?,
            }
            Ok(())
        }),
        _ => thrift.skip(of),
    })?;
    Ok(chunk)
}
