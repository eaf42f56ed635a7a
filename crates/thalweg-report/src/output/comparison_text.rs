//! Text of a comparison: the results of several schemes side by side, and the winner.

use super::comparison_criterion::aborted_schemes;
use super::differing_defaults::{Remedy, differing_defaults_warning};
use super::identical_runs::{DETERMINISTIC, are_all_identical, identical_runs_sentences};
use super::metric_columns::{self, Datum, Row, SIGNIFICANCE_MARK, has_transfers};
use super::number_format::{Scale, Style, join_quoted};
use super::table_elements::{format_direction, mean_row, mean_size_words, table_section};
use super::text_table::{Align, Table};
use super::verdict::{Decisions, decide_verdicts};
use crate::results::{
    Body, ComparedGroups, Contention, Difference, Document, GroupMetrics, LinkMetrics, Metric,
    PairedDifference, SchemeResults, SubjectKind, Tables,
};
use std::collections::BTreeMap;

/// Formats the tables and the verdict of a comparison. Where only some groups are compared, adds the results of the
/// other groups.
pub(super) fn format_comparison(
    document: &Document,
    schemes: &[SchemeResults],
    differences: &[Difference],
    margin: f64,
    style: Style,
) -> String {
    let mut text = differing_defaults_warning(&document.unlike_defaults, Remedy::Command)
        .map(|warning| style.folded(&style.clean(&warning)) + "\n")
        .unwrap_or_default();
    let (Some(of), Some(parts)) = (&document.compared, document.parts()) else {
        text.push_str(&format_tables(
            schemes,
            differences,
            (margin, document.contention.as_ref()),
            &[],
            style,
        ));
        return text + &format_sentences(document, schemes, margin, "", style);
    };
    let compared = &parts.compared;
    let Body::Comparison { schemes, differences, .. } = &compared.body else { return text };
    let shares: Vec<String> = of
        .schemes
        .iter()
        .map(|of| {
            let share = of.share.as_ref().map(|share| metric_columns::share_in_words(share, style));
            share.unwrap_or_else(|| style.nothing().to_owned())
        })
        .collect();
    text.push_str(&style.folded(&format!("\n{}\n", style.clean(&compared_groups_heading(of, &parts.rest)))));
    let contention = compared.contention.as_ref();
    text.push_str(&format_tables(schemes, differences, (margin, contention), &shares, style));
    if let Body::Comparison { schemes, differences, .. } = &parts.rest.body
        && has_groups(schemes)
    {
        text.push_str(&style.folded("\nThe other flows, beside each scheme\n"));
        text.push_str(&format_tables(
            schemes,
            differences,
            (margin, parts.rest.contention.as_ref()),
            &[],
            style,
        ));
    }
    text + &format_sentences(compared, schemes, margin, &harm_sentences(of), style)
}

/// Returns the line above the tables of compared groups.
fn compared_groups_heading(of: &ComparedGroups, rest: &Document) -> String {
    let others: Vec<String> = match &rest.body {
        Body::Comparison { schemes, .. } => groups_of(schemes),
        Body::Run { .. } | Body::Replications { .. } => Vec::new(),
    };
    let compared = join_quoted(&of.groups);
    match others.as_slice() {
        [] => format!("Compared: {compared}"),
        [_] => format!("Compared: {compared}; {} keeps its scheme", join_quoted(&others)),
        few if few.len() <= MAX_NAMES => {
            format!("Compared: {compared}; {} keep their schemes", join_quoted(&others))
        }
        many => format!("Compared: {compared}; the {} other groups keep their schemes", many.len()),
    }
}

fn groups_of(schemes: &[SchemeResults]) -> Vec<String> {
    let run = schemes.iter().flat_map(|of| &of.runs).next();
    run.map(|run| run.groups.iter().map(|group| group.name.clone()).collect()).unwrap_or_default()
}

fn has_groups(schemes: &[SchemeResults]) -> bool {
    !groups_of(schemes).is_empty()
}

