//! `--record`: what a sender sees of its path, as qlog.

use crate::console::{Console, Error};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use thalweg_lab::output::{LiveLog, Metrics};
use thalweg_net::flow::{Beliefs, Happened, Recorded, Recorder, Recording};
use thalweg_proto::units::{Duration, Time};

/// Events that are kept at most, some 64 bytes each.
const MOST: usize = 2_000_000;

/// A recording and where it goes.
#[derive(Debug)]
pub struct Record {
    recorder: Recorder,
    path: PathBuf,
}

impl Record {
    /// A recording to `path`, if there is to be one.
    pub fn new(path: Option<&Path>) -> Option<Self> {
        Some(Self { recorder: Recorder::new(MOST), path: path?.to_owned() })
    }

    /// What a connection is given.
    pub fn recorder(&self) -> Recorder {
        self.recorder.clone()
    }

    /// Writes what was recorded of the last connection.
    pub fn finish(self, console: &Console) -> Result<(), Error> {
        let Self { recorder, path } = self;
        let recording = recorder.take();
        if recording.events.is_empty() {
            console.say("Nothing was recorded: there was no connection");
            return Ok(());
        }
        let title = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let written = File::create(&path)
            .and_then(|file| log(&recording).write(BufWriter::new(file), &title, &recording.scheme));
        written.map_err(|error| Error::Failed(format!("cannot write `{}`: {error}", path.display())))?;
        console.say(&format!("Written: {}", path.display()));
        if let Some(until) = recording.until {
            let first = recording.events.first().map_or(Time::ZERO, |event| event.time);
            console.say(&format!(
                "note: only the first {} are recorded; there is room for {MOST} events",
                until.since(first)
            ));
        }
        Ok(())
    }
}

/// The recording in the terms of qlog, from its first event on.
fn log(recording: &Recording) -> LiveLog {
    let Recording { scheme, events, .. } = recording;
    let first = events.first().map_or(Time::ZERO, |event| event.time);
    // Their count of data is that of bytes in the stream.
    let is_stream = !matches!(
        scheme.split(':').next(),
        Some("udp" | "adaptive-ack" | "sscop" | "sscop-rate" | "sscop-rate-literal" | "sstp")
    );
    let mut log = LiveLog::default();
    let mut segment = 0;
    for Recorded { time, what } in events {
        let time = Time::ZERO + time.since(first);
        match what {
            Happened::Sent { size, data, length, .. } => {
                segment = segment.max(*length);
                log.sent(time, *size, is_stream.then_some(*data), *length);
            }
            Happened::Lost { number } => log.lost(time, *number),
            Happened::Acknowledged { numbers } => log.acknowledged(time, numbers.clone()),
            Happened::Believed(Beliefs { window, in_flight, smoothed_rtt, pacing_rate }) => {
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
