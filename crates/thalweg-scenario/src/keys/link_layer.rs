//! Keys of a link's shaper, sleep states, frame aggregation, periodic variation and ECN treatment.

use super::super::diagnostic::Report;
use super::super::key_bindings::FieldOf;
use super::super::parsed_tree::{Value, ValueKind};
use super::super::schema_definitions::Definitions;
use super::super::table_declarations::{Decode, Fields, table, wrong_type};
use super::super::toml_writer::{Entries, toml_string};
use super::super::value_types::Share;
use serde_json::json;
use thalweg_proto::units::{Bytes, Duration, Rate};
use thalweg_queue::{AggregationSpec, EcnTreatment, PeriodicVariationSpec, SleepSpec, TokenBucketSpec};

table! {
    /// A token bucket before the transmitter: packets without tokens wait in the queue. The queue "policer" drops them
    /// instead.
    ShaperTable "shaper" for TokenBucketSpec {
        /// The token rate.
        rate: Rate = "rate" (required) => rate;
        /// The bucket size, initially full: the amount that leaves at the link's own rate after an idle period. A
        /// larger packet leaves when the bucket is full, and the next one waits for the tokens that it took.
        burst: Bytes = "burst" or r#""100 kB""# => burst;
    }
}

table! {
    /// A sleep state that an idle transmitter enters, as radios do to save power.
    SleepTable "sleep" for SleepSpec {
        /// The idle time after which the state is entered.
        after: Duration = "after" (required) => idle_time;
        /// The wake-up time for the next packet.
        wake: Duration = "wake" (required) => wake;
    }
}

table! {
    /// Frame aggregation, as in Wi-Fi and cable: the packets of one interval arrive together at its end.
    AggregationTable "aggregation" for AggregationSpec {
        /// The interval between batches.
        every: Duration = "every" (required) => every;
        /// The maximum number of packets in a batch. While a batch is full, further packets wait in the link's queue, which
        /// drops or marks them as usual. `packets` per `every` thus limits the rate. By default unlimited.
        packets: u64 = "packets" => packets;
    }
}

table! {
    /// Periodic variation of a link, as over satellites in low orbits: at every multiple of a period, a new random rate
    /// and delay.
    PeriodicVariationTable "periodic variation" for PeriodicVariationSpec {
        /// The period, 100 ms or more.
        every: Duration = "every" (required) => every;
        /// The relative deviation of the rate: uniform within this share above and below the link's rate.
        rate_spread: Share = "rate-spread" or "0.0" => rate_spread;
        /// The maximum additional delay, uniform from zero.
        delay_spread: Duration = "delay-spread" or r#""0 s""# => delay_spread;
        /// The outage of the transmitter at each change.
        outage: Duration = "outage" or r#""0 s""# => outage;
    }
}

/// A link's treatment of ECN codepoints, by name.
#[derive(Clone, Copy, Debug)]
pub struct EcnName(pub EcnTreatment);

impl FieldOf<EcnName> for EcnTreatment {
    fn from_key(given: Option<&EcnName>) -> Option<Self> {
        given.map(|name| name.0)
    }
    fn toml(&self) -> Option<String> {
        Some(toml_string(self.name()))
    }
}

impl Decode for EcnName {
    fn expected() -> String {
        EcnTreatment::ALL.map(|treatment| toml_string(treatment.name())).join(" or ")
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        let ValueKind::String(given) = &value.kind else {
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
            ValueKind::String(text) if text == "none" => Some(Self(None)),
            ValueKind::Table(_) => T::decode(value, report).map(|table| Self(Some(table))),
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

/// Binds a table to a structure whose fields are all set by keys; unset keys start from a value of the type.
macro_rules! bind_all_fields {
    ($($Table:ident for $Spec:ident from $beginning:expr;)+) => {$(
        impl FieldOf<$Table> for $Spec {
            fn from_key(given: Option<&$Table>) -> Option<Self> {
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
            fn from_key(given: Option<&OrNone<$Table>>) -> Option<Self> {
                given.map(|table| $Spec::from_key(table.0.as_ref()))
            }
            fn toml(&self) -> Option<String> {
                self.as_ref().map_or_else(|| Some(toml_string("none")), |spec| FieldOf::<$Table>::toml(spec))
            }
        }
    )+};
}

bind_all_fields! {
    ShaperTable for TokenBucketSpec from TokenBucketSpec { rate: Rate::MAX, burst: Bytes::ZERO };
    SleepTable for SleepSpec from SleepSpec { idle_time: Duration::ZERO, wake: Duration::ZERO };
    AggregationTable for AggregationSpec from AggregationSpec { every: Duration::ZERO, packets: None };
    PeriodicVariationTable for PeriodicVariationSpec from PeriodicVariationSpec {
        every: Duration::ZERO,
        rate_spread: 0.0,
        delay_spread: Duration::ZERO,
        outage: Duration::ZERO,
    };
}
