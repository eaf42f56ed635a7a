//! The claims of the paper, decided by our runs. A claim whose values are missing, because its experiments were not
//! run, is left out.

use super::super::evidence::Evidence;
use super::super::{Claim, Results, Row};
use super::metrics::{CLASSES, DELIVERED, FIRST_COME, GAIN, RESENT, STARVED, TIME};
use serde_json::{Value, json};

const DISCIPLINES: [&str; 4] = ["FCFS", "DRR", "RED", "SFQ"];
const GATED: [&str; 4] = ["cc/cc", "ts/ts", "cc/be", "ts/be"];
/// Priorities of one protocol, one below the other.
const ORDERED: [(&str, &str); 4] = [("TCP1", "TCP2"), ("TCP2", "TCP3"), ("TCP3", "TCP4"), ("UDP3", "UDP4")];

/// The claims that the results decide.
pub fn claims(results: &Results) -> Vec<Claim> {
    let study = Study(results);
    let all: [fn(&Study<'_>) -> Option<Claim>; 12] = [
        times_follow_priority,
        short_flows_under_congestion_gates,
        short_flows_under_slots,
        disciplines_hardly_matter_with_slots,
        congestion_beats_slots,
        datagrams_lose_their_lead,
        only_the_first_is_protected,
        ageing_merges_classes,
        without_ageing_the_lowest_starves,
        short_turns_resend,
        the_ratio_has_no_effect,
        as_near_as_promised,
    ];
    all.iter().filter_map(|claim| claim(&study)).collect()
}

struct Study<'a>(&'a Results);

impl Study<'_> {
    /// A cell of table II.
    fn table(&self, scheme: &str, discipline: &str, class: &str) -> Option<f64> {
        let keys = [("discipline", json!(discipline)), ("source", json!(class))];
        self.0.value(&format!("table-II/{scheme}"), scheme, TIME, &keys)
    }

    fn time(&self, id: &str, scheme: &str, class: &str, key: &str, value: Value) -> Option<f64> {
        self.0.value(id, scheme, TIME, &[(key, value), ("source", json!(class))])
    }
}

fn times_follow_priority(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let mut pairs = 0;
    for scheme in GATED {
        for discipline in DISCIPLINES {
            for (high, low) in ORDERED {
                let (first, second) =
                    (study.table(scheme, discipline, high)?, study.table(scheme, discipline, low)?);
                pairs += 1;
                let what = format!("{scheme} {discipline}: {high} {first:.0} s, {low} {second:.0} s");
                evidence.must(first < second, what);
            }
        }
    }
    evidence.say(format!("{} of {pairs} pairs of neighbours are in order", pairs - evidence.failures()));
    Some(evidence.claim(
        "1",
        "1 MB: times follow priority within TCP and within UDP, in every environment with a gate and every discipline",
    ))
}

fn short_flows_under_congestion_gates(study: &Study<'_>) -> Option<Claim> {
    let (mut pairs, mut ordered) = (0, 0);
    for scheme in ["cc/cc", "cc/be"] {
        for discipline in DISCIPLINES {
            for (high, low) in ORDERED {
                let time = |class| {
                    study.time("ours/section-3.1/10-kB", scheme, class, "discipline", json!(discipline))
                };
                pairs += 1;
                ordered += u32::from(time(high)? < time(low)?);
            }
        }
    }
    let mut evidence = Evidence::default();
    evidence.say(format!("{ordered} of {pairs} pairs of neighbours are in order"));
    evidence.must(3 * ordered >= 2 * pairs, "fewer than two thirds".to_owned());
    Some(evidence.claim(
        "2a",
        "10 kB with congestion gates: times mostly follow priority (two thirds of the pairs or more)",
    ))
}

fn short_flows_under_slots(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for discipline in DISCIPLINES {
        let keys = [("discipline", json!(discipline))];
        let correlation = study.0.value("ours/section-3.1/10-kB", "ts/ts", FIRST_COME, &keys)?;
        evidence.say(format!("{discipline}: rank correlation of starts and ends {correlation:.2}"));
        evidence.must(correlation > 0.8, format!("{discipline} is below 0.8"));
    }
    for slot in ["4 ms", "10 ms"] {
        let correlation = study.0.value("ours/10-kB-slots", "ts/ts", FIRST_COME, &[("slot", json!(slot))])?;
        evidence.say(format!("with slots of {slot} {correlation:.2}"));
    }
    Some(
        evidence.claim("2b", "10 kB with slots, of 2 ms as in the table: flows end first come, first served"),
    )
}

