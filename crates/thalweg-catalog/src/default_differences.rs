//! Options shared by several schemes with different defaults.
//!
//! With such differences, a comparison of two schemes also compares options of their transports.
//! [`default_differences`] finds differences caused by unset options, and the value that removes each.

use crate::default_reasons::{DefaultRelation, Reason};
use crate::explicit_values::Values;
use crate::option_keys::{Environment, Key, LiveDifference, PRESET};
use crate::option_values::Value;
use crate::scheme_description::SchemeDescription;
use crate::schemes::{window, window_presets};

/// A scheme in a comparison.
#[derive(Clone, Copy, Debug)]
pub struct ComparedScheme<'a> {
    /// The scheme's name in outputs, possibly with options.
    pub name: &'a str,
    /// The description.
    pub description: &'static SchemeDescription,
    /// The values set by the scenario, and the defaults for all others.
    pub values: &'a Values,
    /// True if the application pauses or sends parts of segments, such as requests and responses.
    pub pauses: bool,
    /// True if the path reorders packets.
    pub reorders: bool,
}

impl<'a> ComparedScheme<'a> {
    /// Returns a scheme whose application sends all the time, on a path that keeps the order of packets.
    pub fn new(name: &'a str, description: &'static SchemeDescription, values: &'a Values) -> Self {
        Self { name, description, values, pauses: false, reorders: false }
    }
}

/// An option with different values under several schemes, because their defaults differ.
#[derive(Clone, Debug, PartialEq)]
pub struct DefaultDifference {
    /// The option.
    pub option: &'static str,
    /// The schemes that use their default, each with that value; schemes with another meaning of the option are
    /// omitted. If only some schemes have a preset, the values of presets are included.
    pub values: Vec<(String, Option<Value>)>,
    /// A value that all of them accept; `None` if there is none, or if a preset for all removes the difference.
    pub level: Option<Value>,
}

impl DefaultDifference {
    /// Returns true if all window schemes have the option, and a scenario can set it for all at once.
    pub fn is_common(&self) -> bool {
        window::window_keys(&[], &[]).find(self.option).is_some()
    }
}

