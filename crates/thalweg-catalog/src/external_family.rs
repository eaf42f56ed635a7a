//! Protocol families of other crates, with checks of their contract.
//!
//! An [`ExternalFamily`] holds the type-erased configuration of any [`Family`]. Its PDUs and engines are boxed, at no cost
//! to built-in families.
//!
//! Such engines are not trusted. An engine violates its contract if it panics, requests a poll in the past, produces
//! endless output at one instant, sends a PDU larger than a datagram, or delivers more than arrived. The violation ends only
//! its own connection, by [`Failure::ContractViolation`] with its name. Outputs are checked because stacks of other projects have hung
//! runs: with a timer each nanosecond, a transmission without a datagram, a close without end.

use crate::protocol_family::{Endpoint, Family, Properties};
use core::any::Any;
use core::cell::Cell;
use core::fmt;
use core::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use thalweg_proto::endpoint::{End, EndCounters, Notice};
use thalweg_proto::payload::{Length, Payload, Slice};
use thalweg_proto::pdu::{CapturedBytes, DataUnit, SegmentStep, Wire};
use thalweg_proto::transport::{
    Command, ComponentKind, CongestionState, ContractViolation, Event, Failure, Input, Limit, ReceiverCounts,
    SenderStats, ViolationKind,
};
use thalweg_proto::units::{Duration, Time};
use thalweg_proto::window::ControllerPayload;
use thalweg_proto::{Ecn, Output};

/// Maximum number of outputs of an engine at one instant; more count as an endless loop.
const MAX_AT_ONCE: u32 = 1 << 17;

/// A family of another crate, represented by the configuration of both ends.
pub struct ExternalFamily(Box<dyn ErasedFamily>);

impl fmt::Debug for ExternalFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Clone for ExternalFamily {
    fn clone(&self) -> Self {
        Self(self.0.boxed())
    }
}

impl PartialEq for ExternalFamily {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(&*other.0)
    }
}

/// A family with `Send` engines and PDUs with a wire format: any family made of plain data.
pub trait OpenFamily:
    Family<
        Pdu<Length>: Send + Sync + 'static,
        Pdu<Slice>: Wire + Send + Sync + 'static,
        Sender<Length>: Send + 'static,
        Sender<Slice>: Send + 'static,
        Receiver<Length>: Send + 'static,
        Receiver<Slice>: Send + 'static,
    >
{
}

impl<F> OpenFamily for F where
    F: Family<
            Pdu<Length>: Send + Sync + 'static,
            Pdu<Slice>: Wire + Send + Sync + 'static,
            Sender<Length>: Send + 'static,
            Sender<Slice>: Send + 'static,
            Receiver<Length>: Send + 'static,
            Receiver<Slice>: Send + 'static,
        >
{
}

impl ExternalFamily {
    /// Wraps the family of `config`.
    pub fn new(config: impl OpenFamily) -> Self {
        Self(Box::new(config))
    }

    /// Returns the configuration, if it is of type `F`.
    pub fn config<F: Family>(&self) -> Option<&F> {
        self.0.as_any().downcast_ref()
    }

    /// Returns the name.
    pub fn name(&self) -> &'static str {
        self.0.name()
    }

    /// Returns the properties of the configured family.
    pub fn properties(&self) -> &dyn Properties {
        self.0.properties()
    }

    /// Returns the properties mutably.
    pub fn properties_mut(&mut self) -> &mut dyn Properties {
        self.0.properties_mut()
    }
}

/// Type-erased [`Family`].
trait ErasedFamily: Properties {
    fn name(&self) -> &'static str;
    fn boxed(&self) -> Box<dyn ErasedFamily>;
    fn equals(&self, other: &dyn ErasedFamily) -> bool;
    fn as_any(&self) -> &dyn Any;
    fn properties(&self) -> &dyn Properties;
    fn properties_mut(&mut self) -> &mut dyn Properties;
    fn ends_of_lengths(&self) -> EngineConstructors<'_, Length>;
    fn ends_of_bytes(&self) -> EngineConstructors<'_, Slice>;
}

/// Constructors of a sender, a receiver, and a PDU from bytes.
type EngineConstructors<'a, P> =
    (Box<dyn Fn() -> Box<dyn AnyEnd<P>> + 'a>, Box<dyn Fn() -> Box<dyn AnyEnd<P>> + 'a>, Decode<P>);

