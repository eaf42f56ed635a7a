//! Schemes: a transport with its controller and their parameters.

use super::super::diagnostic::Report;
use super::super::quantity::{Name, Number, Packets, Probability, Segments, Share, name_fault};
use super::super::schema::Definitions;
use super::super::table::{At, Decode, Fields, choice, decode_tag, table, wrong_type};
use super::super::tree::{Kind, Value};
use super::sscop::{Sscop, SscopRate};
use serde_json::json;
use thalweg_proto::units::{Bytes, Duration, Rate};

table! {
    /// What all schemes have: how large packets are.
    Sizes "packet sizes" {
        /// The largest payload of a packet (1448 B for windows, 1472 B for udp, 1468 B for sscop: 1500 bytes with their
        /// headers; 1008 B for adaptive-ack, 1454 B for sstp).
        segment: Bytes = "segment";
        /// Bytes that each data packet has on the wire beside its payload (52 B, udp and sscop 28 B, adaptive-ack 16 B,
        /// sstp 46 B).
        header: Bytes = "header";
    }
}

table! {
    /// What all window schemes share.
    Common "window scheme" {
        /// Bytes on the wire of an acknowledgement; as many as `header` without.
        ack: Bytes = "ack";
        /// The largest window, whatever the controller allows.
        max_window: Packets = "max-window" or r#""1048576 pkt""#;
        /// What windows are counted in: "packets" of any size or "bytes".
        counting: CountingName = "counting" or r#""packets""#;
        /// How losses are repaired: "sack", "newreno", "go-back-n" or "fast-retransmit".
        recovery: RecoveryName = "recovery";
        /// A window grows by what is acknowledged, but by no more than this for one acknowledgement (RFC 3465). With "1 pkt" each
        /// acknowledgement counts once, whatever it acknowledges. For slow-start, newreno, vegas and cubic.
        byte_counting: Packets = "byte-counting" or r#""1 pkt""#;
        /// So many duplicate acknowledgements mean a loss.
        duplicate_threshold: u32 = "duplicate-threshold" or "3";
        /// Losses are found by time (RACK, RFC 8985), which tells what is late from what is lost, in place of counting duplicates.
        /// Needs `recovery = "sack"`.
        rack: bool = "rack" or "false";
        /// With `rack`: a cut of the window is undone when all that was taken for lost was only late (RFC 4015). True without.
        undo: bool = "undo";
        /// With `rack`: when nothing is heard for two round trips the last packet goes again (RFC 8985, section 7). True without.
        tail_probe: bool = "tail-probe";
        /// The retransmission time-out.
        rto: Rto = "rto";
        /// After an idle time longer than the time-out the controller starts afresh.
        idle_restart: bool = "idle-restart" or "true";
        /// A packet that is not full waits while something is unacknowledged (RFC 896).
        nagle: bool = "nagle";
        /// Packets that are sent for the first time may be marked by a queue in place of being dropped, and the sender takes a
        /// mark for a loss of which nothing goes again, at most once a round trip (RFC 3168). For slow-start, newreno, vegas and
        /// cubic; those of other schemes are never marked by a queue, but for dec-bit's, which always may be.
        ecn: bool = "ecn" or "false";
        /// Give up after the same segment was sent so many times more; never without.
        max_retransmissions: u32 = "max-retransmissions";
        /// How much the receiver accepts beyond what it delivered.
        receive_window: Bytes = "receive-window" or r#""1 GiB""#;
        /// Wait before acknowledging: false, true (40 ms, every 2nd packet) or a table.
        delayed_ack: DelayedAckChoice = "delayed-ack" or "false";
        /// The receiver keeps what arrives out of order.
        keep_out_of_order: bool = "keep-out-of-order" or "true";
        ..sizes: Sizes;
    }
}

