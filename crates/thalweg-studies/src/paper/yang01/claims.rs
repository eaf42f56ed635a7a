//! Claims of the paper in its order, decided by our runs. The id of a claim begins with its section; ours begin with
//! `ours` and come last. A claim with missing values, because its experiments were not run, is left out.
//!
//! Where a claim is about cells of table II, the evidence counts the printed table too: it contradicts some of the text.

use super::super::claim::decided_claims;
use super::super::evidence::Evidence;
use super::super::{Claim, Results, Row};
use super::metrics::{
    AGEING_GAIN_POINTS, DELIVERED_PERCENT, MEAN_FINISH_TIME, RETRANSMITTED_PERCENT, SOURCE_CLASSES,
    START_FINISH_RANK_CORRELATION, STARVED_PERCENT,
};
use super::table_2::{
    ALIKE, DISCIPLINES, OursAndPrinted, Study, class_pairs, environment_pairs, in_print,
    largest_relative_distance, must_stand_out,
};
use serde_json::json;

const GATED: [&str; 4] = ["cc/cc", "ts/ts", "cc/be", "ts/be"];
const TCP: [&str; 4] = ["TCP1", "TCP2", "TCP3", "TCP4"];
const UDP: [&str; 2] = ["UDP3", "UDP4"];
/// Pairs of adjacent priorities of one protocol, the higher first.
const PRIORITY_PAIRS: [(&str, &str); 4] =
    [("TCP1", "TCP2"), ("TCP2", "TCP3"), ("TCP3", "TCP4"), ("UDP3", "UDP4")];
/// Pairs of a TCP class and a UDP class of the next lower priority.
const TCP_FIRST: [(&str, &str); 2] = [("TCP2", "UDP3"), ("TCP3", "UDP4")];
/// Pairs of adjacent priorities of two protocols, the higher first.
const ACROSS: [(&str, &str); 3] = [TCP_FIRST[0], TCP_FIRST[1], ("UDP3", "TCP4")];

