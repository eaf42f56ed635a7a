//! The interface of protocol families, for use in simulations and on real paths.

use core::fmt::Debug;
use thalweg_proto::congestion::{FeedbackKind, SharedPath};
use thalweg_proto::endpoint::End;
use thalweg_proto::payload::Payload;
use thalweg_proto::pdu::DataUnit;
use thalweg_proto::transport::{Event, Input};
use thalweg_proto::units::{Bytes, Duration, Rate};
use thalweg_proto::window::{Misbehaviour, PauseConfig};
use thalweg_proto::{Ecn, Engine};

/// An engine for one end of a connection, with these PDUs and payloads.
pub trait Endpoint<P: Payload, U: DataUnit<P>>:
    Engine<Pdu = U, Input = Input<U, P>, Event = Event<P>> + End + Debug
{
}

impl<P, U, E> Endpoint<P, U> for E
where
    P: Payload,
    U: DataUnit<P>,
    E: Engine<Pdu = U, Input = Input<U, P>, Event = Event<P>> + End + Debug,
{
}

/// A protocol family, represented by the configuration of both ends of a connection.
///
/// Engines are generic over their payload: one description serves simulations, where data is only a length, and real
/// paths. [`ExternalFamily`](crate::ExternalFamily) makes a family of another crate usable.
pub trait Family: Properties + Clone + PartialEq + 'static {
    /// The name, for errors.
    const NAME: &'static str;

    /// Overhead of a live data packet beside its payload, in bytes.
    const OVERHEAD: u32;

    /// The PDUs that the ends exchange.
    type Pdu<P: Payload>: DataUnit<P>;

    /// The sending engine.
    type Sender<P: Payload>: Endpoint<P, Self::Pdu<P>>;

    /// The receiving engine.
    type Receiver<P: Payload>: Endpoint<P, Self::Pdu<P>>;

    /// Creates the sender of a new connection.
    fn sender<P: Payload>(&self) -> Self::Sender<P>;

    /// Creates the receiver of a new connection.
    fn receiver<P: Payload>(&self) -> Self::Receiver<P>;
}

/// The properties of a configured family, as used by simulator, network, lints and explanations. Defaults suit most
/// families.
pub trait Properties: Debug + Send + Sync {
    /// Returns the maximum payload of a packet in bytes, at least 1.
    fn segment(&self) -> u32;

