//! What senders did as qlog, which qvis and other tools for QUIC open.
//!
//! The file follows draft-ietf-quic-qlog-main-schema-02 (a JSON file with `qlog_version` 0.3) and has one kind of
//! event of draft-ietf-quic-qlog-quic-events-01: `recovery:metrics_updated` (section 5.4.2 there). Each flow that has
//! series is a trace of its own, seen from its sender; an event holds what has changed since the one before. Windows,
//! which the simulator counts in segments, are given in bytes of payload as the draft asks.

use std::collections::BTreeMap;
use std::io::{self, Write};
use thalweg_proto::units::Time;
use thalweg_sim::spec::{Spec, TransportSpec};
use thalweg_sim::{Quantity, RunResult};

/// Writes the series of a run's senders as a qlog file titled `title`. Flows without window have no trace.
pub fn write_qlog<W: Write>(mut to: W, title: &str, spec: &Spec, result: &RunResult) -> io::Result<W> {
    write!(to, "{{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON\",\"title\":{}", quoted(title)?)?;
    write!(to, ",\"description\":\"thalweg, seed {}\",\"traces\":[", result.seed)?;
    let mut is_first = true;
    for (number, flow) in result.flows.iter().enumerate() {
        let group = spec.groups.get(flow.group as usize);
        let Some(TransportSpec::Window { scheme, sender, .. }) = group.map(|group| &group.transport) else {
            continue;
        };
        let events = events(result, number, f64::from(sender.segment));
        if events.is_empty() {
            continue;
        }
        to.write_all(if is_first { b"\n" } else { b",\n" })?;
        is_first = false;
        let name = quoted(&flow.name)?;
        write!(to, "{{\"title\":{name},\"description\":{},", quoted(scheme)?)?;
        write!(to, "\"vantage_point\":{{\"name\":\"sender\",\"type\":\"client\"}},")?;
        write!(
            to,
            "\"common_fields\":{{\"group_id\":{name},\"time_format\":\"relative\",\"reference_time\":0}},\"events\":["
        )?;
        for (position, (time, data)) in events.iter().enumerate() {
            to.write_all(if position == 0 { b"\n" } else { b",\n" })?;
            let millis = time.as_secs_f64() * 1000.0;
            write!(to, "{{\"time\":{millis},\"name\":\"recovery:metrics_updated\",\"data\":{{{data}}}}}")?;
        }
        to.write_all(b"]}")?;
    }
    to.write_all(b"]}\n")?;
    to.flush()?;
    Ok(to)
}

/// The changes of a flow's metrics, in order of time: the members of each event's data.
fn events(result: &RunResult, flow: usize, segment: f64) -> Vec<(Time, String)> {
    let mut points: BTreeMap<Time, Vec<(&str, f64)>> = BTreeMap::new();
    for series in result.series.iter().filter(|series| series.subject as usize == flow) {
        let (name, factor) = match series.quantity {
            Quantity::Window => ("congestion_window", segment),
            Quantity::InFlight => ("bytes_in_flight", segment),
            Quantity::Rtt => ("smoothed_rtt", 1000.0),
            Quantity::PacingRate => ("pacing_rate", 1.0),
            _ => continue,
        };
        let mut before = None;
        for (time, value) in &series.points {
            // Zero stands for a round-trip time that was not measured yet.
            let is_known = *value > 0.0 || series.quantity != Quantity::Rtt;
            if is_known && before != Some(*value) {
                points.entry(*time).or_default().push((name, value * factor));
                before = Some(*value);
            }
        }
    }
    let data = |(name, value): &(&str, f64)| match *name {
        "smoothed_rtt" => format!("\"{name}\":{value}"),
        _ => format!("\"{name}\":{:.0}", value),
    };
    points.into_iter().map(|(time, of)| (time, of.iter().map(data).collect::<Vec<_>>().join(","))).collect()
}

fn quoted(text: &str) -> io::Result<String> {
    Ok(serde_json::to_string(text)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::samples::{result, spec};
    use serde_json::{Value, json};
    use thalweg_proto::congestion::ControllerSpec;
    use thalweg_proto::window::{ReceiverConfig, SenderConfig};
    use thalweg_sim::Series;

    /// The sample with a window transport of 1000 bytes a segment in its second group.
    fn windows() -> Spec {
        let mut spec = spec();
        let mut bold = spec.groups[0].clone();
        bold.transport = TransportSpec::Window {
            scheme: "cubic".to_owned(),
            sender: SenderConfig { segment: 1000, ..SenderConfig::default() },
            receiver: ReceiverConfig::default(),
            controller: ControllerSpec::Fixed { window: 10.0 },
            header: 40,
            ack: 40,
        };
        spec.groups.push(bold);
        spec
    }

    #[test]
    fn changes_are_events_in_the_units_of_the_draft() {
        let mut result = result(7, 75);
        let at = |millis: u64| Time::from_picos(millis * 1_000_000_000);
        result.series.push(Series {
            quantity: Quantity::Rtt,
            subject: 2,
            points: vec![(at(0), 0.0), (at(100), 0.0205), (at(200), 0.0205), (at(300), 0.03)],
        });
        let bytes = write_qlog(Vec::new(), "a \"b\"", &windows(), &result).unwrap();
        let qlog: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!((&qlog["qlog_version"], &qlog["title"]), (&json!("0.3"), &json!("a \"b\"")));
        assert_eq!(qlog["traces"].as_array().unwrap().len(), 1, "only the flow with a window and series");
        let trace = &qlog["traces"][0];
        assert_eq!((&trace["title"], &trace["vantage_point"]["type"]), (&json!("bold"), &json!("client")));
        let event = |time, data| json!({"time": time, "name": "recovery:metrics_updated", "data": data});
        assert_eq!(
            trace["events"],
            json!([
                event(json!(0), json!({"congestion_window": 10_000})),
                event(json!(100), json!({"congestion_window": 12_500, "smoothed_rtt": 20.5})),
                event(json!(300), json!({"smoothed_rtt": 30})),
            ])
        );
    }
}
