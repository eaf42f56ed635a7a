//! Runs a batch and collects its results.

use crate::animated_packet_selection::Replays;
use crate::batch_progress::Bar;
use crate::console_output::{Console, Error};
use crate::json_lines::{self, Lines, Meter};
use crate::packet_captures::{Captures, FileCapture};
use crate::sender_qlogs::{FileQlog, Qlogs};
use crate::sequence_diagrams::{FileSequence, Sequences};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_proto::units::Time;
use thalweg_report::output::{
    CsvSeries, CsvTransfers, Folder, FolderError, ParquetSeries, ParquetTransfers, RunKey,
};
use thalweg_report::parallel_batch::{self, Job, Progress};
use thalweg_report::report::{AllSeries, Recorder, Replay};
use thalweg_report::results::{Document, Drift, FairShares, Goal, GoodputSeries, Header, Run, StarvedFlows};
use thalweg_scenario::{LoadedScenario, Scenario};
use thalweg_sim::RunResult;
use thalweg_sim::packet_trace::{NoTrace, Record, Step, Tracer};
use thalweg_sim::simulation_spec::Spec;
use thalweg_sim::verify::Verifier;

/// A scheme, simulated with each seed.
#[derive(Clone, Debug)]
pub struct Scheme {
    /// Name of the scheme, if several are compared.
    pub name: Option<String>,
    /// Specification to simulate.
    pub spec: Arc<Spec>,
    /// Scenario of a named scheme, to be stored.
    scenario: Option<Box<Scenario>>,
}

impl Scheme {
    /// Creates a scheme from a scenario: as it is, or with its flows under the scheme `name`.
    pub fn new(name: Option<&str>, loaded: &LoadedScenario) -> Self {
        Self {
            name: name.map(str::to_owned),
            spec: Arc::new(loaded.spec().clone()),
            scenario: name.map(|_| Box::new(loaded.scenario.clone())),
        }
    }

    /// Stores the scenario of a compared scheme; a plain run's is stored with the folder.
    pub fn store(&self, folder: &Folder) -> Result<(), FolderError> {
        match (&self.name, &self.scenario) {
            (Some(name), Some(scenario)) => folder.write(&Folder::scheme_file(name), scenario.expanded()),
            _ => Ok(()),
        }
    }
}

/// A batch of runs: each scheme with each seed.
pub struct Execution<'a> {
    /// Header of the results: the scenario and its seeds.
    pub header: Header,
    /// One scheme without a name, or several with names.
    pub schemes: Vec<Scheme>,
    /// Target interval of `--until`, and minimum number of runs per scheme.
    pub until: Option<(Goal, usize)>,
    /// Number of parallel simulations; default: one per processor.
    pub jobs: Option<NonZeroUsize>,
    /// Number of threads per simulation; default: one.
    pub threads: Option<NonZeroUsize>,
    /// Number of events per run, ordered by seed, then scheme, to repeat interrupted runs.
    pub events: Option<Vec<u64>>,
    /// Packet captures.
    pub captures: Option<Captures>,
    /// Logs of the senders' events, as qlog.
    pub qlogs: Option<Qlogs>,
    /// Sequence diagrams.
    pub sequences: Option<Sequences>,
    /// Output of records during the run.
    pub lines: Option<Arc<Lines>>,
    /// All measurements, run by run, if requested.
    pub results: Option<Mutex<Vec<RunResult>>>,
    /// Verify every packet.
    pub verify: bool,
    /// Folder for series.
    pub folder: Option<&'a Folder>,
    /// Keep series for a page or a picture.
    pub keep_series: bool,
    /// Packets to keep for a page.
    pub replay: Option<Replays>,
    /// Set to stop early.
    pub stop: Arc<AtomicBool>,
}

