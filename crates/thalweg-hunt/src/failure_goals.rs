//! Goals: failure modes of a congestion control, each with a score from 0 to 1 defined for any run.

use crate::candidate::{DisturbanceKind, Kinds};
use thalweg_proto::units::Duration;
use thalweg_queue::Limit;
use thalweg_sim::RunResult;
use thalweg_sim::simulation_spec::{DirectionSpec, Spec, WorkloadSpec};

/// Failure mode that the hunt searches for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Goal {
    /// A flow gets less than its fair share of the path's capacity.
    Starvation,
    /// A flow does not recover after the disturbances end.
    Stall,
    /// A standing queue.
    Queue,
    /// One of several flows of the scheme gets less than the others.
    Unfairness,
    /// A large share of sent packets is lost or retransmitted.
    Collapse,
}

/// Name of the group of flows under test.
pub const GROUP_UNDER_TEST: &str = "tested";

impl Goal {
    /// All goals.
    pub const ALL: [Self; 5] = [Self::Starvation, Self::Stall, Self::Queue, Self::Unfairness, Self::Collapse];

    /// Returns the name on command lines and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Starvation => "starvation",
            Self::Stall => "stall",
            Self::Queue => "queue",
            Self::Unfairness => "unfairness",
            Self::Collapse => "collapse",
        }
    }

    /// Returns the goal with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|goal| goal.name() == name)
    }

    /// Returns the score threshold of a finding.
    pub const fn bar(self) -> f64 {
        match self {
            Self::Starvation | Self::Stall | Self::Unfairness => 0.9,
            Self::Queue => 0.8,
            // Twice as much is sent as arrives.
            Self::Collapse => 0.5,
        }
    }

    /// Describes a score in words.
    pub fn score_text(self, score: f64) -> String {
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        match self {
            Self::Starvation => format!("a flow carries {} of its fair share", percent(1.0 - score)),
            Self::Stall => {
                format!(
                    "a flow carries {} of its share after all disturbances have ended",
                    percent(1.0 - score)
                )
            }
            Self::Queue => format!("the queue stands at {} of its capacity", percent(score)),
            Self::Unfairness => {
                format!("one of several identical flows carries {} of their mean", percent(1.0 - score))
            }
            Self::Collapse => format!("{} of the sent data is lost or retransmitted", percent(score)),
        }
    }

    /// Returns the kinds of disturbances suitable for this goal.
    pub fn kinds(self) -> Kinds {
        let without: &[DisturbanceKind] = match self {
            Self::Starvation => &[],
            // A disturbance that lasts until the end cannot show a failed recovery.
            Self::Stall => &[DisturbanceKind::Jitter, DisturbanceKind::Flows],
            Self::Queue => &[
                DisturbanceKind::Losses,
                DisturbanceKind::Pulses,
                DisturbanceKind::Flows,
                DisturbanceKind::Outages,
            ],
            Self::Unfairness => &[DisturbanceKind::Losses, DisturbanceKind::Pulses, DisturbanceKind::Outages],
            // Losses from other causes are not the scheme's.
            Self::Collapse => &[DisturbanceKind::Losses, DisturbanceKind::Outages, DisturbanceKind::Flows],
        };
        DisturbanceKind::ALL.into_iter().filter(|kind| !without.contains(kind)).collect()
    }

    /// Returns the duration of a run, its warm-up, and the end of the disturbances, in milliseconds.
    pub(crate) const fn times(self) -> [u32; 3] {
        match self {
            Self::Starvation => [12_000, 4_000, 12_000],
            Self::Stall => [16_000, 10_000, 8_000],
            Self::Queue | Self::Collapse => [8_000, 3_000, 8_000],
            Self::Unfairness => [20_000, 8_000, 20_000],
        }
    }

    /// Returns true if the warm-up counts too. After a reduction of the rate one window of repeated data may be all that is
    /// sent for seconds, which is not a collapse.
    pub(crate) const fn counts_warmup(self) -> bool {
        matches!(self, Self::Collapse)
    }

    /// Returns the minimum and maximum number of flows under test.
    pub(crate) const fn counts(self) -> [u32; 2] {
        match self {
            Self::Starvation | Self::Stall => [1, 1],
            Self::Unfairness => [1, 4],
            Self::Queue => [1, 6],
            Self::Collapse => [1, 8],
        }
    }

    /// Returns the score of a run, from 0 to 1, from the first link and the group `tested`.
    ///
    /// # Errors
    ///
    /// The scenario has no such link or group.
    pub fn score(self, spec: &Spec, result: &RunResult) -> Result<f64, &'static str> {
        let link = spec.links.first().ok_or("it has no link")?;
        let group = spec.groups.iter().position(|group| group.name == GROUP_UNDER_TEST);
        let group = group.ok_or("it has no flows with the name `tested`")?;
        let flows = || result.flows.iter().filter(move |flow| flow.group as usize == group);
        let rates = || flows().map(|flow| flow.throughput.as_f64());
        let min = rates().fold(f64::INFINITY, f64::min);
        let score = match self {
            Self::Starvation | Self::Stall => 1.0 - min / fair_share(spec, result, &link.forward),
            Self::Unfairness => {
                let alike = || {
                    let scheme = &spec.groups[group].transport.scheme;
                    let is_alike = move |place: u32| spec.groups[place as usize].transport.scheme == *scheme;
                    let flows = result.flows.iter().filter(move |flow| is_alike(flow.group));
                    flows.map(|flow| flow.throughput.as_f64())
                };
                let (count, sum) = alike().fold((0.0, 0.0), |(count, sum), rate| (count + 1.0, sum + rate));
                1.0 - alike().fold(f64::INFINITY, f64::min) / (sum / count)
            }
            Self::Queue => {
                let queue = result.links.first().map(|link| link.queue).unwrap_or_default();
                let trip = 2.0 * link.forward.delay.as_secs_f64();
                let product = link.forward.rate.as_f64() / 8.0 * trip;
                let occupancy = match link.forward.queue.limit() {
                    Limit::Packets(packets) => queue.mean_packets / packets as f64,
                    Limit::Bytes(bytes) => queue.mean_bytes / bytes as f64,
                    Limit::Unlimited => 1.0,
                };
                // A full queue is not long if its limit is short.
                occupancy.min(queue.mean_bytes / product)
            }
            Self::Collapse => {
                let sum = |count: fn(&thalweg_sim::FlowResult) -> u64| flows().map(count).sum::<u64>() as f64;
                let lost = sum(|flow| flow.counts.lost_data);
                let arrived = sum(|flow| flow.counts.arrived_data);
                let [again, sent] = [sum(|flow| flow.retransmissions), sum(|flow| flow.sent_packets)];
                // A few lost packets of flows that hardly send waste little of what the link carries.
                let carried = result.links.first().map_or(0.0, |link| link.packets as f64);
                (lost / carried.max(lost + arrived)).max(again / carried.max(sent))
            }
        };
        // The score is unknown if nothing was sent.
        Ok(if score.is_finite() { score.clamp(0.0, 1.0) } else { 0.0 })
    }
}

