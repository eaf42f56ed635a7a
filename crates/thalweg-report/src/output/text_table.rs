//! Text tables with aligned columns.

use super::number_format::{Style, wrap_text};
use std::collections::BTreeSet;

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Left, for names.
    Left,
    /// Right, for numbers.
    Right,
}

/// Table of a heading and rows, with two spaces between columns.
///
/// It stays within its style's line width. Texts are wrapped to save width; columns that still do not fit are placed
/// below the others, each time after the first column.
#[derive(Clone, Debug)]
pub struct Table {
    heads: Vec<Head>,
    rows: Vec<Vec<String>>,
    widest: usize,
}

/// Heading of a column.
#[derive(Clone, Debug)]
struct Head {
    text: String,
    /// Heading text used where the column does not follow its predecessor.
    alone: String,
    align: Align,
}

impl Table {
    /// Creates a table with these columns.
    pub fn new<const N: usize>(heads: [(&str, Align); N]) -> Self {
        Self::with_columns(heads)
    }

    /// Creates a table with any number of columns.
    pub fn with_columns<'a>(heads: impl IntoIterator<Item = (&'a str, Align)>) -> Self {
        let head =
            |(text, align): (&str, Align)| Head { text: text.to_owned(), alone: text.to_owned(), align };
        let heads = heads.into_iter().map(head).collect();
        Self { heads, rows: Vec::new(), widest: usize::MAX }
    }

    /// Shortens names in the first column to `widest` characters, unless some would become equal.
    #[must_use]
    pub fn first_column(mut self, widest: usize) -> Self {
        self.widest = widest;
        self
    }

    /// Sets the heading of column `column` for where it does not follow its predecessor.
    #[must_use]
    pub(super) fn alone(mut self, column: usize, text: String) -> Self {
        if let Some(head) = self.heads.get_mut(column) {
            head.alone = text;
        }
        self
    }

    /// Adds a row with a cell for each column; missing cells are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Formats the table as lines of text, each terminated.
    pub fn render(&self, style: Style) -> String {
        let heads: Vec<String> = self.heads.iter().map(|head| head.text.clone()).collect();
        let firsts: Vec<String> =
            self.rows.iter().filter_map(|row| row.first()).map(|name| style.clean(name)).collect();
        let widest = distinct_width(&firsts, self.widest, style);
        let clean = |row: &Vec<String>| -> Vec<String> {
            let cell = |(column, cell): (usize, &String)| {
                let widest = if column == 0 { widest } else { usize::MAX };
                shorten_cell(&style.clean(cell), widest, style)
            };
            row.iter().enumerate().map(cell).collect()
        };
        let rows: Vec<Vec<String>> = self.rows.iter().map(clean).collect();
        let width = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column)).chain([&heads[column]]);
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths = self.fit((0..heads.len()).map(width).collect(), style.columns);
        let rule = if style.unicode { "─" } else { "-" };
        let mut text = String::new();
        for block in self.blocks(&widths, style.columns) {
            if !text.is_empty() {
                text.push('\n');
            }
            let (mut heads, mut widths) = (heads.clone(), widths.clone());
            if let Some(&first) = block.get(1) {
                heads[first].clone_from(&self.heads[first].alone);
                let widest = style.columns.saturating_sub(widths[0] + COLUMN_GAP.len());
                widths[first] = widths[first].max(heads[first].chars().count().min(widest));
            }
            let rules: Vec<String> = widths.iter().map(|width| rule.repeat(*width)).collect();
            for line in self.lines(&heads, &widths, &block) {
                text.push_str(&style.bold(&line));
                text.push('\n');
            }
            for row in core::iter::once(&rules).chain(&rows) {
                for line in self.lines(row, &widths, &block) {
                    text.push_str(&line);
                    text.push('\n');
                }
            }
        }
        text
    }

    /// Reduces column widths to fit: names to half of the line, then texts, widest first, while they stay readable.
    /// Where that is not enough, texts get the full width beside the names.
    fn fit(&self, mut widths: Vec<usize>, columns: usize) -> Vec<usize> {
        let total = |widths: &[usize]| {
            widths.iter().sum::<usize>() + COLUMN_GAP.len() * widths.len().saturating_sub(1)
        };
        if total(&widths) <= columns {
            return widths;
        }
        if widths.len() > 1 {
            widths[0] = widths[0].min(columns / 2);
        } else if let [only] = widths.as_mut_slice() {
            *only = (*only).min(columns);
        }
        let room = columns.saturating_sub(widths.first().map_or(0, |first| first + COLUMN_GAP.len()));
        let texts = (1..widths.len()).filter(|&column| self.heads[column].align == Align::Left);
        let texts: Vec<usize> = texts.collect();
        for &column in &texts {
            widths[column] = widths[column].min(room);
        }
        let mut narrowed = widths.clone();
        while total(&narrowed) > columns {
            let widest = texts.iter().copied().max_by_key(|&column| narrowed[column]);
            let Some(widest) = widest.filter(|&column| narrowed[column] > MIN_TEXT_COLUMNS) else {
                return widths;
            };
            narrowed[widest] -= 1;
        }
        narrowed
    }

    /// Splits the columns into blocks, from the top down.
    fn blocks(&self, widths: &[usize], columns: usize) -> Vec<Vec<usize>> {
        let first = widths.first().copied().unwrap_or(0);
        let (mut blocks, mut block, mut room) = (Vec::new(), vec![0], columns.saturating_sub(first));
        for (column, width) in widths.iter().enumerate().skip(1) {
            if width + COLUMN_GAP.len() > room && block.len() > 1 {
                blocks.push(core::mem::replace(&mut block, vec![0]));
                room = columns.saturating_sub(first);
            }
            block.push(column);
            let widest = if block.len() == 2 {
                (*width).max(self.heads[column].alone.chars().count())
            } else {
                *width
            };
            room = room.saturating_sub(widest + COLUMN_GAP.len());
        }
        blocks.push(block);
        blocks
    }

    /// Formats a row in as many lines as its longest cell needs.
    fn lines(&self, cells: &[String], widths: &[usize], block: &[usize]) -> Vec<String> {
        let cell = |&column: &usize| {
            wrap_text(cells.get(column).map_or("", String::as_str), widths[column], widths[column])
        };
        let cells: Vec<Vec<String>> = block.iter().map(cell).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let line = |number: usize| {
            let mut line = String::new();
            for (&column, cell) in block.iter().zip(&cells) {
                let cell = cell.get(number).map_or("", String::as_str);
                let blanks = " ".repeat(widths[column].saturating_sub(cell.chars().count()));
                if column > 0 {
                    line.push_str(COLUMN_GAP);
                }
                match self.heads[column].align {
                    Align::Left => line.extend([cell, &blanks]),
                    Align::Right => line.extend([&blanks, cell]),
                }
            }
            line.truncate(line.trim_end().len());
            line
        };
        (0..height).map(line).collect()
    }
}

