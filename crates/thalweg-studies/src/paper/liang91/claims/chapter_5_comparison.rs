//! Claims of chapter 5: SEIF beside Slow Start, DEC bit and Tri-S.

use super::{
    Claim, DROPS, Decide, Evidence, Interval, LITTLE_PERCENT, MESSAGES, ONE_WAY, Study, agrees_in_size,
    format_means, gain_percent, printed_gain,
};
use crate::paper::liang91::metrics::{MOVEMENT_CORRELATION, WINDOW_CORRELATION};
use serde_json::{Value, json};

pub(super) const CLAIMS: &[Decide] = &[
    one_way_seif_carries_most,
    one_way_seif_is_fairer_than_slow_start,
    dec_bit_is_slightly_fairer_with_three,
    dec_bit_is_much_less_fair_with_four,
    slow_start_drops_more,
    slow_middle_seif_carries_most,
    slow_middle_slow_start_is_unfair,
    slow_middle_dec_bit_is_unfair,
    windows_move_together,
    seif_windows_share_a_range,
    dec_bit_windows_differ,
    two_ways_dec_bit_carries_least,
    crossing_dec_bit_carries_least,
    two_ways_dec_bit_is_unfair,
    two_ways_seif_beats_slow_start,
    two_ways_seif_is_fairer_than_slow_start,
    most_users_seif_is_a_little_behind,
    overhead_follows_users,
    only_two_ways_cost_throughput,
    telnet_small_packets,
    telnet_large_packets,
    seif_beats_tri_s,
    seif_is_fairer_than_tri_s,
];

/// Experiments of two-way traffic on the first network, with the directions of more than one user.
const TWO_WAYS: [(&str, &[&str]); 8] = [
    ("5.7/exp-1", &[]),
    ("5.7/exp-2", &["forward"]),
    ("5.7/exp-3", &["forward"]),
    ("5.7/exp-4", &["forward", "reverse"]),
    ("5.9/exp-5", &[]),
    ("5.9/exp-6", &["forward"]),
    ("5.9/exp-7", &["forward"]),
    ("5.9/exp-8", &["forward", "reverse"]),
];
/// Experiments of two-way traffic on the second network.
const CROSSING: [&str; 3] = ["5.11/exp-9", "5.11/exp-10", "5.11/exp-11"];
/// Experiment with SEIF below Slow Start: three against two sources and the small buffer.
const MAX_USERS: &str = "5.9/exp-8";
/// Experiment of the figures with windows.
const WINDOWS: &str = "5.6/exp-6";
/// Ratio of variances from which one scheme is much less fair.
const MUCH_LESS_FAIR_RATIO: f64 = 10.0;

/// Adds the steps that SEIF carries more than the others in an experiment.
fn carries_most(study: &Study<'_>, evidence: &mut Evidence, id: &str) -> Option<()> {
    let of = |scheme| study.throughput(id, scheme);
    let (seif, dec, slow) = (of("seif")?.mean, of("dec-bit")?.mean, of("slow-start")?.mean);
    evidence.add(format!("{id}: {seif:.2} > {dec:.2}, {slow:.2} kbit/s"));
    evidence.require(seif > dec, format!("{id}: not above DEC bit"));
    evidence.require(seif > slow, format!("{id}: not above Slow Start"));
    Some(())
}

/// Adds the step that SEIF is fairer than another scheme in an experiment.
fn is_fairer(
    study: &Study<'_>,
    evidence: &mut Evidence,
    id: &str,
    scheme: &str,
    direction: &str,
) -> Option<(Interval, Interval)> {
    let (seif, other) = (study.variance(id, "seif", direction)?, study.variance(id, scheme, direction)?);
    evidence.add(format!("{id}, {direction}: variance {:.3} < {:.3}", seif.mean, other.mean));
    evidence.require(seif.mean < other.mean, format!("{id}, {direction}: no fairer"));
    Some((seif, other))
}

