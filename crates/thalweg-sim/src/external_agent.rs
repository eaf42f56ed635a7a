//! Flows with externally controlled windows: a run stops whenever an agent must decide, and resumes with its decision.
//!
//! The scheme [`AGENT`] marks such flows. An [`Episode`] is a run with at least one of them: it advances to the next
//! decision, reports what the flow observed since the previous one, and accepts a new decision. Everything else works
//! as in any other run: under the same seed, classic schemes have the same traffic and losses.

use crate::event_loop::{EventLoop, Status};
use crate::packet_tracing::Untraced;
use crate::run_result::RunResult;
use crate::simulation_spec::{GroupSpec, Spec, WorkloadSpec};
use crate::spec_error::SpecError;
use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thalweg_catalog::option_keys::key;
use thalweg_catalog::schemes::window::{SACK, external_scheme, window_keys};
use thalweg_catalog::{EndpointConfigs, Key, Kind, Range, SchemeDescription, Values};
use thalweg_proto::Ecn;
use thalweg_proto::congestion::delivery_rate::Stamp;
use thalweg_proto::congestion::event_accumulator::{Observation, Observer};
use thalweg_proto::congestion::{
    AckSample, CeResponse, ConfigureController, ConnectionState, Controller, Decision, LossSample,
    LostSample, SentSample,
};
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_proto::window::{ControllerConfig, ExternalController};

/// The scheme of flows that an agent controls. Outside an [`Episode`] the window stays at its initial value.
pub static AGENT: SchemeDescription = external_scheme::<AgentConfig>(
    "Window set by an external program, such as a learning agent.",
    window_keys(KEYS, SACK),
);

const KEYS: &[Key] = &[
    key("initial-window", Kind::Packets, "10 pkt", "The window before the first decision.")
        .within(Range::between(1.0, 1_048_576.0), ""),
    key(
        "l4s",
        Kind::Switch,
        "false",
        "Packets leave with ECT(1) (RFC 9331), in place of the ECT(0) of `ecn`.",
    ),
];

/// Maximum window that an agent may set, in segments.
pub const MAX_WINDOW: f64 = (1 << 30) as f64;

/// Configuration of a flow controlled by an agent.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// Window before the first decision, in segments.
    pub initial_window: f64,
    /// Sends packets with ECT(1), whatever the sender's ECN setting.
    pub l4s: bool,
    state: Arc<AgentState>,
}

impl PartialEq for AgentConfig {
    fn eq(&self, other: &Self) -> bool {
        (self.initial_window, self.l4s) == (other.initial_window, other.l4s)
    }
}

impl thalweg_catalog::KeyBoundConfig for AgentConfig {
    fn from_values(values: &Values) -> Self {
        let (initial_window, l4s) = (values.required("initial-window"), values.required("l4s"));
        Self { initial_window, l4s, state: Arc::default() }
    }

    fn write_to(&self, values: &mut Values) {
        values.set_from("initial-window", &self.initial_window);
        values.set_from("l4s", &self.l4s);
    }
}

impl ConfigureController for AgentConfig {
    type Controller = Agent;
    const NAME: &'static str = "agent";

    fn make(&self) -> Agent {
        if self.state.window.load(Ordering::Relaxed) == 0 {
            self.state.decide(Decision::window(self.initial_window));
        }
        Agent(Arc::clone(&self.state))
    }

    fn ce_response(&self) -> CeResponse {
        if self.l4s { CeResponse::ControllerSpecific(Ecn::Ect1) } else { CeResponse::AsToLoss }
    }
}

/// State shared between a flow and the agent that controls it.
#[derive(Debug, Default)]
struct AgentState {
    /// Bits of the window (`f64`); zero until one is set.
    window: AtomicU64,
    /// Pacing rate in bit/s; zero for none.
    rate: AtomicU64,
    observer: Mutex<Observer>,
    /// A round trip has ended since the last decision.
    is_due: AtomicBool,
    /// Set when a round trip of any flow of the run ends; `None` where no agent decides per round trip.
    decision_due: Option<Arc<AtomicBool>>,
}