table! {
    /// The retransmission time-out (RFC 6298).
    Rto "rto" {
        /// Before the first measurement.
        initial: Duration = "initial" or r#""1 s""#;
        /// The shortest time-out.
        floor: Duration = "floor" or r#""200 ms""#;
        /// The longest time-out, also of the doubling back-off.
        ceiling: Duration = "ceiling" or r#""60 s""#;
        /// The clock's tick: measurements are rounded up to it.
        granularity: Duration = "granularity" or r#""0 s""#;
        /// The least that is added to the smoothed time; where it is not given, no more than a `floor` that is.
        margin: Duration = "margin" or r#""200 ms""#;
        /// How many mean deviations are added to the smoothed time, if that is more.
        deviations: u32 = "deviations" or "4";
    }
}

table! {
    /// When a receiver acknowledges.
    DelayedAckTable "delayed-ack" {
        /// At the latest after this time.
        delay: Duration = "delay" or r#""40 ms""#;
        /// At the latest after so many packets in order.
        every: u32 = "every" or "2";
    }
}

table! {
    /// A window that never changes.
    Fixed "fixed scheme" {
        /// The window.
        window: Packets = "window" or r#""32 pkt""#;
        ..common: Common;
    }
}

table! {
    /// Slow Start with congestion avoidance (Jacobson 1988): Tahoe.
    SlowStart "slow-start scheme" {
        /// The window at the start.
        initial_window: Packets = "initial-window" or r#""1 pkt""#;
        /// The first slow-start threshold.
        initial_threshold: Packets = "initial-threshold" or r#""unlimited""#;
        /// How it grows above the threshold: by a "fractional" packet for each acknowledgement while the window is used, or
        /// "counted", by a whole packet after each window of them, used or not, up to `max-window`.
        growth: GrowthName = "growth" or r#""fractional""#;
        ..common: Common;
    }
}

table! {
    /// NewReno (RFC 5681, RFC 6582).
    NewReno "newreno scheme" {
        /// The window at the start (RFC 6928).
        initial_window: Packets = "initial-window" or r#""10 pkt""#;
        /// The first slow-start threshold.
        initial_threshold: Packets = "initial-threshold" or r#""unlimited""#;
        ..common: Common;
    }
}

table! {
    /// Vegas (Brakmo and Peterson 1995).
    Vegas "vegas scheme" {
        /// The window at the start.
        initial_window: Packets = "initial-window" or r#""2 pkt""#;
        /// The first slow-start threshold.
        initial_threshold: Packets = "initial-threshold" or r#""unlimited""#;
        /// The window grows while fewer packets than this are queued in the network.
        alpha: Packets = "alpha" or r#""1 pkt""#;
        /// The window shrinks while more packets than this are queued in the network.
        beta: Packets = "beta" or r#""3 pkt""#;
        /// Slow start ends when more packets than this are queued.
        gamma: Packets = "gamma" or r#""1 pkt""#;
        /// Losses are also looked for by a fine time-out at duplicate acknowledgements and after retransmissions.
        fine_timer: bool = "fine-timer" or "false";
        ..common: Common;
    }
}

table! {
    /// CUBIC (RFC 9438).
    Cubic "cubic scheme" {
        /// The window at the start (RFC 6928).
        initial_window: Packets = "initial-window" or r#""10 pkt""#;
        /// The first slow-start threshold.
        initial_threshold: Packets = "initial-threshold" or r#""unlimited""#;
        /// The scale of the cubic function.
        c: Number = "c" or "0.4";
        /// What a loss multiplies the window by.
        beta: Number = "beta" or "0.7";
        /// Give up part of the window to newcomers.
        fast_convergence: bool = "fast-convergence" or "true";
        ..common: Common;
    }
}

