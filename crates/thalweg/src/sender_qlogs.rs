//! `--qlog`: logs of the senders' events, one file per run.

use crate::console_output::Error;
use crate::output_file_names::RunFiles;
use crate::simulation_arguments::Options;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thalweg_capture::qlog::{QlogPackets, write_qlog};
use thalweg_proto::units::Time;
use thalweg_report::output::Folder;
use thalweg_sim::RunResult;
use thalweg_sim::simulation_spec::Spec;

/// Output file of logs, and maximum number of events.
#[derive(Clone, Debug)]
pub struct Qlogs {
    files: RunFiles,
    title: String,
    max: usize,
}

/// Log of one run.
#[derive(Debug)]
pub struct FileQlog {
    /// The tracer of packets.
    pub packets: QlogPackets,
    path: PathBuf,
    title: String,
    spec: Arc<Spec>,
}

impl Qlogs {
    /// Returns the logs requested in `options`, if any; `name` is the scenario's.
    pub fn new(
        options: &Options,
        folder: Option<&Folder>,
        name: &str,
        title: &str,
        several: bool,
    ) -> Option<Self> {
        let path = match (options.qlog.as_ref()?, folder) {
            (Some(path), _) => path.clone(),
            (None, Some(folder)) => folder.path("trace.qlog"),
            (None, None) => Path::new(name).with_extension("qlog"),
        };
        let max = usize::try_from(options.qlog_packets).unwrap_or(usize::MAX);
        Some(Self { files: RunFiles::new(path, ".qlog", several), title: title.to_owned(), max })
    }

    /// Begins the log of one run.
    pub fn begin(&self, scheme: Option<&str>, seed: u64, spec: &Arc<Spec>) -> FileQlog {
        let path = self.files.of(scheme, seed);
        let packets = QlogPackets::new(self.max);
        FileQlog { packets, path, title: self.title.clone(), spec: Arc::clone(spec) }
    }

    /// Returns the output file, or the name pattern for several runs.
    pub fn written(&self) -> PathBuf {
        self.files.all()
    }
}

impl FileQlog {
    /// Writes the log; returns a note if it is truncated.
    pub fn finish(self, result: &RunResult) -> Result<Option<String>, Error> {
        let Self { packets, path, title, spec } = self;
        let written = File::create(&path)
            .and_then(|file| write_qlog(BufWriter::new(file), &title, &spec, result, &packets));
        written.map_err(|error| Error::Failed(format!("cannot write `{}`: {error}", path.display())))?;
        Ok(packets.truncated_at().map(|until| {
            let until = until.since(Time::ZERO);
            format!("note: {} has packets until {until}; --qlog-packets asks for more", path.display())
        }))
    }
}