/// Text between columns.
const COLUMN_GAP: &str = "  ";
/// Minimum width to which texts are reduced to make room for other columns.
const MIN_TEXT_COLUMNS: usize = 24;

/// Shortens `text` to at most `widest` characters. The end is kept: it distinguishes `bulk.17` from `bulk.18`.
pub(super) fn shorten_cell(text: &str, widest: usize, style: Style) -> String {
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

/// Returns the width to which names may be shortened: `widest`, or unlimited where different names would become equal.
pub(super) fn distinct_width(names: &[String], widest: usize, style: Style) -> usize {
    let different: BTreeSet<&String> = names.iter().collect();
    let shown: BTreeSet<String> = different.iter().map(|name| shorten_cell(name, widest, style)).collect();
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
    fn columns_that_do_not_fit_form_a_second_block() {
        let heads = [("Flow", Align::Left), ("A", Align::Right), ("B", Align::Right), ("C", Align::Right)];
        let mut table = Table::new(heads);
        table.row(["one", "1", "22", "3"].map(str::to_owned));
        let expected = "\
Flow  A   B
----  -  --
one   1  22

Flow  C
----  -
one   3
";
        assert_eq!(table.render(Style { columns: 12, ..Style::PLAIN }), expected);
    }

    #[test]
    fn long_texts_are_wrapped_to_fit() {
        let heads = [("Name", Align::Left), ("It is", Align::Left), ("Of", Align::Left)];
        let mut table = Table::new(heads);
        let words = "a queue that serves first come first served and drops what finds no room";
        table.row(["fcfs", words, "nobody"].map(str::to_owned));
        table.row(["other", "short", "somebody"].map(str::to_owned));
        let expected = "\
Name   It is                     Of
-----  ------------------------  --------
fcfs   a queue that serves       nobody
       first come first served
       and drops what finds no
       room
other  short                     somebody
";
        assert_eq!(table.render(Style { columns: 41, ..Style::PLAIN }), expected);
    }

    #[test]
    fn nothing_is_wider_than_its_terminal() {
        let heads = [("Name", Align::Left), ("Text", Align::Left), ("A number of them", Align::Right)];
        let mut table = Table::new(heads);
        let long = "one-word-that-is-far-too-long-for-any-terminal-in-the-whole-wide-world-and-some-more";
        table.row([long, &format!("{long} and {long}"), "12.5 Mbit/s"].map(str::to_owned));
        for columns in 40..=100 {
            let text = table.render(Style { columns, ..Style::PLAIN });
            assert!(text.lines().all(|line| line.chars().count() <= columns), "{columns}\n{text}");
            let names = text.lines().skip(2).take_while(|line| !line.is_empty());
            let name: String = names.map(|line| line.get(..columns / 2).unwrap_or(line).trim()).collect();
            assert_eq!(name, long, "{text}");
            assert!(text.contains("12.5 Mbit/s"), "{text}");
        }
    }
}