/// Returns the unset options shared by these schemes whose defaults differ, except those inherent to a scheme. Of the
/// latter, those that others can share and that change the results of applications with pauses are included where one
/// pauses. A scheme that refuses the default of a switch counts as one with the other value: DCTCP always uses ECN.
///
/// A preset sets many options. If only some schemes have one, it comes first, followed by the options that differ without
/// it, and those that differ in any case.
pub fn default_differences(schemes: &[ComparedScheme<'_>]) -> Vec<DefaultDifference> {
    if schemes.len() < 2 {
        return Vec::new();
    }
    let Some((preset, level, takers)) = preset_difference(schemes) else {
        return option_differences(schemes);
    };
    let mut values: Vec<Values> = schemes.iter().map(|of| of.values.clone()).collect();
    takers.iter().for_each(|&number| values[number].set_value(PRESET, level));
    let with: Vec<ComparedScheme<'_>> =
        schemes.iter().zip(&values).map(|(of, values)| ComparedScheme { values, ..*of }).collect();
    let remaining = option_differences(&with);
    let mut removed = option_differences(schemes);
    removed.retain(|of| remaining.iter().all(|other| other.option != of.option));
    removed.iter_mut().for_each(|of| of.level = None);
    [vec![preset], removed, remaining].concat()
}

/// Returns the preset of some schemes that others lack and accept, its value, and the numbers of the latter.
fn preset_difference(schemes: &[ComparedScheme<'_>]) -> Option<(DefaultDifference, Value, Vec<usize>)> {
    let preset = |of: &ComparedScheme<'_>| of.values.explicit_value(PRESET);
    let takers = |level: Value| -> Vec<usize> {
        let takes = |of: &ComparedScheme<'_>| {
            let key = of.description.keys.find(PRESET).filter(|_| preset(of).is_none());
            key.is_some_and(|key| accepts_value(of.description, of.values, key, level))
        };
        (0..schemes.len()).filter(|&number| takes(&schemes[number])).collect()
    };
    let mut candidates = schemes.iter().filter_map(preset).map(|level| (level, takers(level)));
    let (level, takers) = candidates.find(|(_, takers)| !takers.is_empty())?;
    let of_level = schemes.iter().enumerate();
    let of_level = of_level.filter(|(number, of)| preset(of) == Some(level) || takers.contains(number));
    let values = of_level.map(|(_, of)| (of.name.to_owned(), preset(of))).collect();
    Some((DefaultDifference { option: PRESET, values, level: Some(level) }, level, takers))
}

/// Returns the unset options whose defaults differ. Values of presets count as set if all schemes that could have a
/// preset have one.
fn option_differences(schemes: &[ComparedScheme<'_>]) -> Vec<DefaultDifference> {
    let pauses = schemes.iter().any(|of| of.pauses);
    let has_preset = |of: &ComparedScheme<'_>| of.values.explicit_value(PRESET).is_some();
    let in_family = || schemes.iter().filter(|of| of.description.keys.find(PRESET).is_some());
    let are_presets_chosen = in_family().all(has_preset);
    let mut seen: Vec<&Key> = Vec::new();
    let mut levelled: Vec<Values> = schemes.iter().map(|of| of.values.clone()).collect();
    let mut found = Vec::new();
    for key in schemes.iter().flat_map(|of| of.description.keys.flat()) {
        if seen.iter().any(|other| other.name == key.name && other.has_same_meaning(key)) {
            continue;
        }
        seen.push(key);
        let in_use: Vec<Option<ValueInUse>> = schemes.iter().map(|of| ValueInUse::find(of, key)).collect();
        let explicit = |number: usize| schemes[number].values.explicit_value(key.name);
        // A value for all schemes that one of them refuses leaves the others with a difference that they did not choose.
        let is_refused = in_use.iter().enumerate().any(|(number, used)| {
            used.as_ref().is_some_and(|used| explicit(number).is_some_and(|set| used.value != Some(set)))
        });
        let is_set = |number: usize| {
            !is_refused && explicit(number).is_some()
                || are_presets_chosen && schemes[number].values.preset_value(key.name).is_some()
        };
        let is_comparable = |number: usize| {
            let reason = Reason::find(schemes[number].description, key.name);
            let is_inherent = reason.is_some_and(|reason| reason.bond.is_inherent(pauses));
            in_use[number].as_ref().is_some_and(|used| used.is_accepted) && !is_inherent
        };
        let mut at_default: Vec<usize> =
            (0..schemes.len()).filter(|&number| !is_set(number) && is_comparable(number)).collect();
        let value = |number: &usize| in_use[*number].as_ref()?.value;
        let is_same = |of: &[usize]| of.iter().all(|number| value(number) == of.first().and_then(value));
        if is_same(&at_default) {
            continue;
        }
        let is_inherent = |of: &ComparedScheme<'_>| {
            Reason::find(of.description, key.name).is_some_and(|reason| reason.bond != DefaultRelation::Loose)
        };
        // An inherent value has no alternative.
        let inherent = at_default.iter().filter(|&&number| is_inherent(&schemes[number])).filter_map(value);
        let mut candidates: Vec<Value> = inherent.chain(of_hosts(key)).chain(of_live(key)).collect();
        candidates.extend(at_default.iter().filter_map(value));
        let accepts = |number: usize, level: Value| {
            accepts_value(schemes[number].description, &levelled[number], key, level)
        };
        let mut level =
            candidates.iter().copied().find(|level| at_default.iter().all(|&number| accepts(number, *level)));
        if level.is_none()
            && at_default.iter().any(|&number| in_use[number].as_ref().is_some_and(|used| used.is_bound))
        {
            // No value suits schemes that are bound to different ones: those remain that differ and have a value in common.
            let takers = |level: Value| -> Vec<usize> {
                at_default.iter().copied().filter(|&number| accepts(number, level)).collect()
            };
            let mut found = candidates.iter().map(|level| (*level, takers(*level)));
            let Some((common, takers)) = found.find(|(_, takers)| !is_same(takers)) else { continue };
            (level, at_default) = (Some(common), takers);
        }
        for &number in &at_default {
            level.into_iter().for_each(|level| levelled[number].set_value(key.name, level));
        }
        let values = at_default.iter().map(|number| (schemes[*number].name.to_owned(), value(number)));
        found.push(DefaultDifference { option: key.name, values: values.collect(), level });
    }
    found
}

/// An option's value in use.
struct ValueInUse {
    /// The explicit value, that of a preset or the default, or the other one of a switch whose value the scheme refuses.
    value: Option<Value>,
    /// False if the scheme refuses the value, and of a switch the other one too.
    is_accepted: bool,
    /// True for a switch that the scheme does not accept with both values.
    is_bound: bool,
}

impl ValueInUse {
    /// Returns the value of a scheme that has an option of this meaning where it runs.
    fn find(of: &ComparedScheme<'_>, key: &Key) -> Option<Self> {
        let is_there = |own: &&Key| match of.values.environment() {
            Environment::Simulated => own.is_simulated(),
            Environment::Live => own.is_live(),
        };
        of.description.keys.find(key.name).filter(|own| is_there(own) && own.has_same_meaning(key))?;
        let accepts = |value| accepts_value(of.description, of.values, key, value);
        Some(match of.values.get(key.name) {
            Some(Value::Switch(on)) => {
                let [as_is, reversed] = [on, !on].map(|on| accepts(Value::Switch(on)));
                Self {
                    value: Some(Value::Switch(if as_is || !reversed { on } else { !on })),
                    is_accepted: as_is || reversed,
                    is_bound: !(as_is && reversed),
                }
            }
            value => Self { value, is_accepted: value.is_none_or(accepts), is_bound: false },
        })
    }
}

/// Returns the loss repair of each scheme on a path that reorders packets, where it differs and no option equalises it:
/// the schemes have different transports. Reordered packets look like lost ones to some transports and not to others.
pub fn repair_differences(schemes: &[ComparedScheme<'_>]) -> Vec<(String, String)> {
    let transport = |of: &ComparedScheme<'_>| match of.description.traits {
        traits if !traits.is_reliable => "none".to_owned(),
        traits if traits.is_window() => "of the window transport".to_owned(),
        traits => format!("of {}", traits.transport),
    };
    let repair = |of: &ComparedScheme<'_>| {
        let options = ["recovery", "rack"].iter().filter_map(|option| {
            let value = of.values.get(option).filter(|_| of.description.traits.is_window())?;
            Some(format!("{option}={value}"))
        });
        let options: Vec<String> = options.collect();
        let behind = if options.is_empty() { String::new() } else { format!(" with {}", options.join(" ")) };
        (of.name.to_owned(), transport(of) + &behind)
    };
    let first = schemes.first().map(transport);
    let differ =
        schemes.iter().any(|of| of.reorders) && schemes.iter().any(|of| Some(transport(of)) != first);
    if differ { schemes.iter().map(repair).collect() } else { Vec::new() }
}

