//! `--trace sequence`: sequence diagrams of a batch, as SVG and text per run, and with `--png` as PNG.

use crate::console_output::Error;
use crate::output_file_names::{file_name, file_names};
use crate::simulation_arguments::Options;
use std::fs;
use std::path::{Path, PathBuf};
use thalweg_proto::units::{Duration, Time};
use thalweg_report::output::render_png;
use thalweg_report::output::sequence_diagram::{MAX_IN_PIXELS, Sequence, View};
use thalweg_scenario::nearest_name;
use thalweg_sim::simulation_spec::Spec;

/// Output files of diagrams.
#[derive(Clone, Debug)]
pub struct Sequences {
    view: View,
    /// Path without extension.
    path: PathBuf,
    title: String,
    /// True if there are several runs, each with files of its own.
    several: bool,
    /// Also write PNG files.
    in_pixels: bool,
}

/// Diagram of one run.
#[derive(Debug)]
pub struct FileSequence {
    /// The tracer of packets.
    pub sequence: Sequence,
    path: PathBuf,
    title: String,
    in_pixels: bool,
}

impl Sequences {
    /// Returns the diagrams requested in `options`; file names derive from `path`.
    pub fn new(
        options: &Options,
        spec: &Spec,
        title: &str,
        path: &Path,
        several: bool,
    ) -> Result<Self, Error> {
        let from = options.trace_from.unwrap_or(Duration::ZERO);
        let until = options.trace_until.unwrap_or(Duration::MAX);
        if until <= from {
            return Err(Error::Usage(format!("--trace-until {until} is not after --trace-from {from}")));
        }
        let in_pixels = options.png.is_some();
        if in_pixels && options.trace_packets.get() > MAX_IN_PIXELS {
            return Err(Error::Usage(format!(
                "--png draws {MAX_IN_PIXELS} packets of a sequence at most, not the {} of --trace-packets; leave --png \
                 out for them all as SVG",
                options.trace_packets
            )));
        }
        let view = View {
            flow: flow_index(options.trace_flow.as_deref(), spec)?,
            times: Time::ZERO + from..Time::ZERO + until,
            max: options.trace_packets.get() as usize,
        };
        Ok(Self { view, path: path.to_owned(), title: title.to_owned(), several, in_pixels })
    }

    /// Begins the diagram of one run.
    pub fn begin(&self, scheme: Option<&str>, seed: u64) -> FileSequence {
        let scheme_title = scheme.map(|name| format!(", {name}")).unwrap_or_default();
        FileSequence {
            sequence: Sequence::new(self.view.clone()),
            path: if self.several { file_name(&self.path, scheme, seed, "") } else { self.path.clone() },
            title: format!("{}{scheme_title}", self.title),
            in_pixels: self.in_pixels,
        }
    }

    /// Returns the picture, or the name pattern for several runs; the other files are beside it.
    pub fn written(&self) -> PathBuf {
        if self.several { file_names(&self.path, ".svg") } else { with_ending(&self.path, ".svg") }
    }
}

impl FileSequence {
    /// Writes the pictures and the text; returns a note if they are empty.
    pub fn finish(self) -> Result<Option<String>, Error> {
        let write = |ending: &str, content: &[u8]| {
            let path = with_ending(&self.path, ending);
            fs::write(&path, content)
                .map_err(|error| Error::Failed(format!("cannot write {}: {error}", path.display())))
        };
        let svg = self.sequence.svg(&self.title);
        write(".svg", svg.as_bytes())?;
        if self.in_pixels {
            write(".png", &render_png(&svg)?)?;
        }
        write(".txt", self.sequence.text().as_bytes())?;
        let empty = "note: the sequence diagram is empty: the flow sent nothing in the time that it shows";
        Ok((self.sequence.counts().0 == 0).then(|| empty.to_owned()))
    }
}

/// Appends an extension. `with_extension` would replace a part of the name after a dot.
fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut path = path.to_owned().into_os_string();
    path.push(ending);
    path.into()
}

/// Returns the index of the flow with this name; by default the first.
fn flow_index(name: Option<&str>, spec: &Spec) -> Result<u32, Error> {
    let Some(name) = name else { return Ok(0) };
    let mut first = 0;
    for group in &spec.groups {
        if group.count == 1 && group.name == name {
            return Ok(first);
        }
        let number = name.strip_prefix(group.name.as_str()).and_then(|rest| rest.strip_prefix('.'));
        if let Some(number) = number.and_then(|number| number.parse::<u32>().ok())
            && (1..=group.count).contains(&number)
        {
            return Ok(first + number - 1);
        }
        first += group.count;
    }
    let names: Vec<String> = spec
        .groups
        .iter()
        .map(|group| if group.count == 1 { group.name.clone() } else { format!("{}.1", group.name) })
        .collect();
    let hint = nearest_name(name, names.iter().map(String::as_str)).map_or_else(
        || format!("there are {}", names.join(", ")),
        |nearest| format!("did you mean `{nearest}`?"),
    );
    Err(Error::argument("trace-flow", format!("there is no flow `{name}`; {hint}")))
}
