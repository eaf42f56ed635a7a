//! Packet captures of a batch, one file per run.

use crate::console_output::Error;
use crate::output_file_names::RunFiles;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;
use thalweg_capture::pcap::{Capture, Point};
use thalweg_scenario::nearest_name;
use thalweg_sim::simulation_spec::Spec;

/// A capture into a file.
pub type FileCapture = Capture<BufWriter<File>>;

/// Capture point and output file.
#[derive(Clone, Debug)]
pub struct Captures {
    point: Point,
    files: RunFiles,
}

impl Captures {
    /// Captures at `place` in `spec` into `path`, or into one file per run, with names derived from it, for `several`
    /// runs.
    pub fn new(place: &str, spec: &Spec, path: PathBuf, several: bool) -> Result<Self, Error> {
        Ok(Self { point: find_capture_point(place, spec)?, files: RunFiles::new(path, ".pcap", several) })
    }

    /// Begins the capture of one run.
    pub fn begin(&self, scheme: Option<&str>, seed: u64) -> io::Result<FileCapture> {
        let file = BufWriter::new(File::create(self.files.of(scheme, seed))?);
        Capture::new(file, self.point.clone())
    }

    /// Returns the output file, or the name pattern for several runs.
    pub fn output_path(&self) -> PathBuf {
        self.files.all()
    }
}

/// Returns the capture point named `place`: the flows' sources or sinks, or both directions of a link.
fn find_capture_point(place: &str, spec: &Spec) -> Result<Point, Error> {
    match place {
        "source" => return Ok(Point::Source),
        "sink" => return Ok(Point::Sink),
        _ => {}
    }
    // The simulation numbers transmitters in this order: each link's forward direction, then its backward one.
    let links = (0u32..).zip(&spec.links).filter(|(_, link)| link.name == place);
    let transmitters: Vec<u32> = links.flat_map(|(link, _)| [2 * link, 2 * link + 1]).collect();
    if !transmitters.is_empty() {
        return Ok(Point::Transmitters(transmitters));
    }
    let names = spec.links.iter().map(|link| link.name.as_str()).chain(["source", "sink"]);
    let hint = nearest_name(place, names).map_or_else(
        || "give `source`, `sink` or the name of a link".to_owned(),
        |name| format!("did you mean `{name}`?"),
    );
    Err(Error::Usage(format!("there is no link `{place}` to capture at; {hint}")))
}
