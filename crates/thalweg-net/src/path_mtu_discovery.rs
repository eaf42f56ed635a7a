//! Path MTU discovery: packetization layer path MTU discovery for datagram transports (RFC 8899).
//!
//! A path starts with the size that every path takes (BASE_PLPMTU, [`SAFE_DATAGRAM`]). Probes test other sizes, and only
//! acknowledged sizes are used. The size in use is confirmed periodically while data is sent, and at once when a flow's
//! retransmission timer expires. If these probes fail, the path has become a black hole for datagrams of that size, and
//! discovery restarts from the safe size (RFC 8899, section 4.3).

use crate::wire::SAFE_DATAGRAM;
use thalweg_proto::units::{Duration, Time};

/// Common link sizes, tried first, since one of them is nearly always right: Ethernet under IPv6 and IPv4, PPPoE
/// likewise, and jumbo frames likewise.
const COMMON_PLPMTUS: [u16; 6] = [1444, 1452, 1464, 1472, 8952, 8972];

/// Largest datagram on most paths, in bytes.
const ETHERNET_PLPMTU: u16 = 1472;

/// Number of probes per size (RFC 8899, section 5.1.2).
const MAX_PROBES: u8 = 3;

/// Time until a probe counts as lost (PROBE_TIMER of RFC 8899), while the round-trip time is unknown.
const INITIAL_PROBE_TIMER: Duration = Duration::from_millis(500);

/// Minimum of the time until a probe counts as lost; otherwise it is three round trips.
const MIN_PROBE_TIMER: Duration = Duration::from_millis(100);

/// Search resolution, in bytes.
const SEARCH_RESOLUTION: u16 = 16;

/// Interval between searches, as the path may change (RFC 8899, section 5.1.1).
const PMTU_RAISE_TIMER: Duration = Duration::from_secs(600);

/// Delay of the next search after a black hole; shorter, as the outage may have been temporary.
const RECOVERY_TIMER: Duration = Duration::from_secs(5);

/// Interval at which the size in use is confirmed while large datagrams are sent (RFC 8899, section 5.1.1).
const CONFIRMATION_TIMER: Duration = Duration::from_secs(2);

/// Outstanding probe.
#[derive(Clone, Copy, Debug)]
struct Probe {
    size: u16,
    count: u8,
    /// Loss deadline of the probe.
    deadline: Time,
}

/// Change of the size in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Larger datagrams may be sent.
    Raised,
    /// Black hole: the path no longer takes the size.
    Fallen,
}

/// Path MTU discovery on one path.
#[derive(Clone, Debug)]
pub struct Discovery {
    /// Size in use (PLPMTU), in bytes.
    plpmtu: u16,
    /// Maximum size that both ends accept (MAX_PLPMTU), in bytes.
    max_plpmtu: u16,
    /// Exclusive upper bound of the search: sizes from here on are lost.
    above: u32,
    /// True while a search is running.
    searching: bool,
    probe: Option<Probe>,
    /// Start time of the next search.
    search_at: Time,
    /// Confirmation time of the size in use, if it is used until then.
    confirm_at: Time,
    is_used: bool,
}

impl Discovery {
    /// Starts discovery on an unknown path, with datagrams of at most `max_plpmtu` bytes.
    pub fn new(max_plpmtu: u16) -> Self {
        let max_plpmtu = max_plpmtu.max(SAFE_DATAGRAM);
        Self {
            plpmtu: SAFE_DATAGRAM,
            max_plpmtu,
            above: u32::from(max_plpmtu) + 1,
            searching: true,
            probe: None,
            search_at: Time::MAX,
            confirm_at: Time::ZERO,
            is_used: false,
        }
    }

    /// Returns the maximum datagram size, in bytes.
    pub fn plpmtu(&self) -> u16 {
        self.plpmtu
    }

    /// Notes that a datagram of this size was sent.
    #[inline]
    pub fn on_sent(&mut self, size: usize) {
        self.is_used |= size > usize::from(SAFE_DATAGRAM);
    }

    /// Handles an expired retransmission timer of a flow: the size may be the cause.
    pub fn on_timeout(&mut self) {
        if self.plpmtu > SAFE_DATAGRAM {
            self.is_used = true;
            self.confirm_at = Time::ZERO;
        }
    }

