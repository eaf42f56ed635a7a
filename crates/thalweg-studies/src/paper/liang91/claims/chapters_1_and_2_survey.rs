//! Claims of chapters 1 and 2, on earlier schemes.

use super::{Claim, DROPS, Decide, Evidence, Interval, MESSAGES, ONE_WAY, Study, THROUGHPUT, format_means};
use crate::paper::liang91::metrics::VARIANCE_PER_RUN;
use serde_json::json;

pub(super) const CLAIMS: &[Decide] = &[
    throughput_collapses_under_load,
    fair_queueing_shares_better,
    source_quench_wastes,
    slow_start_costs_nothing,
    slow_start_learns_from_losses,
    dec_bit_is_between,
    tri_s_is_fair_on_average,
];

/// Networks of the schemes that the thesis does not measure: our experiment, and the table with the same network.
const NETWORKS: [(&str, &str); 2] =
    [("ours/schemes/one-way", "5.3/exp-3"), ("ours/schemes/two-way", "5.7/exp-2")];

/// Returns the throughput and the variance of the forward users of a scheme that the thesis does not measure.
fn unpublished_throughput_and_variance(
    study: &Study<'_>,
    id: &str,
    scheme: &str,
) -> Option<(Interval, Interval)> {
    let variance = study.interval(id, scheme, VARIANCE_PER_RUN, &[("sources", json!("forward"))])?;
    Some((study.interval(id, scheme, THROUGHPUT, &[])?, variance))
}

fn throughput_collapses_under_load(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let at = |&window: &u32| {
        study.interval("ours/figure-1.1", "vanilla", THROUGHPUT, &[("window", json!(window))])
    };
    let values: Vec<Interval> = LOADS.iter().map(at).collect::<Option<_>>()?;
    let windows = LOADS.map(|window| window.to_string()).join(", ");
    evidence.add(format!("two windows of {windows} packets: {} kbit/s", format_means(&values, 1)));
    let means: Vec<f64> = values.iter().map(|of| of.mean).collect();
    let best = (0..means.len()).max_by(|&a, &b| means[a].total_cmp(&means[b]))?;
    // Gains for each further packet of the windows, up to the highest throughput.
    let gain = |step: usize| (means[step + 1] - means[step]) / f64::from(LOADS[step + 1] - LOADS[step]);
    let is_linear = means[1] > LINEAR * means[0] * f64::from(LOADS[1]) / f64::from(LOADS[0]);
    evidence.require(is_linear, "it does not grow with the load from the start".to_owned());
    let last_gain = best.checked_sub(1).map(gain);
    evidence
        .require(last_gain.is_some_and(|last| last < gain(0) / 2.0), "its gain does not shrink".to_owned());
    let lost = 1.0 - means[means.len() - 1] / means[best];
    evidence.add(format!("{:.0} % less than at the best load with the heaviest", 100.0 * lost));
    evidence.require(lost > DRAMATIC, "it does not drop by a half".to_owned());
    let text = "Without congestion control throughput grows linearly with light load, then less, and drops dramatically under heavy load (figure 1.1)";
    Some(evidence.claim("1.1.1a", text).at("1.1.1, p. 1, 3"))
}

fn fair_queueing_shares_better(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for (ours, table) in NETWORKS {
        let (throughput, fair) = unpublished_throughput_and_variance(study, ours, "slow-start-fq")?;
        let (random_throughput, random) =
            (study.throughput(table, "slow-start")?, study.variance(table, "slow-start", "forward")?);
        evidence.add(format!(
            "{table}: variance {:.3} < {:.3}, at {:.1} and {:.1} kbit/s",
            fair.mean, random.mean, throughput.mean, random_throughput.mean
        ));
        evidence.require(fair.mean < random.mean, format!("{table}: Random Drop is fairer"));
    }
    let text = "Under Slow Start, Fair Queueing shares a router better than Random Drop";
    Some(evidence.claim("1.1.4a", text).at("1.1.4, p. 5"))
}

fn source_quench_wastes(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for (ours, _) in NETWORKS {
        let messages = |scheme| study.interval(ours, scheme, MESSAGES, &[]);
        let (many, few) = (messages("source-quench")?, messages("seif")?);
        let (less, more) = (
            unpublished_throughput_and_variance(study, ours, "source-quench")?.0,
            unpublished_throughput_and_variance(study, ours, "seif")?.0,
        );
        evidence.add(format!(
            "{ours}: {:.0} messages against {:.0} with the filter of SEIF, {:.1} and {:.1} kbit/s",
            many.mean, few.mean, less.mean, more.mean
        ));
        evidence.require(few.minus(many).is_surely_below(0.0), format!("{ours}: not more messages"));
        evidence.require(less.minus(more).is_surely_below(0.0), format!("{ours}: not less throughput"));
    }
    let text =
        "Source Quench does not filter its messages: it sends many more than needed, and throughput suffers";
    Some(evidence.claim("2.1.2a", text).at("2.1.2, p. 11; 2.6, p. 21"))
}

