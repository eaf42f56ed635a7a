//! Keys of what a line does beside its rate, delay, queue and losses: shapers, radios that sleep, batches, rhythms.

use super::super::bound::FieldOf;
use super::super::diagnostic::Report;
use super::super::quantity::Share;
use super::super::schema::Definitions;
use super::super::table::{Decode, Fields, table, wrong_type};
use super::super::tree::{Kind, Value};
use super::super::writer::{Entries, text};
use serde_json::json;
use thalweg_proto::units::{Bytes, Duration, Rate};
use thalweg_queue::{AggregationSpec, EcnTreatment, PeriodicVariationSpec, SleepSpec, TokenBucketSpec};

table! {
    /// A token bucket before the transmitter: packets that find no tokens wait in the queue. The queue "policer" drops them.
    ShaperTable "shaper" for TokenBucketSpec {
        /// The rate at which tokens come.
        rate: Rate = "rate" (required) => rate;
        /// The size of the bucket, which is full at first: what leaves at the line's own rate after a pause.
        burst: Bytes = "burst" or r#""100 kB""# => burst;
    }
}

table! {
    /// A state that a transmitter falls into when it has nothing to send, as radios do to save power.
    SleepTable "sleep" for SleepSpec {
        /// How long nothing was sent before.
        after: Duration = "after" (required) => after;
        /// How long it takes to wake up for the next packet.
        wake: Duration = "wake" (required) => wake;
    }
}

table! {
    /// Packets arrive in batches, as Wi-Fi and cable carry them: those of one interval together at its end.
    AggregationTable "aggregation" for AggregationSpec {
        /// The time from one batch to the next.
        every: Duration = "every" (required) => every;
        /// The most packets of a batch; those beyond it are in the next. Without, any number.
        packets: u64 = "packets" => packets;
    }
}

table! {
    /// Changes of the line at every multiple of a time, as over satellites in low orbits: a new rate and a new delay, by chance.
    RhythmTable "rhythm" for PeriodicVariationSpec {
        /// The time from one change to the next, 100 ms or more.
        every: Duration = "every" (required) => every;
        /// Rates are uniform within this share of the line's, above and below.
        rate_spread: Share = "rate-spread" or "0.0" => rate_spread;
        /// Delays are the line's and a time up to this, uniform.
        delay_spread: Duration = "delay-spread" or r#""0 s""# => delay_spread;
        /// The transmitter stops for this long at each change.
        outage: Duration = "outage" or r#""0 s""# => outage;
    }
}

/// The treatment of ECN codepoints by a line, by its word.
#[derive(Clone, Copy, Debug)]
pub struct EcnName(pub EcnTreatment);

impl FieldOf<EcnName> for EcnTreatment {
    fn of(given: Option<&EcnName>) -> Option<Self> {
        given.map(|name| name.0)
    }
    fn toml(&self) -> Option<String> {
        Some(text(self.name()))
    }
}

impl Decode for EcnName {
    fn expected() -> String {
        EcnTreatment::ALL.map(|treatment| text(treatment.name())).join(" or ")
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        let Kind::String(given) = &value.kind else {
            wrong_type::<Self>(value, report);
            return None;
        };
        let found = EcnTreatment::ALL.into_iter().find(|treatment| treatment.name() == given);
        if found.is_none() {
            let message = format!("expected {}, found \"{given}\"", Self::expected());
            let names = EcnTreatment::ALL.map(EcnTreatment::name);
            report.error("scenario.unknown-name", value.span, message).names(given, names);
        }
        found.map(Self)
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        json!({ "enum": EcnTreatment::ALL.map(EcnTreatment::name) })
    }
}

/// A table, or "none".
#[derive(Clone, Debug)]
pub struct OrNone<T>(pub Option<T>);

impl<T: Decode> Decode for OrNone<T> {
    fn expected() -> String {
        format!("{}, or \"none\"", T::expected())
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            Kind::String(text) if text == "none" => Some(Self(None)),
            Kind::Table(_) => T::decode(value, report).map(|table| Self(Some(table))),
            _ => {
                wrong_type::<Self>(value, report);
                None
            }
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let table = T::schema(definitions);
        json!({ "anyOf": [table, { "const": "none" }] })
    }
}

/// Binds a table to a structure of which a key fills all fields; what is not said there begins with a value of the type.
macro_rules! whole {
    ($($Table:ident for $Spec:ident from $beginning:expr;)+) => {$(
        impl FieldOf<$Table> for $Spec {
            fn of(given: Option<&$Table>) -> Option<Self> {
                let mut table = given?.clone();
                table.inherit($Table::defaults());
                let mut spec = $beginning;
                table.fill(&mut spec);
                Some(spec)
            }
            fn toml(&self) -> Option<String> {
                let mut entries = Entries::default();
                $Table::write(self, &mut entries);
                Some(entries.inline())
            }
        }

        impl FieldOf<OrNone<$Table>> for Option<$Spec> {
            fn of(given: Option<&OrNone<$Table>>) -> Option<Self> {
                given.map(|table| $Spec::of(table.0.as_ref()))
            }
            fn toml(&self) -> Option<String> {
                self.as_ref().map_or_else(|| Some(text("none")), |spec| FieldOf::<$Table>::toml(spec))
            }
        }
    )+};
}

whole! {
    ShaperTable for TokenBucketSpec from TokenBucketSpec { rate: Rate::MAX, burst: Bytes::ZERO };
    SleepTable for SleepSpec from SleepSpec { after: Duration::ZERO, wake: Duration::ZERO };
    AggregationTable for AggregationSpec from AggregationSpec { every: Duration::ZERO, packets: None };
    RhythmTable for PeriodicVariationSpec from PeriodicVariationSpec {
        every: Duration::ZERO,
        rate_spread: 0.0,
        delay_spread: Duration::ZERO,
        outage: Duration::ZERO,
    };
}
