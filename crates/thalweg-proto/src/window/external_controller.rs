//! Window senders with a controller of any type: controllers of other crates, and controllers with data per packet.
//!
//! The controllers of [`Any`](crate::congestion::Any) share one sender type, whose segments store no controller data. A
//! [`ExternalController`] has a sender type of its own, behind a pointer: its segments store its
//! [`PacketInfo`](Controller::PacketInfo), at no cost to other senders.
//!
//! External controllers are untrusted. A panic or an invalid decision ends only its own connection, by
//! [`Failure::ContractViolation`] with its name. Decisions are validated because controllers in Python and JavaScript
//! return what their script computes, often a window or a rate of NaN or zero while it is being written.

use super::{Pdu, Sender, SenderConfig, SenderReason, WindowStats};
use crate::congestion::{
    AckSample, CeResponse, ConfigureController, CongestionState, ConnectionState, Controller, Decision,
    FeedbackKind, FeedbackSample, LossSample, LostSample, MAX_WINDOW, SentSample, SharedPath,
};
use crate::endpoint::{End, Notice};
use crate::engine_contract::{Engine, Output};
use crate::payload::{Length, Payload, Slice};
use crate::random::RandomStream;
use crate::transport::{ComponentKind, ContractViolation, Event, Failure, Input, Limit, ViolationKind};
use crate::units::{Duration, Rate, Time};
use core::any::Any;
use core::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A window sender with an erased controller type.
pub trait AnySender<P: Payload>:
    Engine<Pdu = Pdu<P>, Input = Input<Pdu<P>, P>, Event = Event<P>, Reason = SenderReason> + fmt::Debug + Send
{
    /// As [`Sender::stats`].
    fn stats(&self, now: Time) -> WindowStats;
    /// As [`Sender::take_rtt`].
    fn take_rtt(&mut self) -> Option<Duration>;
    /// As [`Sender::congestion_state`].
    fn congestion_state(&self) -> Option<CongestionState>;
    /// As [`Sender::backlog`].
    fn backlog(&self) -> u64;
    /// As [`Sender::limit`].
    fn limit(&self) -> Option<Limit>;
    /// As [`End::notify`]. On a new path it makes a new controller of the same kind.
    fn notify(&mut self, notice: Notice);
}

/// A third-party controller, by its configuration.
#[derive(Clone)]
pub struct ExternalController(Arc<dyn Configured>);

impl fmt::Debug for ExternalController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl PartialEq for ExternalController {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(&*other.0)
    }
}

impl ExternalController {
    /// Creates the controller of `config`.
    pub fn new(config: impl ConfigureController) -> Self {
        Self(Arc::new(config))
    }

    /// Returns the configuration, if it is of type `C`.
    pub fn config<C: ConfigureController>(&self) -> Option<&C> {
        self.0.as_any().downcast_ref()
    }

    /// Returns the name.
    pub fn name(&self) -> &'static str {
        self.0.name()
    }

    /// Returns the controller's reaction to CE.
    pub fn ce_response(&self) -> CeResponse {
        self.0.ce_response()
    }

    /// Returns the kind of router feedback for flows of this controller, if any.
    pub fn feedback(&self) -> Option<FeedbackKind> {
        self.0.feedback()
    }

    /// Returns the [queueing delay](ConfigureController::queue_target) that flows of this controller aim at.
    pub fn queue_target(&self, path: &SharedPath) -> Option<Duration> {
        self.0.queue_target(path)
    }

    /// Returns true if flows of this controller [need router feedback](ConfigureController::needs_feedback).
    pub fn needs_feedback(&self) -> bool {
        self.0.needs_feedback()
    }

    /// Returns true if the controller [draws random numbers](ConfigureController::draws).
    pub fn draws(&self) -> bool {
        self.0.draws()
    }

    /// Creates the sender of a new connection, with a fresh controller that uses `stream` if it draws random numbers.
    pub fn sender<P: ControllerPayload>(
        &self,
        config: Arc<SenderConfig>,
        stream: Option<RandomStream>,
    ) -> Box<dyn AnySender<P>> {
        P::sender(self, config, stream)
    }
}

/// A payload supported by senders of external controllers: lengths in simulations, bytes on real paths.
pub trait ControllerPayload: Payload {
    #[doc(hidden)]
    fn sender(
        of: &ExternalController,
        config: Arc<SenderConfig>,
        stream: Option<RandomStream>,
    ) -> Box<dyn AnySender<Self>>;
}

impl ControllerPayload for Length {
    fn sender(
        of: &ExternalController,
        config: Arc<SenderConfig>,
        stream: Option<RandomStream>,
    ) -> Box<dyn AnySender<Self>> {
        of.0.of_lengths(config, stream)
    }
}

impl ControllerPayload for Slice {
    fn sender(
        of: &ExternalController,
        config: Arc<SenderConfig>,
        stream: Option<RandomStream>,
    ) -> Box<dyn AnySender<Self>> {
        of.0.of_bytes(config, stream)
    }
}