fn one_way_seif_carries_most(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for id in &ONE_WAY[..4] {
        carries_most(study, &mut evidence, id)?;
    }
    let text = "One way, SEIF has the highest throughput of the three (1 to 4 users)";
    Some(evidence.claim("5.1a", text).at("abstract; 5.1, p. 66; 5.3, p. 90; 6, p. 91"))
}

fn one_way_seif_is_fairer_than_slow_start(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for id in &ONE_WAY[1..4] {
        is_fairer(study, &mut evidence, id, "slow-start", "forward")?;
    }
    let text = "One way, SEIF is always fairer than Slow Start (2 to 4 users)";
    Some(evidence.claim("5.1b", text).at("abstract; 5.1, p. 66; 5.3, p. 90; 6, p. 91"))
}

fn dec_bit_is_slightly_fairer_with_three(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let of = |scheme| study.variance(ONE_WAY[2], scheme, "forward");
    let (dec, seif) = (of("dec-bit")?, of("seif")?);
    evidence.add(format!("variance {:.4} < {:.4}", dec.mean, seif.mean));
    evidence.require(dec.mean < seif.mean, "no fairer".to_owned());
    Some(evidence.claim("5.1c", "With three users DEC bit is slightly fairer than SEIF").at("5.1, p. 66"))
}

/// Creates the claim that DEC bit or Slow Start is much less fair than SEIF in an experiment.
fn is_much_less_fair(study: &Study<'_>, id: &str, scheme: &str) -> Option<Evidence> {
    let mut evidence = Evidence::default();
    let (seif, other) = (study.variance(id, "seif", "forward")?, study.variance(id, scheme, "forward")?);
    let of = |scheme| study.printed_value(id, scheme, "fairness_variance", &[("sources", json!("forward"))]);
    let (printed, printed_seif) = (of(scheme)?, of("seif")?);
    evidence.add(format!(
        "variance {:.4} of {scheme}, {:.4} of SEIF (printed {printed} and {printed_seif})",
        other.mean, seif.mean
    ));
    evidence.require(other.mean > seif.mean, "it is fairer".to_owned());
    evidence.size(other.mean > MUCH_LESS_FAIR_RATIO * seif.mean, "not by much".to_owned());
    evidence
        .size(agrees_in_size(other, printed), format!("variance {:.3} in place of {printed}", other.mean));
    Some(evidence)
}

fn dec_bit_is_much_less_fair_with_four(study: &Study<'_>) -> Option<Claim> {
    let evidence = is_much_less_fair(study, ONE_WAY[3], "dec-bit")?;
    let text = "With four users DEC bit is much less fair than SEIF, as its sources do not always have the same information";
    Some(evidence.claim("5.1d", text).at("5.1, p. 66; 5.3, p. 90; 6, p. 91"))
}

fn slow_start_drops_more(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for id in ONE_WAY {
        let of = |scheme| study.unprinted_value(id, scheme, DROPS);
        let (slow, dec, seif) = (of("slow-start")?, of("dec-bit")?, of("seif")?);
        evidence.add(format!("{id}: {:.1} drops against {:.1} and {:.1}", slow.mean, dec.mean, seif.mean));
        let more = slow.minus(dec).is_surely_above(0.0) && slow.minus(seif).is_surely_above(0.0);
        evidence.require(more, format!("{id}: not more"));
        let less = study.throughput(id, "slow-start")?.mean < study.throughput(id, "seif")?.mean;
        evidence.require(less, format!("{id}: not less throughput"));
    }
    let text = "Slow Start drops more packets than the others, and carries less than SEIF for it";
    Some(evidence.claim("5.1e", text).at("5.1, p. 66; 5.3, p. 90; 6, p. 91"))
}

fn slow_middle_seif_carries_most(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for id in &ONE_WAY[4..] {
        carries_most(study, &mut evidence, id)?;
    }
    let text = "With a slow link in the middle SEIF has the highest throughput too";
    Some(evidence.claim("5.1f", text).at("5.1, p. 66"))
}

