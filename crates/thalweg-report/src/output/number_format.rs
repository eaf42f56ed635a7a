//! Formatting of numbers with units.

use crate::statistics::Estimate;

/// Capabilities of the reader's terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Uses signs beyond ASCII, such as ± and →.
    pub unicode: bool,
    /// Replaces characters beyond ASCII in names, for a terminal that cannot show them.
    pub ascii_names: bool,
    /// Supports bold headings.
    pub colour: bool,
    /// Maximum line width of texts, in characters.
    pub columns: usize,
    /// Maximum line width of tables, in characters.
    pub table_columns: usize,
}

/// Default maximum line width, in characters.
pub const COLUMNS: usize = 100;

const BOLD: &str = "\x1b[1m";
const RESET_STYLE: &str = "\x1b[0m";

impl Style {
    /// Style of files and pipes: signs are ASCII, which scripts can match, and names keep their letters, as UTF-8.
    pub const PLAIN: Self =
        Self { unicode: false, ascii_names: false, colour: false, columns: COLUMNS, table_columns: COLUMNS };
    /// Style of pages and pictures.
    pub const UNICODE: Self = Self { unicode: true, ..Self::PLAIN };

    /// Formats `text` as a heading.
    pub fn bold(self, text: &str) -> String {
        if self.colour { format!("{BOLD}{text}{RESET_STYLE}") } else { text.to_owned() }
    }

    /// Returns the control codes in texts of this style.
    pub const fn codes(self) -> &'static [&'static str] {
        if self.colour { &[BOLD, RESET_STYLE] } else { &[] }
    }

    /// Returns the sign between a value and its tolerance.
    pub const fn plus_minus(self) -> &'static str {
        if self.unicode { "±" } else { "+/-" }
    }

    /// Returns the sign for a missing value.
    pub const fn nothing(self) -> &'static str {
        if self.unicode { "–" } else { "-" }
    }

    /// Replaces in `text` the characters that the terminal cannot show, and control characters, with which a name in a
    /// file could spoof output.
    pub fn clean(self, text: &str) -> String {
        let shown = |c: char| if c.is_control() || (self.ascii_names && !c.is_ascii()) { '?' } else { c };
        text.chars().map(shown).collect()
    }

    /// Wraps long lines of `text` between words; continuation lines are indented by two more spaces.
    pub fn folded(self, text: &str) -> String {
        let fold_line = |line: &str| {
            // Most lines fit, and there are never more characters than bytes.
            if line.len() <= self.columns {
                return line.to_owned();
            }
            let indent = line.len() - line.trim_start_matches(' ').len();
            let hang = " ".repeat(indent + 2);
            let (first, rest) =
                (self.columns.saturating_sub(indent), self.columns.saturating_sub(indent + 2));
            let lines = wrap_text(&line[indent..], first, rest);
            format!("{}{}", &line[..indent], lines.join(&format!("\n{hang}")))
        };
        text.split('\n').map(fold_line).collect::<Vec<_>>().join("\n")
    }
}