/// [`ConfigureController`] without its types.
trait Configured: fmt::Debug + Send + Sync {
    fn name(&self) -> &'static str;
    fn ce_response(&self) -> CeResponse;
    fn feedback(&self) -> Option<FeedbackKind>;
    fn queue_target(&self, path: &SharedPath) -> Option<Duration>;
    fn needs_feedback(&self) -> bool;
    fn draws(&self) -> bool;
    fn equals(&self, other: &dyn Configured) -> bool;
    fn as_any(&self) -> &dyn Any;
    fn of_lengths(
        &self,
        config: Arc<SenderConfig>,
        stream: Option<RandomStream>,
    ) -> Box<dyn AnySender<Length>>;
    fn of_bytes(&self, config: Arc<SenderConfig>, stream: Option<RandomStream>) -> Box<dyn AnySender<Slice>>;
}

impl<C: ConfigureController> Configured for C {
    fn name(&self) -> &'static str {
        ConfigureController::name(self)
    }
    fn ce_response(&self) -> CeResponse {
        ConfigureController::ce_response(self)
    }
    fn feedback(&self) -> Option<FeedbackKind> {
        ConfigureController::feedback(self)
    }
    fn queue_target(&self, path: &SharedPath) -> Option<Duration> {
        ConfigureController::queue_target(self, path)
    }
    fn needs_feedback(&self) -> bool {
        ConfigureController::needs_feedback(self)
    }
    fn draws(&self) -> bool {
        ConfigureController::draws(self)
    }
    fn equals(&self, other: &dyn Configured) -> bool {
        other.as_any().downcast_ref::<C>().is_some_and(|other| self == other)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn of_lengths(
        &self,
        config: Arc<SenderConfig>,
        stream: Option<RandomStream>,
    ) -> Box<dyn AnySender<Length>> {
        Box::new(ExternalSender::new(self.clone(), config, stream))
    }
    fn of_bytes(&self, config: Arc<SenderConfig>, stream: Option<RandomStream>) -> Box<dyn AnySender<Slice>> {
        Box::new(ExternalSender::new(self.clone(), config, stream))
    }
}

/// Returns the violation in a decision; `None` for a valid one.
fn decision_violation(decision: &Decision) -> Option<ViolationKind> {
    match *decision {
        Decision { window, .. } if window.is_nan() => Some(ViolationKind::WindowNotANumber),
        Decision { window, .. } if window < 1.0 => Some(ViolationKind::WindowTooSmall),
        Decision { window, .. } if window > MAX_WINDOW => Some(ViolationKind::WindowTooLarge),
        Decision { pacing_rate: Some(Rate::ZERO), .. } => Some(ViolationKind::NoRate),
        Decision { burst: 0, .. } => Some(ViolationKind::NoBurst),
        _ => None,
    }
}

/// A controller whose decisions are validated after every call.
#[derive(Clone, Debug)]
struct CheckedController<C> {
    inner: C,
    /// Last valid decision.
    decision: Decision,
    ssthresh: Option<f64>,
    violation: Option<ViolationKind>,
}

impl<C: Controller> CheckedController<C> {
    fn new(inner: C) -> Self {
        let mut checked = Self { inner, decision: Decision::window(1.0), ssthresh: None, violation: None };
        checked.refresh();
        checked
    }

    fn refresh(&mut self) {
        self.violation = self.violation.or_else(|| self.inner.fault());
        let decision = self.inner.decision();
        match decision_violation(&decision) {
            None => self.decision = decision,
            found => self.violation = self.violation.or(found),
        }
        self.ssthresh = self.inner.ssthresh();
    }
}

impl<C: Controller> Controller for CheckedController<C> {
    type PacketInfo = C::PacketInfo;

    fn on_sent(&mut self, sample: &SentSample) -> C::PacketInfo {
        let info = self.inner.on_sent(sample);
        self.refresh();
        info
    }

    fn on_ack(&mut self, sample: &AckSample, info: C::PacketInfo) {
        self.inner.on_ack(sample, info);
        self.refresh();
    }

    fn on_packet_lost(&mut self, sample: &LostSample, info: C::PacketInfo) {
        self.inner.on_packet_lost(sample, info);
        self.refresh();
    }

    fn on_loss(&mut self, sample: &LossSample) {
        self.inner.on_loss(sample);
        self.refresh();
    }

    fn on_app_limited(&mut self, connection: &ConnectionState) {
        self.inner.on_app_limited(connection);
        self.refresh();
    }

    fn on_recovered(&mut self, connection: &ConnectionState) {
        self.inner.on_recovered(connection);
        self.refresh();
    }

    fn would_undo(&self, saved: &Self) -> bool {
        self.inner.would_undo(&saved.inner)
    }

    fn on_undo(&mut self, saved: Self, connection: &ConnectionState) {
        self.inner.on_undo(saved.inner, connection);
        self.refresh();
    }

    fn on_feedback(&mut self, sample: &FeedbackSample) {
        self.inner.on_feedback(sample);
        self.refresh();
    }