/// Decision of a claim; none if a value is missing.
type Decide = fn(&Study<'_>) -> Option<Claim>;

/// Sections of the paper that state a claim, and its decision.
const OF_THE_PAPER: &[(&str, Decide)] = &[
    ("1", priority_outranks_protocol),
    ("3.1", congestion_gates_follow_priority),
    ("3.1", short_flows_mostly_follow_priority),
    ("3.1", short_flows_have_exceptions),
    ("3.1", slots_follow_priority),
    ("3.1", short_flows_under_slots),
    ("3.2; 3.3", disciplines_hardly_matter),
    ("3.2", priority_matters_more),
    ("3.3 (1)", red_favours_gated_tcp),
    ("3.3 (1)", red_favours_datagrams_under_slots),
    ("3.3 (2)", drr_is_worst_for_low_priorities),
    ("3.3 (3)", disciplines_hardly_matter_with_slots),
    ("3.3 (4)", fcfs_and_sfq_fluctuate_less),
    ("3.4", congestion_beats_slots),
    ("3.4", slots_are_left_unused),
    ("3.4", best_effort_takes_from_slots),
    ("3.4", datagrams_beat_tcp_of_their_priority),
    ("3.4", low_datagrams_let_tcp_go_first),
    ("3.4", congestion_beats_slots_beside_best_effort),
    ("3.4", the_first_beats_best_effort),
    ("3.4", the_others_lose_to_best_effort),
    ("3.4", the_ratio_has_no_effect),
    ("3.5", ageing_matters_to_both),
    ("3.5", short_ageing_merges_classes),
    ("3.5", without_ageing_the_lowest_starves),
    ("3.5", long_turns_are_first_come),
    ("3.5", short_turns_resend),
    ("3.5", short_turns_are_slow),
    ("3.5", steep_turns_starve_the_lowest),
    ("3.5", equal_turns_make_no_difference),
    ("3.5", binary_turns_starve_nobody),
    ("abstract; 1.2; 4", datagrams_are_regulated),
];

/// Claims of this project.
const OF_OURS: &[Decide] =
    &[only_the_first_is_protected, accuracy_is_as_claimed, the_table_has_no_early_ageing];

/// Returns the claims that the results decide.
pub fn claims(results: &Results) -> Vec<Claim> {
    decided_claims(&Study(results), OF_THE_PAPER, OF_OURS)
}

fn priority_outranks_protocol(study: &Study<'_>) -> Option<Claim> {
    let text = "Priority outranks protocol: a class of higher priority finishes before one of the next lower of the other protocol, \
                in every environment with a gate";
    Some(study.faster(&class_pairs(&GATED, &ACROSS))?.claim("1a", text))
}

fn congestion_gates_follow_priority(study: &Study<'_>) -> Option<Claim> {
    let evidence = study.faster(&class_pairs(&["cc/cc", "cc/be"], &PRIORITY_PAIRS))?;
    Some(
        evidence.claim("3.1a", "1 MB with congestion gates: times follow priority within TCP and within UDP"),
    )
}

fn short_flows_mostly_follow_priority(study: &Study<'_>) -> Option<Claim> {
    let (mut pairs, mut ordered) = (0, 0);
    for scheme in ["cc/cc", "cc/be"] {
        for discipline in DISCIPLINES {
            for (high, low) in PRIORITY_PAIRS {
                pairs += 1;
                let is_ordered = study.short_flow_time(scheme, discipline, high)?
                    < study.short_flow_time(scheme, discipline, low)?;
                ordered += u32::from(is_ordered);
            }
        }
    }
    let mut evidence = Evidence::default();
    evidence.add(format!("{ordered} of {pairs} pairs of neighbours are in order"));
    evidence.require(3 * ordered >= 2 * pairs, "fewer than two thirds".to_owned());
    Some(evidence.claim(
        "3.1b",
        "10 kB with congestion gates: times mostly follow priority (two thirds of the pairs or more)",
    ))
}

fn short_flows_have_exceptions(study: &Study<'_>) -> Option<Claim> {
    let mut exceptions = Vec::new();
    for scheme in ["cc/cc", "cc/be"] {
        for discipline in DISCIPLINES {
            for (high, low) in PRIORITY_PAIRS.iter().chain(&ACROSS) {
                let (first, second) = (
                    study.short_flow_time(scheme, discipline, high)?,
                    study.short_flow_time(scheme, discipline, low)?,
                );
                if first > second {
                    exceptions
                        .push(format!("{scheme} {discipline}: {high} {first:.1} s, {low} {second:.1} s"));
                }
            }
        }
    }
    let mut evidence = Evidence::default();
    evidence.add(format!("{} classes are slower than one of lower priority", exceptions.len()));
    evidence.require(!exceptions.is_empty(), "no class is".to_owned());
    exceptions.into_iter().for_each(|exception| evidence.add(exception));
    Some(
        evidence.claim(
            "3.1c",
            "10 kB with congestion gates: some classes are faster than one of higher priority",
        ),
    )
}

fn slots_follow_priority(study: &Study<'_>) -> Option<Claim> {
    let evidence = study.faster(&class_pairs(&["ts/ts", "ts/be"], &PRIORITY_PAIRS))?;
    Some(evidence.claim("3.1d", "1 MB with slots: times follow priority within TCP and within UDP"))
}

fn short_flows_under_slots(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for scheme in ["ts/ts", "ts/be"] {
        for discipline in DISCIPLINES {
            let keys = [("discipline", json!(discipline))];
            let correlation =
                study.0.value("ours/section-3.1/10-kB", scheme, START_FINISH_RANK_CORRELATION, &keys)?;
            evidence
                .add(format!("{scheme} {discipline}: rank correlation of starts and ends {correlation:.2}"));
            evidence.require(correlation > 0.8, format!("{scheme} {discipline} is below 0.8"));
        }
    }
    let text = "10 kB with slots, of 2 ms as in the table: flows end first come, first served";
    Some(evidence.claim("3.1e", text))
}

fn disciplines_hardly_matter(study: &Study<'_>) -> Option<Claim> {
    let text = "With either gate the disciplines make no significant difference (10 %)";
    Some(study.alike(&GATED)?.claim("3.2a", text))
}

fn priority_matters_more(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for scheme in GATED {
        let mut priorities = f64::INFINITY;
        let mut disciplines: f64 = 1.0;
        for discipline in DISCIPLINES {
            let ratio = study.table(scheme, discipline, "TCP4")? / study.table(scheme, discipline, "TCP1")?;
            priorities = priorities.min(ratio);
        }
        for class in SOURCE_CLASSES {
            let times: Vec<f64> =
                DISCIPLINES.iter().map(|of| study.table(scheme, of, class)).collect::<Option<_>>()?;
            let (low, high) =
                times.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), &of| (low.min(of), high.max(of)));
            disciplines = disciplines.max(high / low);
        }
        evidence.add(format!(
            "{scheme}: TCP4 takes {priorities:.2} times as long as TCP1 or more, a class {disciplines:.2} times as long with one \
             discipline as with another at most"
        ));
        evidence.require(priorities > disciplines, format!("disciplines have a larger effect in {scheme}"));
    }
    Some(
        evidence
            .claim("3.2b", "With either gate the completion time depends on priority, not on the discipline"),
    )
}

