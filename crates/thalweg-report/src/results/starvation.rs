//! Starvation: backlogged flows that carry a small part of their max-min share, although nothing but other flows limits
//! them.

use super::max_min_fair_shares::{Class, MaxMin, RELATIVE_TOLERANCE, is_steady, line_of};
use super::metric_list::Metric;
use super::run_results::{Flow, Run};
use serde::{Deserialize, Serialize};
use thalweg_catalog::built_in_traits;
use thalweg_queue::LossSpec;
use thalweg_sim::simulation_spec::{DirectionSpec, GroupSpec, Spec, TransportSpec, WorkloadSpec};

/// Flows of a group that carried less than a twentieth of their max-min share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StarvedFlows {
    /// Scheme, where several are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<String>,
    /// Group of these flows.
    pub group: String,
    /// Number of starved flows in all complete runs.
    pub flows: u32,
    /// Number of flows of the group in these runs.
    pub of: u32,
    /// Goodput of the flow with the smallest part of its max-min share, in bit/s.
    pub goodput_bps: f64,
    /// Max-min share of that flow, in bit/s.
    pub share_bps: f64,
    /// Its timeouts.
    pub timeouts: f64,
    /// The share of its packets that was lost.
    pub loss: f64,
}

/// Max-min shares of the backlogged flows of a scenario.
#[derive(Clone, Debug, Default)]
pub struct FairShares {
    groups: Vec<Shares>,
}

/// Shares of the flows of a group.
#[derive(Clone, Debug)]
struct Shares {
    group: String,
    scheme: String,
    /// Largest window of a flow that adapts it, in bytes; `None` if it does not adapt one.
    window: Option<f64>,
    /// Flows of each pair of nodes.
    pairs: Vec<Pair>,
}

/// Flows of a pair of nodes.
#[derive(Clone, Debug)]
struct Pair {
    /// Max-min share of a flow, in bit/s.
    share: f64,
    /// The window limits the share: a longer round-trip time reduces it further.
    has_window_limit: bool,
    /// Directions of links on the path, as indices of those of a run.
    path: Vec<usize>,
}

impl FairShares {
    /// Returns the shares of a scenario whose flows have known demands and send all the time. Groups are left out if their
    /// paths lose packets at random, change their rate, or serve other flows first: they may carry little by intention.
    pub fn from_spec(spec: &Spec) -> Self {
        let is_known = |workload: &WorkloadSpec| {
            matches!(workload, WorkloadSpec::Bulk | WorkloadSpec::ConstantRate { .. })
        };
        if !spec.groups.iter().all(|group| is_known(&group.workload)) {
            return Self::default();
        }
        let Some(MaxMin { classes, fair_rates_bps, .. }) = MaxMin::from_spec(spec, &[spec]) else {
            return Self::default();
        };
        let of_group = |group: &GroupSpec| {
            let own =
                || classes.iter().zip(&fair_rates_bps).filter(|(class, _)| core::ptr::eq(class.group, group));
            let access =
                group.access.iter().flat_map(|access| [&access.source_forward, &access.sink_forward]);
            let lines = own().flat_map(|(class, _)| &class.wire_load).map(|(hop, _)| line_of(spec, *hop));
            let is_backlogged = own().all(|(class, _)| class.wants_more) && is_steady(spec, group);
            (is_backlogged && lines.chain(access).all(is_plain)).then(|| Shares {
                group: group.name.clone(),
                scheme: group.transport.scheme.clone(),
                window: largest_window(&group.transport),
                pairs: own().map(Pair::new).collect(),
            })
        };
        Self { groups: spec.groups.iter().filter_map(of_group).collect() }
    }

    /// Returns the groups of a scheme's complete runs with starved flows; `scheme` is named where several are compared.
    pub fn starved(&self, scheme: Option<&str>, runs: &[Run]) -> Vec<StarvedFlows> {
        let yields = |shares: &Shares| {
            self.groups.len() > 1
                && built_in_traits(&shares.scheme).is_some_and(|traits| traits.is_less_than_best_effort)
        };
        let of_group = |shares: &Shares| {
            let flows = runs.iter().filter(|run| run.complete).flat_map(|run| {
                let own = run.flows.iter().filter(|flow| flow.group == shares.group).enumerate();
                own.map(move |(number, flow)| (run, number, flow))
            });
            let (mut all, mut found) = (0, Vec::new());
            for (run, number, flow) in flows {
                all += 1;
                let pair = &shares.pairs[number % shares.pairs.len().max(1)];
                let is_full = |direction: &usize| {
                    run.links
                        .get(*direction)
                        .is_some_and(|link| link.or_zero(Metric::Utilisation) >= FULL_LINK_UTILISATION)
                };
                let is_displaced = pair.path.iter().any(is_full)
                    && !pair.has_window_limit
                    && shares.reaches(pair.share, flow);
                if is_starved(flow, pair.share, is_displaced) {
                    found.push((flow, pair.share));
                }
            }
            let relative = |(flow, share): &(&Flow, f64)| flow.or_zero(Metric::Goodput) / share;
            let worst = found.iter().min_by(|a, b| relative(a).total_cmp(&relative(b)))?;
            Some(StarvedFlows {
                scheme: scheme.map(str::to_owned),
                group: shares.group.clone(),
                flows: found.len() as u32,
                of: all,
                goodput_bps: worst.0.or_zero(Metric::Goodput),
                share_bps: worst.1,
                timeouts: worst.0.or_zero(Metric::Timeouts),
                loss: worst.0.or_zero(Metric::Loss),
            })
        };
        self.groups.iter().filter(|shares| !yields(shares)).filter_map(of_group).collect()
    }
}

