//! Queues and how much they hold.

use super::super::diagnostic::Report;
use super::super::quantity::{Number, Packets, Probability};
use super::super::schema::Definitions;
use super::super::table::{At, Decode, choice, table, wrong_type};
use super::super::tree::{Kind, Value};
use super::super::unknown_unit::unknown_unit;
use super::Interval;
use super::feedback::FeedbackChoice;
use super::scheme::words;
use serde_json::json;
use std::str::FromStr;
use thalweg_proto::units::{Bytes, Duration, UnitError, split_number};

/// How much a queue holds: `625 pkt`, `64 KiB`, `1 bdp`, `50 ms` or `unlimited`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Capacity {
    /// Packets of any size.
    Packets(u64),
    /// Bytes.
    Bytes(Bytes),
    /// Multiples of the bandwidth-delay product.
    Bdp(f64),
    /// What the link sends in this time.
    Time(Duration),
    /// Everything.
    Unlimited,
}

/// True if nothing but its unit keeps `text` from being a `T`.
fn has_unknown_unit<T: FromStr<Err = UnitError>>(text: &str) -> bool {
    matches!(text.parse::<T>(), Err(UnitError::UnknownUnit { .. }))
}

impl Decode for Capacity {
    fn expected() -> String {
        "a capacity, such as \"625 pkt\", \"64 KiB\", \"1 bdp\", \"50 ms\" or \"unlimited\"".to_owned()
    }

    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        let (text, bare) = match &value.kind {
            Kind::String(text) => (text.trim(), false),
            Kind::Integer(text) | Kind::Float(text) => (text.as_str(), true),
            _ => {
                wrong_type::<Self>(value, report);
                return None;
            }
        };
        if text == "unlimited" {
            return Some(Self::Unlimited);
        }
        let (number, unit) = split_number(text);
        if number.is_empty() {
            let message = format!("expected {}, found \"{text}\"", Self::expected());
            report.error("scenario.type", value.span, message);
            return None;
        }
        if bare || unit.is_empty() {
            let message = format!("`{number}` has no unit");
            report
                .error("scenario.unit", value.span, message)
                .label(format!("did you mean \"{number} pkt\"?"));
            return None;
        }
        match unit {
            "pkt" => {
                let Packets(packets) = Packets::decode(value, report)?;
                if packets.fract() != 0.0 || packets > 1e15 {
                    report.error("scenario.range", value.span, "a queue holds a whole number of packets");
                    return None;
                }
                Some(Self::Packets(packets as u64))
            }
            "bdp" => match number.parse::<f64>() {
                Ok(multiple) if (0.0..=1e6).contains(&multiple) => Some(Self::Bdp(multiple)),
                _ => {
                    report.error("scenario.range", value.span, "expected a multiple from 0 to 1000000");
                    None
                }
            },
            // Products and binary prefixes ("10 x 512 B", "64 KiB") are told by the size's own parser.
            _ if !has_unknown_unit::<Bytes>(text) => Bytes::decode(value, report).map(Self::Bytes),
            _ if !has_unknown_unit::<Duration>(text) => Duration::decode(value, report).map(Self::Time),
            _ => {
                let units = ["pkt", "B", "kB", "MB", "GB", "KiB", "MiB", "bdp", "us", "ms", "s", "min"];
                let all = format!("{}, or \"unlimited\"", units.join(", "));
                unknown_unit(value, unit, &units, &all, report);
                None
            }
        }
    }

    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let (size, time) = (Bytes::schema(definitions), Duration::schema(definitions));
        definitions.named("capacity", || {
            json!({ "anyOf": [
                { "type": "string", "pattern": "^\\s*[0-9]+\\s*pkt\\s*$" },
                { "type": "string", "pattern": "^\\s*[0-9.]+\\s*bdp\\s*$" },
                size, time,
                { "const": "unlimited" }
            ], "examples": ["1 bdp", "625 pkt"] })
        })
    }
}

