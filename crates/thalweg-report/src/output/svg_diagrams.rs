//! Diagrams as SVG: panels of lines over one time axis, and bars with intervals.
//!
//! The pictures use only paths, rectangles and text; browsers, papers and slides show these alike. The colours are from
//! Okabe and Ito (2008), distinguishable with any kind of colour vision. Pictures follow the system's dark mode.

use super::number_format::Style;
use super::text_table::shorten_cell;
use std::fmt::Write as _;

/// Panels stacked vertically.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figure {
    /// Title of the picture.
    pub title: String,
    /// Subtitle; may be empty.
    pub subtitle: String,
    /// Bar panels on top.
    pub bars: Vec<BarPanel>,
    /// Panels of lines over time.
    pub panels: Vec<LinePanel>,
    /// Start of the time axis of all `panels`, in seconds.
    pub from: f64,
    /// End of the time axis, in seconds.
    pub to: f64,
}

/// Panel of lines over time.
#[derive(Clone, Debug)]
pub(crate) struct LinePanel {
    /// Name of the values, with their unit.
    pub title: String,
    /// One unit of the axis in units of the values.
    pub factor: f64,
    /// Minimum upper end of the axis.
    pub max: f64,
    /// Lines.
    pub lines: Vec<Line>,
    /// Own horizontal axis, where it is not time.
    pub across: Option<HorizontalAxis>,
}

/// Horizontal axis from zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HorizontalAxis {
    /// End of the axis, in the unit of the values.
    pub to: f64,
    /// One unit of the axis in units of the values.
    pub factor: f64,
    /// Name of the unit.
    pub unit: &'static str,
}

/// Line.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Name.
    pub label: String,
    /// Colour index, from 0.
    pub colour: usize,
    /// Times in seconds, ascending; positions along the panel's own axis where it has one.
    pub times: Vec<f64>,
    /// Values, one for each time.
    pub values: Vec<f64>,
    /// True if this is one of several lines whose mean is another line.
    pub is_faint: bool,
}

/// Values of one quantity, each as a bar from zero.
#[derive(Clone, Debug)]
pub(crate) struct BarPanel {
    /// Name of the values.
    pub title: String,
    /// Bars.
    pub bars: Vec<Bar>,
    /// Largest possible value.
    pub limit: f64,
}

/// Bar.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    /// Name of the bar's subject.
    pub label: String,
    /// Colour index, from 0.
    pub colour: usize,
    /// Length.
    pub mean: f64,
    /// Half the width of the interval around the mean.
    pub half: Option<f64>,
    /// Value as text.
    pub value_text: String,
}

