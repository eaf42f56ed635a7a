//! Reports: results as one self-contained HTML page.
//!
//! A page begins with the answer in plain HTML: the best scheme, its lead, the confidence and the reason. Below,
//! scripts draw linked plots, sortable tables and the topology from one JSON document in the page (`page_data.rs`). The
//! scripts are in `assets/report`. The page embeds them verbatim after the plotting library in `assets/report/vendor`.
//! The page loads nothing: its content security policy forbids it.

mod animated_packet_selection;
mod downsampling;
mod first_screen;
pub mod first_screen_cards;
pub mod html_text_and_pages;
mod interval_bars;
mod interval_bounds;
mod network_data;
mod number_encoding;
mod page_data;
mod report_series;
mod result_reasons;
mod side_by_side;
mod static_figure;
mod trace;

pub use animated_packet_selection::{Recorder, Replay};
pub use report_series::AllSeries;
pub use side_by_side::{Fidelity, Part, SideBySide};
pub use static_figure::{Plot, View, draw_figure};
pub use trace::{NamedTrace, trace_of_results, trace_page, trace_script};

use crate::results::{Document, Tool};
use html_text_and_pages::Page;
use network_data::Topology;
use page_data::Model;
use thalweg_sim::simulation_spec::Spec;

/// Returns the page of a document with its series. `spec` is the network, if known, and `replays` are packets of its
/// runs.
pub fn report(document: &Document, series: &AllSeries, spec: Option<&Spec>, replays: &[Replay]) -> String {
    report_page(document, series, spec, replays, first_screen::answer_section(document))
}

/// Returns the page whose first section is `answer`.
fn report_page(
    document: &Document,
    series: &AllSeries,
    spec: Option<&Spec>,
    replays: &[Replay],
    answer: String,
) -> String {
    let topology = spec.map(Topology::from_spec);
    let bounds = spec.map(interval_bounds::Bounds::from_spec).unwrap_or_default();
    let data = Model::new(document, series, topology.as_ref(), &bounds, replays).to_json();
    let mut body = answer;
    body.push_str(SECTIONS);
    body.push_str(&static_figure::distributions_section(document));
    let (title, subtitle) = crate::output::title_lines(document, html_text_and_pages::TEXT_STYLE);
    let Tool { version, .. } = &document.tool;
    Page { title: &title, subtitle: &subtitle, body: &body, data: Some(&data), version }.render()
}

/// Empty sections of a page, filled by scripts.
const SECTIONS: &str = "\
<noscript><p class=\"warning\">Plots, tables and the network need JavaScript.</p></noscript>
<section id=\"plots\" aria-label=\"Plots\"></section>
<section id=\"limits\" aria-label=\"What limited each flow\"></section>
<section id=\"flows\" aria-label=\"Flows\"></section>
<section id=\"queues\" aria-label=\"Queues\"></section>
<section id=\"network\" aria-label=\"Network\"></section>
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::RunKey;
    use crate::results::Run;
    use crate::results::test_fixtures::{run_result, test_header, test_spec};

    #[test]
    fn a_page_is_self_contained() {
        let result = run_result(1, 75);
        let document = Document::from_runs(test_header(&[1]), vec![Run::from_result(&result)]);
        let mut series = AllSeries::default();
        series.add(RunKey { scheme: "", seed: 1 }, &result);
        let page = report(&document, &series, Some(&test_spec()), &[]);
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
        assert!(page.contains("default-src 'none'"));
        // URLs in comments and XML names load nothing; the patterns below would.
        let without_references = page.replace("url(#", "");
        for loads in
            ["src=\"", "href=\"", "url(", "@import", "fetch(", "XMLHttpRequest", "import(", "WebSocket"]
        {
            assert!(!without_references.contains(loads), "the page holds `{loads}`");
        }
        assert!(page.len() < 200_000, "{} bytes without series", page.len());
        assert_eq!(
            page,
            report(&document, &series, Some(&test_spec()), &[]),
            "the same results give the same bytes"
        );
    }
}
