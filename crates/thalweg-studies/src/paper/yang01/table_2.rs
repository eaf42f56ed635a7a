//! The cells of table II, and the comparisons that several claims make.

use super::super::evidence::Evidence;
use super::super::{Results, Row};
use super::metrics::{MEAN_FINISH_TIME, SOURCE_CLASSES};
use serde_json::{Value, json};

/// Disciplines of table II.
pub(super) const DISCIPLINES: [&str; 4] = ["FCFS", "DRR", "RED", "SFQ"];
/// Largest distance from the mean that counts as no difference.
pub(super) const ALIKE: f64 = 0.1;

/// Results, with access to the cells of table II.
pub(super) struct Study<'a>(pub(super) &'a Results);

/// An environment, a discipline and a class of table II.
pub(super) type Place<'a> = (&'a str, &'a str, &'a str);

/// Our value of a cell of table II, and the printed one.
#[derive(Clone, Copy)]
pub(super) struct OursAndPrinted {
    pub(super) ours: f64,
    pub(super) printed_value: Option<f64>,
}

impl Study<'_> {
    /// Returns the row of a cell of table II.
    pub(super) fn row(&self, (scheme, discipline, class): Place<'_>) -> Option<&Row> {
        let keys = [("discipline", json!(discipline)), ("source", json!(class))];
        self.0.row(&format!("table-II/{scheme}"), scheme, MEAN_FINISH_TIME, &keys)
    }

    /// Returns a cell of table II, ours and the printed one.
    pub(super) fn ours_and_printed(&self, place: Place<'_>) -> Option<OursAndPrinted> {
        let row = self.row(place)?;
        Some(OursAndPrinted { ours: row.value?, printed_value: row.published() })
    }

    /// Returns our value of a cell of table II.
    pub(super) fn table(&self, scheme: &str, discipline: &str, class: &str) -> Option<f64> {
        self.row((scheme, discipline, class))?.value
    }

    /// Returns the mean of a row of table II over some classes.
    pub(super) fn mean(&self, scheme: &str, discipline: &str, classes: &[&str]) -> Option<OursAndPrinted> {
        let cells: Vec<OursAndPrinted> = classes
            .iter()
            .map(|class| self.ours_and_printed((scheme, discipline, class)))
            .collect::<Option<_>>()?;
        let count = cells.len() as f64;
        let printed: Option<f64> = cells.iter().map(|cell| cell.printed_value).sum();
        let ours: f64 = cells.iter().map(|cell| cell.ours).sum();
        Some(OursAndPrinted { ours: ours / count, printed_value: printed.map(|sum| sum / count) })
    }

    /// Returns a mean time of a class in an experiment beyond the table.
    pub(super) fn time(&self, id: &str, scheme: &str, class: &str, key: &str, value: Value) -> Option<f64> {
        self.0.value(id, scheme, MEAN_FINISH_TIME, &[(key, value), ("source", json!(class))])
    }

    /// Returns a time of the 10 kB flows.
    pub(super) fn short_flow_time(&self, scheme: &str, discipline: &str, class: &str) -> Option<f64> {
        self.time("ours/section-3.1/10-kB", scheme, class, "discipline", json!(discipline))
    }

    /// Requires the first place of each pair to be faster than the second.
    pub(super) fn faster(&self, pairs: &[(Place<'_>, Place<'_>)]) -> Option<Evidence> {
        let mut evidence = Evidence::default();
        let mut printed = 0;
        for (first, second) in pairs {
            let (a, b) = (self.ours_and_printed(*first)?, self.ours_and_printed(*second)?);
            let name = |(scheme, discipline, class): &Place<'_>| format!("{scheme} {discipline} {class}");
            let what = format!("{} {:.0} s, {} {:.0} s", name(first), a.ours, name(second), b.ours);
            evidence.require(a.ours < b.ours, what);
            printed += usize::from(a.printed_value.zip(b.printed_value).is_some_and(|(a, b)| a < b));
        }
        evidence.add(format!(
            "{} of {} pairs are in order, {printed} in the printed table",
            pairs.len() - evidence.failures(),
            pairs.len()
        ));
        Some(evidence)
    }

    /// Returns the largest distance of a class from its mean over disciplines, in our table and in the printed one.
    fn spread(&self, scheme: &str) -> Option<OursAndPrinted> {
        let mut worst = OursAndPrinted { ours: 0.0, printed_value: Some(0.0) };
        for class in SOURCE_CLASSES {
            let cells: Vec<OursAndPrinted> = DISCIPLINES
                .iter()
                .map(|of| self.ours_and_printed((scheme, of, class)))
                .collect::<Option<_>>()?;
            let ours: Vec<f64> = cells.iter().map(|cell| cell.ours).collect();
            worst.ours = worst.ours.max(largest_relative_distance(&ours));
            let printed: Option<Vec<f64>> = cells.iter().map(|cell| cell.printed_value).collect();
            worst.printed_value =
                worst.printed_value.zip(printed).map(|(worst, of)| worst.max(largest_relative_distance(&of)));
        }
        Some(worst)
    }

    /// Requires that disciplines hardly matter in these environments.
    pub(super) fn alike(&self, schemes: &[&str]) -> Option<Evidence> {
        let mut evidence = Evidence::default();
        for scheme in schemes {
            let OursAndPrinted { ours, printed_value: printed } = self.spread(scheme)?;
            evidence.add(format!(
                "{scheme}: a class differs from its mean over disciplines by {:.0} % at most{}",
                100.0 * ours,
                in_print(printed.map(|of| 100.0 * of), " %")
            ));
            evidence.require(ours < ALIKE, format!("{:.0} % or more in {scheme}", 100.0 * ALIKE));
        }
        Some(evidence)
    }
}