fn slow_middle_slow_start_is_unfair(study: &Study<'_>) -> Option<Claim> {
    let evidence = is_much_less_fair(study, WINDOWS, "slow-start")?;
    let text = "With a slow link in the middle and two users Slow Start is much less fair than SEIF";
    Some(evidence.claim("5.1g", text).at("5.1, p. 67"))
}

fn slow_middle_dec_bit_is_unfair(study: &Study<'_>) -> Option<Claim> {
    let evidence = is_much_less_fair(study, WINDOWS, "dec-bit")?;
    let text = "With a slow link in the middle and two users DEC bit is much less fair than SEIF";
    Some(evidence.claim("5.1h", text).at("5.1, p. 67; 6, p. 91"))
}

fn windows_move_together(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for id in [ONE_WAY[1], ONE_WAY[2], ONE_WAY[3], WINDOWS] {
        let of = |scheme| Some(study.unprinted_value(id, scheme, MOVEMENT_CORRELATION)?.mean);
        let (seif, dec, slow) = (of("seif")?, of("dec-bit")?, of("slow-start")?);
        let levels = |scheme| Some(study.unprinted_value(id, scheme, WINDOW_CORRELATION)?.mean);
        evidence.add(format!(
            "{id}: {seif:.2}, against {dec:.2} (DEC bit) and {slow:.2} (Slow Start); of the windows themselves {:.2}, {:.2} and {:.2}",
            levels("seif")?,
            levels("dec-bit")?,
            levels("slow-start")?
        ));
        evidence.require(seif > 0.7, format!("{id}: SEIF's windows do not"));
        evidence.require(dec < 0.3, format!("{id}: DEC bit's do too"));
        evidence.require(slow < 0.3, format!("{id}: Slow Start's do too"));
    }
    let text = "The windows of competing SEIF sources move together (correlation of their changes, not of the windows themselves, which follow one cycle under DEC bit too), those of Slow Start and DEC bit do not";
    Some(evidence.claim("5.1i", text).at("abstract; 3.2.2, p. 29; 5.1, p. 67; 5.3, p. 90; 6, p. 92"))
}

/// Returns the smallest and the largest window of a source in the experiment of the figures, with the printed values.
fn window_range(study: &Study<'_>, scheme: &str, source: Value) -> Option<[(f64, f64); 2]> {
    let keys = [("source", source)];
    let of = |metric| {
        let row = study.row(WINDOWS, scheme, metric, &keys)?;
        Some((row.value?, row.published()?))
    };
    Some([of("window_min_packets")?, of("window_max_packets")?])
}

fn seif_windows_share_a_range(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let (one, two) = (window_range(study, "seif", json!(1))?, window_range(study, "seif", json!(2))?);
    evidence
        .add(format!("{:.0} to {:.0} and {:.0} to {:.0} packets", one[0].0, one[1].0, two[0].0, two[1].0));
    evidence.require(one[0].0 == two[0].0 && one[1].0 == two[1].0, "the ranges differ".to_owned());
    let exact = one.iter().chain(&two).all(|(ours, printed)| ours == printed);
    evidence.size(exact, format!("{:.0} to {:.0} are printed", one[0].1, one[1].1));
    let text = "Both SEIF windows of table 5.6 are in the same range, from 3 to 7 packets";
    Some(evidence.claim("5.1j", text).at("5.1, p. 67"))
}

fn dec_bit_windows_differ(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let (one, two) =
        (window_range(study, "dec-bit", json!("one"))?, window_range(study, "dec-bit", json!("other"))?);
    evidence
        .add(format!("{:.0} to {:.0} and {:.0} to {:.0} packets", one[0].0, one[1].0, two[0].0, two[1].0));
    evidence.require(one[0].0 != two[0].0 || one[1].0 != two[1].0, "the ranges are the same".to_owned());
    let exact = one.iter().chain(&two).all(|(ours, printed)| ours == printed);
    let printed = [one[0].1, one[1].1, two[0].1, two[1].1].map(|of| format!("{of:.0}"));
    evidence.size(
        exact,
        format!("{} to {} and {} to {} are printed", printed[0], printed[1], printed[2], printed[3]),
    );
    let text = "One DEC bit window of table 5.6 is from 2 to 3 packets, the other from 3 to 4";
    Some(evidence.claim("5.1k", text).at("5.1, p. 67"))
}