/// Returns the sentences on the loss or gain of the other groups beside each scheme, relative to the first scheme.
fn harm_sentences(of: &ComparedGroups) -> String {
    let mut text = String::new();
    for difference in &of.differences {
        let rest = of.schemes.iter().find(|scheme| scheme.scheme == difference.scheme);
        for (metric, verb) in HARM_METRICS {
            let name = metric.name(SubjectKind::Network);
            let value = rest.and_then(|scheme| scheme.rest.get(name));
            let (Some(value), Some(paired)) = (value, difference.rest.get(name)) else { continue };
            let by = paired.difference;
            let scale = metric_columns::unit_for_size(metric, by.mean.abs().max(by.ci95.unwrap_or(0.0)));
            let share = paired
                .relative
                .map(|share| format!(" ({})", Scale::PERCENT.fixed(share.abs(), 1)))
                .unwrap_or_default();
            let sure = match (paired.p_holm, by.ci95) {
                (Some(_), Some(half)) => format!(
                    "; the paired 95 % interval of that difference, {}, {}",
                    scale.range(by.mean.abs() - half, by.mean.abs() + half),
                    match (paired.is_significant(), paired.excludes_zero) {
                        (true, _) => "excludes zero, also by Holm's method",
                        (false, Some(true)) => "excludes zero only by itself",
                        (false, _) => "includes zero",
                    }
                ),
                _ => String::new(),
            };
            text.push_str(&format!(
                "Beside {} the others {verb} {}: {} {} than beside {}{share}{sure}.\n",
                difference.scheme,
                metric_columns::unit_for_size(metric, value.mean).value(value.mean),
                scale.value(by.mean.abs()),
                if by.mean < 0.0 { "less" } else { "more" },
                difference.against,
            ));
        }
    }
    text
}

/// Formats the tables of schemes and of their differences. `shares`, if any, follow the metrics of each scheme.
fn format_tables(
    schemes: &[SchemeResults],
    differences: &[Difference],
    (margin, contention): (f64, Option<&Contention>),
    shares: &[String],
    style: Style,
) -> String {
    let mut text = String::new();
    for place in MEAN_TABLES {
        let shares = if place == Tables::MEANS { shares } else { &[] };
        text.push_str(&table_section(&schemes_table(place, schemes, shares, style), style));
        text.push_str(&table_section(&groups_table(place, schemes, style), style));
        if place == Tables::TRANSFERS {
            text.push_str(&table_section(&sizes_table(schemes, style), style));
        }
    }
    text.push_str(&table_section(&media_table(schemes, style), style));
    text.extend(links_tables(schemes, style).iter().map(|table| table_section(table, style)));
    let marks = Marks { decisions: Decisions::new(schemes, margin, contention) };
    let paired: String = MEAN_TABLES
        .iter()
        .map(|place| table_section(&differences_table(*place, differences, &marks, style), style))
        .collect();
    if let (Some(first), false) = (differences.first(), paired.is_empty()) {
        // On a line of its own: as a heading it would widen the table.
        let against = style.clean(&first.against);
        text.push_str(&style.folded(&format!("\nDifference from {against}{}\n", marks.legend(differences))));
        text.push_str(&paired);
    }
    text
}

/// Formats the sentences below the tables of a document: the runs covered, the verdicts, `further` ones, and whether
/// replications can add to them.
fn format_sentences(
    document: &Document,
    schemes: &[SchemeResults],
    margin: f64,
    further: &str,
    style: Style,
) -> String {
    let summaries = || schemes.iter().filter_map(|of| of.summary.as_ref());
    let runs = summaries().map(|summary| summary.runs).min();
    let mut text = match runs {
        None => "\nNo run is complete: there is nothing to compare.\n".to_owned(),
        Some(1) => String::new(),
        Some(runs) if summaries().all(|summary| summary.different == 1) => format!(
            "\nThe {runs} runs of each scheme are the same: they count as one, and show no random variation.\n"
        ),
        Some(runs) => format!(
            "\nMeans over {runs} runs {} 95 % intervals; all schemes used the same random numbers.\n",
            style.plus_minus()
        ),
    };
    let verdicts = decide_verdicts(schemes, margin, document.contention.as_ref());
    let before: Vec<String> =
        aborted_schemes(schemes).into_iter().chain(identical_runs_sentences(schemes)).collect();
    if !before.is_empty() || !verdicts.is_empty() || !further.is_empty() {
        text.push('\n');
        text.extend(before.iter().map(|sentence| style.clean(sentence) + "\n"));
        text.extend(verdicts.iter().map(|verdict| style.clean(&verdict.sentence) + "\n"));
        text.extend(further.lines().map(|sentence| style.clean(sentence) + "\n"));
    }
    if runs == Some(1) && document.deterministic {
        text.push_str(DETERMINISTIC);
        text.push('\n');
    } else if runs == Some(1) && !are_all_identical(schemes) {
        text.push_str(
            "These are single runs: --reps 5 shows whether the differences are more than chance.\n",
        );
    }
    style.folded(&text)
}

