//! Groups of flows, and the hosts of their own that flows may have.

use super::super::bound::{FieldOf, plain};
use super::super::diagnostic::Report;
use super::super::quantity::Name;
use super::super::schema::Definitions;
use super::super::table::{Decode, table, wrong_type};
use super::super::tree::{Kind, Value};
use super::super::writer::text;
use super::ProcessingTable;
use super::host::HostKey;
use super::line::Line;
use super::pattern::{Nodes, PatternName};
use super::reading::Reading;
use super::scheme::{SchemeRef, words};
use super::workload::Workload;
use serde_json::json;
use thalweg_proto::units::Duration;
use thalweg_proto::window::Misbehaviour;
use thalweg_sim::spec::{GroupSpec, LOWEST_PRIORITY, Match, NoMatch};

/// The priority of a flow: 1, the highest, to 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority(pub u8);

impl FieldOf<Priority> for u8 {
    fn of(given: Option<&Priority>) -> Option<Self> {
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
        if !matches!(value.kind, Kind::Integer(_)) {
            wrong_type::<Self>(value, report);
            return None;
        }
        let given = u64::decode(value, report)?;
        let found = u8::try_from(given).ok().filter(|priority| (1..=LOWEST_PRIORITY).contains(priority));
        if found.is_none() {
            report
                .error("scenario.range", value.span, format!("there is no priority {given}"))
                .help("priorities go from 1, the highest, to 6");
        }
        found.map(Self)
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        json!({ "type": "integer", "minimum": 1, "maximum": LOWEST_PRIORITY })
    }
}

plain! {
    Match, Match: |packets| packets, |packets: &Self| text(&packets.to_string());
}

impl Decode for Match {
    fn expected() -> String {
        "packets by protocol, ports and DSCP, such as \"udp 5060\", \"tcp 8000-8010\" or \"dscp 46\""
            .to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        let given = match &value.kind {
            Kind::String(given) => given,
            _ => {
                wrong_type::<Self>(value, report);
                return None;
            }
        };
        let found = given.parse();
        if let Err(NoMatch) = found {
            report
                .error("scenario.match", value.span, format!("`{given}` says nothing of packets"))
                .help("expected a protocol, \"tcp\" or \"udp\", perhaps a port or ports behind it, perhaps a DSCP: \"udp 5060 dscp 46\"");
        }
        found.ok()
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        json!({ "type": "string" })
    }
}

words! {
    /// An act of receivers against the rules, by its word.
    MisbehaviourName: Misbehaviour {
        "divides-acks" => Misbehaviour::DividesAcks,
        "repeats-acks" => Misbehaviour::RepeatsAcks,
        "conceals-loss" => Misbehaviour::ConcealsLoss,
        "optimistic" => Misbehaviour::Optimistic,
        "conceals-marks" => Misbehaviour::ConcealsMarks,
    }
}

table! {
    /// What every group of flows shares that does not say otherwise.
    FlowDefaults "flow defaults" for GroupSpec {
        /// The scheme: a built-in name or one of `[scheme.NAME]`, with options or without, or a table with `base`.
        scheme: SchemeRef = "scheme" or r#""cubic""#;
        /// What the application does.
        workload: Workload = "workload" or r#""bulk""#;
        /// How fast the application at the sink reads: a rate, or a table; at once without.
        reading: Reading = "reading" or r#""unlimited""#;
        /// What the receivers do against the rules, to see what becomes of the flows and of others: "divides-acks" (a segment is
        /// acknowledged in eight parts), "repeats-acks" (four times), "conceals-loss" (what is missing is acknowledged, and never delivered),
        /// "optimistic" (that, and eight segments that are still on their way), or "conceals-marks" (of congestion). Of window schemes;
        /// nothing without.
        misbehaviour: MisbehaviourName = "misbehaviour" => misbehaviour;
        /// When the flows start.
        start: Duration = "start" or r#""0 s""# => start;
        /// Each flow starts at a random time, uniform in this span after `start`.
        spread: Duration = "spread" or r#""0 s""# => spread;
        /// Each flow starts this much later than the one before.
        stagger: Duration = "stagger" or r#""0 s""# => stagger;
        /// A host that sends data takes a random time for each packet, uniform between zero and this, as ns-2's `overhead_`:
        /// against phase effects. It takes nothing off the rate, and packets keep their order.
        overhead: Duration = "overhead" or r#""0 s""# => overhead;
        /// The hosts at both ends, a thread each: one that was measured, by its name, or a table. Without, they are ideal: they answer at
        /// once, and work costs nothing.
        host: HostKey = "host" => host;
        /// When the applications stop writing; at the end of the run without.
        stop: Duration = "stop" => stop;
        /// Gives each flow a source and a sink host of its own, on lines of their own.
        access: Access = "access";
        /// Acknowledgements skip the network and arrive after this delay, without loss.
        control_channel: Duration = "control-channel" => control_channel;
        /// How much the flows matter, from 1, the highest, to 6: for priority queues and for the gates of nodes.
        priority: Priority = "priority" or "6" => priority;
    }
}

table! {
    /// A group of flows that are alike.
    Flow "flow" for GroupSpec {
        /// The group's name; without one it is `flow-` and its position, from 1.
        name: Name = "name";
        /// How many flows; where there are several nodes, how many of each pair.
        count: u32 = "count" or "1" => count;
        /// The node where data comes from. Several are a list, or a name with a `*` for any characters: `h*` are all hosts of a fat tree.
        from: Nodes = "from" (required);
        /// The node where data goes, or several.
        to: Nodes = "to" (required);
        /// Which nodes of `from` send to which of `to`: "pairs", the first to the first, the second to the second, and one alone to or
        /// from each; "all-to-all", each to each; "permutation", each to one, drawn so that each gets from one; "incast", `degree` to each,
        /// all without it; "random", each to `degree` drawn ones, 1 without it. Nobody sends to itself. What is drawn goes by the
        /// scenario's `seed` as the file has it, so that replications have it alike.
        pattern: PatternName = "pattern" or r#""pairs""#;
        /// How many are drawn in a pattern that says so.
        degree: u32 = "degree";
        /// In a live network (`thalweg shell`), the packets of real programs between the two nodes that are this flow's, with its name
        /// and its priority: by protocol, ports and DSCP, such as "udp 5060", "tcp 8000-8010" or "dscp 46". Without, none are. A
        /// simulation does nothing with it.
        real: Match = "match" => real;
        ..shared: FlowDefaults;
    }
}

table! {
    /// The lines between a flow's own hosts and the network. The keys of a line hold for both hosts and both
    /// directions, apart from what `source` and `sink` say.
    Access "access" {
        /// What is different at the source host.
        source: Side = "source";
        /// What is different at the sink host.
        sink: Side = "sink";
        ..line: Line;
    }
}

table! {
    /// A host of a flow's own and its line; data of the source host leaves over it, data for the sink host comes.
    Side "access side" {
        /// What is different in the direction in which acknowledgements go.
        reverse: Line = "reverse";
        /// How long the host's processor works on each packet that it sends or receives.
        processing: ProcessingTable = "processing";
        ..line: Line;
    }
}