type Decode<P> = fn(Slice) -> Option<ExternalPdu<P>>;

impl<F: OpenFamily> ErasedFamily for F {
    fn name(&self) -> &'static str {
        F::NAME
    }
    fn boxed(&self) -> Box<dyn ErasedFamily> {
        Box::new(self.clone())
    }
    fn equals(&self, other: &dyn ErasedFamily) -> bool {
        other.as_any().downcast_ref::<F>().is_some_and(|other| self == other)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn properties(&self) -> &dyn Properties {
        self
    }
    fn properties_mut(&mut self) -> &mut dyn Properties {
        self
    }
    fn ends_of_lengths(&self) -> EngineConstructors<'_, Length> {
        let sender = || -> Box<dyn AnyEnd<Length>> { Box::new(TypedEngine(self.sender::<Length>(), None)) };
        let receiver =
            || -> Box<dyn AnyEnd<Length>> { Box::new(TypedEngine(self.receiver::<Length>(), None)) };
        (Box::new(sender), Box::new(receiver), |_| None)
    }
    fn ends_of_bytes(&self) -> EngineConstructors<'_, Slice> {
        let encode: Encode<F::Pdu<Slice>> = Some(Wire::encode);
        let sender =
            move || -> Box<dyn AnyEnd<Slice>> { Box::new(TypedEngine(self.sender::<Slice>(), encode)) };
        let receiver =
            move || -> Box<dyn AnyEnd<Slice>> { Box::new(TypedEngine(self.receiver::<Slice>(), encode)) };
        let decode: Decode<Slice> = |bytes| {
            <F::Pdu<Slice> as Wire>::decode(bytes).map(|pdu| ExternalPdu::new(pdu, Some(Wire::encode)))
        };
        (Box::new(sender), Box::new(receiver), decode)
    }
}

/// A payload supported by engines of other crates: lengths in simulations, bytes on real paths.
pub trait ExternalPayload: ControllerPayload {
    #[doc(hidden)]
    fn external_sender(of: &ExternalFamily) -> ExternalEnd<Self>;
    #[doc(hidden)]
    fn external_receiver(of: &ExternalFamily) -> ExternalEnd<Self>;
}

macro_rules! carries {
    ($Payload:ty: $ends:ident) => {
        impl ExternalPayload for $Payload {
            fn external_sender(of: &ExternalFamily) -> ExternalEnd<Self> {
                let (sender, _, decode) = of.0.$ends();
                ExternalEnd::new(of.name(), sender, decode)
            }
            fn external_receiver(of: &ExternalFamily) -> ExternalEnd<Self> {
                let (_, receiver, decode) = of.0.$ends();
                ExternalEnd::new(of.name(), receiver, decode)
            }
        }
    };
}
carries!(Length: ends_of_lengths);
carries!(Slice: ends_of_bytes);

/// A PDU of a family of another crate. Clones share it.
pub struct ExternalPdu<P: Payload> {
    unit: Arc<dyn ErasedUnit<P>>,
    /// Queried once, while panics of the engine that made the PDU are caught.
    framing: u32,
    ecn: Option<Ecn>,
    step: Option<SegmentStep>,
}

/// Appends the bytes of a PDU; `None` if its payload has no bytes.
type Encode<U> = Option<fn(&U, &mut Vec<u8>)>;

/// A PDU with its wire format, if any.
struct Unit<U>(U, Encode<U>);

/// Type-erased [`DataUnit`].
trait ErasedUnit<P: Payload>: fmt::Debug + Send + Sync {
    fn equals(&self, other: &dyn ErasedUnit<P>) -> bool;
    fn as_any(&self) -> &dyn Any;
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
    fn encode(&self, to: &mut Vec<u8>);
    fn payload(&self) -> Option<&P>;
    fn data(&self, near: u64) -> Option<Range<u64>>;
    fn acknowledged(&self, near: u64) -> Option<Vec<Range<u64>>>;
    fn sequence(&self) -> Option<u64>;
    fn label(&self) -> String;
    fn description(&self) -> String;
    fn is_repeated(&self) -> Option<bool>;
    fn code(&self) -> u8;
    fn captured(&self, connection: u32) -> CapturedBytes;
}

