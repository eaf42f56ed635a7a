//! Congestion controllers in the page's own language: the adapter that senders use.

use core::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use thalweg_catalog::SchemeDescription;
use thalweg_catalog::schemes::window::named_scheme;
use thalweg_proto::congestion::delivery_rate::Stamp;
use thalweg_proto::congestion::event_accumulator::{Observation, Observer};
use thalweg_proto::congestion::interpreted_controller::{self, ScriptedConfig};
use thalweg_proto::congestion::{
    AckSample, CeResponse, ConnectionState, Controller, Decision, LossKind, LossSample, LostSample,
    SentSample,
};
use thalweg_proto::transport::ViolationKind;
use thalweg_proto::units::{Rate, Time};

/// Number of values of a sample.
pub const SAMPLE_NUMBERS: usize = Observation::COLUMNS.len() + 4;
/// Maximum window in segments.
const MAX_WINDOW: f64 = (1u64 << 30) as f64;
/// Maximum pacing rate in bit/s, beyond any link rate.
const MAX_RATE: f64 = 1e15;

/// An event of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Newly acknowledged data: `on_ack(sample)`.
    Ack = 0,
    /// A loss or mark: `on_loss(sample)`.
    Loss = 1,
    /// A spurious loss: `on_undo(window)`, with the window before it as the first number.
    Undo = 2,
}

/// The decision of a controller: its window in segments, and its pacing rate in bit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// Congestion window in segments.
    pub window: f64,
    /// Pacing rate of the payload in bit/s; `None` sends as soon as the window allows.
    pub pacing_rate: Option<f64>,
}

/// A new instance of a controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ControllerInstance {
    /// Number of the instance.
    pub id: u32,
    /// True to call `on_ack` at each acknowledgement, not once a round trip.
    pub per_packet: bool,
    /// First decision.
    pub state: State,
}

/// The language of a page's controller.
pub trait Script: fmt::Debug + Send + Sync {
    /// Returns the response of its instances to congestion marks.
    fn response(&self) -> CeResponse;

    /// Creates an instance with a seed for its random numbers.
    ///
    /// # Errors
    ///
    /// The message of an exception.
    fn make(&self, seed: u32) -> Result<ControllerInstance, String>;

    /// Passes an event to an instance, and returns its decision. The numbers are a sample: kind (0 for an acknowledgement,
    /// 1 for a detected loss, 2 for a timeout, 3 for a mark), whether it is repeated, and the other fields of the Python
    /// package's `Sample` in order; NaN where there is no value.
    ///
    /// # Errors
    ///
    /// The message of an exception.
    fn call(&self, id: u32, event: Event, numbers: &[f64; SAMPLE_NUMBERS]) -> Result<State, String>;
}

/// A scheme whose controller is a script.
#[derive(Clone, Debug)]
pub struct Scheme {
    description: &'static SchemeDescription,
    raised: Arc<Mutex<Option<String>>>,
}

impl Scheme {
    /// Describes the scheme `name`. The description lives for the rest of the program.
    pub fn new(name: &'static str, script: Arc<dyn Script>) -> Self {
        let raised: Arc<Mutex<Option<String>>> = Arc::default();
        let source = Source { script, raised: Arc::clone(&raised), response: OnceLock::new() };
        let config = ScriptedConfig { name, script: Arc::new(source) };
        let about = "A controller of one's own, in JavaScript.";
        let description = named_scheme(name, about, move || Ok(config.clone()));
        Self { description: Box::leak(Box::new(description)), raised }
    }

    /// Returns the description for registries.
    pub const fn description(&self) -> &'static SchemeDescription {
        self.description
    }

    /// Takes the message of the first exception since the last call.
    pub fn take_raised(&self) -> Option<String> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The script of a scheme, with the exceptions of its instances.
#[derive(Debug)]
struct Source {
    script: Arc<dyn Script>,
    raised: Arc<Mutex<Option<String>>>,
    response: OnceLock<CeResponse>,
}

impl interpreted_controller::Script for Source {
    type Controller = ScriptedController;
    const LANGUAGE: &'static str = "script";

    fn response(&self) -> CeResponse {
        *self.response.get_or_init(|| self.script.response())
    }

