//! Keys of random delays: distributions of times, for each packet or each flow.

use super::super::diagnostic::Report;
use super::super::quantity::{Number, Probability};
use super::super::schema::Definitions;
use super::super::table::{At, Decode, choice, table, wrong_type};
use super::super::tree::{Kind, Value};
use super::scheme::words;
use serde_json::json;
use thalweg_proto::units::Duration;
use thalweg_queue::delay::{Each, TimeSpec, VariationSpec};

words! {
    /// The packets that share a draw, by their word.
    EachName: Each {
        "packet" => Each::Packet,
        "flow" => Each::Flow,
    }
}

table! {
    /// The keys that all distributions of delays have.
    Drawn "drawn" for VariationSpec {
        /// Whether it is drawn for each "packet", or once for each "flow" that crosses the line, both ways alike: with an `access`
        /// that gives the flows of a group different round trips.
        each: EachName = "each" or r#""packet""# => each;
        /// Packets keep their order: one that would pass the one before arrives together with it. Where each flow has a delay of
        /// its own, they do so within the flow whatever this says.
        in_order: bool = "in-order" or "true" => keeps_order;
        /// The times are like those before them, as netem (Linux) computes it: a packet's number is that of the one before by this share and
        /// for the rest drawn, and its time is the one that this share of all draws does not exceed. As there, times are then nearer to the
        /// middle. Not for "wifi", and not with `each = "flow"`.
        correlation: Probability = "correlation" or "0.0" => correlation;
    }
}

table! {
    /// Every time between two is as likely.
    UniformJitter "uniform jitter" for TimeSpec::Uniform {
        /// The shortest time.
        min: Duration = "min" or r#""0 s""# => min;
        /// The longest time.
        max: Duration = "max" (required) => max;
        ..drawn: Drawn;
    }
}

table! {
    /// Exponentially distributed times.
    ExponentialJitter "exponential jitter" for TimeSpec::Exponential {
        /// The mean.
        mean: Duration = "mean" (required) => mean;
        /// Longer draws are cut to this.
        max: Duration = "max" => max;
        ..drawn: Drawn;
    }
}

table! {
    /// Normally distributed times; those below zero are cut to that.
    NormalJitter "normal jitter" for TimeSpec::Normal {
        /// The mean.
        mean: Duration = "mean" (required) => mean;
        /// The standard deviation.
        deviation: Duration = "deviation" (required) => deviation;
        /// Longer draws are cut to this.
        max: Duration = "max" => max;
        ..drawn: Drawn;
    }
}

table! {
    /// Times whose logarithm is normally distributed.
    LogNormalJitter "log-normal jitter" for TimeSpec::LogNormal {
        /// The median.
        median: Duration = "median" (required) => median;
        /// The standard deviation of the natural logarithm.
        sigma: Number = "sigma" (required) => sigma;
        /// Longer draws are cut to this.
        max: Duration = "max" => max;
        ..drawn: Drawn;
    }
}

table! {
    /// Heavy-tailed times.
    ParetoJitter "pareto jitter" for TimeSpec::Pareto {
        /// The shortest time.
        min: Duration = "min" (required) => min;
        /// The shape: below 2 the variance is infinite but for the cut, below 1 the mean.
        shape: Number = "shape" (required) => shape;
        /// Longer draws are cut to this.
        max: Duration = "max" => max;
        ..drawn: Drawn;
    }
}

table! {
    /// Times as they were measured: any place between the smallest and the largest is as likely, with straight lines
    /// between neighbours. Give `times` or `file`.
    MeasuredJitter "measured jitter" for TimeSpec::Quantiles(times) {
        /// The times, in any order.
        times: Vec<At<Duration>> = "times" => times;
        /// A text file of them beside the scenario file, one a line, such as `0.5 ms`.
        file: String = "file";
        ..drawn: Drawn;
    }
}

table! {
    /// Wi-Fi that shares its channel with other networks: deferrals of a millisecond, and for some packets retransmissions of 7.5 ms
    /// each, 12 on average (draft-huitema-ccwg-c4-test).
    WifiJitter "wifi jitter" for TimeSpec::Wifi {
        /// The draft's average jitter: of 1 ms or less no packet is sent again, of 7 ms, which it calls bad Wi-Fi, one of fifteen.
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
    /// The keys that all distributions have.
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

/// The random part of a line's delay: a time, or a distribution.
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
            Kind::Table(_) => JitterTable::decode(value, report).map(Self::Table),
            Kind::String(_) | Kind::Integer(_) | Kind::Float(_) => {
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
