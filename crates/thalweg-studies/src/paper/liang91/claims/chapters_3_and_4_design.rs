//! Claims of chapters 3 and 4, on the design of SEIF.

use super::{
    Claim, DROPS, Decide, Evidence, Interval, MESSAGES, Study, THROUGHPUT, agrees_in_size, format_means,
    gain_percent, interval_means, printed_gain,
};
use crate::paper::liang91::metrics::{QUEUE_WAVES, WAVE_INTERVAL, WAVE_IRREGULARITY, WINDOW_DEVIATION};
use serde_json::{Value, json};

pub(super) const CLAIMS: &[Decide] = &[
    the_queue_moves_in_waves,
    the_threshold_of_80_percent,
    lower_thresholds_send_more,
    avoidance_beats_reaction,
    avoidance_drops_almost_nothing,
    avoidance_fluctuates_less,
    dynamic_rules_bring_no_gain,
    the_filter_gains_throughput,
    the_filter_leaves_one_message_a_peak,
    bytes_beat_packets_when_buffers_are_scarce,
    one_way_any_cut_is_as_good,
    two_ways_shallow_cuts_carry_more,
    half_costs_as_little_as_a_restart,
    messages_grow_steeply,
    cuts_hardly_change_fairness,
    directions_share_alike,
];

/// Set-ups of tables 4.2 and 4.3.
const REACTIONS: [&str; 6] = ["4.2/exp-1", "4.2/exp-2", "4.2/exp-3", "4.3/exp-1", "4.3/exp-2", "4.3/exp-3"];
const GAIN: &str = "throughput_improvement_percent";
/// Cut-back parameters of tables 4.7, 4.8 and 4.10.
const CUT_BACKS: [f64; 7] = [0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9];
/// Index of 0.5 in [`CUT_BACKS`].
const HALF: usize = 2;
/// Index of 0.7 in [`CUT_BACKS`].
const SEVEN_TENTHS: usize = 4;
/// Tables of the cut-back parameter: one way with one and two users, and two ways.
const CUT_TABLES: [&str; 3] = ["4.7/exp-1", "4.8/exp-2", "4.10/exp-3"];
const ONE_WAY_CUTS: [&str; 2] = [CUT_TABLES[0], CUT_TABLES[1]];
const TWO_WAY_CUTS: &str = CUT_TABLES[2];

/// Minimum number of waves in the measured 60 s, and maximum deviation of their intervals, in percent of the mean interval.
const WAVES: (f64, f64) = (5.0, 25.0);

fn the_queue_moves_in_waves(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let of = |metric| study.interval("ours/4.5/exp-1", "seif", metric, &[]).map(|of| of.mean);
    let (waves, interval, irregularity) = (of(QUEUE_WAVES)?, of(WAVE_INTERVAL)?, of(WAVE_IRREGULARITY)?);
    let peaks = study.get("4.5/exp-1", "seif", "window_peaks_20s_80s")?;
    evidence.add(format!(
        "{waves:.0} times in 60 s from half of the threshold or less to above it, every {interval:.2} s, with a deviation of {irregularity:.0} %; the source's window has {peaks:.0} peaks"
    ));
    evidence.require(waves >= WAVES.0, format!("fewer than {} times", WAVES.0));
    evidence.require(irregularity <= WAVES.1, format!("a deviation above {} %", WAVES.1));
    // The window may have its last peak after the end.
    evidence.require((peaks - waves).abs() <= 1.0, "not a peak of the window for each".to_owned());
    let text = "The source's window moves the queue in waves, one peak after another (figure 3.1)";
    Some(evidence.claim("3.2a", text).at("3.2.2, p. 26-27"))
}

fn the_threshold_of_80_percent(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let keys = |threshold: f64| [("threshold", json!(threshold))];
    let at = |threshold: f64| {
        let ours = study.interval("4.1", "seif", THROUGHPUT, &keys(threshold))?;
        Some((ours, study.printed_value("4.1", "seif", THROUGHPUT, &keys(threshold))?))
    };
    let (chosen, printed) = at(0.8)?;
    for (other, sign) in [(0.5, 1.0), (0.7, 1.0), (0.9, -1.0)] {
        let (ours, theirs) = at(other)?;
        let (gained, wanted) = (gain_percent(chosen, ours), printed_gain(printed, theirs));
        evidence.add(format!(
            "80 % has {:+.1} % beside {:.0} % (printed {wanted:+.1})",
            gained.mean,
            100.0 * other
        ));
        evidence.require(gained.mean * sign > 0.0, format!("beside {other} the other way"));
        evidence.size(
            agrees_in_size(gained, wanted),
            format!("beside {other} {:+.1} % in place of {wanted:+.1}", gained.mean),
        );
    }
    let text =
        "A feedback threshold of 80 % has much more throughput than lower ones, 90 % only slightly more";
    Some(evidence.claim("4.2a", text).at("3.2.2, p. 25; 4.2, p. 40"))
}

