//! Curves over time as SVG within a page.

use crate::text_output::shorten_factor_name;
use crate::transients::Transient;
use std::fmt::Write as _;
use thalweg_report::output::format_rate;
use thalweg_report::report::html_text_and_pages::escape;

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 150.0;
const LEFT_MARGIN: f64 = 84.0;
const TOP: f64 = 34.0;

/// Appends the picture of a transient: a curve for each scheme.
pub fn draw_transient(html: &mut String, transient: &Transient) {
    let values: Vec<String> = transient
        .values
        .iter()
        .map(|(name, value)| format!("{} {value}", shorten_factor_name(name)))
        .collect();
    let title = escape(&values.join(", "));
    let max = transient.goodput_bps.iter().flat_map(|(_, samples)| samples).copied().fold(0.0, f64::max);
    let count = transient.goodput_bps.iter().map(|(_, samples)| samples.len()).max().unwrap_or(0);
    let (wide, high) = (WIDTH - LEFT_MARGIN - 10.0, HEIGHT - TOP - 18.0);
    let _ = write!(
        html,
        "<svg class=\"heat\" width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\" font-size=\"11\"><title>{title}</title><rect x=\"{LEFT_MARGIN}\" y=\"{TOP}\" width=\"{wide}\" height=\"{high}\" fill=\"none\" stroke=\"currentColor\" stroke-opacity=\"0.3\"/>"
    );
    let text = |html: &mut String, x: f64, y: f64, anchor: &str, label: &str| {
        let _ = write!(
            html,
            "<text x=\"{x:.0}\" y=\"{y:.0}\" text-anchor=\"{anchor}\" fill=\"currentColor\">{}</text>",
            escape(label)
        );
    };
    let head: String = values.join(", ").chars().take(HEAD).collect();
    text(html, 4.0, 12.0, "start", &head);
    text(html, LEFT_MARGIN - 4.0, TOP + 9.0, "end", &format_rate(max));
    text(html, LEFT_MARGIN - 4.0, TOP + high, "end", "0");
    text(html, LEFT_MARGIN, HEIGHT - 4.0, "start", "0 s");
    text(html, WIDTH - 10.0, HEIGHT - 4.0, "end", &format!("{:.0} s", transient.interval_s * count as f64));
    for (number, (scheme, samples)) in transient.goodput_bps.iter().enumerate() {
        let point = |(place, value): (usize, &f64)| {
            let x = LEFT_MARGIN + wide * (place as f64 + 0.5) / count.max(1) as f64;
            let y = TOP + high * (1.0 - if max > 0.0 { value / max } else { 0.0 });
            format!("{x:.1},{y:.1}")
        };
        let points: Vec<String> = samples.iter().enumerate().map(point).collect();
        let _ = write!(
            html,
            "<polyline points=\"{}\" fill=\"none\" style=\"stroke:var(--c{})\" stroke-width=\"1.2\"><title>{}</title></polyline>",
            points.join(" "),
            number % COLOURS,
            escape(scheme)
        );
        let _ = write!(
            html,
            "<text x=\"{:.0}\" y=\"27\" style=\"fill:var(--c{})\">{}</text>",
            LEFT_MARGIN + 110.0 * number as f64,
            number % COLOURS,
            escape(&scheme.chars().take(SCHEME).collect::<String>())
        );
    }
    html.push_str("</svg>\n");
}

/// Number of page colours.
const COLOURS: usize = 9;
/// Maximum heading length, in characters.
const HEAD: usize = 68;
/// Maximum length of a scheme's name, in characters.
const SCHEME: usize = 16;