fn disciplines_hardly_matter_with_slots(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for scheme in ["ts/ts", "cc/cc"] {
        let mut worst: f64 = 0.0;
        for class in CLASSES {
            let times: Vec<f64> =
                DISCIPLINES.iter().map(|of| study.table(scheme, of, class)).collect::<Option<_>>()?;
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            worst = times.iter().fold(worst, |worst, time| worst.max((time / mean - 1.0).abs()));
        }
        evidence.say(format!(
            "{scheme}: a class differs from its mean over disciplines by {:.0} % at most",
            100.0 * worst
        ));
        if scheme == "ts/ts" {
            evidence.must(worst < 0.1, "10 % or more with slots".to_owned());
        }
    }
    Some(evidence.claim("3", "With slots the disciplines hardly matter"))
}

fn congestion_beats_slots(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for (congestion, slots) in [("cc/cc", "ts/ts"), ("cc/be", "ts/be")] {
        let mut wins = 0;
        for discipline in DISCIPLINES {
            for class in CLASSES {
                let faster =
                    study.table(congestion, discipline, class)? < study.table(slots, discipline, class)?;
                wins += u32::from(faster);
            }
        }
        evidence.say(format!("{congestion} is faster than {slots} in {wins} of 24 cells"));
        evidence.must(wins > 12, format!("not in most cells of {slots}"));
    }
    Some(evidence.claim("4", "Congestion gates beat slots in most cells"))
}

fn datagrams_lose_their_lead(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for discipline in DISCIPLINES {
        for (udp, tcp) in [("UDP3", "TCP3"), ("UDP4", "TCP4")] {
            let share =
                |scheme| Some(study.table(scheme, discipline, udp)? / study.table(scheme, discipline, tcp)?);
            let (free, gated, slotted) = (share("be/be")?, share("cc/cc")?, share("ts/ts")?);
            evidence.say(format!("{discipline} {udp}: {free:.2}, {gated:.2}, {slotted:.2}"));
            evidence.must(free < 0.5, format!("{discipline} {udp} is not far ahead without gates"));
            evidence.must(
                gated > 0.5 && slotted > 0.5,
                format!("{discipline} {udp} is still far ahead with gates"),
            );
        }
    }
    let text = "Without gates UDP finishes in less than half of TCP's time; with congestion gates or slots it no longer does \
                (UDP's time by TCP's: without, congestion, slots)";
    Some(evidence.claim("5", text))
}

fn only_the_first_is_protected(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for discipline in DISCIPLINES {
        let best = |scheme| {
            ["TCP1", "TCP2", "TCP3", "TCP4"]
                .iter()
                .map(|class| study.table(scheme, discipline, class))
                .collect()
        };
        let (gated, free): (Option<Vec<f64>>, Option<Vec<f64>>) = (best("cc/be"), best("be/be"));
        let (gated, free) = (gated?, free?);
        let least = free.iter().copied().fold(f64::INFINITY, f64::min);
        evidence.say(format!(
            "{discipline}: TCP {} s, without gates {least:.0} s at least",
            gated.iter().map(|time| format!("{time:.0}")).collect::<Vec<_>>().join(", ")
        ));
        evidence.must(gated[0] < 0.9 * least, format!("{discipline}: priority 1 is not protected well"));
        for (class, time) in (2..).zip(&gated[1..]) {
            evidence
                .must(*time > 0.9 * least, format!("{discipline}: priority {class} is protected well too"));
        }
    }
    let text = "Next to best-effort traffic a congestion gate protects only priority 1 well: it alone is a tenth faster or more \
                than any TCP class without gates";
    Some(evidence.claim("6", text))
}

fn ageing_merges_classes(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for scheme in ["cc/cc", "ts/ts"] {
        let spread = |ageing: &str| {
            let time = |class| study.time("ours/ageing", scheme, class, "ageing", json!(ageing));
            Some(time("TCP4")? / time("TCP1")?)
        };
        let (short, off) = (spread("1 s")?, spread("off")?);
        evidence.say(format!(
            "{scheme}: TCP4 takes {off:.2} times as long as TCP1 without ageing, {short:.2} after 1 s"
        ));
        evidence.must(
            short < 1.0 + 0.5 * (off - 1.0),
            format!("{scheme} keeps more than half of the difference"),
        );
    }
    Some(evidence.claim("7a", "Ageing too short: classes merge into best effort"))
}