fn lower_thresholds_send_more(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let at =
        |&threshold: &f64| study.interval("ours/4.1", "seif", MESSAGES, &[("threshold", json!(threshold))]);
    let messages: Vec<Interval> = [0.5, 0.7, 0.8, 0.9].iter().map(at).collect::<Option<_>>()?;
    evidence.add(format!("{} messages at 50, 70, 80 and 90 %", format_means(&messages, 0)));
    let falls = messages.windows(2).all(|pair| pair[1].mean < pair[0].mean);
    evidence.require(falls, "not fewer with each step".to_owned());
    Some(evidence.claim("4.2b", "The lower the threshold, the more messages are sent").at("4.2, p. 39"))
}

fn avoidance_beats_reaction(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for id in REACTIONS {
        let of = |scheme| study.throughput(id, scheme);
        let (seif, reacting) = (of("seif")?.mean, of("reacting-feedback")?.mean);
        let gained = study.interval(id, "seif-over-reacting", GAIN, &[])?;
        let printed = study.printed_value(id, "seif-over-reacting", GAIN, &[])?;
        let is_undecided = !gained.is_surely_above(0.0) && !gained.is_surely_below(0.0);
        let mark = if is_undecided { " (undecided)" } else { "" };
        evidence.add(format!(
            "{id}: {seif:.2} and {reacting:.2} kbit/s, a gain of {:.2} +/- {:.2} %{mark} (printed {printed})",
            gained.mean, gained.half
        ));
        evidence.require(!gained.is_surely_below(0.0), format!("{id}: a loss"));
        evidence.size(
            agrees_in_size(gained, printed),
            format!("{id}: {:.1} % in place of {printed}", gained.mean),
        );
    }
    let text = "Congestion avoidance (feedback at 80 %) has more throughput than feedback on drops in all six set-ups, by 5.67 to 11.88 %";
    Some(evidence.claim("4.2c", text).at("4.2, p. 44; 4.6, p. 59"))
}

fn avoidance_drops_almost_nothing(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let (mut without, mut max, mut printed) = (0, Interval { mean: 0.0, half: 0.0 }, 0.0_f64);
    for id in REACTIONS {
        let drops = |scheme| study.interval(id, scheme, DROPS, &[]);
        let (few, many) = (drops("seif")?, drops("reacting-feedback")?);
        evidence.add(format!("{id}: {:.1} and {:.1}", few.mean, many.mean));
        evidence.require(few.minus(many).is_surely_below(0.0), format!("{id}: not fewer"));
        without += usize::from(few.mean < 1.0);
        if many.mean > max.mean {
            max = many;
        }
        printed = printed.max(study.printed_value(id, "reacting-feedback", DROPS, &[])?);
    }
    evidence.add(format!("none in {without} of {} set-ups", REACTIONS.len()));
    evidence.require(2 * without > REACTIONS.len(), "drops in most set-ups".to_owned());
    evidence
        .size(agrees_in_size(max, printed), format!("at most {:.0} in 60 s in place of {printed}", max.mean));
    let text = "Avoidance drops no packet in most set-ups, reaction drops some in all, up to 71 in 60 s";
    Some(evidence.claim("4.2d", text).at("3.2.2, p. 28; 4.2, p. 44; 4.6, p. 59"))
}

fn avoidance_fluctuates_less(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let of = |scheme| study.unprinted_value("4.2/exp-1", scheme, WINDOW_DEVIATION);
    let (avoiding, reacting) = (of("seif")?, of("reacting-feedback")?);
    evidence.add(format!("standard deviations of {:.2} and {:.2} packets", avoiding.mean, reacting.mean));
    evidence.require(avoiding.minus(reacting).is_surely_below(0.0), "not surely less".to_owned());
    let text =
        "The source's window fluctuates less under avoidance than under reaction (figures 4.3 and 4.4)";
    Some(evidence.claim("4.2e", text).at("4.2, p. 44"))
}

