//! Sequence diagrams as pictures. Colours have medium brightness, to be readable on white and on black.

use super::{Message, PacketOutcome, format_millis};
use core::fmt::Write as _;
use thalweg_proto::units::{Duration, Time};

const WIDTH: u32 = 760;
const LEFT_LINE_X: u32 = 150;
const RIGHT_LINE_X: u32 = WIDTH - LEFT_LINE_X;
const TOP: f64 = 84.0;
/// Height of the page below the last event.
const BOTTOM_MARGIN: f64 = 64.0;

/// Minimum and maximum distance between events on the page.
const MIN_GAP: f64 = 13.0;
const MAX_GAP: f64 = 44.0;

/// Maximum number of packets, with two events each, that always fit into `MAX_PIXELS` at one pixel per unit.
pub const MAX_IN_PIXELS: u32 = 500;
const _: () = assert!(
    (TOP + BOTTOM_MARGIN + 2.0 * MAX_GAP * MAX_IN_PIXELS as f64) * WIDTH as f64
        <= crate::output::png::MAX_PIXELS as f64
);

const GREY: &str = "#7d8590";
const BLUE: &str = "#3b82f6";
const ORANGE: &str = "#e0701a";
const RED: &str = "#d9485f";
const FONT: &str = "font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif";

/// Renders a diagram. Time runs down the page. It is not to scale where few or many events occur: times are written at
/// both sides.
pub fn sequence_svg(title: &str, messages: &[Message], left_out: u64) -> String {
    let places = Places::from_messages(messages);
    let bottom = places.bottom();
    let height = bottom + BOTTOM_MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" height=\"{height:.0}\" \
         style=\"{FONT}\" font-size=\"12\">\n<title>{}</title>\n",
        escape_xml(title)
    );
    add_element(&mut svg, &text_element(f64::from(WIDTH) / 2.0, 24.0, "middle", GREY, 14, title));
    for (x, name) in [(LEFT_LINE_X, "sender"), (RIGHT_LINE_X, "receiver")] {
        add_element(&mut svg, &text_element(f64::from(x), TOP - 30.0, "middle", GREY, 13, name));
        let end = bottom + 14.0;
        let line =
            format!("<path d=\"M{x} {:.1}V{end:.1}\" stroke=\"{GREY}\" stroke-width=\"1.5\"/>\n", TOP - 22.0);
        add_element(&mut svg, &line);
    }
    add_element(&mut svg, &text_element(f64::from(LEFT_LINE_X) - 38.0, TOP - 30.0, "end", GREY, 11, "ms"));
    add_element(&mut svg, &text_element(f64::from(RIGHT_LINE_X) + 42.0, TOP - 30.0, "start", GREY, 11, "ms"));
    let mut labels = Labels::default();
    for message in messages {
        draw_arrow(&mut svg, message, &places, &mut labels);
    }
    write_times(&mut svg, messages, &places);
    write_legend(&mut svg, messages, left_out, bottom + 46.0);
    svg.push_str("</svg>\n");
    svg
}

fn add_element(svg: &mut String, part: &str) {
    svg.push_str(part);
}

/// Positions of events on the page.
struct Places {
    moments: Vec<(Time, f64)>,
}

impl Places {
    fn from_messages(messages: &[Message]) -> Self {
        let mut times: Vec<Time> = messages
            .iter()
            .flat_map(|message| {
                let end = match message.outcome {
                    PacketOutcome::Arrived(at) | PacketOutcome::Lost(at) => Some(at),
                    PacketOutcome::InTransit => None,
                };
                core::iter::once(message.sent_at).chain(end)
            })
            .collect();
        times.sort_unstable();
        times.dedup();
        let mut gaps: Vec<Duration> = times.windows(2).map(|pair| pair[1].since(pair[0])).collect();
        let natural = gaps.clone();
        gaps.sort_unstable();
        // The median gap has the medium height.
        let middle = gaps.get(gaps.len() / 2).map_or(1.0, |gap| gap.as_secs_f64());
        let scale = (MIN_GAP + MAX_GAP) / 2.0 / middle.max(1e-12);
        let mut y = TOP;
        let mut moments = Vec::with_capacity(times.len());
        for (index, &time) in times.iter().enumerate() {
            if let Some(gap) = index.checked_sub(1).and_then(|before| natural.get(before)) {
                y += (gap.as_secs_f64() * scale).clamp(MIN_GAP, MAX_GAP);
            }
            moments.push((time, y));
        }
        Self { moments }
    }

    fn y(&self, time: Time) -> f64 {
        let index = self.moments.partition_point(|&(moment, _)| moment < time);
        self.moments.get(index).map_or(TOP, |&(_, y)| y)
    }

    fn bottom(&self) -> f64 {
        self.moments.last().map_or(TOP, |&(_, y)| y)
    }
}

/// Placement of arrow labels without overlap.
#[derive(Default)]
struct Labels {
    taken_positions: Vec<(f64, f64)>,
}