impl Execution<'_> {
    /// Runs the batch; returns the results, and series and packets for a report. Runs seed by seed: after an
    /// interruption,
    /// the schemes are still comparable.
    pub fn run(&self, console: &Console) -> Result<(Document, AllSeries, Vec<Replay>), Error> {
        let jobs: Vec<Job> =
            (0..self.header.seeds.len() * self.schemes.len()).map(|run| self.job(run)).collect();
        let progress = Progress::new(&jobs, Arc::clone(&self.stop));
        let processors = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let of_each = self.threads.map_or(1, NonZeroUsize::get);
        let jobs_at_a_time = self.jobs.map_or_else(|| (processors() / of_each).max(1), NonZeroUsize::get);
        let bar = Bar::new(&progress, console);
        let status = RefCell::new(String::new());
        let mut gathered = BatchResults::new(self, &status)?;
        let show = || bar.show(&progress, &status.borrow());
        if let Some(lines) = &self.lines {
            let schemes = self.schemes.iter().filter_map(|scheme| scheme.name.as_deref()).collect();
            let interval = json_lines::record_interval(&self.schemes[0].spec);
            lines.write(&json_lines::Parameters::new(&self.header, schemes, interval));
        }
        let outcome = if self.is_watched() {
            let failed = Mutex::new(None);
            let traces = |run| self.traces(run, &failed);
            let each = |number, result: RunResult, run, traces| gathered.add(number, &result, run, traces);
            let outcome = parallel_batch::run_jobs(&jobs, jobs_at_a_time, &progress, traces, each, show);
            gathered.failed = gathered.failed.or(failed.into_inner().unwrap_or_else(PoisonError::into_inner));
            outcome
        } else {
            let each = |number, result: RunResult, run, trace| {
                gathered.add(number, &result, run, trace);
                if let Some(results) = &self.results {
                    results.lock().unwrap_or_else(PoisonError::into_inner).push(result);
                }
            };
            parallel_batch::run_jobs(&jobs, jobs_at_a_time, &progress, |_| NoTrace, each, show)
        };
        // Runs beyond those needed for `--until` are discarded.
        let kept = || gathered.runs.iter().flatten();
        if kept().next().is_some() {
            bar.finish(kept().map(|run| run.ended_s).sum(), kept().map(|run| run.events).sum(), console);
        } else {
            bar.clear();
        }
        gathered.notes.iter().for_each(|note| console.inform(note));
        if let Err(failed) = outcome {
            return Err(Error::Usage(format!("the scenario cannot be simulated: {}", failed.error)));
        }
        gathered.document()
    }

    /// Returns true if any tracer observes the packets.
    fn is_watched(&self) -> bool {
        self.captures.is_some()
            || self.qlogs.is_some()
            || self.sequences.is_some()
            || self.lines.is_some()
            || self.replay.is_some()
            || self.verify
    }

    fn scheme(&self, run: usize) -> &Scheme {
        &self.schemes[run % self.schemes.len()]
    }

    fn seed(&self, run: usize) -> u64 {
        self.header.seeds[run / self.schemes.len()]
    }

    fn job(&self, run: usize) -> Job {
        let events = self.events.as_ref().and_then(|events| events.get(run).copied());
        let threads = self.threads.map_or(1, NonZeroUsize::get);
        Job { spec: Arc::clone(&self.scheme(run).spec), seed: self.seed(run), events, threads }
    }

    /// Returns the tracers of a run.
    fn traces(&self, run: usize, failed: &Mutex<Option<Error>>) -> Tracers {
        let (scheme, seed) = (self.scheme(run), self.seed(run));
        let begin = |captures: &Captures| captures.begin(scheme.name.as_deref(), seed);
        let capture = self.captures.as_ref().map(begin).transpose().unwrap_or_else(|error| {
            let error = Error::Failed(format!("cannot write the packet capture: {error}"));
            failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            self.stop.store(true, Ordering::Relaxed);
            None
        });
        let meter = self
            .lines
            .as_ref()
            .map(|lines| Meter::new(Arc::clone(lines), run, scheme.name.as_deref(), seed, &scheme.spec));
        let verifier = self.verify.then(|| Verifier::new(&scheme.spec));
        let sequence = self.sequences.as_ref().map(|sequences| sequences.begin(scheme.name.as_deref(), seed));
        let qlog = self.qlogs.as_ref().map(|qlogs| qlogs.begin(scheme.name.as_deref(), seed, &scheme.spec));
        // Keep each scheme's packets of the first seed.
        let replay = self.replay.as_ref().filter(|_| run < self.schemes.len());
        let recorder = replay.map(|replay| {
            let recorder = replay.begin(&scheme.spec, self.schemes.len());
            (recorder, scheme.name.clone().unwrap_or_default())
        });
        Tracers { capture, qlog, meter, verifier, sequence, recorder }
    }
}

