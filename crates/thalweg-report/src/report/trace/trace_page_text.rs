//! The page's text: connections and their figures, findings, notes.

use super::{NamedTrace, PlacedConnection, direction_label};
use crate::output::{format_count, format_rate};
use crate::report::html_text_and_pages::escape;
use core::fmt::Write as _;
use thalweg_proto::units::Duration;
use thalweg_trace::{Summary, find_all};

/// Returns the body of the page.
pub(super) fn page_body(shown: &[NamedTrace<'_>], placed: &[PlacedConnection<'_>]) -> String {
    let mut html = String::new();
    for one in shown {
        for note in &one.trace.notes {
            let class = if one.trace.is_cut { "warning" } else { "note" };
            let _ = writeln!(html, "<p class=\"{class}\">{}: {}</p>", escape(one.name), escape(note));
        }
    }
    write_connections(&mut html, shown, placed);
    write_findings(&mut html, shown, placed);
    html.push_str("<noscript><p class=\"warning\">Plots need JavaScript.</p></noscript>\n");
    html.push_str("<section id=\"plots\" aria-label=\"Plots\"></section>\n");
    html
}

/// Formats a duration in milliseconds.
fn format_ms(duration: Duration) -> String {
    let millis = duration.as_millis_f64();
    if millis < 10.0 { format!("{millis:.2} ms") } else { format!("{millis:.0} ms") }
}

fn write_connections(html: &mut String, shown: &[NamedTrace<'_>], placed: &[PlacedConnection<'_>]) {
    html.push_str("<section id=\"answer\" aria-label=\"Connections\">\n<div class=\"wide\"><table class=\"sortable\"><thead><tr>");
    for head in [
        "Data of",
        "Protocol",
        "Recorded at",
        "Duration",
        "Delivered",
        "Goodput",
        "Retransmitted",
        "Lost",
        "RTT min",
        "Median",
        "99 %",
    ] {
        let _ = write!(html, "<th>{head}</th>");
    }
    html.push_str("</tr></thead><tbody>\n");
    for (number, one) in placed.iter().enumerate() {
        for direction in 0..2 {
            let summary = Summary::from_connection(one.connection, direction);
            if summary.delivered == Some(0) && one.connection.main_direction() != direction {
                continue;
            }
            let name = escape(&direction_label(shown, one, direction, number, shown.len() > 1));
            let protocol = one.connection.protocol.name();
            let _ = write!(
                html,
                "<tr><td>{name}</td><td>{protocol}</td><td>{}</td>",
                one.connection.point.name()
            );
            let trip = |of: fn(&thalweg_trace::RttSummary) -> Duration| {
                summary.rtt.as_ref().map(|rtt| (of(rtt).as_secs_f64(), format_ms(of(rtt))))
            };
            let seconds = summary.duration.as_secs_f64();
            let cells = [
                Some((seconds, format!("{seconds:.2} s"))),
                summary.delivered.map(|bytes| (bytes as f64, format_bytes(bytes))),
                summary.goodput.map(|rate| (rate.as_f64(), format_rate(rate.as_f64()))),
                summary.retransmitted_share.map(|share| (share, format!("{:.2} %", share * 100.0))),
                summary.lost.map(|packets| (packets as f64, packets.to_string())),
                trip(|rtt| rtt.min),
                trip(|rtt| rtt.median),
                trip(|rtt| rtt.p99),
            ];
            for cell in cells {
                match cell {
                    Some((value, text)) => {
                        let _ = write!(html, "<td class=\"number\" data-value=\"{value}\">{text}</td>");
                    }
                    None => html.push_str("<td class=\"number\">–</td>"),
                }
            }
            html.push_str("</tr>\n");
        }
    }
    html.push_str("</tbody></table></div>\n");
    for (number, one) in placed.iter().enumerate() {
        for note in &one.connection.notes {
            let name = direction_label(shown, one, 0, number, shown.len() > 1);
            let _ = writeln!(html, "<p class=\"note\">{}: {}</p>", escape(&name), escape(note));
        }
    }
    html.push_str("</section>\n");
}

/// Formats a number of bytes.
fn format_bytes(count: u64) -> String {
    match count {
        0..1000 => format!("{count} B"),
        1000..1_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.2} MB", count as f64 / 1e6),
        _ => format!("{:.3} GB", count as f64 / 1e9),
    }
}

fn write_findings(html: &mut String, shown: &[NamedTrace<'_>], placed: &[PlacedConnection<'_>]) {
    let mut count = 0;
    let mut items = String::new();
    for (number, one) in placed.iter().enumerate() {
        for direction in 0..2 {
            let name = direction_label(shown, one, direction, number, shown.len() > 1);
            for finding in find_all(one.connection, direction) {
                count += 1;
                let [from, to] = [finding.start, finding.end].map(|time| time.as_secs_f64() + one.offset);
                let _ = writeln!(
                    items,
                    "<li><b>{}</b>, {}: {} (<button type=\"button\" class=\"place\" data-from=\"{from}\" data-to=\"{to}\" data-subject=\"{}\">{from:.3} s to {to:.3} s</button>). <span class=\"note\">{}.</span></li>",
                    finding.kind.title(),
                    escape(&name),
                    escape(&finding.evidence),
                    escape(&name),
                    escape(finding.kind.reference())
                );
            }
        }
    }
    let _ = writeln!(
        html,
        "<section id=\"findings\" aria-label=\"Findings\"><h2>{}</h2>",
        format_count(count, "finding")
    );
    if count == 0 {
        html.push_str(
            "<p class=\"note\">Nothing in these connections breaks the rules that are checked.</p>",
        );
    } else {
        let _ = write!(html, "<ul class=\"why\">\n{items}</ul>");
    }
    html.push_str("</section>\n");
}