fn red_favours_gated_tcp(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for scheme in ["cc/cc", "cc/be"] {
        must_stand_out(&mut evidence, study, scheme, &TCP, "RED", true)?;
    }
    let text = "RED is better for TCP than the other disciplines in cc/cc and cc/be";
    Some(evidence.claim("3.3(1)a", text))
}

fn red_favours_datagrams_under_slots(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    must_stand_out(&mut evidence, study, "ts/ts", &TCP, "RED", false)?;
    must_stand_out(&mut evidence, study, "ts/ts", &UDP, "RED", true)?;
    let text = "In ts/ts RED is worse for TCP and better for UDP than the other disciplines";
    Some(evidence.claim("3.3(1)b", text))
}

fn drr_is_worst_for_low_priorities(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let (mut worst, mut printed, mut all) = (0, 0, 0);
    for scheme in ["cc/cc", "cc/be"] {
        for class in ["TCP3", "TCP4", "UDP3", "UDP4"] {
            let drr = study.ours_and_printed((scheme, "DRR", class))?;
            let (mut is_worst, mut is_printed) = (true, true);
            for other in ["FCFS", "RED", "SFQ"] {
                let other = study.ours_and_printed((scheme, other, class))?;
                is_worst &= drr.ours > other.ours;
                is_printed &=
                    drr.printed_value.zip(other.printed_value).is_some_and(|(drr, other)| drr > other);
            }
            all += 1;
            worst += u32::from(is_worst);
            printed += u32::from(is_printed);
            evidence
                .require(is_worst, format!("{scheme} {class}, {:.0} s, is slower with another", drr.ours));
        }
    }
    evidence.add(format!("DRR is the slowest in {worst} of {all} cells, in {printed} of the printed table"));
    let text = "DRR is worst for the low priorities, 3 and 4, of TCP and UDP in cc/cc and cc/be";
    Some(evidence.claim("3.3(2)", text))
}

fn disciplines_hardly_matter_with_slots(study: &Study<'_>) -> Option<Claim> {
    let text = "In ts/ts and ts/be the disciplines have little effect (10 %)";
    Some(study.alike(&["ts/ts", "ts/be"])?.claim("3.3(3)", text))
}