impl AgentState {
    fn decide(&self, decision: Decision) {
        self.window.store(decision.window.to_bits(), Ordering::Relaxed);
        self.rate.store(decision.pacing_rate.map_or(0, Rate::as_bits_per_sec), Ordering::Relaxed);
    }

    fn decision(&self) -> Decision {
        let rate = self.rate.load(Ordering::Relaxed);
        Decision {
            window: f64::from_bits(self.window.load(Ordering::Relaxed)),
            pacing_rate: (rate > 0).then(|| Rate::from_bits_per_sec(rate)),
            burst: 1,
        }
    }

    fn observer(&self) -> MutexGuard<'_, Observer> {
        self.observer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Congestion controller of a flow controlled by an agent.
#[derive(Clone, Debug)]
pub struct Agent(Arc<AgentState>);

impl Controller for Agent {
    type PacketInfo = Stamp;
    const DECIDES_BETWEEN_EVENTS: bool = true;

    fn on_sent(&mut self, sample: &SentSample) -> Stamp {
        self.0.observer().on_sent(sample)
    }

    fn on_ack(&mut self, sample: &AckSample, stamp: Stamp) {
        let round_ends = self.0.observer().on_ack(sample, stamp);
        if let Some(decision_due) = self.0.decision_due.as_ref().filter(|_| round_ends) {
            self.0.is_due.store(true, Ordering::Relaxed);
            decision_due.store(true, Ordering::Relaxed);
        }
    }

    fn on_loss(&mut self, _sample: &LossSample) {}

    fn on_packet_lost(&mut self, sample: &LostSample, _stamp: Stamp) {
        self.0.observer().on_packet_lost(sample);
    }

    fn on_app_limited(&mut self, connection: &ConnectionState) {
        let window = self.0.decision().window;
        self.0.observer().on_app_limited(connection, window);
    }

    /// Undoes nothing: the agent's decision stands.
    fn would_undo(&self, _before: &Self) -> bool {
        false
    }

    fn decision(&self) -> Decision {
        self.0.decision()
    }
}

/// Schedule of decision requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// At the end of each packet-timed round trip of an agent's flow, and at the latest after this time without one.
    RoundTrip(Duration),
    /// At this interval, for all agents at once.
    Interval(Duration),
}

/// Reason why an [`Episode`] stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A decision is required.
    DecisionDue,
    /// The end of the specified duration has been reached.
    Finished,
    /// A third-party component violated its contract; see [`Episode::error`].
    Broken,
    /// The caller of [`Episode::advance_unless`] interrupted the step.
    Interrupted,
}

/// Reason why an [`Episode`] cannot be built from a specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EpisodeError {
    /// No flow has the scheme [`AGENT`].
    NoAgent,
    /// A group with the scheme [`AGENT`] does not have exactly one flow with one connection.
    NotOne {
        /// The group.
        group: String,
    },
    /// The step length is zero.
    NoStep,
    /// The specification is invalid.
    Spec(SpecError),
}