/// Returns the options with other values in simulations than on real paths, each with both, for a scheme with these
/// values. Options that one of both does not have, or that are not settled for the path yet, are omitted.
pub fn environment_differences(
    description: &SchemeDescription,
    simulated: &Values,
    live: &Values,
) -> Vec<(&'static str, [Option<Value>; 2])> {
    let is_refused = |values: &Values, key: &Key| {
        values.get(key.name).is_some_and(|value| !accepts_value(description, values, key, value))
    };
    let is_comparable = |key: &&Key| {
        let from_path =
            matches!(key.live, LiveDifference::Path(_)) && live.explicit_value(key.name).is_none();
        let is_unused = is_refused(simulated, key) && is_refused(live, key);
        key.is_simulated() && key.is_live() && !from_path && !is_unused
    };
    let keys = description.keys.flat().filter(is_comparable);
    let both = keys.map(|key| (key.name, [simulated.get(key.name), live.get(key.name)]));
    both.filter(|(_, [simulated, live])| simulated != live).collect()
}

/// Returns true if a scheme with these values also accepts this one in place of that of the key.
fn accepts_value(description: &SchemeDescription, values: &Values, key: &Key, value: Value) -> bool {
    let (mut with, mut without) = (values.clone(), values.clone());
    with.set_value(key.name, value);
    without.clear_value(key.name);
    let before = description.conflicts(&without);
    values.accepts(key.name, &value)
        && key.check(&value, values.environment()).is_ok()
        && description.conflicts(&with).iter().all(|fault| before.contains(fault))
}

/// Returns the default of real hosts, if Linux and the standards track agree on it.
fn of_hosts(key: &Key) -> Option<Value> {
    let (_, text) = window_presets::LINUX_AND_STANDARDS.iter().find(|(name, _)| *name == key.name)?;
    key.kind.read(text).ok()
}

