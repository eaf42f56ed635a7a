//! The registry of schemes and disciplines: built-in descriptions and those added by other crates.

use crate::discipline_description::DisciplineDescription;
use crate::disciplines::DISCIPLINES;
use crate::endpoint_configs::EndpointConfigs;
use crate::explicit_values::Values;
use crate::option_keys::{Environment, Keys, check_name};
use crate::option_syntax::{TextError, read_options, split_name};
use crate::scheme_description::SchemeDescription;
use crate::schemes::SCHEMES;
use std::panic::{AssertUnwindSafe, catch_unwind};
use thalweg_queue::{DisciplineSpec, Limit};

/// Descriptions by name. A later addition replaces an earlier one of the same name.
#[derive(Clone, Debug)]
pub struct Registry {
    schemes: Vec<&'static SchemeDescription>,
    disciplines: Vec<&'static DisciplineDescription>,
    has_more: bool,
    stamp: Option<String>,
    plain_numbers: bool,
}

impl Default for Registry {
    fn default() -> Self {
        Self {
            schemes: SCHEMES.to_vec(),
            disciplines: DISCIPLINES.to_vec(),
            has_more: false,
            stamp: None,
            plain_numbers: false,
        }
    }
}

impl Registry {
    /// Appends a scheme and removes any earlier one of the same name, also a built-in one.
    ///
    /// # Panics
    ///
    /// With the name of the scheme and the causes, if the description is [invalid](Keys::faults): a name that command lines
    /// could not contain, two keys of one name, or a default that is not a value of its key. Without these, the first field
    /// whose type does not fit its key panics here too, with the name of the key.
    #[track_caller]
    pub fn add_scheme(&mut self, description: &'static SchemeDescription) {
        let build = || drop(description.conflicts(&description.empty_values(Environment::Simulated)));
        let faults = description_faults(description.name, &description.keys, build);
        if !faults.is_empty() {
            panic!("the scheme `{}` cannot be added: {}", description.name, faults.join("; "));
        }
        self.schemes.retain(|other| other.name != description.name);
        self.schemes.push(description);
        self.has_more = true;
    }

    /// Sets the stamp that distinguishes the added schemes from others of the same name, such as an earlier version of
    /// a controller. Stored results are valid for one stamp only.
    pub fn set_stamp(&mut self, stamp: impl Into<String>) {
        self.stamp = Some(stamp.into());
    }

    /// Makes scenarios accept numbers without a unit, as programs write them: bit/s, seconds and bytes.
    pub const fn accept_unitless_numbers(&mut self) {
        self.plain_numbers = true;
    }

    /// Returns true if scenarios accept numbers without a unit.
    pub const fn accepts_unitless_numbers(&self) -> bool {
        self.plain_numbers
    }

    /// Returns the stamp, if one was set.
    pub fn stamp(&self) -> Option<&str> {
        self.stamp.as_deref()
    }

    /// Returns true if something was added without a stamp, and is thus identified only by the running program.
    pub fn is_unstamped(&self) -> bool {
        self.has_more && self.stamp.is_none()
    }

    /// Returns all schemes, in reference order.
    pub fn schemes(&self) -> &[&'static SchemeDescription] {
        &self.schemes
    }