    /// Checks the invariants of the engines.
    ///
    /// # Errors
    ///
    /// The quantity that must not be zero and is.
    fn check(&self) -> Result<(), &'static str> {
        Ok(())
    }

    /// Describes the configuration, as printed after the scheme's name: `, segments of 1448 B`.
    fn description(&self) -> String {
        format!(", packets of {} B", self.segment())
    }

    /// Returns true if delivery is without loss and duplicates and the sender learns when everything has arrived.
    fn is_reliable(&self) -> bool {
        true
    }

    /// Returns the maximum number of full packets in flight; `None` if no window bounds them.
    fn window(&self) -> Option<u64>;

    /// Returns the initial window, in full packets.
    fn first_window(&self) -> f64 {
        self.window().map_or(1.0, |window| window as f64)
    }

    /// Returns true if neither losses nor router feedback shrink the window.
    fn never_shrinks(&self) -> bool {
        false
    }

    /// Returns the configured rates.
    fn rates(&self) -> ConfiguredRates {
        ConfiguredRates::default()
    }

    /// Returns true if neither a window nor a rate limits the sender: it sends all written data at once.
    fn is_unbounded(&self) -> bool {
        self.window().is_none() && self.rates().max.is_none()
    }

    /// Returns the overhead in bytes on the wire of a data packet with this payload, beyond the common header.
    fn framing(&self, payload: u32) -> u32 {
        let _ = payload;
        0
    }

    /// Returns the size in bytes on the wire of an acknowledgement, without the header common to control PDUs.
    fn answer(&self) -> u32 {
        0
    }

    /// Returns the ECN codepoint of data packets: ECN-capable only if senders react to CE.
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    /// Returns true if senders need a marking queue on the path to work as intended.
    fn needs_marks(&self) -> bool {
        self.ecn() != Ecn::NotEct
    }

    /// Returns the mean queueing delay that flows of these senders, and no others, aim at on a path; `None` without such
    /// a target.
    fn queue_target(&self, path: &SharedPath) -> Option<Duration> {
        let _ = path;
        None
    }

    /// Returns the router feedback that senders use.
    fn router_feedback(&self) -> FeedbackUse {
        FeedbackUse::default()
    }

    /// Returns the initial receive window.
    fn receive_window(&self) -> ReceiveWindow {
        ReceiveWindow::Other
    }

    /// Explains the lack of flow control, if a slow receiving application cannot hold back the sender.
    fn lacks_flow_control(&self) -> Option<&'static str> {
        None
    }

    /// Returns true if ends count segments: groups of packets that are accepted as a whole
    /// ([`EndCounters::segments`](thalweg_proto::endpoint::EndCounters::segments)).
    fn has_segment_counts(&self) -> bool {
        false
    }

    /// Returns what ends need from their environment.
    fn needs(&self) -> EndNeeds {
        EndNeeds::default()
    }

    /// Adjusts the configuration to its environment; returns false if the family does not support it.
    fn adjust(&mut self, adjustment: Adjustment) -> bool {
        let _ = adjustment;
        false
    }

    /// Returns warnings about values that are probably unintended on this path.
    fn warnings(&self, path: &OnPath) -> Vec<PathWarning> {
        let _ = path;
        Vec::new()
    }
}

/// Configured rates of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConfiguredRates {
    /// Maximum sending rate in bytes on the wire, if one is configured.
    pub max: Option<Rate>,
    /// Key of the rate that limits the sender, if it follows a configured rate.
    pub key: Option<&'static str>,
    /// Average rate on the wire agreed by both ends, independent of the network; `None` for schemes that find their
    /// rate.
    pub agreed: Option<Rate>,
}

/// Use of router feedback by senders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedbackUse {
    /// Kind that senders understand.
    pub kind: Option<FeedbackKind>,
    /// Senders need it on the path to work as intended.
    pub is_needed: bool,
}

impl FeedbackUse {
    /// Returns the kind that senders need, if any.
    pub const fn needed(self) -> Option<FeedbackKind> {
        if self.is_needed { self.kind } else { None }
    }
}

/// Needs of ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndNeeds {
    /// Delivery in order: ends treat a gap as loss and a duplicate as an error, and so need reordering undone before.
    pub order: bool,
    /// Processing of each packet on arrival: ends measure the spacing of arrivals.
    pub spacing: bool,
    /// A stream of random numbers for senders ([`Notice::RandomStream`](thalweg_proto::endpoint::Notice::RandomStream)).
    pub random: bool,
}

/// Adjustment of a configuration to its environment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Adjustment {
    /// The live flows' allowance for host lateness.
    HostLateness,
    /// Delivered data occupies the receive buffer until the application has read it.
    Reading,
    /// The effect of a gate's pause on the sender's timer.
    Pause(PauseConfig),
    /// A receiver that violates the protocol.
    Misbehaviour(Misbehaviour),
}

/// A receive window, in the receiver's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveWindow {
    /// Bytes.
    Bytes(u64),
    /// Messages.
    Messages(u32),
    /// Another unit, or no window.
    Other,
}

/// The path of a simulated flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnPath {
    /// The bottleneck rate.
    pub rate: Rate,
    /// The round-trip time without queueing.
    pub rtt: Duration,
    /// A full data packet on the wire.
    pub packet: Bytes,
}

/// A warning about a value that is probably unintended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathWarning {
    /// The code of the diagnostic: `scenario.window`.
    pub code: &'static str,
    /// The warning, phrased to follow the flow's name.
    pub what: String,
    /// A remedy or a reason.
    pub help: String,
}
