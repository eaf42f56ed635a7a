//! Results of one run in the document.

use super::controller_states::StateVisit;
use super::metric_definition::FlowInNetwork;
use super::metric_list::Metric;
use super::metric_values::{OfFlow, OfGroup, OfLink, OfNetwork, OfSize, Values};
use serde::{Deserialize, Serialize};
use thalweg_proto::units::{Bytes, Duration, Rate};
use thalweg_sim as sim;

/// Measurements of one run. Counts exclude the warm-up unless a name or description states otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Seed.
    pub seed: u64,
    /// False if the run was interrupted.
    pub complete: bool,
    /// Simulated time at the end of the run, in seconds.
    pub ended_s: f64,
    /// Hash over all deliveries and drops: 16 hexadecimal digits, equal for equal runs.
    pub fingerprint: String,
    /// Events handled, over the whole run.
    pub events: u64,
    /// Packets that left a transmitter, over the whole run.
    pub hops: u64,
    /// Packet accounting over the whole run.
    pub conservation: Conservation,
    /// Metrics of the whole network.
    pub totals: Values<OfNetwork>,
    /// Transfers by size class; empty classes are omitted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<SizeClass>,
    /// Distributions of times.
    #[serde(default, skip_serializing_if = "Curves::is_empty")]
    pub distributions: Curves,
    /// Groups of flows.
    pub groups: Vec<Group>,
    /// Directions of links, and access links with queueing or loss.
    pub links: Vec<Link>,
    /// Flows.
    pub flows: Vec<Flow>,
}

/// Packet conservation over the whole run: sent + duplicated = delivered + dropped + lost + in_network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conservation {
    /// True if the equation holds.
    pub holds: bool,
    /// Packets sent by endpoints and routers.
    pub sent: u64,
    /// Packets duplicated by links.
    pub duplicated: u64,
    /// Packets received by their endpoint.
    pub delivered: u64,
    /// Packets dropped by queues.
    pub dropped: u64,
    /// Packets lost or corrupted on links.
    pub lost: u64,
    /// Packets still in flight at the end.
    pub in_network: u64,
}

/// Aggregate results of a group of flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Name.
    pub name: String,
    /// Name of the scheme.
    pub scheme: String,
    /// Number of flows.
    pub flows: u32,
    /// Metrics.
    #[serde(flatten)]
    pub values: Values<OfGroup>,
    /// Transfers by size class; empty classes are omitted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<SizeClass>,
    /// First 10 000 rounds of the group's synchronised flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub round_list: Vec<Round>,
    /// Distributions of times.
    #[serde(default, skip_serializing_if = "Curves::is_empty")]
    pub distributions: Curves,
}

/// Round of synchronised flows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Start of the first block.
    pub start_s: f64,
    /// Arrival of the last block.
    pub end_s: f64,
}

/// Distributions of times: quantiles at the shares [`SHARES`](sim::SHARES): 0, 0.025, 0.05 to 0.975, then 0.99, 0.999
/// and 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curves {
    /// Completion times of transfers that ended after the warm-up, in seconds; omitted if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completion_s: Vec<f64>,
    /// Round-trip times measured by senders after the warm-up, in seconds; omitted if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rtt_s: Vec<f64>,
}

impl Curves {
    fn new(curves: &sim::Curves) -> Self {
        let seconds = |of: &[Duration]| of.iter().map(|time| time.as_secs_f64()).collect();
        Self { completion_s: seconds(&curves.completion), rtt_s: seconds(&curves.round_trip) }
    }

    /// Returns true if there are no distributions.
    pub const fn is_empty(&self) -> bool {
        self.completion_s.is_empty() && self.rtt_s.is_empty()
    }
}

/// Completed transfers of one size class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeClass {
    /// Lower bound of the size, inclusive, in bytes.
    pub from_bytes: u64,
    /// Upper bound of the size, exclusive, in bytes; missing for the last class.
    pub below_bytes: Option<u64>,
    /// Metrics.
    #[serde(flatten)]
    pub values: Values<OfSize>,
}

impl SizeClass {
    fn new(class: &sim::SizeClass) -> Self {
        Self {
            from_bytes: class.from.get(),
            below_bytes: class.below.map(Bytes::get),
            values: Values::from_fn(|metric| {
                metric.line().transfers.and_then(|value| value(&class.transfers))
            }),
        }
    }
}

/// Results of one direction of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Name of the link.
    pub name: String,
    /// Transmitting end.
    pub from: String,
    /// Receiving end.
    pub to: String,
    /// True if it dropped, lost or corrupted packets, or was the busiest link on a group's path and busy for more than
    /// half of the time.
    pub bottleneck: bool,
    /// Metrics.
    #[serde(flatten)]
    pub values: Values<OfLink>,
}

/// Results of one flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Name.
    pub name: String,
    /// Name of the group.
    pub group: String,
    /// Metrics.
    #[serde(flatten)]
    pub values: Values<OfFlow>,
    /// True if the flow was backlogged: it is not in a group of finite transfers, and neither its source nor a slow
    /// reader limited it for more than a tenth of the time. The goodput of other flows is set by their offered load.
    pub wanted_more: bool,
    /// Excess of `delivered_bytes` over the bytes that arrived in that time: data that arrived during the warm-up and
    /// waited for loss repair. Omitted if zero.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pre_warmup_bytes: u64,
    /// States of the congestion controller in time order; omitted where it reports none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<StateVisit>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

