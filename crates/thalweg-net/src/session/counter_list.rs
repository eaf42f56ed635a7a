//! List of all session counters. Sums over connections, the results of `bench` and the Prometheus metrics are generated
//! from it.

use super::SessionStats;

/// Session counter.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// Name in JSON documents.
    pub name: &'static str,
    /// Name in Prometheus' text format, without the program's prefix.
    pub metric: &'static str,
    /// Description of the counted events, in one sentence.
    pub about: &'static str,
    place: fn(&mut SessionStats) -> &mut u64,
}

macro_rules! counters {
    ($($about:literal, $name:literal, $metric:literal: $($place:ident).+;)+) => {
        /// All counters.
        pub const COUNTERS: &[Counter] = &[$(Counter {
            name: $name,
            metric: $metric,
            about: $about,
            place: |stats| &mut stats.$($place).+,
        }),+];
    };
}

counters! {
    "Packets sent.", "packets_sent", "sent_packets_total": packets_sent;
    "Authentic packets received.", "packets_received", "received_packets_total": packets_received;
    "Forged, replayed or late packets.", "packets_refused", "refused_packets_total": packets_refused;
    "Bytes of UDP payload sent.", "bytes_sent", "sent_bytes_total": bytes_sent;
    "Bytes of authentic UDP payload received.", "bytes_received", "received_bytes_total": bytes_received;
    "Data packets sent, including retransmissions.", "segments_sent", "data_packets_total": sending.sender.sent;
    "Data packets retransmitted.", "retransmissions", "retransmitted_packets_total": sending.sender.retransmissions;
    "Retransmission timeouts.", "timeouts", "timeouts_total": sending.sender.timeouts;
    "Duplicate data packets received.", "duplicates", "duplicate_packets_total": receiving.duplicates;
    "Data packets dropped for lack of memory.", "segments_refused", "unbuffered_packets_total": receiving.refused;
    "Packets received with a CE mark.", "packets_marked", "marked_packets_total": marked;
    "Rate reductions due to marks.", "mark_cuts", "mark_cuts_total": sending.mark_cuts;
    "Accepted router messages about this end's data.", "router_messages", "router_messages_total": router_feedback;
    "Application datagrams dropped because more arrived than could be sent.", "datagrams_dropped", "dropped_datagrams_total": datagrams_dropped;
    "Changes of a peer's address.", "migrations", "migrations_total": migrations;
}

impl Counter {
    /// Returns the value.
    pub fn value_in(&self, stats: &SessionStats) -> u64 {
        *(self.place)(&mut { *stats })
    }
}

impl SessionStats {
    /// Combines two sessions: sums the counters and the times under each limit, and keeps the rest of the first.
    pub fn and(mut self, other: &Self) -> Self {
        for counter in COUNTERS {
            *(counter.place)(&mut self) += counter.value_in(other);
        }
        for (limit, more) in self.sending.sender.limits.iter_mut().zip(other.sending.sender.limits) {
            *limit += more;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn counters_are_distinct_and_additive() {
        let mut stats = SessionStats::default();
        for (number, counter) in (1..).zip(COUNTERS) {
            *(counter.place)(&mut stats) = number;
        }
        let sum = stats.and(&stats);
        for (number, counter) in (1..).zip(COUNTERS) {
            assert_eq!(
                (counter.value_in(&stats), counter.value_in(&sum)),
                (number, 2 * number),
                "{}",
                counter.name
            );
        }
        for name in [|counter: &Counter| counter.name, |counter: &Counter| counter.metric] {
            assert_eq!(COUNTERS.iter().map(name).collect::<BTreeSet<_>>().len(), COUNTERS.len());
        }
    }
}
