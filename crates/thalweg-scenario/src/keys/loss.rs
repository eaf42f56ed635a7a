//! Keys of a wire's impairments: loss, and packets held back.

use super::super::diagnostic::Report;
use super::super::quantity::Probability;
use super::super::schema::Definitions;
use super::super::table::{At, Decode, choice, table, wrong_type};
use super::super::tree::{Kind, Value};
use serde_json::json;
use thalweg_proto::units::Duration;
use thalweg_queue::{LossSpec, ReorderSpec};

table! {
    /// Each packet is lost with the same probability, independently of all others.
    UniformLoss "uniform loss" for LossSpec::Uniform {
        /// The probability.
        probability: Probability = "probability" (required) => probability;
    }
}

table! {
    /// Losses in bursts: a chain of a good and a bad state that steps with each packet (Gilbert 1960, Elliott 1963).
    GilbertElliott "gilbert-elliott loss" for LossSpec::GilbertElliott {
        /// The probability to go from the good to the bad state.
        good_to_bad: Probability = "good-to-bad" (required) => good_to_bad;
        /// The probability to go from the bad to the good state.
        bad_to_good: Probability = "bad-to-good" (required) => bad_to_good;
        /// The probability of a loss in the good state.
        loss_good: Probability = "loss-good" or "0.0" => loss_good;
        /// The probability of a loss in the bad state.
        loss_bad: Probability = "loss-bad" or "1.0" => loss_bad;
    }
}

table! {
    /// Losses like those before them, as netem (Linux) computes them: a packet's number is that of the one before by the share
    /// `correlation` and for the rest drawn, uniform in 0 to 1, and the packet is lost where it is below `probability`. As there, the share
    /// of packets lost is not the probability, but the less the further that is from 50 % (and above 50 % the more).
    CorrelatedLoss "correlated loss" for LossSpec::Correlated {
        /// The probability.
        probability: Probability = "probability" (required) => probability;
        /// The correlation, from 0, for none, to 1.
        correlation: Probability = "correlation" (required) => correlation;
    }
}

table! {
    /// Every so many packets one is lost, in the order in which they enter the wire.
    PeriodicLoss "periodic loss" for LossSpec::Periodic {
        /// The distance of two that are lost, at least 1: with 100 packets 100, 200, 300 ....
        every: u64 = "every" (required) => every;
    }
}

table! {
    /// Bits are damaged, each independently: a packet of n bytes arrives with the probability (1 - rate)^(8 n).
    BitErrorLoss "bit errors" for LossSpec::BitErrors {
        /// The bit error rate, such as 1e-6.
        rate: Probability = "rate" (required) => rate;
    }
}

table! {
    /// Exactly the packets listed are lost.
    ListLoss "list of losses" for LossSpec::List(packets) {
        /// Packets by number, from 1, in the order in which they enter the wire.
        packets: Vec<At<u64>> = "packets" => packets;
        /// A text file of such numbers, one a line, beside the scenario file.
        file: String = "file";
    }
}

choice! {
    /// A model of loss.
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
    /// The same for each packet.
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
            Kind::Table(table) => {
                let listed = table.get("packets").is_some() || table.get("file").is_some();
                if listed && table.get("model").is_none() {
                    LossTable::decode_kind("list", table, value.span, report).map(Self::Table)
                } else {
                    LossTable::decode(value, report).map(Self::Table)
                }
            }
            Kind::String(_) | Kind::Integer(_) | Kind::Float(_) => {
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

/// No packet is held back.
pub const NO_REORDER: ReorderSpec = ReorderSpec { probability: 0.0, delay: Duration::ZERO, correlation: 0.0 };

table! {
    /// Packets that are held back, so that later ones pass them.
    Reorder "reorder" for ReorderSpec {
        /// The probability for each packet.
        probability: Probability = "probability" (required) => probability;
        /// How long it is held: uniform between zero and this.
        delay: Duration = "delay" (required) => delay;
        /// Packets are held like those before them, as netem (Linux) computes it (see correlated loss), from 0, for each by itself, to 1.
        correlation: Probability = "correlation" or "0.0" => correlation;
    }
}

table! {
    /// Something that befalls packets at random, like those before them, as netem (Linux) computes it (see correlated loss).
    ChanceTable "chance" {
        /// The probability.
        probability: Probability = "probability" (required);
        /// The correlation, from 0, for each packet by itself, to 1.
        correlation: Probability = "correlation" or "0.0";
    }
}

/// Something that befalls packets at random: a probability, or a table.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Chance {
    /// The probability of each packet.
    pub probability: f64,
    /// The share of the packet before in the number that decides.
    pub correlation: f64,
}

impl Decode for Chance {
    fn expected() -> String {
        format!("{}, or a table with `probability` and `correlation`", Probability::expected())
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            Kind::Table(_) => {
                let table = ChanceTable::decode(value, report)?;
                let of = |at: &Option<At<Probability>>| at.as_ref().map_or(0.0, |at| at.value.0);
                (!table.broken).then(|| Self {
                    probability: of(&table.probability),
                    correlation: of(&table.correlation),
                })
            }
            Kind::String(_) | Kind::Integer(_) | Kind::Float(_) => {
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
