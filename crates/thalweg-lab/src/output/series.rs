//! Recorded series as a table of one row a point.

use std::io::{self, Write};
use thalweg_sim::{RunResult, Series};

/// Which run a series belongs to.
#[derive(Clone, Copy, Debug)]
pub struct RunKey<'a> {
    /// The scheme where schemes are compared; empty otherwise.
    pub scheme: &'a str,
    /// The seed.
    pub seed: u64,
}

/// What a series is of: the flow's name, or the link's with its ends.
pub(crate) fn subject(result: &RunResult, series: &Series) -> String {
    let position = series.subject as usize;
    if series.quantity.is_of_flow() {
        return result.flows.get(position).map(|flow| flow.name.clone()).unwrap_or_default();
    }
    let link = result.links.get(position);
    link.map(|link| format!("{} {}->{}", link.name, link.from, link.to)).unwrap_or_default()
}

/// Writes series as comma-separated values (RFC 4180).
#[derive(Debug)]
pub struct CsvSeries<W: Write> {
    to: W,
}

impl<W: Write> CsvSeries<W> {
    /// Begins a table with its heading.
    pub fn new(mut to: W) -> io::Result<Self> {
        to.write_all(b"scheme,seed,quantity,unit,subject,time_s,value\n")?;
        Ok(Self { to })
    }

    /// Adds the series of a run.
    pub fn add(&mut self, key: RunKey<'_>, result: &RunResult) -> io::Result<()> {
        for series in &result.series {
            let prefix = format!(
                "{},{},{},{},{}",
                field(key.scheme),
                key.seed,
                series.quantity.name(),
                series.quantity.unit(),
                field(&subject(result, series)),
            );
            for (time, value) in &series.points {
                writeln!(self.to, "{prefix},{},{value}", time.as_secs_f64())?;
            }
        }
        Ok(())
    }

    /// Ends the table.
    pub fn finish(mut self) -> io::Result<W> {
        self.to.flush()?;
        Ok(self.to)
    }
}

/// `text` as a field: quoted where it holds what separates fields.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::samples::result;

    #[test]
    fn a_point_is_a_line() {
        let mut csv = CsvSeries::new(Vec::new()).unwrap();
        csv.add(RunKey { scheme: "a,b", seed: 7 }, &result(7, 75)).unwrap();
        let text = String::from_utf8(csv.finish().unwrap()).unwrap();
        let expected = "scheme,seed,quantity,unit,subject,time_s,value\n\
                        \"a,b\",7,window,segment,bold,0,10\n\
                        \"a,b\",7,window,segment,bold,0.1,12.5\n";
        assert_eq!(text, expected);
    }
}
