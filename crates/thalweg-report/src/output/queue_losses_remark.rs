//! Remarks on groups of flows with a high drop ratio at queues.
//!
//! NewReno's loss rate at a mean window of W segments is 1.5 / W^2 (Mathis et al. 1997), that is 9.4 % at W = 4, the
//! smallest window with the three duplicate acknowledgements of fast retransmit (RFC 5681, section 3.2). Below it
//! timeouts keep the rate low: 4 to 30 flows of NewReno or CUBIC over 10 Mbit/s and 20 ms lose 9 % at most with queues
//! of 5 to 40 packets, those of Copa 5 to 25 %. A sender that loses more than 10 % does not adapt, unless its window is
//! so small that it cannot.

use super::group_label::group_label;
use super::number_format::{Scale, Style};
use crate::results::{Document, Group, Metric, Run};
use thalweg_catalog::built_in_traits;

/// Returns a sentence for each group of each scheme of which queues dropped a large share of its packets.
pub(super) fn queue_losses_sentences(document: &Document, style: Style) -> Vec<String> {
    let of_schemes = document.runs_by_scheme();
    let mut sentences: Vec<(f64, String)> =
        of_schemes.flat_map(|(scheme, runs)| of_scheme(scheme, runs, document, style)).collect();
    sentences.sort_by(|a, b| b.0.total_cmp(&a.0));
    sentences.into_iter().take(MAX_SENTENCES).map(|(_, sentence)| sentence).collect()
}

/// Returns the groups of a scheme with a large share of dropped packets, with their sentences.
fn of_scheme(scheme: Option<&str>, runs: &[Run], document: &Document, style: Style) -> Vec<(f64, String)> {
    let seconds = document.duration_s - document.warmup_s;
    let complete = || runs.iter().filter(|run| run.complete);
    let count = complete().count() as f64;
    let names = complete().next().map_or(&[][..], |run| run.groups.as_slice());
    let one = |(number, first): (usize, &Group)| {
        let groups = || complete().filter_map(|run| run.groups.get(number));
        let sum = |metric: Metric| groups().map(|group| group.or_zero(metric)).sum::<f64>();
        let (sent, lost) = (sum(Metric::Sent), sum(Metric::Lost));
        // Random losses are the scenario's. Drops include those of acknowledgements.
        let dropped = lost.min(sum(Metric::Drops));
        let share = if sent >= MIN_PACKETS { (dropped / sent).min(1.0) } else { 0.0 };
        let rate = |packets: f64| {
            let rate = packets / count / seconds;
            format!("{rate:.digits$}", digits = usize::from(rate < 10.0))
        };
        let rtt = groups().filter_map(|group| group.get(Metric::RttMean)).sum::<f64>() / count;
        let window = sent / count / seconds / f64::from(first.flows.max(1)) * rtt;
        let is_live_media = first.get(Metric::Jitter).is_some();
        let is_small = !is_live_media && rtt > 0.0 && window < SMALL_WINDOW;
        let others = complete().map(|run| run.totals.or_zero(Metric::Sent)).sum::<f64>() - sent;
        let help = if is_live_media && complete().all(drops_beside_idle_time) {
            "its packets arrive at once: let its flows start at random times (`spread`), or give the queue more room"
                .to_owned()
        } else if is_live_media && sent < others {
            // Most arrivals at a shared queue, and so most packets in it, are of other groups.
            OTHERS_FILL_THE_QUEUE.to_owned()
        } else if is_live_media {
            "give its source a lower rate".to_owned()
        } else if is_small {
            let window = if window < 0.1 { "less than 0.1".to_owned() } else { format!("{window:.1}") };
            format!(
                "each flow sends {window} a round trip, the least: others, or too many of them, fill the queue"
            )
        } else if built_in_traits(&first.scheme).is_some_and(|traits| traits.is_loss_based) {
            // A loss-based scheme loses little unless others fill the queue.
            OTHERS_FILL_THE_QUEUE.to_owned()
        } else {
            "a loss-based scheme, such as `cubic`, adapts to the delivered rate".to_owned()
        };
        let label = group_label(first, document, scheme, style);
        (share > if is_small { LARGE_OF_SMALL_WINDOWS } else { MAX_ADAPTIVE_LOSS_SHARE } && seconds > 0.0).then(|| {
            let sentence = format!(
                "{} of the packets of {label} were dropped by queues: it sent {} a second, of which {} were not lost; {help}.",
                Scale::PERCENT.fixed(share, 1),
                rate(sent),
                // Some of these may be in the network still.
                rate(sent - lost)
            );
            (share, sentence)
        })
    };
    names.iter().enumerate().filter_map(one).collect()
}