impl<U: fmt::Debug> fmt::Debug for Unit<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<P: Payload, U: DataUnit<P> + Send + Sync + 'static> ErasedUnit<P> for Unit<U> {
    fn equals(&self, other: &dyn ErasedUnit<P>) -> bool {
        other.as_any().downcast_ref::<Self>().is_some_and(|other| self.0 == other.0)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
    fn encode(&self, to: &mut Vec<u8>) {
        if let Some(encode) = self.1 {
            encode(&self.0, to);
        }
    }
    fn payload(&self) -> Option<&P> {
        self.0.payload()
    }
    fn data(&self, near: u64) -> Option<Range<u64>> {
        self.0.data(near)
    }
    fn acknowledged(&self, near: u64) -> Option<Vec<Range<u64>>> {
        self.0.acknowledged(near)
    }
    fn sequence(&self) -> Option<u64> {
        self.0.sequence()
    }
    fn label(&self) -> String {
        self.0.label()
    }
    fn description(&self) -> String {
        self.0.description()
    }
    fn is_repeated(&self) -> Option<bool> {
        self.0.is_repeated()
    }
    fn code(&self) -> u8 {
        self.0.code()
    }
    fn captured(&self, connection: u32) -> CapturedBytes {
        self.0.captured(connection)
    }
}

impl<P: Payload> fmt::Debug for ExternalPdu<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.unit, f)
    }
}

impl<P: Payload> Clone for ExternalPdu<P> {
    fn clone(&self) -> Self {
        Self { unit: Arc::clone(&self.unit), ..*self }
    }
}

impl<P: Payload> PartialEq for ExternalPdu<P> {
    fn eq(&self, other: &Self) -> bool {
        self.unit.equals(&*other.unit)
    }
}

/// Returns the result of `query`, or that of `otherwise` if it panics.
fn catch_panic<R>(otherwise: impl FnOnce() -> R, query: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(query)).unwrap_or_else(|_| otherwise())
}

impl<P: Payload> ExternalPdu<P> {
    fn new<U: DataUnit<P> + Send + Sync + 'static>(unit: U, encode: Encode<U>) -> Self {
        let (framing, ecn, step) = (unit.framing(), unit.ecn(), unit.segment_step());
        Self { unit: Arc::new(Unit(unit, encode)), framing, ecn, step }
    }

    /// Returns the PDU, if it is of type `U`.
    pub fn unit<U: 'static>(&self) -> Option<&U> {
        self.unit.as_any().downcast_ref::<Unit<U>>().map(|unit| &unit.0)
    }
}

impl Wire for ExternalPdu<Slice> {
    /// Appends nothing if the encoder panics: the peer then receives bytes that do not parse.
    fn encode(&self, to: &mut Vec<u8>) {
        let start = to.len();
        if !catch_panic(
            || false,
            || {
                self.unit.encode(to);
                true
            },
        ) {
            to.truncate(start);
        }
    }

    /// Only an engine can identify the family.
    fn decode(_bytes: Slice) -> Option<Self> {
        None
    }
}

/// A PDU whose methods panic gets defaults and no label of its own.
impl<P: Payload> DataUnit<P> for ExternalPdu<P> {
    fn payload(&self) -> Option<&P> {
        catch_panic(|| None, || self.unit.payload())
    }
    fn framing(&self) -> u32 {
        self.framing
    }
    fn data(&self, near: u64) -> Option<Range<u64>> {
        catch_panic(|| None, || self.unit.data(near))
    }
    fn acknowledged(&self, near: u64) -> Option<Vec<Range<u64>>> {
        catch_panic(|| None, || self.unit.acknowledged(near))
    }
    fn sequence(&self) -> Option<u64> {
        catch_panic(|| None, || self.unit.sequence())
    }
    fn label(&self) -> String {
        catch_panic(|| "PDU".to_owned(), || self.unit.label())
    }
    fn description(&self) -> String {
        catch_panic(|| "PDU".to_owned(), || self.unit.description())
    }
    fn is_repeated(&self) -> Option<bool> {
        catch_panic(|| None, || self.unit.is_repeated())
    }
    fn ecn(&self) -> Option<Ecn> {
        self.ecn
    }
    fn code(&self) -> u8 {
        catch_panic(|| 0, || self.unit.code())
    }
    fn segment_step(&self) -> Option<SegmentStep> {
        self.step
    }
    fn captured(&self, connection: u32) -> CapturedBytes {
        catch_panic(CapturedBytes::default, || self.unit.captured(connection))
    }
}

