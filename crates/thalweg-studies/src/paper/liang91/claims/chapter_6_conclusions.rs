//! Claims of chapter 6, and our own.

use super::{
    Claim, DROPS, Decide, Evidence, Interval, LITTLE_PERCENT, MESSAGES, Study, THROUGHPUT, agrees_in_size,
    gain_percent,
};
use crate::paper::liang91::metrics::VARIANCE_PER_RUN;
use serde_json::json;

pub(super) const CLAIMS: &[Decide] = &[
    seif_drops_almost_nothing,
    overhead_is_modest,
    slower_growth_sends_less,
    slower_growth_costs_nothing,
    marks_save_messages,
    seif_beats_what_is_not_measured,
    fair_queueing_beats_seif,
    losses_alone_are_nearest,
];

/// All experiments with SEIF as the thesis ends up with it.
const SEIF: [&str; 31] = [
    "4.2/exp-1",
    "4.2/exp-2",
    "4.2/exp-3",
    "4.3/exp-1",
    "4.3/exp-2",
    "4.3/exp-3",
    "5.1/exp-1",
    "5.2/exp-2",
    "5.3/exp-3",
    "5.4/exp-4",
    "5.5/exp-5",
    "5.6/exp-6",
    "5.7/exp-1",
    "5.7/exp-2",
    "5.7/exp-3",
    "5.7/exp-4",
    "5.9/exp-5",
    "5.9/exp-6",
    "5.9/exp-7",
    "5.9/exp-8",
    "5.11/exp-9",
    "5.11/exp-10",
    "5.11/exp-11",
    "5.13/exp-1",
    "5.13/exp-2",
    "5.13/exp-3",
    "5.13/exp-4",
    "5.17/exp-1",
    "5.17/exp-2",
    "5.17/exp-3",
    "5.17/exp-4",
];
/// Throughput of one and a half packets in the measured minute, in kbit/s.
const A_PACKET: f64 = 0.1;
/// Sources that react to losses, and routers that report them: what sections 3.3 and 4.1 leave open of section 4.2.
pub(super) const REACTIONS: [&str; 8] = [
    "reacting-feedback",
    "losses",
    "losses, cut to one packet",
    "messages",
    "messages and losses",
    "messages and losses, cut to one packet",
    "messages and losses, go-back-n",
    "messages and losses, packet buffers",
];
const GROWTH: &str = "ours/future-work/slower-growth";

fn seif_drops_almost_nothing(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let mut some = Vec::new();
    for id in SEIF {
        let drops = study.unprinted_value(id, "seif", DROPS)?;
        if drops.mean > 0.0 {
            some.push(format!("{id}: {:.1}", drops.mean));
        }
    }
    let (none, all) = (SEIF.len() - some.len(), SEIF.len());
    evidence.add(format!("none in {none} of {all} experiments"));
    some.into_iter().for_each(|drops| evidence.add(drops));
    evidence.require(2 * none > all, "drops in most experiments".to_owned());
    let text = "With feedback at 80 % SEIF drops few packets, and none in most cases";
    Some(evidence.claim("6a", text).at("3.4, p. 33; 6, p. 92"))
}

fn overhead_is_modest(study: &Study<'_>) -> Option<Claim> {
    const METRIC: &str = "feedback_overhead_bps";
    let mut evidence = Evidence::default();
    for id in ["4.7/exp-1", "4.8/exp-2", "4.10/exp-3"] {
        let keys = [("cut_back", json!(0.5))];
        let messages = study.interval(id, "seif", METRIC, &keys)?;
        let printed = study.printed_value(id, "seif", METRIC, &keys)?;
        let share = messages.mean / (1e3 * study.interval(id, "seif", THROUGHPUT, &keys)?.mean);
        evidence.add(format!(
            "{id}: {:.0} bit/s (printed {printed:.0}), {:.2} % of the throughput",
            messages.mean,
            100.0 * share
        ));
        evidence.require(share < 0.01, format!("{id}: more than 1 %"));
        evidence.size(
            agrees_in_size(messages, printed),
            format!("{id}: {:.0} bit/s in place of {printed:.0}", messages.mean),
        );
    }
    let text = "SEIF's messages take a modest part of the network";
    Some(evidence.claim("6b", text).at("abstract; 3.4, p. 33; 6, p. 92"))
}

/// Returns a value with growth by one packet in every `windows` windows of acknowledgements.
fn value_with_growth(
    study: &Study<'_>,
    windows: u32,
    metric: &str,
    direction: Option<&str>,
) -> Option<Interval> {
    let mut keys = vec![("growth_windows", json!(windows))];
    keys.extend(direction.map(|direction| ("sources", json!(direction))));
    study.interval(GROWTH, "seif", metric, &keys)
}

