//! FQ-CoDel.

use super::codel::CODEL_KEYS;
use super::weights::WEIGHT_KEYS;
use crate::describe::key;
use crate::{Bound, DisciplineDescription, Key, Keys, Kind, Range, Values};
use thalweg_queue::{CoDelConfig, FqCoDelConfig, Weights};

/// FQ-CoDel (RFC 8290).
pub const DISCIPLINE: DisciplineDescription = DisciplineDescription::new::<FqCoDelConfig>("FQ-CoDel (RFC 8290): flows are hashed to queues that send equal bytes in turn, new ones first, each kept short by \
     CoDel.",
    Keys { own: KEYS, shared: &[CODEL_KEYS, WEIGHT_KEYS], defaults: &[], presets: &[] },
)
.with_capacity_help("How much it holds, without the packet in service; the RFC has 10240 packets.");

const KEYS: &[Key] = &[
    key("flows", Kind::Count, "1024", "How many queues flows are hashed to.")
        .within(Range::between(1.0, 65_536.0), ""),
    key("quantum", Kind::Size, "1514 B", "Bytes that a queue may send per round.")
        .within(Range::POSITIVE, ""),
    key(
        "drop-batch",
        Kind::Count,
        "64",
        "At a full buffer the largest queue loses half of its bytes, but at most this many packets.",
    )
    .within(Range::POSITIVE, ""),
];

impl Bound for FqCoDelConfig {
    fn of(values: &Values) -> Self {
        Self {
            codel: CoDelConfig::of(values),
            flows: values.need("flows"),
            quantum: values.need("quantum"),
            drop_batch: values.need("drop-batch"),
            weights: Weights::of(values),
        }
    }

    fn write(&self, values: &mut Values) {
        self.codel.write(values);
        values.give("flows", &self.flows);
        values.give("quantum", &self.quantum);
        values.give("drop-batch", &self.drop_batch);
        self.weights.write(values);
    }
}