table! {
    /// What all queues have.
    Watching "queue" {
        /// What the router tells sources: "none", a kind of feedback, or a table; without it, what the schemes of the flows want.
        feedback: FeedbackChoice = "feedback";
    }
}

table! {
    /// A queue that serves first come first served and drops what finds no room.
    FcfsQueue "fcfs queue" {
        /// How much it holds, without the packet in service.
        capacity: Capacity = "capacity" (required);
        ..watching: Watching;
    }
}

table! {
    /// A first-come-first-served queue that, when full, drops one packet drawn among those queued and the arrival.
    RandomDropQueue "random-drop queue" {
        /// How much it holds, without the packet in service.
        capacity: Capacity = "capacity" (required);
        ..watching: Watching;
    }
}

table! {
    /// Fair Queueing (Demers, Keshav, Shenker 1989): flows are served as if bit by bit in turn, and the flow that uses
    /// most of a full buffer loses its last packet.
    FairQueue "fq queue" {
        /// How much it holds, without the packet in service.
        capacity: Capacity = "capacity" (required);
        /// Promptness: a flow that has sent less than this in the current round is served earlier for it.
        promptness: Bytes = "promptness" or r#""0 B""#;
        /// Sets the congestion bit on packets of a flow that holds more than this many times its fair share, which is the
        /// capacity divided by the number of flows with packets waiting. Without it no bits are set.
        mark_above: Number = "mark-above";
        ..watching: Watching;
    }
}

table! {
    /// Stochastic Fairness Queueing (McKenney 1991): flows are hashed to queues that send one packet each in turn.
    SfqQueue "sfq queue" {
        /// How much it holds, without the packet in service.
        capacity: Capacity = "capacity" (required);
        /// How many queues flows are hashed to: best several times the number of flows.
        buckets: u32 = "buckets" or "1024";
        /// How often the hash is drawn anew; "off" never does.
        perturbation: Interval = "perturbation" or r#""10 s""#;
        /// Who loses a packet when there is no room: the longest queue its last ("longest-tail") or first ("longest-head")
        /// packet, or ("share") the arrival once its queue has its share.
        overflow: OverflowName = "overflow" or r#""longest-tail""#;
        ..watching: Watching;
    }
}

table! {
    /// Deficit Round Robin (Shreedhar and Varghese 1995): flows send equal bytes in turn.
    DrrQueue "drr queue" {
        /// How much it holds, without the packet in service.
        capacity: Capacity = "capacity" (required);
        /// What a queue may send more in each round; best the largest packet or more.
        quantum: Bytes = "quantum" or r#""1500 B""#;
        /// How many queues flows are hashed to; without it every flow has one of its own.
        buckets: u32 = "buckets";
        /// Who loses a packet when there is no room: the longest queue its last ("longest-tail") or first ("longest-head")
        /// packet, or ("share") the arrival once its queue has its share.
        overflow: OverflowName = "overflow" or r#""longest-tail""#;
        ..watching: Watching;
    }
}

table! {
    /// Random Early Detection (Floyd and Jacobson 1993): arrivals are dropped at random, the more likely the longer the
    /// queue has been on average.
    RedQueue "red queue" {
        /// How much it holds, without the packet in service.
        capacity: Capacity = "capacity" (required);
        /// Below this average length nothing is dropped, in packets or bytes. In bytes large packets are dropped more often.
        min_threshold: Threshold = "min-threshold" or r#""5 pkt""#;
        /// At this average length the probability reaches `max-probability`, in the same unit.
        max_threshold: Threshold = "max-threshold" or r#""15 pkt""#;
        /// The weight of the length in the average of lengths.
        weight: Probability = "weight" or "0.002";
        /// The probability of a drop just below `max-threshold`.
        max_probability: Probability = "max-probability" or "0.1";
        /// Beyond `max-threshold` the probability grows to 1 at twice that length; otherwise it is 1 at once.
        gentle: bool = "gentle" or "true";
        /// Marks packets that may be marked, as long as not all would be dropped.
        ecn: bool = "ecn" or "true";
        /// The size of a usual packet: tells how fast the average falls in idle times, and is the measure of sizes in bytes.
        mean_packet: Bytes = "mean-packet" or r#""1000 B""#;
        ..watching: Watching;
    }
}

