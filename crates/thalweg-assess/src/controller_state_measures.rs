//! Measures of the actions and estimates of a congestion controller by state, for plans that target one kind of
//! controller.

use serde::Deserialize;
use thalweg_proto::units::Duration;
use thalweg_report::results::{Flow, Run, StateVariable, StateVisit};

/// Value of the visits to a state.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StateMeasure {
    /// Name of the state; default: every state.
    #[serde(default)]
    pub state: Option<String>,
    /// Time range: only visits that begin at or after the first of these times and before the second.
    #[serde(default)]
    pub between: Option<[String; 2]>,
    /// Visits that count: all, the first or the last.
    #[serde(default)]
    pub visits: VisitFilter,
    /// Value of a visit: `from_s`, `until_s`, `length_s`, or a known quantity with a point and `first`, `last`,
    /// `min`, `max`, or `change` (last less first): `window_packets.min`. Default: the number of visits.
    #[serde(default)]
    pub value: Option<String>,
    /// Divisor of the value: another value of the visit, or `rate_bps` of the first link.
    #[serde(default)]
    pub over: Option<String>,
    /// States that must follow a visit: the measure is then the share of such visits, in place of a value. The last
    /// visit of a run, truncated by its end, does not count.
    #[serde(default)]
    pub next: Option<Vec<String>>,
    /// Aggregation over several visits; default: the maximum.
    #[serde(default)]
    pub take: Aggregation,
}

/// Visits that count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VisitFilter {
    /// All visits.
    #[default]
    All,
    /// First visit.
    First,
    /// Last visit.
    Last,
}

/// Aggregation of several values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aggregation {
    /// Maximum.
    #[default]
    Max,
    /// Minimum.
    Min,
}

/// Name of the first link's rate, as a divisor.
const LINK_RATE: &str = "rate_bps";

impl StateMeasure {
    /// Checks the measure for consistency.
    pub fn check(&self) -> Result<(), String> {
        if let Some(between) = &self.between {
            let seconds = between.iter().map(|time| time.parse::<Duration>());
            if seconds.into_iter().any(|time| time.is_err()) {
                return Err("`between` needs two times, such as [\"5 s\", \"10 s\"]".to_owned());
            }
        }
        if self.next.is_some() && (self.value.is_some() || self.over.is_some()) {
            return Err("`next` replaces `value`".to_owned());
        }
        let known = |name: &String| {
            matches!(name.as_str(), "from_s" | "until_s" | "length_s") || parse_variable(name).is_some()
        };
        if let Some(wrong) = self.value.iter().find(|name| !known(name)) {
            return Err(format!(
                "`{wrong}` is not a value of a visit; expected `from_s`, `until_s`, `length_s`, or a known value, such as \
                 `window_packets.min`"
            ));
        }
        if let Some(wrong) =
            self.over.iter().find(|name| *name != LINK_RATE && parse_variable(name).is_none())
        {
            return Err(format!(
                "`over` needs `{LINK_RATE}` or a known value, such as `bdp_packets.last`: `{wrong}`"
            ));
        }
        Ok(())
    }

    /// Returns the name of the measure.
    pub fn name(&self) -> String {
        let state = self.state.as_deref().unwrap_or("any state");
        let what = match (&self.next, &self.value, &self.over) {
            (Some(next), ..) => format!("followed by {}", next.join(" or ")),
            (_, Some(value), Some(over)) => format!("{value} divided by {over}"),
            (_, Some(value), None) => value.clone(),
            (_, None, _) => "visits".to_owned(),
        };
        format!("{state}: {what}")
    }

