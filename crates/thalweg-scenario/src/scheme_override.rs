//! Scheme overrides for a scenario's flows, and their effect on the flows' options.

use super::diagnostic::Report;
use super::explicit_options::ExplicitOptions;
use super::keys::{Common, SchemeRef};
use super::parsed_tree::{Table, Value, ValueKind};
use super::table_declarations::{Decode as _, Spanned};
use std::collections::BTreeMap;

/// A scheme override for some flows. A scheme of the same base keeps the flow's options. Any scheme keeps the options
/// common to window schemes that it supports. Options of the override take precedence.
#[derive(Clone, Copy, Debug)]
pub struct SchemeOverride<'a> {
    /// The scheme, optionally with options.
    pub scheme: &'a str,
    /// The positions of the flows in the file, from 1.
    pub flows: &'a [usize],
}

impl SchemeOverride<'_> {
    /// Returns the equivalent `--set` changes.
    pub(crate) fn sets(&self) -> Vec<String> {
        self.flows.iter().map(|flow| format!("flow.{flow}.scheme={}", self.scheme)).collect()
    }

    /// Returns the schemes of these flows in the file, by position from 0; `None` for flows without an explicit one.
    pub(crate) fn former(&self, table: &Table) -> BTreeMap<usize, Option<Value>> {
        let flow = |place: usize| match table.get("flow").map(|flows| &flows.kind) {
            Some(ValueKind::Array(flows)) => flows.get(place),
            _ => None,
        };
        let scheme = |place: usize| match flow(place).map(|flow| &flow.kind) {
            Some(ValueKind::Table(flow)) => flow.get("scheme").cloned(),
            _ => None,
        };
        let places = self.flows.iter().filter_map(|flow| flow.checked_sub(1));
        places.map(|place| (place, scheme(place))).collect()
    }
}

/// The replaced schemes, by position of the flow.
pub(crate) type ReplacedSchemes = BTreeMap<usize, Option<Spanned<SchemeRef>>>;

pub(crate) fn decode(former: BTreeMap<usize, Option<Value>>, report: &mut Report) -> ReplacedSchemes {
    let mut read = |value: Value| {
        let scheme = SchemeRef::decode(&value, report)?;
        Some(Spanned { value: scheme, span: value.span })
    };
    former.into_iter().map(|(place, value)| (place, value.and_then(&mut read))).collect()
}

/// The outcome of an option under a scheme override.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OptionOutcome {
    /// Kept: the option still applies.
    Kept,
    /// Overridden: the other scheme sets another value or fixes it.
    Overridden,
    /// Dropped: the other scheme has no such option, or one of another meaning.
    Left,
}

/// An option of a scheme in a file that was replaced by an override.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReplacedOption {
    /// The base of the flow's scheme.
    pub base: &'static str,
    /// The option as files write it: `initial-window = "40 pkt"`.
    pub text: String,
    /// The outcome of the option.
    pub outcome: OptionOutcome,
}

impl ExplicitOptions {
    /// Inherits the applicable options of a `former` scheme and returns the outcome of each.
    pub fn inherit_options(
        &mut self,
        base: &'static str,
        former: &Self,
        is_same: bool,
    ) -> Vec<ReplacedOption> {
        let mut offered = Self::new(former.values.keys());
        for (key, value) in former.values.explicit_values() {
            let same_key = || self.values.keys().find(key.name).is_some_and(|own| own.has_same_meaning(key));
            if is_same || Common::has(key.name) || same_key() {
                offered.values.set_value(key.name, *value);
                offered.spans.extend(former.spans.get(key.name).map(|span| (key.name, *span)));
            }
        }
        let own = self.values.clone();
        self.inherit(&offered);
        let mut outcomes = Vec::new();
        for (key, value) in former.values.explicit_values() {
            let is_offered = offered.values.explicit_value(key.name).is_some();
            let fits = self.values.accepts(key.name, value);
            let outcome = match () {
                () if !is_offered || !fits => OptionOutcome::Left,
                () if own.explicit_value(key.name).is_none()
                    && self.values.explicit_value(key.name).is_some() =>
                {
                    OptionOutcome::Kept
                }
                () => OptionOutcome::Overridden,
            };
            outcomes.push(ReplacedOption {
                base,
                text: format!("{} = {}", key.name, value.to_toml()),
                outcome,
            });
        }
        outcomes
    }
}