/// Returns the default on real paths.
fn of_live(key: &Key) -> Option<Value> {
    match key.live {
        LiveDifference::Default { value, .. } => key.kind.read(value).ok(),
        LiveDifference::Same
        | LiveDifference::Path(_)
        | LiveDifference::Absent(_)
        | LiveDifference::Only(_) => None,
    }
}

impl Key {
    /// Returns true if the keys of two schemes have the same meaning, regardless of kinds, defaults and sources.
    /// [`Values::accepts`] compares kinds.
    pub fn has_same_meaning(&self, other: &Self) -> bool {
        let meaning = |key: &Self| key.about.split(['.', '(']).next().unwrap_or_default().trim();
        meaning(self) == meaning(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PathHints, Registry, SCHEMES};

    /// Returns the differences of schemes in text form, such as `cubic:rack=true`.
    fn between(texts: &[&str]) -> Vec<DefaultDifference> {
        between_with(texts, false)
    }

    /// Returns the differences of schemes of applications with or without pauses.
    fn between_with(texts: &[&str], pauses: bool) -> Vec<DefaultDifference> {
        let read = |text: &&str| Registry::default().read_scheme(text, Environment::Simulated).unwrap();
        let read: Vec<(&SchemeDescription, Values)> = texts.iter().map(read).collect();
        let schemes = texts.iter().zip(&read);
        let schemes: Vec<ComparedScheme<'_>> = schemes
            .map(|(name, (description, values))| ComparedScheme {
                pauses,
                ..ComparedScheme::new(name, description, values)
            })
            .collect();
        default_differences(&schemes)
    }

    fn names(texts: &[&str]) -> Vec<&'static str> {
        between(texts).iter().map(|of| of.option).collect()
    }

    #[test]
    fn differing_loss_repair_defaults_are_found_with_the_levelling_option() {
        let found = between(&["cubic", "bbr"]);
        let rack = |on| Some(Value::Switch(on));
        let values = vec![("cubic".to_owned(), rack(false)), ("bbr".to_owned(), rack(true))];
        assert_eq!(found, [DefaultDifference { option: "rack", values, level: rack(true) }]);
        assert!(found[0].is_common());
        assert_eq!(names(&["cubic", "newreno"]), [""; 0]);
        assert_eq!(names(&["bbr", "copa"]), [""; 0]);
    }

    /// Returns the schemes of an option with each value, and the level.
    fn ecn_of(texts: &[&str]) -> Option<(String, Option<Value>)> {
        let of = between(texts).into_iter().find(|of| of.option == "ecn")?;
        let each = of.values.iter().map(|(name, value)| format!("{name} {}", value.unwrap()));
        Some((each.collect::<Vec<_>>().join(", "), of.level))
    }

    /// A queue marks packets of DCTCP and Prague in any case, and those of others if they have `ecn`.
    #[test]
    fn schemes_that_always_use_ecn_count_as_ecn_capable() {
        let on = Some(Value::Switch(true));
        let found = |text: &str| Some((text.to_owned(), on));
        assert_eq!(ecn_of(&["cubic", "dctcp"]), found("cubic false, dctcp true"));
        assert_eq!(ecn_of(&["prague", "bbr"]), found("prague true, bbr false"));
        assert_eq!(ecn_of(&["cubic", "dctcp", "thalweg"]), found("cubic false, dctcp true, thalweg true"));
        assert_eq!(ecn_of(&["cubic:ecn=true", "dctcp"]), None);
        assert_eq!(ecn_of(&["cubic:ecn=false", "dctcp"]), None, "on purpose");
        assert_eq!(ecn_of(&["dctcp", "thalweg"]), None);
        assert_eq!(ecn_of(&["dctcp", "prague"]), None);
        // Queues never mark packets of Copa.
        assert_eq!(ecn_of(&["copa", "dctcp"]), None);
        assert_eq!(ecn_of(&["copa", "cubic", "dctcp"]), found("cubic false, dctcp true"));
        let off = Some(("copa false, thalweg true".to_owned(), Some(Value::Switch(false))));
        assert_eq!(ecn_of(&["copa", "thalweg", "dctcp"]), off);
    }

