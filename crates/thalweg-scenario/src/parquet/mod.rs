//! Lists in Parquet files, as the text of the same list in CSV.
//!
//! Accepts what pyarrow, pandas and polars write by default: flat columns of integers, floating-point numbers or text, in the
//! encodings PLAIN and dictionary, compressed with snappy, zstd or not at all. The library that writes results
//! allocates what a file declares and asserts what it should have, so that a damaged file ends the process; this reader
//! allocates only in proportion to what is there.
//!
//! Specification: Apache Parquet, <https://parquet.apache.org/docs/file-format/>.

mod arrow_schema;
mod column_pages;
mod file_metadata;
mod thrift_compact_protocol;

use super::list_columns::MAX_LIST_LENGTH;
use column_pages::Cell;
use file_metadata::{Metadata, Type};
use std::fmt::Write;

/// Maximum size of all pages, decompressed, in bytes.
const MAX_DECOMPRESSED: usize = 256 << 20;

/// Returns the columns whose name is `wanted` as CSV: a line with their names, and one for each row.
///
/// # Errors
///
/// What is wrong with the file, and what is expected; also if the text has more than `limit` bytes.
pub fn to_csv(file: &[u8], wanted: impl Fn(&str) -> bool, limit: usize) -> Result<String, String> {
    let metadata = Metadata::read(file, wanted)?;
    let columns = &metadata.columns;
    if columns.is_empty() {
        let names = metadata.names.iter().take(10).map(|name| format!("`{name}`")).collect::<Vec<_>>();
        return Err(format!(
            "its columns are {}: expected `start`, `from`, `to` and `size`, as of a CSV list",
            names.join(", ")
        ));
    }
    let spans = metadata.arrow.as_deref().map(arrow_schema::duration_columns).unwrap_or_default();
    for column in columns {
        let of = match &column.of {
            // The file's own types do not distinguish them from integers.
            _ if spans.contains(&column.name) => "time spans",
            Type::Other(name) => name,
            _ => continue,
        };
        return Err(format!(
            "the column `{}` has {of}: expected numbers (start in s, size in B) or text, such as \"10 ms\"",
            column.name
        ));
    }
    let rows = metadata.groups.iter().try_fold(0_usize, |sum, group| {
        sum.checked_add(usize::try_from(group.rows).ok()?).filter(|sum| *sum <= MAX_LIST_LENGTH)
    });
    if rows.is_none() {
        return Err(format!("it has more than {MAX_LIST_LENGTH} rows"));
    }
    let mut left = MAX_DECOMPRESSED;
    let mut table = vec![Vec::new(); columns.len()];
    for group in &metadata.groups {
        for ((column, chunk), cells) in columns.iter().zip(&group.chunks).zip(&mut table) {
            let fault = |fault: String| format!("the column `{}` {fault}", column.name);
            if chunk.is_elsewhere {
                return Err(fault("is encrypted or in another file: expected it in this one".to_owned()));
            }
            if chunk.values != group.rows {
                return Err(fault("is damaged".to_owned()));
            }
            column_pages::read_column(file, column, *chunk, &mut left, cells).map_err(fault)?;
        }
    }
    let mut text = columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(",");
    text.push('\n');
    for row in 0..table[0].len() {
        for (place, (column, cells)) in columns.iter().zip(&table).enumerate() {
            if place > 0 {
                text.push(',');
            }
            append_cell(&mut text, &cells[row]).map_err(|content| {
                format!(
                    "the column `{}` has {content:?} in row {}: expected no separator, quote, line break or `#`",
                    column.name,
                    row + 1
                )
            })?;
        }
        text.push('\n');
        if text.len() > limit {
            return Err(format!("as text it is larger than {} MiB", limit >> 20));
        }
    }
    Ok(text)
}

/// Appends a value; returns text that would end or hide it.
fn append_cell<'a>(text: &mut String, cell: &'a Cell) -> Result<(), &'a str> {
    let written = match cell {
        Cell::Signed(value) => write!(text, "{value}"),
        Cell::Unsigned(value) => write!(text, "{value}"),
        Cell::Float(value) => write!(text, "{value}"),
        Cell::Double(value) => write!(text, "{value}"),
        Cell::Text(content) if content.contains([',', ';', '\t', '"', '\n', '\r', '#']) => {
            return Err(content);
        }
        Cell::Text(content) => write!(text, "{content}"),
    };
    // Writing to a string cannot fail.
    written.map_err(|_| "")
}

#[cfg(test)]
mod tests {
    use super::super::list_columns::is_known;
    use super::to_csv;
    use std::fs;

    /// Every stored file cut after each byte, and with each byte changed: an error, or a table of at most its rows.
    #[test]
    fn damaged_files_do_no_harm() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/parquet");
        let (mut read, mut refused) = (0, 0);
        let mut check = |bytes: &[u8]| match to_csv(bytes, is_known, 1 << 20) {
            Ok(text) => {
                read += 1;
                assert!(text.len() <= (1 << 20) + 100);
            }
            Err(fault) => {
                refused += 1;
                assert!(!fault.is_empty());
            }
        };
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            // The large one takes a tenth of a second each time.
            if path.extension().is_none_or(|end| end != "parquet") || path.ends_with("bomb.parquet") {
                continue;
            }
            let mut file = fs::read(&path).unwrap();
            for place in 0..file.len() {
                check(&file[..place]);
                let before = file[place];
                for changed in [before ^ 0x81, before.wrapping_add(7)] {
                    file[place] = changed;
                    check(&file);
                }
                file[place] = before;
            }
        }
        assert!(read > 1000 && refused > 1000, "{read} read, {refused} refused");
    }
}