/// Adds the steps that DEC bit has the lowest throughput in an experiment, and loses as much as printed beside SEIF.
fn carries_least(study: &Study<'_>, evidence: &mut Evidence, id: &str) -> Option<()> {
    let of = |scheme| study.throughput(id, scheme);
    let printed = |scheme| study.printed_throughput(id, scheme);
    let (dec, seif, slow) = (of("dec-bit")?, of("seif")?, of("slow-start")?);
    let loss = gain_percent(dec, seif);
    let wanted = printed_gain(printed("dec-bit")?, printed("seif")?);
    evidence.add(format!(
        "{id}: {:.1}, Slow Start {:.1}, SEIF {:.1} kbit/s, {:.0} % beside SEIF (printed {wanted:.0})",
        dec.mean, slow.mean, seif.mean, loss.mean
    ));
    evidence.require(loss.is_surely_below(0.0), format!("{id}: not below SEIF"));
    evidence.require(dec.minus(slow).is_surely_below(0.0), format!("{id}: not below Slow Start"));
    evidence.size(
        agrees_in_size(loss, wanted),
        format!("{id}: {:.0} % beside SEIF in place of {wanted:.0}", loss.mean),
    );
    Some(())
}

fn two_ways_dec_bit_carries_least(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for (id, _) in TWO_WAYS {
        carries_least(study, &mut evidence, id)?;
    }
    let text = "Two ways, DEC bit has the lowest throughput, 35 to 52 % below SEIF's";
    Some(
        evidence
            .claim("5.1l", text)
            .at("abstract; 2.4.2, p. 18; 2.6, p. 21; 5.1, p. 80; 5.3, p. 90; 6, p. 92"),
    )
}

fn crossing_dec_bit_carries_least(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for id in CROSSING {
        carries_least(study, &mut evidence, id)?;
    }
    let text = "On the network of figure 5.9 DEC bit has the lowest throughput, 13 to 16 % below SEIF's";
    Some(evidence.claim("5.1m", text).at("5.1, p. 80; 5.3, p. 90; 6, p. 92"))
}

fn two_ways_dec_bit_is_unfair(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    // In the other experiments its printed variances are no larger than SEIF's.
    for id in ["5.7/exp-3", "5.9/exp-7"].into_iter().chain(CROSSING) {
        let (_, dec) = is_fairer(study, &mut evidence, id, "dec-bit", "forward")?;
        let keys = [("sources", json!("forward"))];
        let printed = study.printed_value(id, "dec-bit", "fairness_variance", &keys)?;
        evidence.size(
            agrees_in_size(dec, printed),
            format!("{id}: variance {:.2} in place of {printed}", dec.mean),
        );
    }
    let text = "Two ways, DEC bit is unfair: less fair than SEIF with three users against one";
    Some(evidence.claim("5.1n", text).at("2.4.2, p. 18; 2.6, p. 21; 5.1, p. 80"))
}

fn two_ways_seif_beats_slow_start(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let ids = TWO_WAYS.iter().map(|(id, _)| *id).filter(|id| *id != MAX_USERS);
    for id in ids.chain(CROSSING) {
        let (seif, slow) = (study.throughput(id, "seif")?, study.throughput(id, "slow-start")?);
        evidence.add(format!("{id}: {:.1} > {:.1} kbit/s", seif.mean, slow.mean));
        evidence.require(seif.minus(slow).is_surely_above(0.0), format!("{id}: not surely"));
    }
    let text = "Two ways, SEIF has more throughput than Slow Start in all experiments but one";
    Some(evidence.claim("5.1o", text).at("abstract; 5.1, p. 80; 5.3, p. 90; 6, p. 91"))
}

