//! Catalogue description of the queue discipline Virtual Clock.

use super::flow_weights::WEIGHT_KEYS;
use crate::option_keys::key;
use crate::{DisciplineDescription, Key, KeyBoundConfig, Keys, Kind, Range, Values};
use thalweg_queue::{VirtualClockConfig, Weights};

/// Virtual Clock (Zhang 1990).
pub const DISCIPLINE: DisciplineDescription = DisciplineDescription::new::<VirtualClockConfig>(
    "Virtual Clock (Zhang 1990): packets leave in the order in which each flow's reserved rate would send them. A flow \
     within its rate does not wait for those that exceed theirs. Clocks also advance at dropped packets: a flow that keeps \
     on exceeding its rate gets nothing while flows within theirs use the link.",
    Keys { shared: &[WEIGHT_KEYS], ..Keys::own(KEYS) },
);

const KEYS: &[Key] = &[key(
    "rate",
    Kind::Rate,
    "",
    "Reserved rate of a flow of weight 1; default: a tenth of the link's rate (1 Mbit/s if that is unknown). \
     The sum of the reserved rates should not exceed the link's rate; otherwise the order is nearly first come, first served.",
)
.within(Range::POSITIVE, "")];

impl KeyBoundConfig for VirtualClockConfig {
    fn from_values(values: &Values) -> Self {
        Self { flow_rate: values.optional("rate"), weights: Weights::from_values(values) }
    }

    fn write_to(&self, values: &mut Values) {
        values.set_from("rate", &self.flow_rate);
        self.weights.write_to(values);
    }
}
