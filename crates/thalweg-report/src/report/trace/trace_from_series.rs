//! Series of this project's runs as a trace: one connection for each flow.

use super::super::report_series::{AllSeries, RunSeries};
use std::collections::BTreeMap;
use thalweg_proto::units::{Duration, Time};
use thalweg_trace::{Ack, Connection, Format, Limits, Metric, Point, Protocol, Trace, View};

/// Returns the flows of results as connections, with the sender's estimates and the data delivered; `None` if no flow has series.
/// `segment` returns the payload of a packet of a flow, in bytes, if known. Links are left out, with a note.
pub fn trace_of_results(series: &AllSeries, segment: impl Fn(&str) -> Option<u32>) -> Option<Trace> {
    let mut flows: BTreeMap<(&str, u64, &str), Connection> = BTreeMap::new();
    let (mut links, mut beyond) = (0, 0);
    let limit = Limits::default().connections;
    for one in series.all() {
        let Some(quantity) = Quantity::from_series(one) else {
            links += 1;
            continue;
        };
        let key = (one.scheme.as_str(), one.seed, one.subject.as_str());
        if flows.len() >= limit && !flows.contains_key(&key) {
            beyond += 1;
            continue;
        }
        let connection = flows.entry(key).or_insert_with(|| new_connection(one, segment(&one.subject)));
        add_series(connection, quantity, one);
    }
    let mut notes = Vec::new();
    if links > 0 {
        notes.push("Series of links are not shown here; `thalweg report` draws them.".to_owned());
    }
    if beyond > 0 {
        notes.push(format!("{beyond} series of further flows were skipped."));
    }
    let connections: Vec<Connection> = flows.into_values().collect();
    (!connections.is_empty()).then_some(Trace {
        format: Format::Results,
        connections,
        epoch: None,
        notes,
        is_cut: false,
    })
}

/// Quantity of a flow.
#[derive(Clone, Copy)]
enum Quantity {
    /// An estimate, with the factor from segments to its unit where it is a number of segments.
    Metric(Metric, bool),
    /// Bit/s since the point before.
    Goodput,
}

impl Quantity {
    fn from_series(one: &RunSeries) -> Option<Self> {
        Some(match one.quantity.as_str() {
            "window" => Self::Metric(Metric::Window, true),
            "ssthresh" => Self::Metric(Metric::Ssthresh, true),
            "in-flight" => Self::Metric(Metric::InFlight, true),
            "rtt" => Self::Metric(Metric::SmoothedRtt, false),
            "pacing-rate" => Self::Metric(Metric::PacingRate, false),
            "goodput" => Self::Goodput,
            _ => return None,
        })
    }
}

fn new_connection(one: &RunSeries, segment: Option<u32>) -> Connection {
    let parts = [one.scheme.as_str(), one.subject.as_str()];
    let name = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let mut connection = Connection {
        name: format!("{name}, seed {}", one.seed),
        protocol: Protocol::Simulated,
        point: Point::Client,
        writer: Some("thalweg".to_owned()),
        scheme: Some(one.scheme.clone()).filter(|scheme| !scheme.is_empty()),
        start: Time::MAX,
        ..Connection::default()
    };
    let [source, sink] = &mut connection.directions;
    source.from = format!("source of {name}");
    sink.from = format!("sink of {name}");
    (source.view, sink.view) = (View::Sender, View::Receiver);
    source.segment = segment;
    if segment.is_none() {
        connection.notes.push(format!(
            "The size of a segment is not known: windows are converted with {SEGMENT} B a segment."
        ));
    }
    connection
}

/// Adds a series to its flow. Values that are not numbers are left out.
fn add_series(connection: &mut Connection, quantity: Quantity, one: &RunSeries) {
    let direction = &mut connection.directions[0];
    let segment = f64::from(direction.segment.unwrap_or(SEGMENT));
    let mut before = 0.0;
    let mut delivered = 0.0;
    for (time, value) in one.times.iter().zip(&one.values) {
        let is_valid = time.is_finite() && value.is_finite() && (before..MAX_SECONDS).contains(time);
        if !is_valid || *value < 0.0 {
            continue;
        }
        let at = Time::ZERO + Duration::from_secs_f64(*time);
        connection.start = connection.start.min(at);
        connection.end = connection.end.max(at);
        match quantity {
            Quantity::Metric(metric, is_in_segments) => {
                let value = if is_in_segments { value * segment } else { *value };
                direction.metrics.entry(metric).or_default().push((at, value));
            }
            Quantity::Goodput => {
                delivered += value * (time - before) / 8.0;
                direction.acks.push(Ack { time: at, position: delivered as u64, edge: u64::MAX });
            }
        }
        before = *time;
    }
    if matches!(quantity, Quantity::Goodput) {
        let counts = &mut direction.counts;
        // The series do not show what was sent, and sent again.
        counts.delivered = delivered as u64;
    }
    connection.start = connection.start.min(connection.end);
}

/// Segment size where none is known, in bytes.
const SEGMENT: u32 = 1448;
/// Maximum time, in seconds: the range of times.
const MAX_SECONDS: f64 = 200.0 * 86_400.0;

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_trace::Summary;

    #[test]
    fn a_flow_of_results_is_a_connection() {
        let text = "scheme,seed,quantity,unit,subject,time_s,value\n\
            cubic,1,window,segment,bold,1,10\ncubic,1,window,segment,bold,2,NaN\ncubic,1,window,segment,bold,3,12\n\
            cubic,1,goodput,bit/s,bold,1,8000\ncubic,1,goodput,bit/s,bold,3,16000\n\
            cubic,1,rtt,s,bold,1,0.25\ncubic,1,queue-packets,pkt,link,1,3\n";
        let series = AllSeries::from_csv(text).unwrap();
        let trace = trace_of_results(&series, |flow| (flow == "bold").then_some(1000)).unwrap();
        assert_eq!((trace.connections.len(), trace.notes.len()), (1, 1));
        let connection = &trace.connections[0];
        assert_eq!((&*connection.name, connection.scheme.as_deref()), ("cubic bold, seed 1", Some("cubic")));
        let direction = &connection.directions[0];
        let windows: Vec<f64> = direction.metrics[&Metric::Window].iter().map(|point| point.1).collect();
        assert_eq!(windows, [10_000.0, 12_000.0]);
        // 1 s at 8 kbit/s and 2 s at 16 kbit/s.
        assert_eq!(direction.counts.delivered, 5000);
        let summary = Summary::from_connection(connection, 0);
        assert_eq!(summary.rtt.unwrap().median, Duration::from_millis(250));
        assert_eq!((summary.delivered, summary.retransmitted_share, summary.lost), (Some(5000), None, None));
        assert!(trace_of_results(&AllSeries::default(), |_| None).is_none());
    }
}