fn fcfs_and_sfq_fluctuate_less(study: &Study<'_>) -> Option<Claim> {
    // The mean over environments and classes of the distance from the class's mean over disciplines.
    let fluctuation = |wanted: &str| {
        let mut sum = OursAndPrinted { ours: 0.0, printed_value: Some(0.0) };
        let mut count = 0.0;
        for scheme in ["cc/cc", "ts/ts", "cc/be", "ts/be", "be/be"] {
            for class in SOURCE_CLASSES {
                let cell = study.ours_and_printed((scheme, wanted, class))?;
                let all: Vec<OursAndPrinted> = DISCIPLINES
                    .iter()
                    .map(|of| study.ours_and_printed((scheme, of, class)))
                    .collect::<Option<_>>()?;
                let of = all.len() as f64;
                let mean = all.iter().map(|cell| cell.ours).sum::<f64>() / of;
                let printed =
                    all.iter().map(|cell| cell.printed_value).sum::<Option<f64>>().map(|sum| sum / of);
                sum.ours += 100.0 * (cell.ours / mean - 1.0).abs();
                let off =
                    cell.printed_value.zip(printed).map(|(cell, mean)| 100.0 * (cell / mean - 1.0).abs());
                sum.printed_value = sum.printed_value.zip(off).map(|(sum, off)| sum + off);
                count += 1.0;
            }
        }
        Some(OursAndPrinted {
            ours: sum.ours / count,
            printed_value: sum.printed_value.map(|sum| sum / count),
        })
    };
    let mut evidence = Evidence::default();
    for calm in ["FCFS", "SFQ"] {
        for other in ["RED", "DRR"] {
            let (a, b) = (fluctuation(calm)?, fluctuation(other)?);
            let what = format!(
                "{calm} {:.1} %{}, {other} {:.1} %{}",
                a.ours,
                in_print(a.printed_value, " %"),
                b.ours,
                in_print(b.printed_value, " %")
            );
            evidence.require(a.ours < b.ours, what.clone());
            if a.ours < b.ours {
                evidence.add(what);
            }
        }
    }
    let text = "With FCFS and SFQ times fluctuate less than with RED and DRR (mean distance from the mean over disciplines)";
    Some(evidence.claim("3.3(4)", text))
}

fn congestion_beats_slots(study: &Study<'_>) -> Option<Claim> {
    let text = "Congestion gates are faster than slots in each case (cc/cc against ts/ts)";
    Some(study.faster(&environment_pairs("cc/cc", "ts/ts", &SOURCE_CLASSES))?.claim("3.4a", text))
}

fn slots_are_left_unused(study: &Study<'_>) -> Option<Claim> {
    let mean = |passes: &str| {
        let time =
            |class| study.time("ours/work-conserving", "ts/ts", class, "work_conserving", json!(passes));
        let times: Vec<f64> = SOURCE_CLASSES.into_iter().map(time).collect::<Option<_>>()?;
        Some(times.iter().sum::<f64>() / times.len() as f64)
    };
    let (kept, passed) = (mean("false")?, mean("true")?);
    let mut evidence = Evidence::default();
    evidence.add(format!("mean of the classes {kept:.0} s, {passed:.0} s with idle tokens passed on"));
    evidence.require(passed < kept, "passing idle tokens on has no gain".to_owned());
    let text = "Flows do not fill their slots, and the link is idle at times";
    Some(evidence.claim("3.4b", text))
}

fn best_effort_takes_from_slots(study: &Study<'_>) -> Option<Claim> {
    let text = "Best-effort traffic takes most of the capacity from slots: every class is slower in ts/be than in ts/ts";
    Some(study.faster(&environment_pairs("ts/ts", "ts/be", &SOURCE_CLASSES))?.claim("3.4c", text))
}

fn datagrams_beat_tcp_of_their_priority(study: &Study<'_>) -> Option<Claim> {
    let pairs = [("UDP3", "TCP3"), ("UDP4", "TCP4")];
    let evidence = study.faster(&class_pairs(&["cc/cc", "ts/ts", "cc/be", "ts/be", "be/be"], &pairs))?;
    Some(evidence.claim("3.4d", "UDP is faster than TCP of the same priority, in every environment"))
}

fn low_datagrams_let_tcp_go_first(study: &Study<'_>) -> Option<Claim> {
    let text = "UDP of a lower priority finishes after TCP, in every environment with a gate";
    Some(study.faster(&class_pairs(&GATED, &TCP_FIRST))?.claim("3.4e", text))
}

fn congestion_beats_slots_beside_best_effort(study: &Study<'_>) -> Option<Claim> {
    let text = "Congestion gates are also faster than slots beside best effort (cc/be against ts/be)";
    Some(study.faster(&environment_pairs("cc/be", "ts/be", &SOURCE_CLASSES))?.claim("3.4f", text))
}

