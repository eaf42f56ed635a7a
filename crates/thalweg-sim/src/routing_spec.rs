//! Routing: path costs, multipath, and link failures.

use std::collections::BTreeSet;
use thalweg_proto::units::{Duration, Time};

/// Routing of packets.
#[derive(Clone, Debug, PartialEq)]
pub struct RoutingSpec {
    /// Path metric.
    pub metric: Metric,
    /// Multipath mode for equal-cost paths.
    pub paths: Multipath,
    /// Convergence time: from a failure, or its end, until routes change.
    pub reroute: Duration,
    /// Link failures.
    pub failures: Vec<FailureSpec>,
}

impl Default for RoutingSpec {
    fn default() -> Self {
        Self {
            metric: Metric::default(),
            paths: Multipath::default(),
            reroute: Duration::from_millis(50),
            failures: Vec::new(),
        }
    }
}

/// Path metric: the sum of this over the links. Among equal-cost paths the one with fewest links is best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Metric {
    /// The propagation delay.
    #[default]
    Delay,
    /// One per link.
    Hops,
    /// The weight of the link.
    Weight,
}

/// Use of several equal-cost paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Multipath {
    /// All packets take the same path, by the links listed first in the specification.
    #[default]
    One,
    /// Each router hashes the connection to choose among its best next links (ECMP, RFC 2992).
    Flow,
    /// Each router hashes the packet: packets of a connection may take different paths (spraying).
    Packet,
}

/// Failure of a link, in both directions: packets whose transmission begins during it are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureSpec {
    /// The link, by position.
    pub link: u32,
    /// Start of the failure.
    pub at: Time,
    /// End of the failure; never if absent.
    pub until: Option<Time>,
}

impl RoutingSpec {
    /// Returns the times of route changes, each with the links then known to have failed. The first is the start of the
    /// run.
    pub(crate) fn epochs(&self) -> Vec<(Time, BTreeSet<u32>)> {
        let known = |at: Time| at + self.reroute;
        let mut times: Vec<Time> = self.failures.iter().map(|failure| known(failure.at)).collect();
        times.extend(self.failures.iter().filter_map(|failure| failure.until).map(known));
        times.push(Time::ZERO);
        times.sort_unstable();
        times.dedup();
        let failed = |now: Time| {
            let is_known = |failure: &&FailureSpec| {
                known(failure.at) <= now && failure.until.is_none_or(|until| known(until) > now)
            };
            self.failures.iter().filter(is_known).map(|failure| failure.link).collect()
        };
        times.into_iter().map(|time| (time, failed(time))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    /// Routes know of a failure a while after it, and of its end as long after that.
    #[test]
    fn epochs_follow_failures() {
        let failures = vec![
            FailureSpec { link: 3, at: at(1), until: Some(at(5)) },
            FailureSpec { link: 1, at: at(2), until: None },
        ];
        let routing = RoutingSpec { reroute: Duration::from_secs(1), failures, ..RoutingSpec::default() };
        let epochs: Vec<(u64, Vec<u32>)> = routing
            .epochs()
            .into_iter()
            .map(|(at, failed)| (at.as_picos() / 1_000_000_000_000, failed.into_iter().collect()))
            .collect();
        assert_eq!(epochs, [(0, vec![]), (2, vec![3]), (3, vec![1, 3]), (6, vec![1])]);
    }
}