/// Builds the table of schemes, with completion times where any scheme has transfers. `shares` of all goodput come
/// last.
fn schemes_table(place: Tables, schemes: &[SchemeResults], shares: &[String], style: Style) -> Table {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (number, of) in schemes.iter().enumerate() {
        if let Some(summary) =
            of.summary.as_ref().filter(|of| place == Tables::MEANS || has_transfers(&of.totals))
        {
            let row = mean_row(of.scheme.clone(), &summary.totals, SubjectKind::Network);
            rows.push(Row { trail: shares.get(number).cloned().into_iter().collect(), ..row });
        }
    }
    let head = if place == Tables::TRANSFERS { "Transfers" } else { "Scheme" };
    let trail: &[(&str, Align)] = if shares.is_empty() { &[] } else { &[("Share of all", Align::Right)] };
    metric_columns::metric_table(place, &[(head, Align::Left)], &rows, trail, style)
        .shortened(0, NAME_COLUMNS)
}

/// Builds the table of groups where there are several, limited to one screen.
fn groups_table(place: Tables, schemes: &[SchemeResults], style: Style) -> Table {
    let mut rows: Vec<Row<'_>> = Vec::new();
    let groups = schemes.iter().find_map(|of| of.summary.as_ref()).map_or(0, |summary| summary.groups.len());
    let shown = if groups < 2 { 0 } else { groups.min(MAX_ROWS / schemes.len().max(1)) };
    let has_place = |group: &GroupMetrics| place == Tables::MEANS || has_transfers(&group.metrics);
    let of_first = schemes.iter().find_map(|of| of.summary.as_ref()).map_or(&[][..], |of| &of.groups);
    if of_first.iter().filter(|group| has_place(group)).count() < 2 {
        // With one group, the table of schemes already shows it.
        return Table::new([("", Align::Left)]);
    }
    for group in 0..shown {
        for of in schemes {
            if let Some(group) = of.summary.as_ref().and_then(|summary| summary.groups.get(group))
                && has_place(group)
            {
                rows.push(mean_row(
                    format!("{}, {}", group.name, of.scheme),
                    &group.metrics,
                    SubjectKind::Group,
                ));
            }
        }
    }
    let head = if place == Tables::TRANSFERS { "Transfers, scheme" } else { "Group, scheme" };
    metric_columns::metric_table(place, &[(head, Align::Left)], &rows, &[], style).shortened(0, NAME_COLUMNS)
}

/// Builds the table of live-media frames by scheme and group.
fn media_table(schemes: &[SchemeResults], style: Style) -> Table {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for of in schemes {
        let groups = of.summary.iter().flat_map(|summary| &summary.groups);
        let has = |group: &&GroupMetrics| {
            group.metrics.contains_key(Metric::FramesEncoded.name(SubjectKind::Group))
        };
        for group in groups.filter(has) {
            rows.push(mean_row(format!("{}, {}", group.name, of.scheme), &group.metrics, SubjectKind::Group));
        }
    }
    rows.truncate(MAX_ROWS);
    metric_columns::metric_table(Tables::MEDIA_MEANS, &[("Media, scheme", Align::Left)], &rows, &[], style)
        .shortened(0, NAME_COLUMNS)
}

/// Builds the table of completion times by size where there are several classes, limited to one screen.
fn sizes_table(schemes: &[SchemeResults], style: Style) -> Table {
    let summaries = || schemes.iter().filter_map(|of| Some((of, of.summary.as_ref()?)));
    let all = summaries().flat_map(|(_, summary)| &summary.sizes);
    let classes: BTreeMap<u64, Option<u64>> =
        all.map(|class| (class.from_bytes, class.below_bytes)).collect();
    let mut rows: Vec<Row<'_>> = Vec::new();
    for from in classes.keys().filter(|_| classes.len() > 1) {
        for (of, summary) in summaries() {
            if let Some(class) = summary.sizes.iter().find(|class| class.from_bytes == *from) {
                let name = format!("{}, {}", mean_size_words(class), of.scheme);
                rows.push(mean_row(name, &class.metrics, SubjectKind::SizeClass));
            }
        }
    }
    rows.truncate(MAX_ROWS);
    metric_columns::metric_table(Tables::SIZES, &[("Size, scheme", Align::Left)], &rows, &[], style)
}