fn dynamic_rules_bring_no_gain(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let mut max = 0.0_f64;
    let mut all = Vec::new();
    for dynamic in ["seif-dynamic-a0.8", "seif-dynamic-a0.5"] {
        let mut gains = Vec::new();
        for buffer in [5120, 4096, 3072, 2048, 1024] {
            let keys = [("buffer_bytes", json!(buffer))];
            let of = |scheme| study.interval("4.4", scheme, THROUGHPUT, &keys);
            let printed = |scheme| study.printed_value("4.4", scheme, THROUGHPUT, &keys);
            gains.push(gain_percent(of(dynamic)?, of("seif-static")?));
            max = max.max(printed_gain(printed(dynamic)?, printed("seif-static")?).abs());
        }
        let shown: Vec<String> = gains.iter().map(|gain| format!("{:+.1}", gain.mean)).collect();
        evidence.add(format!("{dynamic}: {} % for buffers of 10, 8, 6, 4 and 2 packets", shown.join(", ")));
        let consistent = gains.iter().all(|gain| gain.mean > NEGLIGIBLE_PERCENT);
        evidence.require(
            !consistent,
            format!("{dynamic} gains more than {NEGLIGIBLE_PERCENT} % with every buffer"),
        );
        all.extend(gains);
    }
    for gained in all {
        let limit = max * super::SIZE_FACTOR;
        let is_small = !gained.is_surely_above(limit) && !gained.is_surely_below(-limit);
        evidence.size(
            is_small,
            format!("{:+.1} % where the largest printed difference is {max:.1}", gained.mean),
        );
    }
    let text = "The dynamic feedback rule brings no significant gain over the static one";
    Some(evidence.claim("4.2f", text).at("4.2, p. 47; 4.6, p. 59"))
}

fn the_filter_gains_throughput(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for id in ["4.5/exp-1", "4.5/exp-2"] {
        let of = |scheme| study.throughput(id, scheme);
        let printed = |scheme| study.printed_throughput(id, scheme);
        let gained = gain_percent(of("seif")?, of("seif-nonfiltering")?);
        let wanted = printed_gain(printed("seif")?, printed("seif-nonfiltering")?);
        evidence.add(format!("{id}: {:+.2} % (printed {wanted:+.2})", gained.mean));
        evidence.require(gained.is_surely_above(0.0), format!("{id}: not surely"));
        evidence.size(
            agrees_in_size(gained, wanted),
            format!("{id}: {:.2} % in place of {wanted:.2}", gained.mean),
        );
    }
    let text = "Filtering feedback gains a little throughput";
    Some(evidence.claim("4.3a", text).at("4.3, p. 50; 4.6, p. 59"))
}

fn the_filter_leaves_one_message_a_peak(study: &Study<'_>) -> Option<Claim> {
    const ID: &str = "4.5/exp-1";
    let mut evidence = Evidence::default();
    for (scheme, wanted) in [("seif", 1.0), ("seif-nonfiltering", 2.0)] {
        let metrics = ["feedback_messages_20s_80s", "window_peaks_20s_80s"];
        let of = |metric| study.interval(ID, scheme, metric, &[]);
        let (messages, peaks) = (of(metrics[0])?, of(metrics[1])?);
        evidence.add(format!("{scheme}: {:.0} messages for {:.0} peaks", messages.mean, peaks.mean));
        // To the nearest whole number: the last peak may have its message after the end.
        let each = libm::round(messages.mean / peaks.mean);
        evidence.require(each == wanted, format!("{scheme}: not {wanted} for a peak"));
        for (ours, metric) in [(messages, metrics[0]), (peaks, metrics[1])] {
            let printed = study.printed_value(ID, scheme, metric, &[])?;
            evidence.size(
                agrees_in_size(ours, printed),
                format!("{scheme}: {:.0} in place of {printed}", ours.mean),
            );
        }
    }
    let text =
        "With the filter each peak of the window has one message; without it two, so that half are redundant";
    Some(evidence.claim("4.3b", text).at("3.2.2, p. 26; 4.3, p. 50; 4.6, p. 59"))
}

