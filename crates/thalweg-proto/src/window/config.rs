//! The settings of a window sender and a window receiver.

use super::Misbehaviour;
use crate::congestion::{ControllerConfig, LedbatPlusPlusConfig};
use crate::handshake;
use crate::units::Duration;
use std::sync::Arc;

/// The way in which a sender repairs losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// After a loss everything from the oldest unacknowledged segment on is sent again (Tahoe, and the plain
    /// window protocols before it).
    GoBackN,
    /// The third duplicate acknowledgement sends the one segment again that it names, and nothing else follows from it;
    /// after a time-out everything from the oldest unacknowledged segment on is sent again (Jacobson 1988's fast
    /// retransmit without a recovery after it; Liang 1991, section 3.3).
    FastRetransmit,
    /// Only what is missing is sent again, one hole a round trip, found by partial acknowledgements
    /// (NewReno, RFC 6582).
    NewReno,
    /// Only what is missing is sent again, found by the receiver's selective acknowledgements (RFC 2018, RFC 6675).
    Sack,
}

impl Recovery {
    /// Every way of repair.
    pub const ALL: [Self; 4] = [Self::GoBackN, Self::FastRetransmit, Self::NewReno, Self::Sack];
}

/// The unit that a window is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counting {
    /// Packets of any size.
    Packets,
    /// Bytes: a window of w allows w full-sized segments' worth of them.
    Bytes,
}

/// The rules by which the retransmission time-out follows the round-trip time (RFC 6298).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RttConfig {
    /// The time-out before the first sample.
    pub initial: Duration,
    /// The smallest time-out.
    pub floor: Duration,
    /// The largest time-out, also of the doubling back-off.
    pub ceiling: Duration,
    /// The clock's tick: samples are rounded up to it, and it is the least variation that counts. Zero for none.
    pub granularity: Duration,
    /// At least this is added to the smoothed time. On a path whose round-trip time hardly varies the deviations
    /// come to nothing, and a time-out of one round trip expires before any loss can be repaired without it.
    pub margin: Duration,
    /// The number of mean deviations that are added to the smoothed time (4 in RFC 6298, 2 in 1988).
    pub deviations: u32,
}

impl Default for RttConfig {
    /// RFC 6298 with, in place of its floor of 1 s, a margin of 200 ms above the smoothed time, as Linux has it.
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

/// The settings of the detection of losses by time (RACK-TLP, RFC 8985).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RackConfig {
    /// A cut of the window is undone when everything that was taken for lost turns out to have been late only (RFC 3522, RFC
    /// 4015).
    pub undo: bool,
    /// The last segment goes again, or a new one, when nothing is heard for two round trips (RFC 8985, section 7).
    pub tail_probe: bool,
    /// The longest that the receiver may wait before it acknowledges a single segment.
    pub max_ack_delay: Duration,
}

/// A rule for a window that the application does not use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Validation {
    /// It decays: by half for each retransmission time-out without data, and towards what is used (RFC 2861).
    Decay,
    /// It is kept for five minutes, and a loss cuts what is used of it (RFC 7661).
    PipeAck,
}

/// The settings of a [`Sender`](super::Sender).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderConfig {
    /// The largest payload of a segment in bytes, at least 1.
    pub segment: u32,
    /// The largest window in segments, whatever the controller allows, at least 1.
    pub max_window: u32,
    /// The unit that windows are counted in.
    pub counting: Counting,
    /// The way in which losses are repaired.
    pub recovery: Recovery,
    /// Windows grow by what is acknowledged (appropriate byte counting, RFC 3465), but by no more than this many segments
    /// for one acknowledgement, at least 1. With 1 each acknowledgement counts once, whatever it acknowledges (RFC 5681).
    /// RFC 3465 asks for 2, so that none makes a long burst. Where one speaks for a whole batch of segments, as it does
    /// between hosts that batch, the window then grows slower than twofold in a round trip; RFC 9406, section 4.2, has 8,
    /// or no limit for senders that pace.
    pub byte_counting: u32,
    /// The number of duplicate acknowledgements that mean a loss (3 in RFC 5681).
    pub duplicate_threshold: u32,
    /// Losses are found by time instead, which takes what comes late for lost only where it comes very late. Only with
    /// [`Recovery::Sack`], and where the receiver [reports arrivals](ReceiverConfig::report_arrivals).
    pub rack: Option<RackConfig>,
    /// While losses are repaired, what is sent follows what is delivered, in place of a silence of half a window (PRR, RFC
    /// 9937). Only with [`Recovery::Sack`], and for controllers whose window after a loss is what they want at its end.
    pub prr: bool,
    /// With `rack`: the loss of a retransmission cuts the window once more (RFC 5681, section 4.3). Linux and RFC 9002 cut once for
    /// each window of data.
    pub cut_for_lost_repairs: bool,
    /// After a time-out two new segments leave before lost ones go again, and what is acknowledged next tells whether the time-out was
    /// spurious, which is then undone (F-RTO, RFC 5682). Only with [`Recovery::Sack`].
    pub f_rto: bool,
    /// The retransmission time-out.
    pub rtt: RttConfig,
    /// After an idle time longer than the retransmission time-out the controller starts afresh (RFC 5681, 4.1).
    pub idle_restart: bool,
    /// The rule for a window that is not used, in place of starting afresh; `None` keeps it but for that.
    pub validation: Option<Validation>,
    /// A segment that is not full waits while anything is unacknowledged, so that many small writes become few packets
    /// (Nagle, RFC 896).
    pub nagle: bool,
    /// Look at the age of the oldest segment, against a time-out without floor, margin and back-off, at each duplicate
    /// acknowledgement and at the two acknowledgements of new data after a retransmission, so that a loss need not wait
    /// for further duplicates or the timer (Brakmo and Peterson 1995, section 3.1).
    pub fine_timer: bool,
    /// React to CE as RFC 3168 asks: a mark that the receiver echoes counts as a loss of which nothing goes again, at most
    /// once for each window of data. Whoever puts the packets into the network sends those of new data as ECT(0).
    pub ecn: bool,
    /// Segments say when they leave, and acknowledgements how long they took, so that controllers see
    /// [one-way delays](crate::congestion::AckSample::one_way_delay) (RFC 6817, section 2.3).
    pub timestamps: bool,
    /// Segments ask for acknowledgements, a few in a round trip, and no closer than this many segments. `None` leaves it to the
    /// receiver to acknowledge when it will.
    pub ack_requests: Option<u32>,
    /// Detect receivers that acknowledge what they have not received, by a segment that is kept back from time to time (RFC 9000, section
    /// 21.4), and end the connection then. The smallest window in segments at which this is done; `None` trusts them. Only with `rack`.
    pub verify_acks: Option<u32>,
    /// Give up after the same segment was sent this many times more; `None` never does.
    pub max_retransmissions: Option<u32>,
    /// The effect of a pause on the retransmission timer.
    pub pause: PauseConfig,
}