impl fmt::Display for EpisodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAgent => f.write_str("no flow has the scheme `agent`, and there is nothing to decide"),
            Self::NotOne { group } => write!(
                f,
                "`{group}` has the scheme `agent` for several flows or transfers: an agent decides for one; write a flow for each"
            ),
            Self::NoStep => f.write_str("a step must be longer than zero"),
            Self::Spec(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for EpisodeError {}

/// A decision that has not taken effect yet.
#[derive(Clone, Copy, Debug)]
struct PendingDecision {
    at: Time,
    agent: usize,
    decision: Decision,
}

/// Number of events after which a step asks if it is interrupted, some milliseconds of computation.
const EVENTS_BETWEEN_POLLS: u32 = 1 << 15;

/// A run that stops for the decisions of agents.
#[derive(Debug)]
pub struct Episode {
    run: Box<EventLoop<Untraced>>,
    step: Step,
    decision_due: Arc<AtomicBool>,
    /// Shared state and flow number of each agent.
    agents: Vec<(Arc<AgentState>, u32)>,
    /// Delayed decisions, in order of time.
    pending: Vec<PendingDecision>,
    stopped_at: Time,
}

impl Episode {
    /// Builds the run of `spec`. Its agents are the flows with the scheme [`AGENT`], in order.
    ///
    /// # Errors
    ///
    /// There is no agent, an agent's group has several flows, or the specification is invalid.
    pub fn new(spec: &Spec, step: Step) -> Result<Self, EpisodeError> {
        let (Step::RoundTrip(length) | Step::Interval(length)) = step;
        if length.is_zero() {
            return Err(EpisodeError::NoStep);
        }
        let decision_due = Arc::new(AtomicBool::new(false));
        let mut spec = spec.clone();
        let (mut agents, mut flow) = (Vec::new(), 0);
        for group in &mut spec.groups {
            let decision_due = matches!(step, Step::RoundTrip(_)).then(|| Arc::clone(&decision_due));
            if let Some(state) = attach_agent(group, decision_due)? {
                agents.push((state, flow));
            }
            flow += group.count;
        }
        if agents.is_empty() {
            return Err(EpisodeError::NoAgent);
        }
        let run = Box::new(crate::run_builder::build_run(&spec, Untraced).map_err(EpisodeError::Spec)?);
        Ok(Self { run, step, decision_due, agents, pending: Vec::new(), stopped_at: Time::ZERO })
    }

    /// Returns the number of agents.
    pub fn agents(&self) -> usize {
        self.agents.len()
    }

    /// Applies an agent's decision `delay` from now. Returns false and changes nothing if the decision is invalid: a
    /// window that is NaN, below one segment or above [`MAX_WINDOW`], or a pacing rate of zero.
    pub fn decide(&mut self, agent: usize, decision: Decision, delay: Duration) -> bool {
        let is_sound = (1.0..=MAX_WINDOW).contains(&decision.window)
            && decision.pacing_rate.is_none_or(|rate| !rate.is_zero());
        if !is_sound || agent >= self.agents.len() {
            return false;
        }
        if delay.is_zero() {
            self.apply(agent, decision);
        } else {
            let at = self.now() + delay;
            let place = self.pending.partition_point(|other| other.at <= at);
            self.pending.insert(place, PendingDecision { at, agent, decision });
        }
        true
    }

    fn apply(&mut self, agent: usize, decision: Decision) {
        let (state, flow) = &self.agents[agent];
        state.decide(decision);
        self.run.prompt(*flow);
    }

    /// Advances time to the next decision, or to the end of an agent's flow: the last step would otherwise count time without data.
    pub fn advance(&mut self) -> Stop {
        self.advance_unless(&|| false)
    }

    /// Does the same, and asks every 32,768 events if it is interrupted: a step takes seconds if it has millions of events.
    pub fn advance_unless(&mut self, is_interrupted: &dyn Fn() -> bool) -> Stop {
        for (state, _) in &self.agents {
            state.is_due.store(false, Ordering::Relaxed);
        }
        self.decision_due.store(false, Ordering::Relaxed);
        let (Step::RoundTrip(length) | Step::Interval(length)) = self.step;
        let latest = self.stopped_at + length;
        let over = self.count_over();
        let mut budget = EVENTS_BETWEEN_POLLS;
        loop {
            if budget == 0 {
                if is_interrupted() {
                    return self.stop(Stop::Interrupted);
                }
                budget = EVENTS_BETWEEN_POLLS;
            }
            let until = self.pending.first().map_or(latest, |pending| pending.at.min(latest));
            match self.run.advance_until(until, &self.decision_due, &mut budget) {
                Status::Finished => return self.stop(Stop::Finished),
                Status::Broken => return self.stop(Stop::Broken),
                Status::Running => {}
            }
            if self.decision_due.load(Ordering::Relaxed) || self.count_over() > over {
                return self.stop(Stop::DecisionDue);
            }
            while let Some(&PendingDecision { agent, decision, .. }) =
                self.pending.first().filter(|pending| pending.at <= self.now())
            {
                self.pending.remove(0);
                self.apply(agent, decision);
            }
            if self.now() >= latest {
                return self.stop(Stop::DecisionDue);
            }
        }
    }

    fn stop(&mut self, stop: Stop) -> Stop {
        self.stopped_at = self.now();
        stop
    }

    /// Returns true if a round trip of this agent's flow ended during the last advance.
    pub fn is_due(&self, agent: usize) -> bool {
        self.agents.get(agent).is_some_and(|(state, _)| state.is_due.load(Ordering::Relaxed))
    }

    /// Returns the observations of an agent's flow since the previous call, and begins a new observation span.
    pub fn observe(&mut self, agent: usize) -> Option<Observation> {
        let (state, _) = self.agents.get(agent)?;
        let now = self.now();
        let mut observer = state.observer();
        let observation = observer.observe(now);
        observer.begin(now);
        Some(observation)
    }

    /// Returns the decision in force for an agent.
    pub fn decision(&self, agent: usize) -> Option<Decision> {
        self.agents.get(agent).map(|(state, _)| state.decision())
    }

    /// Returns true if an agent's flow has delivered all its data or has given up.
    pub fn is_over(&self, agent: usize) -> bool {
        self.agents.get(agent).is_some_and(|(_, flow)| self.run.traffic.is_over(*flow))
    }

    /// Returns the number of agents whose flow is over.
    fn count_over(&self) -> usize {
        (0..self.agents.len()).filter(|agent| self.is_over(*agent)).count()
    }

    /// Returns the simulated time.
    pub fn now(&self) -> Time {
        self.run.now
    }

    /// Returns the error that ended the run early.
    pub fn error(&self) -> Option<&SpecError> {
        self.run.ending.error()
    }

    /// Ends the run and returns its results.
    pub fn finish(self) -> RunResult {
        self.run.finish().0
    }
}

/// Sets the ECN codepoint of all agents' packets, overriding the scenario.
pub fn set_codepoint(spec: &mut Spec, codepoint: Ecn) {
    for group in &mut spec.groups {
        let EndpointConfigs::Window(ends) = &mut group.transport.endpoint_configs else { continue };
        let ControllerConfig::Dedicated(dedicated) = &ends.controller else { continue };
        let Some(config) = dedicated.config::<AgentConfig>() else { continue };
        let config = AgentConfig { l4s: codepoint == Ecn::Ect1, ..config.clone() };
        ends.controller = ControllerConfig::Dedicated(ExternalController::new(config));
        Arc::make_mut(&mut ends.sender).ecn = codepoint == Ecn::Ect0;
    }
}

/// Returns the state shared with the flow of a group if an agent controls it, and configures the group with that state.
fn attach_agent(
    group: &mut GroupSpec,
    decision_due: Option<Arc<AtomicBool>>,
) -> Result<Option<Arc<AgentState>>, EpisodeError> {
    let EndpointConfigs::Window(ends) = &mut group.transport.endpoint_configs else { return Ok(None) };
    let ControllerConfig::Dedicated(dedicated) = &ends.controller else { return Ok(None) };
    let Some(&AgentConfig { initial_window, l4s, .. }) = dedicated.config() else { return Ok(None) };
    let has_several =
        group.workload.has_transfers() || matches!(group.workload, WorkloadSpec::RequestResponse { .. });
    if group.count != 1 || has_several {
        return Err(EpisodeError::NotOne { group: group.name.clone() });
    }
    let state = Arc::new(AgentState { decision_due, ..AgentState::default() });
    let config = AgentConfig { initial_window, l4s, state: Arc::clone(&state) };
    ends.controller = ControllerConfig::Dedicated(ExternalController::new(config));
    Ok(Some(state))
}
