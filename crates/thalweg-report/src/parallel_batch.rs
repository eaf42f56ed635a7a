//! Parallel execution of simulations, with results in order.

use crate::results::Run;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration as WallTime, Instant};
use thalweg_sim::packet_trace::{NoTrace, Tracer};
use thalweg_sim::simulation_spec::Spec;
use thalweg_sim::{RunResult, Simulation, SpecError, Status};

/// One simulation of a batch.
#[derive(Clone, Debug)]
pub struct Job {
    /// The network and traffic to simulate.
    pub spec: Arc<Spec>,
    /// Seed in place of the specification's.
    pub seed: u64,
    /// Number of events to stop after, to reproduce an interrupted run.
    pub events: Option<u64>,
    /// Maximum number of threads for this simulation. It needs a partitionable network, no tracing and no event limit.
    pub threads: usize,
}

/// Progress and stop flag of a batch, shared with the user interface.
#[derive(Debug)]
pub struct Progress {
    /// Stop flag: running simulations stop, others do not start.
    pub stop: Arc<AtomicBool>,
    simulated: Vec<AtomicU64>,
    events: Vec<AtomicU64>,
    total: u64,
}

impl Progress {
    /// Creates the progress of `jobs`, none of them started.
    pub fn new(jobs: &[Job], stop: Arc<AtomicBool>) -> Self {
        let zeros = || jobs.iter().map(|_| AtomicU64::new(0)).collect();
        let total = jobs.iter().map(|job| u128::from(job.spec.duration.as_picos())).sum::<u128>();
        let total = u64::try_from(total / PICOS_PER_MICRO).unwrap_or(u64::MAX);
        Self { stop, simulated: zeros(), events: zeros(), total }
    }

    /// Returns the simulated time so far, in microseconds, summed over all simulations.
    pub fn simulated_micros(&self) -> u64 {
        let sum: u128 = self.simulated.iter().map(|time| u128::from(time.load(Ordering::Relaxed))).sum();
        u64::try_from(sum / PICOS_PER_MICRO).unwrap_or(u64::MAX)
    }

    /// Returns the simulated time of the whole batch, in microseconds.
    pub fn total_micros(&self) -> u64 {
        self.total
    }