    /// Returns the size of a probe to send now.
    pub fn poll(&mut self, now: Time, rtt: Option<Duration>) -> (Option<u16>, Option<Change>) {
        let mut change = None;
        if let Some(probe) = self.probe {
            if now < probe.deadline {
                return (None, None);
            }
            if probe.count >= MAX_PROBES {
                change = self.on_probe_failed(now, probe.size);
            }
        }
        if !self.searching && now >= self.search_at {
            self.searching = true;
            self.above = u32::from(self.max_plpmtu) + 1;
            self.search_at = Time::MAX;
        }
        let confirms = self.is_used && self.plpmtu > SAFE_DATAGRAM && now >= self.confirm_at;
        let size = match self.probe {
            Some(probe) => Some(probe.size),
            None if confirms => Some(self.plpmtu),
            None if self.searching => self.next_probe_size(),
            None => None,
        };
        let Some(size) = size else {
            if self.searching {
                self.searching = false;
                self.search_at = now + PMTU_RAISE_TIMER;
            }
            return (None, change);
        };
        let count = self.probe.map_or(0, |probe| probe.count) + 1;
        let wait = rtt.map_or(INITIAL_PROBE_TIMER, |rtt| (rtt * 3).max(MIN_PROBE_TIMER));
        self.probe = Some(Probe { size, count, deadline: now + wait });
        (Some(size), change)
    }

    /// Returns the time of the next [`Discovery::poll`]; [`Time::ZERO`] means at once.
    pub fn deadline(&self) -> Time {
        if let Some(probe) = self.probe {
            return probe.deadline;
        }
        let confirm = if self.is_used && self.plpmtu > SAFE_DATAGRAM { self.confirm_at } else { Time::MAX };
        let search = if self.searching { Time::ZERO } else { self.search_at };
        confirm.min(search)
    }

    /// Returns the next size to probe.
    fn next_probe_size(&self) -> Option<u16> {
        let (low, high) = (self.plpmtu, self.above - 1);
        // The bounds lie within the range of sizes.
        let high = u16::try_from(high).unwrap_or(u16::MAX);
        if high <= low || high - low < SEARCH_RESOLUTION && high != self.max_plpmtu {
            return None;
        }
        if self.above == u32::from(self.max_plpmtu) + 1 {
            // Try the size of nearly every path first; it brings most of the gain.
            return Some(if low < ETHERNET_PLPMTU { high.min(ETHERNET_PLPMTU) } else { high });
        }
        let common = COMMON_PLPMTUS.iter().rev().copied().find(|&size| low < size && size <= high);
        common.or(Some(low + (high - low).div_ceil(2)))
    }

    /// Handles the acknowledgement of a probe of this size.
    pub fn on_probe_acked(&mut self, now: Time, size: u16) -> Option<Change> {
        self.probe.filter(|probe| probe.size == size)?;
        self.probe = None;
        self.confirm_at = now + CONFIRMATION_TIMER;
        self.is_used = false;
        (size > self.plpmtu).then(|| {
            self.plpmtu = size;
            Change::Raised
        })
    }

    /// Handles a datagram of this size that the host's network layer refused.
    pub fn on_refused(&mut self, now: Time, size: u16) -> Option<Change> {
        if self.probe.is_some_and(|probe| probe.size == size) {
            return self.on_probe_failed(now, size);
        }
        (size <= self.plpmtu && self.plpmtu > SAFE_DATAGRAM).then(|| self.enter_black_hole(now))
    }

    fn on_probe_failed(&mut self, now: Time, size: u16) -> Option<Change> {
        self.probe = None;
        if size <= self.plpmtu {
            return Some(self.enter_black_hole(now));
        }
        self.above = self.above.min(u32::from(size));
        None
    }

    fn enter_black_hole(&mut self, now: Time) -> Change {
        self.plpmtu = SAFE_DATAGRAM;
        self.searching = false;
        self.search_at = now + RECOVERY_TIMER;
        self.is_used = false;
        self.probe = None;
        Change::Fallen
    }
}

#[cfg(test)]
mod tests {
    //! Tests that discovery finds the MTU of any path with few probes, and recovers from a black hole.
    use super::*;
    use proptest::prelude::*;

    const RTT: Duration = Duration::from_millis(20);

