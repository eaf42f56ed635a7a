//! The reasons for defaults that differ by scheme, and the reference of them.

use crate::option_keys::{Environment, Key};
use crate::option_values::Value;
use crate::scheme_description::SchemeDescription;
use crate::schemes::SCHEMES;
use core::fmt::Write as _;

/// The reason for a scheme's own default.
pub(crate) struct Reason {
    option: &'static str,
    of: Schemes,
    why: &'static str,
    pub(crate) bond: DefaultRelation,
}

/// Relation of a scheme to its own default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DefaultRelation {
    /// The scheme can have another value.
    Loose,
    /// The value defines the scheme, or no other value is possible: not a difference to remove.
    Inherent,
    /// An inherent value that other schemes can have, and that changes the results of applications with pauses.
    InherentShareable,
}

impl DefaultRelation {
    /// Returns true if the difference is not one to remove, for applications of which one `pauses`.
    pub(crate) const fn is_inherent(self, pauses: bool) -> bool {
        match self {
            Self::Loose => false,
            Self::Inherent => true,
            Self::InherentShareable => !pauses,
        }
    }
}

/// The schemes to which a reason applies.
#[derive(Clone, Copy)]
enum Schemes {
    /// These.
    Named(&'static [&'static str]),
    /// All that no other entry names.
    Others,
    /// Those without the rule that the option controls: the value is [fixed](crate::Keys::fixed_value).
    WithoutRule,
}

impl Reason {
    const fn new(option: &'static str, schemes: &'static [&'static str], why: &'static str) -> Self {
        Self::of(Schemes::Named(schemes), option, why)
    }

    const fn of(of: Schemes, option: &'static str, why: &'static str) -> Self {
        Self { option, of, why, bond: DefaultRelation::Loose }
    }

    const fn inherent(self) -> Self {
        Self { bond: DefaultRelation::Inherent, ..self }
    }

    const fn inherent_but_for_pauses(self) -> Self {
        Self { bond: DefaultRelation::InherentShareable, ..self }
    }

    /// Returns the reason for the option of a scheme: an entry of it, else the entry for all others.
    pub(crate) fn find(scheme: &SchemeDescription, option: &str) -> Option<&'static Self> {
        let mut of_option = REASONS.iter().filter(|reason| reason.option == option);
        let own = of_option.clone().find(|reason| match reason.of {
            Schemes::Named(names) => names.contains(&scheme.name),
            Schemes::Others => false,
            Schemes::WithoutRule => (scheme.keys.fixed_value)(option).is_some(),
        });
        own.or_else(|| of_option.find(|reason| matches!(reason.of, Schemes::Others)))
    }
}

/// The schemes that predate selective acknowledgement.
const PRE_SACK_SCHEMES: &[&str] = &["slow-start", "source-quench", "tri-s", "dec-bit", "bbn", "fixed"];

/// The reasons for all defaults that differ from the default of most schemes.
const REASONS: &[Reason] = &[
    Reason::new(
        "recovery",
        PRE_SACK_SCHEMES,
        "Its transport predates selective acknowledgement (RFC 2018) and retransmits by go-back-N.",
    ),
    Reason::new("recovery", &["seif"], "The thesis repairs one packet at a time."),
    Reason::new(
        "rack",
        &["bbr"],
        "The draft assumes RACK-TLP (RFC 8985), with tail loss probes, and undoes reductions after spurious retransmissions.",
    ),
    Reason::new("rack", &["prague"], "The draft requires time-based loss detection (section 2.3.3)."),
    Reason::new("rack", &["copa", "thalweg"], "A reordered packet must not count as lost."),
    Reason::new(
        "rack",
        &["ledbat-plus-plus"],
        "Half of its acknowledgements may be lost; without tail loss probes a window of two packets waits for the retransmission timeout after each loss.",
    ),
    Reason::new(
        "verify-acks",
        &["thalweg"],
        "Its live senders do this; others begin only when acknowledgements cover many packets.",
    )
    .inherent(),
    Reason::new("counting", &["bbr", "thalweg"], "Its model of the path is in bytes.")
        .inherent_but_for_pauses(),
    Reason::new("nagle", &["source-quench"], "RFC 896 specifies Source Quench and this algorithm."),
    Reason::new("ecn", &["thalweg"], "A mark signals queue growth before packets are lost."),
    Reason::of(Schemes::WithoutRule, "idle-restart", "It has no rule for idle times.")
        .inherent_but_for_pauses(),
    Reason::of(Schemes::WithoutRule, "window-validation", "It has no rule for unused windows.")
        .inherent_but_for_pauses(),
    Reason::of(Schemes::WithoutRule, "byte-counting", "Its window does not grow by the acknowledged data.")
        .inherent(),
    Reason::new("timestamps", &["thalweg"], "It acts on one-way delays.").inherent(),
    Reason::new("initial-window", &["slow-start", "seif", "dec-bit"], "As in its paper."),
    Reason::new("initial-window", &["vegas"], "As in its paper, with a slower slow start."),
    Reason::new("initial-window", &["ledbat-plus-plus"], "The draft starts with two packets."),
    Reason::new(
        "segment",
        &["udp", "sscop", "sscop-rate", "sscop-rate-literal", "sstp"],
        "With its own headers a packet has 1500 bytes, like a packet of a window scheme.",
    )
    .inherent(),
    Reason::of(Schemes::Others, "segment", "As in its paper."),
    Reason::new("segment", &["scream"], "A common size of RTP packets."),
    Reason::of(Schemes::Others, "header", "Its packets have other headers.").inherent(),
];