fn without_ageing_the_lowest_starves(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let delivered = |patience: &str| {
        let keys = [("patience", json!(patience)), ("source", json!("PATIENT"))];
        study.0.value("ours/newcomers", "congestion", DELIVERED, &keys)
    };
    for patience in ["1 s", "10 s", "100 s", "off"] {
        evidence.say(format!("ageing {patience}: {:.1} % delivered", delivered(patience)?));
    }
    let row = |metric: &str, patience: &str| {
        let rows = &study.0.experiment("ours/newcomers")?.rows;
        let is_meant = |row: &&Row| {
            row.cell.metric == metric && row.cell.text("patience") == Some(patience) && row.value.is_some()
        };
        rows.iter().find(is_meant)
    };
    let starved = |patience| row(STARVED, patience)?.value;
    let gain = row(GAIN, "1 s")?;
    // One seed decides nothing.
    let (gained, half) = (gain.value?, gain.ci95?);
    evidence
        .say(format!("a second of ageing brings {gained:.1} +/- {half:.1} % more with the same newcomers"));
    evidence.say(format!(
        "less than 1 % arrives in {:.0} % of the runs without ageing, in {:.0} % with it",
        starved("off")?,
        starved("1 s")?
    ));
    evidence.must(gained > half, "that gain may be chance".to_owned());
    evidence.must(starved("off")? > 50.0, "most runs without ageing deliver more than that".to_owned());
    evidence.must(starved("1 s")? < 5.0, "flows starve with ageing, too".to_owned());
    Some(evidence.claim("7b", "Ageing too long: the lowest priority starves under a stream of newcomers"))
}

fn short_turns_resend(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let resent = |timers: &str, slot: &str| {
        study.0.value(
            "ours/slot-length",
            "ts/ts",
            RESENT,
            &[("timers", json!(timers)), ("slot", json!(slot))],
        )
    };
    for slot in ["500 us", "1 ms", "2 ms", "4 ms", "10 ms", "20 ms"] {
        let (running, frozen) = (resent("running", slot)?, resent("frozen", slot)?);
        evidence.say(format!("{slot}: {running:.1} % with running timers, {frozen:.1} % with frozen ones"));
    }
    let (short, long) = (resent("running", "500 us")?, resent("running", "20 ms")?);
    evidence.must(short > 2.0 * long, "short turns do not resend twice as much as long ones".to_owned());
    evidence.must(resent("frozen", "500 us")? < 0.5 * short, "frozen timers resend as much".to_owned());
    Some(
        evidence
            .claim("8", "A turn shorter than the round trip makes TCP with running timers resend needlessly"),
    )
}

fn the_ratio_has_no_effect(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for scheme in ["cc/cc", "ts/ts", "be/be"] {
        let (mut worst, mut whose): (f64, &str) = (0.0, "");
        for class in ["TCP1", "TCP2", "TCP3", "TCP4"] {
            let times: Vec<f64> = [81, 84, 87, 90, 93, 96, 98]
                .iter()
                .map(|flows| study.time("ours/figure-3/ratio", scheme, class, "tcp_flows", json!(flows)))
                .collect::<Option<_>>()?;
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            let off = times.iter().map(|time| (time / mean - 1.0).abs()).fold(0.0, f64::max);
            if off > worst {
                (worst, whose) = (off, class);
            }
        }
        evidence.say(format!("{scheme}: {whose} differs from its mean by {:.0} % at most", 100.0 * worst));
        evidence.must(worst < 0.25, format!("{scheme} by a quarter or more"));
    }
    Some(
        evidence.claim(
            "9",
            "The number of TCP flows among 100, from 81 to 98, has no marked effect on TCP's times",
        ),
    )
}

/// The claim that our times are as near to the published ones as promised: not a claim of the paper but of this
/// reproduction.
fn as_near_as_promised(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for (scheme, most, disciplines) in [
        ("cc/cc", 0.20, &DISCIPLINES[..]),
        ("ts/ts", 0.15, &DISCIPLINES[..]),
        ("be/be", 0.40, &["FCFS", "RED", "SFQ"]),
    ] {
        let id = format!("table-II/{scheme}");
        let rows = study.0.experiment(&id)?.rows.iter().filter(|row| {
            disciplines.iter().any(|discipline| row.cell.text("discipline") == Some(discipline))
        });
        let errors: Vec<f64> =
            rows.map(|row| row.relative_difference().map(f64::abs)).collect::<Option<_>>()?;
        let mean = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
        evidence.say(format!("{scheme}: {:.1} % on average over {} cells", 100.0 * mean, errors.len()));
        evidence.must(mean <= most, format!("{scheme} is more than {:.0} % off", 100.0 * most));
    }
    let text = "Our times are near those published: within 20 % on average for cc/cc, 15 % for ts/ts, 40 % for be/be without DRR";
    Some(evidence.claim("near", text))
}

#[cfg(test)]
#[path = "claims_tests.rs"]
mod tests;
