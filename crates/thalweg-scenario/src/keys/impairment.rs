//! Keys of a link's impairments: loss, duplication, corruption and reordering.

use super::super::diagnostic::Report;
use super::super::parsed_tree::{Value, ValueKind};
use super::super::schema_definitions::Definitions;
use super::super::table_declarations::{Decode, Spanned, choice, table, wrong_type};
use super::super::value_types::Probability;
use serde_json::json;
use thalweg_proto::units::Duration;
use thalweg_queue::{LossSpec, ReorderSpec};

table! {
    /// Independent losses with the same probability for each packet.
    UniformLoss "uniform loss" for LossSpec::Uniform {
        /// The loss probability.
        probability: Probability = "probability" (required) => probability;
    }
}

table! {
    /// Bursty loss: a Markov chain of a good and a bad state that steps with each packet (Gilbert 1960, Elliott 1963).
    GilbertElliott "gilbert-elliott loss" for LossSpec::GilbertElliott {
        /// The transition probability from the good to the bad state.
        good_to_bad: Probability = "good-to-bad" (required) => good_to_bad;
        /// The transition probability from the bad to the good state.
        bad_to_good: Probability = "bad-to-good" (required) => bad_to_good;
        /// The loss probability in the good state.
        loss_good: Probability = "loss-good" or "0.0" => loss_good;
        /// The loss probability in the bad state.
        loss_bad: Probability = "loss-bad" or "1.0" => loss_bad;
    }
}

table! {
    /// Correlated loss, computed as in Linux netem: a packet's random number is the previous one weighted by
    /// `correlation` plus a new draw, uniform in 0 to 1, weighted by the rest. The packet is lost if the number is
    /// below `probability`. As in netem, the loss rate differs from `probability`: it is lower if `probability` is
    /// below 50 %, and higher if it is above. The difference grows with the distance from 50 %.
    CorrelatedLoss "correlated loss" for LossSpec::Correlated {
        /// The loss probability.
        probability: Probability = "probability" (required) => probability;
        /// The correlation of successive packets, from 0, for none, to 1.
        correlation: Probability = "correlation" (required) => correlation;
    }
}

table! {
    /// Periodic loss: every nth packet, in the order in which packets enter the link.
    PeriodicLoss "periodic loss" for LossSpec::Periodic {
        /// The period in packets, at least 1: 100 drops packets 100, 200, 300 and so on.
        every: u64 = "every" (required) => every;
    }
}

table! {
    /// Independent bit errors: a packet of n bytes arrives with probability (1 - rate)^(8 n).
    BitErrorLoss "bit errors" for LossSpec::BitErrors {
        /// The bit error rate, such as 1e-6.
        rate: Probability = "rate" (required) => rate;
    }
}

table! {
    /// A list of the packets that are lost.
    ListLoss "list of losses" for LossSpec::List(packets) {
        /// Packet numbers, from 1, in the order in which packets enter the link.
        packets: Vec<Spanned<u64>> = "packets" => packets;
        /// A text file of packet numbers, one per line, beside the scenario file.
        file: String = "file";
    }
}

choice! {
    /// A loss model.
    LossTable "loss" by "model" for LossSpec {
        "uniform" => Uniform(UniformLoss),
        "gilbert-elliott" => GilbertElliott(GilbertElliott),
        "correlated" => Correlated(CorrelatedLoss),
        "periodic" => Periodic(PeriodicLoss),
        "bit-errors" => BitErrors(BitErrorLoss),
        "list" => List(ListLoss),
    }
}

/// Loss: a probability, or a table.
#[derive(Clone, Debug)]
pub enum Loss {
    /// Independent loss with this probability.
    Probability(Probability),
    /// A table.
    Table(LossTable),
}

impl Decode for Loss {
    fn expected() -> String {
        format!("{}, or a table with `model`", Probability::expected())
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            ValueKind::Table(table) => {
                let listed = table.get("packets").is_some() || table.get("file").is_some();
                if listed && table.get("model").is_none() {
                    LossTable::decode_kind("list", table, value.span, report).map(Self::Table)
                } else {
                    LossTable::decode(value, report).map(Self::Table)
                }
            }
            ValueKind::String(_) | ValueKind::Integer(_) | ValueKind::Float(_) => {
                Probability::decode(value, report).map(Self::Probability)
            }
            _ => {
                wrong_type::<Self>(value, report);
                None
            }
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let (probability, table) = (Probability::schema(definitions), LossTable::schema(definitions));
        let list = ListLoss::schema(definitions);
        json!({ "anyOf": [probability, table, list] })
    }
}

/// No reordering.
pub const NO_REORDER: ReorderSpec = ReorderSpec { probability: 0.0, delay: Duration::ZERO, correlation: 0.0 };

table! {
    /// Reordering: packets are delayed so that later ones overtake them.
    Reorder "reorder" for ReorderSpec {
        /// The probability that a packet is delayed.
        probability: Probability = "probability" (required) => probability;
        /// The maximum extra delay; uniform between zero and this.
        delay: Duration = "delay" (required) => delay;
        /// The correlation of successive packets, as in Linux netem (see correlated loss), from 0, for none, to 1.
        correlation: Probability = "correlation" or "0.0" => correlation;
    }
}

table! {
    /// A random impairment with correlation of successive packets, as in Linux netem (see correlated loss).
    ChanceTable "chance" {
        /// The probability per packet.
        probability: Probability = "probability" (required);
        /// The correlation of successive packets, from 0, for none, to 1.
        correlation: Probability = "correlation" or "0.0";
    }
}

/// A random impairment of packets: a probability, or a table.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Chance {
    /// The probability per packet.
    pub probability: f64,
    /// The weight of the previous packet's random number.
    pub correlation: f64,
}

impl Decode for Chance {
    fn expected() -> String {
        format!("{}, or a table with `probability` and `correlation`", Probability::expected())
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            ValueKind::Table(_) => {
                let table = ChanceTable::decode(value, report)?;
                let of = |at: &Option<Spanned<Probability>>| at.as_ref().map_or(0.0, |at| at.value.0);
                (!table.broken).then(|| Self {
                    probability: of(&table.probability),
                    correlation: of(&table.correlation),
                })
            }
            ValueKind::String(_) | ValueKind::Integer(_) | ValueKind::Float(_) => {
                Probability::decode(value, report).map(|of| Self { probability: of.0, correlation: 0.0 })
            }
            _ => {
                wrong_type::<Self>(value, report);
                None
            }
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let (probability, table) = (Probability::schema(definitions), ChanceTable::schema(definitions));
        json!({ "anyOf": [probability, table] })
    }
}
