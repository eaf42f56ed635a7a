//! Recorded series as a table of one row per point.

use std::io::{self, Write};
use thalweg_proto::units::Time;
use thalweg_sim::{RunResult, Series};

/// Run that a series belongs to.
#[derive(Clone, Copy, Debug)]
pub struct RunKey<'a> {
    /// Scheme in a comparison; empty otherwise.
    pub scheme: &'a str,
    /// Seed.
    pub seed: u64,
}

/// Returns the subject of a series: the flow's name, or the link's name with its endpoints.
pub fn subject_name(result: &RunResult, series: &Series) -> String {
    let position = series.subject as usize;
    if series.quantity.is_of_flow() {
        return result.flows.get(position).map(|flow| flow.name.clone()).unwrap_or_default();
    }
    let link = result.links.get(position);
    link.map(|link| format!("{} {}->{}", link.name, link.from, link.to)).unwrap_or_default()
}

/// Writer of series as comma-separated values (RFC 4180).
#[derive(Debug)]
pub struct CsvSeries<W: Write> {
    to: W,
}

impl<W: Write> CsvSeries<W> {
    /// Creates a table with its heading.
    pub fn new(mut to: W) -> io::Result<Self> {
        to.write_all(b"scheme,seed,quantity,unit,subject,time_s,value\n")?;
        Ok(Self { to })
    }

    /// Adds the series of a run.
    pub fn add(&mut self, key: RunKey<'_>, result: &RunResult) -> io::Result<()> {
        add_points(&mut self.to, key, result)
    }

    /// Finishes the table.
    pub fn finish(mut self) -> io::Result<W> {
        self.to.flush()?;
        Ok(self.to)
    }
}

// Not generic over the sink, to be compiled once, in this crate.
fn add_points(to: &mut dyn Write, key: RunKey<'_>, result: &RunResult) -> io::Result<()> {
    for series in &result.series {
        let prefix = format!(
            "{},{},{},{},{}",
            quote_field(key.scheme),
            key.seed,
            series.quantity.name(),
            series.quantity.unit(),
            quote_field(&subject_name(result, series)),
        );
        let mut line = prefix.into_bytes();
        line.push(b',');
        let prefix = line.len();
        for (time, value) in &series.points {
            line.truncate(prefix);
            append_seconds(&mut line, *time);
            line.push(b',');
            append_number(&mut line, *value);
            line.push(b'\n');
            to.write_all(&line)?;
        }
    }
    Ok(())
}

/// Appends a time in seconds, exactly. Series are long, and this is several times faster than formatting a float.
pub(super) fn append_seconds(line: &mut Vec<u8>, time: Time) {
    let picos = time.as_picos();
    append_digits(line, picos / PICOS_PER_SECOND, 1);
    let fraction = picos % PICOS_PER_SECOND;
    if fraction > 0 {
        line.push(b'.');
        append_digits(line, fraction, 12);
        while line.last() == Some(&b'0') {
            line.pop();
        }
    }
}

/// Appends a value in the format of `{}`. Most values are integers: counts, windows, rates.
fn append_number(line: &mut Vec<u8>, value: f64) {
    let integer = value as u64;
    // Zero may be negative.
    if integer > 0 && integer <= MAX_EXACT_INTEGER && integer as f64 == value {
        append_digits(line, integer, 1);
    } else {
        // Writing to a vector cannot fail.
        let _ = write!(line, "{value}");
    }
}

/// Appends a number in decimal, with at least `min` digits.
fn append_digits(line: &mut Vec<u8>, mut number: u64, min: usize) {
    let mut reversed = [b'0'; 20];
    let mut length = 0;
    while number > 0 {
        reversed[length] = b'0' + (number % 10) as u8;
        number /= 10;
        length += 1;
    }
    line.extend(reversed[..length.max(min)].iter().rev());
}

/// Picoseconds in a second.
const PICOS_PER_SECOND: u64 = 1_000_000_000_000;

/// Largest integer up to which floats represent all integers.
const MAX_EXACT_INTEGER: u64 = 1 << 53;

/// Returns `text` as a field: quoted where it contains a separator.
pub(super) fn quote_field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::test_fixtures::run_result;

    /// Tests that this number formatting equals the standard library's.
    #[test]
    fn numbers_are_written_as_floats_are() {
        let text = |write: &dyn Fn(&mut Vec<u8>)| {
            let mut line = Vec::new();
            write(&mut line);
            String::from_utf8(line).unwrap()
        };
        let large = 9_007_199_254_740_992.0;
        for value in [
            0.0,
            -0.0,
            1.0,
            -1.0,
            10.0,
            12.5,
            1e9,
            large,
            large * 2.0,
            1e300,
            1e-300,
            f64::NAN,
            f64::INFINITY,
        ] {
            assert_eq!(text(&|line| append_number(line, value)), value.to_string());
        }
        for picos in [
            0,
            1,
            100_000_000_000,
            999_999_999_999,
            PICOS_PER_SECOND,
            30 * PICOS_PER_SECOND + 1,
            618_868_518_617,
            u64::MAX / 4000,
        ] {
            let time = Time::from_picos(picos);
            assert_eq!(text(&|line| append_seconds(line, time)), time.as_secs_f64().to_string());
        }
        assert_eq!(text(&|line| append_seconds(line, Time::from_picos(u64::MAX))), "18446744.073709551615");
    }

    #[test]
    fn a_point_is_a_line() {
        let mut csv = CsvSeries::new(Vec::new()).unwrap();
        csv.add(RunKey { scheme: "a,b", seed: 7 }, &run_result(7, 75)).unwrap();
        let text = String::from_utf8(csv.finish().unwrap()).unwrap();
        let expected = "scheme,seed,quantity,unit,subject,time_s,value\n\
                        \"a,b\",7,window,segment,bold,0,10\n\
                        \"a,b\",7,window,segment,bold,0.1,12.5\n";
        assert_eq!(text, expected);
    }
}