fn bytes_beat_packets_when_buffers_are_scarce(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let of = |id: &str| {
        let ours = study.interval(id, "byte-over-packet", GAIN, &[])?;
        Some((ours, study.printed_value(id, "byte-over-packet", GAIN, &[])?))
    };
    let (ample, printed_ample) = of("4.6/exp-1")?;
    let (scarce, printed_scarce) = of("4.6/exp-2")?;
    evidence.add(format!(
        "{:+.1} % with 10 packets (printed {printed_scarce}), {:+.1} % with 20 ({printed_ample})",
        scarce.mean, ample.mean
    ));
    evidence.require(scarce.is_surely_above(MIN_CLEAR_GAIN), "not clearly with 10".to_owned());
    evidence.require(ample.mean >= 0.0 && ample.mean < scarce.mean / 2.0, "not little with 20".to_owned());
    for (ours, printed) in [(scarce, printed_scarce), (ample, printed_ample)] {
        evidence.size(agrees_in_size(ours, printed), format!("{:.1} % in place of {printed}", ours.mean));
    }
    let text = "In two-way traffic byte-oriented buffers beat packet-oriented ones by 25.21 % where buffers are scarce, by 2.44 % where they are not";
    Some(evidence.claim("4.4a", text).at("3.2.2, p. 27; 4.4, p. 53; 4.6, p. 59"))
}

/// Returns a value for each cut-back parameter.
fn value_by_cut_back(
    study: &Study<'_>,
    id: &str,
    metric: &str,
    more: &[(&str, Value)],
) -> Option<Vec<Interval>> {
    let at = |&cut: &f64| {
        let keys: Vec<(&str, Value)> =
            [("cut_back", json!(cut))].into_iter().chain(more.iter().cloned()).collect();
        study.interval(id, "seif", metric, &keys)
    };
    CUT_BACKS.iter().map(at).collect()
}

/// Returns the printed value for each cut-back parameter.
fn printed_cuts(study: &Study<'_>, id: &str, metric: &str) -> Option<Vec<f64>> {
    CUT_BACKS.iter().map(|cut| study.printed_value(id, "seif", metric, &[("cut_back", json!(cut))])).collect()
}

fn one_way_any_cut_is_as_good(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for id in ONE_WAY_CUTS {
        let throughput = value_by_cut_back(study, id, THROUGHPUT, &[])?;
        evidence.add(format!("{id}: {} kbit/s", format_means(&throughput, 2)));
        let values = interval_means(&throughput);
        let (low, high) =
            (values.iter().copied().fold(f64::MAX, f64::min), values.iter().copied().fold(0.0, f64::max));
        evidence.require(high < 1.005 * low, format!("{id}: differences of half a percent or more"));
    }
    let text = "One way, the cut-back parameter makes no difference to throughput";
    Some(evidence.claim("4.5a", text).at("4.5, p. 53, 55"))
}

fn two_ways_shallow_cuts_carry_more(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let throughput = value_by_cut_back(study, TWO_WAY_CUTS, THROUGHPUT, &[])?;
    let printed = printed_cuts(study, TWO_WAY_CUTS, THROUGHPUT)?;
    evidence.add(format!("{} kbit/s for 0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9", format_means(&throughput, 2)));
    for (place, pair) in throughput.windows(2).enumerate() {
        // The printed values have one step down, of 1.2 %.
        let falls = gain_percent(pair[1], pair[0]).is_surely_below(-2.0);
        evidence.require(!falls, format!("it falls above {}", CUT_BACKS[place]));
    }
    let last = CUT_BACKS.len() - 1;
    let gained = gain_percent(throughput[last], throughput[0]);
    let wanted = printed_gain(printed[last], printed[0]);
    evidence.add(format!("{:+.1} % from 0 to 0.9 (printed {wanted:+.1})", gained.mean));
    evidence.require(gained.is_surely_above(0.0), "it does not grow".to_owned());
    evidence.size(agrees_in_size(gained, wanted), format!("{:.1} % in place of {wanted:.1}", gained.mean));
    let text = "Two ways, throughput grows with the cut-back parameter";
    Some(evidence.claim("4.5b", text).at("4.5, p. 53, 58"))
}

fn half_costs_as_little_as_a_restart(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for id in CUT_TABLES {
        let (throughput, messages) =
            (value_by_cut_back(study, id, THROUGHPUT, &[])?, value_by_cut_back(study, id, MESSAGES, &[])?);
        evidence.add(format!(
            "{id}: {:.2} against {:.2} kbit/s, {:.0} against {:.0} messages",
            throughput[HALF].mean, throughput[0].mean, messages[HALF].mean, messages[0].mean
        ));
        let loses = gain_percent(throughput[HALF], throughput[0]).is_surely_below(-0.5);
        evidence.require(!loses, format!("{id}: less throughput"));
        let more = gain_percent(messages[HALF], messages[0]);
        evidence.require(
            !more.is_surely_above(MAX_SIMILAR_PERCENT),
            format!("{id}: {:.0} % more messages", more.mean),
        );
    }
    let text = "A cut to one half has as much throughput as a restart from one packet, or more, with about as many messages";
    Some(evidence.claim("4.5c", text).at("3.2.3, p. 30; 4.5, p. 54, 58; 4.6, p. 60"))
}

