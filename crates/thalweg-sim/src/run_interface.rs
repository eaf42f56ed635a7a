//! The public interface of a run: start, advance, results.

use crate::event_loop::{EventLoop, Status};
use crate::measure::Recorder;
use crate::packet_trace::{NoTrace, Tracer};
use crate::packet_tracing::{DirectTracing, Untraced};
use crate::parallel_run::Parallel;
use crate::partition::partition_run;
use crate::partition_record_merge::PartitionRecordBuffer;
use crate::run_result::{RunResult, Series};
use crate::simulation_spec::Spec;
use crate::spec_error::SpecError;
use core::any::Any;
use core::marker::PhantomData;
use thalweg_proto::units::Time;

/// A run: built from a [`Spec`], advanced, then finished.
///
/// The same specification gives the same results on every machine, however it is advanced.
#[derive(Debug)]
pub struct Simulation<T: Tracer = NoTrace> {
    run: Run,
    tracer: PhantomData<T>,
}

/// The kinds of event loop. All are compiled in this crate, whatever tracers callers use.
#[derive(Debug)]
enum Run {
    /// Records nothing; the tracer is returned at the end.
    Untraced(Box<EventLoop<Untraced>>, DirectTracing),
    /// Runs on several threads and records nothing.
    Parallel(Box<Parallel<Untraced>>, DirectTracing),
    /// Runs on several threads and buffers records for a tracer.
    Recorded(Box<Parallel<PartitionRecordBuffer>>),
    Traced(Box<EventLoop<DirectTracing>>),
}

impl<T: Tracer> Simulation<T> {
    /// Builds the network and traffic of `spec`.
    ///
    /// # Errors
    ///
    /// The specification is invalid: a node or route does not exist, a quantity that must be positive is zero, or there
    /// are more items than the simulator can number.
    pub fn new(spec: &Spec, tracer: T) -> Result<Self, SpecError> {
        Self::on_threads(spec, tracer, 1)
    }

    /// Builds the run on up to `threads` threads, if the network can be partitioned. Results and records are the same
    /// as on one thread. The tracer receives the records on the calling thread.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn on_threads(spec: &Spec, tracer: T, threads: usize) -> Result<Self, SpecError> {
        let run = Run::new(spec, DirectTracing(Box::new(tracer)), threads)?;
        Ok(Self { run, tracer: PhantomData })
    }

    /// Returns true if the run is partitioned over several threads. They start and end with each call of
    /// [`advance`](Self::advance), which is faster from many thousands of events on.
    pub fn is_parallel(&self) -> bool {
        matches!(self.run, Run::Parallel(..) | Run::Recorded(_))
    }

    /// Handles up to `max_events` events, or slightly more on several threads. Between two calls the caller may show
    /// progress or abort.
    pub fn advance(&mut self, max_events: u64) -> Status {
        self.run.advance(max_events)
    }

    /// Returns the error of a third-party component that ended the run early, with the simulated time.
    pub fn error(&self) -> Option<&SpecError> {
        match &self.run {
            Run::Untraced(run, _) => run.ending.error(),
            // Runs with third-party components are never partitioned.
            Run::Parallel(..) | Run::Recorded(_) => None,
            Run::Traced(run) => run.ending.error(),
        }
    }

    /// Returns the simulated time.
    pub fn now(&self) -> Time {
        match &self.run {
            Run::Untraced(run, _) => run.now,
            Run::Parallel(run, _) => run.now(),
            Run::Recorded(run) => run.now(),
            Run::Traced(run) => run.now,
        }
    }

    /// Returns the number of events handled so far.
    pub fn events(&self) -> u64 {
        match &self.run {
            Run::Untraced(run, _) => run.measurements.tally.events(),
            Run::Parallel(run, _) => run.events(),
            Run::Recorded(run) => run.events(),
            Run::Traced(run) => run.measurements.tally.events(),
        }
    }

    /// Returns the number of packets transmitted so far, each hop counted.
    pub fn hops(&self) -> u64 {
        match &self.run {
            Run::Untraced(run, _) => run.network.hops,
            Run::Parallel(run, _) => run.hops(),
            Run::Recorded(run) => run.hops(),
            Run::Traced(run) => run.network.hops,
        }
    }

    /// Returns the series recorded so far; none on several threads, where each records its own.
    pub fn series(&self) -> impl Iterator<Item = &Series> {
        let recorders = match &self.run {
            Run::Untraced(run, _) => run.measurements.series.recorders(),
            Run::Parallel(..) | Run::Recorded(_) => &[],
            Run::Traced(run) => run.measurements.series.recorders(),
        };
        recorders.iter().map(Recorder::series)
    }

    /// Returns the name of a flow by its position in [`RunResult::flows`]; `None` on several threads, or without such a
    /// flow.
    pub fn flow_name(&self, flow: u32) -> Option<String> {
        match &self.run {
            Run::Untraced(run, _) => run.traffic.flow_name(flow),
            Run::Parallel(..) | Run::Recorded(_) => None,
            Run::Traced(run) => run.traffic.flow_name(flow),
        }
    }

    /// Returns the table of transmitters that packet traces refer to: each direction of each link of the specification
    /// in order (forward, then backward), with the link's name, its source node and its destination node.
    pub fn transmitters(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let links = match &self.run {
            Run::Untraced(run, _) => run.network.names.links.as_slice(),
            Run::Parallel(run, _) => run.links(),
            Run::Recorded(run) => run.links(),
            Run::Traced(run) => run.network.names.links.as_slice(),
        };
        links.iter().map(|(name, from, to)| (name.as_str(), from.as_str(), to.as_str()))
    }

    /// Ends the run, early if it has not reached its end, and returns its results and the tracer.
    pub fn finish(self) -> (RunResult, T) {
        let (result, DirectTracing(tracer)) = self.run.finish();
        let tracer: Box<dyn Any> = tracer;
        match tracer.downcast::<T>() {
            Ok(tracer) => (result, *tracer),
            Err(_) => unreachable!("the tracer is the one that the run was built with"),
        }
    }
}