table! {
    /// SEIF: synchronous congestion control with explicit and implicit feedback (Liang 1991).
    Seif "seif scheme" {
        /// The window at the start.
        initial_window: Packets = "initial-window" or r#""1 pkt""#;
        /// The first threshold, up to which each acknowledgement adds a packet; half of `max-window` without.
        initial_threshold: Packets = "initial-threshold";
        /// What a signal multiplies the window by, from 0 to below 1; the window is never below a packet.
        cut_back: Share = "cut-back" or "0.5";
        /// Above the threshold the window grows by a packet for so many windows of acknowledgements.
        growth_windows: u32 = "growth-windows" or "1";
        /// Which queues' messages cut the window: "all", or only those of the "loudest", which has sent most.
        follow: FollowName = "follow" or r#""all""#;
        ..common: Common;
    }
}

table! {
    /// The DEC bit (Ramakrishnan and Jain 1988).
    DecBit "dec-bit scheme" {
        /// The window at the start.
        initial_window: Packets = "initial-window" or r#""1 pkt""#;
        /// What a decision adds to the window when fewer bits than `share` are set.
        increase: Packets = "increase" or r#""1 pkt""#;
        /// What a decision multiplies the window by when more are set, from 0 to 1.
        decrease: Number = "decrease" or "0.875";
        /// The share of bits that makes the decision.
        share: Probability = "share" or "0.5";
        ..common: Common;
    }
}

table! {
    /// Tri-S: Slow Start and Search (Wang and Crowcroft 1991).
    TriS "tri-s scheme" {
        /// The first search has gone too far when the normalised throughput gradient is below this.
        ntg_d: Number = "ntg-d" or "0.5";
        /// A larger window does not pay when the normalised throughput gradient is below this.
        ntg_i: Number = "ntg-i" or "0.5";
        ..common: Common;
    }
}

table! {
    /// Source Quench (Nagle 1984): a fixed window that a router's quench closes for a while. `nagle` is on.
    SourceQuench "source-quench scheme" {
        /// The window.
        window: Packets = "window" or r#""32 pkt""#;
        /// So many acknowledgements open the window again, at least 1.
        resume_after: u32 = "resume-after" or "10";
        ..common: Common;
    }
}

table! {
    /// Rate control by rations that routers grant (Robinson, Friedman and Steenstrup 1990).
    Bbn "bbn scheme" {
        /// The window, large enough not to matter.
        window: Packets = "window" or r#""1024 pkt""#;
        /// A ration that was not renewed for so long is forgotten.
        lifetime: Duration = "lifetime" or r#""10 s""#;
        ..common: Common;
    }
}

table! {
    /// No congestion control: a fixed window with go-back-n.
    Vanilla "vanilla scheme" {
        /// The window.
        window: Packets = "window" or r#""32 pkt""#;
        ..common: Common;
    }
}

table! {
    /// Unreliable datagrams.
    Datagram "udp scheme" {
        /// Datagrams leave at no more than this rate, headers counted.
        rate: Rate = "rate";
        ..sizes: Sizes;
    }
}

table! {
    /// Adaptive acknowledgement (Lee et al. 1997): the receiver reports at a pace that adapts to loss.
    AdaptiveAck "adaptive-ack scheme" {
        /// Packets that the sender keeps until they are acknowledged, at most 1048576.
        window: Packets = "window" or r#""400 pkt""#;
        /// T_normal: the time between two reports of the receiver while nothing is missing.
        t_normal: Duration = "t-normal" or r#""40 ms""#;
        /// T_error: the time between two reports of the receiver while something is missing.
        t_error: Duration = "t-error" or r#""5 ms""#;
        /// Bytes on the wire of a report (32 B).
        ack: Bytes = "ack";
        ..sizes: Sizes;
    }
}

