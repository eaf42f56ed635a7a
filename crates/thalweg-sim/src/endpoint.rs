//! The ends of connections: an engine of any protocol with what the simulator keeps beside it.

use crate::gate::NO_GATE;
use crate::packet::{Class, NONE};
use crate::pdu::Pdu;
use crate::prefetch::{prefetch_all, prefetch_at};
use crate::segments::{SegmentTimes, TimedSender};
use crate::spec::{LOWEST_PRIORITY, TransportSpec};
use std::sync::Arc;
use thalweg_proto::congestion::{Any, FeedbackKind, MadeSender};
use thalweg_proto::payload::Length;
use thalweg_proto::transport::{Event, Feedback, Input, Limit, ReceiverCounts, SenderStats};
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_proto::{Engine, Output, aack, datagram, sscop, sstp, window};

/// An endpoint by its position: twice its connection's, plus one for the receiving end.
pub(crate) type EndpointId = u32;

/// Any engine. Large ones are boxed, so that the table of endpoints stays dense.
#[derive(Debug)]
pub(crate) enum AnyEngine {
    Vacant,
    WindowSender(Box<window::Sender<Length, Any>>),
    WindowReceiver(Box<window::Receiver<Length>>),
    Source(Box<datagram::Source<Length>>),
    Sink(Box<datagram::Sink<Length>>),
    AdaptiveTransmitter(Box<aack::Transmitter<Length>>),
    AdaptiveReceiver(Box<aack::Receiver<Length>>),
    /// Either end.
    Sscop(Box<sscop::Endpoint<Length>>),
    SstpSender(Box<TimedSender>),
    SstpReceiver(Box<sstp::Receiver<Length>>),
    /// With a controller of any type; behind two pointers, the outer of which is as thin as those of the others.
    CustomSender(Box<Box<dyn window::AnySender<Length>>>),
}

/// A command of an application or a gate to an engine.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Command {
    Write(Length),
    Consumed(u64),
    Finish,
    Stop,
    Pause,
    Resume,
}

impl<P> From<Command> for Input<P, Length> {
    fn from(command: Command) -> Self {
        match command {
            Command::Write(length) => Self::Write(length),
            Command::Consumed(bytes) => Self::Consumed(bytes),
            Command::Finish => Self::Finish,
            Command::Stop => Self::Stop,
            Command::Pause => Self::Pause,
            Command::Resume => Self::Resume,
        }
    }
}

/// An engine's output without what only people read.
pub(crate) type AnyOutput = Output<Pdu, Event<Length>, ()>;

fn unify<P, R>(output: Output<P, Event<Length>, R>, pdu: impl FnOnce(P) -> Pdu) -> AnyOutput {
    match output {
        Output::Transmit(inner) => Output::Transmit(pdu(inner)),
        Output::Event(event) => Output::Event(event),
        Output::Timeout { at, .. } => Output::Timeout { at, reason: () },
        Output::Idle => Output::Idle,
    }
}

impl AnyEngine {
    /// A packet arrived. What an engine does not speak is dropped.
    #[inline]
    pub fn receive(&mut self, now: Time, pdu: Pdu, marked: bool) {
        match (self, pdu) {
            (Self::WindowSender(engine), Pdu::Window(pdu)) => engine.handle(now, Input::Pdu { pdu, marked }),
            (Self::WindowReceiver(engine), Pdu::Window(pdu)) => {
                engine.handle(now, Input::Pdu { pdu, marked });
            }
            (engine, pdu) => engine.receive_other(now, pdu, marked),
        }
    }

    // Other transports are in functions of their own: inlined, they would crowd out the window transport, which most
    // packets are of.