/// Returns the largest distance of a value from the mean, as a share.
pub(super) fn largest_relative_distance(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| (value / mean - 1.0).abs()).fold(0.0, f64::max)
}

/// Returns the printed value, in brackets.
pub(super) fn in_print(value: Option<f64>, unit: &str) -> String {
    value.map(|value| format!(" (printed {value:.0}{unit})")).unwrap_or_default()
}

/// Returns the pairs of classes in all disciplines of some environments.
pub(super) fn class_pairs<'a>(
    schemes: &[&'a str],
    pairs: &[(&'a str, &'a str)],
) -> Vec<(Place<'a>, Place<'a>)> {
    let mut all = Vec::new();
    for &scheme in schemes {
        for discipline in DISCIPLINES {
            all.extend(pairs.iter().map(|&(a, b)| ((scheme, discipline, a), (scheme, discipline, b))));
        }
    }
    all
}

/// Returns the pairs of two environments for some classes in all disciplines.
pub(super) fn environment_pairs<'a>(
    first: &'a str,
    second: &'a str,
    classes: &[&'a str],
) -> Vec<(Place<'a>, Place<'a>)> {
    let mut all = Vec::new();
    for discipline in DISCIPLINES {
        all.extend(classes.iter().map(|&class| ((first, discipline, class), (second, discipline, class))));
    }
    all
}

/// Requires the mean of some classes under `one` discipline to be below (or above) that under each other.
pub(super) fn must_stand_out(
    evidence: &mut Evidence,
    study: &Study<'_>,
    scheme: &str,
    classes: &[&str],
    one: &str,
    is_below: bool,
) -> Option<()> {
    let own = study.mean(scheme, one, classes)?;
    let name = format!("{scheme}, mean of {}", classes.join(", "));
    let mut means = Vec::new();
    for discipline in DISCIPLINES {
        let other = study.mean(scheme, discipline, classes)?;
        means.push(format!("{discipline} {:.0} s{}", other.ours, in_print(other.printed_value, "")));
        if discipline != one {
            let holds = if is_below { own.ours < other.ours } else { own.ours > other.ours };
            let order = if is_below { "below" } else { "above" };
            evidence.require(holds, format!("{name}: {one} is not {order} {discipline}"));
        }
    }
    evidence.add(format!("{name}: {}", means.join(", ")));
    Some(())
}