table! {
    /// CoDel (RFC 8289): packets are dropped as they leave, ever more often, while all wait for longer than a target.
    CoDelQueue "codel queue" {
        /// How much it holds, without the packet in service.
        capacity: Capacity = "capacity" (required);
        ..control: CoDelKeys;
        ..watching: Watching;
    }
}

table! {
    /// The parameters of CoDel.
    CoDelKeys "codel" {
        /// The wait that is acceptable.
        target: Duration = "target" or r#""5 ms""#;
        /// For how long waits must be above the target: a usual round-trip time.
        interval: Duration = "interval" or r#""100 ms""#;
        /// A queue of no more than this is never too long: the largest packet.
        max_packet: Bytes = "max-packet" or r#""1514 B""#;
        /// Marks packets that may be marked in place of dropping them.
        ecn: bool = "ecn" or "true";
    }
}

table! {
    /// FQ-CoDel (RFC 8290): flows are hashed to queues that send equal bytes in turn, new ones first, each kept short by
    /// CoDel.
    FqCoDelQueue "fq-codel queue" {
        /// How much it holds, without the packet in service; the RFC has 10240 packets.
        capacity: Capacity = "capacity" (required);
        /// How many queues flows are hashed to.
        flows: u32 = "flows" or "1024";
        /// What a queue may send in each round.
        quantum: Bytes = "quantum" or r#""1514 B""#;
        /// When there is no room, the largest queue loses half of its bytes, but no more than so many packets.
        drop_batch: u32 = "drop-batch" or "64";
        ..control: CoDelKeys;
        ..watching: Watching;
    }
}

table! {
    /// PIE (RFC 8033): arrivals are dropped at random such that packets wait for about a target.
    PieQueue "pie queue" {
        /// How much it holds, without the packet in service.
        capacity: Capacity = "capacity" (required);
        /// The wait that is aimed at.
        target: Duration = "target" or r#""15 ms""#;
        /// How often the probability is computed anew.
        update: Duration = "update" or r#""15 ms""#;
        /// How much a second above the target adds to the probability at each update.
        alpha: Number = "alpha" or "0.125";
        /// How much a second more than at the last update adds to it.
        beta: Number = "beta" or "1.25";
        /// A burst as long as this passes a queue that was short before.
        max_burst: Duration = "max-burst" or r#""150 ms""#;
        /// Marks packets that may be marked while the probability is at most this; 0 never marks.
        ecn_threshold: Probability = "ecn-threshold" or "0.1";
        /// A queue of two such packets or less is left alone.
        mean_packet: Bytes = "mean-packet" or r#""1000 B""#;
        ..watching: Watching;
    }
}

table! {
    /// Strict priority: a packet leaves only when none of a flow with higher `priority` waits.
    PriorityQueue "priority queue" {
        /// How much it holds of all priorities together, without the packet in service.
        capacity: Capacity = "capacity" (required);
        /// An arrival that finds no room pushes out the last packets of lower priorities.
        push_out: bool = "push-out" or "true";
        ..watching: Watching;
    }
}

words! {
    /// Who loses a packet when there is no room.
    OverflowName: thalweg_queue::Overflow {
        "longest-tail" => thalweg_queue::Overflow::LongestTail,
        "longest-head" => thalweg_queue::Overflow::LongestHead,
        "share" => thalweg_queue::Overflow::Share,
    }
}

/// A length of a queue: `5 pkt` or `7500 B`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// Packets of any size.
    Packets(f64),
    /// Bytes.
    Bytes(Bytes),
}