/// Wraps `text` into lines of at most `first` characters, then of at most `rest`: between words, and within words that
/// are longer.
pub(super) fn wrap_text(text: &str, first: usize, rest: usize) -> Vec<String> {
    let (mut lines, mut line, mut length) = (Vec::new(), String::new(), 0);
    for (number, mut word) in text.split(' ').enumerate() {
        let mut width = word.chars().count();
        let line_width = |lines: &Vec<String>| if lines.is_empty() { first.max(1) } else { rest.max(1) };
        if number > 0 && length + 1 + width <= line_width(&lines) {
            line.push(' ');
            length += 1;
        } else if number > 0 {
            lines.push(core::mem::take(&mut line));
            length = 0;
        }
        while length + width > line_width(&lines) {
            let fit = line_width(&lines) - length;
            let (head, tail) = word.split_at(word.char_indices().nth(fit).map_or(word.len(), |(at, _)| at));
            line.push_str(head);
            lines.push(core::mem::take(&mut line));
            (word, width, length) = (tail, width - fit, 0);
        }
        length += width;
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// Unit, with its size in base units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    unit: &'static str,
    factor: f64,
}

impl Scale {
    /// No unit.
    pub(crate) const COUNT: Self = Self { unit: "", factor: 1.0 };
    /// Percent.
    pub(crate) const PERCENT: Self = Self { unit: "%", factor: 0.01 };
    /// Packets.
    pub(crate) const PACKETS: Self = Self { unit: "pkt", factor: 1.0 };

    /// Returns the unit for a rate of `bps`.
    pub(crate) fn for_rate(bps: f64) -> Self {
        Self::largest_unit(
            bps,
            &[("Tbit/s", 1e12), ("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0)],
        )
    }

    /// Returns the unit for a time of `seconds`.
    pub(crate) fn for_time(seconds: f64) -> Self {
        Self::largest_unit(seconds, &[("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)])
    }

    /// Returns the unit for `bytes`.
    pub(crate) fn for_bytes(bytes: f64) -> Self {
        Self::largest_unit(bytes, &[("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)])
    }

    /// Returns the name of the unit and its size in base units.
    pub(crate) const fn unit(self) -> (&'static str, f64) {
        (self.unit, self.factor)
    }

    fn largest_unit(value: f64, units: &[(&'static str, f64)]) -> Self {
        let fits = |(_, factor): &&(&str, f64)| value.abs() >= *factor || (value == 0.0 && *factor == 1.0);
        let (unit, factor) = units.iter().find(fits).or(units.last()).copied().unwrap_or(("", 1.0));
        Self { unit, factor }
    }

    fn with_unit(self, number: &str) -> String {
        if self.unit.is_empty() { number.to_owned() } else { format!("{number} {}", self.unit) }
    }

    /// Formats `value` with four significant digits.
    pub(crate) fn value(self, value: f64) -> String {
        self.with_unit(&self.digits(value / self.factor))
    }

    /// Formats with four significant digits; integer counts in full.
    fn digits(self, number: f64) -> String {
        let counts = matches!(self.unit, "" | "pkt");
        let decimals = if counts && number.trunc() == number { 0 } else { decimals_for(number, 4) };
        format_fixed(number, decimals)
    }

    /// Formats `value` with `decimals` decimals.
    pub(crate) fn fixed(self, value: f64, decimals: usize) -> String {
        self.with_unit(&format_fixed(value / self.factor, decimals))
    }

    /// Formats a mean with its interval, to the digits that the interval makes meaningful.
    pub(crate) fn estimate(self, estimate: &Estimate, style: Style) -> String {
        let Some(half) = estimate.ci95 else { return self.value(estimate.mean) };
        let (mean, half) = (estimate.mean / self.factor, half / self.factor);
        // Equal values may differ in the last bit of their conversion.
        if half <= mean.abs() * 1e-12 {
            return self.with_unit(&format!("{} {} 0", self.digits(mean), style.plus_minus()));
        }
        let decimals = decimals_for(half, 2).min(4);
        let (mean, half) = (format_fixed(mean, decimals), format_fixed(half, decimals));
        self.with_unit(&format!("{mean} {} {half}", style.plus_minus()))
    }

    /// Formats the two ends of an interval.
    pub(crate) fn range(self, low: f64, high: f64) -> String {
        let (low, high) = (low / self.factor, high / self.factor);
        let decimals = decimals_for(low.abs().max(high.abs()), 3);
        self.with_unit(&format!("{} to {}", format_fixed(low, decimals), format_fixed(high, decimals)))
    }
}

/// Formats `number` with `decimals` decimals; a number that rounds to zero has no sign.
fn format_fixed(number: f64, decimals: usize) -> String {
    let text = format!("{number:.decimals$}");
    match text.strip_prefix('-') {
        Some(zero) if zero.bytes().all(|byte| matches!(byte, b'0' | b'.')) => zero.to_owned(),
        _ => text,
    }
}

/// Returns the number of decimals that show `value` with `digits` significant digits; at most 6.
fn decimals_for(value: f64, digits: i32) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    let magnitude = libm::floor(libm::log10(value.abs())) as i32;
    (digits - 1 - magnitude).clamp(0, 6) as usize
}

/// Formats a ratio with two significant digits, such as `2.3` or `50`.
pub fn format_factor(ratio: f64) -> String {
    let unit = libm::pow(10.0, libm::floor(libm::log10(ratio)) - 1.0);
    let rounded = (ratio / unit).round() * unit;
    format_fixed(rounded, usize::from(rounded < 10.0))
}

/// Formats a rate with its unit, to four digits.
pub fn format_rate(bps: f64) -> String {
    Scale::for_rate(bps).value(bps)
}

/// Formats a time with its unit, to four digits.
pub fn format_seconds(seconds: f64) -> String {
    Scale::for_time(seconds).value(seconds)
}

/// Formats a count of something with a regular plural: `1 file`, `2 files`.
pub fn format_count(count: u64, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

/// Formats names of scenarios in a sentence: "`a`, `b` and `c`".
pub fn join_quoted(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    join_listed(&quoted.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Formats names in a sentence: "a", "a and b", "a, b and c".
pub fn join_listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// Formats a time without trailing zeros, for sentences: `30 s`, `0.5 s`.
pub(crate) fn plain_seconds(seconds: f64) -> String {
    format!("{seconds} s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        assert_eq!([0, 1, 2].map(|count| format_count(count, "file")), ["0 files", "1 file", "2 files"]);
    }

    #[test]
    fn units_follow_the_value() {
        assert_eq!(format_rate(95_234_000.0), "95.23 Mbit/s");
        assert_eq!(format_rate(0.0), "0 bit/s");
        assert_eq!(format_rate(64_000.0), "64.00 kbit/s");
        assert_eq!(format_seconds(0.012_345), "12.35 ms");
        assert_eq!(format_seconds(1.5), "1.500 s");
        assert_eq!(format_seconds(0.0), "0 s");
    }

    #[test]
    fn an_interval_decides_how_many_digits_are_shown() {
        let estimate = |mean, ci95| Estimate { mean, ci95, std_dev: None, min: mean, max: mean, n: 5 };
        let unicode = Style::UNICODE;
        let mbits = Scale::for_rate(95e6);
        assert_eq!(mbits.estimate(&estimate(95_234_567.0, Some(310_000.0)), unicode), "95.23 ± 0.31 Mbit/s");
        assert_eq!(mbits.estimate(&estimate(95_234_567.0, Some(0.0)), Style::PLAIN), "95.23 +/- 0 Mbit/s");
        assert_eq!(mbits.estimate(&estimate(95_234_567.0, None), Style::PLAIN), "95.23 Mbit/s");
        assert_eq!(Scale::COUNT.estimate(&estimate(1234.5, Some(56.7)), unicode), "1234 ± 57");
    }

    #[test]
    fn zero_has_no_sign() {
        let estimate = Estimate { mean: -0.0001, ci95: Some(0.12), std_dev: None, min: 0.0, max: 0.0, n: 5 };
        assert_eq!(Scale::COUNT.estimate(&estimate, Style::PLAIN), "0.00 +/- 0.12");
        assert_eq!(Scale::PERCENT.fixed(-0.000_01, 1), "0.0 %");
        assert_eq!(Scale::COUNT.value(-0.0), "0");
        assert_eq!(Scale::COUNT.range(-0.000_1, 1.0), "0.00 to 1.00");
        assert_eq!(Scale::COUNT.range(-1.0, 1.0), "-1.00 to 1.00");
    }

    #[test]
    fn long_lines_are_broken_between_words_and_set_in() {
        let narrow_style = Style { columns: 20, ..Style::PLAIN };
        let text = "short\n  a line that is too long for it\nabcdefghijklmnopqrstuvwxyz\n";
        let expected = "short\n  a line that is too\n    long for it\nabcdefghijklmnopqrst\n  uvwxyz\n";
        assert_eq!(narrow_style.folded(text), expected);
        assert_eq!(Style::PLAIN.folded(text), text);
    }

    #[test]
    fn names_cannot_play_tricks() {
        assert_eq!(Style::PLAIN.clean("a\x1b[2Jb\nflüss"), "a?[2Jb?flüss");
        assert_eq!(Style { ascii_names: true, ..Style::PLAIN }.clean("a\x1b[2Jb\nflüss"), "a?[2Jb?fl?ss");
        assert_eq!(Style::UNICODE.clean("flüss"), "flüss");
    }
}