fn messages_grow_steeply(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for id in CUT_TABLES {
        let messages = value_by_cut_back(study, id, MESSAGES, &[])?;
        let printed = printed_cuts(study, id, MESSAGES)?;
        evidence.add(format!(
            "{id}: {} messages for 0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9",
            format_means(&messages, 0)
        ));
        for (place, pair) in messages[HALF..].windows(2).enumerate() {
            let falls = pair[1].minus(pair[0]).is_surely_below(0.0);
            evidence.require(!falls, format!("{id}: fewer above {}", CUT_BACKS[HALF + place]));
        }
        // Steep: the steps beyond 0.7 add more than those before.
        let (half, middle, last) = (messages[HALF], messages[SEVEN_TENTHS], messages[CUT_BACKS.len() - 1]);
        evidence
            .require(last.mean - middle.mean > middle.mean - half.mean, format!("{id}: it does not steepen"));
        let (grown, wanted) = (last.mean / middle.mean, printed[CUT_BACKS.len() - 1] / printed[SEVEN_TENTHS]);
        let ratio = Interval { mean: grown, half: gain_percent(last, middle).half / 100.0 };
        evidence.add(format!("{grown:.1} times from 0.7 to 0.9 (printed {wanted:.1})"));
        evidence
            .size(agrees_in_size(ratio, wanted), format!("{id}: {grown:.1} times in place of {wanted:.1}"));
    }
    let text = "Beyond 0.7 the number of messages grows steeply with the cut-back parameter";
    Some(evidence.claim("4.5d", text).at("4.5, p. 54, 55, 58; 4.6, p. 59"))
}

fn cuts_hardly_change_fairness(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for id in [CUT_TABLES[1], TWO_WAY_CUTS] {
        let variances = value_by_cut_back(study, id, "fairness_variance", &[])?;
        let of = |source: u32| value_by_cut_back(study, id, "throughput_kbps", &[("source", json!(source))]);
        let (one, two) = (of(1)?, of(2)?);
        evidence.add(format!("{id}: variances {}", format_means(&variances, 4)));
        for ((variance, cut), (one, two)) in variances.iter().zip(CUT_BACKS).zip(one.iter().zip(&two)) {
            let share = libm::sqrt(variance.mean) / ((one.mean + two.mean) / 2.0);
            let what = format!("{id}: users differ by {:.1} % from their mean at {cut}", 100.0 * share);
            evidence.require(share < MAX_DEVIATION, what);
        }
    }
    let text = "The cut-back parameter makes no significant difference to fairness";
    Some(evidence.claim("4.5e", text).at("4.5, p. 54, 55; 4.6, p. 59"))
}

fn directions_share_alike(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let of =
        |source: u32| value_by_cut_back(study, TWO_WAY_CUTS, "throughput_kbps", &[("source", json!(source))]);
    let (one, two, back) = (of(1)?, of(2)?, of(3)?);
    let mut shown = Vec::new();
    for (place, cut) in CUT_BACKS.into_iter().enumerate() {
        let forward = one[place].mean + two[place].mean;
        let apart = 100.0 * (f64::max(forward, back[place].mean) / f64::min(forward, back[place].mean) - 1.0);
        shown.push(format!("{apart:.1}"));
        evidence.require(apart < 20.0, format!("{apart:.0} % apart at {cut}"));
        // The largest printed difference is 6.6 %, at 0.5.
        evidence.size(apart < 6.6 * super::SIZE_FACTOR, format!("{apart:.1} % apart at {cut}"));
    }
    evidence.add(format!("{} % apart for 0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9", shown.join(", ")));
    let text = "Two ways, both directions carry about as much with every cut-back parameter";
    Some(evidence.claim("4.5f", text).at("4.5, p. 58"))
}

/// Negligible gain, in percent.
const NEGLIGIBLE_PERCENT: f64 = 1.0;
/// Gain that is no longer little, in percent.
const MIN_CLEAR_GAIN: f64 = 5.0;
/// Difference of numbers of messages that are about the same, in percent. The printed ones have up to 13 %.
const MAX_SIMILAR_PERCENT: f64 = 20.0;
/// Deviation of users from their mean, as a share, below which differences in fairness are insignificant.
const MAX_DEVIATION: f64 = 0.05;
