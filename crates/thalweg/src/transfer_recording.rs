//! `--record`: the sender's view of its path, as qlog.

use crate::console_output::{Console, Error};
use std::fs::{self, File, OpenOptions};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use thalweg_capture::qlog::{LiveLog, Metrics};
use thalweg_catalog::{Environment, Registry};
use thalweg_net::flow::{EventKind, RecordedEvent, Recorder, Recording, SenderEstimates};
use thalweg_proto::units::{Duration, Time};

/// Maximum number of recorded events, about 64 bytes each.
const MAX_EVENTS: usize = 2_000_000;

/// A recording and its output file.
#[derive(Debug)]
pub struct Record {
    recorder: Recorder,
    path: PathBuf,
    file: File,
    /// The file was created by this recording and is still empty.
    is_empty: bool,
}

impl Record {
    /// Opens a recording to `path`, if given. An existing file stays unchanged until there is data to write.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened for writing.
    pub fn new(path: Option<&Path>) -> Result<Option<Self>, Error> {
        let Some(path) = path else { return Ok(None) };
        let is_empty = !path.exists();
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| Error::argument("record", format!("{}: {error}", path.display())))?;
        Ok(Some(Self { recorder: Recorder::new(MAX_EVENTS), path: path.to_owned(), file, is_empty }))
    }

    /// Returns the recorder for a connection.
    pub fn recorder(&self) -> Recorder {
        self.recorder.clone()
    }

    /// Writes the recording of the last connection.
    pub fn finish(mut self, console: &Console) -> Result<(), Error> {
        let (path, file) = (&self.path, &self.file);
        let recording = self.recorder.take();
        if recording.events.is_empty() {
            console.inform("Nothing was recorded: there was no connection");
            return Ok(());
        }
        let title = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        // Pipes and devices cannot be truncated.
        let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
        let emptied = if is_file { file.set_len(0) } else { Ok(()) };
        self.is_empty = false;
        let written = emptied.and_then(|()| {
            recording_to_qlog(&recording, &console.registry).write(
                BufWriter::new(file),
                &title,
                &recording.scheme,
            )
        });
        written.map_err(|error| Error::Failed(format!("cannot write `{}`: {error}", path.display())))?;
        console.inform(&format!("Written: {}", path.display()));
        if let Some(until) = recording.until {
            let first = recording.events.first().map_or(Time::ZERO, |event| event.time);
            console.inform(&format!(
                "note: only the first {} are recorded, the maximum is {MAX_EVENTS} events",
                until.since(first)
            ));
        }
        Ok(())
    }
}

impl Drop for Record {
    /// Removes the file if nothing was recorded.
    fn drop(&mut self) {
        if self.is_empty {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Converts the recording to qlog, with times relative to its first event.
fn recording_to_qlog(recording: &Recording, registry: &Registry) -> LiveLog {
    let Recording { scheme, events, .. } = recording;
    let first = events.first().map_or(Time::ZERO, |event| event.time);
    // For these schemes the data count is a byte offset in the stream.
    let is_stream = registry
        .read_scheme(scheme, Environment::Live)
        .is_ok_and(|(description, _)| description.traits.is_window());
    let mut log = LiveLog::default();
    let mut segment = 0;
    for RecordedEvent { time, what } in events {
        let time = Time::ZERO + time.since(first);
        match what {
            EventKind::Sent { size, data, length, .. } => {
                segment = segment.max(*length);
                log.sent(time, *size, is_stream.then_some(*data), *length);
            }
            EventKind::Lost { number } => log.lost(time, *number),
            EventKind::Acknowledged { numbers } => log.acknowledged(time, numbers.clone()),
            EventKind::Estimated(SenderEstimates { window, in_flight, smoothed_rtt, pacing_rate }) => {
                let bytes = f64::from(segment);
                log.metrics(
                    time,
                    &Metrics {
                        window: window.map(|window| window * bytes),
                        in_flight: f64::from(*in_flight) * bytes,
                        smoothed_rtt: smoothed_rtt.filter(|rtt| *rtt < Duration::MAX),
                        pacing_rate: *pacing_rate,
                    },
                );
            }
        }
    }
    log
}