table! {
    /// Two-level flow control (Gong and Parulkar 1992): an agreed rate for packets, a window for segments.
    Sstp "sstp scheme" {
        /// s: the packets of a segment.
        segment_packets: Packets = "segment-packets" or r#""16 pkt""#;
        /// P: the rate within a burst, headers counted; without, that of the slowest line on the way.
        rate: Rate = "rate";
        /// A = F·L·l: the agreed rate, headers counted; as much as `rate` without.
        average_rate: Rate = "average-rate";
        /// L: the packets of a burst; a segment without. One packet is even spacing.
        burst: Packets = "burst";
        /// When a sender that had nothing to send goes on: "at-once" or with the "next-burst".
        resume: SstpResume = "resume" or r#""at-once""#;
        /// W: the segments that may be sent without acknowledgement, or so many times w_a, the segments that are sent in
        /// one round trip; rounded, at least 2 and at most 32767.
        window: Segments = "window" or r#""2.5 wa""#;
        /// B: the segments that the receiver has room for; as many as the window without.
        buffer: Segments = "buffer";
        /// What happens to segments without room: "hard", "soft" or "firm" acknowledgement.
        acknowledgement: SstpAcknowledgement = "acknowledgement" or r#""firm""#;
        /// Soft acknowledgement: which segments that were acknowledged and discarded are asked for when one of them is the
        /// lowest missing one, "one" or "all"; or "at-once".
        evicted: SstpEvicted = "evicted" or r#""all""#;
        /// The share of a segment's packets that may be missing.
        loss_tolerance: Probability = "loss-tolerance" or "0";
        /// So many later packets must have come before one counts as lost; 0 on paths that keep order.
        reordering: u32 = "reordering" or "3";
        /// Bytes on the wire of packets without data (48 B).
        ack: Bytes = "ack";
        ..sizes: Sizes;
    }
}

choice! {
    /// A scheme: a built-in one with parameters.
    SchemeTable "scheme" by "base" {
        "fixed" => Fixed(Fixed),
        "slow-start" => SlowStart(SlowStart),
        "newreno" => NewReno(NewReno),
        "vegas" => Vegas(Vegas),
        "cubic" => Cubic(Cubic),
        "seif" => Seif(Seif),
        "dec-bit" => DecBit(DecBit),
        "tri-s" => TriS(TriS),
        "source-quench" => SourceQuench(SourceQuench),
        "bbn" => Bbn(Bbn),
        "vanilla" => Vanilla(Vanilla),
        "udp" => Datagram(Datagram),
        "adaptive-ack" => AdaptiveAck(AdaptiveAck),
        "sscop" => Sscop(Sscop),
        "sscop-rate" => SscopRate(SscopRate),
        "sscop-rate-literal" => SscopRateLiteral(SscopRate),
        "sstp" => Sstp(Sstp),
    }
}

impl SchemeTable {
    /// What it has in common with other window schemes; `None` for one without a window.
    pub fn common(&self) -> Option<&Common> {
        match self {
            Self::Fixed(table) => Some(&table.common),
            Self::SlowStart(table) => Some(&table.common),
            Self::NewReno(table) => Some(&table.common),
            Self::Vegas(table) => Some(&table.common),
            Self::Cubic(table) => Some(&table.common),
            Self::Seif(table) => Some(&table.common),
            Self::DecBit(table) => Some(&table.common),
            Self::TriS(table) => Some(&table.common),
            Self::SourceQuench(table) => Some(&table.common),
            Self::Bbn(table) => Some(&table.common),
            Self::Vanilla(table) => Some(&table.common),
            Self::Datagram(_)
            | Self::AdaptiveAck(_)
            | Self::Sscop(_)
            | Self::SscopRate(_)
            | Self::SscopRateLiteral(_)
            | Self::Sstp(_) => None,
        }
    }

    /// A built-in scheme as it is.
    pub fn builtin(name: &str) -> Option<Self> {
        let empty = super::super::tree::Table::default();
        Self::decode_kind(name, &empty, super::super::source::Span::DEFAULT, &mut Report::default())
    }
}

impl Common {
    /// Takes from `other` what this scheme does not say itself, also within its tables.
    pub fn complete(&mut self, other: &Self) {
        if let (Some(own), Some(other)) = (&mut self.rto, &other.rto) {
            own.value.inherit(&other.value);
        }
        self.inherit(other);
    }
}

