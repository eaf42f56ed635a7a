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
/// It stays within its style's table width. Where it does not fit, names are shortened as little as needed, and texts are
/// wrapped; columns that still do not fit are placed below the others, each time after the first column.
#[derive(Clone, Debug)]
pub struct Table {
    heads: Vec<Head>,
    rows: Vec<Vec<String>>,
}

/// Heading of a column.
#[derive(Clone, Debug)]
struct Head {
    text: String,
    /// Heading text used where the column does not follow its predecessor.
    alone: String,
    align: Align,
    /// Width to which names in the column may be shortened; `None` for a column of whole cells.
    min_width: Option<usize>,
}

impl Table {
    /// Creates a table with these columns.
    pub fn new<const N: usize>(heads: [(&str, Align); N]) -> Self {
        Self::with_columns(heads)
    }

    /// Creates a table with any number of columns.
    pub fn with_columns<'a>(heads: impl IntoIterator<Item = (&'a str, Align)>) -> Self {
        let head = |(text, align): (&str, Align)| Head {
            text: text.to_owned(),
            alone: text.to_owned(),
            align,
            min_width: None,
        };
        Self { heads: heads.into_iter().map(head).collect(), rows: Vec::new() }
    }

    /// Permits the table to shorten the heading and the names of column `column`, down to `min_width` characters, if
    /// it does not fit otherwise. Different names stay different.
    #[must_use]
    pub fn shortened(mut self, column: usize, min_width: usize) -> Self {
        if let Some(head) = self.heads.get_mut(column) {
            head.min_width = Some(min_width);
        }
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
        let clean = |row: &Vec<String>| -> Vec<String> { row.iter().map(|cell| style.clean(cell)).collect() };
        let mut heads: Vec<String> = self.heads.iter().map(|head| head.text.clone()).collect();
        let mut rows: Vec<Vec<String>> = self.rows.iter().map(clean).collect();
        for (column, width) in self.name_widths(&heads, &rows, style) {
            let cells = rows.iter_mut().filter_map(|row| row.get_mut(column)).chain([&mut heads[column]]);
            cells.for_each(|cell| *cell = shorten_cell(cell, width, style));
        }
        let columns = style.table_columns;
        let widths = self.fit(natural_widths(&heads, &rows), style);
        let rule = if style.unicode { "─" } else { "-" };
        let mut text = String::new();
        for block in self.blocks(&widths, columns) {
            if !text.is_empty() {
                text.push('\n');
            }
            let (mut heads, mut widths) = (heads.clone(), widths.clone());
            if let Some(&first) = block.get(1) {
                heads[first].clone_from(&self.heads[first].alone);
                let widest = columns.saturating_sub(widths[0] + COLUMN_GAP.len());
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

    /// Returns the columns in which names are shortened, and their widths: the largest ones with which the table fits, has
    /// the fewest blocks, and wraps the fewest columns of names.
    fn name_widths(&self, heads: &[String], rows: &[Vec<String>], style: Style) -> Vec<(usize, usize)> {
        let columns = style.table_columns;
        let whole = natural_widths(heads, rows);
        if line_width(&whole) <= columns {
            return Vec::new();
        }
        // Widths that keep different names different, by column, largest first.
        let mut choices: Vec<(usize, Vec<usize>)> = Vec::new();
        for (column, head) in self.heads.iter().enumerate() {
            let Some(min_width) = head.min_width else { continue };
            let names: BTreeSet<&String> = rows.iter().filter_map(|row| row.get(column)).collect();
            let is_distinct = |width: &usize| {
                let shown = names.iter().map(|name| shorten_cell(name, *width, style));
                shown.collect::<BTreeSet<String>>().len() == names.len()
            };
            let narrower = (min_width..whole[column].min(columns.saturating_add(1))).rev();
            choices.push((column, narrower.filter(is_distinct).collect()));
        }
        let cost = |widths: &[usize]| {
            let fitted = self.fit(widths.to_vec(), style);
            let wrapped = choices.iter().filter(|(column, _)| fitted[*column] < widths[*column]).count();
            let blocks = self.blocks(&fitted, columns);
            let width =
                |block: &Vec<usize>| line_width(&block.iter().map(|&of| fitted[of]).collect::<Vec<_>>());
            // A block has one column beside the names, however wide.
            let excess = blocks.iter().map(width).max().unwrap_or(0).saturating_sub(columns);
            (excess, blocks.len(), wrapped)
        };
        let mut narrowest = whole.clone();
        for (column, widths) in &choices {
            narrowest[*column] = widths.last().copied().unwrap_or(whole[*column]);
        }
        let least = cost(&narrowest);
        let mut widths = whole.clone();
        while cost(&widths) > least {
            let narrower = |(column, choices): &(usize, Vec<usize>)| {
                let width = choices.iter().copied().find(|width| *width < widths[*column])?;
                Some((*column, width))
            };
            let widest = choices.iter().filter_map(narrower).max_by_key(|&(column, _)| widths[column]);
            let Some((column, width)) = widest else { break };
            widths[column] = width;
        }
        let is_shorter = |&(column, width): &(usize, usize)| width < whole[column];
        widths.into_iter().enumerate().filter(is_shorter).collect()
    }

    /// Reduces column widths to fit: names to half of the line, then texts, widest first, while they stay readable.
    /// Where that is not enough, texts get the full width beside the names.
    fn fit(&self, mut widths: Vec<usize>, style: Style) -> Vec<usize> {
        let columns = style.table_columns;
        let text_columns = style.columns.min(columns);
        if line_width(&widths) <= text_columns {
            return widths;
        }
        let texts = (1..widths.len()).filter(|&column| self.heads[column].align == Align::Left);
        let texts: Vec<usize> = texts.collect();
        if line_width(&widths) > columns {
            if widths.len() > 1 {
                widths[0] = widths[0].min(columns / 2);
            } else if let [only] = widths.as_mut_slice() {
                *only = (*only).min(columns);
            }
            let room = columns.saturating_sub(widths.first().map_or(0, |first| first + COLUMN_GAP.len()));
            for &column in &texts {
                widths[column] = widths[column].min(room);
            }
        }
        // Texts are read more easily in short lines, also where the table may be wider.
        let narrowed = |columns: usize| {
            let mut narrowed = widths.clone();
            while line_width(&narrowed) > columns {
                let whole = texts.iter().copied().filter(|&column| self.heads[column].min_width.is_none());
                let widest = whole.max_by_key(|&column| narrowed[column])?;
                if narrowed[widest] <= MIN_TEXT_COLUMNS {
                    return None;
                }
                narrowed[widest] -= 1;
            }
            Some(narrowed)
        };
        [text_columns, columns].into_iter().find_map(narrowed).unwrap_or(widths)
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

/// Returns the widths of whole columns.
fn natural_widths(heads: &[String], rows: &[Vec<String>]) -> Vec<usize> {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).chain([&heads[column]]);
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    (0..heads.len()).map(width).collect()
}

/// Returns the width of a line with columns of these widths.
fn line_width(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + COLUMN_GAP.len() * widths.len().saturating_sub(1)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_long_names_keep_their_end() {
        let mut table = Table::new([("Flow", Align::Left), ("Goodput", Align::Right)]).shortened(0, 10);
        table.row(["a".to_owned(), "95.23 Mbit/s".to_owned()]);
        table.row(["a-very-long-name.17".to_owned(), "1 bit/s".to_owned()]);
        let expected = "\
Flow             Goodput
----------  ------------
a           95.23 Mbit/s
a-very~.17       1 bit/s
";
        assert_eq!(table.render(Style { table_columns: 24, ..Style::PLAIN }), expected);
    }

    /// Names lose no more characters than the line lacks, the longer ones first.
    #[test]
    fn names_are_shortened_as_little_as_needed() {
        let heads = [("Group", Align::Left), ("Scheme", Align::Left), ("Goodput", Align::Right)];
        let mut table = Table::new(heads).shortened(0, 6).shortened(1, 10);
        table.row(["uploads", "pauser:pause=false", "95.23 Mbit/s"].map(str::to_owned));
        table.row(["downloads", "cubic", "1 bit/s"].map(str::to_owned));
        let row = |table_columns: usize| {
            let text = table.render(Style { table_columns, ..Style::PLAIN });
            assert!(text.lines().all(|line| line.chars().count() <= table_columns), "{text}");
            let row = text.lines().find(|line| line.starts_with('u')).unwrap_or_else(|| panic!("{text}"));
            row.split_whitespace().take(2).map(str::to_owned).collect::<Vec<String>>()
        };
        assert_eq!(row(43), ["uploads", "pauser:pause=false"]);
        assert_eq!(row(42), ["uploads", "pauser:paus~false"]);
        assert_eq!(row(35), ["uploads", "pauser~lse"]);
        assert_eq!(row(33), ["uploads", "pauser~lse"]);
        assert_eq!(row(32), ["uplo~s", "pauser~lse"]);
        // Two blocks are needed at any width of the names.
        assert_eq!(row(30), ["uploads", "pauser:pause=false"]);
    }

    #[test]
    fn names_that_are_shortened_still_differ() {
        let names = [
            "a-long-name-of-a-group, cubic:prr=yes",
            "a-long-name-of-a-group, cubic:ecn=yes",
            "other, vegas",
        ];
        let mut table = Table::new([("Group, scheme", Align::Left)]).shortened(0, 12);
        names.iter().for_each(|name| table.row([(*name).to_owned()]));
        let shown = table.render(Style { table_columns: 30, ..Style::PLAIN });
        let expected = "\
Group, scheme
------------------------------
a-long-name-of-a-gro~c:prr=yes
a-long-name-of-a-gro~c:ecn=yes
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
        assert_eq!(table.render(Style { table_columns: 12, ..Style::PLAIN }), expected);
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
        assert_eq!(table.render(Style { table_columns: 41, ..Style::PLAIN }), expected);
    }

    #[test]
    fn nothing_is_wider_than_its_terminal() {
        let heads = [("Name", Align::Left), ("Text", Align::Left), ("A number of them", Align::Right)];
        let mut table = Table::new(heads);
        let long = "one-word-that-is-far-too-long-for-any-terminal-in-the-whole-wide-world-and-some-more";
        table.row([long, &format!("{long} and {long}"), "12.5 Mbit/s"].map(str::to_owned));
        for columns in 40..=100 {
            let text = table.render(Style { table_columns: columns, ..Style::PLAIN });
            assert!(text.lines().all(|line| line.chars().count() <= columns), "{columns}\n{text}");
            let names = text.lines().skip(2).take_while(|line| !line.is_empty());
            let name: String = names.map(|line| line.get(..columns / 2).unwrap_or(line).trim()).collect();
            assert_eq!(name, long, "{text}");
            assert!(text.contains("12.5 Mbit/s"), "{text}");
        }
    }
}