/// All tracers of a run.
struct Tracers {
    capture: Option<FileCapture>,
    qlog: Option<FileQlog>,
    meter: Option<Meter>,
    verifier: Option<Verifier>,
    sequence: Option<FileSequence>,
    /// Recorder, with the name of the scheme.
    recorder: Option<(Recorder, String)>,
}

impl Tracer for Tracers {
    fn needs(&self, step: Step, link_direction: u32) -> bool {
        // The other tracers need most steps.
        let has_others = self.qlog.is_some()
            || self.meter.is_some()
            || self.verifier.is_some()
            || self.sequence.is_some()
            || self.recorder.is_some();
        has_others || self.capture.needs(step, link_direction)
    }

    fn record(&mut self, record: &Record<'_>) {
        self.capture.record(record);
        self.meter.record(record);
        self.verifier.record(record);
        if let Some(qlog) = &mut self.qlog {
            qlog.packets.record(record);
        }
        if let Some(sequence) = &mut self.sequence {
            sequence.sequence.record(record);
        }
        if let Some((recorder, _)) = &mut self.recorder {
            recorder.record(record);
        }
    }

    fn gate(&mut self, time: Time, connection: u32, paused: bool) {
        self.verifier.gate(time, connection, paused);
    }

    fn on_warmup_end(&mut self, time: Time) {
        self.verifier.on_warmup_end(time);
    }
}

/// Results of a run's tracers.
#[derive(Debug, Default)]
struct TracerResults {
    /// Notes to print.
    notes: Vec<String>,
    /// Packets for a page.
    replay: Option<Replay>,
}

/// A tracer with a final action after its run.
trait FinishingTracer: Tracer {
    fn end(self, result: &RunResult) -> Result<TracerResults, Error>;
}

impl FinishingTracer for NoTrace {
    fn end(self, _result: &RunResult) -> Result<TracerResults, Error> {
        Ok(TracerResults::default())
    }
}

impl FinishingTracer for Tracers {
    fn end(self, result: &RunResult) -> Result<TracerResults, Error> {
        let Self { capture, qlog, meter, verifier, sequence, recorder } = self;
        if let Some(meter) = meter {
            meter.finish(result.end_time);
        }
        let finished = capture.map_or(Ok(()), |capture| capture.finish().map(drop));
        finished.map_err(|error| Error::Failed(format!("cannot write the packet capture: {error}")))?;
        let note = qlog.map_or(Ok(None), |qlog| qlog.finish(result))?;
        let empty = sequence.map_or(Ok(None), FileSequence::finish)?;
        let notes = note.into_iter().chain(empty).collect();
        let Some(Err(violations)) = verifier.map(|verifier| verifier.finish(result)) else {
            let replay = recorder.map(|(recorder, scheme)| recorder.finish(&scheme, result));
            return Ok(TracerResults { notes, replay });
        };
        let list: String = violations.iter().map(|violation| format!("\n  {violation}")).collect();
        Err(Error::Failed(format!(
            "seed {}: the replay found violations, which is a bug in the simulator; please report it{list}",
            result.seed
        )))
    }
}

/// Files of series, and of transfers if there are any.
pub struct TableFiles<'a> {
    folder: &'a Folder,
    csv: CsvSeries<BufWriter<File>>,
    parquet: ParquetSeries,
    transfers: Option<TransferFiles>,
}

