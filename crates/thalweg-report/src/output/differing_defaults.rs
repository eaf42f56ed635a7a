//! Warning that compared schemes differ in the defaults of options.

use super::number_format::join_listed;
use crate::results::{DifferingDefault, SchemeDefault};

/// Place to make the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Command with `--set`.
    Command,
    /// The same, where the schemes are those of groups in one scenario.
    Groups,
    /// Names of schemes, with their options; `--set` does not apply to live flows.
    Schemes,
    /// Sweep file.
    SweepFile,
}

/// Returns the warning that precedes all verdicts; `None` where all defaults are equal.
pub fn differing_defaults_warning(all: &[DifferingDefault], remedy: Remedy) -> Option<String> {
    let options: Vec<String> = all.iter().map(option_text).collect();
    if options.is_empty() {
        return None;
    }
    let sets = || all.iter().filter_map(|of| of.set.as_deref());
    let mut remedies = Vec::new();
    match remedy {
        Remedy::Command | Remedy::Groups if sets().next().is_some() => {
            let options: Vec<String> = sets().map(|set| format!("--set {set}")).collect();
            remedies.push(options.join(" "));
        }
        Remedy::SweepFile if sets().next().is_some() => {
            let quoted: Vec<String> = sets().map(|set| format!("\"{set}\"")).collect();
            remedies.push(format!("set = [{}] in the sweep file", quoted.join(", ")));
        }
        Remedy::Command | Remedy::Groups | Remedy::Schemes | Remedy::SweepFile => {}
    }
    let by_name: Vec<[String; 2]> = match remedy {
        Remedy::Schemes => all.iter().flat_map(DifferingDefault::by_name).collect(),
        Remedy::Command | Remedy::Groups | Remedy::SweepFile => {
            all.iter().flat_map(|of| &of.schemes).cloned().collect()
        }
    };
    let mut named: Vec<[String; 2]> = Vec::new();
    for [scheme, with] in &by_name {
        match named.iter_mut().find(|[other, _]| other == scheme) {
            // Options of one scheme are grouped.
            Some([_, text]) => {
                *text = format!("{text},{}", with[scheme.len()..].trim_start_matches([':', ',']));
            }
            None => named.push([scheme.clone(), with.clone()]),
        }
    }
    remedies.extend(named.iter().map(|[scheme, with]| format!("{with} in place of {scheme}")));
    let has_options = all.iter().any(DifferingDefault::is_option);
    let mut level = match remedies.is_empty() {
        true if has_options => " No value is valid for all of them.".to_owned(),
        true => String::new(),
        // No comma, which would be copied with an option before it.
        false => format!(" To equalise: {}", remedies.join(" and ")),
    };
    // Before the remedy, whose end may be copied.
    if !all.iter().all(DifferingDefault::is_option) {
        level.insert_str(
            0,
            " Their transports repair losses in different ways, which no option equalises: where packets are reordered, \
             some schemes may slow down or retransmit while others do not.",
        );
    }
    let [of, effect] = match remedy {
        Remedy::Groups => ["the schemes of these groups", "Differences between groups"],
        Remedy::Command | Remedy::Schemes | Remedy::SweepFile => ["the schemes", "The results below"],
    };
    Some(format!(
        "NOT LIKE FOR LIKE: by default {of} differ in {}. {effect} include the effect of this.{level}",
        options.join("; ")
    ))
}

/// Formats the option with its values: "`rack` (true: bbr and copa, false: cubic)".
fn option_text(of: &DifferingDefault) -> String {
    let mut values: Vec<(&str, Vec<&str>)> = Vec::new();
    for SchemeDefault { scheme, value } in &of.values {
        let value = value.as_deref().unwrap_or("unset");
        match values.iter_mut().find(|(other, _)| *other == value) {
            Some((_, schemes)) => schemes.push(scheme),
            None => values.push((value, vec![scheme])),
        }
    }
    let each = values.iter().map(|(value, schemes)| format!("{value}: {}", join_listed(schemes)));
    format!("{} ({})", of.option, each.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differing(option: &str, values: &[(&str, &str)]) -> DifferingDefault {
        let values = values.iter().map(|(scheme, value)| SchemeDefault {
            scheme: (*scheme).to_owned(),
            value: Some((*value).to_owned()),
        });
        DifferingDefault {
            option: option.to_owned(),
            values: values.collect(),
            set: None,
            schemes: Vec::new(),
        }
    }

    #[test]
    fn different_transports_are_named_without_a_remedy() {
        let repair = [("cubic", "of the window transport"), ("sscop", "of sscop")]
            .map(|(a, b)| (a.to_owned(), b.to_owned()));
        let repair = DifferingDefault::of_loss_repair(repair.to_vec());
        let text = differing_defaults_warning(std::slice::from_ref(&repair), Remedy::Command).unwrap();
        assert!(
            text.contains("differ in loss repair (of the window transport: cubic, of sscop: sscop).")
                && text.contains("which no option equalises: where packets are reordered")
                && !text.contains("No value is valid"),
            "{text}"
        );
        let rack = DifferingDefault {
            set: Some("defaults.scheme.rack=true".to_owned()),
            ..differing("rack", &[("cubic", "false"), ("bbr", "true")])
        };
        let text = differing_defaults_warning(&[rack, repair], Remedy::Command).unwrap();
        assert!(text.ends_with("To equalise: --set defaults.scheme.rack=true"), "{text}");
    }

    #[test]
    fn the_warning_names_options_values_and_what_levels_them() {
        assert_eq!(differing_defaults_warning(&[], Remedy::Command), None);
        let rack = DifferingDefault {
            set: Some("defaults.scheme.rack=true".to_owned()),
            ..differing("rack", &[("cubic", "false"), ("bbr", "true"), ("vegas", "false")])
        };
        let named = |scheme: &str, option: &str| DifferingDefault {
            schemes: vec![[scheme.to_owned(), format!("{scheme}:{option}=1")]],
            ..differing(option, &[(scheme, "2"), ("cubic", "1")])
        };
        let all = [rack, named("vegas", "a"), named("vegas", "b")];
        let text = differing_defaults_warning(&all, Remedy::Command).unwrap();
        assert!(
            text.contains("rack (false: cubic and vegas, true: bbr); a (2: vegas, 1: cubic); b"),
            "{text}"
        );
        assert!(
            text.ends_with(
                "To equalise: --set defaults.scheme.rack=true and vegas:a=1,b=1 in place of vegas"
            ),
            "{text}"
        );
        let text = differing_defaults_warning(&all, Remedy::Groups).unwrap();
        assert!(text.contains("the schemes of these groups differ in rack"), "{text}");
        let text = differing_defaults_warning(&all, Remedy::Schemes).unwrap();
        let names = "cubic:rack=true in place of cubic and vegas:rack=true,a=1,b=1 in place of vegas";
        assert!(text.ends_with(&format!("To equalise: {names}")), "{text}");
        let text = differing_defaults_warning(&all[..1], Remedy::SweepFile).unwrap();
        assert!(
            text.ends_with("To equalise: set = [\"defaults.scheme.rack=true\"] in the sweep file"),
            "{text}"
        );
    }
}