impl Pair {
    fn new((class, share): (&Class<'_>, &f64)) -> Self {
        let has_window_limit = *share >= class.window_limit * (1.0 - RELATIVE_TOLERANCE);
        Self {
            share: *share,
            has_window_limit,
            path: class.wire_load.iter().map(|(hop, _)| *hop as usize).collect(),
        }
    }
}

impl Shares {
    /// Returns true if a flow's largest window allows this rate.
    fn reaches(&self, bps: f64, flow: &Flow) -> bool {
        let rtt = flow.or_zero(Metric::MinRtt);
        self.window.is_some_and(|bytes| bytes * 8.0 >= bps * rtt)
    }
}

/// Returns the largest window of a transport that adapts it, in bytes.
fn largest_window(transport: &TransportSpec) -> Option<f64> {
    let properties = transport.properties();
    let segments = properties.window().filter(|_| !properties.never_shrinks())?;
    Some(segments as f64 * f64::from(properties.segment()))
}

/// Returns true for a path that carries what its rate and its queue admit.
fn is_plain(line: &DirectionSpec) -> bool {
    line.schedule.is_empty()
        && line.capacity.is_none()
        && line.periodic_variation.is_none()
        && line.impairment.loss == LossSpec::None
        && line.impairment.corrupt == 0.0
        && !line.queue.depends_on_priority()
}

/// Returns true for a backlogged flow that carried little, limited by neither its application nor its receiver: queues
/// dropped or marked its packets, or other flows displaced it.
fn is_starved(flow: &Flow, share: f64, is_displaced: bool) -> bool {
    let of = |metric: Metric| flow.or_zero(metric);
    let is_limited_elsewhere = of(Metric::HeldByReceiver) + of(Metric::HeldByGate) > 0.5;
    flow.wanted_more
        && !is_limited_elsewhere
        && flow.get(Metric::Failed).is_none()
        && of(Metric::Counted) >= MIN_COUNTED
        && (is_displaced || of(Metric::Drops) + of(Metric::Marked) + of(Metric::Timeouts) > 0.0)
        && of(Metric::Goodput) < STARVED_SHARE * share
}

/// Share of the max-min share below which a flow is starved.
const STARVED_SHARE: f64 = 0.05;
/// Utilisation of a link from which other flows leave no room.
const FULL_LINK_UTILISATION: f64 = 0.9;
/// Shortest time that shows starvation, in seconds: some retransmission timeouts.
const MIN_COUNTED: f64 = 5.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::test_fixtures;
    use thalweg_proto::congestion::NewRenoConfig;
    use thalweg_proto::units::{Duration, Rate};
    use thalweg_proto::window::{ControllerConfig, EndsConfig, ReceiverConfig, SenderConfig};

    /// Returns the starved flows of `bold` where it carries `mbits` of its share of 50 beside another group, after a
    /// change to both the scenario and the result.
    fn starved(mbits: u64, change: impl Fn(&mut Spec, &mut thalweg_sim::RunResult)) -> Vec<StarvedFlows> {
        let mut spec = test_fixtures::test_spec();
        spec.duration = Duration::from_secs(30);
        let line = &mut spec.links[0].forward;
        // Of 1028 bytes on the wire 1000 are payload.
        line.rate = Rate::from_bits_per_sec(102_800_000);
        spec.groups[0].workload = WorkloadSpec::Bulk;
        let other = GroupSpec { name: "shy".to_owned(), ..spec.groups[0].clone() };
        spec.groups[0].name = "bold".to_owned();
        spec.groups[0].transport.scheme = "cubic".to_owned();
        spec.groups.push(other);
        let mut result = test_fixtures::run_result(1, mbits);
        change(&mut spec, &mut result);
        FairShares::from_spec(&spec).starved(None, &[Run::from_result(&result)])
    }