    fn retransmits_reported_drops(&self) -> bool {
        self.inner.retransmits_reported_drops()
    }

    fn needs_each_ack_in_repair(&self) -> bool {
        self.inner.needs_each_ack_in_repair()
    }

    fn on_idle(&mut self, connection: &ConnectionState) {
        self.inner.on_idle(connection);
        self.refresh();
    }

    fn on_window_unused(&mut self, window: f64, connection: &ConnectionState) {
        self.inner.on_window_unused(window, connection);
        self.refresh();
    }

    fn decision(&self) -> Decision {
        if C::DECIDES_BETWEEN_EVENTS {
            let decision = self.inner.decision();
            return if decision_violation(&decision).is_none() { decision } else { self.decision };
        }
        self.decision
    }

    fn ssthresh(&self) -> Option<f64> {
        self.ssthresh
    }

    fn congestion_state(&self) -> Option<CongestionState> {
        self.inner.congestion_state()
    }
}

/// A sender with an untrusted controller.
struct ExternalSender<P: Payload, C: ConfigureController> {
    controller: C,
    /// `None` if the controller could not be created.
    sender: Option<Sender<P, CheckedController<C::Controller>>>,
    violation: Option<ViolationKind>,
    is_violation_reported: bool,
}

impl<P: Payload, C: ConfigureController> fmt::Debug for ExternalSender<P, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalSender")
            .field("controller", &self.controller)
            .field("violation", &self.violation)
            .finish_non_exhaustive()
    }
}

impl<P: Payload, C: ConfigureController> ExternalSender<P, C> {
    fn new(controller: C, config: Arc<SenderConfig>, stream: Option<RandomStream>) -> Self {
        let make = || match stream {
            Some(stream) => controller.make_drawing(stream),
            None => controller.make(),
        };
        let made = catch_unwind(AssertUnwindSafe(|| Sender::new(config, CheckedController::new(make()))));
        let violation =
            made.as_ref().map_or(Some(ViolationKind::Panicked), |sender| sender.controller().violation);
        Self { controller, sender: made.ok(), violation, is_violation_reported: false }
    }

    /// Calls `act` on the sender, unless its controller has violated its contract before. Partial state after a panic
    /// is never used.
    fn guard<R>(
        &mut self,
        act: impl FnOnce(&mut Sender<P, CheckedController<C::Controller>>) -> R,
    ) -> Option<R> {
        let sender = self.sender.as_mut().filter(|_| self.violation.is_none())?;
        match catch_unwind(AssertUnwindSafe(|| act(sender))) {
            Ok(done) => {
                self.violation = sender.controller().violation;
                Some(done)
            }
            Err(_) => {
                self.violation = Some(ViolationKind::Panicked);
                None
            }
        }
    }

    fn sound(&self) -> Option<&Sender<P, CheckedController<C::Controller>>> {
        self.sender.as_ref().filter(|_| self.violation != Some(ViolationKind::Panicked))
    }
}

impl<P: Payload, C: ConfigureController> Engine for ExternalSender<P, C> {
    type Pdu = Pdu<P>;
    type Input = Input<Pdu<P>, P>;
    type Event = Event<P>;
    type Reason = SenderReason;

    fn handle(&mut self, now: Time, input: Input<Pdu<P>, P>) {
        let _ = self.guard(|sender| sender.handle(now, input));
    }

    fn poll(&mut self, now: Time) -> Output<Pdu<P>, Event<P>, SenderReason> {
        let output = self.guard(|sender| sender.poll(now));
        let Some(kind) = self.violation else { return output.unwrap_or(Output::Idle) };
        if core::mem::replace(&mut self.is_violation_reported, true) {
            return Output::Idle;
        }
        let by = self.controller.name();
        Output::Event(Event::Failed(Failure::ContractViolation(ContractViolation {
            component: ComponentKind::Controller,
            name: by,
            kind,
        })))
    }
}

impl<P, C> AnySender<P> for ExternalSender<P, C>
where
    P: Payload<Queue: Send, StoredForm: Send> + Send,
    C: ConfigureController,
{
    fn stats(&self, now: Time) -> WindowStats {
        self.sound().map_or_else(WindowStats::default, |sender| sender.stats(now))
    }

    fn take_rtt(&mut self) -> Option<Duration> {
        self.guard(Sender::take_rtt).flatten()
    }

    fn congestion_state(&self) -> Option<CongestionState> {
        let sender = self.sound()?;
        catch_unwind(AssertUnwindSafe(|| sender.congestion_state())).ok().flatten()
    }

    fn backlog(&self) -> u64 {
        self.sound().map_or(0, Sender::backlog)
    }

    fn limit(&self) -> Option<Limit> {
        self.sound().and_then(Sender::limit)
    }

    fn notify(&mut self, notice: Notice) {
        let controller = self.controller.clone();
        let _ = self.guard(|sender| match notice {
            Notice::NewPath(now) => sender.on_path_change(now, CheckedController::new(controller.make())),
            notice => End::notify(sender, notice),
        });
    }
}