impl Figure {
    /// Renders the picture.
    pub(crate) fn render(&self) -> String {
        let mut body = String::new();
        let mut y = 34.0;
        let _ = writeln!(body, "{}", text_element(16.0, 24.0, "start", "title", &self.title));
        if !self.subtitle.is_empty() {
            let _ = writeln!(body, "{}", text_element(16.0, 41.0, "start", "tick", &self.subtitle));
            y += 15.0;
        }
        for panel in &self.bars {
            panel.draw(&mut body, y);
            y += panel.height();
        }
        for (position, panel) in self.panels.iter().enumerate() {
            // The last panel over time shows the times.
            let next = self.panels.get(position + 1);
            let is_last = next.is_none_or(|next| next.across.is_some());
            self.draw(&mut body, panel, y, is_last || panel.across.is_some());
            y += PANEL_HEIGHT + 46.0;
        }
        let height = y + 12.0;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" height=\"{height:.0}\" role=\"img\">\n{SHEET}<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n{body}</svg>\n"
        )
    }

    /// Renders the picture as part of a page that defines the styles of its classes: those below `curves`.
    pub(crate) fn within_page(&self) -> String {
        self.render().replace(SHEET, "").replacen("<svg ", "<svg class=\"curves\" ", 1)
    }

    fn draw(&self, body: &mut String, panel: &LinePanel, top: f64, with_times: bool) {
        let top = top + 24.0;
        let max = panel.max / panel.factor;
        let step = nice_step(max, 4.0);
        let max = (max / step).ceil().max(1.0) * step;
        let (from, to, factor, unit) = match panel.across {
            Some(HorizontalAxis { to, factor, unit }) => (0.0, to, factor, unit),
            None => (self.from, self.to, 1.0, "s"),
        };
        // Values beyond an axis are drawn at its end, with a mark.
        let x = |time: f64| {
            LEFT_MARGIN
                + (WIDTH - LEFT_MARGIN - RIGHT_MARGIN) * ((time - from) / (to - from).max(1e-12)).min(1.0)
        };
        let y = |value: f64| top + PANEL_HEIGHT * (1.0 - (value / panel.factor / max).min(1.0));
        let _ = writeln!(body, "{}", text_element(LEFT_MARGIN, top - 9.0, "start", "name", &panel.title));
        for tick in 0..=(max / step).round() as u32 {
            let value = f64::from(tick) * step;
            let at = y(value * panel.factor);
            let _ = writeln!(
                body,
                "<path class=\"grid\" d=\"M{LEFT_MARGIN} {at:.1}H{}\"/>",
                WIDTH - RIGHT_MARGIN
            );
            let _ = writeln!(
                body,
                "{}",
                text_element(LEFT_MARGIN - 7.0, at + 4.0, "end", "tick", &format_plain_number(value))
            );
        }
        let end = if panel.across.is_some() { to } else { max * panel.factor };
        let (from, to) = (from / factor, to / factor);
        let step = nice_step(to - from, 8.0);
        // The end of an axis may be infinite or so far that its ticks are the same number.
        let first = (from / step).ceil();
        for tick in (0..MAX_TICKS)
            .map(|tick| first + f64::from(tick))
            .take_while(|tick| tick * step <= to + step * 1e-6)
        {
            let at = x(tick * step * factor);
            let _ = writeln!(body, "<path class=\"grid\" d=\"M{at:.1} {top}v{PANEL_HEIGHT}\"/>");
            if with_times {
                let label = format!("{} {unit}", format_plain_number(tick * step));
                let _ = writeln!(
                    body,
                    "{}",
                    text_element(at, top + PANEL_HEIGHT + 17.0, "middle", "tick", &label)
                );
            }
        }
        let mut labels = Vec::new();
        let mut highest = end;
        for line in &panel.lines {
            let _ = writeln!(
                body,
                "<path class=\"line{} c{}\" d=\"{}\"/>",
                if line.is_faint { " faint" } else { "" },
                line.colour % COLOURS,
                line_path(line, x, y)
            );
            let along = if panel.across.is_some() { &line.times } else { &line.values };
            if let Some((at, value)) = largest_beyond(along, end) {
                highest = highest.max(value);
                let (right, down) = (x(line.times[at]), y(line.values[at]));
                let triangle = if panel.across.is_some() { "l-7 -4v8z" } else { "l-4 7h8z" };
                let colour = line.colour % COLOURS;
                let _ =
                    writeln!(body, "<path class=\"label c{colour}\" d=\"M{right:.1} {down:.1}{triangle}\"/>");
            }
            let has_label = |value: &&f64| value.is_finite() && !line.label.is_empty();
            if let Some(last) = line.values.last().filter(has_label) {
                labels.push((y(*last), line));
            }
        }
        if highest > end {
            let value = match panel.across {
                Some(HorizontalAxis { factor, unit, .. }) => {
                    format!("{} {unit}", format_three_significant_digits(highest / factor))
                }
                None => format_three_significant_digits(highest / panel.factor),
            };
            let note = format!("beyond the axis: up to {value}");
            let _ = writeln!(body, "{}", text_element(WIDTH - RIGHT_MARGIN, top - 9.0, "end", "tick", &note));
        }
        labels.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ends: Vec<f64> = labels.iter().map(|(at, _)| *at).collect();
        for ((_, line), at) in labels.iter().zip(spread_labels(&ends, top, top + PANEL_HEIGHT)) {
            let class = format!("label c{}", line.colour % COLOURS);
            let _ = writeln!(
                body,
                "{}",
                text_element(
                    WIDTH - RIGHT_MARGIN + 7.0,
                    at + 4.0,
                    "start",
                    &class,
                    &shorten_to_fit(&line.label, LABEL_CHARACTERS)
                )
            );
        }
    }
}

