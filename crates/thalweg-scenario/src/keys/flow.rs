//! Groups of flows, and their optional access hosts.

use super::super::diagnostic::Report;
use super::super::key_bindings::{FieldOf, plain};
use super::super::parsed_tree::{Value, ValueKind};
use super::super::schema_definitions::Definitions;
use super::super::table_declarations::{Decode, table, wrong_type};
use super::super::toml_writer::toml_string;
use super::super::value_types::Name;
use super::ProcessingTable;
use super::host::HostKey;
use super::link::LinkDirection;
use super::read_rate::Reading;
use super::scheme::{SchemeRef, words};
use super::traffic_pattern::{Nodes, PatternName};
use super::workload::Workload;
use serde_json::json;
use thalweg_proto::units::{Duration, Rate};
use thalweg_proto::window::Misbehaviour;
use thalweg_sim::simulation_spec::{GroupSpec, LOWEST_PRIORITY, Match, NoMatch};

/// The priority of a flow: 1, the highest, to 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority(pub u8);

impl FieldOf<Priority> for u8 {
    fn from_key(given: Option<&Priority>) -> Option<Self> {
        given.map(|priority| priority.0)
    }
    fn toml(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Decode for Priority {
    fn expected() -> String {
        format!("a number from 1, the highest, to {LOWEST_PRIORITY}")
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        if !matches!(value.kind, ValueKind::Integer(_)) {
            wrong_type::<Self>(value, report);
            return None;
        }
        let given_value = u64::decode(value, report)?;
        let found =
            u8::try_from(given_value).ok().filter(|priority| (1..=LOWEST_PRIORITY).contains(priority));
        if found.is_none() {
            report
                .error("scenario.range", value.span, format!("there is no priority {given_value}"))
                .help("priorities go from 1, the highest, to 6");
        }
        found.map(Self)
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        json!({ "type": "integer", "minimum": 1, "maximum": LOWEST_PRIORITY })
    }
}

plain! {
    Match, Match: |packets| packets, |packets: &Self| toml_string(&packets.to_string());
}

impl Decode for Match {
    fn expected() -> String {
        "packets by protocol, ports and DSCP, such as \"udp 5060\", \"tcp 8000-8010\" or \"dscp 46\""
            .to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        let given_text = match &value.kind {
            ValueKind::String(given) => given,
            _ => {
                wrong_type::<Self>(value, report);
                return None;
            }
        };
        let found = given_text.parse();
        if let Err(NoMatch) = found {
            report
                .error("scenario.match", value.span, format!("`{given_text}` matches no property of packets"))
                .help("expected a protocol, \"tcp\" or \"udp\", perhaps a port or ports behind it, perhaps a DSCP: \"udp 5060 dscp 46\"");
        }
        found.ok()
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        json!({ "type": "string" })
    }
}

words! {
    /// A receiver's protocol violation, by name.
    MisbehaviourName: Misbehaviour {
        "divides-acks" => Misbehaviour::DividesAcks,
        "repeats-acks" => Misbehaviour::RepeatsAcks,
        "conceals-loss" => Misbehaviour::ConcealsLoss,
        "optimistic" => Misbehaviour::Optimistic,
        "conceals-marks" => Misbehaviour::ConcealsMarks,
    }
}

table! {
    /// Defaults for all groups of flows.
    FlowDefaults "flow defaults" for GroupSpec {
        /// The scheme: a built-in name or one of `[scheme.NAME]`, with options or without, or a table with `base`.
        scheme: SchemeRef = "scheme" or r#""cubic""#;
        /// The application's traffic.
        workload: Workload = "workload" or r#""bulk""#;
        /// The rate at which the sink application reads: a rate, or a table. By default it reads at once.
        reading: Reading = "reading" or r#""unlimited""#;
        /// A protocol violation of the receivers, to study its effect: "divides-acks" (acknowledges a segment in eight
        /// parts), "repeats-acks" (sends each acknowledgement four times), "conceals-loss" (acknowledges missing data,
        /// and never delivers it), "optimistic" (in addition acknowledges eight segments still in flight), or
        /// "conceals-marks" (does not echo congestion marks). Window schemes only; none by default.
        misbehaviour: MisbehaviourName = "misbehaviour" => misbehaviour;
        /// The start time of the flows.
        start: Duration = "start" or r#""0 s""# => start;
        /// The width of a random start time: each flow starts at a uniformly distributed time within this span after
        /// `start`.
        spread: Duration = "spread" or r#""0 s""# => spread;
        /// The interval between the starts of successive flows.
        stagger: Duration = "stagger" or r#""0 s""# => stagger;
        /// A random processing time per packet at the sending host, uniform between zero and this, as ns-2's
        /// `overhead_`. It avoids phase effects, does not lower the rate and keeps packets in order.
        overhead: Duration = "overhead" or r#""0 s""# => overhead;
        /// The hosts at both ends, one thread each: a measured host by name, or a table. By default hosts are ideal:
        /// they respond at once, and processing is free.
        host: HostKey = "host" => host;
        /// The time of the last write of the applications; by default the end of the run.
        stop: Duration = "stop" => stop;
        /// Access links: gives each flow its own source and sink host, attached by their own links.
        access: Access = "access";
        /// The delay of a lossless control channel that carries acknowledgements and other control packets outside the network.
        control_channel: Duration = "control-channel" => control_channel;
        /// The priority of the flows, from 1, the highest, to 6: for priority queues, weights and levels of fair queues, and
        /// gates of nodes.
        priority: Priority = "priority" or "6" => priority;
    }
}

table! {
    /// A group of identical flows.
    Flow "flow" for GroupSpec {
        /// The group's name; by default `flow-` and its position, from 1.
        name: Name = "name";
        /// The number of flows; with several nodes, the number per pair.
        count: u32 = "count" or "1" => count;
        /// The source node. Several nodes are a list, or a name in which `*` matches any characters: `h*` matches all
        /// hosts of a fat tree.
        from: Nodes = "from" (required);
        /// The sink node, or several.
        to: Nodes = "to" (required);
        /// The traffic matrix between `from` and `to`. "pairs": the first to the first, the second to the second; a
        /// single node is paired with each node of the other side. "all-to-all": each to each. "permutation": a random
        /// one-to-one mapping. "incast": `degree` sources to each sink, by default all. "random": each source to
        /// `degree` random sinks, by default 1. No node sends to itself. The random choice depends on the `seed` in the
        /// file, and is the same in all replications.
        pattern: PatternName = "pattern" or r#""pairs""#;
        /// The number of peers in the patterns "incast" and "random".
        degree: u32 = "degree";
        /// A traffic matrix beside the scenario file. Each demand from a node of `from` to a node of `to` (`"*"` for all)
        /// becomes a separate group, named after this group and the two nodes. The demand is the `load` of a Poisson workload
        /// or the `rate` of a constant one. Formats: SNDlib's XML with demands; a list `from, to, rate` as CSV (or Parquet),
        /// in this order or as named in its first line; or a table with a row for each source and a column for each sink,
        /// with names, or in the order of the list `from`.
        matrix: String = "matrix";
        /// The rate of a demand of 1, for numbers without unit; by default the unit of SNDlib's file. A smaller
        /// rate scales all demands down.
        matrix_unit: Rate = "matrix-unit";
        /// In a live network (`thalweg shell`), the filter that assigns packets of real programs between the two nodes
        /// to this flow, with its name and its priority: by protocol, ports and DSCP, such as "udp 5060", "tcp
        /// 8000-8010" or "dscp 46". By default it matches none. Simulations ignore it.
        live_match: Match = "match" => live_match;
        ..shared: FlowDefaults;
    }
}

table! {
    /// The access links between a flow's own hosts and the network. The keys of a link apply to both hosts and both
    /// directions, unless `source` or `sink` overrides them.
    Access "access" {
        /// Overrides at the source host.
        source: Side = "source";
        /// Overrides at the sink host.
        sink: Side = "sink";
        ..line: LinkDirection;
    }
}

table! {
    /// A flow's own host and its access link. The link's keys apply to the direction of the data: out of the source
    /// host, into the sink host.
    Side "access side" {
        /// Overrides for the direction of the acknowledgements.
        reverse: LinkDirection = "reverse";
        /// The host's processing time for each packet sent or received.
        processing: ProcessingTable = "processing";
        ..line: LinkDirection;
    }
}
