//! Series shown in a report: recorded from runs, or read back from a results folder.

use super::downsampling::downsample;
use super::number_encoding::Numbers;
use crate::output::{RunKey, series_subject};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thalweg_sim::{Quantity, RunResult};

/// Series of several runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AllSeries {
    all: Vec<RunSeries>,
}

/// Series.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RunSeries {
    pub(super) scheme: String,
    pub(super) seed: u64,
    pub(super) quantity: String,
    unit: String,
    pub(super) subject: String,
    /// Times in seconds from the start of the run.
    pub(super) times: Vec<f64>,
    pub(super) values: Vec<f64>,
}

/// Series within a page.
#[derive(Debug, Serialize)]
pub(super) struct EmbeddedSeries<'a> {
    scheme: &'a str,
    seed: u64,
    quantity: &'a str,
    unit: &'a str,
    subject: &'a str,
    /// Index of its times among the time arrays.
    times: usize,
    values: Numbers,
    /// Number of points before thinning, if thinned.
    #[serde(skip_serializing_if = "Option::is_none")]
    points: Option<usize>,
}

/// Part of `traffic.json` that reports draw.
#[derive(Deserialize)]
struct Traffic {
    flows: Vec<TrafficFlow>,
}

/// A carried flow.
#[derive(Deserialize)]
struct TrafficFlow {
    name: String,
    series: TrafficSeries,
}

/// Series of a carried flow: values at the times, `null` where unknown.
#[derive(Deserialize)]
struct TrafficSeries {
    time_s: Vec<f64>,
    window_packets: Vec<Option<f64>>,
    smoothed_rtt_s: Vec<Option<f64>>,
}

impl AllSeries {
    /// Adds the series of a run.
    pub fn add(&mut self, key: RunKey<'_>, result: &RunResult) {
        for series in &result.series {
            self.all.push(RunSeries {
                scheme: key.scheme.to_owned(),
                seed: key.seed,
                quantity: series.quantity.name().to_owned(),
                unit: series.quantity.unit().to_owned(),
                subject: series_subject(result, series),
                times: series.points.iter().map(|(time, _)| time.as_secs_f64()).collect(),
                values: series.points.iter().map(|(_, value)| *value).collect(),
            });
        }
    }

    /// Adds the series of another document under its label, as [`Document::side_by_side`](crate::results::Document::side_by_side)
    /// names its runs.
    pub fn join(&mut self, label: &str, other: Self) {
        self.all.extend(other.all.into_iter().map(|mut series| {
            series.scheme = if series.scheme.is_empty() {
                label.to_owned()
            } else {
                format!("{label} {}", series.scheme)
            };
            series
        }));
    }

    /// Adds the windows and round-trip times of flows carried over a live network, from the content of `traffic.json`. Those of
    /// our own series stay where a flow has both.
    ///
    /// # Errors
    ///
    /// The reason if the text has another format.
    pub fn add_traffic(&mut self, seed: u64, text: &str) -> Result<(), serde_json::Error> {
        let traffic: Traffic = serde_json::from_str(text)?;
        for TrafficFlow { name, series } in traffic.flows {
            for (quantity, values) in
                [(Quantity::Window, &series.window_packets), (Quantity::Rtt, &series.smoothed_rtt_s)]
            {
                let pairs = series.time_s.iter().zip(values);
                let known = pairs.filter_map(|(time, value)| Some((*time, (*value)?)));
                let (times, values): (Vec<f64>, Vec<f64>) = known.unzip();
                let is_known = |one: &RunSeries| one.quantity == quantity.name() && one.subject == name;
                if !times.is_empty() && !self.all.iter().any(is_known) {
                    self.all.push(RunSeries {
                        scheme: String::new(),
                        seed,
                        quantity: quantity.name().to_owned(),
                        unit: quantity.unit().to_owned(),
                        subject: name.clone(),
                        times,
                        values,
                    });
                }
            }
        }
        Ok(())
    }

    /// Parses the output of [`CsvSeries`](crate::output::CsvSeries).
    ///
    /// # Errors
    ///
    /// The number of the first invalid line, with the reason.
    pub fn from_csv(text: &str) -> Result<Self, String> {
        let mut lines = Lines { rest: text, number: 0 };
        if lines.next() != Some(HEADER_LINE) {
            return Err(format!("line 1: not a table of series, which begins with `{HEADER_LINE}`"));
        }
        let mut all: Vec<RunSeries> = Vec::new();
        // Beginning of the previous line; most lines share it.
        let mut prefix = "";
        while let Some(line) = lines.next() {
            let wrong = |what: &str| format!("line {}: {what}", lines.number);
            let (left, value) = line.rsplit_once(',').ok_or_else(|| wrong("too few columns"))?;
            let (left, time) = left.rsplit_once(',').ok_or_else(|| wrong("too few columns"))?;
            let number = |text: &str| text.parse::<f64>().map_err(|_| wrong("not a number"));
            if left != prefix || all.is_empty() {
                all.push(RunSeries::from_columns(left).map_err(wrong)?);
                prefix = left;
            }
            if let Some(series) = all.last_mut() {
                series.times.push(number(time)?);
                series.values.push(number(value)?);
            }
        }
        Ok(Self { all })
    }