fn the_first_beats_best_effort(study: &Study<'_>) -> Option<Claim> {
    let mut pairs = Vec::new();
    for discipline in DISCIPLINES {
        pairs.extend(TCP.map(|class| (("cc/be", discipline, "TCP1"), ("be/be", discipline, class))));
    }
    let text = "TCP1 in cc/be is faster than every TCP class in be/be: the highest priority is guaranteed";
    Some(study.faster(&pairs)?.claim("3.4g", text))
}

fn the_others_lose_to_best_effort(study: &Study<'_>) -> Option<Claim> {
    let text = "TCP2, TCP3 and TCP4 are slower in cc/be than in be/be: two levels of priority are enough";
    Some(study.faster(&environment_pairs("be/be", "cc/be", &TCP[1..]))?.claim("3.4h", text))
}

fn the_ratio_has_no_effect(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for scheme in ["cc/cc", "ts/ts", "cc/be", "ts/be", "be/be", "cc/ts"] {
        let (mut worst, mut worst_class): (f64, &str) = (0.0, "");
        for class in SOURCE_CLASSES {
            // The single datagram flow of 99 TCP flows has priority 3.
            let shares: &[u32] = &[81, 84, 87, 90, 93, 96, 98, 99];
            let shares = if class == "UDP4" { &shares[..7] } else { shares };
            let times: Vec<f64> = shares
                .iter()
                .map(|flows| study.time("ours/figure-3/ratio", scheme, class, "tcp_flows", json!(flows)))
                .collect::<Option<_>>()?;
            let off = largest_relative_distance(&times);
            if off > worst {
                (worst, worst_class) = (off, class);
            }
        }
        evidence
            .add(format!("{scheme}: {worst_class} differs from its mean by {:.0} % at most", 100.0 * worst));
        evidence.require(worst < 0.25, format!("{scheme} by 25 % or more"));
    }
    let text =
        "The number of TCP flows among 100, from 81 to 99, has little effect on the times of TCP and UDP";
    Some(evidence.claim("3.4i", text))
}

/// Returns how many times as long TCP4 takes as TCP1.
fn order_with(study: &Study<'_>, id: &str, scheme: &str, key: &str, value: &str) -> Option<f64> {
    let time = |class| study.time(id, scheme, class, key, json!(value));
    Some(time("TCP4")? / time("TCP1")?)
}

fn ageing_matters_to_both(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for scheme in ["cc/cc", "ts/ts"] {
        let time = |class, ageing: &str| study.time("ours/ageing", scheme, class, "ageing", json!(ageing));
        let mut max: f64 = 0.0;
        for class in TCP {
            max = max.max((time(class, "1 s")? / time(class, "off")? - 1.0).abs());
        }
        evidence.add(format!("{scheme}: ageing after 1 s changes a TCP class by up to {:.0} %", 100.0 * max));
        evidence.require(max > ALIKE, format!("{scheme} by 10 % or less"));
    }
    Some(evidence.claim("3.5a", "The ageing limit affects both mechanisms"))
}

fn short_ageing_merges_classes(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for scheme in ["cc/cc", "ts/ts"] {
        let order = |ageing| order_with(study, "ours/ageing", scheme, "ageing", ageing);
        let (short, off) = (order("1 s")?, order("off")?);
        evidence.add(format!(
            "{scheme}: TCP4 takes {off:.2} times as long as TCP1 without ageing, {short:.2} after 1 s"
        ));
        evidence.require(short < off, format!("{scheme} keeps the whole difference"));
        evidence.size((short - 1.0).abs() < ALIKE, format!("{scheme} still serves TCP1 first"));
    }
    let text = "Too short an ageing limit removes differentiated service, as with best effort (TCP4 within 10 % of TCP1)";
    Some(evidence.claim("3.5b", text))
}

