//! A run, as those who use this crate have it.

use crate::cut::cut;
use crate::error::SpecError;
use crate::event_loop::{EventLoop, Status};
use crate::parallel::Parallel;
use crate::result::RunResult;
use crate::spec::Spec;
use crate::trace::{NoTrace, Tracer};
use crate::tracing::{Traced, Untraced};
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

/// The two event loops there are. Both are compiled in this crate, whatever tracers others have.
#[derive(Debug)]
enum Run {
    /// Nothing is recorded; the tracer waits for the end.
    Untraced(Box<EventLoop<Untraced>>, Traced),
    /// The same on several threads.
    Parallel(Box<Parallel>, Traced),
    Traced(Box<EventLoop<Traced>>),
}

impl<T: Tracer> Simulation<T> {
    /// Builds the network and traffic of `spec`.
    ///
    /// # Errors
    ///
    /// When the specification makes no sense: an end or route that does not exist, a quantity that must not be zero,
    /// or more of something than the simulator can number.
    pub fn new(spec: &Spec, tracer: T) -> Result<Self, SpecError> {
        Self::on_threads(spec, tracer, 1)
    }

    /// The same on up to so many threads, where the network can be cut and nothing is traced. The results are the same.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn on_threads(spec: &Spec, tracer: T, threads: usize) -> Result<Self, SpecError> {
        let run = Run::new(spec, Traced(Box::new(tracer)), threads)?;
        Ok(Self { run, tracer: PhantomData })
    }

    /// True if several threads have parts of the run. They begin and end with each call of [`advance`](Self::advance), which
    /// pays for many thousands of events.
    pub fn is_parallel(&self) -> bool {
        matches!(self.run, Run::Parallel(..))
    }

    /// Handles up to `max_events` events, or some more on several threads. Between two calls the caller may show progress or give up.
    pub fn advance(&mut self, max_events: u64) -> Status {
        self.run.advance(max_events)
    }

    /// The error that ended the run before its time, of a part that is not of this project, with the simulated time.
    pub fn error(&self) -> Option<&SpecError> {
        match &self.run {
            Run::Untraced(run, _) => run.error.as_deref(),
            // What can break its contract is not cut.
            Run::Parallel(..) => None,
            Run::Traced(run) => run.error.as_deref(),
        }
    }

    /// The simulated time.
    pub fn now(&self) -> Time {
        match &self.run {
            Run::Untraced(run, _) => run.now,
            Run::Parallel(run, _) => run.now(),
            Run::Traced(run) => run.now,
        }
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        match &self.run {
            Run::Untraced(run, _) => run.events,
            Run::Parallel(run, _) => run.events(),
            Run::Traced(run) => run.events,
        }
    }

    /// Packets that have left a transmitter so far.
    pub fn hops(&self) -> u64 {
        match &self.run {
            Run::Untraced(run, _) => run.network.hops,
            Run::Parallel(run, _) => run.hops(),
            Run::Traced(run) => run.network.hops,
        }
    }

    /// The table of transmitters that packet traces refer to: each direction of each link of the specification in
    /// order (forward, then backward), with the link's name and the nodes it leads from and to.
    pub fn transmitters(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let links = match &self.run {
            Run::Untraced(run, _) => run.network.names.links.as_slice(),
            Run::Parallel(run, _) => run.links(),
            Run::Traced(run) => run.network.names.links.as_slice(),
        };
        links.iter().map(|(name, from, to)| (name.as_str(), from.as_str(), to.as_str()))
    }

    /// Ends the run, here if it has not reached its end, and tells what was measured.
    pub fn finish(self) -> (RunResult, T) {
        let (result, Traced(tracer)) = self.run.finish();
        let tracer: Box<dyn Any> = tracer;
        match tracer.downcast::<T>() {
            Ok(tracer) => (result, *tracer),
            Err(_) => unreachable!("the tracer is the one that the run was built with"),
        }
    }
}

impl Run {
    fn new(spec: &Spec, tracer: Traced, threads: usize) -> Result<Self, SpecError> {
        if tracer.0.is_enabled() {
            return Ok(Self::Traced(Box::new(crate::build::build(spec, tracer)?)));
        }
        let run = crate::build::build(spec, Untraced)?;
        Ok(match cut(spec, threads) {
            Some(cut) => Self::Parallel(Box::new(Parallel::new(spec, run, cut)), tracer),
            None => Self::Untraced(Box::new(run), tracer),
        })
    }

    fn advance(&mut self, max_events: u64) -> Status {
        match self {
            Self::Untraced(run, _) => run.advance(max_events),
            Self::Parallel(run, _) => run.advance(max_events),
            Self::Traced(run) => run.advance(max_events),
        }
    }

    fn finish(self) -> (RunResult, Traced) {
        match self {
            Self::Untraced(run, tracer) => (run.finish().0, tracer),
            Self::Parallel(run, tracer) => (run.finish(), tracer),
            Self::Traced(run) => run.finish(),
        }
    }
}
