//! A table of text with aligned columns.

use super::text::Style;
use std::collections::BTreeSet;

/// The side on which a column's text stands.
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
    heads: Vec<Head>,
    rows: Vec<Vec<String>>,
    widest: usize,
    within: usize,
}

/// The heading of a column.
#[derive(Clone, Debug)]
struct Head {
    text: String,
    /// The heading's text where it does not stand beside the column before it.
    alone: String,
    align: Align,
}

impl Table {
    /// A table with these columns.
    pub fn new<const N: usize>(heads: [(&str, Align); N]) -> Self {
        Self::with_columns(heads)
    }

    /// A table with columns of which there may be any number.
    pub fn with_columns<'a>(heads: impl IntoIterator<Item = (&'a str, Align)>) -> Self {
        let head =
            |(text, align): (&str, Align)| Head { text: text.to_owned(), alone: text.to_owned(), align };
        let heads = heads.into_iter().map(head).collect();
        Self { heads, rows: Vec::new(), widest: usize::MAX, within: usize::MAX }
    }

    /// Names in the first column are shortened to `widest` characters, unless some would read the same.
    #[must_use]
    pub fn first_column(mut self, widest: usize) -> Self {
        self.widest = widest;
        self
    }

    /// Columns that find no room in `within` characters stand below the others, each time with the first column before
    /// them.
    #[must_use]
    pub fn within(mut self, within: usize) -> Self {
        self.within = within;
        self
    }

    /// The heading of the column `column` says this where it does not stand beside the column before it.
    #[must_use]
    pub(super) fn alone(mut self, column: usize, text: String) -> Self {
        if let Some(head) = self.heads.get_mut(column) {
            head.alone = text;
        }
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
        let heads: Vec<String> = self.heads.iter().map(|head| head.text.clone()).collect();
        let firsts: Vec<String> =
            self.rows.iter().filter_map(|row| row.first()).map(|name| style.clean(name)).collect();
        let widest = telling(&firsts, self.widest, style);
        let clean = |row: &Vec<String>| -> Vec<String> {
            let cell = |(column, cell): (usize, &String)| {
                let widest = if column == 0 { widest } else { usize::MAX };
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
        let mut text = String::new();
        for block in self.blocks(&widths) {
            if !text.is_empty() {
                text.push('\n');
            }
            let (mut heads, mut widths) = (heads.clone(), widths.clone());
            if let Some(&first) = block.get(1) {
                heads[first].clone_from(&self.heads[first].alone);
                widths[first] = widths[first].max(heads[first].chars().count());
            }
            let rules: Vec<String> = widths.iter().map(|width| rule.repeat(*width)).collect();
            text.push_str(&style.bold(&self.line(&heads, &widths, &block)));
            text.push('\n');
            for row in core::iter::once(&rules).chain(&rows) {
                text.push_str(&self.line(row, &widths, &block));
                text.push('\n');
            }
        }
        text
    }

    /// The columns that stand side by side, from the top down.
    fn blocks(&self, widths: &[usize]) -> Vec<Vec<usize>> {
        let first = widths.first().copied().unwrap_or(0);
        let (mut blocks, mut block, mut room) = (Vec::new(), vec![0], self.within.saturating_sub(first));
        for (column, width) in widths.iter().enumerate().skip(1) {
            if width + GAP.len() > room && block.len() > 1 {
                blocks.push(core::mem::replace(&mut block, vec![0]));
                room = self.within.saturating_sub(first);
            }
            block.push(column);
            let widest = if block.len() == 2 {
                (*width).max(self.heads[column].alone.chars().count())
            } else {
                *width
            };
            room = room.saturating_sub(widest + GAP.len());
        }
        blocks.push(block);
        blocks
    }

    fn line(&self, cells: &[String], widths: &[usize], block: &[usize]) -> String {
        let mut line = String::new();
        for &column in block {
            let cell = cells.get(column).map_or("", String::as_str);
            let blanks = " ".repeat(widths[column] - cell.chars().count());
            if column > 0 {
                line.push_str(GAP);
            }
            match self.heads[column].align {
                Align::Left => line.extend([cell, &blanks]),
                Align::Right => line.extend([&blanks, cell]),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// The text between columns.
const GAP: &str = "  ";

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

/// The width to which names may be shortened: `widest`, or any where some that differ would read the same.
pub(super) fn telling(names: &[String], widest: usize, style: Style) -> usize {
    let different: BTreeSet<&String> = names.iter().collect();
    let shown: BTreeSet<String> = different.iter().map(|name| shorten(name, widest, style)).collect();
    if shown.len() == different.len() { widest } else { usize::MAX }
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

    #[test]
    fn names_that_are_shortened_still_differ() {
        let names = [
            "a-long-name-of-a-group, cubic:prr=yes",
            "a-long-name-of-a-group, cubic:ecn=yes",
            "other, vegas",
        ];
        let mut table = Table::new([("Group, scheme", Align::Left)]).first_column(12);
        names.iter().for_each(|name| table.row([(*name).to_owned()]));
        let shown = table.render(Style::PLAIN);
        let expected = "\
Group, scheme
-------------------------------------
a-long-name-of-a-group, cubic:prr=yes
a-long-name-of-a-group, cubic:ecn=yes
other, vegas
";
        assert_eq!(shown, expected);
    }

    #[test]
    fn columns_without_room_stand_below_with_their_names() {
        let heads = [("Flow", Align::Left), ("A", Align::Right), ("B", Align::Right), ("C", Align::Right)];
        let mut table = Table::new(heads).within(12);
        table.row(["one", "1", "22", "3"].map(str::to_owned));
        let expected = "\
Flow  A   B
----  -  --
one   1  22

Flow  C
----  -
one   3
";
        assert_eq!(table.render(Style::PLAIN), expected);
    }
}