fn slow_start_costs_nothing(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let of = |id: &&str| study.unprinted_value(id, "slow-start", MESSAGES);
    let messages: Vec<Interval> = ONE_WAY.iter().map(of).collect::<Option<_>>()?;
    evidence.add(format!("{} messages", format_means(&messages, 0)));
    evidence.require(messages.iter().all(|of| of.mean == 0.0), "there are messages".to_owned());
    let text = "Slow Start consumes nothing of the network for its control";
    Some(evidence.claim("2.3.2a", text).at("abstract; 2.3.2, p. 16; 5.1, p. 80; 6, p. 91"))
}

fn slow_start_learns_from_losses(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for id in ONE_WAY {
        let drops = study.unprinted_value(id, "slow-start", DROPS)?;
        evidence.add(format!("{id}: {:.1} drops", drops.mean));
        evidence.require(drops.is_surely_above(0.0), format!("{id}: none"));
    }
    let text = "Slow Start's sources learn of congestion only after packets were dropped";
    Some(evidence.claim("2.3.2b", text).at("abstract; 2.3.2, p. 17; 2.6, p. 21; 3.1, p. 22"))
}

fn dec_bit_is_between(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for (ours, table) in NETWORKS {
        let (bbn, bbn_variance) = unpublished_throughput_and_variance(study, ours, "bbn")?;
        let throughput = |scheme| study.throughput(table, scheme);
        let variance = |scheme| study.variance(table, scheme, "forward");
        let (dec, slow) = (throughput("dec-bit")?.mean, throughput("slow-start")?.mean);
        let (dec_variance, slow_variance) = (variance("dec-bit")?.mean, variance("slow-start")?.mean);
        evidence.add(format!(
            "{table}: {slow:.1}, {dec:.1} and {:.1} kbit/s for Slow Start, DEC bit and BBN, variances {slow_variance:.3}, {dec_variance:.3} and {:.3}",
            bbn.mean, bbn_variance.mean
        ));
        evidence.require(slow <= dec && dec <= bbn.mean, format!("{table}: not in throughput"));
        let between = slow_variance >= dec_variance && dec_variance >= bbn_variance.mean;
        evidence.require(between, format!("{table}: not in fairness"));
    }
    let text = "DEC bit performs better than Slow Start and less well than BBN's scheme";
    Some(evidence.claim("2.4.2a", text).at("2.4.2, p. 18"))
}

fn tri_s_is_fair_on_average(study: &Study<'_>) -> Option<Claim> {
    const ID: &str = "5.17/exp-2";
    let mut evidence = Evidence::default();
    let of =
        |source: u32| study.interval(ID, "tri-s", "throughput_kbytes_per_s", &[("source", json!(source))]);
    let (one, two) = (of(1)?, of(2)?);
    let difference = one.minus(two);
    let deviation = libm::sqrt(study.variance(ID, "tri-s", "forward")?.mean) / BITS_PER_BYTE;
    evidence.add(format!(
        "means over runs {:.1} and {:.1} kB/s, a difference of {:.1} +/- {:.1}; in a run users are {deviation:.1} kB/s off their mean",
        one.mean, two.mean, difference.mean, difference.half
    ));
    let differ = difference.is_surely_above(0.0) || difference.is_surely_below(0.0);
    evidence.require(!differ || difference.mean.abs() < 0.05 * one.mean, "the means differ".to_owned());
    evidence.require(deviation > UNEVEN * one.mean, "single runs are even".to_owned());
    let text = "Tri-S is fair on average over many runs, and can be very unfair in any of them";
    Some(evidence.claim("2.5.2a", text).at("2.5.2, p. 21; 6, p. 92"))
}

/// Windows of the two users without congestion control, in packets.
const LOADS: [u32; 12] = [1, 2, 3, 4, 6, 8, 12, 16, 20, 30, 45, 60];
/// Part of a proportional gain that counts as linear.
const LINEAR: f64 = 0.9;
/// Loss of throughput that counts as a dramatic drop, as a part of the highest.
const DRAMATIC: f64 = 0.5;
/// Share of a user's throughput by which users differ from their mean if shares are uneven.
const UNEVEN: f64 = 0.05;
const BITS_PER_BYTE: f64 = 8.0;
