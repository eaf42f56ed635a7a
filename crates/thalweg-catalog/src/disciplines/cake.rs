//! Catalogue description of the queue discipline CAKE.

use crate::option_keys::key;
use crate::{DisciplineDescription, Key, Keys, Kind, Range, bind, words};
use thalweg_queue::{CakeConfig, Isolation};

/// CAKE (Høiland-Jørgensen, Täht and Morton 2018).
pub const DISCIPLINE: DisciplineDescription = DisciplineDescription::new::<CakeConfig>(
    "CAKE (Høiland-Jørgensen, Täht and Morton 2018) with one tin: hosts have equal shares, and flows equal parts of them; each \
     queue is kept short by COBALT, of CoDel and BLUE. Its shaper is the link's rate or `shaper`. Hosts are nodes; with \
     `access` each end of a flow is a host.",
    Keys::own(KEYS),
)
.with_capacity_help("Capacity of the queue, without the packet in service; in Linux the data of four round-trip times, at least 4 MiB.");

const KEYS: &[Key] = &[
    key(
        "isolation",
        ISOLATION,
        "triple-isolate",
        "Unit of fairness: \"flows\"; \"srchost\" or \"dsthost\", sources or destinations, with one queue each; \"hosts\", pairs \
         of source and destination; \"dual-srchost\" or \"dual-dsthost\", sources or destinations and then their flows; \
         or \"triple-isolate\", the busier of source and destination and then flows.",
    ),
    key(
        "rtt",
        Kind::Time,
        "100 ms",
        "COBALT's interval, a typical round-trip time; its target is a twentieth of it, but at least the time of 1.5 full packets.",
    )
    .within(Range::POSITIVE, ""),
    key(
        "flows",
        Kind::Count,
        "1024",
        "Number of queues to which flows are hashed: a multiple of eight, the size of a set.",
    )
    .within(Range::between(8.0, 65_536.0), ""),
    key(
        "ecn",
        Kind::Switch,
        "true",
        "Marks ECN-capable packets instead of dropping them, unless the buffer is full or BLUE drops.",
    ),
];

words!(ISOLATION: Isolation {
    "flows" => Isolation::Flows,
    "srchost" => Isolation::Sources,
    "dsthost" => Isolation::Destinations,
    "hosts" => Isolation::HostPairs,
    "dual-srchost" => Isolation::DualSource,
    "dual-dsthost" => Isolation::DualDestination,
    "triple-isolate" => Isolation::Triple,
});

bind!(CakeConfig { isolation: "isolation", rtt: "rtt", flows: "flows", ecn: "ecn" });