    /// A preset sets many options, which differ from the defaults of a scheme without it.
    #[test]
    fn a_preset_of_some_schemes_comes_first_with_the_options_that_it_sets() {
        let found = between(&["cubic:preset=linux", "newreno"]);
        let linux = Some(Value::Word("linux"));
        let values = vec![("cubic:preset=linux".to_owned(), linux), ("newreno".to_owned(), None)];
        assert_eq!(found[0], DefaultDifference { option: PRESET, values, level: linux });
        assert!(found[0].is_common());
        let rack = found.iter().find(|of| of.option == "rack").unwrap();
        assert_eq!(
            (rack.values[0].1, rack.level),
            (Some(Value::Switch(true)), None),
            "the preset equalises it"
        );
        assert_eq!(names(&["cubic:preset=linux", "newreno:preset=linux"]), [""; 0]);
        // BBR has time-based loss detection by default, and other options of the preset not.
        let found = names(&["cubic:preset=linux", "bbr"]);
        assert!(
            found.starts_with(&[PRESET]) && found.contains(&"nagle") && !found.contains(&"rack"),
            "{found:?}"
        );
        // Options outside the preset keep their own remedy.
        let found = between(&["cubic", "dctcp:preset=linux"]);
        assert_eq!(found[0].option, PRESET);
        // Copa has no presets, so each option has its own remedy.
        let found = between(&["cubic:preset=linux", "copa"]);
        assert!(found.iter().all(|of| of.option != PRESET));
        let nagle = found.iter().find(|of| of.option == "nagle").unwrap();
        assert_eq!(nagle.level, Some(Value::Switch(true)));
        let found = names(&["cubic:preset=linux", "newreno", "copa"]);
        assert!(found.starts_with(&[PRESET]) && found.contains(&"nagle"), "{found:?}");
    }

    /// SSCOP repairs by its own messages; both window schemes have one transport.
    #[test]
    fn transports_with_other_loss_repair_are_found_where_paths_reorder() {
        let repairs = |texts: &[&str], reorders| {
            let read = |text: &&str| Registry::default().read_scheme(text, Environment::Simulated).unwrap();
            let read: Vec<(&SchemeDescription, Values)> = texts.iter().map(read).collect();
            let schemes = texts.iter().zip(&read);
            let schemes: Vec<ComparedScheme<'_>> = schemes
                .map(|(name, (description, values))| ComparedScheme {
                    reorders,
                    ..ComparedScheme::new(name, description, values)
                })
                .collect();
            repair_differences(&schemes)
        };
        let window = "of the window transport with recovery=sack rack=false";
        let expected = [("cubic", window), ("sscop", "of sscop"), ("udp", "none")];
        let expected = expected.map(|(scheme, repair)| (scheme.to_owned(), repair.to_owned()));
        assert_eq!(repairs(&["cubic", "sscop", "udp"], true), expected);
        assert_eq!(repairs(&["cubic", "sscop"], false), []);
        assert_eq!(repairs(&["cubic", "tri-s", "bbr"], true), []);
        assert_eq!(repairs(&["sscop", "sscop-rate"], true), []);
    }

    /// CUBIC restarts after an idle time; BBR has no window to restart.
    #[test]
    fn inherent_values_that_others_can_share_are_found_where_the_application_pauses() {
        let found = |texts: &[&str]| -> Vec<(&str, String)> {
            let found = between_with(texts, true).into_iter();
            found.map(|of| (of.option, of.level.unwrap().to_string())).collect()
        };
        let level = |option, value: &str| (option, value.to_owned());
        let expected = [level("counting", "bytes"), level("rack", "true"), level("idle-restart", "false")];
        assert_eq!(found(&["cubic", "bbr"]), expected);
        assert_eq!(found(&["bbr", "cubic"]), expected);
        assert_eq!(found(&["cubic:rack=true,idle-restart=false,counting=bytes", "bbr"]), []);
        assert_eq!(found(&["cubic", "newreno"]), []);
        assert_eq!(found(&["bbr", "thalweg"]), [level("ecn", "true")]);
    }