/// The effects of [`Pause`](crate::transport::Input::Pause) and [`Resume`](crate::transport::Input::Resume) beside
/// stopping data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseConfig {
    /// The retransmission timer stands still during the pause; otherwise it runs on, and may expire.
    pub freezes_timer: bool,
    /// After the pause data that is on the way or lost is waited for: the sender goes on with the next acknowledgement or
    /// when the retransmission timer expires. Otherwise it sends at once what its window allows.
    pub waits_for_timer: bool,
}

impl Default for SenderConfig {
    fn default() -> Self {
        Self {
            segment: 1448,
            max_window: 1 << 20,
            counting: Counting::Packets,
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
            fine_timer: false,
            ecn: false,
            timestamps: false,
            ack_requests: None,
            verify_acks: None,
            max_retransmissions: None,
            pause: PauseConfig::default(),
        }
    }
}

/// The rules by which a receiver delays its acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAck {
    /// Acknowledge at the latest after this time.
    pub delay: Duration,
    /// Acknowledge at the latest after this many in-order segments (2 in RFC 5681).
    pub every: u32,
    /// The sender [asks](SenderConfig::ack_requests) for acknowledgements, in place of one after every so many segments.
    pub adaptive: bool,
}

/// The settings of a [`Receiver`](super::Receiver).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiverConfig {
    /// The number of bytes beyond the next one expected that are accepted and advertised.
    pub window: u64,
    /// Delay acknowledgements; `None` acknowledges every packet at once. Out-of-order data is always acknowledged
    /// at once.
    pub delayed_ack: Option<DelayedAck>,
    /// Tell which out-of-order data is held (RFC 2018).
    pub sack: bool,
    /// Keep out-of-order data. Without, it is dropped, as plain go-back-n receivers do.
    pub keep_out_of_order: bool,
    /// Tell the sender of segments that came late and of those that were sent again, with the acknowledgement that answers
    /// them ([`Arrival`](super::Arrival)).
    pub report_arrivals: bool,
    /// Delivered data counts against the window until the application reports it consumed.
    pub wait_for_consumption: bool,
    /// Advertise no more than LEDBAT++ allows at the receiver (RFC 9840). The sender has to send
    /// [timestamps](SenderConfig::timestamps).
    pub background: Option<LedbatPlusPlusConfig>,
    /// An act against the rules; none of a receiver as it should be.
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

/// The settings of both ends.
#[derive(Clone, Debug, PartialEq)]
pub struct EndsConfig {
    /// The sender.
    pub sender: Arc<SenderConfig>,
    /// The receiver.
    pub receiver: Arc<ReceiverConfig>,
    /// The congestion controller.
    pub controller: ControllerConfig,
    /// The way in which simulated connections open and close; `None` for those that are open from the start.
    pub handshake: Option<handshake::Config>,
}

impl EndsConfig {
    /// Both ends, of connections that are open from the start.
    pub fn new(sender: SenderConfig, receiver: ReceiverConfig, controller: ControllerConfig) -> Self {
        Self { sender: Arc::new(sender), receiver: Arc::new(receiver), controller, handshake: None }
    }
}
