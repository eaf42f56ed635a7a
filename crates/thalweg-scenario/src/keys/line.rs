//! Links, and the keys of one direction of a line.

use super::super::diagnostic::Report;
use super::super::known_paths::{self, PathDescription};
use super::super::quantity::{Name, Probability};
use super::super::schema::Definitions;
use super::super::table::{At, Decode, Fields, table, wrong_type};
use super::super::tree::{Kind, Value};
use super::jitter::Jitter;
use super::loss::{Chance, Loss, LossTable, Reorder};
use super::medium::{AggregationTable, EcnName, OrNone, RhythmTable, ShaperTable, SleepTable};
use super::queue::{Capacity, Queue};
use super::scheme::words;
use super::workload::Trace;
use serde_json::json;
use thalweg_proto::units::{Bytes, Duration, Rate};
use thalweg_queue::{AckFilter, ImpairmentSpec};
use thalweg_sim::spec::{DirectionSpec, Framing, LinkSpec, NatKind};

table! {
    /// A line: a transmitter with its queue, and a wire.
    Line "line" for DirectionSpec {
        /// The transmitter's rate.
        rate: Rate = "rate";
        /// When how much may leave, in place of `rate`: a mahimahi trace file beside the scenario file, or a table.
        trace: Trace = "trace";
        /// How long a packet is on the wire.
        delay: Duration = "delay" => delay;
        /// The wire takes a random time longer. A time is uniform between zero and this for each packet, and they keep their order; a
        /// table has another distribution, one for each flow, or lets packets pass each other.
        jitter: Jitter = "jitter" or r#""0 s""#;
        /// The queue before the transmitter: its capacity, or a table with its discipline.
        queue: Queue = "queue";
        /// Which packets the wire loses. A list holds for the direction that has it: `reverse` has its own.
        loss: Loss = "loss" or "0.0";
        /// The probability that a packet arrives twice.
        duplicate: Chance = "duplicate" or "0.0";
        /// The probability that a packet arrives damaged, so that its receiver drops it.
        corrupt: Chance = "corrupt" or "0.0";
        /// Packets that are held back, so that later ones pass them.
        reorder: Reorder = "reorder";
        /// Packets that are larger than this, headers counted, vanish, and nobody is told: a black hole for path MTU discovery.
        black_hole: Bytes = "black-hole" => impairment.largest;
        /// What the line puts around each packet: "none" or "atm-aal5", cells of 53 bytes with AAL5's trailer and padding.
        framing: FramingName = "framing" or r#""none""# => framing;
        /// A token bucket before the transmitter, whose rate holds in the long run; "none" for none.
        shaper: OrNone<ShaperTable> = "shaper" or r#""none""# => onset.shaper;
        /// The states that the transmitter falls into when it has nothing to send, each later and deeper than the one before.
        sleep: Vec<At<SleepTable>> = "sleep" or "[]" => onset.sleep;
        /// Packets arrive in batches; "none" for each by itself.
        aggregation: OrNone<AggregationTable> = "aggregation" or r#""none""# => aggregation;
        /// Rate and delay change in a rhythm; "none" for none.
        rhythm: OrNone<RhythmTable> = "rhythm" or r#""none""# => rhythm;
        /// What becomes of ECN codepoints: "kept", also by a tunnel as RFC 6040 wants it; "bleached" to Not-ECT before the queue;
        /// "ect1-to-ect0" before the queue; "marks-lost" where the queue's marks are, as in a simple tunnel; "tunnel-compatible" in a
        /// tunnel whose outer header is Not-ECT (RFC 6040, section 4.3), so that the queue drops where it would mark.
        ecn: EcnName = "ecn" or r#""kept""# => ecn;
        /// Which acknowledgements of the window transport leave the queue, "fcfs", before their turn, because one that has come tells
        /// all that they do: "none"; "conservative", the first of two of a flow, as Linux's CAKE does it; "newest", all of a flow, and
        /// the newest takes the place of the first, as in cable modems. What they tell selectively, of copies and as duplicates is kept.
        ack_filter: AckFilterName = "ack-filter" or r#""none""# => ack_filter;
        /// Changes while the run goes on.
        schedule: Vec<At<ScheduleEntry>> = "schedule";
    }
}

impl Line {
    /// Takes from `other` what this line does not say itself. Rate and trace say the same thing, so one of them
    /// here keeps both of the other's out.
    pub fn complete(&mut self, other: &Self) {
        let speaks = self.rate.is_some() || self.trace.is_some();
        let mut other = other.clone();
        if speaks {
            (other.rate, other.trace) = (None, None);
        }
        self.inherit(&other);
    }

