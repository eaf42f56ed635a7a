//! Links, and the keys of one link direction.

use super::super::diagnostic::Report;
use super::super::named_paths::{self, PathDescription};
use super::super::parsed_tree::{Value, ValueKind};
use super::super::schema_definitions::Definitions;
use super::super::table_declarations::{Decode, Fields, Spanned, table, wrong_type};
use super::super::value_types::{Name, Probability};
use super::impairment::{Chance, Loss, LossTable, Reorder};
use super::link_layer::{AggregationTable, EcnName, OrNone, PeriodicVariationTable, ShaperTable, SleepTable};
use super::queue::{Capacity, Queue};
use super::random_delay::Jitter;
use super::scheme::words;
use super::workload::Trace;
use serde_json::json;
use thalweg_proto::units::{Bytes, Duration, Rate};
use thalweg_queue::{AckFilter, ImpairmentSpec};
use thalweg_sim::simulation_spec::{DirectionSpec, Framing, LinkSpec, NatKind};

table! {
    /// A link direction: a transmitter with its queue, and a wire.
    LinkDirection "link direction" for DirectionSpec {
        /// The transmitter's rate.
        rate: Rate = "rate";
        /// The transmission opportunities over time, in place of `rate`: a mahimahi trace file beside the scenario
        /// file, or a table.
        trace: Trace = "trace";
        /// The propagation delay.
        delay: Duration = "delay" => delay;
        /// A random delay added to the propagation delay. A time is the maximum of a uniform distribution from zero,
        /// drawn for each packet without reordering. A table sets another distribution, one draw for each flow, or
        /// reordering.
        jitter: Jitter = "jitter" or r#""0 s""#;
        /// The queue before the transmitter: its capacity, or a table with its discipline.
        queue: Queue = "queue";
        /// The packet loss on the wire. A list or a period applies only to the direction that has it: `reverse` has its own.
        loss: Loss = "loss" or "0.0";
        /// The probability that a packet is duplicated.
        duplicate: Chance = "duplicate" or "0.0";
        /// The probability that a packet is corrupted and dropped by its receiver; each copy is corrupted independently.
        corrupt: Chance = "corrupt" or "0.0";
        /// Reordering: packets that are delayed until later ones have passed them.
        reorder: Reorder = "reorder";
        /// The largest packet that passes, including headers. Larger ones are silently dropped: a black hole for path
        /// MTU discovery.
        black_hole: Bytes = "black-hole" => impairment.largest;
        /// The link-layer framing of each packet: "none" or "atm-aal5", cells of 53 bytes with AAL5's trailer and
        /// padding.
        framing: FramingName = "framing" or r#""none""# => framing;
        /// A token bucket before the transmitter, which limits the long-run rate; "none" for none.
        shaper: OrNone<ShaperTable> = "shaper" or r#""none""# => start_delay.shaper;
        /// The sleep states of an idle transmitter, in ascending order of idle time and depth.
        sleep: Vec<Spanned<SleepTable>> = "sleep" or "[]" => start_delay.sleep;
        /// Frame aggregation: packets arrive in batches; "none" for no aggregation.
        aggregation: OrNone<AggregationTable> = "aggregation" or r#""none""# => aggregation;
        /// A periodic variation of rate and delay; "none" for none.
        periodic_variation: OrNone<PeriodicVariationTable> = "periodic-variation" or r#""none""# => periodic_variation;
        /// The treatment of ECN codepoints. "kept": unchanged, also by a tunnel that follows RFC 6040. "bleached":
        /// cleared to Not-ECT before the queue. "ect1-to-ect0": rewritten before the queue. "marks-lost": the queue's
        /// marks are lost, as in a simple tunnel. "tunnel-compatible": a tunnel with a Not-ECT outer header
        /// (RFC 6040, section 4.3): the queue drops where it would mark.
        ecn: EcnName = "ecn" or r#""kept""# => ecn;
        /// Filtering of redundant cumulative acknowledgements of the window transport in an "fcfs" queue. "none": no
        /// filtering. "conservative": drops the first of two or more acknowledgements of a flow that a new one makes
        /// redundant, so that one of them remains, as in Linux's CAKE. "newest": drops all older acknowledgements of a flow,
        /// and the newest takes the place of the first, as in cable modems.
        /// Selective acknowledgements, reports of duplicate segments and duplicate acknowledgements are kept.
        ack_filter: AckFilterName = "ack-filter" or r#""none""# => ack_filter;
        /// Changes during the run.
        schedule: Vec<Spanned<ScheduleEntry>> = "schedule";
    }
}

impl LinkDirection {
    /// Inherits from `other` the keys that are not set here. Rate and trace exclude each other: either one here blocks
    /// both of `other`.
    pub fn complete(&mut self, other: &Self) {
        let has_rate = self.rate.is_some() || self.trace.is_some();
        let mut other = other.clone();
        if has_rate {
            (other.rate, other.trace) = (None, None);
        }
        self.inherit(&other);
    }