impl BarPanel {
    fn height(&self) -> f64 {
        self.bars.len() as f64 * 22.0 + 34.0
    }

    fn draw(&self, body: &mut String, top: f64) {
        let _ = writeln!(body, "{}", text_element(LEFT_MARGIN, top + 15.0, "start", "name", &self.title));
        let ends = self.bars.iter().map(|bar| bar.mean + bar.half.unwrap_or(0.0));
        let max = ends.filter(|end| end.is_finite()).fold(f64::MIN_POSITIVE, f64::max).min(self.limit);
        // Names are left of the bars, values right.
        let (left, right) = (LEFT_MARGIN + 90.0, WIDTH - 220.0);
        let x = |value: f64| left + (right - left) * (value / max).clamp(0.0, 1.0);
        for (bar, number) in self.bars.iter().zip(0u32..) {
            let y = top + 24.0 + f64::from(number) * 22.0;
            let colour = bar.colour % COLOURS;
            let _ = writeln!(
                body,
                "{}",
                text_element(
                    left - 8.0,
                    y + 12.0,
                    "end",
                    "tick",
                    &shorten_to_fit(&bar.label, NAME_CHARACTERS)
                )
            );
            let width = x(bar.mean) - left;
            let _ = writeln!(
                body,
                "<rect class=\"bar c{colour}\" x=\"{left}\" y=\"{y}\" width=\"{width:.1}\" height=\"15\"/>"
            );
            if let Some(half) = bar.half {
                let (low, high, middle) = (x(bar.mean - half), x(bar.mean + half), y + 7.5);
                let _ = writeln!(
                    body,
                    "<path class=\"interval\" d=\"M{low:.1} {y}v15M{low:.1} {middle}H{high:.1}M{high:.1} {y}v15\"/>"
                );
            }
            let _ =
                writeln!(body, "{}", text_element(right + 12.0, y + 12.0, "start", "tick", &bar.value_text));
        }
    }
}

/// Places labels of lines that end at `ends`, in order: as near to their lines as possible without overlap, between
/// `top` and `bottom`.
fn spread_labels(ends: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    // Too many labels for the height are placed closer together.
    let gap = LABEL_HEIGHT.min((bottom - top) / ends.len().max(2).saturating_sub(1) as f64);
    let mut places = Vec::with_capacity(ends.len());
    let mut free = top;
    for end in ends {
        places.push(end.max(free));
        free = places[places.len() - 1] + gap;
    }
    let mut lowest = bottom;
    for place in places.iter_mut().rev() {
        *place = place.min(lowest);
        lowest = *place - gap;
    }
    places
}

/// Returns a path through the points; a NaN value breaks the line. Coordinates are in tenths of a unit and relative to
/// the previous point, which makes small files.
fn line_path(line: &Line, x: impl Fn(f64) -> f64, y: impl Fn(f64) -> f64) -> String {
    let tenths = |value: f64| (value * 10.0).round() as i64;
    let mut path = String::new();
    let mut last: Option<(i64, i64)> = None;
    for (time, value) in line.times.iter().zip(&line.values) {
        if !value.is_finite() {
            last = None;
            continue;
        }
        let here = (tenths(x(*time)), tenths(y(*value)));
        let (letter, by) = match last {
            None => ('M', here),
            Some(before) if before == here => continue,
            Some(before) => ('l', (here.0 - before.0, here.1 - before.1)),
        };
        let (right, down) =
            (format_plain_number(by.0 as f64 / 10.0), format_plain_number(by.1 as f64 / 10.0));
        let _ = write!(path, "{letter}{right} {down}");
        last = Some(here);
    }
    path
}