fn without_ageing_the_lowest_starves(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let delivered = |ageing: &str| {
        let keys = [("ageing_s1", json!(ageing)), ("source", json!("PATIENT"))];
        study.0.value("ours/new-flows", "congestion", DELIVERED_PERCENT, &keys)
    };
    for ageing in ["1 s", "10 s", "100 s", "off"] {
        evidence.add(format!("ageing {ageing}: {:.1} % delivered", delivered(ageing)?));
    }
    let row = |metric: &str, ageing: &str| {
        let rows = &study.0.experiment("ours/new-flows")?.rows;
        let is_meant = |row: &&Row| {
            row.cell.metric == metric && row.cell.text("ageing_s1") == Some(ageing) && row.value.is_some()
        };
        rows.iter().find(is_meant)
    };
    let starved = |ageing| row(STARVED_PERCENT, ageing)?.value;
    let gain = row(AGEING_GAIN_POINTS, "1 s")?;
    // One seed decides nothing.
    let (gained, half) = (gain.value?, gain.ci95?);
    evidence.add(format!(
        "an ageing limit of 1 s delivers {gained:.1} +/- {half:.1} % more with the same new flows"
    ));
    evidence.add(format!(
        "less than 1 % arrives in {:.0} % of the runs without ageing, in {:.0} % with it",
        starved("off")?,
        starved("1 s")?
    ));
    evidence.require(gained > half, "the gain is not significant".to_owned());
    evidence.require(starved("off")? > 50.0, "most runs without ageing deliver more than that".to_owned());
    evidence.require(starved("1 s")? < 5.0, "flows starve with ageing, too".to_owned());
    let text =
        "Too long an ageing limit: the lowest priority starves under a stream of new flows (congestion gate)";
    Some(evidence.claim("3.5c", text))
}

fn long_turns_are_first_come(study: &Study<'_>) -> Option<Claim> {
    let of = |id: &str, key: &str, value: &str| {
        study.0.value(id, "ts/ts", START_FINISH_RANK_CORRELATION, &[(key, json!(value))])
    };
    let short = of("ours/section-3.1/10-kB", "discipline", "FCFS")?;
    let (middle, long) = (of("ours/10-kB-slots", "slot", "4 ms")?, of("ours/10-kB-slots", "slot", "10 ms")?);
    let mut evidence = Evidence::default();
    evidence.add(format!(
        "10 kB, rank correlation of starts and ends {short:.2} with slots of 2 ms, {middle:.2} of 4 ms, {long:.2} of 10 ms"
    ));
    evidence.require(long >= short, "longer slots are no closer to the order of starts".to_owned());
    evidence.require(long > 0.8, "10 ms are below 0.8".to_owned());
    Some(evidence.claim("3.5d", "Too long slots serve flows first come, first served"))
}

fn short_turns_resend(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let resent = |id: &str, timers: &str, slot: &str| {
        study.0.value(id, "ts/ts", RETRANSMITTED_PERCENT, &[("timers", json!(timers)), ("slot", json!(slot))])
    };
    let stopped = |timers: &str, slot: &str| resent("ours/stopped-acks", timers, slot);
    for slot in ["500 us", "2 ms", "20 ms"] {
        let (running, passing) = (stopped("running", slot)?, resent("ours/slot-length", "running", slot)?);
        evidence.add(format!("{slot}: {running:.1} %, and {passing:.1} % if acknowledgements pass"));
    }
    evidence.add(format!("500 us: {:.1} % with frozen timers", stopped("frozen", "500 us")?));
    let (short, long) = (stopped("running", "500 us")?, stopped("running", "20 ms")?);
    evidence.require(
        short > 2.0 * long,
        "short slots retransmit less than twice as much as long ones".to_owned(),
    );
    let text = "Slots shorter than the round trip cause spurious retransmissions of TCP, which gets no acknowledgements \
                between its turns (a gate that stops them, running timers)";
    Some(evidence.claim("3.5e", text))
}

fn short_turns_are_slow(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for class in TCP {
        let time = |slot: &str| {
            let keys = [("timers", json!("running")), ("slot", json!(slot)), ("source", json!(class))];
            study.0.value("ours/slot-length", "ts/ts", MEAN_FINISH_TIME, &keys)
        };
        let (short, usual) = (time("500 us")?, time("2 ms")?);
        evidence.add(format!("{class}: {short:.0} s with slots of 500 us, {usual:.0} s of 2 ms"));
        evidence.require(short > usual, format!("{class} is not slower"));
    }
    Some(evidence.claim("3.5f", "Slots shorter than the round trip slow TCP down"))
}