/// Files of transfers.
type TransferFiles = (CsvTransfers<BufWriter<File>>, ParquetTransfers);

impl<'a> TableFiles<'a> {
    /// Creates the files in `folder`.
    pub fn new(folder: &'a Folder) -> Result<Self, Error> {
        let csv = CsvSeries::new(folder.file("series.csv")?).map_err(|error| cannot_write(&error))?;
        let parquet = ParquetSeries::new(folder.file("series.parquet")?);
        let parquet = parquet.map_err(|error| cannot_write(&error))?;
        Ok(Self { folder, csv, parquet, transfers: None })
    }

    /// Adds the series and transfers of a run; `scheme` is its name if several are compared.
    pub fn add(&mut self, scheme: &str, result: &RunResult) -> Result<(), Error> {
        let key = RunKey { scheme, seed: result.seed };
        let added = self.csv.add(key, result).and_then(|()| self.parquet.add(key, result));
        added.map_err(|error| cannot_write(&error))?;
        if result.transfer_list.is_empty() {
            return Ok(());
        }
        if self.transfers.is_none() {
            let csv = CsvTransfers::new(self.folder.file("transfers.csv")?);
            let parquet = ParquetTransfers::new(self.folder.file("transfers.parquet")?);
            let both = csv.and_then(|csv| Ok((csv, parquet?)));
            self.transfers = Some(both.map_err(|error| cannot_write(&error))?);
        }
        let Some((csv, parquet)) = &mut self.transfers else { return Ok(()) };
        let added = csv.add(key, result).and_then(|()| parquet.add(key, result));
        added.map_err(|error| cannot_write(&error))
    }

    /// Completes the files.
    pub fn finish(self) -> Result<(), Error> {
        let finished = self.csv.finish().map(drop).and_then(|()| self.parquet.finish());
        let finished = finished.and_then(|()| match self.transfers {
            Some((csv, parquet)) => csv.finish().map(drop).and_then(|()| parquet.finish()),
            None => Ok(()),
        });
        finished.map_err(|error| cannot_write(&error))
    }
}

/// Collected results of a batch.
struct BatchResults<'a> {
    execution: &'a Execution<'a>,
    runs: Vec<Vec<Run>>,
    /// Series per scheme, to detect drift.
    drift_series: Vec<GoodputSeries>,
    tables: Option<TableFiles<'a>>,
    all_series: AllSeries,
    replays: Vec<Replay>,
    notes: Vec<String>,
    failed: Option<Error>,
    /// Number of runs and current interval, for the progress; empty without `--until`.
    status: &'a RefCell<String>,
    /// Number of seeds that reached the target interval; later results are discarded.
    enough_seeds: Option<usize>,
}

impl<'a> BatchResults<'a> {
    fn new(execution: &'a Execution<'a>, status: &'a RefCell<String>) -> Result<Self, Error> {
        let tables = execution.folder.map(TableFiles::new).transpose()?;
        Ok(Self {
            execution,
            runs: vec![Vec::new(); execution.schemes.len()],
            drift_series: execution.schemes.iter().map(|scheme| GoodputSeries::new(&scheme.spec)).collect(),
            tables,
            all_series: AllSeries::default(),
            replays: Vec::new(),
            notes: Vec::new(),
            failed: None,
            status,
            enough_seeds: None,
        })
    }

