//! The common model of traces: connections, their two directions, and what is known of each.

use crate::format_and_limits::Format;
use std::collections::BTreeMap;
use thalweg_units::{Duration, Time};

/// Content of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Format of the file.
    pub format: Format,
    /// Connections, in the order of their first packet or event.
    pub connections: Vec<Connection>,
    /// Wall-clock time of [`Time::ZERO`], in seconds since 1970, if known.
    pub epoch: Option<f64>,
    /// Parts that were not read, each with the reason, in one sentence.
    pub notes: Vec<String>,
    /// True if the file ends within a packet or an event, or is damaged.
    pub is_cut: bool,
}

/// A connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Connection {
    /// Name: addresses and ports of both ends, or the title that the writer gave it.
    pub name: String,
    /// Identity, equal in the traces of both ends: the connection id, or addresses and ports.
    pub id: String,
    /// Transport protocol.
    pub protocol: Protocol,
    /// End at which the trace was recorded.
    pub point: Point,
    /// Program that wrote the trace, if it names itself.
    pub writer: Option<String>,
    /// Congestion control, if named.
    pub scheme: Option<String>,
    /// Scheme with all options of a simulated sender, in a log of this project's simulator.
    pub simulated_scheme: Option<String>,
    /// Time of the first packet or event.
    pub start: Time,
    /// Time of the last packet or event.
    pub end: Time,
    /// Data of the client, and data of the server.
    pub directions: [Direction; 2],
    /// Limits of reading this connection, one sentence each.
    pub notes: Vec<String>,
}

/// Transport protocol of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// TCP (RFC 9293).
    Tcp,
    /// QUIC (RFC 9000), from a log of an endpoint.
    #[default]
    Quic,
    /// QUIC in a capture, encrypted: only sizes and times are visible.
    EncryptedQuic,
    /// Another protocol over UDP, in a capture: only sizes and times are visible.
    Udp,
    /// A simulated or live flow of this project, from its series.
    Simulated,
    /// SSCOP (Q.2110) over UDP, in a capture of this project.
    Sscop,
    /// Two-level flow control over UDP, in a capture of this project.
    TwoLevel,
    /// Adaptive acknowledgement over UDP, in a capture of this project.
    AdaptiveAck,
}

impl Protocol {
    /// Returns the name of the protocol.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Quic => "QUIC",
            Self::EncryptedQuic => "QUIC (encrypted)",
            Self::Udp => "UDP",
            Self::Simulated => "flow",
            Self::Sscop => "SSCOP",
            Self::TwoLevel => "SSTP",
            Self::AdaptiveAck => "adaptive ack",
        }
    }
}

/// End at which a trace was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Point {
    /// At the client.
    Client,
    /// At the server.
    Server,
    /// Between the ends, or unknown.
    #[default]
    Between,
}

impl Point {
    /// Returns the place in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Between => "path",
        }
    }
}

/// Scope of a trace in a direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// Packets as the sender sent them.
    Sender,
    /// Packets as the receiver received them.
    Receiver,
    /// Packets at a place between the ends.
    #[default]
    Between,
}

/// Data of one end, and the acknowledgements that the other end returned for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Direction {
    /// Name of the sender: its address and port, or its role.
    pub from: String,
    /// Place of the recording, seen from this direction.
    pub view: View,
    /// Packets with data, in the order of the trace.
    pub packets: Vec<Packet>,
    /// Acknowledgements with a new number or window, in the order of the trace.
    pub acks: Vec<Ack>,
    /// Selectively acknowledged ranges, each when it was first reported.
    pub sacks: Vec<Sack>,
    /// Round-trip times of packets sent once: time of the acknowledgement, and value.
    pub round_trips: Vec<(Time, Duration)>,
    /// Round-trip times by the TCP timestamps option (RFC 7323, section 4), for a trace from the receiver.
    pub echoed: Vec<(Time, Duration)>,
    /// Estimates of the sender, by quantity, as (time, value): bytes, seconds or bit/s. Only a log of an endpoint has them.
    pub metrics: BTreeMap<Metric, Vec<(Time, f64)>>,
    /// Expired retransmission timers.
    pub timeouts: Vec<Timeout>,
    /// Intervals in which something other than the congestion window held the sender back.
    pub limits: Vec<(Time, Time, Limit)>,
    /// Totals of packets and events that are not kept one by one.
    pub counts: Counts,
    /// Maximum segment size, in bytes, if announced or configured.
    pub segment: Option<u32>,
    /// True if the sender announced the window scale, or windows have none: window edges are exact.
    pub has_window: bool,
}

