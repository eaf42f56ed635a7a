//! A table of text with aligned columns.

use super::text::Style;

/// Where a column's text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Names.
    Left,
    /// Numbers.
    Right,
}

/// A table: a heading, then rows, with two blanks between columns.
#[derive(Clone, Debug)]
pub struct Table {
    heads: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
    widest: usize,
}

impl Table {
    /// A table with these columns.
    pub fn new<const N: usize>(heads: [(&str, Align); N]) -> Self {
        Self::with_columns(heads)
    }

    /// A table with columns of which there may be any number.
    pub fn with_columns<'a>(heads: impl IntoIterator<Item = (&'a str, Align)>) -> Self {
        let heads = heads.into_iter().map(|(head, align)| (head.to_owned(), align)).collect();
        Self { heads, rows: Vec::new(), widest: usize::MAX }
    }

    /// Names in the first column are shortened to `widest` characters.
    #[must_use]
    pub fn first_column(mut self, widest: usize) -> Self {
        self.widest = widest;
        self
    }

    /// Adds a column if it is wanted.
    #[must_use]
    pub fn column_if(mut self, wanted: bool, head: &str, align: Align) -> Self {
        self.heads.extend(wanted.then(|| (head.to_owned(), align)));
        self
    }

    /// Adds a row: a cell for each column; missing ones are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as lines of text, each ended.
    pub fn render(&self, style: Style) -> String {
        let heads: Vec<String> = self.heads.iter().map(|(head, _)| head.clone()).collect();
        let clean = |row: &Vec<String>| -> Vec<String> {
            let cell = |(column, cell): (usize, &String)| {
                let widest = if column == 0 { self.widest } else { usize::MAX };
                shorten(&style.clean(cell), widest, style)
            };
            row.iter().enumerate().map(cell).collect()
        };
        let rows: Vec<Vec<String>> = self.rows.iter().map(clean).collect();
        let width = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column)).chain([&heads[column]]);
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..heads.len()).map(width).collect();
        let rule = if style.unicode { "─" } else { "-" };
        let rules: Vec<String> = widths.iter().map(|width| rule.repeat(*width)).collect();
        let mut text = style.bold(&self.line(&heads, &widths));
        text.push('\n');
        for row in core::iter::once(&rules).chain(&rows) {
            text.push_str(&self.line(row, &widths));
            text.push('\n');
        }
        text
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for (column, (width, (_, align))) in widths.iter().zip(&self.heads).enumerate() {
            let cell = cells.get(column).map_or("", String::as_str);
            let blanks = " ".repeat(width - cell.chars().count());
            if column > 0 {
                line.push_str("  ");
            }
            match align {
                Align::Left => line.extend([cell, &blanks]),
                Align::Right => line.extend([&blanks, cell]),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// `text` in at most `widest` characters. The end is kept: it is what tells `bulk.17` from `bulk.18`.
pub(super) fn shorten(text: &str, widest: usize, style: Style) -> String {
    let length = text.chars().count();
    if length <= widest {
        return text.to_owned();
    }
    let mark = if style.unicode { "…" } else { "~" };
    let kept = widest.saturating_sub(1);
    let (start, end) = (kept - kept / 3, kept / 3);
    let head: String = text.chars().take(start).collect();
    let tail: String = text.chars().skip(length - end).collect();
    format!("{head}{mark}{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_long_names_keep_their_end() {
        let mut table = Table::new([("Flow", Align::Left), ("Goodput", Align::Right)]).first_column(10);
        table.row(["a".to_owned(), "95.23 Mbit/s".to_owned()]);
        table.row(["a-very-long-name.17".to_owned(), "1 bit/s".to_owned()]);
        let expected = "\
Flow             Goodput
----------  ------------
a           95.23 Mbit/s
a-very~.17       1 bit/s
";
        assert_eq!(table.render(Style::PLAIN), expected);
    }
}