/// Returns true if all queues with drops are those of links that are idle for most of the time, without a policer: bursts
/// overflow them, not the rate.
fn drops_beside_idle_time(run: &Run) -> bool {
    let mut dropping = run.links.iter().filter(|link| link.or_zero(Metric::LinkDrops) > 0.0).peekable();
    dropping.peek().is_some()
        && dropping.all(|link| {
            link.or_zero(Metric::Utilisation) < MAX_UTILISATION_OF_BURSTS
                && link.get(Metric::PolicerUse).is_none()
        })
}

const OTHERS_FILL_THE_QUEUE: &str = "others fill the queue";
/// Utilisation below which only bursts overflow a queue. Random arrivals, without bursts, lose less than
/// [`MAX_ADAPTIVE_LOSS_SHARE`] at such a link if two packets can wait: in M/M/1/3 they lose a tenth at a utilisation of 0.54
/// (Kleinrock 1975, section 3.6). With more room, or packets of equal size, they lose less.
const MAX_UTILISATION_OF_BURSTS: f64 = 0.5;
/// Largest share that queues drop of a sender that adapts to losses.
const MAX_ADAPTIVE_LOSS_SHARE: f64 = 0.1;
/// The same for windows below [`SMALL_WINDOW`].
const LARGE_OF_SMALL_WINDOWS: f64 = 0.25;
/// Smallest window after a loss without a timeout, in segments (RFC 5681, section 3.1, equation 4).
const SMALL_WINDOW: f64 = 2.0;
/// Minimum number of sent packets for a share.
const MIN_PACKETS: f64 = 100.0;
/// Maximum number of groups named, largest loss first.
const MAX_SENTENCES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::test_fixtures::{run_result, test_header};
    use thalweg_proto::units::Duration;

    /// Returns the remarks where of 1000 packets of the last group's flow `lost` are lost, and `dropped` of its packets
    /// dropped, with a round-trip time of `rtt` milliseconds.
    fn warnings(losses: [u64; 2], rtt: u64) -> Vec<String> {
        warnings_of("copa", losses, rtt)
    }

    /// Returns the same for another scheme.
    fn warnings_of(scheme: &str, [lost, dropped]: [u64; 2], rtt: u64) -> Vec<String> {
        let mut result = run_result(1, 75);
        let last = result.flows.last_mut().unwrap();
        (last.counts.lost_data, last.counts.drops) = (lost, dropped);
        let group = result.groups.last_mut().unwrap();
        scheme.clone_into(&mut group.scheme);
        group.round_trips.mean = Duration::from_millis(rtt);
        queue_losses_sentences(
            &Document::from_runs(test_header(&[1]), vec![Run::from_result(&result)]),
            Style::PLAIN,
        )
    }

    /// A flow sends 1000 packets in the 25 s measured: four in a round trip of 100 ms.
    #[test]
    fn heavy_loss_is_reported_with_the_rates_of_sent_and_not_lost_packets() {
        assert!(warnings([100, 100], 100).is_empty());
        // A flow of Copa at a policer of a tenth of the line's rate loses 253 of 1000 packets, eight with a queue of 20
        // packets 180 to 290.
        assert!(
            warnings([180, 180], 100)[0]
                .starts_with("18.0 % of the packets of `bold` (copa) were dropped by queues")
        );
        let expected = "99.8 % of the packets of `bold` (copa) were dropped by queues: it sent 40 a second, of which \
                        0.1 were not lost; a loss-based scheme, such as `cubic`, adapts to the delivered rate.";
        assert_eq!(warnings([998, 998], 100), [expected]);
    }

    #[test]
    fn random_losses_and_drops_of_acknowledgements_are_not_blamed_on_the_scheme() {
        assert!(warnings([300, 50], 100).is_empty());
        assert!(warnings([50, 300], 100).is_empty());
        assert!(warnings([400, 110], 100)[0].starts_with("11.0 % of the packets"));
    }

    /// RFC 5681, equation 4: a window of two segments is not reduced without a timeout.
    #[test]
    fn windows_that_cannot_be_reduced_may_lose_a_quarter() {
        assert!(warnings([250, 250], 49).is_empty());
        let remark = &warnings([260, 260], 40)[0];
        assert!(
            remark.ends_with(
                "each flow sends 1.6 a round trip, the least: others, or too many of them, fill the queue."
            ),
            "{remark}"
        );
        assert!(!remark.contains("loss-based"), "{remark}");
        assert!(warnings([260, 260], 1)[0].contains("sends less than 0.1 a round trip"));
        assert!(warnings([110, 110], 51)[0].contains("loss-based"));
    }

    #[test]
    fn a_scheme_that_adapts_is_not_advised_to_be_replaced_by_itself() {
        for scheme in ["cubic", "cubic:rack=true", "newreno:preset=linux", "dctcp", "prague", "slow-start"] {
            let remark = &warnings_of(scheme, [400, 400], 100)[0];
            assert!(remark.ends_with("others fill the queue."), "{remark}");
        }
        for scheme in ["bbr", "udp", "mine"] {
            let remark = &warnings_of(scheme, [400, 400], 100)[0];
            assert!(remark.ends_with("such as `cubic`, adapts to the delivered rate."), "{remark}");
        }
    }

    /// The advice follows from the group's own scheme, whichever others are compared.
    #[test]
    fn a_group_that_keeps_its_scheme_is_not_judged_by_the_compared_ones() {
        let remark = |compared: &str, own: &str| {
            let mut result = run_result(1, 75);
            compared.clone_into(&mut result.groups[0].scheme);
            own.clone_into(&mut result.groups[1].scheme);
            result.groups[1].round_trips.mean = Duration::from_millis(100);
            let last = result.flows.last_mut().unwrap();
            (last.counts.lost_data, last.counts.drops) = (400, 400);
            let schemes = vec![(compared.to_owned(), vec![Run::from_result(&result)])];
            let found =
                queue_losses_sentences(&Document::from_comparison(test_header(&[1]), schemes), Style::PLAIN);
            found[0].clone()
        };
        let kept = remark("bbr", "cubic");
        assert!(
            kept.starts_with("40.0 % of the packets of `bold` (cubic) beside bbr were dropped by queues"),
            "{kept}"
        );
        assert!(kept.ends_with("others fill the queue."), "{kept}");
        let kept = remark("cubic", "fixed");
        assert!(kept.contains("`bold` (fixed) beside cubic"), "{kept}");
        assert!(kept.ends_with("such as `cubic`, adapts to the delivered rate."), "{kept}");
    }

    /// The loss in M/M/1/K at the offered load `a` is `a^K / (1 + a + ... + a^K)` (Kleinrock 1975, section 3.6), and the
    /// utilisation is the load that is not lost.
    #[test]
    fn random_arrivals_lose_little_at_links_that_are_idle_for_most_of_the_time() {
        let loss_at = |utilisation: f64, places: i32| {
            let loss = |load: f64| load.powi(places) / (0..=places).map(|n| load.powi(n)).sum::<f64>();
            let loads = (0..10_000).map(|step| f64::from(step) / 5_000.0);
            loss(loads.take_while(|load| load * (1.0 - loss(*load)) < utilisation).last().unwrap())
        };
        assert!(loss_at(MAX_UTILISATION_OF_BURSTS, 3) < MAX_ADAPTIVE_LOSS_SHARE);
        assert!(loss_at(MAX_UTILISATION_OF_BURSTS, 10) < 0.001);
        assert!(loss_at(0.55, 3) > MAX_ADAPTIVE_LOSS_SHARE);
    }

    /// Datagrams whose packets arrive at once, those beside faster flows, and those that are too fast.
    #[test]
    fn the_advice_for_datagrams_names_the_cause_of_their_drops() {
        let remark = |utilisation: f64, sent: u64| {
            let mut result = run_result(1, 75);
            let last = result.flows.last_mut().unwrap();
            last.jitter = Some(Duration::from_millis(1));
            last.sent_packets = sent;
            (last.counts.lost_data, last.counts.drops) = (sent * 2 / 5, sent * 2 / 5);
            "udp".clone_into(&mut result.groups.last_mut().unwrap().scheme);
            result.links.iter_mut().for_each(|link| link.utilisation = utilisation);
            let document = Document::from_runs(test_header(&[1]), vec![Run::from_result(&result)]);
            queue_losses_sentences(&document, Style::PLAIN).pop().unwrap()
        };
        assert!(remark(0.08, 1000).contains("its packets arrive at once"), "{}", remark(0.08, 1000));
        assert!(remark(0.95, 200).ends_with("others fill the queue."), "{}", remark(0.95, 200));
        assert!(remark(0.95, 5000).ends_with("give its source a lower rate."), "{}", remark(0.95, 5000));
        // Both limits: a link that is idle for half of the time, and others that send as many packets.
        assert!(remark(0.499, 2000).contains("its packets arrive at once"), "{}", remark(0.499, 2000));
        assert!(remark(0.5, 2000).ends_with("give its source a lower rate."), "{}", remark(0.5, 2000));
        assert!(remark(0.5, 1999).ends_with("others fill the queue."), "{}", remark(0.5, 1999));
    }
}