    /// Leaves out lists of losses that `own`, what is said of this direction alone, does not have: they number the packets of the other
    /// direction.
    pub fn leave_lists(&mut self, own: Option<&Self>) {
        let is_list = |at: &At<Loss>| matches!(at.value, Loss::Table(LossTable::List(_)));
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
    /// The kind of an address translator, by its word.
    NatName: NatKind {
        "full-cone" => NatKind::FullCone,
        "restricted" => NatKind::Restricted,
        "port-restricted" => NatKind::PortRestricted,
        "symmetric" => NatKind::Symmetric,
    }
}

words! {
    /// The framing that a line puts around each packet, by its word.
    FramingName: Framing {
        "none" => Framing::None,
        "atm-aal5" => Framing::AtmAal5,
    }
}

words! {
    /// The acknowledgements that a line filters, by its word.
    AckFilterName: AckFilter {
        "none" => AckFilter::None,
        "conservative" => AckFilter::Conservative,
        "newest" => AckFilter::Newest,
    }
}

table! {
    /// A full-duplex link. Its keys hold for both directions, apart from what `reverse` says.
    Link "link" for LinkSpec {
        /// Its name; without one it is its ends, joined by `-`.
        name: Name = "name";
        /// The nodes at its ends, two names.
        between: Ends = "between" (required);
        /// A path that is known by name, from the first node, where the server is, to the second, where the user is: what it says
        /// holds where the link does not say otherwise. `thalweg list paths` lists them.
        path: PathName = "path";
        /// In a live network (`thalweg shell`), an address translator at the first node: that and what is behind it are inside, and what
        /// leaves has its address. "full-cone", "restricted", "port-restricted" or "symmetric" (RFC 3489, section 5); none without. A
        /// simulation has no addresses.
        nat: NatName = "nat" => middlebox.nat;
        /// The translator gives UDP other ports each time that so long has passed.
        nat_rebind: Duration = "nat-rebind" => middlebox.nat_rebind;
        /// In a live network, a firewall that lets UDP between two ports pass for so long, from its first packet on.
        udp_for: Duration = "udp-for" => middlebox.udp_for;
        /// What the link costs where routes go by weights.
        weight: u32 = "weight" or "1" => weight;
        /// What is different in the direction from the second node to the first.
        reverse: Reverse = "reverse";
        ..line: Line;
    }
}

table! {
    /// What is different in the direction from the second node of a link to the first.
    Reverse "reverse" for LinkSpec {
        /// What the link costs in this direction where routes go by weights; as in the other without. With it packets may go one way and
        /// their acknowledgements another.
        weight: u32 = "weight" => reverse_weight;
        ..line: Line;
    }
}

/// A path that is known by name.
#[derive(Clone, Copy, Debug)]
pub struct PathName(pub &'static PathDescription);

impl Decode for PathName {
    fn expected() -> String {
        "the name of a path, such as \"starlink\"".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        let Kind::String(name) = &value.kind else {
            wrong_type::<Self>(value, report);
            return None;
        };
        let found = known_paths::find(name).map(Self);
        if found.is_none() {
            report
                .error("scenario.unknown-name", value.span, format!("there is no path `{name}`"))
                .names(name, known_paths::PATHS.iter().map(|path| path.name));
        }
        found
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        let names: Vec<&str> = known_paths::PATHS.iter().map(|path| path.name).collect();
        json!({ "enum": names })
    }
}

/// The names of the nodes at a link's ends. That they are two is checked when the link is resolved, where it is known what else is
/// wrong with it.
#[derive(Clone, Debug, Default)]
pub struct Ends(pub Vec<At<Name>>);

impl Decode for Ends {
    fn expected() -> String {
        Vec::<At<Name>>::expected()
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
    /// A change of a line while the run goes on. What is not given stays.
    ScheduleEntry "schedule entry" for ImpairmentSpec {
        /// When.
        at: Duration = "at" (required);
        /// The new rate.
        rate: Rate = "rate";
        /// The new delay, for packets that leave from now on.
        delay: Duration = "delay";
        /// The new random delay, for packets that leave from now on.
        jitter: Jitter = "jitter";
        /// The new capacity of the queue. What no longer fits is dropped from its tail on; where flows have queues of their own, as when
        /// it overflows. A time is that of the rate from now on, and `bdp` is of the path as it was at the start.
        queue: Capacity = "queue";
        /// The new loss.
        loss: Loss = "loss";
        /// The new probability that a packet arrives twice.
        duplicate: Chance = "duplicate";
        /// The new probability that a packet arrives damaged.
        corrupt: Chance = "corrupt";
        /// Packets that are held back from now on.
        reorder: Reorder = "reorder";
        /// The new size above which packets vanish.
        black_hole: Bytes = "black-hole" => largest;
        /// The transmitter stops for this long, and its queue waits; then the rate is what it was.
        outage: Duration = "outage";
    }
}