fn two_ways_seif_is_fairer_than_slow_start(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for (id, directions) in TWO_WAYS {
        for direction in directions {
            is_fairer(study, &mut evidence, id, "slow-start", direction)?;
        }
    }
    for id in CROSSING {
        is_fairer(study, &mut evidence, id, "slow-start", "forward")?;
    }
    let text = "Two ways, SEIF is fairer than Slow Start in all experiments";
    Some(evidence.claim("5.1p", text).at("abstract; 5.1, p. 80; 5.3, p. 90; 6, p. 91"))
}

fn most_users_seif_is_a_little_behind(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let behind =
        gain_percent(study.throughput(MAX_USERS, "seif")?, study.throughput(MAX_USERS, "slow-start")?);
    let printed = |scheme| study.printed_throughput(MAX_USERS, scheme);
    let wanted = printed_gain(printed("seif")?, printed("slow-start")?);
    let mark = if behind.is_surely_below(0.0) { "" } else { " (undecided)" };
    evidence.add(format!("{:+.1} +/- {:.1} %{mark} (printed {wanted:+.1})", behind.mean, behind.half));
    evidence.require(!behind.is_surely_above(0.0), "it is ahead".to_owned());
    evidence.size(agrees_in_size(behind, wanted), format!("{:.1} % in place of {wanted:.1}", behind.mean));
    let text =
        "With three users against two and the small buffer SEIF has a little less throughput than Slow Start";
    Some(evidence.claim("5.1q", text).at("5.1, p. 80"))
}

fn overhead_follows_users(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for group in [&TWO_WAYS[..4], &TWO_WAYS[4..]] {
        let of = |(id, _): &(&str, &[&str])| study.unprinted_value(id, "seif", MESSAGES);
        let messages: Vec<Interval> = group.iter().map(of).collect::<Option<_>>()?;
        evidence.add(format!(
            "{}: {} messages for 2, 3, 4 and 5 users",
            group[0].0,
            format_means(&messages, 0)
        ));
        for pair in messages.windows(2) {
            let more = pair[1].minus(pair[0]).is_surely_above(0.0);
            evidence.require(more, format!("not surely more than {:.0}", pair[0].mean));
        }
        let (few, many) = (messages[0].mean / 2.0, messages[3]);
        let each = Interval { mean: many.mean / 5.0, half: many.half / 5.0 };
        evidence.size(
            agrees_in_size(each, few),
            format!("{:.0} messages a user of five, {few:.0} of two", each.mean),
        );
    }
    let text = "SEIF's overhead is in proportion to the number of users";
    Some(evidence.claim("5.1r", text).at("5.1, p. 80; 6.1, p. 92"))
}

fn only_two_ways_cost_throughput(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let change = |from: &str, to: &str, scheme| {
        let ours = gain_percent(study.throughput(to, scheme)?, study.throughput(from, scheme)?);
        let of = |id| study.printed_throughput(id, scheme);
        Some((ours, printed_gain(of(to)?, of(from)?)))
    };
    let (seif, printed) = change(ONE_WAY[0], ONE_WAY[3], "seif")?;
    evidence.add(format!("one way, 1 to 4 users: {:+.1} % (printed {printed:+.1})", seif.mean));
    evidence.require(!seif.is_surely_below(-LITTLE_PERCENT), "SEIF loses one way".to_owned());
    for (from, to) in [(TWO_WAYS[0].0, TWO_WAYS[3].0), (TWO_WAYS[4].0, TWO_WAYS[7].0)] {
        let ((seif, printed), (slow, printed_slow)) =
            (change(from, to, "seif")?, change(from, to, "slow-start")?);
        evidence.add(format!(
            "{from} to {to}, 2 to 5 users: SEIF {:+.1} % (printed {printed:+.1}), Slow Start {:+.1} % ({printed_slow:+.1})",
            seif.mean, slow.mean
        ));
        evidence.require(seif.is_surely_below(0.0), format!("{to}: SEIF does not lose"));
        evidence.require(!slow.is_surely_below(-LITTLE_PERCENT), format!("{to}: Slow Start loses"));
        evidence.size(
            agrees_in_size(seif, printed),
            format!("{to}: {:.1} % in place of {printed:.1}", seif.mean),
        );
    }
    let text = "More users cost SEIF's throughput in two-way traffic, not in one-way traffic, and hardly cost Slow Start's";
    Some(evidence.claim("5.1s", text).at("5.1, p. 80; 6.1, p. 92"))
}