fn steep_turns_starve_the_lowest(study: &Study<'_>) -> Option<Claim> {
    let time = |slots: &str| study.time("ours/slots", "ts/ts", "TCP4", "slots", json!(slots));
    let (usual, steep) = (time("published")?, time("steep")?);
    let mut evidence = Evidence::default();
    evidence.add(format!("TCP4: {steep:.0} s with 1024, 256, 64, 16 slots, {usual:.0} s as published"));
    evidence.require(steep > usual, "the lowest priority is not slower".to_owned());
    Some(evidence.claim("3.5g", "Too unequal slot counts slow the lowest priority down"))
}

fn equal_turns_make_no_difference(study: &Study<'_>) -> Option<Claim> {
    let order = |slots| order_with(study, "ours/slots", "ts/ts", "slots", slots);
    let (equal, usual) = (order("equal")?, order("published")?);
    let mut evidence = Evidence::default();
    evidence.add(format!(
        "TCP4 takes {equal:.2} times as long as TCP1 with equal slot counts, {usual:.2} as published"
    ));
    evidence.require((equal - 1.0).abs() < ALIKE, "priorities still differ".to_owned());
    Some(evidence.claim("3.5h", "Equal slot counts leave no difference between priorities (10 %)"))
}

fn binary_turns_starve_nobody(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let mut slowest: f64 = 0.0;
    for scheme in ["ts/ts", "ts/be"] {
        for discipline in DISCIPLINES {
            // Without an end of all its flows a class has a row and no value.
            let time = study.row((scheme, discipline, "TCP4"))?.value;
            evidence.require(time.is_some(), format!("{scheme} {discipline}: TCP4 does not end"));
            slowest = slowest.max(time.unwrap_or(0.0));
        }
    }
    evidence.add(format!("all flows of TCP4 end, after {slowest:.0} s on average in the slowest case"));
    let text = "Slot counts in powers of two do not starve low priorities: the lowest of the table completes";
    Some(evidence.claim("3.5i", text))
}

fn datagrams_are_regulated(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for discipline in DISCIPLINES {
        for (udp, tcp) in [("UDP3", "TCP3"), ("UDP4", "TCP4")] {
            let share =
                |scheme| Some(study.table(scheme, discipline, udp)? / study.table(scheme, discipline, tcp)?);
            let (free, gated, slotted) = (share("be/be")?, share("cc/cc")?, share("ts/ts")?);
            evidence.add(format!("{discipline} {udp}: {free:.2}, {gated:.2}, {slotted:.2}"));
            evidence.require(free < 0.5, format!("{discipline} {udp} is not much faster without gates"));
            evidence.require(
                gated > 0.5 && slotted > 0.5,
                format!("{discipline} {udp} is still much faster with gates"),
            );
        }
    }
    let text = "Both mechanisms regulate UDP: without gates it finishes in less than half of TCP's time, with them it no longer does \
                (UDP's time by TCP's: without, congestion, slots)";
    Some(evidence.claim("4a", text))
}

fn only_the_first_is_protected(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for discipline in DISCIPLINES {
        let times = |scheme| {
            TCP.iter().map(|class| study.table(scheme, discipline, class)).collect::<Option<Vec<f64>>>()
        };
        let (gated, free) = (times("cc/be")?, times("be/be")?);
        let min = free.iter().copied().fold(f64::INFINITY, f64::min);
        evidence.add(format!(
            "{discipline}: TCP {} s, without gates {min:.0} s at least",
            gated.iter().map(|time| format!("{time:.0}")).collect::<Vec<_>>().join(", ")
        ));
        evidence.require(gated[0] < 0.9 * min, format!("{discipline}: priority 1 is not protected well"));
        for (class, time) in (2..).zip(&gated[1..]) {
            evidence
                .require(*time > 0.9 * min, format!("{discipline}: priority {class} is also protected well"));
        }
    }
    let text = "Next to best-effort traffic a congestion gate protects only priority 1 well: it alone is a tenth faster or more \
                than any TCP class without gates";
    Some(evidence.claim("ours-1", text))
}

