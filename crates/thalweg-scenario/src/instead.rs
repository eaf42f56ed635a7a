//! Another scheme in the place of those that a scenario's flows have, and what becomes of their options.

use super::diagnostic::Report;
use super::given::Given;
use super::keys::{Common, SchemeRef};
use super::table::{At, Decode as _};
use super::tree::{Kind, Table, Value};
use std::collections::BTreeMap;

/// A scheme that some flows have instead of their own. Options that they give in place stay with a scheme of the same base, and those
/// of all window schemes with every scheme that has them; what the scheme itself says comes first.
#[derive(Clone, Copy, Debug)]
pub struct Instead<'a> {
    /// The scheme, perhaps with options.
    pub scheme: &'a str,
    /// The positions of the flows in the file, from 1.
    pub flows: &'a [usize],
}

impl Instead<'_> {
    /// The changes of the scenario that it stands for.
    pub(crate) fn sets(&self) -> Vec<String> {
        self.flows.iter().map(|flow| format!("flow.{flow}.scheme={}", self.scheme)).collect()
    }

    /// The schemes that these flows have, by their places from 0; none where they say none of their own.
    pub(crate) fn former(&self, table: &Table) -> BTreeMap<usize, Option<Value>> {
        let flow = |place: usize| match table.get("flow").map(|flows| &flows.kind) {
            Some(Kind::Array(flows)) => flows.get(place),
            _ => None,
        };
        let scheme = |place: usize| match flow(place).map(|flow| &flow.kind) {
            Some(Kind::Table(flow)) => flow.get("scheme").cloned(),
            _ => None,
        };
        let places = self.flows.iter().filter_map(|flow| flow.checked_sub(1));
        places.map(|place| (place, scheme(place))).collect()
    }
}

/// The schemes of flows that were replaced, by the places of the flows.
pub(crate) type Replaced = BTreeMap<usize, Option<At<SchemeRef>>>;

pub(crate) fn decode(former: BTreeMap<usize, Option<Value>>, report: &mut Report) -> Replaced {
    let mut read = |value: Value| {
        let scheme = SchemeRef::decode(&value, report)?;
        Some(At { value: scheme, span: value.span })
    };
    former.into_iter().map(|(place, value)| (place, value.and_then(&mut read))).collect()
}

/// The fate of an option under another scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It holds.
    Kept,
    /// The other scheme says something else, or has it as it is.
    Overruled,
    /// The other scheme has no such option, or one of another meaning.
    Left,
}

/// An option that a flow's scheme has in a file where another scheme is put in its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FormerOption {
    /// The base of the flow's scheme.
    pub base: &'static str,
    /// The option as files write it: `initial-window = "40 pkt"`.
    pub text: String,
    /// The fate that it has.
    pub fate: Fate,
}

impl Given {
    /// Takes over what holds of the options of a `former` scheme; tells what becomes of each.
    pub fn take_over(&mut self, base: &'static str, former: &Self, is_same: bool) -> Vec<FormerOption> {
        let mut offered = Self::new(former.values.keys());
        for (key, value) in former.values.said() {
            let same_key = || self.values.keys().find(key.name).is_some_and(|own| own.means_alike(key));
            if is_same || Common::has(key.name) || same_key() {
                offered.values.say(key.name, *value);
                offered.spans.extend(former.spans.get(key.name).map(|span| (key.name, *span)));
            }
        }
        let own = self.values.clone();
        self.inherit(&offered);
        let mut fates = Vec::new();
        for (key, value) in former.values.said() {
            let is_offered = offered.values.said_for(key.name).is_some();
            let fate = match () {
                () if !is_offered || self.values.keys().find(key.name).is_none() => Fate::Left,
                () if own.said_for(key.name).is_none() && self.values.said_for(key.name).is_some() => {
                    Fate::Kept
                }
                () => Fate::Overruled,
            };
            fates.push(FormerOption { base, text: format!("{} = {}", key.name, value.to_toml()), fate });
        }
        fates
    }
}
