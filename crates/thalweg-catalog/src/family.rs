//! The interface of protocol families: what makes a pair of engines usable in simulations and on real paths.

use core::fmt::Debug;
use thalweg_proto::congestion::FeedbackKind;
use thalweg_proto::end::End;
use thalweg_proto::payload::Payload;
use thalweg_proto::pdu::DataUnit;
use thalweg_proto::transport::{Event, Input};
use thalweg_proto::units::{Bytes, Duration, Rate};
use thalweg_proto::window::{Misbehaviour, PauseConfig};
use thalweg_proto::{Ecn, Engine};

/// An engine that is one end of a connection, with these PDUs and payloads.
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

/// A protocol family, by the configuration of both ends of a connection.
///
/// Engines are generic over what they carry, so that one description makes them for simulations, where data is a length, and
/// for real paths. A family of another crate becomes usable by [`OwnFamily`](crate::OwnFamily).
pub trait Family: Properties + Clone + PartialEq + 'static {
    /// The name, for errors.
    const NAME: &'static str;

    /// Bytes that a live data packet has beside its payload.
    const OVERHEAD: u32;

    /// The PDUs that the ends exchange.
    type Pdu<P: Payload>: DataUnit<P>;

    /// The end at which the application writes.
    type Sender<P: Payload>: Endpoint<P, Self::Pdu<P>>;

    /// The end at which it reads.
    type Receiver<P: Payload>: Endpoint<P, Self::Pdu<P>>;

    /// The sender of a new connection.
    fn sender<P: Payload>(&self) -> Self::Sender<P>;

    /// The receiver of a new connection.
    fn receiver<P: Payload>(&self) -> Self::Receiver<P>;
}

/// The properties of a family with its configuration that simulator, network, lints and explanations rely on. Those that a
/// family says nothing about are as most have them.
pub trait Properties: Debug + Send + Sync {
    /// The largest payload of a packet in bytes, at least 1.
    fn segment(&self) -> u32;

    /// Checks what engines rely on.
    ///
    /// # Errors
    ///
    /// The quantity that must not be zero and is.
    fn check(&self) -> Result<(), &'static str> {
        Ok(())
    }

    /// The text that explains the configuration, behind the scheme's name: `, segments of 1448 B`.
    fn words(&self) -> String {
        format!(", packets of {} B", self.segment())
    }

    /// True if nothing is lost, nothing comes twice, and the sender learns when everything has arrived.
    fn is_reliable(&self) -> bool {
        true
    }

    /// The most full packets that a flow has outstanding; `None` where no window bounds them.
    fn window(&self) -> Option<u64>;

    /// Full packets that a flow sends at once when it starts.
    fn first_window(&self) -> f64 {
        self.window().map_or(1.0, |window| window as f64)
    }

    /// True if neither losses nor routers make the window smaller.
    fn never_shrinks(&self) -> bool {
        false
    }

    /// The rate of bytes on the wire above which the sender never sends, where the configuration says one.
    fn rate(&self) -> Option<Rate> {
        None
    }

    /// The key of the rate that holds the sender back, where it follows one that it is given.
    fn rate_key(&self) -> Option<&'static str> {
        None
    }

    /// True if neither a window nor a rate of its own holds the sender back: it sends all that is written at once.
    fn is_unbounded(&self) -> bool {
        self.window().is_none() && self.rate().is_none()
    }

    /// The average rate on the wire upon which both ends agree, whatever the network does; `None` for those that find theirs.
    fn agreed_rate(&self) -> Option<Rate> {
        None
    }

    /// Bytes on the wire of a data packet with so much payload, beside that and the header that all have.
    fn framing(&self, payload: u32) -> u32 {
        let _ = payload;
        0
    }

    /// Bytes on the wire of an answer to data, beside the header that all control PDUs have.
    fn answer(&self) -> u32 {
        0
    }

    /// The codepoint with which data leaves: ECN-capable only where senders react to CE.
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    /// True if senders miss something on a path where no queue marks.
    fn needs_marks(&self) -> bool {
        self.ecn() != Ecn::NotEct
    }

    /// The messages of routers that senders understand.
    fn feedback(&self) -> Option<FeedbackKind> {
        None
    }

    /// True if senders miss something on a path where no router sends such messages.
    fn needs_feedback(&self) -> bool {
        self.feedback().is_some()
    }

    /// The messages of routers that senders need; none where they can do without.
    fn needed_feedback(&self) -> Option<FeedbackKind> {
        self.feedback().filter(|_| self.needs_feedback())
    }

    /// The window that a receiver grants before its application has read anything.
    fn receive_window(&self) -> ReceiveWindow {
        ReceiveWindow::Other
    }

    /// The reason for which a slow application at the receiver cannot hold back the sender; `None` where it can.
    fn no_slow_reader(&self) -> Option<&'static str> {
        None
    }

    /// True if ends take a gap for a loss, and a copy for an error: what a path does not keep in order must be put there before.
    fn needs_order(&self) -> bool {
        false
    }

    /// True if ends learn of the network from the spacing of the packets that come, so that their hosts are to take each as it comes.
    fn times_packets(&self) -> bool {
        false
    }

    /// True if senders draw random numbers, for which they are given a stream
    /// ([`draw_from`](thalweg_proto::end::End::draw_from)).
    fn draws(&self) -> bool {
        false
    }

    /// Makes the allowance for hosts that are late which live flows make.
    fn expect_lateness(&mut self) {}

    /// From now on delivered data takes room at the receiver until the application has read it, where it can.
    fn wait_for_reading(&mut self) {}

    /// Says what a pause by a gate does to the sender's timer, where it has one.
    fn set_pause(&mut self, pause: PauseConfig) {
        let _ = pause;
    }

    /// Has the receiver act against the rules; false where it cannot.
    fn misbehave(&mut self, how: Misbehaviour) -> bool {
        let _ = how;
        false
    }

    /// Values that are probably not meant on a path.
    fn doubts(&self, path: &OnPath) -> Vec<Doubt> {
        let _ = path;
        Vec::new()
    }
}

/// The window of a receiver, in what it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveWindow {
    /// Bytes.
    Bytes(u64),
    /// Messages.
    Messages(u32),
    /// Something else, or there is none.
    Other,
}

/// The path of a simulated flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnPath {
    /// The rate of its bottleneck.
    pub rate: Rate,
    /// The round-trip time without queues.
    pub rtt: Duration,
    /// A full data packet on the wire.
    pub packet: Bytes,
}

/// A value that is probably not meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The code of the diagnostic: `scenario.window`.
    pub code: &'static str,
    /// The doubt, in words that follow the flow's name.
    pub what: String,
    /// A remedy or a reason.
    pub help: String,
}