    /// Returns the number of events handled so far.
    pub fn events(&self) -> u64 {
        self.events.iter().map(|events| events.load(Ordering::Relaxed)).sum()
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Error of a specification that cannot be simulated, or not to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedJob {
    /// Index of the job.
    pub job: usize,
    /// Cause.
    pub error: SpecError,
}

/// Runs `jobs` on up to `threads` threads.
///
/// `tracer` creates the tracer of each job, on the job's thread. `each` receives the results on the calling thread, in
/// the order of the jobs, as soon as all earlier ones are complete. `tick` is called on the calling thread several
/// times a second. Results come in both forms. The worker thread builds the document's form, so it reuses the memory
/// that the simulation freed. The calls of `each` do not depend on the number of threads.
///
/// # Errors
///
/// The first job with an invalid specification; the batch ends there.
pub fn run_jobs<T: Tracer + Send>(
    jobs: &[Job],
    threads: usize,
    progress: &Progress,
    tracer: impl Fn(usize) -> T + Sync,
    mut each: impl FnMut(usize, RunResult, Run, T),
    mut tick: impl FnMut(),
) -> Result<(), FailedJob> {
    let work = |number: usize| {
        let outcome = simulate_job(number, &jobs[number], progress, tracer(number));
        if outcome.is_err() {
            progress.stop.store(true, Ordering::Relaxed);
        }
        outcome
    };
    let mut failed = None;
    let done = |number, outcome: Outcome<T>| match outcome {
        _ if failed.is_some() => {}
        Ok((result, run, tracer)) => each(number, result, run, tracer),
        Err(error) => failed = Some(FailedJob { job: number, error }),
    };
    run_parallel(jobs.len(), threads, &progress.stop, work, done, &mut tick);
    failed.map_or(Ok(()), Err)
}

/// Calls `work` for each index below `count`, on up to `threads` threads, until `stop` is set. Then started calls
/// finish and no others start. `each` receives the results on the calling thread, in index order, as soon as all
/// earlier ones are complete. `tick` is called on the calling thread several times a second.
pub fn run_parallel<R: Send>(
    count: usize,
    threads: usize,
    stop: &AtomicBool,
    work: impl Fn(usize) -> R + Sync,
    mut each: impl FnMut(usize, R),
    mut tick: impl FnMut(),
) {
    let next = AtomicUsize::new(0);
    let serve = |results: &Sender<(usize, R)>| {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count || stop.load(Ordering::Relaxed) {
                return;
            }
            if results.send((number, work(number))).is_err() {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..threads.clamp(1, count.max(1)) {
            let (sender, serve) = (sender.clone(), &serve);
            scope.spawn(move || serve(&sender));
        }
        // The channel closes when the last worker ends.
        drop(sender);
        // Indices start in order and each started one yields a result, so no result waits for a missing one.
        let (mut early, mut due) = (BTreeMap::new(), 0);
        loop {
            match receiver.recv_timeout(PROGRESS_INTERVAL) {
                Ok((number, result)) => {
                    early.insert(number, result);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            while let Some(result) = early.remove(&due) {
                each(due, result);
                due += 1;
            }
            tick();
        }
    });
}

/// Measurements of a simulation, in both forms, with its tracer.
type Outcome<T> = Result<(RunResult, Run, T), SpecError>;

/// Runs one job on this thread, until its end or until `stop` is set.
///
/// # Errors
///
/// A specification that cannot be simulated, or not to its end.
pub fn run_single_job(job: &Job, stop: &Arc<AtomicBool>) -> Result<(RunResult, Run), SpecError> {
    let progress = Progress::new(core::slice::from_ref(job), Arc::clone(stop));
    simulate_job(0, job, &progress, NoTrace).map(|(result, run, _)| (result, run))
}

fn simulate_job<T: Tracer>(number: usize, job: &Job, progress: &Progress, tracer: T) -> Outcome<T> {
    let spec = Spec { seed: job.seed, ..Spec::clone(&job.spec) };
    let threads = if job.events.is_some() { 1 } else { job.threads };
    let mut simulation = Simulation::on_threads(&spec, tracer, threads)?;
    let max = job.events.unwrap_or(u64::MAX);
    let max_stride = if simulation.is_parallel() { MAX_PARALLEL_STRIDE } else { MAX_STRIDE };
    // The threads may have too few processors: measure the time per event before a long stride.
    let mut stride = MAX_STRIDE;
    while !progress.is_stopped() {
        let began = Instant::now();
        let status = simulation.advance(stride.min(max - simulation.events()));
        stride = next_stride(stride, max_stride, began.elapsed());
        progress.simulated[number].store(simulation.now().as_picos(), Ordering::Relaxed);
        progress.events[number].store(simulation.events(), Ordering::Relaxed);
        if status != Status::Running || simulation.events() == max {
            break;
        }
    }
    if let Some(error) = simulation.error() {
        return Err(error.clone());
    }
    let (result, tracer) = simulation.finish();
    let run = Run::from_result(&result);
    Ok((result, run, tracer))
}

const PICOS_PER_MICRO: u128 = 1_000_000;
/// Maximum number of events between two checks of the stop flag: usually less than a millisecond.
const MAX_STRIDE: u64 = 1 << 10;
/// Maximum stride of a parallel run. Threads start and join at each stride; starting sixteen takes half a millisecond.
const MAX_PARALLEL_STRIDE: u64 = 1 << 22;
/// Maximum time until a run reacts to the stop flag.
const STOP_LATENCY: WallTime = WallTime::from_millis(200);

/// Returns the number of events until the next check, from the duration of the last `stride`. A single event may send a
/// window of a million packets.
fn next_stride(stride: u64, max: u64, took: WallTime) -> u64 {
    if took > STOP_LATENCY {
        (stride / 16).max(1)
    } else if took > STOP_LATENCY / 4 {
        stride
    } else {
        (stride * 2).min(max)
    }
}
/// Interval between progress updates.
const PROGRESS_INTERVAL: WallTime = WallTime::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::test_fixtures::test_spec;
    use thalweg_sim::simulation_spec::NodeId;

    fn jobs(seeds: core::ops::Range<u64>) -> Vec<Job> {
        let spec = Arc::new(test_spec());
        seeds.map(|seed| Job { spec: Arc::clone(&spec), seed, events: None, threads: 1 }).collect()
    }

    fn results(jobs: &[Job], threads: usize) -> Vec<RunResult> {
        let progress = Progress::new(jobs, Arc::default());
        let mut results = Vec::new();
        run_jobs(jobs, threads, &progress, |_| NoTrace, |_, result, _, _| results.push(result), || ())
            .unwrap();
        results
    }

    #[test]
    fn slow_runs_poll_the_stop_flag_often() {
        let (slow, fast) = (WallTime::from_secs(3), WallTime::from_micros(300));
        let strides =
            core::iter::successors(Some(MAX_STRIDE), |&stride| Some(next_stride(stride, MAX_STRIDE, slow)));
        assert_eq!(strides.take(5).collect::<Vec<_>>(), [1024, 64, 4, 1, 1]);
        assert_eq!(
            (next_stride(1, MAX_STRIDE, fast), next_stride(MAX_STRIDE, MAX_STRIDE, fast)),
            (2, MAX_STRIDE)
        );
        assert_eq!(next_stride(64, MAX_STRIDE, STOP_LATENCY / 2), 64);
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let jobs = jobs(1..8);
        let one = results(&jobs, 1);
        assert_eq!(one, results(&jobs, 3));
        assert_eq!(one.iter().map(|result| result.seed).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7]);
        assert_ne!(one[0].fingerprint, one[1].fingerprint);
        assert!(one.iter().all(|result| result.conservation.holds() && result.is_complete));
    }

    #[test]
    fn a_stopped_run_can_be_repeated_to_the_same_event() {
        let mut jobs = jobs(1..2);
        jobs[0].events = Some(1000);
        let partial = results(&jobs, 1);
        assert_eq!((partial[0].events, partial[0].is_complete), (1000, false));
        assert_eq!(partial, results(&jobs, 1));
    }

    #[test]
    fn a_run_stopped_before_it_begins_has_no_results() {
        let jobs = jobs(1..4);
        let progress = Progress::new(&jobs, Arc::new(AtomicBool::new(true)));
        let mut seen = 0;
        run_jobs(&jobs, 2, &progress, |_| NoTrace, |_, _, _, _| seen += 1, || ()).unwrap();
        assert_eq!(seen, 0);
    }

    #[test]
    fn a_specification_without_sense_ends_the_batch() {
        let mut spec = test_spec();
        spec.groups[0].to = NodeId(7);
        let jobs = [Job { spec: Arc::new(spec), seed: 1, events: None, threads: 1 }];
        let progress = Progress::new(&jobs, Arc::default());
        let failed = run_jobs(&jobs, 2, &progress, |_| NoTrace, |_, _, _, _| (), || ()).unwrap_err();
        assert_eq!((failed.job, failed.error), (0, SpecError::NoNode { of: "flow".to_owned() }));
    }
}