    /// Returns the scheme named `name`.
    pub fn scheme(&self, name: &str) -> Option<&'static SchemeDescription> {
        self.schemes.iter().find(|description| description.name == name).copied()
    }

    /// Parses a scheme: `cubic`, or `sstp:rate=20Mbit/s,window=12seg`. The returned values are in range and mutually
    /// consistent.
    ///
    /// # Errors
    ///
    /// The mistake in the text.
    pub fn read_scheme(
        &self,
        text: &str,
        place: Environment,
    ) -> Result<(&'static SchemeDescription, Values), TextError> {
        let (name, options) = split_name(text);
        let description = self.scheme(name).ok_or_else(|| TextError::Unknown {
            what: "scheme",
            name: name.to_owned(),
            known: self.schemes.iter().map(|description| description.name).collect(),
        })?;
        let values = read_options(description.name, description.keys, place, options)?;
        match description.conflicts(&values).into_iter().find(|fault| !fault.is_warning) {
            Some(fault) => Err(fault.into()),
            None => Ok((description, values)),
        }
    }

    /// Returns the description and values of simulated endpoint configurations.
    pub fn scheme_of(&self, ends: &EndpointConfigs) -> Option<(&'static SchemeDescription, Values)> {
        self.schemes.iter().find_map(|&description| {
            let mut values = description.empty_values(Environment::Simulated);
            (description.write_values)(ends, &mut values).then_some((description, values))
        })
    }

    /// Appends a discipline and removes any earlier one of the same name, also a built-in one.
    ///
    /// # Panics
    ///
    /// As [`add_scheme`](Self::add_scheme).
    #[track_caller]
    pub fn add_discipline(&mut self, description: &'static DisciplineDescription) {
        let build = || drop(description.default_spec(Limit::Unlimited));
        let faults = description_faults(description.name, &description.keys, build);
        if !faults.is_empty() {
            panic!("the discipline `{}` cannot be added: {}", description.name, faults.join("; "));
        }
        self.disciplines.retain(|other| other.name != description.name);
        self.disciplines.push(description);
        self.has_more = true;
    }

    /// Returns all disciplines, in reference order.
    pub fn disciplines(&self) -> &[&'static DisciplineDescription] {
        &self.disciplines
    }

    /// Returns the discipline named `name`.
    pub fn discipline(&self, name: &str) -> Option<&'static DisciplineDescription> {
        self.disciplines.iter().find(|description| description.name == name).copied()
    }

    /// Parses a discipline: `codel`, or `codel:target=20ms,interval=200ms`.
    ///
    /// # Errors
    ///
    /// The mistake in the text.
    pub fn read_discipline(&self, text: &str, limit: Limit) -> Result<DisciplineSpec, TextError> {
        let (name, options) = split_name(text);
        let description = self.discipline(name).ok_or_else(|| TextError::Unknown {
            what: "discipline",
            name: name.to_owned(),
            known: self.disciplines.iter().map(|description| description.name).collect(),
        })?;
        let values = read_options(description.name, description.keys, Environment::Simulated, options)?;
        Ok(description.make(&values, limit)?)
    }

    /// Returns the description and values of a discipline.
    pub fn discipline_of(&self, spec: &DisciplineSpec) -> Option<(&'static DisciplineDescription, Values)> {
        self.disciplines.iter().find_map(|&description| Some((description, description.values_of(spec)?)))
    }
}