/// Returns the equal share, per backlogged flow, of the capacity that the other flows leave.
fn fair_share(spec: &Spec, result: &RunResult, line: &DirectionSpec) -> f64 {
    let is_greedy = |group: usize| {
        let group = &spec.groups[group];
        group.workload == WorkloadSpec::Bulk && group.transport.properties().is_reliable()
    };
    let (mut greedy, mut taken) = (0.0, 0.0);
    for flow in &result.flows {
        if is_greedy(flow.group as usize) {
            greedy += 1.0;
        } else {
            taken += flow.throughput.as_f64();
        }
    }
    (mean_rate(line, spec.warmup, spec.duration) - taken).max(1.0) / f64::max(greedy, 1.0)
}

/// Returns the mean rate of a link direction between two times, from its schedule.
fn mean_rate(line: &DirectionSpec, from: Duration, to: Duration) -> f64 {
    let (from, to) = (from.as_picos(), to.as_picos());
    let (mut rate, mut since, mut sum) = (line.rate.as_f64(), from, 0.0);
    for change in &line.schedule {
        let Some(new) = change.rate else { continue };
        let at = change.at.as_picos().clamp(from, to);
        sum += rate * (at - since) as f64;
        (rate, since) = (new.as_f64(), at);
    }
    (sum + rate * (to - since) as f64) / (to - from).max(1) as f64
}
