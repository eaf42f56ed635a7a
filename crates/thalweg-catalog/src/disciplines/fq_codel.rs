//! Catalogue description of the queue discipline FQ-CoDel.

use super::codel::CODEL_KEYS;
use super::flow_weights::WEIGHT_KEYS;
use crate::option_keys::key;
use crate::{DisciplineDescription, Key, KeyBoundConfig, Keys, Kind, Range, Values};
use thalweg_queue::{CoDelConfig, FqCoDelConfig, Weights};

/// FQ-CoDel (RFC 8290).
pub const DISCIPLINE: DisciplineDescription = DisciplineDescription::new::<FqCoDelConfig>("FQ-CoDel (RFC 8290): flows are hashed to queues that send equal bytes in turn, new ones first, each kept short by \
     CoDel.",
    Keys { shared: &[CODEL_KEYS, WEIGHT_KEYS], ..Keys::own(KEYS) },
)
.with_capacity_help("Capacity of the queue, without the packet in service; the RFC has 10240 packets.");

const KEYS: &[Key] = &[
    key("flows", Kind::Count, "1024", "Number of queues to which flows are hashed.")
        .within(Range::between(1.0, 65_536.0), ""),
    key("quantum", Kind::Size, "1514 B", "Bytes that a queue may send per round.")
        .within(Range::POSITIVE, ""),
    key(
        "drop-batch",
        Kind::Count,
        "64",
        "Maximum number of packets that the largest queue loses at a full buffer; it loses up to half of its bytes.",
    )
    .within(Range::POSITIVE, ""),
];

impl KeyBoundConfig for FqCoDelConfig {
    fn from_values(values: &Values) -> Self {
        Self {
            codel: CoDelConfig::from_values(values),
            flows: values.required("flows"),
            quantum: values.required("quantum"),
            drop_batch: values.required("drop-batch"),
            weights: Weights::from_values(values),
        }
    }

    fn write_to(&self, values: &mut Values) {
        self.codel.write_to(values);
        values.set_from("flows", &self.flows);
        values.set_from("quantum", &self.quantum);
        values.set_from("drop-batch", &self.drop_batch);
        self.weights.write_to(values);
    }
}