/// Decides the claim on the accuracy of our times.
fn accuracy_is_as_claimed(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let off = |scheme: &str, disciplines: &[&str]| {
        let rows = study.0.experiment(&format!("table-II/{scheme}"))?.rows.iter().filter(|row| {
            disciplines.iter().any(|discipline| row.cell.text("discipline") == Some(discipline))
        });
        let errors: Vec<f64> =
            rows.map(|row| row.relative_difference().map(f64::abs)).collect::<Option<_>>()?;
        Some((100.0 * errors.iter().sum::<f64>() / errors.len().max(1) as f64, errors.len()))
    };
    for (scheme, max, disciplines) in [
        ("cc/cc", 20.0, &DISCIPLINES[..]),
        ("ts/ts", 15.0, &DISCIPLINES[..]),
        ("be/be", 40.0, &["FCFS", "RED", "SFQ"]),
    ] {
        let (mean, cells) = off(scheme, disciplines)?;
        evidence.add(format!("{scheme}: {mean:.1} % on average over {cells} cells"));
        evidence.require(mean <= max, format!("{scheme} is more than {max:.0} % off"));
    }
    // No choice was made by these two.
    for scheme in ["cc/be", "ts/be"] {
        if let Some((mean, cells)) = off(scheme, &DISCIPLINES) {
            evidence.add(format!(
                "{scheme}, computed before its values were known: {mean:.1} % over {cells} cells"
            ));
        }
    }
    let text = "Times are close to those published: within 20 % on average for cc/cc, 15 % for ts/ts, 40 % for be/be without DRR";
    Some(evidence.claim("ours-2", text))
}

/// Returns the mean distance of an environment's times from the printed ones in percent, without ageing or with it.
fn mean_time_error(study: &Study<'_>, scheme: &str, ageing: Option<&str>) -> Option<f64> {
    let (id, key) = if scheme.ends_with("/be") {
        ("ours/table-II-ageing/one", "ageing_s1")
    } else {
        ("ours/table-II-ageing/both", "ageing")
    };
    let mut sum = 0.0;
    for discipline in DISCIPLINES {
        for class in SOURCE_CLASSES {
            let OursAndPrinted { ours, printed_value: printed } =
                study.ours_and_printed((scheme, discipline, class))?;
            let time = |ageing| {
                let keys =
                    [(key, json!(ageing)), ("discipline", json!(discipline)), ("source", json!(class))];
                study.0.value(id, scheme, MEAN_FINISH_TIME, &keys)
            };
            sum += (ageing.map_or(Some(ours), time)? / printed? - 1.0).abs();
        }
    }
    Some(100.0 * sum / (DISCIPLINES.len() * SOURCE_CLASSES.len()) as f64)
}

fn the_table_has_no_early_ageing(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let (mut without, mut early) = (0.0, 0.0);
    for scheme in GATED {
        let off = mean_time_error(study, scheme, None)?;
        let (ten, hundred) =
            (mean_time_error(study, scheme, Some("10 s"))?, mean_time_error(study, scheme, Some("100 s"))?);
        evidence.add(format!(
            "{scheme}: {off:.1} % off the printed times without ageing, {hundred:.1} % after 100 s, {ten:.1} % after 10 s"
        ));
        let is_same = (hundred - off).abs() < SAME_ERROR;
        evidence
            .require(is_same, format!("{scheme}: 100 s change the distance by {SAME_ERROR} points or more"));
        (without, early) = (without + off, early + ten);
    }
    evidence.require(without < early, "after 10 s the environments are as near on average".to_owned());
    let text = "Table II tells no ageing from ageing after 100 s, and is farther from our times with ageing after 10 s";
    Some(evidence.claim("ours-3", text))
}

/// Smallest significant change of the mean distance from the printed times, in percentage points.
const SAME_ERROR: f64 = 5.0;

#[cfg(test)]
#[path = "claims_tests.rs"]
mod tests;