macro_rules! with_values {
    ($($subject:ty),+) => {$(
        impl $subject {
            /// Returns the value of a metric, if it exists.
            pub fn get(&self, metric: Metric) -> Option<f64> {
                self.values.get(metric)
            }

            /// Returns the value of a metric, or zero.
            pub fn or_zero(&self, metric: Metric) -> f64 {
                self.values.or_zero(metric)
            }
        }
    )+};
}

with_values!(Group, Link, Flow);

impl Run {
    /// Returns true for a run with live packets.
    pub fn is_live(&self) -> bool {
        self.groups.iter().any(|group| group.scheme == sim::live_network::SCHEME)
    }

    /// Converts the simulator's measurements. Series are left out: they have files of their own.
    pub fn from_result(result: &sim::RunResult) -> Self {
        let sum = result.flows.iter().map(|flow| flow.goodput.as_bits_per_sec()).sum();
        let network_goodput = Rate::from_bits_per_sec(sum);
        let flows: Vec<Flow> =
            result.flows.iter().map(|flow| Flow::new(flow, result, network_goodput)).collect();
        let mut flow_values: Vec<Vec<&Values<OfFlow>>> = vec![Vec::new(); result.groups.len()];
        for (flow, measured) in flows.iter().zip(&result.flows) {
            if let Some(flow_values) = flow_values.get_mut(measured.group as usize) {
                flow_values.push(&flow.values);
            }
        }
        let groups: Vec<Group> = result
            .groups
            .iter()
            .zip(&flow_values)
            .map(|(group, flow_values)| Group::new(group, flow_values))
            .collect();
        let of_groups: Vec<&Values<OfGroup>> = groups.iter().map(|group| &group.values).collect();
        let totals = Values::aggregate(&of_groups, result, &result.transfers, |line| line.network);
        Self {
            seed: result.seed,
            complete: result.is_complete,
            ended_s: result.end_time.as_secs_f64(),
            fingerprint: format!("{:016x}", result.fingerprint),
            events: result.events,
            hops: result.hops,
            conservation: Conservation::new(result.conservation),
            totals,
            sizes: result.sizes.iter().map(SizeClass::new).collect(),
            distributions: Curves::new(&result.curves),
            groups,
            links: result.links.iter().map(Link::new).collect(),
            flows,
        }
    }
}

impl Conservation {
    fn new(counts: sim::Conservation) -> Self {
        let sim::Conservation { sent, duplicated, delivered, dropped, lost, in_network } = counts;
        Self { holds: counts.holds(), sent, duplicated, delivered, dropped, lost, in_network }
    }
}

impl Group {
    fn new(group: &sim::GroupResult, flow_values: &[&Values<OfFlow>]) -> Self {
        Self {
            name: group.name.clone(),
            scheme: group.scheme.clone(),
            flows: group.flows,
            values: Values::aggregate(flow_values, group, &group.transfers, |line| line.group),
            sizes: group.sizes.iter().map(SizeClass::new).collect(),
            round_list: group
                .round_list
                .iter()
                .map(|of| Round { start_s: of.start.as_secs_f64(), end_s: of.end.as_secs_f64() })
                .collect(),
            distributions: Curves::new(&group.curves),
        }
    }
}

impl Link {
    fn new(link: &sim::LinkResult) -> Self {
        Self {
            name: link.name.clone(),
            from: link.from.clone(),
            to: link.to.clone(),
            bottleneck: link.bottleneck,
            values: Values::from_fn(|metric| metric.line().link.and_then(|value| value(link))),
        }
    }
}

impl Flow {
    fn new(flow: &sim::FlowResult, run: &sim::RunResult, network_goodput: Rate) -> Self {
        let view = FlowInNetwork { flow, network_goodput };
        let group = run.groups.get(flow.group as usize);
        Self {
            name: flow.name.clone(),
            group: group.map(|group| group.name.clone()).unwrap_or_default(),
            values: Values::from_fn(|metric| metric.line().flow.and_then(|value| value(&view))),
            wanted_more: group.is_some_and(|group| group.wanted_more(flow)),
            pre_warmup_bytes: flow.arrived_before.get(),
            states: flow.states.iter().map(StateVisit::new).collect(),
        }
    }

    /// Returns the limiting factors of the sender, with the share of time of each; `None` where unknown.
    pub fn limits(&self) -> Option<Vec<(Metric, f64)>> {
        // Documents of earlier versions lack some.
        let shares: Vec<_> = Metric::limits().map(|limit| (limit, self.or_zero(limit))).collect();
        shares.iter().any(|(_, share)| *share > 0.0).then_some(shares)
    }

    /// Returns the factor that limited the sender longest, with its share.
    pub fn top_limit(&self) -> Option<(Metric, f64)> {
        self.limits()?.into_iter().reduce(|top, next| if next.1 > top.1 { next } else { top })
    }
}

impl Metric {
    /// Returns the metrics of limiting factors: shares of time that add up to 1.
    pub fn limits() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|metric| metric.line().parent_object == Some("limits"))
    }

    /// Returns the words for a limiting factor of a sender.
    pub fn limit_words(self) -> String {
        self.line().name.replace('_', " ")
    }
}
