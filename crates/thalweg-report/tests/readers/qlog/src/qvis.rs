//! Requirements of qvis for opening and drawing a file, beyond the drafts. The rules paraphrase its loader
//! (`FileLoader.ts`, `QlogLoaderV2.ts`) and its congestion diagram; qvis itself is a web site, which cannot be
//! installed for a test.

use serde_json::Value;

/// Checks that qvis can open and draw the file.
pub fn opens(text: &str, qlog: &Value) -> Result<(), String> {
    // qvis detects the file type from the first 1024 characters.
    let head: String = text.chars().take(1024).collect();
    if !(head.contains("qlog_version") && head.contains("qlog_format")) {
        return Err("the beginning does not say that this is qlog".to_owned());
    }
    // Names of other formats would make it read lines or records.
    let format = qlog["qlog_format"].as_str();
    if format != Some("JSON") || head.contains("NDJSON") || head.contains("JSON-SEQ") {
        return Err(format!("the format {format:?} is not plain JSON"));
    }
    if !VERSIONS.contains(&qlog["qlog_version"].as_str().unwrap_or_default()) {
        return Err(format!("version {} is not opened", qlog["qlog_version"]));
    }
    let traces = qlog["traces"].as_array().ok_or("no list of traces")?;
    traces
        .iter()
        .enumerate()
        .try_for_each(|(at, of)| trace(of).map_err(|error| format!("trace {at}: {error}")))
}

/// Returns the events of all traces.
pub fn events(qlog: &Value) -> impl Iterator<Item = &Value> {
    qlog["traces"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|trace| trace["events"].as_array().into_iter().flatten())
}

fn trace(trace: &Value) -> Result<(), String> {
    // qvis takes a trace with `error_description` for an error message, and one with `event_fields` for a table of an
    // older draft.
    for member in ["error_description", "event_fields"] {
        if !trace[member].is_null() {
            return Err(format!("a member `{member}`"));
        }
    }
    let common = &trace["common_fields"];
    if common["time_format"] != "relative" || !common["reference_time"].is_number() {
        return Err("times are not relative to a number".to_owned());
    }
    let units = &trace["configuration"]["time_units"];
    if !(units.is_null() || units == "ms") {
        return Err(format!("times in {units}, where milliseconds are written"));
    }
    let point = trace["vantage_point"]["type"].as_str().unwrap_or_default();
    if !["client", "server"].contains(&point) {
        return Err(format!("a sender's side is `client` or `server`, not `{point}`"));
    }
    let events = trace["events"].as_array().ok_or("no list of events")?;
    // qvis reads the last event without checking that there is one.
    if events.is_empty() {
        return Err("no events".to_owned());
    }
    let mut before = f64::MIN;
    for (at, of) in events.iter().enumerate() {
        let time = event(of).map_err(|error| format!("event {at}: {error}"))?;
        // qvis warns about it, and sorts.
        if time < before {
            return Err(format!("event {at}: {time} ms after {before} ms"));
        }
        before = time;
    }
    Ok(())
}

/// Checks an event and returns its time.
fn event(event: &Value) -> Result<f64, String> {
    let time = event["time"].as_f64().ok_or("no time")?;
    // If the first event has a group id, qvis splits the trace by group.
    if !event["group_id"].is_null() {
        return Err("a group of its own".to_owned());
    }
    let name = event["name"].as_str().unwrap_or_default();
    let (category, kind) = name.split_once(':').ok_or("a name without a category")?;
    let data = &event["data"];
    match (category, kind) {
        ("transport", "packet_sent" | "packet_received") => packet(data, true)?,
        ("recovery", "packet_lost") => packet(data, false)?,
        ("recovery", "metrics_updated") => {
            let members = data.as_object().filter(|of| !of.is_empty()).ok_or("no metrics")?;
            if let Some((name, _)) = members.iter().find(|(_, value)| !value.is_number()) {
                return Err(format!("`{name}` is not a number"));
            }
        }
        _ => return Err(format!("nothing draws `{name}`")),
    }
    Ok(time)
}

/// Checks a packet: members as in draft 02, a packet number, and a size if `sized`.
fn packet(data: &Value, sized: bool) -> Result<(), String> {
    let header = &data["header"];
    let moved = [&data["packet_type"], &header["packet_size"], &header["payload_length"]];
    if moved.iter().any(|of| !of.is_null()) {
        return Err("members where draft 01 had them".to_owned());
    }
    let kind = header["packet_type"].as_str().ok_or("no type of packet")?;
    if kind != "unknown" && !header["packet_number"].is_u64() {
        return Err(format!("a packet of type {kind} without a number"));
    }
    if sized && !data["raw"]["length"].as_u64().is_some_and(|length| length > 0) {
        return Err("a packet without a size".to_owned());
    }
    for frame in data["frames"].as_array().ok_or("no list of frames")? {
        let kind = frame["frame_type"].as_str().ok_or("a frame without a type")?;
        let ranges = frame["acked_ranges"].as_array();
        let is_range = |of: &Value| match of.as_array().map(Vec::as_slice) {
            Some([first, last]) => {
                first.as_u64().zip(last.as_u64()).is_some_and(|(first, last)| first <= last)
            }
            _ => false,
        };
        if kind == "ack" && !ranges.is_some_and(|ranges| ranges.iter().all(is_range)) {
            return Err("an ACK frame without ranges from the lower to the higher number".to_owned());
        }
    }
    Ok(())
}

/// Versions accepted by its second loader; older ones are read as tables.
const VERSIONS: [&str; 4] = ["draft-02", "draft-02-RC1", "qlog-03-WIP", "0.3"];

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"qlog_version": "0.3", "qlog_format": "JSON", "traces": [{
        "vantage_point": {"type": "client"}, "common_fields": {"time_format": "relative", "reference_time": 0},
        "events": [
            {"time": 1, "name": "transport:packet_sent", "data": {"header": {"packet_type": "1RTT", "packet_number": 0},
             "raw": {"length": 9}, "frames": [{"frame_type": "ack", "acked_ranges": [[0, 1]]}]}},
            {"time": 2, "name": "recovery:metrics_updated", "data": {"congestion_window": 1}}]}]}"#;

    fn checked(text: &str) -> Result<(), String> {
        opens(text, &serde_json::from_str(text).unwrap())
    }

    #[test]
    fn each_rule_can_be_broken() {
        assert_eq!(checked(GOOD), Ok(()));
        for (good, bad) in [
            ("\"0.3\"", "\"0.4\""),
            ("\"JSON\"", "\"NDJSON\""),
            ("client", "router"),
            ("relative", "absolute"),
            ("\"reference_time\": 0", "\"reference_time\": \"noon\""),
            ("\"time\": 2", "\"time\": 0.5"),
            ("\"time\": 1,", "\"group_id\": 7, \"time\": 1,"),
            ("transport:packet_sent", "packet_sent"),
            ("transport:packet_sent", "transport:packet_made"),
            ("\"packet_number\": 0", "\"packet_size\": 9"),
            ("\"length\": 9", "\"length\": 0"),
            ("[[0, 1]]", "[[1, 0]]"),
            ("\"congestion_window\": 1", "\"congestion_window\": \"1\""),
        ] {
            let text = GOOD.replacen(good, bad, 1);
            assert!(text != GOOD && checked(&text).is_err(), "{bad}");
        }
        assert!(
            checked(r#"{"qlog_version": "0.3", "qlog_format": "JSON", "traces": [{"events": []}]}"#).is_err()
        );
    }
}
