//! Settings of a window sender and a window receiver.

use super::Misbehaviour;
use crate::congestion::LedbatPlusPlusConfig;
use crate::units::Duration;

/// Loss recovery method of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// Retransmits everything from the oldest unacknowledged segment on after a loss (Tahoe, and earlier plain window
    /// protocols).
    GoBackN,
    /// Retransmits only the segment indicated by the third duplicate acknowledgement, without a recovery phase. After a
    /// timeout it retransmits everything from the oldest unacknowledged segment on (Jacobson 1988's fast retransmit
    /// without fast recovery; Liang 1991, section 3.3).
    FastRetransmit,
    /// Retransmits only missing segments, one hole per round trip, detected by partial acknowledgements (NewReno, RFC
    /// 6582).
    NewReno,
    /// Retransmits only missing segments, detected by selective acknowledgements (SACK, RFC 2018, RFC 6675).
    Sack,
}

impl Recovery {
    /// Every recovery method.
    pub const ALL: [Self; 4] = [Self::GoBackN, Self::FastRetransmit, Self::NewReno, Self::Sack];
}

/// Unit of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WindowUnit {
    /// Packets of any size.
    Packets,
    /// Bytes: a window of w allows w full-sized segments' worth of them.
    Bytes,
}

/// Computation of the retransmission timeout from the round-trip time (RFC 6298).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RttConfig {
    /// Timeout before the first sample.
    pub initial: Duration,
    /// Minimum timeout.
    pub floor: Duration,
    /// Maximum timeout, including exponential back-off.
    pub ceiling: Duration,
    /// Clock granularity: samples are rounded up to it, and it is the minimum variation. Zero for none.
    pub granularity: Duration,
    /// Minimum margin above the smoothed round-trip time. On a path with almost constant round-trip time the deviations
    /// vanish; without a margin, a timeout of one round trip would expire before any loss could be repaired.
    pub margin: Duration,
    /// Number of mean deviations added to the smoothed time (4 in RFC 6298, 2 in 1988).
    pub deviations: u32,
}

impl Default for RttConfig {
    /// RFC 6298 with a margin of 200 ms above the smoothed time in place of the floor of 1 s, as in Linux.
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            floor: Duration::from_millis(200),
            ceiling: Duration::from_secs(60),
            granularity: Duration::ZERO,
            margin: Duration::from_millis(200),
            deviations: 4,
        }
    }
}

/// Settings of time-based loss detection (RACK-TLP, RFC 8985).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RackConfig {
    /// Undo a window reduction when all segments declared lost turn out to be late only (RFC 3522, RFC 4015).
    pub undo: bool,
    /// Tail loss probe: the last or a new segment is sent after two round trips of silence (RFC 8985, section 7).
    pub tail_probe: bool,
    /// Maximum acknowledgement delay of the receiver for a single segment.
    pub max_ack_delay: Duration,
}

/// Congestion window validation: the rule for a window that the application does not use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Validation {
    /// Decay by half for each retransmission timeout without data, and towards the used window (RFC 2861).
    Decay,
    /// Keep the window for five minutes; a loss reduces it from the used part (RFC 7661).
    PipeAck,
}

/// Settings of a [`Sender`](super::Sender).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderConfig {
    /// Maximum payload of a segment in bytes, at least 1.
    pub segment: u32,
    /// Upper limit of the controller's window, in segments, at least 1.
    pub max_window: u32,
    /// Unit of windows.
    pub counting: WindowUnit,
    /// Loss recovery method.
    pub recovery: Recovery,
    /// Appropriate byte counting (RFC 3465): maximum window increase per acknowledgement, in segments, at least 1. With
    /// 1, each acknowledgement counts once, for any amount of data (RFC 5681). RFC 3465 recommends 2, to avoid long
    /// bursts. Between hosts that batch, one acknowledgement covers a whole batch, and the window then grows less than
    /// twofold per round trip. RFC 9406, section 4.2, recommends 8, or no limit for senders that pace.
    pub byte_counting: u32,
    /// Number of duplicate acknowledgements that indicate a loss (3 in RFC 5681).
    pub duplicate_threshold: u32,
    /// Time-based loss detection, which tolerates reordering. Only with [`Recovery::Sack`], and where the receiver
    /// [reports arrivals](ReceiverConfig::report_arrivals).
    pub rack: Option<RackConfig>,
    /// Proportional rate reduction during recovery, in place of a silence of half a window (PRR, RFC 9937). Only with
    /// [`Recovery::Sack`], and for controllers whose window after a loss is the target for the end of recovery.
    pub prr: bool,
    /// Reduce the window again for a lost retransmission, with `rack` (RFC 5681, section 4.3). Linux and RFC 9002
    /// reduce once per window of data.
    pub cut_for_lost_repairs: bool,
    /// Detection of spurious timeouts (F-RTO, RFC 5682): after a timeout two new segments leave before further
    /// retransmissions. If the next acknowledgement shows a spurious timeout, its effects are undone. Only with
    /// [`Recovery::Sack`].
    pub f_rto: bool,
    /// Retransmission timeout settings.
    pub rtt: RttConfig,
    /// Restart the controller after an idle time longer than the retransmission timeout (RFC 5681, 4.1).
    pub idle_restart: bool,
    /// Congestion window validation, in place of the idle restart; `None` keeps an unused window, subject to
    /// `idle_restart`.
    pub validation: Option<Validation>,
    /// Nagle's algorithm: a partial segment waits while data is unacknowledged (RFC 896).
    pub nagle: bool,
    /// Fine-grained timeout check (Brakmo and Peterson 1995, section 3.1): compare the age of the oldest segment to a
    /// timeout without floor, margin and back-off, at each duplicate acknowledgement and at the two acknowledgements
    /// of new data after a retransmission. A loss then need not wait for further duplicates or the timer.
    pub fine_grained_timer: bool,
    /// React to CE under RFC 3168: an echoed mark counts as a loss without retransmission, at most once per window of
    /// data. The driver sends packets with new data as ECT(0).
    pub ecn: bool,
    /// Timestamps in segments, and their measured delay in acknowledgements, to give controllers [one-way
    /// delays](crate::congestion::AckSample::one_way_delay) (RFC 6817, section 2.3).
    pub timestamps: bool,
    /// Acknowledgement requests: segments request a few acknowledgements per round trip, no closer than this many
    /// segments. `None` leaves the choice to the receiver.
    pub ack_requests: Option<u32>,
    /// Detection of optimistic acknowledgements.
    pub verify_acks: VerifyAcks,
    /// Maximum retransmissions of one segment before the sender gives up; `None` for no limit.
    pub max_retransmissions: Option<u32>,
    /// The effect of a pause on the retransmission timer.
    pub pause: PauseConfig,
}