    /// Searches on a path with datagrams up to `size`. Returns the number of probes.
    fn search(discovery: &mut Discovery, now: &mut Time, size: u16) -> u32 {
        let mut probes = 0;
        loop {
            let (probe, _) = discovery.poll(*now, Some(RTT));
            let Some(probe) = probe else {
                if discovery.deadline() > *now + PMTU_RAISE_TIMER / 2 {
                    return probes;
                }
                *now = discovery.deadline();
                continue;
            };
            probes += 1;
            assert!(probes < 200, "no end at {probe}");
            if probe <= size {
                *now += RTT;
                discovery.on_probe_acked(*now, probe);
            }
        }
    }

    #[test]
    fn common_paths_are_found_in_a_few_probes() {
        for (size, limit, max) in [(1472, 1472, 1), (1452, 1472, 7), (1472, 65_507, 40), (65_507, 65_507, 2)]
        {
            let mut discovery = Discovery::new(limit);
            let probes = search(&mut discovery, &mut Time::ZERO.clone(), size);
            assert!(discovery.plpmtu() <= size && discovery.plpmtu() + SEARCH_RESOLUTION > size, "{size}");
            assert!(probes <= max, "{probes} probes for {size} below {limit}");
        }
    }

    #[test]
    fn sizes_refused_by_the_host_take_no_time() {
        let mut discovery = Discovery::new(65_507);
        let now = Time::ZERO;
        let mut probes = 0;
        while let (Some(size), _) = discovery.poll(now, Some(RTT)) {
            probes += 1;
            if size > 1472 {
                discovery.on_refused(now, size);
            } else {
                discovery.on_probe_acked(now, size);
            }
        }
        assert_eq!(discovery.plpmtu(), 1472);
        assert!(probes < 20, "{probes}");
    }

    /// Holds RFC 9000, section 14.2.
    #[test]
    fn an_mtu_black_hole_reduces_the_mtu_and_is_probed_again() {
        let mut discovery = Discovery::new(1472);
        let mut now = Time::ZERO;
        search(&mut discovery, &mut now, 1472);
        assert_eq!(discovery.plpmtu(), 1472);
        // The route changes; the flow's retransmission timer expires.
        discovery.on_timeout();
        let start = now;
        let mut fallen = None;
        while fallen.is_none() {
            let (_, change) = discovery.poll(now, Some(RTT));
            fallen = change;
            now = now.max(discovery.deadline());
        }
        assert_eq!((fallen, discovery.plpmtu()), (Some(Change::Fallen), SAFE_DATAGRAM));
        assert!(now.since(start) < Duration::from_secs(10));
        search(&mut discovery, &mut now, 1400);
        assert!((1385..=1400).contains(&discovery.plpmtu()), "{}", discovery.plpmtu());
    }

    #[test]
    fn sizes_in_use_are_confirmed_and_others_are_not() {
        let mut discovery = Discovery::new(1472);
        let mut now = Time::ZERO;
        search(&mut discovery, &mut now, 1472);
        now += Duration::from_secs(10);
        discovery.on_sent(1200);
        assert_eq!(discovery.poll(now, Some(RTT)).0, None);
        discovery.on_sent(1472);
        assert_eq!(discovery.poll(now, Some(RTT)).0, Some(1472));
        assert_eq!(discovery.on_probe_acked(now + RTT, 1472), None);
        assert_eq!(discovery.poll(now + RTT, Some(RTT)).0, None);
    }

    /// Holds RFC 9000, section 14.2.
    #[test]
    fn unsolicited_probe_answers_are_ignored() {
        let mut discovery = Discovery::new(9000);
        assert_eq!(discovery.poll(Time::ZERO, None).0, Some(ETHERNET_PLPMTU));
        assert_eq!(discovery.on_probe_acked(Time::ZERO, 8000), None);
        assert_eq!(discovery.plpmtu(), SAFE_DATAGRAM);
    }

    proptest! {
        /// Holds RFC 9000, section 14.2.
        #[test]
        fn any_path_mtu_is_found(size in SAFE_DATAGRAM..=65_507, limit in SAFE_DATAGRAM..=65_507) {
            let mut discovery = Discovery::new(limit);
            search(&mut discovery, &mut Time::ZERO.clone(), size);
            let best = size.min(limit);
            prop_assert!(discovery.plpmtu() <= best);
            prop_assert!(discovery.plpmtu() + SEARCH_RESOLUTION >= best, "{} of {}", discovery.plpmtu(), best);
        }
    }
}
