//! Lists and traffic matrices: maximum length, and names of the columns with their synonyms.

/// Maximum number of elements of a list.
pub const MAX_LIST_LENGTH: usize = 1 << 20;

/// Start of a transfer.
pub const START: &[&str] = &["start", "time", "at", "start_time"];
/// Source node.
pub const FROM: &[&str] = &["from", "src", "source", "origin"];
/// Sink node.
pub const TO: &[&str] = &["to", "dst", "sink", "target", "destination"];
/// Size of a transfer.
pub const SIZE: &[&str] = &["size", "bytes", "length"];
/// Rate of a demand.
pub const RATE: &[&str] = &["rate", "demand", "value", "traffic"];

/// Splits a line at separators outside quotation marks, trims the cells and removes their quotation marks.
pub fn split_cells(line: &str, is_separator: impl Fn(char) -> bool) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    let ends_cell = move |c: char| {
        is_quoted ^= c == '"';
        !is_quoted && is_separator(c)
    };
    line.split(ends_cell).map(|cell| {
        let cell = cell.trim();
        cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).unwrap_or(cell)
    })
}

/// Returns the reason for rejecting a row with more cells than columns, except empty ones at its end, which
/// spreadsheets write. A number grouped by separators would otherwise lose all but its first group.
pub fn surplus_cells_reason(cells: &[&str], columns: usize, names: &[&str]) -> Option<String> {
    let found = cells.iter().rposition(|cell| !cell.is_empty()).map_or(0, |last| last + 1);
    (found > columns).then(|| {
        let names = match names.len() == columns {
            true => format!(" ({})", names.join(", ")),
            false => " as in the first line".to_owned(),
        };
        format!(
            "expected {columns} columns{names}, found {found}: a number like 2,000,000 has to be written 2000000 or in \
             quotation marks"
        )
    })
}

/// Returns a number without the commas between its groups of three digits, as in `2,000,000`; `None` for other texts.
pub fn remove_digit_grouping(text: &str) -> Option<String> {
    let (first, rest) = text.split_once(',')?;
    let is_group = |group: &str, lengths: core::ops::RangeInclusive<usize>| {
        lengths.contains(&group.len()) && group.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_grouped = is_group(first, 1..=3) && rest.split(',').all(|group| is_group(group, 3..=3));
    is_grouped.then(|| text.replace(',', ""))
}

/// Returns true for a column of a list or a matrix, in upper or lower case.
pub fn is_known(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase();
    [START, FROM, TO, SIZE, RATE].iter().any(|names| names.contains(&name.as_str()))
}