fn telnet_small_packets(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for id in ["5.15/exp-5", "5.15/exp-6", "5.15/exp-7", "5.15/exp-8"] {
        let of = |scheme| study.throughput(id, scheme);
        let (seif, dec, slow) = (of("seif")?, of("dec-bit")?, of("slow-start")?);
        evidence.add(format!("{id}: {:.2} beside {:.2}, {:.2} kbit/s", seif.mean, dec.mean, slow.mean));
        let best = f64::max(dec.mean, slow.mean);
        evidence.require(seif.mean > 0.98 * best, format!("{id}: SEIF is behind"));
    }
    let text = "Telnet with small packets: SEIF does as well as Slow Start and DEC bit";
    Some(evidence.claim("5.1t", text).at("5.1, p. 82"))
}

fn telnet_large_packets(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for id in ["5.13/exp-1", "5.13/exp-2", "5.13/exp-3", "5.13/exp-4"] {
        let seif = study.throughput(id, "seif")?;
        let printed = study.printed_throughput(id, "seif")?;
        for (scheme, name) in [("slow-start", "Slow Start"), ("dec-bit", "DEC bit")] {
            let gained = gain_percent(seif, study.throughput(id, scheme)?);
            let wanted = printed_gain(printed, study.printed_throughput(id, scheme)?);
            evidence.add(format!("{id}: {:+.1} % on {name} (printed {wanted:+.1})", gained.mean));
            evidence.require(gained.is_surely_above(0.0), format!("{id}: not surely above {name}"));
            let what = format!("{id}: {:+.1} % on {name} in place of {wanted:+.1}", gained.mean);
            evidence.size(agrees_in_size(gained, wanted), what);
        }
    }
    let text = "Telnet with large packets: SEIF is clearly ahead of Slow Start and DEC bit";
    Some(evidence.claim("5.1u", text).at("5.1, p. 82"))
}

fn seif_beats_tri_s(study: &Study<'_>) -> Option<Claim> {
    const METRIC: &str = "network_throughput_kbytes_per_s";
    let mut evidence = Evidence::default();
    for id in ["5.17/exp-1", "5.17/exp-2", "5.17/exp-3", "5.17/exp-4"] {
        let of = |scheme| study.interval(id, scheme, METRIC, &[]);
        let printed = |scheme| study.printed_value(id, scheme, METRIC, &[]);
        let (seif, tri_s, theirs) = (of("seif")?, of("tri-s")?, printed("tri-s")?);
        let (gained, wanted) = (gain_percent(seif, tri_s), printed_gain(printed("seif")?, theirs));
        evidence.add(format!(
            "{id}: {:.2} against {:.2} kB/s, {:+.1} % (printed {wanted:+.1}); printed for Tri-S {theirs}",
            seif.mean, tri_s.mean, gained.mean
        ));
        evidence.require(gained.is_surely_above(0.0), format!("{id}: not above our Tri-S"));
        evidence.require(seif.mean > theirs, format!("{id}: not above the printed Tri-S"));
        evidence.size(
            agrees_in_size(gained, wanted),
            format!("{id}: {:+.1} % in place of {wanted:+.1}", gained.mean),
        );
    }
    let text = "SEIF has more throughput than Tri-S in all four experiments, by 3 to 8 %";
    Some(evidence.claim("5.2a", text).at("5.2, p. 88; 5.3, p. 90; 6, p. 91"))
}

fn seif_is_fairer_than_tri_s(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for id in ["5.17/exp-2", "5.17/exp-3", "5.17/exp-4"] {
        is_fairer(study, &mut evidence, id, "tri-s", "forward")?;
    }
    let text = "SEIF is fairer than Tri-S in all three experiments with two users";
    Some(evidence.claim("5.2b", text).at("5.2, p. 88; 5.3, p. 90; 6, p. 91"))
}