    #[inline(never)]
    fn receive_other(&mut self, now: Time, pdu: Pdu, marked: bool) {
        match (self, pdu) {
            (Self::CustomSender(engine), Pdu::Window(pdu)) => engine.handle(now, Input::Pdu { pdu, marked }),
            (Self::Sink(engine), Pdu::Datagram(pdu)) => engine.handle(now, Input::Pdu { pdu, marked }),
            (Self::AdaptiveTransmitter(engine), Pdu::AdaptiveAck(pdu)) => {
                engine.handle(now, Input::Pdu { pdu, marked });
            }
            (Self::AdaptiveReceiver(engine), Pdu::AdaptiveAck(pdu)) => {
                engine.handle(now, Input::Pdu { pdu, marked });
            }
            (Self::Sscop(engine), Pdu::Sscop(pdu)) => engine.handle(now, Input::Pdu { pdu, marked }),
            (Self::SstpSender(sender), Pdu::Sstp(pdu)) => {
                sender.engine.handle(now, Input::Pdu { pdu, marked });
            }
            (Self::SstpReceiver(engine), Pdu::Sstp(pdu)) => engine.handle(now, Input::Pdu { pdu, marked }),
            (engine, Pdu::Feedback(feedback)) => engine.feedback(now, feedback),
            _ => {}
        }
    }

    /// Asks for all of the engine.
    #[inline]
    pub fn prefetch(&self) {
        match self {
            Self::WindowSender(engine) => prefetch_all(engine.as_ref()),
            Self::WindowReceiver(engine) => prefetch_all(engine.as_ref()),
            Self::AdaptiveTransmitter(engine) => prefetch_all(engine.as_ref()),
            Self::AdaptiveReceiver(engine) => prefetch_all(engine.as_ref()),
            Self::Sscop(engine) => prefetch_all(engine.as_ref()),
            Self::SstpSender(engine) => prefetch_all(engine.as_ref()),
            Self::SstpReceiver(engine) => prefetch_all(engine.as_ref()),
            Self::CustomSender(_) | Self::Source(_) | Self::Sink(_) | Self::Vacant => {}
        }
    }

    /// Asks for what the engine keeps elsewhere.
    #[inline]
    pub fn prefetch_more(&self) {
        if let Self::WindowSender(engine) = self
            && let Some(places) = engine.next_needed()
        {
            places.into_iter().for_each(prefetch_at);
        }
    }

    fn feedback(&mut self, now: Time, feedback: Feedback) {
        match self {
            Self::WindowSender(engine) => engine.handle(now, Input::Feedback(feedback)),
            Self::CustomSender(engine) => engine.handle(now, Input::Feedback(feedback)),
            Self::Source(engine) => engine.handle(now, Input::Feedback(feedback)),
            Self::AdaptiveTransmitter(engine) => engine.handle(now, Input::Feedback(feedback)),
            Self::SstpSender(sender) => sender.engine.handle(now, Input::Feedback(feedback)),
            // Its sources do not listen to routers.
            Self::Sscop(_) => {}
            Self::WindowReceiver(_)
            | Self::Sink(_)
            | Self::AdaptiveReceiver(_)
            | Self::SstpReceiver(_)
            | Self::Vacant => {}
        }
    }

    pub fn command(&mut self, now: Time, command: Command) {
        match self {
            Self::WindowSender(engine) => engine.handle(now, command.into()),
            Self::CustomSender(engine) => engine.handle(now, command.into()),
            Self::Source(engine) => engine.handle(now, command.into()),
            Self::AdaptiveTransmitter(engine) => engine.handle(now, command.into()),
            Self::Sscop(engine) => engine.handle(now, command.into()),
            Self::SstpSender(sender) => sender.engine.handle(now, command.into()),
            Self::WindowReceiver(engine) => engine.handle(now, command.into()),
            Self::SstpReceiver(engine) => engine.handle(now, command.into()),
            Self::Sink(_) | Self::AdaptiveReceiver(_) | Self::Vacant => {}
        }
    }

    /// The application at a receiver says that it reads at this share of the agreed rate from now on.
    pub fn set_reading_share(&mut self, share: f64) {
        if let Self::SstpReceiver(engine) = self {
            engine.set_reading_share(share);
        }
    }