    /// LiveDifference, all window schemes have RACK; of the simulated and the live CUBIC only the latter has it.
    #[test]
    fn defaults_of_real_paths_are_compared_with_each_other_and_with_simulated_ones() {
        let read = |name, place| Registry::default().read_scheme(name, place).unwrap();
        let live = ["cubic", "bbr"].map(|name| (name, read(name, Environment::Live)));
        let live: Vec<ComparedScheme<'_>> = live
            .iter()
            .map(|(name, (description, values))| ComparedScheme::new(name, description, values))
            .collect();
        assert!(default_differences(&live).iter().all(|of| of.option != "rack"));
        let between = |text| {
            let [(description, simulated), (_, mut live)] =
                [Environment::Simulated, Environment::Live].map(|place| read(text, place));
            (description.apply_path_hints)(&mut live, &PathHints::default());
            environment_differences(description, &simulated, &live)
        };
        let rack = ("rack", [false, true].map(|on| Some(Value::Switch(on))));
        assert!(between("cubic").contains(&rack), "{:?}", between("cubic"));
        assert!(!between("cubic:rack=true").iter().any(|(option, _)| *option == "rack"));
    }

    #[test]
    fn explicit_options_are_not_default_differences() {
        assert_eq!(names(&["cubic:rack=true", "bbr"]), [""; 0]);
        assert_eq!(names(&["cubic", "cubic:rack=true"]), [""; 0]);
        assert_eq!(names(&["cubic:preset=linux", "bbr:preset=linux"]), [""; 0]);
        // The explicit option excludes its scheme; the two others still differ.
        let found = between(&["cubic:rack=true", "newreno", "bbr"]);
        assert_eq!(
            found[0].values.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            ["newreno", "bbr"]
        );
    }

    #[test]
    fn a_value_invalid_for_one_scheme_is_not_proposed() {
        // Queues never mark packets of Copa.
        let found = between(&["copa", "thalweg"]);
        let ecn = found.iter().find(|of| of.option == "ecn").unwrap();
        assert_eq!(ecn.level, Some(Value::Switch(false)));
        // Time-based loss detection requires selective acknowledgement, so `recovery` comes first.
        let found = between(&["tri-s", "bbr"]);
        let levels: Vec<_> =
            found.iter().map(|of| (of.option, of.level.map(|level| level.to_string()))).collect();
        let yes = |text: &str| Some(text.to_owned());
        assert_eq!(levels, [("recovery", yes("sack")), ("rack", yes("true"))]);
    }

    #[test]
    fn every_difference_between_two_schemes_can_be_levelled() {
        for one in SCHEMES {
            for other in SCHEMES {
                let found = between_with(&[one.name, other.name], true);
                let text = |name: &str| {
                    let options = found.iter().map(|of| {
                        let level = of.level.unwrap_or_else(|| panic!("{} {}: {of:?}", one.name, other.name));
                        format!("{}={}", of.option, level.to_string().replace(' ', ""))
                    });
                    let options: Vec<String> = options.collect();
                    let colon = if options.is_empty() { "" } else { ":" };
                    format!("{name}{colon}{}", options.join(","))
                };
                assert_eq!(between_with(&[&text(one.name), &text(other.name)], true), [], "{found:?}");
            }
        }
    }

    /// A value for all schemes that one refuses leaves a difference between the others and that one.
    #[test]
    fn a_refused_value_for_all_schemes_is_a_difference() {
        for (option, refusing) in [("idle-restart", "bbr"), ("ecn", "copa")] {
            let read = |name: &'static str| {
                let (description, mut values) =
                    Registry::default().read_scheme(name, Environment::Simulated).unwrap();
                values.set_value(option, Value::Switch(true));
                (name, description, values)
            };
            let read = [read("cubic"), read("newreno"), read(refusing)];
            let schemes: Vec<ComparedScheme<'_>> = read
                .iter()
                .map(|(name, description, values)| ComparedScheme {
                    pauses: true,
                    ..ComparedScheme::new(name, description, values)
                })
                .collect();
            let found = default_differences(&schemes);
            let of =
                found.iter().find(|of| of.option == option).unwrap_or_else(|| panic!("{option}: {found:?}"));
            let named = |name: &str, on| (name.to_owned(), Some(Value::Switch(on)));
            assert_eq!(of.values, [named("cubic", true), named("newreno", true), named(refusing, false)]);
            assert_eq!(of.level, Some(Value::Switch(false)));
            assert!(default_differences(&schemes[..2]).iter().all(|of| of.option != option));
        }
    }
}