impl Labels {
    /// Returns a position along the arrow, as a fraction of it, with no other label nearby.
    fn label_position(&mut self, from: (f64, f64), to: (f64, f64)) -> (f64, f64) {
        let at = |share: f64| (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
        // Arrows come in the order of their starts and lead down: labels far above cannot overlap.
        self.taken_positions.retain(|&(_, y)| from.1 - y <= 12.0);
        let free = |&(x, y): &(f64, f64)| {
            self.taken_positions
                .iter()
                .all(|&(other_x, other_y)| (other_x - x).abs() > 96.0 || (other_y - y).abs() > 12.0)
        };
        let place = [0.22, 0.5, 0.76, 0.36, 0.64].into_iter().map(at).find(free).unwrap_or_else(|| at(0.22));
        self.taken_positions.push(place);
        place
    }
}

fn draw_arrow(svg: &mut String, message: &Message, places: &Places, labels: &mut Labels) {
    let (start, end) =
        if message.forward { (LEFT_LINE_X, RIGHT_LINE_X) } else { (RIGHT_LINE_X, LEFT_LINE_X) };
    let (start, end) = (f64::from(start), f64::from(end));
    let y = places.y(message.sent_at);
    let colour = if message.is_retransmission {
        ORANGE
    } else if message.data {
        BLUE
    } else {
        GREY
    };
    let (end_x, end_y) = match message.outcome {
        PacketOutcome::Arrived(at) => (end, places.y(at)),
        // Half of the way, down to the time of loss, but not far.
        PacketOutcome::Lost(at) => (start + (end - start) * 0.55, places.y(at).min(y + 18.0).max(y + 6.0)),
        PacketOutcome::InTransit => (start + (end - start) * 0.8, y + 12.0),
    };
    let _ = writeln!(
        svg,
        "<path d=\"M{start:.1} {y:.1}L{end_x:.1} {end_y:.1}\" stroke=\"{colour}\" stroke-width=\"1.4\" fill=\"none\"/>"
    );
    match message.outcome {
        PacketOutcome::Arrived(_) => add_element(svg, &arrow_head((start, y), (end_x, end_y), colour)),
        PacketOutcome::Lost(_) => {
            let _ = writeln!(
                svg,
                "<path d=\"M{:.1} {:.1}l8 8m0 -8l-8 8\" stroke=\"{RED}\" stroke-width=\"2\"/>",
                end_x - 4.0,
                end_y - 4.0
            );
        }
        PacketOutcome::InTransit => {}
    }
    let (x, label_y) = labels.label_position((start, y), (end_x, end_y));
    // Along the arrow, read from left to right. Its sine and cosine are written out: a renderer's trigonometry differs
    // between machines.
    let (dx, dy) = ((end_x - start).abs(), (end_y - y) * (end_x - start).signum());
    let length = libm::hypot(dx, dy).max(1.0);
    let (cos, sin) = (dx / length, dy / length);
    let _ = writeln!(
        svg,
        "<text transform=\"matrix({cos:.5} {sin:.5} {:.5} {cos:.5} {x:.1} {label_y:.1})\" y=\"-4\" text-anchor=\"middle\" fill=\"{colour}\">{}</text>",
        -sin,
        escape_xml(&message.label)
    );
}

/// Returns the head of an arrow.
fn arrow_head(from: (f64, f64), to: (f64, f64), colour: &str) -> String {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = libm::hypot(dx, dy).max(1.0);
    let (ux, uy) = (dx / length * 9.0, dy / length * 9.0);
    format!(
        "<path d=\"M{:.1} {:.1}L{:.1} {:.1}L{:.1} {:.1}Z\" fill=\"{colour}\"/>\n",
        to.0,
        to.1,
        to.0 - ux - uy * 0.45,
        to.1 - uy + ux * 0.45,
        to.0 - ux + uy * 0.45,
        to.1 - uy - ux * 0.45,
    )
}

/// Writes the times at both sides.
fn write_times(svg: &mut String, messages: &[Message], places: &Places) {
    for (side, x, anchor) in
        [(true, f64::from(LEFT_LINE_X) - 8.0, "end"), (false, f64::from(RIGHT_LINE_X) + 8.0, "start")]
    {
        let mut moments: Vec<Time> = messages
            .iter()
            .filter_map(|message| match message.outcome {
                _ if message.forward == side => Some(message.sent_at),
                PacketOutcome::Arrived(at) => Some(at),
                _ => None,
            })
            .collect();
        moments.sort_unstable();
        moments.dedup();
        for time in moments {
            add_element(svg, &text_element(x, places.y(time) + 4.0, anchor, GREY, 11, &format_millis(time)));
        }
    }
}

fn write_legend(svg: &mut String, messages: &[Message], left_out: u64, y: f64) {
    let mut parts = vec![(BLUE, "data")];
    if messages.iter().any(|message| message.is_retransmission) {
        parts.push((ORANGE, "sent again"));
    }
    parts.push((GREY, "control"));
    if messages.iter().any(|message| matches!(message.outcome, PacketOutcome::Lost(_))) {
        parts.push((RED, "x lost"));
    }
    let mut x = f64::from(LEFT_LINE_X);
    for (colour, name) in parts {
        add_element(svg, &text_element(x, y, "start", colour, 12, name));
        x += 90.0;
    }
    if left_out > 0 {
        let note = format!("{left_out} further packets are not shown");
        add_element(svg, &text_element(f64::from(WIDTH) - 8.0, y, "end", GREY, 12, &note));
    }
}

fn text_element(x: f64, y: f64, anchor: &str, colour: &str, size: u32, text: &str) -> String {
    format!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\" font-size=\"{size}\">{}</text>\n",
        escape_xml(text)
    )
}

fn escape_xml(text: &str) -> String {
    text.chars()
        // XML cannot represent the last two.
        .filter(|c| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}'))
        .map(|c| match c {
            '&' => "&amp;".to_owned(),
            '<' => "&lt;".to_owned(),
            '>' => "&gt;".to_owned(),
            '"' => "&quot;".to_owned(),
            c => c.to_string(),
        })
        .collect()
}