/// Builds a table for each bottleneck, limited to one screen.
fn links_tables(schemes: &[SchemeResults], style: Style) -> Vec<Table> {
    let summaries = || schemes.iter().filter_map(|of| Some((of, of.summary.as_ref()?)));
    let links = summaries().next().map_or(&[][..], |(_, summary)| &summary.links);
    let max = (MAX_ROWS / schemes.len().max(1)).max(1);
    let table = |(position, link): (usize, &LinkMetrics)| {
        let ends = style.clean(&format_direction(&link.name, &link.from, &link.to, style));
        let mut rows: Vec<Row<'_>> = Vec::new();
        for (of, summary) in summaries() {
            if let Some(link) = summary.links.get(position) {
                rows.push(mean_row(of.scheme.clone(), &link.metrics, SubjectKind::Link));
            }
        }
        metric_columns::metric_table(Tables::LINK_MEANS, &[(&ends, Align::Left)], &rows, &[], style)
            .shortened(0, NAME_COLUMNS)
    };
    links.iter().take(max).enumerate().map(table).collect()
}

/// Builds the table of paired differences from the first scheme, where there are intervals.
fn differences_table(place: Tables, differences: &[Difference], marks: &Marks<'_>, style: Style) -> Table {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for difference in differences {
        let has_place = |metric: Metric| difference.totals.contains_key(metric.name(SubjectKind::Network));
        let is_paired = difference.totals.values().any(|metric| metric.difference.ci95.is_some());
        if is_paired && (place == Tables::MEANS || has_place(Metric::CompletionMean)) {
            rows.push(Row::new(difference.scheme.clone(), move |metric| {
                let paired = difference.totals.get(metric.name(SubjectKind::Network))?;
                let is_marked = marks.is_marked(difference, metric, paired);
                Some(Datum::Difference(paired.difference, is_marked))
            }));
        }
    }
    let head = if place == Tables::TRANSFERS { "Transfers" } else { "Scheme" };
    metric_columns::metric_table(place, &[(head, Align::Left)], &rows, &[], style).shortened(0, NAME_COLUMNS)
}

/// Marks of significant differences.
struct Marks<'a> {
    decisions: Decisions<'a>,
}

impl Marks<'_> {
    fn is_marked(&self, of: &Difference, metric: Metric, paired: &PairedDifference) -> bool {
        let allow = || self.decisions.allow(metric, &of.scheme, &of.against, paired.difference.mean);
        paired.is_significant() && allow()
    }

    /// Describes the significance of the differences shown: which are marked, or that none is.
    fn legend(&self, differences: &[Difference]) -> String {
        let shown = || MEAN_TABLES.into_iter().flat_map(Metric::in_table);
        let each = differences.iter().flat_map(|of| {
            let paired =
                move |metric: Metric| Some((of, metric, of.totals.get(metric.name(SubjectKind::Network))?));
            shown().filter_map(paired)
        });
        let tested: Vec<_> = each.filter(|(.., paired)| paired.p_holm.is_some()).collect();
        let survive = tested.iter().filter(|(.., paired)| paired.is_significant()).count();
        let marked = tested.iter().filter(|(of, metric, paired)| self.is_marked(of, *metric, paired)).count();
        let count = tested.len();
        let open =
            if marked < survive { ", and as the verdict below on the same metric decides" } else { "" };
        match (count, survive) {
            (0, _) => String::new(),
            (1, _) if marked == survive => "; one interval".to_owned(),
            (_, 0) => {
                format!(
                    "; each interval by itself: by Holm's method for all {count} differences here none excludes zero"
                )
            }
            _ => {
                format!(
                    "; each interval by itself, {SIGNIFICANCE_MARK} excludes zero also by Holm's method for all {count} differences \
                     here{open}"
                )
            }
        }
    }
}

/// Tables of means, in order: completion time comes first where transfers end.
const MEAN_TABLES: [Tables; 2] = [Tables::TRANSFERS, Tables::MEANS];
/// Metrics of harm to other groups, with the verb for each.
const HARM_METRICS: [(Metric, &str); 3] = [
    (Metric::Goodput, "carried"),
    (Metric::CompletionMean, "completed transfers in a mean of"),
    (Metric::DelayMean, "had a mean delay of"),
];
/// Maximum number of other groups named in a heading.
const MAX_NAMES: usize = 6;
/// Width to which names of schemes, and of a link in their heading, may be shortened.
const NAME_COLUMNS: usize = 40;
/// Maximum number of rows in tables by group or link and scheme.
const MAX_ROWS: usize = 24;