/// Type-erased end of a family.
trait AnyEnd<P: Payload>: fmt::Debug + Send {
    fn receive(&mut self, now: Time, pdu: ExternalPdu<P>, ecn: Ecn);
    fn command(&mut self, now: Time, command: Command<P>);
    fn poll(&mut self, now: Time) -> Output<ExternalPdu<P>, Event<P>, ()>;
    fn as_end(&self) -> &dyn End;
    fn as_end_mut(&mut self) -> &mut dyn End;
}

/// An engine with the wire format of its PDUs.
#[derive(Debug)]
struct TypedEngine<E, U>(E, Encode<U>);

impl<P, U, E> AnyEnd<P> for TypedEngine<E, U>
where
    P: Payload,
    U: DataUnit<P> + Send + Sync + 'static,
    E: Endpoint<P, U> + Send,
{
    fn receive(&mut self, now: Time, pdu: ExternalPdu<P>, ecn: Ecn) {
        // A PDU of another family is dropped.
        if let Ok(unit) = pdu.unit.into_any().downcast::<Unit<U>>() {
            let pdu = Arc::try_unwrap(unit).map_or_else(|shared| shared.0.clone(), |unit| unit.0);
            self.0.handle(now, Input::Pdu { pdu, ecn });
        }
    }
    fn command(&mut self, now: Time, command: Command<P>) {
        self.0.handle(now, command.into_input());
    }
    fn poll(&mut self, now: Time) -> Output<ExternalPdu<P>, Event<P>, ()> {
        match self.0.poll(now) {
            Output::Transmit(pdu) => Output::Transmit(ExternalPdu::new(pdu, self.1)),
            Output::Event(event) => Output::Event(event),
            Output::Timeout { at, .. } => Output::Timeout { at, reason: () },
            Output::Idle => Output::Idle,
        }
    }
    fn as_end(&self) -> &dyn End {
        &self.0
    }
    fn as_end_mut(&mut self) -> &mut dyn End {
        &mut self.0
    }
}

/// An untrusted end of a family of another crate.
#[derive(Debug)]
pub struct ExternalEnd<P: Payload> {
    name: &'static str,
    /// `None` if the engine's constructor failed.
    end: Option<Box<dyn AnyEnd<P>>>,
    decode: Decode<P>,
    violation: Cell<Option<ViolationKind>>,
    reported: bool,
    /// The instant of the latest output, and the number of outputs at it.
    instant: Time,
    outputs: u32,
    /// Payload bytes received and delivered.
    arrived: u64,
    delivered: u64,
}

impl<P: Payload> ExternalEnd<P> {
    fn new(name: &'static str, make: impl Fn() -> Box<dyn AnyEnd<P>>, decode: Decode<P>) -> Self {
        let end = catch_unwind(AssertUnwindSafe(make)).ok();
        let violation = if end.is_none() { Some(ViolationKind::Panicked) } else { None };
        Self {
            name,
            end,
            decode,
            violation: Cell::new(violation),
            reported: false,
            instant: Time::ZERO,
            outputs: 0,
            arrived: 0,
            delivered: 0,
        }
    }

    /// Runs `act` on the engine, unless it violated its contract before. The engine is not used again after a panic.
    fn guard<R>(&mut self, act: impl FnOnce(&mut dyn AnyEnd<P>) -> R) -> Option<R> {
        let end = self.end.as_mut().filter(|_| self.violation.get().is_none())?;
        let done = catch_unwind(AssertUnwindSafe(|| act(end.as_mut())));
        if done.is_err() {
            self.violation.set(Some(ViolationKind::Panicked));
        }
        done.ok()
    }

    /// Queries the engine, unless it panicked before.
    fn query<R>(&self, otherwise: R, query: impl FnOnce(&dyn End) -> R) -> R {
        let sound = self.end.as_ref().filter(|_| self.violation.get() != Some(ViolationKind::Panicked));
        let Some(end) = sound else { return otherwise };
        catch_unwind(AssertUnwindSafe(|| query(end.as_end()))).unwrap_or_else(|_| {
            self.violation.set(Some(ViolationKind::Panicked));
            otherwise
        })
    }

