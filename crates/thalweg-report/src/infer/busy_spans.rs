//! Rates of the bottleneck in the time spans of a recording.

use super::Recording;
use super::path_change::{Base, Change};

/// Minimum length of the spans that the rate is measured over, in seconds.
const MIN_SPAN_SECONDS: f64 = 0.1;
/// Maximum number of spans, however long the recording is.
const MAX_SPANS: f64 = 1e6;
/// Number of packets in a span of a slow path, and number of spans below which they have fewer.
const SPAN_PACKETS: (f64, f64) = (20.0, 50.0);

/// Minimum number of busy spans of a path that was filled, and share of all spans that leaves no doubt.
const FILLED_SPANS: (usize, f64) = (3, 0.2);
/// Share of the bottleneck's rate below which it had pauses.
const PAUSED_RATE_SHARE: f64 = 0.9;

/// Data acknowledged within a time span.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    bytes: u64,
    /// Bytes of the first acknowledgement: these may have been transmitted before the span.
    first: u64,
    /// Time of the last acknowledgement.
    last: f64,
    /// True if a round trip ended in the span, and all of them had a queueing delay.
    has_queue: Option<bool>,
}

/// Minimum number of spans between the first and the last acknowledgement for the mean rate to be certain.
const MIN_SPANS_OF_MEAN: f64 = 5.0;

/// Spans of a recording.
#[derive(Debug)]
pub(super) struct Spans {
    spans: Vec<Span>,
    /// Rates of the busy spans in bit/s, sorted.
    busy_rates: Vec<f64>,
    /// Mean rate between the first and the last acknowledgement, in bit/s; 0 in a short recording.
    mean_rate: f64,
    /// Length of each, in seconds.
    pub(super) length: f64,
}

impl Spans {
    /// Divides `recording` into spans of several round trips and, on slow paths, of several packets.
    pub(super) fn new(recording: &Recording, acks: &[Ack], trips: &[(f64, f64)], base: &Base) -> Self {
        let mean = MeanRate::of(acks);
        let of_length = |length: f64| Self::of_length(recording.seconds, acks, trips, base, mean, length);
        let length = MIN_SPAN_SECONDS.max(2.0 * base.shortest).max(recording.seconds / MAX_SPANS);
        let first = of_length(length);
        let busy_median = first.busy_median();
        let rate = busy_median.unwrap_or_else(|| first.highest_rate());
        let packets = SPAN_PACKETS.0 * largest(recording) * 8.0 / rate.max(1.0);
        let longer = length.max(packets.min(recording.seconds / SPAN_PACKETS.1));
        if longer <= length {
            return first;
        }
        let second = of_length(longer);
        // Where a queue stays for short times only, long spans have none.
        if second.busy_median().is_some() || busy_median.is_none() { second } else { first }
    }

    fn of_length(
        seconds: f64,
        acks: &[Ack],
        trips: &[(f64, f64)],
        base: &Base,
        mean: MeanRate,
        length: f64,
    ) -> Self {
        // The last, incomplete span is left out.
        let mut spans = vec![Span::default(); (seconds / length) as usize];
        let mut before = f64::NEG_INFINITY;
        for &(at, bytes) in acks {
            let Some(span) = spans.get_mut((at / length) as usize) else { continue };
            if span.bytes == 0 || (span.first == span.bytes && at <= before) {
                span.first += bytes;
            }
            before = at;
            (span.bytes, span.last) = (span.bytes + bytes, at);
        }
        for &(at, trip) in trips {
            if let Some(span) = spans.get_mut((at / length) as usize) {
                let has_queue = base.queueing(at, trip).is_some();
                span.has_queue = Some(span.has_queue.unwrap_or(true) && has_queue);
            }
        }
        let mean_rate = if mean.seconds < MIN_SPANS_OF_MEAN * length { 0.0 } else { mean.rate };
        let mut busy_rates: Vec<f64> =
            (0..spans.len()).filter_map(|number| busy_rate(&spans, number)).collect();
        busy_rates.sort_by(f64::total_cmp);
        Self { spans, busy_rates, mean_rate, length }
    }

    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns the rate of a span in bit/s, if the bottleneck was busy in all of it.
    pub(super) fn busy_rate(&self, number: usize) -> Option<f64> {
        busy_rate(&self.spans, number)
    }

    /// Returns the rates of the busy spans in bit/s, sorted.
    pub(super) fn busy_rates(&self) -> &[f64] {
        &self.busy_rates
    }

    /// Returns the median rate of the busy spans, if the path was filled. Where few spans have long round trips, and a lower rate than the mean of
    /// all, late answers of a host have made them long.
    pub(super) fn busy_median(&self) -> Option<f64> {
        let busy = &self.busy_rates;
        let median = *busy.get(busy.len() / 2).filter(|_| busy.len() >= FILLED_SPANS.0)?;
        let bytes: u64 = self.spans.iter().map(|span| span.bytes).sum();
        let mean = bytes as f64 * 8.0 / (self.length * self.len() as f64);
        (busy.len() as f64 >= FILLED_SPANS.1 * self.len() as f64 || median >= mean).then_some(median)
    }

