//! Series and packets of one direction of a traced connection.

use super::super::number_encoding::Numbers;
use super::levels_of_detail::{Bar, Levels};
use serde_json::{Map, Value, json};
use thalweg_proto::units::Duration;
use thalweg_trace::{Connection, Direction, Metric, Packet, View};

/// Direction of a connection as the page draws it.
pub(super) struct Subject {
    /// Name in legends.
    pub(super) label: String,
    /// Payload bytes.
    pub(super) volume: u64,
    /// Time of its last point, in seconds.
    pub(super) end: f64,
    series: Vec<(&'static str, &'static str, Levels)>,
    bars: Vec<(&'static str, Levels)>,
}

impl Subject {
    /// Returns a direction of a connection, its times shifted by `offset` seconds; `None` if nothing of it can be drawn.
    pub(super) fn new(connection: &Connection, direction: usize, offset: f64, label: String) -> Option<Self> {
        let data = &connection.directions[direction];
        let has_data = data.counts.payload.max(data.counts.delivered) > 0 || !data.metrics.is_empty();
        if !has_data {
            return None;
        }
        let end = connection.end.as_secs_f64() + offset;
        let mut subject = Self {
            label,
            volume: data.counts.payload.max(data.counts.delivered),
            end,
            series: Vec::new(),
            bars: Vec::new(),
        };
        subject.packets(data, offset);
        subject.lines(connection, data, offset);
        Some(subject)
    }

    fn add(&mut self, quantity: &'static str, unit: &'static str, points: impl Iterator<Item = (f64, f64)>) {
        let levels = Levels::from_points(points);
        if !levels.is_empty() {
            self.series.push((quantity, unit, levels));
        }
    }

    fn packets(&mut self, data: &Direction, offset: f64) {
        let bar = |packet: &Packet| -> Bar {
            (packet.time.as_secs_f64() + offset, packet.position as f64, packet.end() as f64)
        };
        let packets = |is_of: fn(&Packet) -> bool| {
            Levels::from_bars(data.packets.iter().filter(move |packet| is_of(packet)).map(bar))
        };
        let sacks = |is_duplicate: bool| {
            let ranges = data.sacks.iter().filter(move |sack| sack.is_duplicate == is_duplicate);
            Levels::from_bars(
                ranges.map(|sack| (sack.time.as_secs_f64() + offset, sack.start as f64, sack.end as f64)),
            )
        };
        let layers = [
            ("packets", packets(|packet| !packet.is(Packet::RETRANSMISSION | Packet::ARRIVED_LATE))),
            ("again", packets(|packet| packet.is(Packet::RETRANSMISSION))),
            ("late", packets(|packet| packet.is(Packet::ARRIVED_LATE))),
            ("lost", packets(Packet::is_lost_on_path)),
            ("sacks", sacks(false)),
            ("duplicates", sacks(true)),
        ];
        self.bars.extend(layers.into_iter().filter(|(_, levels)| !levels.is_empty()));
    }

    fn lines(&mut self, connection: &Connection, data: &Direction, offset: f64) {
        let acks = || data.acks.iter().map(|ack| (ack.time.as_secs_f64() + offset, ack));
        self.add("acked", "B", acks().map(|(time, ack)| (time, ack.position as f64)));
        if data.has_window {
            let known = acks().filter(|(_, ack)| ack.edge != u64::MAX);
            self.add("window-edge", "B", known.map(|(time, ack)| (time, ack.edge as f64)));
        }
        // Rates over a thousandth of the time, but some round trips at least.
        let (start, whole) = (connection.start.as_secs_f64(), connection.duration().as_secs_f64());
        let trip = data.rtt_samples().iter().map(|sample| sample.1).min().map_or(0.0, Duration::as_secs_f64);
        let step = (whole / 1000.0).max(trip).max(0.01).max(whole / 1e5);
        let sent = data.packets.iter().map(|packet| (packet.time.as_secs_f64(), f64::from(packet.size)));
        self.add(
            "throughput",
            "bit/s",
            interval_rates(sent, start, whole, step).map(|(time, rate)| (time + offset, rate)),
        );
        let arrived: Vec<(f64, f64)> = match data.view {
            View::Receiver => {
                let new = data.packets.iter().filter(|packet| !packet.is(Packet::RETRANSMISSION));
                new.map(|packet| (packet.time.as_secs_f64(), f64::from(packet.length))).collect()
            }
            View::Sender | View::Between => {
                let first = data.acks.first().map_or(0, |ack| ack.position);
                let positions = core::iter::once(first).chain(data.acks.iter().map(|ack| ack.position));
                let steps = positions.zip(&data.acks);
                steps
                    .map(|(before, ack)| (ack.time.as_secs_f64(), ack.position.saturating_sub(before) as f64))
                    .collect()
            }
        };
        if data.packets.is_empty() {
            // A counter, read at intervals.
            let pairs = data.acks.windows(2).filter(|pair| pair[1].time > pair[0].time);
            let rates: Vec<(f64, f64)> = pairs
                .map(|pair| {
                    let bytes = pair[1].position.saturating_sub(pair[0].position) as f64;
                    let span = pair[1].time.since(pair[0].time).as_secs_f64();
                    (pair[1].time.as_secs_f64() + offset, bytes * 8.0 / span)
                })
                .collect();
            self.add("goodput", "bit/s", rates.into_iter());
            return self.estimates(data, offset);
        }
        self.add(
            "goodput",
            "bit/s",
            interval_rates(arrived.into_iter(), start, whole, step).map(|(time, rate)| (time + offset, rate)),
        );
        self.estimates(data, offset);
    }

