//! The keys of a scenario file, table by table.

mod flow;
mod gate;
mod generated_network;
mod host;
mod impairment;
mod link;
mod link_layer;
mod queue;
mod random_delay;
mod read_rate;
mod router_feedback;
mod routing;
mod scheme;
mod traffic_pattern;
mod workload;

pub use flow::{Access, Flow, FlowDefaults, Side};
pub use gate::{
    AcksName, AfterServiceName, GateKeys, GateTable, MarkingName, ResumeName, SignalsName, TimersName,
};
pub use generated_network::{
    Chain, FatTree, Geometric, LeafSpine, Network, NetworkTable, Square, Star, Torus, Waxman,
};
pub use host::{HostKey, host_table, measured_hosts};
pub use impairment::{Chance, ChanceTable, Loss, LossTable, NO_REORDER, Reorder};
pub use link::{FramingName, Link, LinkDirection, LinkEnds, Reverse, ScheduleEntry};
pub use queue::{Capacity, Queue};
pub use random_delay::{Drawn, Jitter, JitterTable};
pub use read_rate::{ReadRate, Reading, ReadingEntry, ReadingTable};
pub use router_feedback::{
    FeedbackChoice, FeedbackTable, Messages, OverheadName, RecipientsName, SeifFeedback, SeifPolicyKind,
    SeifPolicyKindName,
};
pub use routing::{Failure, Routing};
pub use scheme::{Common, SchemeRef, SchemeTable, Schemes};
pub use traffic_pattern::{Nodes, Pattern};
pub use workload::{
    ListWorkload, Load, Poisson, SizeChoice, SizeTable, TableSize, Trace, TraceTable, TraceWorkload,
    Workload, WorkloadTable,
};

use super::diagnostic::Report;
use super::parsed_tree::{Value, ValueKind};
use super::schema_definitions::Definitions;
use super::table_declarations::{Decode, Spanned, decode_entry, table, wrong_type};
use super::value_types::{Interval, Name, name_fault};
use serde_json::json;
use thalweg_proto::units::Duration;
use thalweg_sim::simulation_spec::{MeasureSpec, Processing, Spec, Ties};

table! {
    /// A scenario: a network, its traffic, and the duration of the run.
    Document "scenario" for Spec {
        /// The title shown above results.
        title: String = "title" or r#""""#;
        /// A description of the scenario, in a few sentences.
        description: String = "description" or r#""""#;
        /// The duration of the run.
        duration: Duration = "duration" or r#""60 s""# => duration;
        /// The warm-up time, excluded from all metrics.
        warmup: Duration = "warmup" or r#""0 s""# => warmup;
        /// The seed of all random streams: another seed gives another run of the same scenario.
        seed: u64 = "seed" or "1" => seed;
        /// The order of simultaneous events: "hash" (pseudorandom, favours no flow) or "order" (as in this file).
        ties: TiesName = "ties" or r#""hash""# => ties;
        /// Files that this one builds on. Keys in this file take precedence; lists of tables are concatenated.
        include: Vec<Spanned<String>> = "include";
        /// Defaults for all links (but access links), flows and schemes.
        defaults: Defaults = "defaults";
        /// A network generated from a few parameters, such as "fat-tree k=4", or read from a topology file, in addition
        /// to the links in this file.
        network: Network = "network";
        /// Links. Naming a node in a link creates it.
        link: Vec<Spanned<Link>> = "link";
        /// Route selection.
        routing: Routing = "routing";
        /// Failures of links and nodes, successive or simultaneous.
        failure: Vec<Spanned<Failure>> = "failure";
        /// Settings of nodes, by name.
        node: NamedTables<Node> = "node";
        /// User-defined schemes, by name: built-in schemes with other parameters.
        scheme: Schemes = "scheme";
        /// Groups of identical flows.
        flow: Vec<Spanned<Flow>> = "flow";
        /// Recording of time series.
        measure: Measure = "measure";
    }
}

scheme::words! {
    /// The order of simultaneous events, by name.
    TiesName: Ties {
        "hash" => Ties::Hash,
        "order" => Ties::Order,
    }
}

table! {
    /// Defaults for all tables of a kind.
    Defaults "defaults" {
        /// Defaults for every link, except access links.
        link: LinkDirection = "link";
        /// Defaults for every group of flows.
        flow: FlowDefaults = "flow";
        /// Defaults for every scheme, including built-in ones.
        scheme: Common = "scheme";
    }
}

table! {
    /// A node's settings.
    Node "node" {
        /// The processing time for each packet that an endpoint at this node sends or receives. The node has one
        /// processor.
        processing: ProcessingTable = "processing";
        /// The gate that admits the flows starting at this node, by priority.
        gate: GateTable = "gate";
    }
}

table! {
    /// The cost of handling a packet at an endpoint.
    ProcessingTable "processing" for Processing {
        /// The cost per packet.
        packet: Duration = "packet" or r#""0 s""# => per_packet;
        /// The cost per byte.
        byte: Duration = "byte" or r#""0 s""# => per_byte;
    }
}

table! {
    /// Recording of time series: windows, rates, round-trip times and queues.
    Measure "measure" for MeasureSpec {
        /// The sampling interval of series; "off" records none.
        interval: Interval = "interval" or r#""100 ms""# => interval;
        /// The maximum number of flows with series: the first of each group in turn.
        flows: u32 = "flows" or "32" => flows;
        /// The maximum number of points per series. A full series drops every other point and doubles its interval.
        points: u32 = "points" or "4000" => points;
        /// Records every change instead of sampling at intervals, within the same limit.
        every_event: bool = "every-event" or "false" => every_event;
    }
}

/// Tables by name, as in `[node.NAME]`.
#[derive(Clone, Debug, Default)]
pub struct NamedTables<T>(pub Vec<(Spanned<Name>, Spanned<T>)>);

impl<T: Decode> Decode for NamedTables<T> {
    fn expected() -> String {
        format!("tables by name, each {}", T::expected())
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        let ValueKind::Table(table) = &value.kind else {
            wrong_type::<Self>(value, report);
            return None;
        };
        let mut named = Vec::with_capacity(table.entries.len());
        for (key, value) in &table.entries {
            if let Some(fault) = name_fault(&key.name) {
                report.error("scenario.name", key.span, fault);
            } else if let Some(decoded) = decode_entry(value, report) {
                named.push((Spanned { value: Name(key.name.clone()), span: key.span }, decoded));
            }
        }
        Some(Self(named))
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let each = T::schema(definitions);
        json!({ "type": "object", "additionalProperties": each })
    }
}
