//! Sender events in qlog format, for qvis and other QUIC tools.
//!
//! The file follows draft-ietf-quic-qlog-main-schema-02 (a JSON file with `qlog_version` 0.3). Its events are from
//! draft-ietf-quic-qlog-quic-events-01: `recovery:metrics_updated` (section 5.4.2 there) for flows with series, and
//! `transport:packet_sent`, `transport:packet_received` and `recovery:packet_lost` for recorded packets
//! ([`QlogPackets`]). Each connection is a trace from its sender's view: of a flow that opens one for every transfer, each
//! transfer, as their streams and packet numbers begin anew. Replies, if any, are another trace. Metrics hold the changes
//! since the previous event. Windows, which the simulator counts in segments, are in payload bytes as the draft requires.
//!
//! The description of a trace is its scheme; the field `thalweg_simulated_scheme` of its common fields has the scheme of the simulation with
//! all options, for `thalweg infer`.
//!
//! Protocols map to QUIC terms: a segment is a STREAM frame and a message a DATAGRAM frame. Acknowledgements of all
//! protocols are ACK frames with the numbers of newly acknowledged packets. Everything else is an unknown frame with
//! its protocol's own code.

mod live_sender_log;
mod packet_recording;
#[cfg(test)]
mod tests;

pub use live_sender_log::{LiveLog, Metrics};
pub use packet_recording::QlogPackets;

use packet_recording::{Event, EventKind, Frame};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use thalweg_catalog::{EndpointConfigs, Kind, Registry, Value};
use thalweg_proto::units::Time;
use thalweg_sim::simulation_spec::Spec;
use thalweg_sim::{Quantity, RunResult};

/// Writes the series and packets of a run's senders as a qlog file titled `title`. Flows without either get no trace.
pub fn write_qlog<W: Write>(
    mut to: W,
    title: &str,
    spec: &Spec,
    result: &RunResult,
    packets: &QlogPackets,
) -> io::Result<W> {
    write!(to, "{{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON\",\"title\":{}", json_string(title)?)?;
    let truncation = packets.truncated_at().map(|time| format!(", packets until {} s", time.as_secs_f64()));
    let truncation_text = truncation.unwrap_or_default();
    write!(to, ",\"description\":\"thalweg, seed {}{truncation_text}\",\"traces\":[", result.seed)?;
    let mut is_first = true;
    for (flow, is_reply) in sender_traces(result, packets) {
        let Some(group) = result.flows.get(flow as usize).map(|flow| flow.group as usize) else { continue };
        let ends = spec.groups.get(group).map(|group| &group.transport.endpoint_configs);
        let metrics = match ends {
            Some(EndpointConfigs::Window(config)) if !is_reply => {
                metric_changes(result, flow, f64::from(config.sender.segment))
            }
            _ => Vec::new(),
        };
        let scheme = result.groups.get(group).map_or("", |group| group.scheme.as_str());
        let simulated = ends.and_then(simulated_scheme).unwrap_or_default();
        let connections = packets.events_of(flow, is_reply);
        // Only flows with a single connection have metrics.
        for place in 0..connections.len().max(1) {
            let packets = connections.get(place).map_or(&[][..], Vec::as_slice);
            let metrics = if place == 0 { &metrics[..] } else { &[] };
            if metrics.is_empty() && packets.is_empty() {
                continue;
            }
            to.write_all(if is_first { b"\n" } else { b",\n" })?;
            is_first = false;
            let mut title = result.flows[flow as usize].name.clone();
            if connections.len() > 1 {
                title.push_str(&format!(", transfer {}", place + 1));
            }
            begin_trace(&mut to, &title, scheme, &simulated, is_reply)?;
            write_events(&mut to, packets, metrics)?;
            to.write_all(b"]}")?;
        }
    }
    to.write_all(b"]}\n")?;
    to.flush()?;
    Ok(to)
}

/// Returns the traces in order: flow number, and whether the sender is that of the replies.
fn sender_traces(result: &RunResult, packets: &QlogPackets) -> BTreeSet<(u32, bool)> {
    let of_flows = result.series.iter().filter(|series| series.quantity.is_of_flow());
    of_flows.map(|series| (series.subject, false)).chain(packets.senders()).collect()
}

/// Returns the scheme of simulated endpoints with all of its options, as text; `None` for one of another crate.
fn simulated_scheme(ends: &EndpointConfigs) -> Option<String> {
    let (description, values) = Registry::default().scheme_of(ends)?;
    let is_off = |table: &str| values.explicit_value(table) == Some(Value::Switch(false));
    // A table of keys implies its own switch, and a table switched off has no keys.
    let options = values.explicit_values().iter().filter(|(key, _)| match key.name.split_once('.') {
        Some((table, _)) => !is_off(table),
        None => !matches!(key.kind, Kind::Table(_)) || is_off(key.name),
    });
    let options: Vec<String> =
        options.map(|(key, value)| format!("{}={value}", key.name).replace(' ', "")).collect();
    let separator = if options.is_empty() { "" } else { ":" };
    Some(format!("{}{separator}{}", description.name, options.join(",")))
}

