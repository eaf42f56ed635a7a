//! Keys of random delays: distributions of times, per packet or per flow.

use super::super::diagnostic::Report;
use super::super::parsed_tree::{Value, ValueKind};
use super::super::schema_definitions::Definitions;
use super::super::table_declarations::{Decode, Spanned, choice, table, wrong_type};
use super::super::value_types::{Number, Probability};
use super::scheme::words;
use serde_json::json;
use thalweg_proto::units::Duration;
use thalweg_queue::random_delay::{DrawScope, TimeSpec, VariationSpec};

words! {
    /// The scope of a random draw, by name.
    EachName: DrawScope {
        "packet" => DrawScope::Packet,
        "flow" => DrawScope::Flow,
    }
}

table! {
    /// Keys shared by all distributions of delays.
    Drawn "drawn" for VariationSpec {
        /// The scope of a draw: each "packet", or once for each "flow" that crosses the link, the same in both
        /// directions. With `access`, the latter gives the flows of a group different round-trip times.
        each: EachName = "each" or r#""packet""# => each;
        /// Keeps packets in order: a packet that would overtake its predecessor arrives together with it. With a delay
        /// per flow, order within a flow is kept in any case.
        in_order: bool = "in-order" or "true" => keeps_order;
        /// The correlation of successive times, computed as in Linux netem: a packet's random number is the previous
        /// one weighted by this share plus a new draw weighted by the rest, and its time is the quantile at that
        /// number. As in netem, correlation narrows the distribution. Not for "wifi", and not with `each = "flow"`.
        correlation: Probability = "correlation" or "0.0" => correlation;
    }
}

table! {
    /// Uniformly distributed times.
    UniformJitter "uniform jitter" for TimeSpec::Uniform {
        /// The minimum time.
        min: Duration = "min" or r#""0 s""# => min;
        /// The maximum time.
        max: Duration = "max" (required) => max;
        ..drawn: Drawn;
    }
}

table! {
    /// Exponentially distributed times.
    ExponentialJitter "exponential jitter" for TimeSpec::Exponential {
        /// The mean.
        mean: Duration = "mean" (required) => mean;
        /// The maximum; longer draws are cut to it.
        max: Duration = "max" => max;
        ..drawn: Drawn;
    }
}

table! {
    /// Normally distributed times; negative draws become zero.
    NormalJitter "normal jitter" for TimeSpec::Normal {
        /// The mean.
        mean: Duration = "mean" (required) => mean;
        /// The standard deviation.
        deviation: Duration = "deviation" (required) => deviation;
        /// The maximum; longer draws are cut to it.
        max: Duration = "max" => max;
        ..drawn: Drawn;
    }
}

table! {
    /// Log-normally distributed times.
    LogNormalJitter "log-normal jitter" for TimeSpec::LogNormal {
        /// The median.
        median: Duration = "median" (required) => median;
        /// The standard deviation of the natural logarithm.
        sigma: Number = "sigma" (required) => sigma;
        /// The maximum; longer draws are cut to it.
        max: Duration = "max" => max;
        ..drawn: Drawn;
    }
}

table! {
    /// Heavy-tailed times: a Pareto distribution.
    ParetoJitter "pareto jitter" for TimeSpec::Pareto {
        /// The minimum time.
        min: Duration = "min" (required) => min;
        /// The shape. Without `max`, the variance is infinite up to 2, and the mean up to 1.
        shape: Number = "shape" (required) => shape;
        /// The maximum; longer draws are cut to it.
        max: Duration = "max" => max;
        ..drawn: Drawn;
    }
}

table! {
    /// Measured times: their empirical distribution, interpolated linearly between neighbours. Give `times` or `file`.
    MeasuredJitter "measured jitter" for TimeSpec::Quantiles(times) {
        /// The times, in any order.
        times: Vec<Spanned<Duration>> = "times" => times;
        /// A text file of the times beside the scenario file, one per line, such as `0.5 ms`.
        file: String = "file";
        ..drawn: Drawn;
    }
}

table! {
    /// Wi-Fi that shares its channel with other networks: deferrals of a millisecond, and for some packets
    /// retransmissions of 7.5 ms each, 12 on average (draft-huitema-ccwg-c4-test).
    WifiJitter "wifi jitter" for TimeSpec::Wifi {
        /// The draft's average jitter. At 1 ms or less no packet is retransmitted; at 7 ms, the draft's bad Wi-Fi, one
        /// in fifteen.
        average: Duration = "average" (required) => average;
        ..drawn: Drawn;
    }
}

choice! {
    /// A distribution of random delays.
    JitterTable "jitter" by "distribution" for TimeSpec {
        "uniform" => Uniform(UniformJitter),
        "exponential" => Exponential(ExponentialJitter),
        "normal" => Normal(NormalJitter),
        "log-normal" => LogNormal(LogNormalJitter),
        "pareto" => Pareto(ParetoJitter),
        "measured" => Measured(MeasuredJitter),
        "wifi" => Wifi(WifiJitter),
    }
}

impl JitterTable {
    /// Returns the keys shared by all distributions.
    pub fn drawn(&self) -> &Drawn {
        match self {
            Self::Uniform(table) => &table.drawn,
            Self::Exponential(table) => &table.drawn,
            Self::Normal(table) => &table.drawn,
            Self::LogNormal(table) => &table.drawn,
            Self::Pareto(table) => &table.drawn,
            Self::Measured(table) => &table.drawn,
            Self::Wifi(table) => &table.drawn,
        }
    }
}

/// The random part of a link's delay: a time, or a distribution.
#[derive(Clone, Debug)]
pub enum Jitter {
    /// Uniform between zero and this for each packet, in order.
    UpTo(Duration),
    /// A distribution.
    Table(JitterTable),
}

impl Decode for Jitter {
    fn expected() -> String {
        "a time, such as \"2 ms\", or a table with `distribution`".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            ValueKind::Table(_) => JitterTable::decode(value, report).map(Self::Table),
            ValueKind::String(_) | ValueKind::Integer(_) | ValueKind::Float(_) => {
                Duration::decode(value, report).map(Self::UpTo)
            }
            _ => {
                wrong_type::<Self>(value, report);
                None
            }
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let (time, table) = (Duration::schema(definitions), JitterTable::schema(definitions));
        json!({ "anyOf": [time, table] })
    }
}