    #[inline]
    pub fn poll(&mut self, now: Time) -> AnyOutput {
        match self {
            Self::WindowSender(engine) => unify(engine.poll(now), Pdu::Window),
            Self::WindowReceiver(engine) => unify(engine.poll(now), Pdu::Window),
            other => other.poll_other(now),
        }
    }

    #[inline(never)]
    fn poll_other(&mut self, now: Time) -> AnyOutput {
        match self {
            Self::CustomSender(engine) => unify(engine.poll(now), Pdu::Window),
            Self::Source(engine) => unify(engine.poll(now), Pdu::Datagram),
            Self::Sink(engine) => unify(engine.poll(now), Pdu::Datagram),
            Self::AdaptiveTransmitter(engine) => unify(engine.poll(now), Pdu::AdaptiveAck),
            Self::AdaptiveReceiver(engine) => unify(engine.poll(now), Pdu::AdaptiveAck),
            Self::Sscop(engine) => unify(engine.poll(now), Pdu::Sscop),
            Self::SstpSender(engine) => unify(engine.poll(now), Pdu::Sstp),
            Self::SstpReceiver(engine) => unify(engine.poll(now), Pdu::Sstp),
            Self::WindowSender(_) | Self::WindowReceiver(_) | Self::Vacant => Output::Idle,
        }
    }

    /// The times of the segments that it sends, where it sends any.
    pub fn segment_times(&mut self) -> Option<&mut SegmentTimes> {
        match self {
            Self::SstpSender(sender) => Some(&mut sender.times),
            _ => None,
        }
    }

    /// The counts and estimates of a sending engine; `None` for others.
    pub fn sender_stats(&self, now: Time) -> Option<SenderStats> {
        match self {
            Self::WindowSender(engine) => Some(engine.stats(now).common),
            Self::CustomSender(engine) => Some(engine.stats(now).common),
            Self::Source(engine) => Some(engine.stats(now)),
            Self::AdaptiveTransmitter(engine) => Some(engine.stats(now).common),
            Self::Sscop(engine) => Some(engine.stats(now).common),
            Self::SstpSender(sender) => Some(sender.engine.stats(now).common),
            Self::WindowReceiver(_)
            | Self::Sink(_)
            | Self::AdaptiveReceiver(_)
            | Self::SstpReceiver(_)
            | Self::Vacant => None,
        }
    }

    /// The counts of what a receiving engine has taken; nothing for others.
    pub fn receiver_counts(&self) -> ReceiverCounts {
        match self {
            Self::WindowReceiver(engine) => engine.counts(),
            Self::Sink(engine) => engine.counts(),
            Self::AdaptiveReceiver(engine) => engine.counts(),
            Self::Sscop(engine) => engine.counts(),
            Self::SstpReceiver(engine) => engine.counts(),
            Self::WindowSender(_)
            | Self::CustomSender(_)
            | Self::Source(_)
            | Self::AdaptiveTransmitter(_)
            | Self::SstpSender(_)
            | Self::Vacant => ReceiverCounts::default(),
        }
    }

    /// The counts of a sending engine since its flow began; zero for others.
    pub fn sender_counts(&self, now: Time) -> Counts {
        let Some(stats) = self.sender_stats(now) else { return Counts::default() };
        let (segments, segment_delays, longest_segment_delay) = match self {
            Self::SstpSender(sender) => {
                let delay = sender.times.delay();
                (delay.count, sender.times.sum(), delay.max)
            }
            _ => Default::default(),
        };
        Counts {
            taken: ReceiverCounts::default(),
            sent: stats.sent,
            retransmissions: stats.retransmissions,
            timeouts: stats.timeouts,
            min_rtt: stats.min_rtt.unwrap_or(Duration::MAX),
            smoothed_rtt: stats.smoothed_rtt.unwrap_or(Duration::ZERO),
            segments,
            segment_delays,
            longest_segment_delay,
            limits: stats.limits,
        }
    }
}