    /// Adds the results of run `number`; runs are added in order.
    fn add(&mut self, number: usize, result: &RunResult, run: Run, trace: impl FinishingTracer) {
        if self.enough_seeds.is_some() {
            return;
        }
        let trace_result = trace.end(result).and_then(|TracerResults { notes, replay }| {
            self.notes.extend(notes);
            self.replays.extend(replay);
            self.add_tables(number, result)
        });
        if let Err(error) = trace_result {
            self.execution.stop.store(true, Ordering::Relaxed);
            self.failed.get_or_insert(error);
        }
        if result.transfers_left_out > 0 {
            self.notes.push(format!(
                "note: seed {}: {} transfers are counted and have no row in the table of transfers",
                result.seed, result.transfers_left_out
            ));
        }
        if let Some(lines) = &self.execution.lines {
            lines.next();
        }
        let scheme = number % self.runs.len();
        self.drift_series[scheme].add(result);
        self.runs[scheme].push(run);
        if scheme + 1 == self.runs.len() {
            self.check_intervals();
        }
    }

    /// Ends the batch if the intervals are narrow enough. Results are added in the order of seeds; the end does not
    /// depend
    /// on threads.
    fn check_intervals(&mut self) {
        let Some((goal, min)) = self.execution.until.clone() else { return };
        let runs = self.runs.iter().map(Vec::len).min().unwrap_or(0);
        let names = self.execution.schemes.iter().map(|scheme| scheme.name.as_deref().unwrap_or(""));
        let named: Vec<(&str, &[Run])> = names.zip(self.runs.iter().map(Vec::as_slice)).collect();
        let widest = goal.widest(&named);
        let interval = widest.as_ref().map(|widest| format!(", interval {:.2} %", 100.0 * widest.share));
        *self.status.borrow_mut() =
            format!("{runs} runs{} of {:.2} %; ", interval.unwrap_or_default(), 100.0 * goal.share);
        let is_complete = named.iter().all(|(_, runs)| runs.iter().all(|run| run.complete));
        // If no metric has an interval, more runs would not provide one.
        if is_complete && runs >= min && widest.is_none_or(|widest| widest.share <= goal.share) {
            self.enough_seeds = Some(runs);
            self.execution.stop.store(true, Ordering::Relaxed);
        }
    }

    fn add_tables(&mut self, run: usize, result: &RunResult) -> Result<(), Error> {
        let Scheme { name, .. } = self.execution.scheme(run);
        let scheme = name.as_deref().unwrap_or("");
        if self.execution.keep_series {
            self.all_series.add(RunKey { scheme, seed: result.seed }, result);
        }
        self.tables.as_mut().map_or(Ok(()), |tables| tables.add(scheme, result))
    }

    fn document(self) -> Result<(Document, AllSeries, Vec<Replay>), Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if let Some(error) = self.execution.lines.as_ref().and_then(|lines| lines.error()) {
            return Err(Error::Output(error));
        }
        if let Some(tables) = self.tables {
            tables.finish()?;
        }
        if self.runs.iter().all(Vec::is_empty) {
            return Err(Error::Failed("interrupted before anything was run".to_owned()));
        }
        let mut header = self.execution.header.clone();
        header.seeds.truncate(self.enough_seeds.unwrap_or(usize::MAX));
        let names: Option<Vec<String>> =
            self.execution.schemes.iter().map(|scheme| scheme.name.clone()).collect();
        let named = self.drift_series.iter().zip(&self.execution.schemes);
        let drifts: Vec<Drift> =
            named.flat_map(|(series, scheme)| series.drifts(scheme.name.as_deref(), header.margin)).collect();
        let schemes = self.execution.schemes.iter().zip(&self.runs);
        let starved: Vec<StarvedFlows> = schemes
            .flat_map(|(of, runs)| FairShares::from_spec(&of.spec).starved(of.name.as_deref(), runs))
            .collect();
        let mut document = match names {
            Some(names) => Document::from_comparison(header, names.into_iter().zip(self.runs).collect()),
            None => Document::from_runs(header, self.runs.into_iter().flatten().collect()),
        };
        document.drifts = drifts;
        document.starved = starved;
        let document = document.until(self.execution.until.as_ref().map(|(goal, _)| goal.clone()));
        Ok((document, self.all_series, self.replays))
    }
}

fn cannot_write(error: &io::Error) -> Error {
    Error::Failed(format!("cannot write series or transfers: {error}"))
}