impl Run {
    fn new(spec: &Spec, tracer: DirectTracing, threads: usize) -> Result<Self, SpecError> {
        if tracer.0.is_enabled() {
            return Self::with_direct_tracing(spec, tracer, threads);
        }
        let run = crate::run_builder::build_run(spec, Untraced)?;
        Ok(match partition_run(spec, threads) {
            Some(cut) => Self::Parallel(Box::new(Parallel::new(spec, run, cut, None)), tracer),
            None => Self::Untraced(Box::new(run), tracer),
        })
    }

    fn with_direct_tracing(spec: &Spec, tracer: DirectTracing, threads: usize) -> Result<Self, SpecError> {
        let Some(partitioning) = partition_run(spec, threads) else {
            return Ok(Self::Traced(Box::new(crate::run_builder::build_run(spec, tracer)?)));
        };
        let mut run = crate::run_builder::build_run(spec, PartitionRecordBuffer::default())?;
        run.tracing = PartitionRecordBuffer::for_tracer(&tracer, run.network.transmitters.len());
        Ok(Self::Recorded(Box::new(Parallel::new(spec, run, partitioning, Some(tracer)))))
    }

    fn advance(&mut self, max_events: u64) -> Status {
        match self {
            Self::Untraced(run, _) => run.advance(max_events),
            Self::Parallel(run, _) => run.advance(max_events),
            Self::Recorded(run) => run.advance(max_events),
            Self::Traced(run) => run.advance(max_events),
        }
    }

    fn finish(self) -> (RunResult, DirectTracing) {
        match self {
            Self::Untraced(run, tracer) => (run.finish().0, tracer),
            Self::Parallel(run, tracer) => (run.finish().0, tracer),
            Self::Recorded(run) => match run.finish() {
                (result, Some(tracer)) => (result, tracer),
                (_, None) => unreachable!("what is recorded is told to a tracer"),
            },
            Self::Traced(run) => run.finish(),
        }
    }
}
