//! Traces: files that the reader of the page opens, read as `thalweg view` reads them, and their page of plots.

use crate::scenario_input::PageDiagnostic;
use crate::sliced_run::version;
use core::fmt;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::{self, Read};
use thalweg_report::report::{NamedTrace, trace_page};
use thalweg_trace::{Limits, Trace, find_all, read};

/// Bounds of each file: its packets and the page's series fit the 4 GiB of a WebAssembly module.
pub const LIMITS: Limits = Limits { packets: 12 << 20, connections: 1 << 14, bytes: 16 << 30 };
/// Maximum number of files on one page.
const MAX_FILES: usize = 16;

/// Files that the reader of the page opened.
pub trait Files: fmt::Debug {
    /// Reads bytes of a file from a place on, and returns their number; 0 at the end.
    ///
    /// # Errors
    ///
    /// The browser's message.
    fn read(&self, file: usize, from: u64, to: &mut [u8]) -> Result<usize, String>;
}

/// One of the files, as a stream.
struct Stream<'a> {
    files: &'a dyn Files,
    file: usize,
    place: u64,
}

impl Read for Stream<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.files.read(self.file, self.place, to).map_err(io::Error::other)?.min(to.len());
        self.place += count as u64;
        Ok(count)
    }
}

/// Traces on one page.
#[derive(Debug, Serialize)]
struct Viewed {
    /// The page of `thalweg view --report`.
    page: String,
    connections: usize,
    findings: usize,
    /// Files that are not traces.
    errors: Vec<PageDiagnostic>,
}

/// Reads files and returns their page; files that are not traces are named beside it.
///
/// # Errors
///
/// If none of the files is a trace.
pub fn view_traces(names: &[String], files: &dyn Files) -> Result<Value, Vec<PageDiagnostic>> {
    if names.is_empty() || names.len() > MAX_FILES {
        let message = format!("there are {} files; a page has 1 to {MAX_FILES}", names.len());
        return Err(vec![PageDiagnostic::error("page.trace", message)]);
    }
    let mut errors = Vec::new();
    let mut traces: Vec<(String, Trace)> = Vec::new();
    for (file, name) in unique_names(names).into_iter().enumerate() {
        match read(&mut Stream { files, file, place: 0 }, &LIMITS) {
            Ok(trace) => traces.push((name, trace)),
            Err(error) => errors.push(PageDiagnostic::error("page.trace", format!("{name}: {error}"))),
        }
    }
    if traces.is_empty() {
        return Err(errors);
    }
    let named: Vec<NamedTrace<'_>> = traces.iter().map(|(name, trace)| NamedTrace { name, trace }).collect();
    let connections = traces.iter().flat_map(|(_, trace)| &trace.connections);
    let found = connections
        .clone()
        .map(|of| [0, 1].map(|direction| find_all(of, direction).len()).iter().sum::<usize>());
    Ok(json!(Viewed {
        findings: found.sum(),
        connections: connections.count(),
        page: trace_page(&named, &version()),
        errors,
    }))
}

/// Returns the names, with a number after those that were there before.
fn unique_names(names: &[String]) -> Vec<String> {
    let mut taken = HashSet::new();
    let mut chosen = Vec::new();
    for name in names {
        let mut own = name.clone();
        let mut number = 1;
        while !taken.insert(own.clone()) {
            number += 1;
            own = format!("{name} ({number})");
        }
        chosen.push(own);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct HeldFiles(Vec<&'static [u8]>);

    impl Files for HeldFiles {
        fn read(&self, file: usize, from: u64, to: &mut [u8]) -> Result<usize, String> {
            let bytes = self.0[file].get(usize::try_from(from).unwrap()..).unwrap_or_default();
            if bytes == b"!" {
                return Err("the file has changed".to_owned());
            }
            // A few bytes at a time, as from a slow disk.
            let count = bytes.len().min(to.len()).min(1000);
            to[..count].copy_from_slice(&bytes[..count]);
            Ok(count)
        }
    }

    fn view_all(names: &[&str], files: Vec<&'static [u8]>) -> Result<Value, Vec<String>> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        view_traces(&names, &HeldFiles(files))
            .map_err(|errors| errors.into_iter().map(|error| error.message).collect())
    }

    const CAPTURE: &[u8] = include_bytes!("../../thalweg-trace/tests/data/kernel-cubic.pcap.gz");
    const LOG: &[u8] = include_bytes!("../../thalweg-trace/tests/data/aioquic-client.qlog.gz");

    #[test]
    fn a_page_is_that_of_the_command() {
        let answer = view_all(&["a.pcap.gz", "b.qlog.gz"], vec![CAPTURE, LOG]).unwrap();
        let traces = [CAPTURE, LOG].map(|mut bytes| read(&mut bytes, &Limits::default()).unwrap());
        let named = [("a.pcap.gz", &traces[0]), ("b.qlog.gz", &traces[1])];
        let expected = trace_page(&named.map(|(name, trace)| NamedTrace { name, trace }), &version());
        assert!(answer["page"] == expected.as_str(), "the pages differ");
        let count: usize = traces.iter().map(|trace| trace.connections.len()).sum();
        assert_eq!((&answer["connections"], &answer["errors"]), (&json!(count), &json!([])));
        assert!(answer["findings"].as_u64().unwrap() > 0);
    }

    #[test]
    fn files_that_are_no_traces_are_named_beside_the_others() {
        let answer = view_all(&["a.pcap", "notes.txt", "a.pcap"], vec![CAPTURE, b"notes", CAPTURE]).unwrap();
        let errors = answer["errors"].as_array().unwrap();
        assert_eq!(errors.len(), 1);
        assert!(
            errors[0]["message"]
                .as_str()
                .unwrap()
                .starts_with("notes.txt: this is not a trace; expected qlog")
        );
        assert!(answer["page"].as_str().unwrap().contains("a.pcap (2)"));
        let errors = view_all(&["empty", "gone"], vec![b"", b"!"]).unwrap_err();
        assert!(errors[0].starts_with("empty: the file is empty"), "{errors:?}");
        assert_eq!(errors[1], "gone: cannot be read: the file has changed");
        assert!(view_all(&[], Vec::new()).unwrap_err()[0].contains("1 to 16"));
        assert!(view_all(&["x"; 17], Vec::new()).unwrap_err()[0].contains("17 files"));
    }
}
