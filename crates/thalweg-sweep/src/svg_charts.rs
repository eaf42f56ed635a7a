//! Heat maps and scatter plots as SVG within a page.

use std::fmt::Write as _;
use thalweg_report::report::html_text_and_pages::escape;

/// Heat map over two lists of names.
pub struct HeatMap<'a> {
    /// Heading.
    pub title: &'a str,
    /// Name of the column factor, and the column names.
    pub columns: (&'a str, Vec<&'a str>),
    /// Name of the row factor, and the row names.
    pub rows: (&'a str, Vec<&'a str>),
    /// Value of each row and column, with its text; `None` where there is none.
    pub cells: Vec<Vec<Option<(f64, String)>>>,
    /// Values of the first and the last colour.
    pub scale: (f64, f64),
}

/// Colour scale, low to high: viridis (van der Walt and Smith 2015) at equal steps.
const COLOURS: [(f64, f64, f64); 6] = [
    (68.0, 1.0, 84.0),
    (65.0, 68.0, 135.0),
    (42.0, 120.0, 142.0),
    (34.0, 168.0, 132.0),
    (122.0, 209.0, 81.0),
    (253.0, 231.0, 37.0),
];

/// Returns the colour at a fraction of the scale, and true if dark text is legible on it.
fn scale_colour(share: f64) -> (String, bool) {
    let at = share.clamp(0.0, 1.0) * (COLOURS.len() - 1) as f64;
    let below = (at as usize).min(COLOURS.len() - 2);
    let rest = at - below as f64;
    let (a, b) = (COLOURS[below], COLOURS[below + 1]);
    let mix = |a: f64, b: f64| (a + (b - a) * rest).round() as u8;
    (format!("#{:02x}{:02x}{:02x}", mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2)), share > 0.55)
}

fn fraction_of_scale((from, to): (f64, f64), value: f64) -> f64 {
    if to > from { (value - from) / (to - from) } else { 0.5 }
}

impl HeatMap<'_> {
    /// Appends the map.
    pub fn draw(&self, html: &mut String) {
        let letters =
            |names: &[&str]| names.iter().map(|name| name.chars().count()).max().unwrap_or(0) as f64;
        let words = self.cells.iter().flatten().flatten().map(|(_, words)| words.chars().count()).max();
        let rows_name = self.rows.0.chars().count() as f64;
        let left = (letters(&self.rows.1).min(24.0).max(rows_name) * 6.5 + 10.0).max(30.0);
        let wide = (letters(&self.columns.1).max(words.unwrap_or(0) as f64).min(16.0) * 6.5 + 10.0).max(54.0);
        let (high, top) = (26.0, 54.0);
        let heads = [self.title, self.columns.0].map(|text| text.chars().count() as f64 * 6.8 + left + 4.0);
        let width = heads.into_iter().fold(left + wide * self.columns.1.len() as f64 + 4.0, f64::max);
        let height = top + high * self.rows.1.len() as f64 + 4.0;
        let _ = write!(
            html,
            "<svg class=\"heat\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{0}\" font-size=\"11\"><text x=\"{left:.0}\" y=\"13\" fill=\"currentColor\" font-weight=\"600\">{0}</text>",
            escape(self.title)
        );
        let text = |html: &mut String, x: f64, y: f64, anchor: &str, fill: &str, words: &str| {
            let _ = write!(
                html,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{fill}\">{}</text>",
                escape(words)
            );
        };
        for (column, name) in self.columns.1.iter().enumerate() {
            text(html, left + wide * (column as f64 + 0.5), 47.0, "middle", "currentColor", name);
        }
        // Saved pictures have no tooltips, so the axis name is also written as text.
        text(html, left, 31.0, "start", "currentColor", self.columns.0);
        text(html, left - 6.0, 47.0, "end", "currentColor", self.rows.0);
        for (row, name) in self.rows.1.iter().enumerate() {
            let y = top + high * row as f64;
            text(html, left - 6.0, y + 17.0, "end", "currentColor", name);
            for (column, cell) in self.cells[row].iter().enumerate() {
                let x = left + wide * column as f64;
                let Some((value, words)) = cell else { continue };
                let (fill, is_light) = scale_colour(fraction_of_scale(self.scale, *value));
                let _ = write!(
                    html,
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{fill}\"><title>{} {}, {} {}: {}</title></rect>",
                    wide - 1.0,
                    high - 1.0,
                    escape(self.columns.0),
                    escape(self.columns.1[column]),
                    escape(self.rows.0),
                    escape(name),
                    escape(words)
                );
                text(html, x + wide / 2.0, y + 17.0, "middle", if is_light { "#000" } else { "#fff" }, words);
            }
        }
        html.push_str("</svg>\n");
    }
}

/// Scatter plot over one number.
pub struct Scatter<'a> {
    /// Heading.
    pub title: &'a str,
    /// Labels of the axis ends: left, right, bottom, top.
    pub ends: [String; 4],
    /// Ends of the horizontal axis.
    pub across: (f64, f64),
    /// Ends of the vertical axis.
    pub up: (f64, f64),
    /// Points with their colour index, from 0.
    pub points: Vec<(f64, f64, usize)>,
}

impl Scatter<'_> {
    /// Appends the plot.
    pub fn draw(&self, html: &mut String) {
        let (width, height, left, top) = (330.0, 200.0, 80.0, 22.0);
        let (plot_width, plot_height) = (width - left - 10.0, height - top - 22.0);
        let _ = write!(
            html,
            "<svg class=\"heat\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{0}\" font-size=\"11\"><text x=\"{left}\" y=\"13\" fill=\"currentColor\" font-weight=\"600\">{0}</text><rect x=\"{left}\" y=\"{top}\" width=\"{plot_width}\" height=\"{plot_height}\" fill=\"none\" stroke=\"currentColor\" stroke-opacity=\"0.3\"/>",
            escape(self.title)
        );
        let [west, east, south, north] = &self.ends;
        let bottom = top + plot_height;
        let texts = [
            (left, bottom + 14.0, "start", west),
            (left + plot_width, bottom + 14.0, "end", east),
            (left - 4.0, bottom, "end", south),
            (left - 4.0, top + 9.0, "end", north),
        ];
        for (x, y, anchor, words) in texts {
            let _ = write!(
                html,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"currentColor\">{}</text>",
                escape(words)
            );
        }
        for &(x, y, scale_colour) in &self.points {
            let _ = write!(
                html,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.5\" style=\"fill:var(--c{})\" fill-opacity=\"0.7\"/>",
                left + plot_width * fraction_of_scale(self.across, x),
                bottom - plot_height * fraction_of_scale(self.up, y),
                scale_colour % 9
            );
        }
        html.push_str("</svg>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_go_from_dark_to_light() {
        assert_eq!(scale_colour(0.0), ("#440154".to_owned(), false));
        assert_eq!(scale_colour(1.0), ("#fde725".to_owned(), true));
        assert_eq!(scale_colour(f64::NAN).0.len(), 7);
    }

    #[test]
    fn names_are_no_markup() {
        let map = HeatMap {
            title: "<b>",
            columns: ("rate", vec!["<1>"]),
            rows: ("loss", vec!["&"]),
            cells: vec![vec![Some((1.0, "1 Mbit/s".to_owned()))]],
            scale: (1.0, 1.0),
        };
        let mut html = String::new();
        map.draw(&mut html);
        assert!(html.contains("&lt;b&gt;") && html.contains("&lt;1&gt;") && !html.contains("<b>"));
        // Both axes have their names as text, not only as tooltips.
        assert!(html.contains("\">rate</text>") && html.contains("\">loss</text>"), "{html}");
    }
}
