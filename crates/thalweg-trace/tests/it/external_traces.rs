//! Third-party traces that are not in this repository: reads every file of a folder, and prints a line for each.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use thalweg_trace::{Limits, ReadError, Summary, Trace, find_all, read};

/// Longest time to read a megabyte in a development build on a busy machine; a reader that is not linear takes longer.
const PER_MEGABYTE: Duration = Duration::from_secs(20);

/// Reads each file of `THALWEG_TRACES`, and the files of its folders. Files that are not a trace must be refused; of others every
/// figure must be consistent.
#[test]
#[ignore = "needs a folder of traces in THALWEG_TRACES"]
fn every_file_of_a_folder_is_read_or_refused() {
    let folder = std::env::var_os("THALWEG_TRACES").expect("THALWEG_TRACES names a folder");
    let mut files = Vec::new();
    list(Path::new(&folder), &mut files);
    files.sort();
    assert!(!files.is_empty(), "the folder has no files");
    let mut refused = 0;
    for path in &files {
        let Ok(bytes) = fs::read(path) else { continue };
        let begun = Instant::now();
        let outcome = read(&mut bytes.as_slice(), &Limits::default());
        let took = begun.elapsed();
        let megabytes = (bytes.len() >> 20) as u32 + 1;
        assert!(took < PER_MEGABYTE * megabytes, "{}: {took:?} for {megabytes} MB", path.display());
        match outcome {
            Err(ReadError::Unknown | ReadError::NetLog | ReadError::Empty) => refused += 1,
            Err(error) => println!("{}: {error}", path.display()),
            Ok(trace) => println!("{}: {}", path.display(), summary_line(&trace)),
        }
    }
    println!("{} files, {refused} of them no traces", files.len());
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            list(&entry.path(), files);
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
}

/// Checks the figures of a trace, and returns those of its largest connection.
fn summary_line(trace: &Trace) -> String {
    for connection in &trace.connections {
        assert!(connection.start <= connection.end, "{}", connection.name);
        for direction in 0..2 {
            let summary = Summary::from_connection(connection, direction);
            let share = summary.retransmitted_share.unwrap_or(0.0);
            assert!((0.0..=1.0).contains(&share), "{}: {summary:?}", connection.name);
            let data = &connection.directions[direction];
            assert!(data.packets.is_sorted_by_key(|packet| packet.time), "{}", connection.name);
            assert!(data.packets.iter().all(|packet| packet.acked_at >= packet.time), "{}", connection.name);
            find_all(connection, direction);
        }
    }
    let largest = trace.connections.iter().max_by_key(|connection| {
        connection.directions.iter().map(|direction| direction.counts.bytes).sum::<u64>()
    });
    let of_largest = largest.map_or(String::new(), |connection| {
        let direction = connection.main_direction();
        let summary = Summary::from_connection(connection, direction);
        let found: Vec<&str> =
            find_all(connection, direction).iter().map(|finding| finding.kind.name()).collect();
        let rtt = summary.rtt.map_or("-".to_owned(), |rtt| format!("{:.2} ms", rtt.min.as_millis_f64()));
        format!(
            ", {} {} B in {:.3} s, {:.2} % again, RTT {rtt}, {found:?}",
            connection.protocol.name(),
            summary.delivered.unwrap_or(0),
            summary.duration.as_secs_f64(),
            summary.retransmitted_share.unwrap_or(0.0) * 100.0
        )
    });
    format!("{}, {} connections{of_largest}; {:?}", trace.format.name(), trace.connections.len(), trace.notes)
}