/// Begins the trace of `scheme`. `simulated` is the scheme with all options of a simulation, in a field of this project.
fn begin_trace(
    to: &mut dyn Write,
    flow: &str,
    scheme: &str,
    simulated: &str,
    is_reply: bool,
) -> io::Result<()> {
    let (title, name, kind) = match is_reply {
        false => (flow.to_owned(), "sender", "client"),
        true => (format!("{flow}, answers"), "sender of answers", "server"),
    };
    let title = json_string(&title)?;
    write!(to, "{{\"title\":{title},\"description\":{},", json_string(scheme)?)?;
    write!(to, "\"vantage_point\":{{\"name\":\"{name}\",\"type\":\"{kind}\"}},")?;
    write!(to, "\"common_fields\":{{")?;
    if !simulated.is_empty() {
        write!(to, "\"thalweg_simulated_scheme\":{},", json_string(simulated)?)?;
    }
    write!(to, "\"group_id\":{title},\"time_format\":\"relative\",\"reference_time\":0}},\"events\":[")
}

/// Writes both in time order; metrics come after packets of the same time.
fn write_events(to: &mut dyn Write, packets: &[Event], metrics: &[(Time, String)]) -> io::Result<()> {
    let mut packets = packets.iter().peekable();
    let mut metrics = metrics.iter().peekable();
    let mut separator = "\n";
    loop {
        let packet_is_next = match (packets.peek(), metrics.peek()) {
            (Some(packet), Some((time, _))) => packet.time <= *time,
            (packet, _) => packet.is_some(),
        };
        let (time, name, data) = if packet_is_next {
            let Some(packet) = packets.next() else { return Ok(()) };
            (packet.time, packet.name(), packet.data())
        } else {
            let Some((time, data)) = metrics.next() else { return Ok(()) };
            (*time, "recovery:metrics_updated", data.clone())
        };
        write!(
            to,
            "{separator}{{\"time\":{},\"name\":\"{name}\",\"data\":{{{data}}}}}",
            format_millis(time)
        )?;
        separator = ",\n";
    }
}

/// Formats a time in milliseconds, to the picosecond, without trailing zeros.
fn format_millis(time: Time) -> String {
    let picos = time.as_picos();
    let text = format!("{}.{:09}", picos / 1_000_000_000, picos % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Event {
    fn name(&self) -> &'static str {
        match self.kind {
            EventKind::Sent => "transport:packet_sent",
            EventKind::Received => "transport:packet_received",
            EventKind::Lost => "recovery:packet_lost",
        }
    }

    /// Returns the members of the event's data. A loss has no `raw`.
    fn data(&self) -> String {
        let header = match self.number {
            Some(number) => format!("\"packet_type\":\"1RTT\",\"packet_number\":{number}"),
            None => "\"packet_type\":\"unknown\"".to_owned(),
        };
        let raw = match self.kind {
            EventKind::Lost => String::new(),
            // The size was not counted.
            EventKind::Received if self.size == 0 => String::new(),
            EventKind::Sent | EventKind::Received => format!("\"raw\":{{\"length\":{}}},", self.size),
        };
        let frame = match &self.frame {
            Frame::Stream { offset, length } => {
                format!("\"stream\",\"stream_id\":0,\"offset\":{offset},\"length\":{length}")
            }
            Frame::Datagram { length } => format!("\"datagram\",\"length\":{length}"),
            Frame::Ack { ranges } => {
                let ranges: Vec<String> = ranges.iter().map(|(a, b)| format!("[{a},{b}]")).collect();
                format!("\"ack\",\"acked_ranges\":[{}]", ranges.join(","))
            }
            Frame::Other { code } => format!("\"unknown\",\"raw_frame_type\":{code}"),
        };
        format!("\"header\":{{{header}}},{raw}\"frames\":[{{\"frame_type\":{frame}}}]")
    }
}

/// Returns the changes of a flow's metrics in time order: the members of each event's data.
fn metric_changes(result: &RunResult, flow: u32, segment: f64) -> Vec<(Time, String)> {
    let mut points: BTreeMap<Time, Vec<(&str, f64)>> = BTreeMap::new();
    let of_flow =
        result.series.iter().filter(|series| series.quantity.is_of_flow() && series.subject == flow);
    for series in of_flow {
        let (name, factor) = match series.quantity {
            Quantity::Window => ("congestion_window", segment),
            Quantity::Ssthresh => ("ssthresh", segment),
            Quantity::InFlight => ("bytes_in_flight", segment),
            Quantity::Rtt => ("smoothed_rtt", 1000.0),
            Quantity::PacingRate => ("pacing_rate", 1.0),
            _ => continue,
        };
        let mut before = None;
        for (time, value) in &series.points {
            // Zero means that no round-trip time has been measured yet.
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

fn json_string(text: &str) -> io::Result<String> {
    Ok(serde_json::to_string(text)?)
}