/// The tables `[scheme.NAME]`. One named like a built-in scheme needs no `base` and takes that scheme's place.
#[derive(Clone, Debug, Default)]
pub struct Schemes(pub Vec<(At<Name>, Option<At<SchemeTable>>)>);

impl Decode for Schemes {
    fn expected() -> String {
        "tables by name, each a scheme".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        let Kind::Table(table) = &value.kind else {
            wrong_type::<Self>(value, report);
            return None;
        };
        let mut schemes = Vec::with_capacity(table.entries.len());
        for (key, value) in &table.entries {
            if let Some(fault) = name_fault(&key.name) {
                report.error("scenario.name", key.span, fault);
                continue;
            }
            // A scheme that is wrong keeps its name, so that the flows that use it are not accused.
            let scheme = decode_scheme(value, Some(&key.name), &[], report);
            schemes.push((
                At { value: Name(key.name.clone()), span: key.span },
                scheme.map(|scheme| At { value: scheme, span: value.span }),
            ));
        }
        Some(Self(schemes))
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let each = SchemeTable::schema(definitions);
        let mut own = serde_json::Map::new();
        for &kind in SchemeTable::KINDS {
            own.insert(kind.to_owned(), definitions.without_tag(kind, "scheme", "base"));
        }
        json!({ "type": "object", "properties": own, "additionalProperties": each })
    }
}

fn decode_scheme(
    value: &Value,
    name: Option<&str>,
    skip: &[&str],
    report: &mut Report,
) -> Option<SchemeTable> {
    let Kind::Table(table) = &value.kind else {
        wrong_type::<SchemeTable>(value, report);
        return None;
    };
    let mut table = table.clone();
    table.entries.retain(|(key, _)| !skip.contains(&key.name.as_str()));
    let base = match name.filter(|name| table.get("base").is_none() && SchemeTable::KINDS.contains(name)) {
        Some(name) => name,
        None => decode_tag(&table, value.span, "scheme", "base", SchemeTable::KINDS, report)?,
    };
    SchemeTable::decode_kind(base, &table, value.span, report)
}

/// A flow's scheme: a name, or a table of its own.
#[derive(Clone, Debug)]
pub enum SchemeRef {
    /// A built-in scheme or one of `[scheme.NAME]`.
    Name(Name),
    /// A table, under the name that it gives or else its base's.
    Table(Name, SchemeTable),
}

impl Decode for SchemeRef {
    fn expected() -> String {
        "the name of a scheme, or a table with `base`".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            Kind::String(_) => Name::decode(value, report).map(Self::Name),
            Kind::Table(table) => {
                let name = match table.get("name").or_else(|| table.get("base")) {
                    Some(name) => Name::decode(name, report)?,
                    None => Name(String::new()), // Then it has no base either, which is told below.
                };
                let scheme = decode_scheme(value, None, &["name"], report)?;
                Some(Self::Table(name, scheme))
            }
            _ => {
                wrong_type::<Self>(value, report);
                None
            }
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let name = Name::schema(definitions);
        // A table in place may have a name beside its parameters.
        let table = SchemeTable::schema(definitions);
        let named = definitions.with_name("inline scheme", "scheme");
        json!({ "anyOf": [name, table, named] })
    }
}