    /// Returns the number of points of all series together.
    pub fn points(&self) -> usize {
        self.all.iter().map(|series| series.times.len()).sum()
    }

    /// Returns all series.
    pub(super) fn all(&self) -> &[RunSeries] {
        &self.all
    }

    /// Returns the series of a quantity.
    pub(super) fn of(&self, quantity: &str) -> impl Iterator<Item = &RunSeries> {
        self.all.iter().filter(move |one| one.quantity == quantity)
    }

    /// Returns the time arrays (in picoseconds) and the series for a page, thinned where they would exceed `budget`
    /// bytes.
    pub(super) fn embedded(&self, budget: usize) -> (Vec<Numbers>, Vec<EmbeddedSeries<'_>>) {
        let longest = self.all.iter().map(|series| series.times.len()).max().unwrap_or(0);
        // A point takes at least a byte, and more in base64.
        let mut bound = longest.min((budget / self.all.len().max(1)).max(MIN_POINTS));
        loop {
            let (times, series) = self.embedded_within(bound);
            let size =
                times.iter().chain(series.iter().map(|of| &of.values)).map(Numbers::size).sum::<usize>();
            if size <= budget || bound <= MIN_POINTS {
                return (times, series);
            }
            // Sizes are not quite proportional to points.
            bound = (bound * 19 / 20).min(bound * 20 / 21 * budget / size).max(MIN_POINTS);
        }
    }

    /// Returns the same with at most `bound` points for each series.
    fn embedded_within(&self, bound: usize) -> (Vec<Numbers>, Vec<EmbeddedSeries<'_>>) {
        let (mut grids, mut arrays) = (BTreeMap::new(), Vec::new());
        let mut embed = |series: &RunSeries, times: &[f64], values: &[f64]| {
            // Most series were sampled together and share their times.
            let bits: Vec<u64> = times.iter().map(|time| time.to_bits()).collect();
            let position = *grids.entry(bits).or_insert_with(|| {
                let picos: Vec<f64> = times.iter().map(|time| (time * 1e12).round()).collect();
                arrays.push(Numbers::integers(&picos));
                arrays.len() - 1
            });
            (
                position,
                Numbers::from_values(values),
                (series.times.len() > times.len()).then_some(series.times.len()),
            )
        };
        let mut all = Vec::with_capacity(self.all.len());
        for series in &self.all {
            let (times, values, points) = if series.times.len() > bound {
                let (times, values) = downsample(&series.times, &series.values, bound);
                embed(series, &times, &values)
            } else {
                embed(series, &series.times, &series.values)
            };
            let RunSeries { scheme, seed, quantity, unit, subject, .. } = series;
            all.push(EmbeddedSeries { scheme, seed: *seed, quantity, unit, subject, times, values, points });
        }
        (arrays, all)
    }
}

impl RunSeries {
    /// Creates a series without points from the first five columns of a row.
    fn from_columns(columns: &str) -> Result<Self, &'static str> {
        let fields = split_fields(columns)?;
        let [scheme, seed, quantity, unit, subject] =
            <[String; 5]>::try_from(fields).map_err(|_| "not seven columns")?;
        let seed = seed.parse().map_err(|_| "the seed is not a number")?;
        Ok(Self { scheme, seed, quantity, unit, subject, times: Vec::new(), values: Vec::new() })
    }
}

/// Lines of a table. A line break within quotes does not end the line.
struct Lines<'a> {
    rest: &'a str,
    number: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        self.number += 1;
        let mut quoted = false;
        let end = self.rest.bytes().position(|byte| {
            quoted ^= byte == b'"';
            byte == b'\n' && !quoted
        });
        let (line, rest) = match end {
            Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
            None => (self.rest, ""),
        };
        self.rest = rest;
        Some(line.strip_suffix('\r').unwrap_or(line))
    }
}

/// Splits a line into fields (RFC 4180).
fn split_fields(line: &str) -> Result<Vec<String>, &'static str> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let (field, after) = match rest.strip_prefix('"') {
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (rest[..end].to_owned(), &rest[end..])
            }
            Some(quoted) => split_quoted_field(quoted)?,
        };
        fields.push(field);
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(fields),
            None => return Err("a quote ends before its field does"),
        }
    }
}

/// Returns the field before the closing quote, and the text after the quote.
fn split_quoted_field(text: &str) -> Result<(String, &str), &'static str> {
    let (mut field, mut rest) = (String::new(), text);
    loop {
        let end = rest.find('"').ok_or("a quote is not closed")?;
        field.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(more) => {
                field.push('"');
                rest = more;
            }
            None => return Ok((field, rest)),
        }
    }
}