/// An option with the default of most schemes that share it, and the schemes with another default.
struct SharedDefaults {
    key: &'static Key,
    common: Option<Value>,
    others: Vec<(&'static SchemeDescription, Option<Value>)>,
}

/// Returns the options with different defaults among the built-in schemes.
fn differing_builtin_options() -> Vec<SharedDefaults> {
    let mut found: Vec<SharedDefaults> = Vec::new();
    for key in SCHEMES.iter().flat_map(|of| of.keys.flat()).filter(|key| key.is_simulated()) {
        if found.iter().any(|of| of.key.name == key.name && of.key.has_same_meaning(key)) {
            continue;
        }
        let with = SCHEMES.iter().filter_map(|of| {
            let own = of.keys.find(key.name).filter(|own| own.has_same_meaning(key))?;
            Some((*of, of.keys.default_of(own, Environment::Simulated)))
        });
        let with: Vec<_> = with.collect();
        let count = |value: &Option<Value>| with.iter().filter(|(_, other)| other == value).count();
        // Of equally common values, the key's own default, or else the first one.
        let own = key.kind.read(key.default).ok();
        let rank = |value: &Option<Value>| (count(value), *value == own);
        let common = with.iter().rev().map(|(_, value)| *value).max_by_key(rank).flatten();
        let others = with.iter().filter(|(_, value)| *value != common).copied().collect();
        found.push(SharedDefaults { key, common, others });
    }
    found.retain(|of| !of.others.is_empty());
    found
}

/// Formats all options whose default differs by scheme as Markdown.
pub fn defaults_reference() -> String {
    let mut out = String::from(
        "| option | default | of | reason | can be equalised |\n| --- | --- | --- | --- | --- |\n",
    );
    let quoted = |value: Option<Value>| value.map_or("unset".to_owned(), |value| format!("`{value}`"));
    for SharedDefaults { key, common, others } in differing_builtin_options() {
        let _ = writeln!(out, "| `{}` | {} | all others | | |", key.name, quoted(common));
        for reason in REASONS.iter().filter(|reason| reason.option == key.name) {
            let is_of = |scheme| Reason::find(scheme, key.name).is_some_and(|of| core::ptr::eq(of, reason));
            let mut listed: Vec<Option<Value>> = Vec::new();
            for (_, value) in others.iter().filter(|(scheme, _)| is_of(scheme)) {
                if listed.contains(value) {
                    continue;
                }
                listed.push(*value);
                let of = others.iter().filter(|(scheme, own)| own == value && is_of(scheme));
                let of: Vec<String> = of.map(|(scheme, _)| format!("`{}`", scheme.name)).collect();
                let levelled = match reason.bond {
                    DefaultRelation::InherentShareable => "by the others, if workloads pause",
                    DefaultRelation::Inherent => "belongs to the scheme",
                    DefaultRelation::Loose => "yes",
                };
                let _ = writeln!(
                    out,
                    "| | {} | {} | {} | {levelled} |",
                    quoted(*value),
                    of.join(", "),
                    reason.why
                );
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of reasons matches the descriptions: no entry is missing or unused.
    #[test]
    fn every_scheme_specific_default_has_a_reason() {
        let mut listed: Vec<(&str, &str)> = Vec::new();
        for SharedDefaults { key, others, .. } in differing_builtin_options() {
            for (scheme, value) in others {
                let name = scheme.name;
                assert!(Reason::find(scheme, key.name).is_some(), "`{}` of {name} is {value:?}", key.name);
                listed.push((key.name, name));
            }
        }
        for reason in REASONS {
            let Schemes::Named(schemes) = reason.of else { continue };
            for scheme in schemes {
                let is_listed = listed.contains(&(reason.option, scheme));
                assert!(is_listed, "`{}` of {scheme} has the default of most", reason.option);
            }
        }
    }
}