    #[test]
    fn a_flow_below_a_twentieth_of_its_share_is_starved() {
        let found = starved(2, |_, _| {});
        let expected = StarvedFlows {
            scheme: None,
            group: "bold".to_owned(),
            flows: 1,
            of: 1,
            goodput_bps: 2e6,
            share_bps: 50e6,
            timeouts: 1.0,
            loss: 0.012,
        };
        assert_eq!(found.len(), 1, "{found:?}");
        assert!((found[0].share_bps - 50e6).abs() < 1.0);
        assert_eq!(StarvedFlows { share_bps: 50e6, ..found[0].clone() }, expected);
        assert_eq!(starved(3, |_, _| {}), []);
    }

    /// A policer limits the path, not the line's rate.
    #[test]
    fn shares_are_those_of_a_policer() {
        use thalweg_queue::{Limit, PolicerConfig};
        let policed = |mbits| {
            starved(mbits, |spec, _| {
                let rate = Rate::from_bits_per_sec(20_560_000);
                let policer = PolicerConfig { rate, burst: thalweg_proto::units::Bytes::new(30_000) };
                spec.links[0].forward.queue = thalweg_queue::DisciplineSpec::new(Limit::Packets(10), policer);
            })
        };
        assert_eq!(policed(2), []);
        let found = policed(0);
        assert!((found[0].share_bps - 10e6).abs() < 1.0, "{found:?}");
    }

    /// Gives the flow a full link without losses.
    fn displace(result: &mut thalweg_sim::RunResult) {
        let flow = result.flows.last_mut().unwrap();
        (flow.counts.drops, flow.timeouts, flow.min_rtt) = (0, 0, Duration::from_millis(20));
        result.links[0].utilisation = 1.0;
    }

    /// Gives all flows window transports with this largest window, in packets.
    fn set_window(spec: &mut Spec, segments: u32) {
        let controller = ControllerConfig::NewReno(NewRenoConfig {
            initial_window: 10.0,
            initial_ssthresh: 1e9,
            slow_start_exit: Default::default(),
            ecn_beta: None,
            slow_start_beta: None,
        });
        let sender = SenderConfig { segment: 1000, max_window: segments, ..SenderConfig::default() };
        let ends = EndsConfig::new(sender, ReceiverConfig::default(), controller);
        for group in &mut spec.groups {
            group.transport = TransportSpec::new("cubic", ends.clone(), 28, 28);
        }
    }

    /// A delay-based flow loses nothing where another one fills the queue.
    #[test]
    fn a_flow_that_loses_nothing_is_starved_if_a_link_is_full_and_its_window_does_not_limit_it() {
        let displaced = |spec: &mut Spec, result: &mut thalweg_sim::RunResult| {
            set_window(spec, 1 << 20);
            displace(result);
        };
        assert_eq!(starved(1, displaced).len(), 1);
        assert_eq!(
            starved(1, |spec, result| (displaced(spec, result), result.links[0].utilisation = 0.5).1),
            []
        );
        // Two segments in 2.2 ms are its share, which a longer queueing delay reduces further.
        let windowed = |spec: &mut Spec, result: &mut thalweg_sim::RunResult| {
            set_window(spec, 2);
            displace(result);
            result.flows.last_mut().unwrap().min_rtt = Duration::from_millis(2);
        };
        assert_eq!(starved(0, windowed), []);
    }

    type Change<'a> = &'a dyn Fn(&mut Spec, &mut thalweg_sim::RunResult);

    #[test]
    fn flows_that_carry_little_for_other_reasons_are_not_starved() {
        let last = |result: &mut thalweg_sim::RunResult, change: &dyn Fn(&mut thalweg_sim::FlowResult)| {
            change(result.flows.last_mut().unwrap());
        };
        let none: [Change<'_>; 7] = [
            // The application or the receiver limits it, it was short, or nothing was dropped.
            &|_, result| last(result, &|flow| flow.limits[3] = Duration::from_secs(20)),
            &|_, result| last(result, &|flow| flow.counted_time = Duration::from_secs(4)),
            &|_, result| last(result, &|flow| (flow.counts.drops, flow.timeouts) = (0, 0)),
            // Without losses, its own window limits it.
            &|spec, result| {
                set_window(spec, 100);
                displace(result);
            },
            &|spec, _| spec.links[0].forward.impairment.loss = LossSpec::Uniform { probability: 0.01 },
            &|spec, _| spec.groups[0].transport.scheme = "ledbat-plus-plus".to_owned(),
            // Others send an unknown amount.
            &|spec, _| spec.groups[1].workload = test_fixtures::test_spec().groups[0].workload.clone(),
        ];
        for (number, change) in none.iter().enumerate() {
            assert_eq!(starved(1, change), [], "{number}");
        }
    }
}