    /// Removes lists and periods of losses that are not in `own`, the explicit keys of this direction: they number the
    /// packets of the other direction.
    pub fn leave_lists(&mut self, own: Option<&Self>) {
        let is_list =
            |at: &Spanned<Loss>| matches!(at.value, Loss::Table(LossTable::List(_) | LossTable::Periodic(_)));
        if self.loss.as_ref().is_some_and(is_list) && own.is_none_or(|own| own.loss.is_none()) {
            self.loss = None;
        }
        if own.is_none_or(|own| own.schedule.is_none()) {
            for entry in self.schedule.iter_mut().flat_map(|at| &mut at.value) {
                if let Some(at) = entry.value.loss.as_mut().filter(|at| is_list(at)) {
                    at.value = Loss::Probability(Probability(0.0));
                }
            }
        }
    }
}

words! {
    /// The kind of a NAT, by name.
    NatName: NatKind {
        "full-cone" => NatKind::FullCone,
        "restricted" => NatKind::Restricted,
        "port-restricted" => NatKind::PortRestricted,
        "symmetric" => NatKind::Symmetric,
    }
}

words! {
    /// The link-layer framing of each packet, by name.
    FramingName: Framing {
        "none" => Framing::None,
        "atm-aal5" => Framing::AtmAal5,
    }
}

words! {
    /// The ACK filter of a link direction, by name.
    AckFilterName: AckFilter {
        "none" => AckFilter::None,
        "conservative" => AckFilter::Conservative,
        "newest" => AckFilter::Newest,
    }
}

table! {
    /// A full-duplex link. Its keys apply to both directions, unless `reverse` overrides them.
    Link "link" for LinkSpec {
        /// The name; by default the names of its end nodes, joined by `-`.
        name: Name = "name";
        /// The two end nodes, by name.
        between: LinkEnds = "between" (required);
        /// A named path from the first node, the server's side, to the second, the user's side. It supplies the keys
        /// that the link does not set. `thalweg list paths` lists them.
        path: PathName = "path";
        /// In a live network (`thalweg shell`), a NAT at the first node: that node and all behind it are inside, and
        /// outgoing packets carry its address. "full-cone", "restricted", "port-restricted" or "symmetric" (RFC 3489,
        /// section 5); no NAT by default. A simulation has no addresses.
        nat: NatName = "nat" => middlebox.nat;
        /// The interval at which the NAT rebinds UDP flows to other ports.
        nat_rebind: Duration = "nat-rebind" => middlebox.nat_rebind;
        /// In a live network, a firewall that passes UDP between two ports only for this time after the first packet.
        udp_for: Duration = "udp-for" => middlebox.udp_allowed_for;
        /// The link's cost in weighted routing.
        weight: u32 = "weight" or "1" => weight;
        /// Overrides for the direction from the second node to the first.
        reverse: Reverse = "reverse";
        ..line: LinkDirection;
    }
}

table! {
    /// Overrides for the direction from the second node of a link to the first.
    Reverse "reverse" for LinkSpec {
        /// The cost of this direction in weighted routing; by default that of the other direction. A different cost can
        /// make routes asymmetric: packets and their acknowledgements take different paths.
        weight: u32 = "weight" => reverse_weight;
        ..line: LinkDirection;
    }
}

/// A named path.
#[derive(Clone, Copy, Debug)]
pub struct PathName(pub &'static PathDescription);

impl Decode for PathName {
    fn expected() -> String {
        "the name of a path, such as \"starlink\"".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        let ValueKind::String(name) = &value.kind else {
            wrong_type::<Self>(value, report);
            return None;
        };
        let found = named_paths::find_path(name).map(Self);
        if found.is_none() {
            report
                .error("scenario.unknown-name", value.span, format!("there is no path `{name}`"))
                .names(name, named_paths::PATHS.iter().map(|path| path.name));
        }
        found
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        let names: Vec<&str> = named_paths::PATHS.iter().map(|path| path.name).collect();
        json!({ "enum": names })
    }
}

/// The names of a link's end nodes. Resolution checks that there are two, together with the link's other errors.
#[derive(Clone, Debug, Default)]
pub struct LinkEnds(pub Vec<Spanned<Name>>);

impl Decode for LinkEnds {
    fn expected() -> String {
        Vec::<Spanned<Name>>::expected()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        Vec::decode(value, report).map(Self)
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let items = Name::schema(definitions);
        json!({ "type": "array", "items": items, "minItems": 2, "maxItems": 2 })
    }
}

table! {
    /// A change of a link during the run. Keys that are not set keep their value.
    ScheduleEntry "schedule entry" for ImpairmentSpec {
        /// The time of the change.
        at: Duration = "at" (required);
        /// The new rate.
        rate: Rate = "rate";
        /// The new delay, for packets sent from now on.
        delay: Duration = "delay";
        /// The new random delay, for packets sent from now on.
        jitter: Jitter = "jitter";
        /// The new capacity of the queue. Excess packets are dropped from the tail; with per-flow queues,
        /// "virtual-clock" and "priority" as on overflow. A time is relative to the new rate, and `bdp` to the path at the
        /// start of the run.
        queue: Capacity = "queue";
        /// The new loss; a list or a period counts from the next packet.
        loss: Loss = "loss";
        /// The new probability that a packet arrives twice.
        duplicate: Chance = "duplicate";
        /// The new probability that a packet arrives corrupted.
        corrupt: Chance = "corrupt";
        /// The new reordering.
        reorder: Reorder = "reorder";
        /// The new maximum packet size; larger packets are silently dropped.
        black_hole: Bytes = "black-hole" => largest;
        /// An outage of this length: the transmitter stops while its queue fills; then it resumes at the previous rate.
        outage: Duration = "outage";
    }
}