    /// Returns true if the bottleneck had pauses while round trips were close to the longer of the two shortest ones of `change`: these are then no
    /// queueing delay. Without pauses there is a queue, and the rate is that of the bottleneck.
    pub(super) fn had_pauses(&self, change: &Change) -> bool {
        let has_risen = change.round_trips[1] > change.round_trips[0];
        let median = |mut rates: Vec<f64>| {
            rates.sort_by(f64::total_cmp);
            rates.get(rates.len() / 2).copied()
        };
        let side = |is_after: bool| {
            let is_on_it = move |number: &usize| (*number as f64 * self.length >= change.at) == is_after;
            (0..self.len()).filter(is_on_it)
        };
        let close = side(has_risen).filter(|number| self.spans[*number].has_queue == Some(false));
        let close = median(close.map(|number| self.rate(number)).collect());
        let busy_median = self.busy_rates.get(self.busy_rates.len() / 2).copied();
        let busy = busy_median.or_else(|| median(side(!has_risen).map(|number| self.rate(number)).collect()));
        close.zip(busy).is_none_or(|(close, busy)| close < PAUSED_RATE_SHARE * busy)
    }

    /// Returns the rate of what was acknowledged in a span, in bit/s.
    pub(super) fn rate(&self, number: usize) -> f64 {
        self.spans[number].bytes as f64 * 8.0 / self.length
    }

    /// Returns the highest rate in bit/s that the path certainly had in a span, or on average if that is more: acknowledgements may be few.
    pub(super) fn highest_rate(&self) -> f64 {
        let certain = self.spans.iter().map(|span| (span.bytes - span.first) as f64 * 8.0 / self.length);
        certain.fold(self.mean_rate, f64::max)
    }

    /// Returns for each span the rate of the nearest one that was busy; none without any.
    pub(super) fn nearest_rates(&self) -> Vec<f64> {
        let count = self.len();
        let known: Vec<(usize, f64)> =
            (0..count).filter_map(|number| Some((number, self.busy_rate(number)?))).collect();
        let nearest = |number: usize| {
            let at = known.partition_point(|of| of.0 < number);
            let around = known[at.saturating_sub(1)..known.len().min(at + 1)].iter();
            around.min_by_key(|of| of.0.abs_diff(number)).map(|of| of.1)
        };
        (0..count).map_while(nearest).collect()
    }
}

/// Returns the rate of a span in bit/s, if the bottleneck was busy in all of it: there was a queue in it and in those around it, as a queue that
/// starts or ends within a span did not last for all of it. The packets between the last acknowledgement of the span before and that of this one
/// left the bottleneck without a pause.
fn busy_rate(spans: &[Span], number: usize) -> Option<f64> {
    let around = spans.get(number.checked_sub(1)?..number + 2)?;
    let [before, span] = [around[0], around[1]];
    let is_busy =
        around.iter().all(|span| span.has_queue == Some(true)) && span.last > before.last && before.bytes > 0;
    is_busy.then(|| span.bytes as f64 * 8.0 / (span.last - before.last))
}

/// An acknowledged packet: time of the acknowledgement, in seconds, and size, in bytes.
pub(super) type Ack = (f64, u64);

/// Returns the acknowledged packets in the order of their acknowledgements.
pub(super) fn sorted_acks(recording: &Recording) -> Vec<Ack> {
    let packets = recording.packets.iter();
    let mut acks: Vec<Ack> =
        packets.filter_map(|packet| Some((packet.acknowledged?, u64::from(packet.size)))).collect();
    acks.sort_by(|a, b| a.0.total_cmp(&b.0));
    acks
}

/// Mean rate after the first acknowledgement until the last one.
#[derive(Clone, Copy, Debug)]
struct MeanRate {
    /// Rate, in bit/s; no number if the time is 0.
    rate: f64,
    /// Time between both, in seconds.
    seconds: f64,
}

impl MeanRate {
    fn of(acks: &[Ack]) -> Self {
        let (Some(&(first, _)), Some(&(last, _))) = (acks.first(), acks.last()) else {
            return Self { rate: 0.0, seconds: 0.0 };
        };
        let bytes: u64 = acks.iter().filter(|(at, _)| *at > first).map(|(_, bytes)| bytes).sum();
        Self { rate: bytes as f64 * 8.0 / (last - first), seconds: last - first }
    }
}

/// Returns the size of the largest packet, in bytes.
pub(super) fn largest(recording: &Recording) -> f64 {
    f64::from(recording.packets.iter().map(|packet| packet.size).max().unwrap_or(0))
}