/// Returns the mistakes in the name and the keys of a description, or else the first field that does not fit its key:
/// `build` builds a configuration from the defaults, and stops there. It is not called for a description without keys of its
/// own, or with one that scenarios must set.
fn description_faults(name: &str, keys: &Keys, build: impl FnOnce()) -> Vec<String> {
    let of_name = check_name(name).err().map(str::to_owned);
    let faults: Vec<String> = of_name.into_iter().chain(keys.faults()).collect();
    if !faults.is_empty() || keys.own_keys.is_empty() || keys.flat().any(|key| key.required) {
        return faults;
    }
    let built = catch_unwind(AssertUnwindSafe(build));
    let of_field = built.err().map(|panic| match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(_) => "its configuration cannot be built from the defaults".to_owned(),
    });
    of_field.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::option_keys::{Key, Kind, key};
    use crate::option_values::Range;
    use crate::schemes::window;
    use thalweg_proto::units::Duration;
    use thalweg_queue::CoDelConfig;

    #[test]
    fn additions_without_a_stamp_leave_the_registry_unstamped() {
        let mut registry = Registry::default();
        assert!(!registry.is_unstamped() && registry.stamp().is_none());
        registry.add_discipline(DISCIPLINES[0]);
        assert!(registry.is_unstamped());
        registry.set_stamp("");
        assert!(!registry.is_unstamped() && registry.stamp() == Some(""));
    }

    /// Returns the message of the panic at adding a discipline with these keys.
    fn refusal(name: &'static str, own: &'static [Key]) -> String {
        let description = Box::leak(Box::new(with_keys(own)));
        description.name = name;
        let description = &*description;
        let added = std::panic::catch_unwind(|| Registry::default().add_discipline(description));
        *added.expect_err("it is refused").downcast::<String>().expect("it is a text")
    }

    /// Returns the description of a discipline with one parameter.
    fn with_keys(own: &'static [Key]) -> DisciplineDescription {
        DisciplineDescription::new::<OneTime>("A queue.", Keys::own(own))
    }

    /// A discipline whose only field is bound to a key `target`.
    #[derive(Clone, Debug, PartialEq)]
    struct OneTime {
        target: Duration,
    }

    crate::bind!(OneTime { target: "target" });

    impl thalweg_queue::DisciplineConfig for OneTime {
        type Queue = thalweg_queue::Fcfs;
        const NAME: &'static str = "bound";
        fn make(&self, limit: Limit, _: thalweg_queue::RandomStreams<'_>) -> thalweg_queue::Fcfs {
            thalweg_queue::Fcfs::new(limit)
        }
        fn traits(&self) -> thalweg_queue::Traits {
            thalweg_queue::Traits::RANDOM_EARLY_DETECTION
        }
        fn description(&self) -> String {
            String::new()
        }
    }

    /// Each mistake of a description is found when it is added, with its name and its cause.
    #[test]
    fn mistakes_of_descriptions_are_found_when_they_are_added() {
        const TIME: Key = key("target", Kind::Time, "5 ms", "A time.");
        const LONG_KEYS: &[Key] =
            &[key("target", Kind::Time, "5 s", "A time.").within(Range::between(0.0, 1.0), "")];
        const LIVE: &[Key] = &[TIME.live_default("x", "it differs")];
        for (name, keys, cause) in [
            (
                "out,of:range",
                &[TIME][..],
                "the discipline `out,of:range` cannot be added: a name has only letters",
            ),
            ("", &[TIME], "its name is empty"),
            ("mine", &[Key { name: "my key", ..TIME }], "`my key` is not a name of a key"),
            (
                "mine",
                &[TIME, TIME],
                "the discipline `mine` cannot be added: there are two keys `target`: rename one",
            ),
            ("mine", &[Key { default: "5", ..TIME }], "the default `5` of `target`: "),
            ("mine", LONG_KEYS, "the default `5 s` of `target`: it must lie from 0 s to 1 s"),
            ("mine", LIVE, "the default `x` of `target`: "),
            (
                "mine",
                &[Key { kind: Kind::Count, default: "5", ..TIME }],
                "the discipline `mine` cannot be added: `target` is Count in the description",
            ),
            (
                "mine",
                &[Key { default: "", ..TIME }],
                "`target` has no default, and its field must be an `Option`",
            ),
            ("mine", &[Key { name: "other", ..TIME }], "the description has no key `target`"),
        ] {
            let text = refusal(name, keys);
            assert!(text.contains(cause), "{text}");
        }
        let mut registry = Registry::default();
        registry.add_discipline(Box::leak(Box::new(with_keys(&[TIME]))));
        assert_eq!(registry.discipline("bound").map(|description| description.name), Some("bound"));
    }

    /// A key of a controller with the name of a shared one would never be read.
    #[test]
    fn a_key_named_as_a_shared_one_is_refused() {
        const KEYS: &[Key] = &[key("prr", Kind::Switch, "true", "A switch.")];
        let keys = window::window_keys(KEYS, window::SACK);
        let fault = "there are two keys `prr`, once among the shared keys: rename one";
        assert_eq!(keys.faults(), [fault]);
        let keys = window::window_keys(&[], &[("no-such-key", "1")]);
        assert_eq!(keys.faults(), ["`no-such-key` has a default, but there is no such key"]);
    }

    #[test]
    fn all_mistakes_in_names_and_defaults_are_reported_at_once() {
        const KEYS: &[Key] = &[
            key("my key", Kind::Time, "5", "A time."),
            key("target", Kind::Time, "5 s", "A time.").within(Range::between(0.0, 1.0), ""),
            key("target", Kind::Time, "", "A time."),
        ];
        let text = refusal("out,of:range", KEYS);
        let places = [
            "the discipline `out,of:range` cannot be added: a name has only letters",
            "; `my key` is not a name of a key",
            "; there are two keys `target`",
            "; the default `5` of `my key`: ",
            "; the default `5 s` of `target`: it must lie from 0 s to 1 s",
        ]
        .map(|cause| text.find(cause).unwrap_or_else(|| panic!("{cause}: {text}")));
        assert!(places.is_sorted(), "{text}");
        assert_eq!(text.matches("the default `5` of").count(), 1, "{text}");
    }

    #[test]
    fn built_in_descriptions_pass_the_checks_of_added_ones() {
        let mut registry = Registry::default();
        SCHEMES.iter().for_each(|description| registry.add_scheme(description));
        DISCIPLINES.iter().for_each(|description| registry.add_discipline(description));
        assert_eq!(registry.schemes().len(), SCHEMES.len());
    }

    /// Errors state the remedy, and list `preset` only for schemes with presets.
    #[test]
    fn the_help_of_a_range_is_shown_on_command_lines() {
        let registry = Registry::default();
        let error = registry.read_scheme("cubic:max-window=0.5pkt", Environment::Simulated).unwrap_err();
        assert_eq!(
            error.to_string(),
            "max-window cannot be `0.5pkt`: it must be at least 1 pkt; a window below one packet never sends"
        );
        let error = registry.read_scheme("fixed:typo=1", Environment::Simulated).unwrap_err().to_string();
        assert!(error.contains("`typo` is not an option of fixed") && !error.contains("preset"), "{error}");
        let error = registry.read_scheme("cubic:typo=1", Environment::Simulated).unwrap_err().to_string();
        assert!(error.contains("preset"), "{error}");
    }

    /// Defaults of a description equal those of the code, and the text form is lossless.
    #[test]
    fn every_discipline_round_trips_as_text() {
        let (registry, limit) = (Registry::default(), Limit::Packets(7));
        for description in registry.disciplines() {
            let default = description.default_spec(limit);
            assert_eq!(default.check(), Ok(()), "{}", description.name);
            let (found, values) = registry.discipline_of(&default).unwrap();
            assert_eq!(found.name, description.name);
            let options: Vec<String> =
                values.explicit_values().iter().map(|(key, value)| format!("{}={value}", key.name)).collect();
            let separator = if options.is_empty() { "" } else { ":" };
            let text = format!("{}{separator}{}", description.name, options.join(","));
            assert_eq!(registry.read_discipline(&text, limit), Ok(default), "{text}");
            for key in description.keys.flat() {
                let default = key.kind.read(key.default);
                assert!(key.default.is_empty() || default.is_ok(), "{}: {default:?}", key.name);
                assert!(key.about.ends_with('.'), "{}", key.name);
            }
        }
    }

    #[test]
    fn options_of_disciplines_are_parsed_and_errors_are_reported() {
        let registry = Registry::default();
        let read = |text: &str| registry.read_discipline(text, Limit::Unlimited);
        let codel = read("codel:target=20ms, interval=200 ms").unwrap();
        let expected = CoDelConfig {
            target: Duration::from_millis(20),
            interval: Duration::from_millis(200),
            ..CoDelConfig::default()
        };
        assert_eq!(codel.config(), Some(&expected));
        let error_text = |text: &str| read(text).unwrap_err().to_string();
        assert!(
            error_text("tail")
                .starts_with("there is no discipline `tail`; there are fcfs, random-drop, fq, ")
        );
        assert_eq!(error_text("fcfs:limit=1"), "`limit` is not an option of fcfs, which has none");
        assert_eq!(error_text("codel:interval=0s"), "interval cannot be `0s`: it must be above 0 s");
        assert_eq!(error_text("fq-codel:flows=0"), "flows cannot be `0`: it must lie from 1 to 65536");
        assert_eq!(error_text("pie:alpha=1,alpha=2"), "alpha is given twice");
        assert!(
            error_text("red:min-threshold=5kB")
                .starts_with("the thresholds are in different units: give both")
        );
        assert!(
            error_text("red:min-threshold=50pkt,max-threshold=20pkt")
                .starts_with("`min-threshold` of 50 must be below `max-threshold` of 20: swap the two")
        );
    }
}