/// The counts of the engines of connections, over their whole life.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    /// By the receivers.
    pub taken: ReceiverCounts,
    pub sent: u64,
    pub retransmissions: u64,
    pub timeouts: u64,
    pub min_rtt: Duration,
    pub smoothed_rtt: Duration,
    /// Segments of two-level flow control that were accepted, and how long they took.
    pub segments: u64,
    pub segment_delays: Duration,
    pub longest_segment_delay: Duration,
    pub limits: [Duration; Limit::COUNT],
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            taken: ReceiverCounts::default(),
            sent: 0,
            retransmissions: 0,
            timeouts: 0,
            min_rtt: Duration::MAX,
            smoothed_rtt: Duration::ZERO,
            segments: 0,
            segment_delays: Duration::ZERO,
            longest_segment_delay: Duration::ZERO,
            limits: [Duration::ZERO; Limit::COUNT],
        }
    }
}

impl Counts {
    /// Adds another connection's counts.
    pub fn add(&mut self, other: &Self) {
        self.taken.add(&other.taken);
        self.sent += other.sent;
        self.retransmissions += other.retransmissions;
        self.timeouts += other.timeouts;
        self.min_rtt = self.min_rtt.min(other.min_rtt);
        self.smoothed_rtt = if other.smoothed_rtt.is_zero() { self.smoothed_rtt } else { other.smoothed_rtt };
        self.segments += other.segments;
        self.segment_delays += other.segment_delays;
        self.longest_segment_delay = self.longest_segment_delay.max(other.longest_segment_delay);
        for (sum, more) in self.limits.iter_mut().zip(other.limits) {
            *sum += more;
        }
    }

    /// The counts since `base`; round-trip times are those of the whole life.
    pub fn since(&self, base: &Self) -> Self {
        let mut limits = self.limits;
        for (limit, before) in limits.iter_mut().zip(base.limits) {
            *limit -= before;
        }
        Self {
            taken: self.taken.since(&base.taken),
            sent: self.sent - base.sent,
            retransmissions: self.retransmissions - base.retransmissions,
            timeouts: self.timeouts - base.timeouts,
            segments: self.segments - base.segments,
            segment_delays: self.segment_delays.saturating_sub(base.segment_delays),
            limits,
            ..*self
        }
    }
}

/// An end of a connection: one cache line.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Endpoint {
    pub engine: AnyEngine,
    /// The time at which its timer event is due; [`Time::MAX`] when none is in the queue.
    pub armed: Time,
    pub way: Way,
    /// Packets sent.
    pub serial: u32,
    /// The flow that it works for.
    pub flow: u32,
    /// Bytes on the wire beside the payload of a data packet, and of a packet without payload.
    pub header: u32,
    pub control: u32,
    /// The use of its connection's slot that this is.
    pub incarnation: u16,
    /// It waits for its host.
    pub waiting: bool,
    /// Every change of its state is recorded.
    pub watched: bool,
    /// Its outputs are being taken.
    pub draining: bool,
    /// The priority of its flow, and whether what it sends for the first time may be marked in place of being dropped.
    pub class: Class,
    /// The gate that it sends behind.
    pub gate: u16,
}

/// The way by which packets leave an end of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// The access link, [`NONE`] for a flow that starts in the network.
    pub first: u32,
    /// The position at which the route starts.
    pub route: u32,
    /// The access link at the far end.
    pub exit: u32,
    /// The host that works for the endpoint; [`NONE`] when work costs nothing.
    pub host: u32,
}

impl Endpoint {
    pub const VACANT: Self = Self {
        engine: AnyEngine::Vacant,
        armed: Time::MAX,
        way: Way { first: NONE, route: 0, exit: NONE, host: NONE },
        serial: 0,
        flow: 0,
        header: 0,
        control: 0,
        incarnation: 0,
        waiting: false,
        watched: false,
        draining: false,
        class: Class::new(LOWEST_PRIORITY, false),
        gate: NO_GATE,
    };

