//! Figures of one direction of a traced connection.

use crate::trace_model::{Connection, Direction, Metric, View};
use thalweg_units::{Duration, Rate};

/// Figures of a connection's direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Time from its first packet to its last packet or acknowledgement.
    pub duration: Duration,
    /// Payload bytes that arrived, each once; `None` if the sender's packets are known, and no acknowledgement of them.
    pub delivered: Option<u64>,
    /// Bytes of all packets; `None` if only delivered data is known.
    pub sent_bytes: Option<u64>,
    /// Packets with data; for `ss`, segments; `None` if only delivered data is known.
    pub packets: Option<u64>,
    /// Delivered payload by the duration, if known.
    pub goodput: Option<Rate>,
    /// Share of retransmitted bytes in the payload sent; `None` if only delivered data is known.
    pub retransmitted_share: Option<f64>,
    /// Packets that the sender took for lost; `None` if only delivered data is known.
    pub lost: Option<u64>,
    /// Unnecessary retransmissions.
    pub spurious: u64,
    /// Expired retransmission timers.
    pub timeouts: usize,
    /// Round-trip times, if any are known.
    pub rtt: Option<RttSummary>,
}

/// Distribution of round-trip times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RttSummary {
    /// Shortest.
    pub min: Duration,
    /// Median.
    pub median: Duration,
    /// 99 % quantile.
    pub p99: Duration,
    /// Number of samples.
    pub samples: usize,
    /// True if these are the sender's smoothed times, as the trace has no samples.
    pub is_smoothed: bool,
}

impl RttSummary {
    /// Returns the distribution of these times; `None` without any.
    pub fn from_samples(mut samples: Vec<Duration>, is_smoothed: bool) -> Option<Self> {
        samples.sort_unstable();
        let at = |share: f64| sorted_quantile(&samples, share);
        Some(Self { min: at(0.0)?, median: at(0.5)?, p99: at(0.99)?, samples: samples.len(), is_smoothed })
    }
}

/// Returns a quantile of sorted values: the smallest value that this share of them does not exceed.
pub fn sorted_quantile<T: Copy>(sorted: &[T], share: f64) -> Option<T> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

impl Summary {
    /// Summarises a direction (0: of the client, 1: of the server) of a connection.
    pub fn from_connection(connection: &Connection, direction: usize) -> Self {
        let data = &connection.directions[direction & 1];
        let counts = data.counts;
        let first = data.packets.first().map_or(connection.start, |packet| packet.time);
        let last = data.packets.last().map(|packet| packet.time);
        let acked = data.acks.last().map(|ack| ack.time);
        let last = last.max(acked).unwrap_or(connection.end).max(first);
        let duration = if data.packets.is_empty() { connection.duration() } else { last.since(first) };
        let rtt = RttSummary::from_samples(data.rtt_samples().iter().map(|sample| sample.1).collect(), false);
        let smoothed = || {
            let logged = data.metrics.get(&Metric::SmoothedRtt)?;
            let times =
                logged.iter().map(|point| Duration::from_secs_f64(point.1)).filter(|rtt| !rtt.is_zero());
            RttSummary::from_samples(times.collect(), true)
        };
        let delivered = shows_delivery(data).then_some(counts.delivered);
        let packets = counts.not_kept
            + if data.packets.is_empty() { counts.packets } else { data.packets.len() as u64 };
        let knows_sent_data = counts.payload > 0 || counts.delivered == 0;
        Self {
            duration,
            delivered,
            sent_bytes: knows_sent_data.then_some(counts.bytes),
            packets: knows_sent_data.then_some(packets),
            goodput: delivered.map(|bytes| average_rate(bytes, duration)),
            retransmitted_share: knows_sent_data
                .then(|| counts.retransmitted_bytes as f64 / counts.payload.max(1) as f64),
            lost: knows_sent_data.then_some(counts.lost),
            spurious: counts.spurious,
            timeouts: data.timeouts.len(),
            rtt: rtt.or_else(smoothed),
        }
    }
}

/// Returns false for packets of a sender without any acknowledgement, as of UDP: arrivals are not visible there.
fn shows_delivery(data: &Direction) -> bool {
    let counts = data.counts;
    let is_unacknowledged = counts.payload > 0 && counts.acks == 0 && counts.delivered == 0;
    data.view != View::Sender || data.packets.is_empty() || !is_unacknowledged
}

/// Returns the rate of these bytes in a duration; zero for an empty one.
pub(crate) fn average_rate(bytes: u64, duration: Duration) -> Rate {
    let seconds = duration.as_secs_f64();
    Rate::from_bits_per_sec(if seconds > 0.0 { (bytes as f64 * 8.0 / seconds) as u64 } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace_model::Packet;
    use thalweg_units::Time;

    #[test]
    fn delivery_is_unknown_without_acknowledgements() {
        let packet = Packet {
            time: Time::ZERO,
            position: 0,
            size: 1028,
            length: 1000,
            acked_at: Time::MAX,
            lost_at: Time::MAX,
            flags: 0,
        };
        let mut connection = Connection::default();
        let data = &mut connection.directions[0];
        (data.view, data.packets) = (View::Sender, vec![packet]);
        data.counts.payload = 1000;
        let summarised = |connection: &Connection| {
            let summary = Summary::from_connection(connection, 0);
            (summary.delivered, summary.goodput.is_some())
        };
        assert_eq!(summarised(&connection), (None, false));
        // The one packet was lost, and an acknowledgement of nothing new says so.
        connection.directions[0].counts.acks = 1;
        assert_eq!(summarised(&connection), (Some(0), true));
        let data = &mut connection.directions[0];
        (data.counts.acks, data.view) = (0, View::Receiver);
        assert_eq!(summarised(&connection), (Some(0), true));
    }

    #[test]
    fn quantiles_are_values_of_the_sample() {
        let values: Vec<u32> = (1..=100).collect();
        assert_eq!(
            [0.0, 0.5, 0.99, 1.0].map(|share| sorted_quantile(&values, share).unwrap()),
            [1, 50, 99, 100]
        );
        assert_eq!(sorted_quantile::<u32>(&[], 0.5), None);
    }
}
