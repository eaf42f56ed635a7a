//! HTML: escaped text, and complete pages with their styles and scripts.

use crate::output::Style;

/// Text style of a page.
pub const TEXT_STYLE: Style = Style::UNICODE;

/// Escapes `text` for a page, also within quotes.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in TEXT_STYLE.clean(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Whole page.
pub struct Page<'a> {
    /// Title, as plain text.
    pub title: &'a str,
    /// Subtitle, as plain text.
    pub subtitle: &'a str,
    /// Body, as HTML.
    pub body: &'a str,
    /// JSON without `<`; `None` for a page without plots.
    pub data: Option<&'a str>,
    /// Version of the program.
    pub version: &'a str,
}

impl Page<'_> {
    /// Renders the page as one file. Its content security policy forbids loading anything.
    pub fn render(&self) -> String {
        self.render_with(RUN_SCRIPTS)
    }

    /// Renders a page with these scripts for its data.
    pub(super) fn render_with(&self, scripts: &[&str]) -> String {
        let (title, subtitle) = (escape(self.title), escape(self.subtitle));
        let mut page =
            String::with_capacity(COMMON_PARTS_CAPACITY + self.body.len() + self.data.map_or(0, str::len));
        page.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        page.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
        page.push_str("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n");
        page.push_str(&format!("<title>{title}</title>\n<style>\n"));
        if self.data.is_some() {
            page.push_str(PLOT_CSS);
        }
        PAGE_CSS.iter().for_each(|style| page.push_str(style));
        page.push_str("</style>\n</head>\n<body>\n<header><div><h1>");
        page.push_str(&title);
        page.push_str(&format!(
            "</h1><p>{subtitle}</p></div>\n<button id=\"theme\" type=\"button\" hidden>Dark</button></header>\n<main>\n"
        ));
        page.push_str(self.body);
        page.push_str(&format!(
            "</main>\n<footer>Made by thalweg {}. This page loads nothing and can be sent as it is.",
            escape(self.version)
        ));
        if self.data.is_some() {
            page.push_str(" Plots are drawn by uPlot (MIT licence, © Leon Sorokin).");
        }
        page.push_str("</footer>\n");
        if let Some(data) = self.data {
            page.push_str("<script type=\"application/json\" id=\"data\">");
            page.push_str(data);
            page.push_str("</script>\n<script>");
            page.push_str(PLOT_SCRIPT);
            page.push_str("</script>\n");
        }
        page.push_str("<script>");
        page.push_str(&join_scripts(if self.data.is_some() { scripts } else { &[] }));
        page.push_str("</script>\n</body>\n</html>\n");
        page
    }
}

/// Joins the scripts of every page and these to one, whose names are its own.
pub(super) fn join_scripts(scripts: &[&str]) -> String {
    let parts = COMMON_SCRIPTS.iter().chain(scripts).copied();
    core::iter::once("(() => {\n\"use strict\";\n").chain(parts).chain(["})();"]).collect()
}

macro_rules! asset {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/report/", $name))
    };
}

const PLOT_CSS: &str = asset!("vendor/uPlot.min.css");
const PLOT_SCRIPT: &str = asset!("vendor/uPlot.iife.min.js");
const PAGE_CSS: &[&str] = &[asset!("page.css"), asset!("parts.css")];

/// Scripts in every page.
const COMMON_SCRIPTS: &[&str] = &[asset!("dom.js"), asset!("theme.js"), asset!("sorting.js")];

/// Scripts in pages with data. A file may use declarations of the files before it.
const RUN_SCRIPTS: &[&str] = &[
    asset!("number-format.js"),
    asset!("page-data.js"),
    asset!("series-lines.js"),
    asset!("visible-points.js"),
    asset!("panel-definitions.js"),
    asset!("plot-controls.js"),
    asset!("linked-plots.js"),
    asset!("report-plots.js"),
    asset!("result-tables.js"),
    asset!("network-drawing.js"),
    asset!("packets-in-flight.js"),
    asset!("network-playback.js"),
    asset!("main.js"),
];

/// Scripts in pages of traces: the same plots, with packets and levels of detail.
pub(super) const TRACE_SCRIPTS: &[&str] = &[
    asset!("number-format.js"),
    asset!("page-data.js"),
    asset!("levels-of-detail.js"),
    asset!("series-lines.js"),
    asset!("visible-points.js"),
    asset!("panel-definitions.js"),
    asset!("time-sequence-graph.js"),
    asset!("plot-controls.js"),
    asset!("linked-plots.js"),
    asset!("report-plots.js"),
    asset!("trace-page.js"),
];

/// Approximate size of the parts common to all pages, in bytes.
const COMMON_PARTS_CAPACITY: usize = 128 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_name_becomes_markup() {
        assert_eq!(escape("<a href='x' \"&\n"), "&lt;a href=&#39;x&#39; &quot;&amp;?");
    }
}