    /// Parses a PDU of its peer.
    pub(crate) fn decode(&self, bytes: Slice) -> Option<ExternalPdu<P>> {
        catch_unwind(AssertUnwindSafe(|| (self.decode)(bytes))).unwrap_or_else(|_| {
            self.violation.set(Some(ViolationKind::Panicked));
            None
        })
    }

    /// Records a PDU that cannot be sent; the next output reports the violation.
    pub(crate) fn record_violation(&self, kind: ViolationKind) {
        self.violation.set(self.violation.get().or(Some(kind)));
    }

    /// Processes a received PDU.
    pub(crate) fn receive(&mut self, now: Time, pdu: ExternalPdu<P>, ecn: Ecn) {
        self.arrived = self.arrived.saturating_add(pdu.payload().map_or(0, |data| data.len().into()));
        let _ = self.guard(|end| end.receive(now, pdu, ecn));
    }

    /// Processes an input from the application or a gate.
    pub(crate) fn command(&mut self, now: Time, command: Command<P>) {
        let _ = self.guard(|end| end.command(now, command));
    }

    /// Returns the next output.
    pub(crate) fn poll(&mut self, now: Time) -> Output<ExternalPdu<P>, Event<P>, ()> {
        if now > self.instant {
            (self.instant, self.outputs) = (now, 0);
        }
        let output = self.guard(|end| end.poll(now)).unwrap_or(Output::Idle);
        if let Some(kind) = self.fault(now, &output) {
            self.violation.set(Some(kind));
        }
        let Some(kind) = self.violation.get() else { return output };
        if core::mem::replace(&mut self.reported, true) {
            return Output::Idle;
        }
        Output::Event(Event::Failed(Failure::ContractViolation(ContractViolation {
            component: ComponentKind::Engine,
            name: self.name,
            kind,
        })))
    }

    /// Returns the contract violation in an output; `None` if the output is valid.
    fn fault(&mut self, now: Time, output: &Output<ExternalPdu<P>, Event<P>, ()>) -> Option<ViolationKind> {
        match output {
            Output::Idle => return None,
            Output::Timeout { at, .. } => return (*at <= now).then_some(ViolationKind::TimeoutPast),
            Output::Event(Event::Delivered(data)) => {
                self.delivered = self.delivered.saturating_add(data.len().into());
                if self.delivered > self.arrived {
                    return Some(ViolationKind::DeliveredMore);
                }
            }
            Output::Event(_) | Output::Transmit(_) => {}
        }
        self.outputs += 1;
        (self.outputs > MAX_AT_ONCE).then_some(ViolationKind::NeverIdle)
    }
}

impl<P: Payload> End for ExternalEnd<P> {
    fn sender_stats(&self, now: Time) -> Option<SenderStats> {
        self.query(None, |end| end.sender_stats(now))
    }
    fn take_rtt(&mut self) -> Option<Duration> {
        self.guard(|end| end.as_end_mut().take_rtt()).flatten()
    }
    fn congestion_state(&self) -> Option<CongestionState> {
        self.query(None, |end| end.congestion_state())
    }
    fn receiver_counts(&self) -> ReceiverCounts {
        self.query(ReceiverCounts::default(), |end| end.receiver_counts())
    }
    fn counters(&self, now: Time) -> EndCounters {
        self.query(EndCounters::default(), |end| end.counters(now))
    }
    fn backlog(&self) -> u64 {
        self.query(0, |end| end.backlog())
    }
    fn limit(&self) -> Option<Limit> {
        self.query(None, |end| end.limit())
    }
    fn wants_pdus(&self) -> bool {
        self.query(true, |end| end.wants_pdus())
    }
    fn takes_batches(&self) -> bool {
        self.query(false, |end| end.takes_batches())
    }
    fn follows_path(&self) -> bool {
        self.query(false, |end| end.follows_path())
    }
    fn window(&self) -> Option<u64> {
        self.query(None, |end| end.window())
    }
    fn notify(&mut self, notice: Notice) {
        let _ = self.guard(|end| end.as_end_mut().notify(notice));
    }
}