    /// Returns the value in a run; `None` where no visit has one.
    pub fn value(&self, run: &Run, flow: &Flow) -> Option<f64> {
        let visits: Vec<(usize, &StateVisit)> = self.selected_visits(&flow.states);
        if let Some(next) = &self.next {
            let next_visits: Vec<&StateVisit> =
                visits.iter().filter_map(|(place, _)| flow.states.get(place + 1)).collect();
            let followed = next_visits.iter().filter(|visit| next.contains(&visit.state)).count();
            return (!next_visits.is_empty()).then(|| followed as f64 / next_visits.len() as f64);
        }
        let Some(name) = &self.value else { return Some(visits.len() as f64) };
        let values = visits.iter().filter_map(|(_, visit)| {
            let value = visit_value(visit, name)?;
            match self.over.as_deref() {
                None => Some(value),
                Some(LINK_RATE) => {
                    let rate = run.links.first()?.get(thalweg_report::results::Metric::LinkRate)?;
                    Some(value / rate)
                }
                Some(over) => visit_value(visit, over).filter(|over| *over != 0.0).map(|over| value / over),
            }
        });
        match self.take {
            Aggregation::Max => values.reduce(f64::max),
            Aggregation::Min => values.reduce(f64::min),
        }
    }

    fn selected_visits<'v>(&self, visits: &'v [StateVisit]) -> Vec<(usize, &'v StateVisit)> {
        let seconds = |time: &String| time.parse::<Duration>().map_or(0.0, Duration::as_secs_f64);
        let [from, until] = self
            .between
            .as_ref()
            .map_or([0.0, f64::INFINITY], |[from, until]| [seconds(from), seconds(until)]);
        let is_of = |visit: &StateVisit| {
            self.state.as_ref().is_none_or(|state| *state == visit.state)
                && visit.from_s >= from
                && visit.from_s < until
        };
        let mut chosen: Vec<_> = visits.iter().enumerate().filter(|(_, visit)| is_of(visit)).collect();
        match self.visits {
            VisitFilter::All => {}
            VisitFilter::First => chosen.truncate(1),
            VisitFilter::Last => chosen = chosen.split_off(chosen.len().saturating_sub(1)),
        }
        chosen
    }
}

/// Formats a value with its unit, for the state measure with this [name](StateMeasure::name).
pub fn format_value(name: &str, of: f64) -> Option<String> {
    let (_, what) = name.split_once(": ")?;
    let known = what.split('.').next().unwrap_or_default();
    Some(match () {
        () if what.starts_with("followed by ") => format!("{:.1} %", of * 100.0),
        () if what.contains(" divided by ") => format!("{of:.3}"),
        () if known.ends_with("_s") => format!("{of:.3} s"),
        () if known.ends_with("_bps") => format!("{:.2} Mbit/s", of / 1e6),
        () => format!("{of:.1}"),
    })
}

/// Accessor of a state variable.
type VariableAccessor = fn(&StateVariable) -> Option<f64>;

/// Splits a name such as `window_packets.min`.
fn parse_variable(name: &str) -> Option<(&str, VariableAccessor)> {
    let (name, which) = name.split_once('.')?;
    let of: VariableAccessor = match which {
        "first" => |of| of.first,
        "last" => |of| of.last,
        "min" => |of| of.min,
        "max" => |of| of.max,
        "change" => |of| Some(of.last? - of.first?),
        _ => return None,
    };
    Some((name, of))
}