/// Verification of acknowledgements: the sender skips a segment from time to time, and ends the connection if the
/// receiver acknowledges it (RFC 9000, section 21.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VerifyAcks {
    /// The sender trusts the receiver.
    #[default]
    Never,
    /// From the start, at windows of at least this many segments. Without time-based loss detection: never.
    Always(u32),
    /// Once acknowledgements cover more than this many segments on average: data may be missing that the receiver
    /// acknowledges.
    AboveStretch(u32),
}

/// Effects of [`Pause`](crate::transport::Input::Pause) and [`Resume`](crate::transport::Input::Resume) in addition to
/// stopping data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseConfig {
    /// Stop the retransmission timer during the pause; otherwise it runs on, and may expire.
    pub freezes_timer: bool,
    /// Wait after the pause for data in flight or lost: the sender continues with the next acknowledgement or when the
    /// retransmission timer expires. Otherwise it sends at once, as its window allows.
    pub waits_for_timer: bool,
    /// Drop acknowledgements that arrive during the pause. The sender learns of the delivered data from the first one
    /// after it, or retransmits.
    pub drops_acks: bool,
}

impl Default for SenderConfig {
    fn default() -> Self {
        Self {
            segment: 1448,
            max_window: 1 << 20,
            counting: WindowUnit::Packets,
            recovery: Recovery::Sack,
            byte_counting: 1,
            duplicate_threshold: 3,
            rack: None,
            prr: false,
            cut_for_lost_repairs: true,
            f_rto: false,
            rtt: RttConfig::default(),
            idle_restart: true,
            validation: None,
            nagle: false,
            fine_grained_timer: false,
            ecn: false,
            timestamps: false,
            ack_requests: None,
            verify_acks: VerifyAcks::Never,
            max_retransmissions: None,
            pause: PauseConfig::default(),
        }
    }
}

/// Settings of delayed acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAck {
    /// Maximum delay of an acknowledgement.
    pub delay: Duration,
    /// Maximum number of in-order segments per acknowledgement (2 in RFC 5681).
    pub every: u32,
    /// Acknowledge when the sender [asks](SenderConfig::ack_requests), in place of after every `every` segments.
    pub adaptive: bool,
}

/// Settings of a [`Receiver`](super::Receiver).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiverConfig {
    /// Receive window in bytes beyond the next expected byte.
    pub window: u64,
    /// Delayed acknowledgements; `None` acknowledges every packet at once. Out-of-order data is always acknowledged at
    /// once.
    pub delayed_ack: Option<DelayedAck>,
    /// Send SACK blocks (RFC 2018).
    pub sack: bool,
    /// Buffer out-of-order data; otherwise it is dropped, as by plain go-back-n receivers.
    pub keep_out_of_order: bool,
    /// Report late and retransmitted segments to the sender, with the acknowledgement that answers them
    /// ([`Arrival`](super::Arrival)).
    pub report_arrivals: bool,
    /// Count delivered data against the window until the application reports it consumed.
    pub wait_for_consumption: bool,
    /// Limit the advertised window by LEDBAT++ at the receiver (RFC 9840). The sender has to send
    /// [timestamps](SenderConfig::timestamps).
    pub background: Option<LedbatPlusPlusConfig>,
    /// Deliberate protocol violation; `None` for a correct receiver.
    pub misbehaviour: Option<Misbehaviour>,
}

impl Default for ReceiverConfig {
    fn default() -> Self {
        Self {
            window: 1 << 30,
            delayed_ack: None,
            sack: true,
            keep_out_of_order: true,
            report_arrivals: false,
            wait_for_consumption: false,
            background: None,
            misbehaviour: None,
        }
    }
}
