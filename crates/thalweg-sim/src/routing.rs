//! The rules by which packets find their way: what a path costs, which of equal ones a packet takes, and links that fail.

use std::collections::BTreeSet;
use thalweg_proto::units::{Duration, Time};

/// The rules by which packets find their way.
#[derive(Clone, Debug, PartialEq)]
pub struct RoutingSpec {
    /// The cost of a path.
    pub metric: Metric,
    /// The use of several paths that cost the same.
    pub paths: Multipath,
    /// The time from a failure, and from its end, until packets leave by routes that know of it.
    pub reroute: Duration,
    /// Links that fail.
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

/// The cost of a path: the sum of this over its links. Of paths that cost the same the one with fewest links is best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Metric {
    /// The propagation delay.
    #[default]
    Delay,
    /// One for each link.
    Hops,
    /// The weight of the link.
    Weight,
}

/// The use of several best paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Multipath {
    /// All packets take the same one: by the links that come first in the specification.
    #[default]
    One,
    /// A hash of the connection chooses at each router among its best next links (ECMP, RFC 2992).
    Flow,
    /// A hash of the packet does, so that each packet of a connection may take another way (spraying).
    Packet,
}

/// A link that fails, in both directions: what is on it and what enters it is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureSpec {
    /// The link, by position.
    pub link: u32,
    /// The time at which it fails.
    pub at: Time,
    /// The time at which it works again; never without.
    pub until: Option<Time>,
}

impl RoutingSpec {
    /// The times at which routes change, each with the links that are known to have failed from then on. The first is the
    /// beginning.
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
