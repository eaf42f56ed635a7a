//! Pages of traces: connections recorded by any program, drawn by the plots of reports.

mod direction_series;
mod levels_of_detail;
mod trace_from_series;
mod trace_page_text;

use super::html_text_and_pages::{self, Page};
use direction_series::Subject;
use levels_of_detail::Levels;
use serde::Serialize;
use serde_json::{Value, json};
use thalweg_trace::{Connection, Trace};
pub use trace_from_series::trace_of_results;

/// Trace with the name of its file.
#[derive(Clone, Copy, Debug)]
pub struct NamedTrace<'a> {
    /// Name of the file.
    pub name: &'a str,
    /// Its content.
    pub trace: &'a Trace,
}

/// Connection with its place in the page.
#[derive(Clone, Copy)]
struct PlacedConnection<'a> {
    /// Index of the file.
    file: usize,
    connection: &'a Connection,
    /// Seconds to add to its times.
    offset: f64,
}

/// Data of a page, in the form that the scripts of reports read.
#[derive(Serialize)]
struct Model {
    duration_s: f64,
    warmup_s: f64,
    schemes: [&'static str; 0],
    seeds: [u64; 1],
    runs: [Value; 1],
    flow_columns: [&'static str; 1],
    link_columns: [&'static str; 3],
    bounds: Value,
    times: Vec<super::number_encoding::Numbers>,
    series: Vec<Value>,
    t975: [f64; 0],
    /// Subjects shown first.
    chosen: Vec<String>,
    /// Packets and their outcomes by subject: layers of bars, each with its levels of detail.
    bars: serde_json::Map<String, Value>,
    plot_notes: Vec<String>,
}

/// Returns the page of traces.
pub fn trace_page(shown: &[NamedTrace<'_>], version: &str) -> String {
    let (placed, omitted) = largest_connections(shown);
    let several = shown.len() > 1;
    let mut subjects: Vec<Subject> = Vec::new();
    for (number, one) in placed.iter().enumerate() {
        for direction in 0..2 {
            let label = direction_label(shown, one, direction, number, several);
            subjects.extend(Subject::new(one.connection, direction, one.offset, label));
        }
    }
    let mut notes = vec![
        "Packets are vertical bars from their first to their last byte; orange ones carry data sent before, crosses are packets taken for lost, violet bars were selectively acknowledged. Lines are the acknowledged position and, dashed, the edge of the receive window.".to_owned(),
    ];
    if limit_page_size(&mut subjects) {
        notes.push("The finest detail of the longest series is left out, to bound the size of this page: neighbouring points are merged to their smallest and largest.".to_owned());
    }
    if omitted > 0 {
        notes.push(format!("{omitted} smaller connections are not drawn; --connection draws a single one."));
    }
    let data = trace_page_model(&subjects, notes);
    // Numbers and strings always serialise to JSON; nothing in it can end a script.
    let data = serde_json::to_string(&data).unwrap_or_default().replace('<', "\\u003c");
    let body = trace_page_text::page_body(shown, &placed);
    let names: Vec<&str> = shown.iter().map(|one| one.name).collect();
    let connections: usize = shown.iter().map(|one| one.trace.connections.len()).sum();
    let subtitle = match connections {
        1 => "1 connection".to_owned(),
        count => format!("{count} connections"),
    };
    let title = names.join(", ");
    Page { title: &title, subtitle: &subtitle, body: &body, data: Some(&data), version }
        .render_with(html_text_and_pages::TRACE_SCRIPTS)
}

/// Returns the script of every page of traces, for the security policy of a page that shows one in a frame.
pub fn trace_script() -> String {
    html_text_and_pages::join_scripts(html_text_and_pages::TRACE_SCRIPTS)
}

/// Returns the connections with most data, in their order, and the number of others.
fn largest_connections<'a>(shown: &[NamedTrace<'a>]) -> (Vec<PlacedConnection<'a>>, usize) {
    let mut all: Vec<PlacedConnection<'a>> = Vec::new();
    for (file, one) in shown.iter().enumerate() {
        let connections = one.trace.connections.iter();
        all.extend(connections.map(|connection| PlacedConnection { file, connection, offset: 0.0 }));
    }
    let volume =
        |one: &PlacedConnection<'_>| one.connection.directions.iter().map(|of| of.counts.bytes).sum::<u64>();
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|index| core::cmp::Reverse(volume(&all[*index])));
    order.truncate(MAX_CONNECTIONS);
    order.sort_unstable();
    let omitted = all.len() - order.len();
    let mut placed: Vec<PlacedConnection<'a>> = order.into_iter().map(|index| all[index]).collect();
    // Both ends of one connection are on the wall clock; other files begin at zero each.
    let epoch = |one: &PlacedConnection<'_>| shown[one.file].trace.epoch;
    let offsets: Vec<f64> = placed
        .iter()
        .map(|one| {
            let ends = placed
                .iter()
                .filter(|other| other.connection.id == one.connection.id && !one.connection.id.is_empty());
            let epochs: Option<Vec<f64>> = ends.map(epoch).collect();
            let first = epochs.into_iter().flatten().fold(f64::INFINITY, f64::min);
            let offset = epoch(one).map_or(0.0, |own| own - first);
            if (0.0..MAX_OFFSET).contains(&offset) { offset } else { 0.0 }
        })
        .collect();
    for (one, offset) in placed.iter_mut().zip(offsets) {
        one.offset = offset;
    }
    (placed, omitted)
}

/// Returns the label of a direction: its sender, and what distinguishes it from others.
fn direction_label(
    shown: &[NamedTrace<'_>],
    placed: &PlacedConnection<'_>,
    direction: usize,
    number: usize,
    several: bool,
) -> String {
    let from = &placed.connection.directions[direction].from;
    let to = &placed.connection.directions[1 - direction].from;
    let file = if several { format!("{}: ", shown[placed.file].name) } else { String::new() };
    let named = format!("{file}{from} → {to}");
    let is_unique = shown
        .iter()
        .flat_map(|one| &one.trace.connections)
        .filter(|other| other.name == placed.connection.name)
        .count()
        < 2;
    if is_unique || several { named } else { format!("{}. {named}", number + 1) }
}

/// Removes the finest levels of the longest layers until the page has at most [`MAX_BYTES`]; true if any was removed.
fn limit_page_size(subjects: &mut [Subject]) -> bool {
    let mut is_cut = false;
    loop {
        let all = || subjects.iter().flat_map(Subject::levels);
        if all().map(Levels::size).sum::<usize>() <= MAX_BYTES {
            return is_cut;
        }
        let Some(largest) = all().filter(|levels| levels.can_shrink()).map(Levels::size).max() else {
            return is_cut;
        };
        let mut found = subjects.iter_mut().flat_map(Subject::levels_mut);
        if let Some(levels) = found.find(|levels| levels.can_shrink() && levels.size() == largest) {
            levels.shrink();
            is_cut = true;
        }
    }
}

fn trace_page_model(subjects: &[Subject], plot_notes: Vec<String>) -> Model {
    let mut times = Vec::new();
    let mut series = Vec::new();
    let mut bars = serde_json::Map::new();
    for subject in subjects {
        subject.write(&mut times, &mut series, &mut bars);
    }
    let rows: Vec<Value> = subjects.iter().map(|subject| json!([subject.label])).collect();
    let end = subjects.iter().map(|subject| subject.end).fold(0.0, f64::max);
    let mut order: Vec<&Subject> = subjects.iter().collect();
    order.sort_by_key(|subject| core::cmp::Reverse(subject.volume));
    let chosen =
        order.iter().take(DIRECTIONS_SHOWN_FIRST).filter(|subject| subject.volume * 20 >= order[0].volume);
    Model {
        duration_s: end,
        warmup_s: 0.0,
        schemes: [],
        seeds: [0],
        runs: [json!({ "scheme": "", "seed": 0, "flows": rows, "links": [], "flow_count": subjects.len() })],
        flow_columns: ["name"],
        link_columns: ["name", "from", "to"],
        bounds: json!({ "flows": {}, "links": {} }),
        times,
        series,
        t975: [],
        chosen: chosen.map(|subject| subject.label.clone()).collect(),
        bars,
        plot_notes,
    }
}

/// Maximum number of connections that are drawn.
const MAX_CONNECTIONS: usize = 24;
/// Number of directions shown first.
const DIRECTIONS_SHOWN_FIRST: usize = 4;
/// Maximum size of a page's series, in bytes.
const MAX_BYTES: usize = 40 << 20;
/// Maximum time between the traces of both ends, in seconds.
const MAX_OFFSET: f64 = 86_400.0;

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_trace::{Limits, read};

    /// A log of two thousand packets, one of them lost, with `</script>` in its names.
    fn log(reference: u32) -> Trace {
        let mut text = format!(
            "{{\"qlog_version\":\"0.3\",\"title\":\"</script>\",\"traces\":[{{\"common_fields\":{{\"ODCID\":\"7\",\"reference_time\":{}}},\"vantage_point\":{{\"type\":\"client\"}},\"events\":[",
            1_700_000_000_000u64 + u64::from(reference)
        );
        for number in 0..2000 {
            text.push_str(&format!(
                "{{\"time\":{number},\"name\":\"transport:packet_sent\",\"data\":{{\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{number}}},\"raw\":{{\"length\":1200}},\"frames\":[{{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":{},\"length\":1000}}]}}}},",
                number * 1000
            ));
            let acked = format!("[[{number},{number}]]");
            if number != 700 {
                text.push_str(&format!("{{\"time\":{number}.5,\"name\":\"transport:packet_received\",\"data\":{{\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{number}}},\"frames\":[{{\"frame_type\":\"ack\",\"acked_ranges\":{acked}}}]}}}},"));
            }
        }
        text.push_str("{\"time\":2001,\"name\":\"recovery:packet_lost\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":700}}}]}]}");
        read(&mut text.as_bytes(), &Limits::default()).unwrap()
    }

    fn data(page: &str) -> Value {
        let start = page.find("id=\"data\">").unwrap() + 10;
        let text = &page[start..];
        serde_json::from_str(&text[..text.find("</script>").unwrap()]).unwrap()
    }

    #[test]
    fn a_page_has_the_packets_and_loads_nothing() {
        let trace = log(0);
        let shown = [NamedTrace { name: "a<b.qlog", trace: &trace }];
        let page = trace_page(&shown, "1");
        for loads in ["src=\"", "href=\"", "@import", "fetch(", "XMLHttpRequest", "import(", "WebSocket"] {
            assert!(!page.contains(loads), "{loads}");
        }
        assert!(page.contains("a&lt;b.qlog") && !page.contains("a<b.qlog"));
        let model = data(&page);
        let subject = model["chosen"][0].as_str().unwrap();
        let bars = &model["bars"][subject];
        let count = |layer: &str| {
            let tiles = bars[layer][0].as_array().unwrap();
            tiles.iter().map(|tile| tile["times"]["count"].as_u64().unwrap()).sum::<u64>()
        };
        assert_eq!((count("packets"), count("lost")), (2000, 1));
        let quantities: Vec<&str> = model["series"]
            .as_array()
            .unwrap()
            .iter()
            .map(|series| series["quantity"].as_str().unwrap())
            .collect();
        for quantity in ["acked", "goodput", "throughput", "rtt-sample", "in-flight"] {
            assert!(quantities.contains(&quantity), "{quantities:?}");
        }
        assert!(page.contains(&format!("<script>{}</script>\n</body>", trace_script())));
        assert_eq!(page, trace_page(&shown, "1"), "the same trace gives the same bytes");
    }

    #[test]
    fn both_ends_are_on_one_clock() {
        let (one, other) = (log(0), log(1500));
        let shown =
            [NamedTrace { name: "client", trace: &one }, NamedTrace { name: "server", trace: &other }];
        let (placed, omitted) = largest_connections(&shown);
        assert_eq!((placed[0].offset, omitted), (0.0, 0));
        assert!((placed[1].offset - 1.5).abs() < 1e-3, "{}", placed[1].offset);
        assert!((data(&trace_page(&shown, "1"))["duration_s"].as_f64().unwrap() - 3.501).abs() < 0.01);
    }
}
