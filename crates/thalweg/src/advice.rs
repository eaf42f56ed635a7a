//! The words for what would make a transfer faster.

use thalweg_net::advice::{Advice, Advisor};
use thalweg_net::flow::Scheme;
use thalweg_proto::units::Rate;
use thalweg_report::output;

/// Schemes that take each loss for congestion.
const HELD_BY_LOSSES: [&str; 4] = ["cubic", "newreno", "slow-start", "vegas"];
/// The share of losses up to which `bbr` takes them for the wire's (draft-ietf-ccwg-bbr, BBR.LossThresh).
const OF_THE_WIRE: f64 = 0.02;

/// A scheme that finds its rate on a path that loses this share of packets, and what to know of it.
fn better(share: f64) -> (&'static str, &'static str) {
    if share < OF_THE_WIRE { ("bbr", "") } else { ("sscop-rate", "where nobody else needs the path, ") }
}

/// The words for the user of a sender by this scheme, if its sender is sure of something.
pub fn words(advisor: &Advisor, scheme: &Scheme) -> Option<String> {
    let (name, (description, values)) = (scheme.name(), scheme.values());
    let rate = |rate: Rate| output::rate(rate.as_f64());
    let keeps_rate = description.traits.keeps_rate;
    let advice = if HELD_BY_LOSSES.contains(&name) { advisor.of_losses()? } else { advisor.of_rate()? };
    Some(match advice {
        Advice::Losses { carried, sent, share } => {
            let (other, but) = better(share);
            format!(
                "this path has carried {}, but {name} takes the {:.1} % of packets that are lost on the way for congestion, and \
                 sent {} on average: {but}`--scheme {other}` gets more of it (a receiver of files allows it with --allow-scheme {other})",
                rate(carried),
                100.0 * share,
                rate(sent)
            )
        }
        Advice::TooFast { carried, share, queued } if !keeps_rate => {
            let why = if queued {
                format!("{name} sends more than the path carries")
            } else {
                format!("the path loses so much, or {name} sends more than it carries")
            };
            let (share, carried) = (100.0 * share, rate(carried));
            format!("{share:.0} % of what was sent had to be sent again: {why} ({carried} went through)")
        }
        Advice::TooFast { carried, share, queued } => {
            let told =
                values.take::<Rate>("rate").map_or_else(String::new, |told| format!(" of {}", rate(told)));
            if queued {
                let fits = Rate::from_bits_per_sec((carried.as_f64() * 0.9) as u64);
                format!(
                    "{:.0} % of what was sent had to be sent again: the path carries about {}, and the rate{told} that {name} was \
                     told is more. `--scheme {name}:rate={:.3}Mbit/s` fits it",
                    100.0 * share,
                    rate(carried),
                    fits.as_f64() / 1e6
                )
            } else {
                format!(
                    "{:.0} % of what was sent had to be sent again: the path loses so much, or carries less than the rate{told} \
                     that {name} was told ({} went through)",
                    100.0 * share,
                    rate(carried)
                )
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_that_is_named_is_one_that_there_is() {
        for (share, expected) in [(0.001, "bbr"), (0.019, "bbr"), (0.05, "sscop-rate")] {
            assert_eq!(better(share).0, expected);
            assert!(Scheme::names().any(|name| name == expected));
        }
        for name in HELD_BY_LOSSES {
            assert!(Scheme::names().any(|known| known == name), "{name}");
        }
    }
}