/// One of a few words.
macro_rules! words {
    ($(#[doc = $about:literal])+ $Name:ident: $Type:ty { $($word:literal => $value:expr,)+ }) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $Name(pub $Type);

        impl $Name {
            /// The word.
            pub fn word(self) -> &'static str {
                $(if self.0 == $value {
                    return $word;
                })+
                ""
            }
        }

        impl $crate::table::Decode for $Name {
            fn expected() -> String {
                [$(concat!("\"", $word, "\"")),+].join(" or ")
            }
            fn decode(value: &$crate::tree::Value, report: &mut $crate::diagnostic::Report) -> Option<Self> {
                let $crate::tree::Kind::String(text) = &value.kind else {
                    $crate::table::wrong_type::<Self>(value, report);
                    return None;
                };
                match text.as_str() {
                    $($word => Some(Self($value)),)+
                    _ => {
                        let message = format!("expected {}, found \"{text}\"", Self::expected());
                        report.error("scenario.unknown-name", value.span, message).names(text, [$($word),+]);
                        None
                    }
                }
            }
            fn schema(_: &mut $crate::schema::Definitions) -> serde_json::Value {
                serde_json::json!({ "enum": [$($word),+] })
            }
        }
    };
}
pub(super) use words;

words! {
    /// What windows are counted in.
    CountingName: thalweg_proto::window::Counting {
        "packets" => thalweg_proto::window::Counting::Packets,
        "bytes" => thalweg_proto::window::Counting::Bytes,
    }
}

words! {
    /// What happens to segments without room.
    SstpAcknowledgement: thalweg_proto::sstp::Acknowledgement {
        "firm" => thalweg_proto::sstp::Acknowledgement::Firm,
        "hard" => thalweg_proto::sstp::Acknowledgement::Hard,
        "soft" => thalweg_proto::sstp::Acknowledgement::Soft(thalweg_proto::sstp::Evicted::All),
    }
}

words! {
    /// Which discarded segments are asked for, and when.
    SstpEvicted: thalweg_proto::sstp::Evicted {
        "all" => thalweg_proto::sstp::Evicted::All,
        "one" => thalweg_proto::sstp::Evicted::One,
        "at-once" => thalweg_proto::sstp::Evicted::AtOnce,
    }
}

words! {
    /// When an idle sender goes on.
    SstpResume: thalweg_proto::sstp::Resume {
        "at-once" => thalweg_proto::sstp::Resume::AtOnce,
        "next-burst" => thalweg_proto::sstp::Resume::NextBurst,
    }
}

words! {
    /// How losses are repaired.
    RecoveryName: thalweg_proto::window::Recovery {
        "sack" => thalweg_proto::window::Recovery::Sack,
        "newreno" => thalweg_proto::window::Recovery::NewReno,
        "go-back-n" => thalweg_proto::window::Recovery::GoBackN,
        "fast-retransmit" => thalweg_proto::window::Recovery::FastRetransmit,
    }
}

words! {
    /// How a window grows in congestion avoidance.
    GrowthName: GrowthWord {
        "fractional" => GrowthWord::Fractional,
        "counted" => GrowthWord::Counted,
    }
}

/// [`Growth`](thalweg_proto::congestion::Growth) without its parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrowthWord {
    /// A fraction for each acknowledgement.
    Fractional,
    /// One for each window of them.
    Counted,
}

words! {
    /// Which queues' messages count.
    FollowName: thalweg_proto::congestion::Follow {
        "all" => thalweg_proto::congestion::Follow::All,
        "loudest" => thalweg_proto::congestion::Follow::Loudest,
    }
}

/// Whether acknowledgements wait.
#[derive(Clone, Debug)]
pub enum DelayedAckChoice {
    /// Each packet is acknowledged at once.
    Off,
    /// As in the table.
    On(DelayedAckTable),
}

impl Decode for DelayedAckChoice {
    fn expected() -> String {
        "true, false or a table with `delay` and `every`".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            Kind::Boolean(false) => Some(Self::Off),
            Kind::Boolean(true) => Some(Self::On(DelayedAckTable::default())),
            Kind::Table(_) => DelayedAckTable::decode(value, report).map(Self::On),
            _ => {
                wrong_type::<Self>(value, report);
                None
            }
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let table = DelayedAckTable::schema(definitions);
        json!({ "anyOf": [{ "type": "boolean" }, table] })
    }
}