/// Returns the position and the value of the largest of `values` if it exceeds the end of an axis.
fn largest_beyond(values: &[f64], end: f64) -> Option<(usize, f64)> {
    // What exceeds it by rounding is at the end.
    let beyond = values.iter().copied().enumerate().filter(|(_, value)| *value > end * (1.0 + 1e-9));
    beyond.filter(|(_, value)| value.is_finite()).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Formats a positive number, rounded to three significant digits: 1234.5 is `1230`.
fn format_three_significant_digits(value: f64) -> String {
    let unit = libm::pow(10.0, libm::floor(libm::log10(value)) - 2.0);
    format_plain_number((value / unit).round() * unit)
}

/// Maximum number of ticks of an axis; [`nice_step`] makes fewer of a finite one.
const MAX_TICKS: u32 = 32;

/// Returns 1, 2 or 5 times a power of ten such that about `wanted` steps make `max`.
fn nice_step(max: f64, wanted: f64) -> f64 {
    if max <= 0.0 || !max.is_finite() {
        return 1.0;
    }
    let power = libm::pow(10.0, libm::floor(libm::log10(max / wanted)));
    [1.0, 2.0, 5.0]
        .map(|of| of * power)
        .into_iter()
        .find(|step| max / step <= wanted + 0.5)
        .unwrap_or(10.0 * power)
}

/// Formats a number without needless digits.
fn format_plain_number(value: f64) -> String {
    let text = format!("{value:.9}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn text_element(x: f64, y: f64, anchor: &str, class: &str, content: &str) -> String {
    let content = Style::UNICODE.clean(content);
    // XML cannot represent these two.
    let content = content.replace(['\u{fffe}', '\u{ffff}'], "?");
    let content = content.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" class=\"{class}\">{content}</text>")
}

/// Shortens a name to fit the picture.
fn shorten_to_fit(label: &str, max: usize) -> String {
    shorten_cell(label, max, Style::UNICODE)
}

/// Maximum label length beside a panel, in characters of 12 px, by the widths of common fonts (at most 0.58 em on
/// average).
const LABEL_CHARACTERS: usize = 17;
/// Maximum label length left of a bar, in characters.
const NAME_CHARACTERS: usize = 20;
const WIDTH: f64 = 860.0;
const LEFT_MARGIN: f64 = 64.0;
const RIGHT_MARGIN: f64 = 130.0;
/// Height of a label.
const LABEL_HEIGHT: f64 = 14.0;
/// Height of a panel's plot area.
const PANEL_HEIGHT: f64 = 130.0;
/// Number of line colours, used in turn.
const COLOURS: usize = 8;

const SHEET: &str = "<style>
text { font: 12px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #59636e }
.title { font-size: 15px; font-weight: 600; fill: #1b1f24 } .name { font-size: 13px; font-weight: 600 }
.page { fill: #fff } .grid { stroke: #e1e5ea; fill: none } .line { fill: none; stroke-width: 1.5; stroke-linejoin: round }
.faint { stroke-width: 0.8; stroke-opacity: 0.35 }
.interval { stroke: #1b1f24; stroke-width: 1.3; fill: none } .bar { stroke: none; fill-opacity: 0.8 }
.line.c0 { stroke: #0072b2 } .line.c1 { stroke: #d55e00 } .line.c2 { stroke: #00845f } .line.c3 { stroke: #b8578f }
.line.c4 { stroke: #17a2b8 } .line.c5 { stroke: #a87800 } .line.c6 { stroke: #4b3f92 } .line.c7 { stroke: #6b4a2b }
.bar.c0, .label.c0 { fill: #0072b2 } .bar.c1, .label.c1 { fill: #d55e00 } .bar.c2, .label.c2 { fill: #00845f }
.bar.c3, .label.c3 { fill: #b8578f } .bar.c4, .label.c4 { fill: #17a2b8 } .bar.c5, .label.c5 { fill: #a87800 }
.bar.c6, .label.c6 { fill: #4b3f92 } .bar.c7, .label.c7 { fill: #6b4a2b }
@media (prefers-color-scheme: dark) {
text { fill: #a3adb8 } .title { fill: #e7eaee } .page { fill: #14171b } .grid { stroke: #2a3038 } .interval { stroke: #e7eaee }
.line.c0 { stroke: #4aa8e0 } .line.c1 { stroke: #ff8a3d } .line.c2 { stroke: #27b98c } .line.c3 { stroke: #e08fbe }
.line.c4 { stroke: #7fe3ea } .line.c5 { stroke: #e6b422 } .line.c6 { stroke: #a99cf0 } .line.c7 { stroke: #c79a70 }
.bar.c0, .label.c0 { fill: #4aa8e0 } .bar.c1, .label.c1 { fill: #ff8a3d } .bar.c2, .label.c2 { fill: #27b98c }
.bar.c3, .label.c3 { fill: #e08fbe } .bar.c4, .label.c4 { fill: #7fe3ea } .bar.c5, .label.c5 { fill: #e6b422 }
.bar.c6, .label.c6 { fill: #a99cf0 } .bar.c7, .label.c7 { fill: #c79a70 }
}
</style>
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        assert_eq!(nice_step(100.0, 4.0), 50.0);
        assert_eq!(nice_step(30.0, 8.0), 5.0);
        assert_eq!(nice_step(0.37, 4.0), 0.1);
        assert_eq!(nice_step(0.0, 4.0), 1.0);
        assert_eq!(format_plain_number(0.30000000000000004), "0.3");
        assert_eq!(format_plain_number(150.0), "150");
    }

    /// A burst to 1.234 times the axis, and a tail to 30 ms on an axis to 10 ms, have a mark and a note; without them there is neither.
    #[test]
    fn values_beyond_an_axis_are_marked() {
        let line = |times: &[f64], values: &[f64]| Line {
            label: "one".to_owned(),
            colour: 0,
            times: times.to_vec(),
            values: values.to_vec(),
            is_faint: false,
        };
        let drawn = |line: Line, across: Option<HorizontalAxis>| {
            let panel =
                LinePanel { title: "Values".to_owned(), factor: 1.0, max: 100.0, lines: vec![line], across };
            Figure { panels: vec![panel], to: 10.0, ..Figure::default() }.render()
        };
        let burst = drawn(line(&[0.0, 1.0, 10.0], &[50.0, 123.4, f64::INFINITY]), None);
        assert!(
            burst.contains(">beyond the axis: up to 123</text>") && burst.contains("l-4 7h8z"),
            "{burst}"
        );
        let across = Some(HorizontalAxis { to: 0.01, factor: 0.001, unit: "ms" });
        let tail = drawn(line(&[0.0, 0.01, 0.03], &[0.0, 99.0, 100.0]), across);
        assert!(
            tail.contains(">beyond the axis: up to 30 ms</text>") && tail.contains("l-7 -4v8z"),
            "{tail}"
        );
        let within = drawn(line(&[0.0, 10.0], &[50.0, 100.0]), None);
        assert!(!within.contains("beyond the axis") && !within.contains("h8z"), "{within}");
    }

    /// Ticks of an axis that is infinite, or whose ticks are all the same number, end.
    #[test]
    fn axes_without_an_end_have_few_ticks() {
        for (from, to) in [(0.0, f64::INFINITY), (9e15, f64::INFINITY), (0.0, 1e300), (0.0, 10.0)] {
            let panel =
                LinePanel { title: String::new(), factor: 1.0, max: 100.0, lines: Vec::new(), across: None };
            let svg = Figure { panels: vec![panel], from, to, ..Figure::default() }.render();
            assert!(svg.matches(" s</text>").count() <= MAX_TICKS as usize, "{svg}");
        }
    }

    /// Five lines that end at zero have labels above the axis and without overlap; with enough space no label moves.
    #[test]
    fn labels_stay_within_their_panel() {
        let places = spread_labels(&[124.0, 125.0, 126.0, 129.0, 130.0], 0.0, 130.0);
        assert_eq!(places, [74.0, 88.0, 102.0, 116.0, 130.0]);
        assert_eq!(spread_labels(&[10.0, 60.0, 130.0], 0.0, 130.0), [10.0, 60.0, 130.0]);
        let many = spread_labels(&[130.0; 14], 0.0, 130.0);
        assert!(many[0] >= -1e-9 && many.windows(2).all(|pair| pair[1] - pair[0] > 9.9), "{many:?}");
        assert_eq!(spread_labels(&[50.0], 0.0, 130.0), [50.0]);
    }

    #[test]
    fn labels_stay_within_the_picture() {
        assert_eq!(shorten_to_fit("flows.10", 17), "flows.10");
        assert_eq!(shorten_to_fit("bottleneck: left → right", 17), "bottleneck:…right");
        // At 7 px per character, more than the average width.
        assert!(
            7.0 + 7.0 * LABEL_CHARACTERS as f64 <= RIGHT_MARGIN
                && 7.0 * NAME_CHARACTERS as f64 <= LEFT_MARGIN + 90.0 - 8.0
        );
    }

    /// Colours by CIELAB (CIE 15, for the white point D65): two that differ by less than 20 are hard to distinguish as
    /// thin lines.
    #[test]
    fn colours_of_lines_differ() {
        let lab = |hex: &str| {
            let channel = |at: usize| {
                let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
                if value <= 0.040_45 { value / 12.92 } else { libm::pow((value + 0.055) / 1.055, 2.4) }
            };
            let (r, g, b) = (channel(0), channel(2), channel(4));
            let root = |t: f64| if t > 0.008_856 { libm::cbrt(t) } else { 7.787 * t + 16.0 / 116.0 };
            let x = root((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.950_47);
            let y = root(0.2126 * r + 0.7152 * g + 0.0722 * b);
            let z = root((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.088_83);
            [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
        };
        let page = include_str!("../../assets/report/page.css");
        let (light, dark) = SHEET.split_once("@media").unwrap();
        for (sheet, theme) in [(light, page), (dark, &page[page.find("[data-theme=\"dark\"]").unwrap()..])] {
            let colour = |number: usize| {
                let begin = format!(".line.c{number} {{ stroke: #");
                let at = sheet.find(&begin).unwrap() + begin.len();
                let hex = &sheet[at..at + 6];
                let in_page = theme.find(&format!("--c{number}: #")).unwrap() + 7;
                assert_eq!(hex, &theme[in_page..in_page + 6], "pages and pictures have the same colours");
                lab(hex)
            };
            let all: Vec<[f64; 3]> = (0..COLOURS).map(colour).collect();
            for (i, a) in all.iter().enumerate() {
                for (j, b) in all.iter().enumerate().skip(i + 1) {
                    let distance = libm::sqrt(a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum());
                    assert!(distance > 20.0, "colours {i} and {j} differ by {distance:.1}");
                }
            }
        }
    }

    #[test]
    fn a_line_goes_through_its_points_and_breaks_where_there_is_no_number() {
        let line = Line {
            label: "a".to_owned(),
            colour: 0,
            times: vec![0.0, 1.0, 2.0, 3.0],
            values: vec![1.0, 2.0, f64::NAN, 3.0],
            is_faint: false,
        };
        assert_eq!(line_path(&line, |x| x, |y| y), "M0 1l1 1M3 3");
    }

    #[test]
    fn names_are_no_markup() {
        let bar = Bar {
            label: "<a&b>".to_owned(),
            colour: 9,
            mean: 1.0,
            half: Some(0.5),
            value_text: "1".to_owned(),
        };
        let figure = Figure {
            title: "T".to_owned(),
            bars: vec![BarPanel { title: "B".to_owned(), bars: vec![bar], limit: 1.2 }],
            ..Figure::default()
        };
        let svg = figure.render();
        assert!(svg.contains("&lt;a&amp;b&gt;") && svg.contains("class=\"bar c1\""), "{svg}");
    }
}