    fn controller(self: &Arc<Self>, seed: Option<u64>) -> ScriptedController {
        let mut scripted = ScriptedController {
            source: Arc::clone(self),
            instance: None,
            per_packet: false,
            observer: Observer::default(),
            decision: Decision::window(1.0),
        };
        let seed = seed.unwrap_or_default() as u32;
        let made = self.script.make(seed).and_then(|made| Ok((made, check_decision(made.state)?)));
        match made {
            Ok((made, decision)) => {
                scripted.instance = Some(made.id);
                scripted.per_packet = made.per_packet;
                scripted.decision = decision;
            }
            Err(error) => self.raise(error),
        }
        scripted
    }
}

impl Source {
    fn raise(&self, error: String) {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

/// Checks a decision.
fn check_decision(state: State) -> Result<Decision, String> {
    let State { window, pacing_rate } = state;
    if !(1.0..=MAX_WINDOW).contains(&window) {
        return Err(format!("window must lie from 1 to {MAX_WINDOW} segments, and {window} does not"));
    }
    if let Some(rate) = pacing_rate.filter(|rate| !(1.0..=MAX_RATE).contains(rate)) {
        return Err(format!(
            "pacing_rate must lie from 1 to {MAX_RATE:e} bit/s, and {rate} does not; null does not pace"
        ));
    }
    let pacing_rate = pacing_rate.map(|rate| Rate::from_bits_per_sec(rate as u64));
    Ok(Decision { pacing_rate, ..Decision::window(window) })
}

/// Returns the numbers of a sample.
fn sample_numbers(kind: u8, repeated: bool, seen: &Observation) -> [f64; SAMPLE_NUMBERS] {
    let flag = |is: bool| f64::from(u8::from(is));
    let mut numbers = [0.0; SAMPLE_NUMBERS];
    let [first, second, rest @ ..] = &mut numbers;
    (*first, *second) = (f64::from(kind), flag(repeated));
    let (of_observation, flags) = rest.split_at_mut(Observation::COLUMNS.len());
    of_observation.copy_from_slice(&seen.numbers());
    flags.copy_from_slice(&[flag(seen.app_limited), flag(seen.recovering)]);
    numbers
}

/// A controller whose rules are in a script. Copies share the instance.
#[derive(Clone, Debug)]
struct ScriptedController {
    source: Arc<Source>,
    /// `None` after an exception.
    instance: Option<u32>,
    per_packet: bool,
    observer: Observer,
    decision: Decision,
}

impl ScriptedController {
    /// Passes an event to the instance, and adopts its decision.
    fn call(&mut self, event: Event, numbers: &[f64; SAMPLE_NUMBERS]) {
        let Some(instance) = self.instance else { return };
        let state = self.source.script.call(instance, event, numbers);
        match state.and_then(check_decision) {
            Ok(decision) => self.decision = decision,
            Err(error) => {
                self.source.raise(error);
                self.instance = None;
            }
        }
    }

    fn sample_values(&self, kind: u8, repeated: bool, now: Time) -> [f64; SAMPLE_NUMBERS] {
        sample_numbers(kind, repeated, &self.observer.observe(now))
    }
}

impl Controller for ScriptedController {
    type PacketInfo = Stamp;

    fn on_sent(&mut self, sample: &SentSample) -> Stamp {
        self.observer.on_sent(sample)
    }

    fn on_ack(&mut self, sample: &AckSample, stamp: Stamp) {
        let round_ends = self.observer.on_ack(sample, stamp);
        if round_ends || self.per_packet {
            let now = sample.connection.now;
            let numbers = self.sample_values(0, false, now);
            self.observer.begin(now);
            self.call(Event::Ack, &numbers);
        }
    }

    fn on_packet_lost(&mut self, sample: &LostSample, _stamp: Stamp) {
        self.observer.on_packet_lost(sample);
    }

    fn on_loss(&mut self, sample: &LossSample) {
        let kind = match sample.kind {
            LossKind::Detected => 1,
            LossKind::Timeout => 2,
            LossKind::Mark => 3,
        };
        self.observer.follow(&sample.connection);
        let numbers = self.sample_values(kind, sample.repeated, sample.connection.now);
        self.call(Event::Loss, &numbers);
    }

    fn on_app_limited(&mut self, connection: &ConnectionState) {
        self.observer.on_app_limited(connection, self.decision.window);
    }

    fn on_undo(&mut self, saved: Self, _connection: &ConnectionState) {
        let mut numbers = [0.0; SAMPLE_NUMBERS];
        numbers[0] = saved.decision.window;
        self.call(Event::Undo, &numbers);
    }

    fn decision(&self) -> Decision {
        self.decision
    }

    fn fault(&self) -> Option<ViolationKind> {
        self.instance.is_none().then_some(ViolationKind::Raised)
    }
}
