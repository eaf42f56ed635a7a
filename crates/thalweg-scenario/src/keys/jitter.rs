//! Keys of random delays: distributions of times, for each packet or each flow.

use super::super::diagnostic::Report;
use super::super::quantity::Number;
use super::super::schema::Definitions;
use super::super::table::{At, Decode, choice, table, wrong_type};
use super::super::tree::{Kind, Value};
use super::scheme::words;
use serde_json::json;
use thalweg_proto::units::Duration;
use thalweg_sim::delay::Each;

words! {
    /// The packets that share a draw, by their word.
    EachName: Each {
        "packet" => Each::Packet,
        "flow" => Each::Flow,
    }
}

table! {
    /// The keys that all distributions of delays have.
    Drawn "drawn" {
        /// Whether it is drawn for each "packet", or once for each "flow" that crosses the line, both ways alike: with an `access`
        /// that gives the flows of a group different round trips.
        each: EachName = "each" or r#""packet""#;
        /// Packets keep their order: one that would pass the one before arrives together with it. Where each flow has a delay of
        /// its own, they do so within the flow whatever this says.
        in_order: bool = "in-order" or "true";
    }
}

table! {
    /// Every time between two is as likely.
    UniformJitter "uniform jitter" {
        /// The shortest time.
        min: Duration = "min" or r#""0 s""#;
        /// The longest time.
        max: Duration = "max" (required);
        ..drawn: Drawn;
    }
}

table! {
    /// Exponentially distributed times.
    ExponentialJitter "exponential jitter" {
        /// The mean.
        mean: Duration = "mean" (required);
        /// Longer draws are cut to this.
        max: Duration = "max";
        ..drawn: Drawn;
    }
}

table! {
    /// Normally distributed times; those below zero are cut to that.
    NormalJitter "normal jitter" {
        /// The mean.
        mean: Duration = "mean" (required);
        /// The standard deviation.
        deviation: Duration = "deviation" (required);
        /// Longer draws are cut to this.
        max: Duration = "max";
        ..drawn: Drawn;
    }
}

table! {
    /// Times whose logarithm is normally distributed.
    LogNormalJitter "log-normal jitter" {
        /// The median.
        median: Duration = "median" (required);
        /// The standard deviation of the natural logarithm.
        sigma: Number = "sigma" (required);
        /// Longer draws are cut to this.
        max: Duration = "max";
        ..drawn: Drawn;
    }
}

table! {
    /// Heavy-tailed times.
    ParetoJitter "pareto jitter" {
        /// The shortest time.
        min: Duration = "min" (required);
        /// The shape: below 2 the variance is infinite but for the cut, below 1 the mean.
        shape: Number = "shape" (required);
        /// Longer draws are cut to this.
        max: Duration = "max";
        ..drawn: Drawn;
    }
}

table! {
    /// Times as they were measured: any place between the smallest and the largest is as likely, with straight lines
    /// between neighbours. Give `times` or `file`.
    MeasuredJitter "measured jitter" {
        /// The times, in any order.
        times: Vec<At<Duration>> = "times";
        /// A text file of them beside the scenario file, one a line, such as `0.5 ms`.
        file: String = "file";
        ..drawn: Drawn;
    }
}

choice! {
    /// A distribution of random delays.
    JitterTable "jitter" by "distribution" {
        "uniform" => Uniform(UniformJitter),
        "exponential" => Exponential(ExponentialJitter),
        "normal" => Normal(NormalJitter),
        "log-normal" => LogNormal(LogNormalJitter),
        "pareto" => Pareto(ParetoJitter),
        "measured" => Measured(MeasuredJitter),
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
