//! The keys of a scenario file, table by table.

mod feedback;
mod flow;
mod gate;
mod host;
mod jitter;
mod line;
mod loss;
mod medium;
mod network;
mod pattern;
mod queue;
mod reading;
mod routing;
mod scheme;
mod workload;

pub use feedback::{
    AudienceName, FeedbackChoice, FeedbackTable, Messages, SeifFeedback, SeifRule, SeifRuleName,
};
pub use flow::{Access, Flow, FlowDefaults, Side};
pub use gate::{AfterServiceName, GateKeys, GateTable, ResumeName, SignalsName, TimersName};
pub use host::{HostKey, host_table, hosts};
pub use jitter::{Drawn, Jitter, JitterTable};
pub use line::{Ends, FramingName, Line, Link, Reverse, ScheduleEntry};
pub use loss::{Chance, ChanceTable, Loss, LossTable, NO_REORDER, Reorder};
pub use network::{Chain, FatTree, Geometric, LeafSpine, Network, NetworkTable, Square, Star, Torus, Waxman};
pub use pattern::{Nodes, Pattern};
pub use queue::{Capacity, Queue, Threshold};
pub use reading::{ReadRate, Reading, ReadingEntry, ReadingTable};
pub use routing::{Failure, Routing};
pub use scheme::{Common, SchemeRef, SchemeTable, Schemes};
pub use workload::{
    ListWorkload, Load, Poisson, SizeChoice, SizeTable, TableSize, Trace, TraceTable, TraceWorkload,
    Workload, WorkloadTable,
};

use super::bound::FieldOf;
use super::diagnostic::Report;
use super::quantity::{Name, name_fault};
use super::schema::Definitions;
use super::table::{At, Decode, decode_entry, table, wrong_type};
use super::tree::{Kind, Value};
use super::writer::text;
use serde_json::json;
use thalweg_proto::units::Duration;
use thalweg_sim::spec::{MeasureSpec, Processing, Spec, Ties};

table! {
    /// A scenario: a network, its traffic, and how long it is watched.
    Document "scenario" for Spec {
        /// What is shown above results.
        title: String = "title" or r#""""#;
        /// What the scenario is about, in a few sentences.
        description: String = "description" or r#""""#;
        /// When the run ends.
        duration: Duration = "duration" or r#""60 s""# => duration;
        /// What happens before is not counted.
        warmup: Duration = "warmup" or r#""0 s""# => warmup;
        /// Names every random stream: another seed gives another run of the same scenario.
        seed: u64 = "seed" or "1" => seed;
        /// What comes first of simultaneous events: "lot" (chance, favours no flow) or "order" (as in this file).
        ties: TiesName = "ties" or r#""lot""# => ties;
        /// Files that this one builds on. What is given here wins over them; lists of tables are put together.
        include: Vec<At<String>> = "include";
        /// What holds for all links, flows and schemes that do not say otherwise.
        defaults: Defaults = "defaults";
        /// A network that is made from a few numbers, "fat-tree k=4", or read from a topology file, beside the links that are written
        /// here.
        network: Network = "network";
        /// Links. Nodes exist by being named in them.
        link: Vec<At<Link>> = "link";
        /// How packets find their way.
        routing: Routing = "routing";
        /// Links that fail, one after the other or together.
        failure: Vec<At<Failure>> = "failure";
        /// Settings of nodes, by name.
        node: Named<Node> = "node";
        /// Schemes of one's own, by name: a built-in scheme with other parameters.
        scheme: Schemes = "scheme";
        /// Groups of flows that are alike.
        flow: Vec<At<Flow>> = "flow";
        /// What is recorded along the way.
        measure: Measure = "measure";
    }
}

scheme::words! {
    /// The rule for the order of simultaneous events, by its word.
    TiesName: Ties {
        "lot" => Ties::Lot,
        "order" => Ties::Order,
    }
}

table! {
    /// What holds for all tables of a kind that do not say otherwise.
    Defaults "defaults" {
        /// For every link.
        link: Line = "link";
        /// For every group of flows.
        flow: FlowDefaults = "flow";
        /// For every scheme, built-in ones included.
        scheme: Common = "scheme";
    }
}

table! {
    /// A node's settings.
    Node "node" {
        /// How long the node's one processor works on each packet that an endpoint there sends or receives.
        processing: ProcessingTable = "processing";
        /// Which of the flows that begin at the node may send, by their priorities.
        gate: GateTable = "gate";
    }
}

table! {
    /// The cost of handling a packet at an endpoint.
    ProcessingTable "processing" for Processing {
        /// For each packet.
        packet: Duration = "packet" or r#""0 s""# => per_packet;
        /// For each byte of it.
        byte: Duration = "byte" or r#""0 s""# => per_byte;
    }
}

table! {
    /// What is recorded along the way: series of windows, rates, round-trip times and queues.
    Measure "measure" for MeasureSpec {
        /// How often series are sampled; "off" records none.
        interval: Interval = "interval" or r#""100 ms""# => interval;
        /// At most this many flows have series: the first of each group in turn.
        flows: u32 = "flows" or "32" => flows;
        /// At most this many points a series; when it is full, every other one goes and the interval doubles.
        points: u32 = "points" or "4000" => points;
        /// Record at every change, not at intervals, within the same bound.
        every_event: bool = "every-event" or "false" => every_event;
    }
}

/// A sampling interval, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval(pub Option<Duration>);

impl FieldOf<Interval> for Option<Duration> {
    fn of(given: Option<&Interval>) -> Option<Self> {
        given.map(|interval| interval.0)
    }
    fn toml(&self) -> Option<String> {
        Some(self.map_or_else(|| text("off"), |interval| format!("\"{interval}\"")))
    }
}

impl Decode for Interval {
    fn expected() -> String {
        "a time, such as \"100 ms\", or \"off\"".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            Kind::String(text) if text == "off" => Some(Self(None)),
            Kind::String(_) | Kind::Integer(_) | Kind::Float(_) => {
                let interval = Duration::decode(value, report)?;
                if interval.is_zero() {
                    report
                        .error("scenario.range", value.span, "this time must be above zero")
                        .help("to do without, say \"off\"");
                    return None;
                }
                Some(Self(Some(interval)))
            }
            _ => {
                wrong_type::<Self>(value, report);
                None
            }
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let time = Duration::schema(definitions);
        json!({ "anyOf": [time, { "const": "off" }] })
    }
}

/// Tables by name, as in `[node.NAME]`.
#[derive(Clone, Debug, Default)]
pub struct Named<T>(pub Vec<(At<Name>, At<T>)>);

impl<T: Decode> Decode for Named<T> {
    fn expected() -> String {
        format!("tables by name, each {}", T::expected())
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        let Kind::Table(table) = &value.kind else {
            wrong_type::<Self>(value, report);
            return None;
        };
        let mut named = Vec::with_capacity(table.entries.len());
        for (key, value) in &table.entries {
            if let Some(fault) = name_fault(&key.name) {
                report.error("scenario.name", key.span, fault);
            } else if let Some(decoded) = decode_entry(value, report) {
                named.push((At { value: Name(key.name.clone()), span: key.span }, decoded));
            }
        }
        Some(Self(named))
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let each = T::schema(definitions);
        json!({ "type": "object", "additionalProperties": each })
    }
}
