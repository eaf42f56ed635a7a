//! Text of advice for faster transfers.

use serde_json::{Value, json};
use thalweg_catalog::SchemeTraits;
use thalweg_net::flow::Scheme;
use thalweg_net::performance_advice::{Advice, Advisor, RECOMMENDED_SCHEME};
use thalweg_proto::units::Rate;
use thalweg_report::output;

/// Findings that are certain enough for advice.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Findings {
    /// For a loss-based scheme: losses without congestion.
    losses: Option<Advice>,
    /// For a sender that exceeds the path's rate.
    rate: Option<Advice>,
}

impl Findings {
    /// Returns the findings of an advisor.
    pub fn from_advisor(advisor: &Advisor) -> Self {
        Self { losses: advisor.advice_on_wire_losses(), rate: advisor.advice_on_excessive_rate() }
    }

    /// Converts the findings to JSON for the peer.
    pub fn to_json(self) -> Value {
        let [mut losses, mut rate] = [Value::Null, Value::Null];
        if let Some(Advice::WireLosses { peak_carried, sent, share }) = self.losses {
            let rates = [peak_carried, sent].map(Rate::as_bits_per_sec);
            losses = json!({"carried_bps": rates[0], "sent_bps": rates[1], "share": share});
        }
        if let Some(Advice::ExcessiveRate { delivery_rate, share, was_queued, queue_was_long, mtu_reduced }) =
            self.rate
        {
            let delivery_rate = delivery_rate.as_bits_per_sec();
            rate = json!({"carried_bps": delivery_rate, "share": share, "queued": was_queued, "full": queue_was_long, "mtu_reduced": mtu_reduced});
        }
        json!({"losses": losses, "rate": rate})
    }

    /// Parses the peer's findings; `None` if they are missing or invalid.
    pub fn from_json(value: &Value) -> Option<Self> {
        let rate = |of: &Value, key: &str| of[key].as_u64().map(Rate::from_bits_per_sec);
        let share = |of: &Value| of["share"].as_f64().filter(|share| (0.0..=1.0).contains(share));
        let losses = |of: &Value| {
            let (peak_carried, sent) = (rate(of, "carried_bps")?, rate(of, "sent_bps")?);
            Some(Advice::WireLosses { peak_carried, sent, share: share(of)? })
        };
        let too_fast = |of: &Value| {
            let (delivery_rate, was_queued) = (rate(of, "carried_bps")?, of["queued"].as_bool()?);
            Some(Advice::ExcessiveRate {
                delivery_rate,
                share: share(of)?,
                was_queued,
                queue_was_long: of["full"].as_bool().unwrap_or(false),
                mtu_reduced: of["mtu_reduced"].as_bool().unwrap_or(false),
            })
        };
        value.is_object().then(|| Self { losses: losses(&value["losses"]), rate: too_fast(&value["rate"]) })
    }
}

/// Returns advice to the user of a sender with this scheme, if the advisor is certain of any.
pub fn advice_text(advisor: &Advisor, scheme: &Scheme) -> Option<String> {
    findings_text(&Findings::from_advisor(advisor), scheme)
}

/// Returns advice for these findings.
pub fn findings_text(findings: &Findings, scheme: &Scheme) -> Option<String> {
    let (name, (description, values)) = (scheme.name(), scheme.values());
    let rate = |rate: Rate| output::format_rate(rate.as_f64());
    let SchemeTraits { has_fixed_rate, is_loss_based, .. } = description.traits;
    let advice = if is_loss_based { findings.losses? } else { findings.rate? };
    Some(match advice {
        Advice::WireLosses { peak_carried, sent, share } => {
            format!(
                "{name} takes the {:.1} % of packets lost on the path for congestion, and sent {} on average and {} at most, \
                 whatever the path's rate is: `--scheme {RECOMMENDED_SCHEME}` gets more of it",
                100.0 * share,
                rate(sent),
                rate(peak_carried)
            )
        }
        Advice::ExcessiveRate { share, mtu_reduced: true, .. } => format!(
            "{:.0} % of the data was retransmitted: the path stopped carrying packets as large as before (an MTU black hole, \
             or an outage)",
            100.0 * share
        ),
        Advice::ExcessiveRate { share, queue_was_long, .. } if !has_fixed_rate => {
            let why = if queue_was_long {
                format!("{name} sends more than the path carries")
            } else {
                format!("the path is lossy, or {name} sends more than it carries")
            };
            format!("{:.0} % of the data was retransmitted: {why}", 100.0 * share)
        }
        Advice::ExcessiveRate { delivery_rate, share, was_queued, .. } => {
            let configured =
                values.optional::<Rate>("rate").map_or_else(String::new, |of| format!(" of {}", rate(of)));
            if was_queued {
                let fits = Rate::from_bits_per_sec((delivery_rate.as_f64() * 0.9) as u64);
                format!(
                    "{:.0} % of the data was retransmitted: the path carries about {}, and the configured rate{configured} of {name} is \
                     more. `--scheme {name}:rate={:.3}Mbit/s` fits it",
                    100.0 * share,
                    rate(delivery_rate),
                    fits.as_f64() / 1e6
                )
            } else {
                format!(
                    "{:.0} % of the data was retransmitted: the path is lossy, or carries less than the configured rate{configured} \
                     of {name} ({} went through)",
                    100.0 * share,
                    rate(delivery_rate)
                )
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_catalog::Registry;

    #[test]
    fn findings_are_read_as_written() {
        let [high, low] = [30_000_000, 4_000_000].map(Rate::from_bits_per_sec);
        let losses = Some(Advice::WireLosses { peak_carried: high, sent: low, share: 0.01 });
        let rate = Some(Advice::ExcessiveRate {
            delivery_rate: high,
            share: 0.3,
            was_queued: true,
            queue_was_long: true,
            mtu_reduced: true,
        });
        for findings in
            [Findings::default(), Findings { losses, rate: None }, Findings { losses: None, rate }]
        {
            assert_eq!(Findings::from_json(&findings.to_json()), Some(findings));
        }
        for bad in [json!(null), json!(3), json!("text")] {
            assert_eq!(Findings::from_json(&bad), None);
        }
        let odd = json!({"losses": {"carried_bps": -1, "share": "x"}, "rate": []});
        assert_eq!(Findings::from_json(&odd), Some(Findings::default()));
    }

    /// A rate-based scheme may build a small queue on purpose.
    #[test]
    fn rate_based_schemes_are_blamed_only_for_a_full_queue() {
        let copa = Scheme::read("copa", &Registry::default()).unwrap();
        let text_of = |queue_was_long, mtu_reduced| {
            let rate = Advice::ExcessiveRate {
                delivery_rate: Rate::ZERO,
                share: 0.11,
                was_queued: true,
                queue_was_long,
                mtu_reduced,
            };
            findings_text(&Findings { losses: None, rate: Some(rate) }, &copa).unwrap()
        };
        let start = "11 % of the data was retransmitted: ";
        assert_eq!(text_of(true, false), format!("{start}copa sends more than the path carries"));
        assert_eq!(
            text_of(false, false),
            format!("{start}the path is lossy, or copa sends more than it carries")
        );
        assert!(
            text_of(true, true)
                .starts_with(&format!("{start}the path stopped carrying packets as large as before"))
        );
    }

    #[test]
    fn the_scheme_that_is_named_is_one_that_there_is() {
        assert!(Scheme::names().any(|name| name == RECOMMENDED_SCHEME));
    }
}