/// A packet with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Time in the trace: of sending at the sender, of arrival at the receiver.
    pub time: Time,
    /// Position of its first byte: in the stream for TCP, among all bytes sent for QUIC.
    pub position: u64,
    /// Size, in bytes: of the IP packet for TCP, of the UDP payload for QUIC.
    pub size: u32,
    /// Payload, in bytes.
    pub length: u32,
    /// Time of its acknowledgement; [`Time::MAX`] if there was none.
    pub acked_at: Time,
    /// Time of the sender's decision that it was lost; [`Time::MAX`] if there was none.
    pub lost_at: Time,
    /// Properties: a sum of the constants below.
    pub flags: u8,
}

impl Packet {
    /// It carries data that was sent before.
    pub const RETRANSMISSION: u8 = 1;
    /// Its retransmission was not necessary: the earlier packet had arrived.
    pub const SPURIOUS: u8 = 2;
    /// It arrived after packets that were sent later.
    pub const ARRIVED_LATE: u8 = 4;
    /// It was sent because a retransmission timer expired.
    pub const TIMEOUT: u8 = 8;
    /// It was marked CE by a router (RFC 3168).
    pub const CE: u8 = 16;
    /// It is a piece of a larger packet that a network card cut later.
    pub const SPLIT: u8 = 32;

    /// Returns true for a packet with this property.
    pub const fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Returns true if an acknowledgement covered it.
    pub fn is_acked(&self) -> bool {
        self.acked_at != Time::MAX
    }

    /// Returns true if the sender took it for lost.
    pub fn is_lost(&self) -> bool {
        self.lost_at != Time::MAX
    }

    /// Returns true if the path lost it: the sender took it for lost, and its retransmission was not spurious.
    pub fn is_lost_on_path(&self) -> bool {
        self.is_lost() && !self.is(Self::SPURIOUS)
    }

    /// Returns the position after its last byte.
    pub const fn end(&self) -> u64 {
        self.position.saturating_add(self.length as u64)
    }
}

/// An acknowledgement, in terms of the direction that it acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Time in the trace.
    pub time: Time,
    /// Position up to which everything has arrived.
    pub position: u64,
    /// Position up to which the receiver accepts data.
    pub edge: u64,
}

/// A selectively acknowledged range (RFC 2018).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sack {
    /// Time in the trace.
    pub time: Time,
    /// Position of its first byte.
    pub start: u64,
    /// Position after its last byte.
    pub end: u64,
    /// True if it reports data that arrived twice (RFC 2883).
    pub is_duplicate: bool,
}

/// An expired retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout {
    /// Time of the retransmission.
    pub time: Time,
    /// Time since the last packet of either end.
    pub silence: Duration,
}

/// A quantity that senders log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Congestion window, in bytes.
    Window,
    /// Slow-start threshold, in bytes.
    Ssthresh,
    /// Bytes in flight.
    InFlight,
    /// Smoothed round-trip time, in seconds.
    SmoothedRtt,
    /// Shortest round-trip time, in seconds.
    MinRtt,
    /// Pacing rate, in bit/s.
    PacingRate,
    /// Delivery rate, in bit/s.
    DeliveryRate,
    /// Bytes that the application has written and the sender has not sent.
    Unsent,
}

impl Metric {
    /// All quantities.
    pub const ALL: [Self; 8] = [
        Self::Window,
        Self::Ssthresh,
        Self::InFlight,
        Self::SmoothedRtt,
        Self::MinRtt,
        Self::PacingRate,
        Self::DeliveryRate,
        Self::Unsent,
    ];