fn slower_growth_sends_less(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let (one, two) =
        (value_with_growth(study, 1, MESSAGES, None)?, value_with_growth(study, 2, MESSAGES, None)?);
    evidence.add(format!("{:.0} messages in place of {:.0}", two.mean, one.mean));
    evidence.require(gain_percent(two, one).is_surely_below(-25.0), "not many fewer".to_owned());
    let text = "Growth every two windows of acknowledgements sends many fewer messages";
    Some(evidence.claim("6.1a", text).at("6.1, p. 93"))
}

fn slower_growth_costs_nothing(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let of = |windows| value_with_growth(study, windows, THROUGHPUT, None);
    let change = gain_percent(of(2)?, of(1)?);
    evidence.add(format!("throughput {:+.1} +/- {:.1} %", change.mean, change.half));
    evidence.require(change.mean.abs() < LITTLE_PERCENT, "throughput changes".to_owned());
    for direction in ["forward", "reverse"] {
        let of = |windows| value_with_growth(study, windows, VARIANCE_PER_RUN, Some(direction));
        let (one, two) = (of(1)?, of(2)?);
        evidence.add(format!("variance {direction} {:.2} in place of {:.2}", two.mean, one.mean));
        evidence.require(
            two.mean < 2.0 * one.mean,
            format!("{direction} {:.0} times as unfair", two.mean / one.mean),
        );
    }
    let text = "Growth every two windows changes throughput and fairness little";
    Some(evidence.claim("6.1b", text).at("6.1, p. 93"))
}

fn marks_save_messages(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let of = |scheme| study.get("ours/future-work/two-bottlenecks", scheme, MESSAGES);
    let (all, marking) = (of("seif")?, of("seif-marking")?);
    evidence.add(format!("{marking:.0} messages in place of {all:.0}"));
    evidence.require(marking < all, "no fewer".to_owned());
    let text = "Where two queues of a path warn, marks in packets keep the second from repeating the warning";
    Some(evidence.claim("6.1c", text).at("6.1, p. 93"))
}

fn seif_beats_what_is_not_measured(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for id in ["ours/schemes/one-way", "ours/schemes/two-way"] {
        let of = |scheme| study.interval(id, scheme, THROUGHPUT, &[]);
        let seif = of("seif")?;
        let mut shown = Vec::new();
        for scheme in ["vanilla", "source-quench", "bbn", "tri-s"] {
            let other = of(scheme)?;
            shown.push(format!("{scheme} {:.1}", other.mean));
            evidence.require(!seif.minus(other).is_surely_below(-A_PACKET), format!("{id}: {scheme}"));
        }
        evidence.add(format!("{id}: {:.1} kbit/s, {}", seif.mean, shown.join(", ")));
    }
    let text = "SEIF carries at least as much as go-back-n without control, Source Quench, BBN's scheme and Tri-S, one way and two ways";
    Some(evidence.claim("o1", text).ours())
}

fn fair_queueing_beats_seif(study: &Study<'_>) -> Option<Claim> {
    const ID: &str = "ours/schemes/two-way";
    let mut evidence = Evidence::default();
    let of = |scheme| study.interval(ID, scheme, THROUGHPUT, &[]);
    let seif = of("seif")?;
    for scheme in ["slow-start-fq", "dec-bit-fqbit"] {
        let other = of(scheme)?;
        evidence.add(format!("{scheme}: {:.1} > {:.1} kbit/s", other.mean, seif.mean));
        evidence.require(other.minus(seif).is_surely_above(0.0), format!("{scheme}: not surely"));
    }
    let text = "Two ways, Slow Start and DEC bit behind routers with Fair Queueing carry more than SEIF";
    Some(evidence.claim("o2", text).ours())
}

/// Returns the mean distance of the gains of avoidance over a reaction from the six printed ones, in percentage points.
fn off_the_printed_gains(study: &Study<'_>, reaction: &str) -> Option<f64> {
    let mut sum = 0.0;
    for (id, table) in [("ours/section-4.1/one-way", "4.2"), ("ours/section-4.1/two-way", "4.3")] {
        for (experiment, links) in (1..).zip(["equal", "slow-middle", "slow-among-fast"]) {
            let of = |scheme| study.interval(id, scheme, THROUGHPUT, &[("links", json!(links))]);
            let name = format!("{table}/exp-{experiment}");
            let printed =
                study.printed_value(&name, "seif-over-reacting", "throughput_improvement_percent", &[])?;
            sum += (gain_percent(of("seif")?, of(reaction)?).mean - printed).abs();
        }
    }
    Some(sum / 6.0)
}

fn losses_alone_are_nearest(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let (chosen, others) = REACTIONS.split_first()?;
    let nearest = off_the_printed_gains(study, chosen)?;
    evidence.add(format!("{nearest:.1} points off the printed gains on average"));
    for other in others {
        let off = off_the_printed_gains(study, other)?;
        evidence.add(format!("{other}: {off:.1}"));
        evidence.require(nearest < off, format!("{other} are as near"));
    }
    let text = "Of the readings of section 4.1, a source that reacts to losses alone and goes back n is nearest to the gains of avoidance in tables 4.2 and 4.3";
    Some(evidence.claim("o3", text).ours())
}