fn visit_value(visit: &StateVisit, name: &str) -> Option<f64> {
    match name {
        "from_s" => Some(visit.from_s),
        "until_s" => Some(visit.until_s),
        "length_s" => Some(visit.until_s - visit.from_s),
        _ => {
            let (name, of) = parse_variable(name)?;
            visit.state_variables.get(name).and_then(of)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use thalweg_report::parallel_batch::{Job, run_single_job};
    use thalweg_scenario::toml_as_json;

    fn parse_measure(text: &str) -> Result<StateMeasure, String> {
        let value = toml_as_json("m", &format!("of = {text}"))?;
        let parsed: StateMeasure =
            serde_json::from_value(value["of"].clone()).map_err(|error| error.to_string())?;
        parsed.check().map(|()| parsed)
    }

    fn visit(state: &str, from_s: f64, until_s: f64, window: [f64; 4]) -> StateVisit {
        let [first, last, min, max] = window.map(Some);
        let known = StateVariable { first, last, min, max };
        let unbounded = StateVariable { first: None, last: None, min: None, max: None };
        let known = [("window_packets", known), ("bound_packets", unbounded)];
        let state_variables: BTreeMap<String, StateVariable> =
            known.map(|(name, of)| (name.to_owned(), of)).into();
        StateVisit { state: state.to_owned(), from_s, until_s, state_variables }
    }

    fn value(text: &str) -> Option<f64> {
        let scenario = "duration = \"1 s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
                        [[flow]]\nfrom = \"a\"\nto = \"b\"\n";
        let loaded = thalweg_scenario::load_text("s", scenario, std::path::Path::new(""), &[]).unwrap();
        let spec = Arc::new(loaded.scenario.spec);
        let mut run =
            run_single_job(&Job { spec, seed: 1, events: None, threads: 1 }, &Arc::default()).unwrap().1;
        run.flows[0].states = vec![
            visit("up", 0.0, 2.0, [4.0, 8.0, 3.0, 9.0]),
            visit("down", 2.0, 3.0, [8.0, 6.0, 6.0, 8.0]),
            visit("up", 3.0, 7.0, [6.0, 7.0, 5.0, 20.0]),
            visit("rest", 7.0, 8.0, [7.0, 7.0, 7.0, 7.0]),
        ];
        parse_measure(text).unwrap().value(&run, &run.flows[0])
    }

    /// Values by hand from the four visits above.
    #[test]
    fn visits_are_chosen_and_measured() {
        assert_eq!(value("{ state = \"up\" }"), Some(2.0));
        assert_eq!(value("{ state = \"up\", value = \"length_s\" }"), Some(4.0));
        assert_eq!(value("{ state = \"up\", value = \"length_s\", take = \"min\" }"), Some(2.0));
        assert_eq!(
            value("{ state = \"up\", visits = \"first\", value = \"window_packets.max\" }"),
            Some(9.0)
        );
        assert_eq!(
            value("{ state = \"up\", visits = \"last\", value = \"window_packets.change\" }"),
            Some(1.0)
        );
        let over = "{ state = \"down\", value = \"window_packets.last\", over = \"window_packets.first\" }";
        assert_eq!(value(over), Some(0.75));
        assert_eq!(
            value("{ state = \"down\", value = \"window_packets.last\", over = \"rate_bps\" }"),
            Some(6e-6)
        );
        assert_eq!(value("{ between = [\"2 s\", \"7 s\"], value = \"from_s\" }"), Some(3.0));
        // Unbounded quantities have no value, and neither have states that were not visited.
        assert_eq!(value("{ value = \"bound_packets.last\" }"), None);
        assert_eq!(value("{ state = \"sideways\", value = \"length_s\" }"), None);
        assert_eq!(value("{ state = \"sideways\" }"), Some(0.0));
    }

    #[test]
    fn successors_are_shares_of_completed_visits() {
        assert_eq!(value("{ state = \"up\", next = [\"down\"] }"), Some(0.5));
        assert_eq!(value("{ state = \"up\", next = [\"down\", \"rest\"] }"), Some(1.0));
        assert_eq!(value("{ state = \"rest\", next = [\"up\"] }"), None, "the end of the run cut it off");
    }

    #[test]
    fn errors_name_the_expected_form() {
        let fault = |text: &str| parse_measure(text).unwrap_err();
        assert!(fault("{ value = \"window\" }").contains("such as `window_packets.min`"));
        assert!(fault("{ value = \"from_s\", over = \"rate\" }").contains("`over` needs `rate_bps`"));
        assert!(fault("{ between = [\"now\", \"1 s\"] }").contains("two times"));
        assert!(fault("{ next = [\"up\"], value = \"from_s\" }").contains("replaces `value`"));
        assert!(fault("{ sate = \"up\" }").contains("unknown field `sate`"));
    }

    #[test]
    fn values_have_units() {
        let formatted =
            |text: &str, value: f64| format_value(&parse_measure(text).unwrap().name(), value).unwrap();
        assert_eq!(formatted("{ state = \"up\", value = \"length_s\" }", 0.25), "0.250 s");
        assert_eq!(formatted("{ state = \"up\", value = \"pacing_bps.last\" }", 5e6), "5.00 Mbit/s");
        assert_eq!(formatted("{ state = \"up\", value = \"a.last\", over = \"b.last\" }", 0.5), "0.500");
        assert_eq!(formatted("{ state = \"up\", next = [\"down\"] }", 0.5), "50.0 %");
        assert_eq!(formatted("{ state = \"up\" }", 2.0), "2.0");
    }
}