    /// The size on the wire of a packet with this PDU.
    #[inline]
    pub fn wire_size(&self, pdu: &Pdu) -> u32 {
        match pdu {
            Pdu::Window(window::Pdu::Segment(segment)) => segment.payload.0 + self.header,
            Pdu::Window(window::Pdu::Ack(_)) | Pdu::Feedback(_) => self.control,
            Pdu::Datagram(payload) => payload.0 + self.header,
            Pdu::AdaptiveAck(aack::Pdu::Data(data)) => data.payload.0 + self.header,
            Pdu::AdaptiveAck(aack::Pdu::Ack(_)) => self.control,
            Pdu::Sscop(pdu) => pdu.wire_len() + self.control,
            Pdu::Sstp(sstp::Pdu::Data(data)) => data.payload.0 + self.header,
            Pdu::Sstp(_) => self.control,
        }
    }
}

/// A transport with what its engines share.
#[derive(Clone, Debug)]
pub(crate) enum Transport {
    Window {
        sender: Arc<window::SenderConfig>,
        receiver: Arc<window::ReceiverConfig>,
        controller: thalweg_proto::congestion::ControllerConfig,
        header: u32,
        ack: u32,
    },
    Datagram(datagram::SourceConfig),
    AdaptiveAck {
        config: Arc<aack::Config>,
        header: u32,
        ack: u32,
    },
    Sscop {
        config: sscop::EndpointConfig,
        header: u32,
    },
    Sstp {
        sender: Arc<sstp::SenderConfig>,
        receiver: Arc<sstp::ReceiverConfig>,
        header: u32,
        control: u32,
    },
}

impl Transport {
    pub fn new(spec: &TransportSpec) -> Self {
        match spec {
            TransportSpec::Window { sender, receiver, controller, header, ack, .. } => Self::Window {
                sender: Arc::new(*sender),
                receiver: Arc::new(*receiver),
                controller: controller.clone(),
                header: *header,
                ack: *ack,
            },
            TransportSpec::Datagram { segment, header, rate, .. } => {
                Self::Datagram(datagram::SourceConfig { segment: *segment, header: *header, rate: *rate })
            }
            TransportSpec::AdaptiveAck { config, header, ack, .. } => {
                Self::AdaptiveAck { config: Arc::new(*config), header: *header, ack: *ack }
            }
            TransportSpec::Sscop { config, header, .. } => {
                Self::Sscop { config: config.clone(), header: *header }
            }
            TransportSpec::Sstp { sender, receiver, header, control, .. } => Self::Sstp {
                sender: Arc::new(*sender),
                receiver: Arc::new(*receiver),
                header: *header,
                control: *control,
            },
        }
    }

    /// Says what a pause does to the sender's timer, where it has one.
    pub fn set_pause(&mut self, pause: window::PauseConfig) {
        if let Self::Window { sender, .. } = self {
            Arc::make_mut(sender).pause = pause;
        }
    }

    /// Makes delivered data take room at the receiver until the application has read it.
    pub fn set_reading(&mut self) {
        match self {
            Self::Window { receiver, .. } => Arc::make_mut(receiver).wait_for_consumption = true,
            Self::Sstp { receiver, .. } => Arc::make_mut(receiver).wait_for_consumption = true,
            Self::Sscop { config, .. } => Arc::make_mut(&mut config.sscop).credit = sscop::Credit::User,
            Self::Datagram(_) | Self::AdaptiveAck { .. } => {}
        }
    }

    /// The share that a rate of payload is of the rate both ends agreed upon; `None` where no rate is agreed upon.
    pub fn reading_share(&self, rate: Rate) -> Option<f64> {
        let Self::Sstp { sender, header, .. } = self else { return None };
        let packet = f64::from(sender.packet);
        let agreed = sender.rate.average().as_f64() * packet / (packet + f64::from(*header));
        Some((rate.as_f64() / agreed).min(1.0))
    }