    /// Adds the sender's estimates, and round-trip times.
    fn estimates(&mut self, data: &Direction, offset: f64) {
        let metrics = [
            (Metric::Window, "window", "B"),
            (Metric::Ssthresh, "ssthresh", "B"),
            (Metric::SmoothedRtt, "rtt", "s"),
            (Metric::PacingRate, "pacing-rate", "bit/s"),
            (Metric::DeliveryRate, "delivery-rate", "bit/s"),
            (Metric::Unsent, "unsent", "B"),
        ];
        for (metric, quantity, unit) in metrics {
            let points = data.metrics.get(&metric).into_iter().flatten();
            self.add(quantity, unit, points.map(|(time, value)| (time.as_secs_f64() + offset, *value)));
        }
        self.add(
            "in-flight",
            "B",
            data.in_flight().map(|(time, bytes)| (time.as_secs_f64() + offset, bytes)),
        );
        let samples = data.rtt_samples().iter();
        self.add(
            "rtt-sample",
            "s",
            samples.map(|(time, trip)| (time.as_secs_f64() + offset, trip.as_secs_f64())),
        );
    }

    pub(super) fn levels(&self) -> impl Iterator<Item = &Levels> {
        self.series.iter().map(|series| &series.2).chain(self.bars.iter().map(|bars| &bars.1))
    }

    pub(super) fn levels_mut(&mut self) -> impl Iterator<Item = &mut Levels> {
        self.series.iter_mut().map(|series| &mut series.2).chain(self.bars.iter_mut().map(|bars| &mut bars.1))
    }

    /// Adds the series and the bars to the data of the page.
    pub(super) fn write(
        &self,
        times: &mut Vec<Numbers>,
        series: &mut Vec<Value>,
        bars: &mut Map<String, Value>,
    ) {
        for (quantity, unit, levels) in &self.series {
            let Some((tile, finer)) = levels.split() else { continue };
            let (at, values) = tile.columns();
            let mut value = json!({
                "scheme": "", "seed": 0, "quantity": quantity, "unit": unit, "subject": self.label,
                "times": times.len(), "values": values,
            });
            if !finer.is_empty() {
                value["levels"] = json!(finer);
            }
            times.push(at.clone());
            series.push(value);
        }
        let layers: Map<String, Value> =
            self.bars.iter().map(|(name, levels)| ((*name).to_owned(), levels.value())).collect();
        bars.insert(self.label.clone(), layers.into());
    }
}

/// Returns rates in bit/s over intervals of `step` seconds, each at the end of its interval; `amounts` are in the order of time.
fn interval_rates(
    amounts: impl Iterator<Item = (f64, f64)>,
    start: f64,
    whole: f64,
    step: f64,
) -> impl Iterator<Item = (f64, f64)> {
    let count = (whole / step).ceil() as usize;
    let mut bytes = vec![0.0; count];
    let mut has_any = false;
    for (time, amount) in amounts {
        let place = ((time - start) / step) as usize;
        if let Some(last) = count.checked_sub(1) {
            bytes[place.min(last)] += amount;
            has_any = true;
        }
    }
    let count = if has_any { count } else { 0 };
    bytes
        .into_iter()
        .take(count)
        .enumerate()
        .map(move |(number, bytes)| {
            // The last interval may be shorter.
            let end = ((number + 1) as f64 * step).min(whole);
            let span = (end - number as f64 * step).max(1e-9);
            (start + end, if span * 4.0 < step { f64::NAN } else { bytes * 8.0 / span })
        })
        .filter(|point| point.1.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_bits_by_the_length_of_intervals() {
        let amounts = [(10.0, 1000.0), (10.05, 1000.0), (10.15, 500.0)];
        let found: Vec<_> = interval_rates(amounts.into_iter(), 10.0, 0.2, 0.1).collect();
        assert_eq!(found.len(), 2);
        assert!((found[0].1 - 160_000.0).abs() < 1.0 && (found[1].1 - 40_000.0).abs() < 1.0, "{found:?}");
        assert_eq!(interval_rates([].into_iter(), 0.0, 1.0, 0.1).count(), 0);
    }
}