/// First line of the table.
const HEADER_LINE: &str = "scheme,seed,quantity,unit,subject,time_s,value";

/// Minimum number of points after thinning: more than the width of a screen.
const MIN_POINTS: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::CsvSeries;
    use crate::results::test_fixtures::run_result;

    fn csv() -> String {
        let mut csv = CsvSeries::new(Vec::new()).unwrap();
        csv.add(RunKey { scheme: "a,\"b\nc", seed: 7 }, &run_result(7, 75)).unwrap();
        csv.add(RunKey { scheme: "", seed: 8 }, &run_result(8, 75)).unwrap();
        String::from_utf8(csv.finish().unwrap()).unwrap()
    }

    #[test]
    fn a_table_gives_back_what_was_recorded() {
        let mut recorded = AllSeries::default();
        recorded.add(RunKey { scheme: "a,\"b\nc", seed: 7 }, &run_result(7, 75));
        recorded.add(RunKey { scheme: "", seed: 8 }, &run_result(8, 75));
        assert_eq!(AllSeries::from_csv(&csv()).unwrap(), recorded);
        assert_eq!(recorded.points(), 4);
    }

    #[test]
    fn invalid_tables_are_rejected_with_the_line_number() {
        let refused = |text: &str| AllSeries::from_csv(text).unwrap_err();
        assert!(refused("").starts_with("line 1"));
        assert!(refused("a,b\n").starts_with("line 1"));
        for (row, what) in [
            ("x", "too few columns"),
            (",1,q,u,s,1", "not seven columns"),
            (",one,q,u,s,1,2", "the seed"),
            (",1,q,u,s,soon,2", "not a number"),
            ("\"a,1,q,u,s,1,2", "not closed"),
            ("\"a\"b,1,q,u,s,1,2", "a quote ends"),
        ] {
            let error = refused(&format!("{HEADER_LINE}\n,1,q,u,s,1,2\n{row}\n"));
            assert!(error.starts_with("line 3: ") && error.contains(what), "{row}: {error}");
        }
    }

    #[test]
    fn series_of_carried_flows_join_those_of_simulated_ones() {
        let mut live = AllSeries::default();
        let text = r#"{"traffic": "kernel:cubic", "flows": [{"name": "bold", "goodput_bps": 1, "series": {"time_s": [0.1, 0.2, 0.3],
            "window_packets": [10.0, null, 12.0], "smoothed_rtt_s": [null, null, null]}}]}"#;
        live.add_traffic(7, text).unwrap();
        assert!(live.add_traffic(7, "{\"flows\": 3}").is_err());
        let mut joined = AllSeries::default();
        joined.add(RunKey { scheme: "", seed: 7 }, &run_result(7, 75));
        let simulated = joined.clone();
        let mut joined = AllSeries::default();
        joined.join("simulated", simulated);
        joined.join("live", live);
        let windows: Vec<&RunSeries> = joined.of("window").filter(|one| one.subject == "bold").collect();
        let live = windows.iter().find(|one| one.scheme == "live").unwrap();
        assert_eq!((&live.times[..], &live.values[..]), (&[0.1, 0.3][..], &[10.0, 12.0][..]));
        assert!(
            joined.of("rtt").all(|one| one.scheme == "simulated"),
            "a flow without samples has no series"
        );
        assert!(joined.all.iter().all(|one| ["simulated", "live"].contains(&one.scheme.as_str())));
    }

    fn many_series(series: usize, points: usize) -> AllSeries {
        let one = |number: usize| RunSeries {
            scheme: String::new(),
            seed: 1,
            quantity: "window".to_owned(),
            unit: "segment".to_owned(),
            subject: format!("flow {number}"),
            times: (0..points).map(|index| index as f64 * 0.001).collect(),
            values: (0..points).map(|index| ((index * (number + 3)) % 101) as f64).collect(),
        };
        AllSeries { all: (0..series).map(one).collect() }
    }

    #[test]
    fn a_page_has_every_number_and_shared_times_once() {
        let all = many_series(3, 1000);
        let (times, series) = all.embedded(1 << 20);
        assert_eq!(times.len(), 1);
        let picos: Vec<f64> = all.all[0].times.iter().map(|time| (time * 1e12).round()).collect();
        assert_eq!(times[0].values(), picos);
        for (embedded, one) in series.iter().zip(&all.all) {
            assert_eq!(embedded.values.values(), one.values);
            assert_eq!((embedded.times, embedded.points), (0, None));
        }
    }

    #[test]
    fn long_series_are_thinned_to_the_budget() {
        let all = many_series(4, 100_000);
        let (times, series) = all.embedded(600_000);
        let size: usize = times.iter().map(Numbers::size).sum::<usize>()
            + series.iter().map(|of| of.values.size()).sum::<usize>();
        assert!((450_000..=600_000).contains(&size), "{size}");
        assert!(series.iter().all(|of| of.points == Some(100_000)));
    }
}