    /// Returns the name of the quantity in results, with its unit as suffix.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Window => "congestion_window_bytes",
            Self::Ssthresh => "ssthresh_bytes",
            Self::InFlight => "in_flight_bytes",
            Self::SmoothedRtt => "smoothed_rtt_s",
            Self::MinRtt => "min_rtt_s",
            Self::PacingRate => "pacing_rate_bps",
            Self::DeliveryRate => "delivery_rate_bps",
            Self::Unsent => "unsent_bytes",
        }
    }
}

/// Limit of a sender other than its congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// The receive window was full.
    Receiver,
    /// The application wrote no data.
    Application,
    /// The send buffer was full.
    SendBuffer,
}

/// Totals of a direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All packets, those without data included.
    pub packets: u64,
    /// Bytes of all packets.
    pub bytes: u64,
    /// Payload bytes, retransmissions included.
    pub payload: u64,
    /// Payload bytes of retransmissions.
    pub retransmitted_bytes: u64,
    /// Packets with retransmitted data.
    pub retransmitted: u64,
    /// Retransmissions that were not necessary.
    pub spurious: u64,
    /// Packets that the sender took for lost.
    pub lost: u64,
    /// Packets that arrived after later ones.
    pub late: u64,
    /// Duplicate acknowledgements for this direction (RFC 5681, section 2).
    pub duplicate_acks: u64,
    /// Acknowledgements for this direction.
    pub acks: u64,
    /// Reports of data that arrived twice (RFC 2883).
    pub duplicate_reports: u64,
    /// Acknowledgements with an empty receive window.
    pub zero_windows: u64,
    /// Packets marked CE.
    pub ce: u64,
    /// Payload bytes that were acknowledged, each once.
    pub delivered: u64,
    /// Packets with data that exceeded the limit and are only counted.
    pub not_kept: u64,
}

impl Connection {
    /// Returns the duration from the first packet or event to the last.
    pub fn duration(&self) -> Duration {
        self.end.since(self.start)
    }

    /// Returns the index of the direction with more data.
    pub fn main_direction(&self) -> usize {
        let volume = |direction: &Direction| direction.counts.payload.max(direction.counts.delivered);
        usize::from(volume(&self.directions[1]) > volume(&self.directions[0]))
    }
}

impl Direction {
    /// Returns the round-trip times that are valid for this view: those of packets, or at the receiver those by timestamps.
    pub fn rtt_samples(&self) -> &[(Time, Duration)] {
        match self.view {
            View::Receiver => &self.echoed,
            View::Between if self.round_trips.is_empty() => &self.echoed,
            View::Sender | View::Between => &self.round_trips,
        }
    }

    /// Returns the bytes in flight after each change, as (time, bytes). The sender's own count is preferred; otherwise it is
    /// what was sent and neither acknowledged nor taken for lost.
    pub fn in_flight(&self) -> Box<dyn Iterator<Item = (Time, f64)> + '_> {
        if let Some(logged) = self.metrics.get(&Metric::InFlight) {
            return Box::new(logged.iter().copied());
        }
        if self.view == View::Receiver {
            return Box::new(core::iter::empty());
        }
        // Packets are in the order of time, and so nearly are their ends: sorting these is quick, and merging both keeps no list of
        // all changes.
        let ends = self.packets.iter().filter_map(|packet| {
            let until = packet.acked_at.min(packet.lost_at);
            (until != Time::MAX).then(|| (until.max(packet.time), i64::from(packet.length)))
        });
        let mut ends: Vec<(Time, i64)> = ends.collect();
        ends.sort_by_key(|end| end.0);
        let mut ends = ends.into_iter().peekable();
        let mut starts = self.packets.iter().map(|packet| (packet.time, i64::from(packet.length))).peekable();
        let mut bytes = 0i64;
        Box::new(core::iter::from_fn(move || {
            let next = [starts.peek(), ends.peek()];
            let time = next.into_iter().flatten().map(|change| change.0).min()?;
            while let Some((_, length)) = starts.next_if(|start| start.0 <= time) {
                bytes += length;
            }
            while let Some((_, length)) = ends.next_if(|end| end.0 <= time) {
                bytes -= length;
            }
            Some((time, bytes as f64))
        }))
    }

    /// Returns true if the trace shows when packets were sent, and their acknowledgements when the sender received them.
    pub fn is_at_sender(&self) -> bool {
        self.view == View::Sender
    }
}