    /// The engines of a new connection, the sender's first.
    pub fn engines(&self) -> (AnyEngine, AnyEngine) {
        match self {
            Self::Window { sender, receiver, controller, .. } => (
                match controller.sender(Arc::clone(sender)) {
                    MadeSender::Listed(engine) => AnyEngine::WindowSender(engine),
                    MadeSender::Custom(engine) => AnyEngine::CustomSender(Box::new(engine)),
                },
                AnyEngine::WindowReceiver(Box::new(window::Receiver::new(Arc::clone(receiver)))),
            ),
            Self::Datagram(config) => (
                AnyEngine::Source(Box::new(datagram::Source::new(*config))),
                AnyEngine::Sink(Box::new(datagram::Sink::new())),
            ),
            Self::AdaptiveAck { config, .. } => (
                AnyEngine::AdaptiveTransmitter(Box::new(aack::Transmitter::new(Arc::clone(config)))),
                AnyEngine::AdaptiveReceiver(Box::new(aack::Receiver::new(Arc::clone(config)))),
            ),
            Self::Sscop { config, .. } => {
                let end = || AnyEngine::Sscop(Box::new(sscop::Endpoint::new(config)));
                (end(), end())
            }
            Self::Sstp { sender, receiver, .. } => (
                AnyEngine::SstpSender(Box::new(TimedSender {
                    engine: sstp::Sender::new(Arc::clone(sender)),
                    times: SegmentTimes::default(),
                })),
                AnyEngine::SstpReceiver(Box::new(sstp::Receiver::new(Arc::clone(receiver)))),
            ),
        }
    }

    /// Bytes on the wire beside a data packet's payload, but for what depends on the packet, and of a packet without
    /// payload.
    pub fn overheads(&self) -> (u32, u32) {
        match self {
            Self::Window { header, ack, .. } | Self::AdaptiveAck { header, ack, .. } => (*header, *ack),
            Self::Sstp { header, control, .. } => (*header, *control),
            Self::Datagram(config) => (config.header, config.header),
            // PDUs know their own size.
            Self::Sscop { header, .. } => (*header, *header),
        }
    }

    /// The largest payload of a packet.
    pub fn segment(&self) -> u32 {
        match self {
            Self::Window { sender, .. } => sender.segment,
            Self::Datagram(config) => config.segment,
            Self::AdaptiveAck { config, .. } => config.segment,
            Self::Sscop { config, .. } => config.segment,
            Self::Sstp { sender, .. } => sender.packet,
        }
    }

    /// The size on the wire of a data packet with so much payload.
    pub fn data_packet(&self, payload: u32) -> u32 {
        let framing = match self {
            // An SD PDU is padded to a multiple of four bytes and has four of its own (Q.2110, 7.1).
            Self::Sscop { .. } => payload.next_multiple_of(4) - payload + 4,
            _ => 0,
        };
        payload + framing + self.overheads().0
    }

    /// Its senders do something about marks, so that a queue that can mark need not drop.
    pub fn heeds_marks(&self) -> bool {
        match self {
            Self::Window { sender, controller, .. } => {
                sender.ecn || controller.feedback() == Some(FeedbackKind::DecBit)
            }
            Self::Datagram(_) | Self::AdaptiveAck { .. } | Self::Sscop { .. } | Self::Sstp { .. } => false,
        }
    }

    /// A sender learns when everything has arrived.
    pub fn is_reliable(&self) -> bool {
        !matches!(self, Self::Datagram(_))
    }

    /// Bytes on the wire of the data packets that receivers took.
    pub fn on_wire(&self, taken: &ReceiverCounts) -> u64 {
        taken.payload + taken.framing + taken.packets * u64::from(self.overheads().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_cache_line() {
        assert_eq!(size_of::<Endpoint>(), 64);
    }
}
