//! Remarks on groups of flows with heavy loss.

use super::text::{Scale, Style};
use crate::results::{Document, Group, Metric, Run};

/// Returns a sentence for each group of each scheme that lost a large share of its packets.
pub(super) fn losses(document: &Document, style: Style) -> Vec<String> {
    let seconds = document.duration_s - document.warmup_s;
    let of_schemes = document.runs_by_scheme();
    let mut sentences: Vec<(f64, String)> =
        of_schemes.flat_map(|(scheme, runs)| of_scheme(scheme, runs, seconds, style)).collect();
    sentences.sort_by(|a, b| b.0.total_cmp(&a.0));
    sentences.into_iter().take(MAX_SENTENCES).map(|(_, sentence)| sentence).collect()
}

/// Returns the groups of a scheme with a large loss share, with their sentences.
fn of_scheme(scheme: Option<&str>, runs: &[Run], seconds: f64, style: Style) -> Vec<(f64, String)> {
    let complete = || runs.iter().filter(|run| run.complete);
    let count = complete().count() as f64;
    let names = complete().next().map_or(&[][..], |run| run.groups.as_slice());
    let one = |(number, first): (usize, &Group)| {
        let groups = || complete().filter_map(|run| run.groups.get(number));
        let sum = |metric: Metric| groups().map(|group| group.or_zero(metric)).sum::<f64>();
        let (sent, lost) = (sum(Metric::Sent), sum(Metric::Lost));
        let share = if sent > 0.0 { (lost / sent).min(1.0) } else { 0.0 };
        let rate = |packets: f64| {
            let rate = packets / count / seconds;
            format!("{rate:.digits$}", digits = usize::from(rate < 10.0))
        };
        let is_live_media = first.get(Metric::Jitter).is_some();
        let help = if is_live_media {
            "give its source a lower rate"
        } else {
            "a loss-based scheme, such as `cubic`, adapts to the delivered rate"
        };
        let group_label = match scheme {
            Some(scheme) => format!("{}, `{}`", style.clean(scheme), style.clean(&first.name)),
            None => format!("`{}` ({})", style.clean(&first.name), style.clean(&first.scheme)),
        };
        (share > LARGE && seconds > 0.0).then(|| {
            let sentence = format!(
                "{} of the packets of {group_label} were lost: it sent {} a second, and {} arrived; {help}.",
                Scale::PERCENT.fixed(share, 1),
                rate(sent),
                rate(sent - lost)
            );
            (share, sentence)
        })
    };
    names.iter().enumerate().filter_map(one).collect()
}

/// Loss share above which a sender does more than probe its path.
const LARGE: f64 = 0.25;
/// Maximum number of groups named, largest loss first.
const MAX_SENTENCES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::samples::{header, result};

    /// Returns the remarks where `lost` of 1000 packets of each flow of the last group are lost.
    fn warnings(lost: u64) -> Vec<String> {
        let mut result = result(1, 75);
        let last = result.flows.last_mut().unwrap();
        last.counts.lost_data = lost;
        losses(&Document::of_runs(header(&[1]), vec![Run::from_result(&result)]), Style::PLAIN)
    }

    #[test]
    fn heavy_loss_is_reported_with_sent_and_received_rates() {
        assert!(warnings(250).is_empty());
        // A flow of Copa at a policer of a tenth of the line's rate loses 253 of 1000 packets.
        assert!(warnings(253)[0].starts_with("25.3 % of the packets of `bold` (cubic) were lost"));
        // 1000 packets in the 25 s measured.
        let expected = "99.8 % of the packets of `bold` (cubic) were lost: it sent 40 a second, and 0.1 arrived; \
                        a loss-based scheme, such as `cubic`, adapts to the delivered rate.";
        assert_eq!(warnings(998), [expected]);
    }
}