impl Decode for Threshold {
    fn expected() -> String {
        "a length, such as \"5 pkt\" or \"7500 B\"".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        let in_bytes = matches!(&value.kind, Kind::String(text) if !split_number(text).1.starts_with("pkt"))
            && matches!(&value.kind, Kind::String(text) if !has_unknown_unit::<Bytes>(text));
        if in_bytes {
            return Bytes::decode(value, report).map(Self::Bytes);
        }
        let Packets(packets) = Packets::decode(value, report)?;
        if packets.is_infinite() {
            report.error("scenario.range", value.span, format!("expected {}", Self::expected()));
            return None;
        }
        Some(Self::Packets(packets))
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let size = Bytes::schema(definitions);
        json!({ "anyOf": [{ "type": "string", "pattern": "^\\s*[0-9.]+\\s*pkt\\s*$" }, size] })
    }
}

choice! {
    /// A queue with its discipline.
    QueueTable "queue" by "discipline" {
        "fcfs" => Fcfs(FcfsQueue),
        "random-drop" => RandomDrop(RandomDropQueue),
        "fq" => Fair(FairQueue),
        "sfq" => Sfq(SfqQueue),
        "drr" => Drr(DrrQueue),
        "red" => Red(RedQueue),
        "codel" => CoDel(CoDelQueue),
        "fq-codel" => FqCoDel(FqCoDelQueue),
        "pie" => Pie(PieQueue),
        "priority" => Priority(PriorityQueue),
    }
}

/// A queue: its capacity alone, which means `fcfs`, or a table with its discipline.
#[derive(Clone, Debug)]
pub enum Queue {
    /// First come, first served.
    Capacity(Capacity),
    /// A table.
    Table(QueueTable),
}

impl Queue {
    /// What its router tells sources, where it says so.
    pub fn feedback(&self) -> Option<&At<FeedbackChoice>> {
        let watching = match self {
            Self::Capacity(_) => return None,
            Self::Table(QueueTable::Fcfs(table)) => &table.watching,
            Self::Table(QueueTable::RandomDrop(table)) => &table.watching,
            Self::Table(QueueTable::Fair(table)) => &table.watching,
            Self::Table(QueueTable::Sfq(table)) => &table.watching,
            Self::Table(QueueTable::Drr(table)) => &table.watching,
            Self::Table(QueueTable::Red(table)) => &table.watching,
            Self::Table(QueueTable::CoDel(table)) => &table.watching,
            Self::Table(QueueTable::FqCoDel(table)) => &table.watching,
            Self::Table(QueueTable::Pie(table)) => &table.watching,
            Self::Table(QueueTable::Priority(table)) => &table.watching,
        };
        watching.feedback.as_ref()
    }

    /// How much it holds.
    pub fn capacity(&self) -> Option<Capacity> {
        let capacity = match self {
            Self::Capacity(capacity) => return Some(*capacity),
            Self::Table(QueueTable::Fcfs(table)) => &table.capacity,
            Self::Table(QueueTable::RandomDrop(table)) => &table.capacity,
            Self::Table(QueueTable::Fair(table)) => &table.capacity,
            Self::Table(QueueTable::Sfq(table)) => &table.capacity,
            Self::Table(QueueTable::Drr(table)) => &table.capacity,
            Self::Table(QueueTable::Red(table)) => &table.capacity,
            Self::Table(QueueTable::CoDel(table)) => &table.capacity,
            Self::Table(QueueTable::FqCoDel(table)) => &table.capacity,
            Self::Table(QueueTable::Pie(table)) => &table.capacity,
            Self::Table(QueueTable::Priority(table)) => &table.capacity,
        };
        capacity.as_ref().map(|At { value, .. }| *value)
    }
}

impl Decode for Queue {
    fn expected() -> String {
        format!("{}, or a table with `discipline`", Capacity::expected())
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            Kind::Table(_) => QueueTable::decode(value, report).map(Self::Table),
            Kind::String(_) | Kind::Integer(_) | Kind::Float(_) => {
                Capacity::decode(value, report).map(Self::Capacity)
            }
            _ => {
                wrong_type::<Self>(value, report);
                None
            }
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let (capacity, table) = (Capacity::schema(definitions), QueueTable::schema(definitions));
        json!({ "anyOf": [capacity, table] })
    }
}
