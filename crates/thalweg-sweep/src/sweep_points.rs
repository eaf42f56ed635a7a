//! The points of a sweep, and the factors that differ between them.

use core::ops::Range;
use std::collections::BTreeMap;
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Bytes, Duration, Rate};
use thalweg_scenario::{DrawnPoints, PlacedText, SweepFile, Values, Varied};

/// Maximum number of points of a sweep.
const MAX_POINTS: usize = 1_000_000;

/// Name of the scheme factor.
pub const SCHEME: &str = "scheme";

/// Factor: a key whose value differs between points.
#[derive(Clone, Debug)]
pub struct Factor {
    /// Key as in `--set`, and its position in the file; `scheme` for schemes.
    pub key: PlacedText,
    /// Origin of the values.
    pub kind: FactorKind,
    /// Values over the points.
    pub levels: Vec<Level>,
}

/// Kind of a factor, by the origin of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactorKind {
    /// Scheme of the flows.
    Scheme,
    /// Key with all values of a list.
    Listed,
    /// Key with values drawn at random from a list.
    DrawnFromList {
        /// Number of draws.
        draws: u32,
    },
    /// Key with values drawn at random from a range.
    DrawnFromRange {
        /// Number of draws.
        draws: u32,
    },
}

/// A value of a factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// The value in TOML, or the name of the scheme.
    pub toml: String,
    /// Source position in the file.
    pub place: Range<usize>,
    /// True if the value appears verbatim at that position.
    pub is_literal: bool,
}

impl Level {
    /// Returns the value without quotes.
    pub fn unquoted(&self) -> &str {
        let inner = self.toml.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        inner.filter(|text| !text.contains(['"', '\\'])).unwrap_or(&self.toml)
    }
}

impl Factor {
    /// Returns true for the scheme of the flows.
    pub fn is_scheme(&self) -> bool {
        self.kind == FactorKind::Scheme
    }

    /// Returns true if the values are drawn from a range.
    pub fn is_drawn_from_range(&self) -> bool {
        matches!(self.kind, FactorKind::DrawnFromRange { .. })
    }

    /// Returns the number of draws of the values; `None` if they are not random.
    pub fn draws(&self) -> Option<u32> {
        match self.kind {
            FactorKind::Scheme | FactorKind::Listed => None,
            FactorKind::DrawnFromList { draws } | FactorKind::DrawnFromRange { draws } => Some(draws),
        }
    }

    /// Returns the values as numbers, with the name suffix for their unit; none if their types differ.
    pub fn numbers(&self) -> Option<(Vec<f64>, &'static str)> {
        if self.is_scheme() {
            return None;
        }
        type ReadNumber = fn(&str) -> Option<f64>;
        let kinds: [(ReadNumber, &str); 5] = [
            (|text| text.parse().ok().filter(|number: &f64| number.is_finite()), ""),
            (|text| text.parse::<Duration>().ok().map(Duration::as_secs_f64), "_s"),
            (|text| text.parse::<Rate>().ok().map(Rate::as_f64), "_bps"),
            (|text| text.parse::<Bytes>().ok().map(|bytes| bytes.get() as f64), "_bytes"),
            (
                |text| text.strip_suffix('%')?.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
                "_share",
            ),
        ];
        kinds.into_iter().find_map(|(read, unit)| {
            let numbers: Option<Vec<f64>> = self.levels.iter().map(|level| read(level.unquoted())).collect();
            Some((numbers?, unit))
        })
    }

    /// Returns the kind of values that tables have as plain numbers, without a unit: `integer` or `number`; none for others.
    pub fn plain_numbers(&self) -> Option<&'static str> {
        let (_, unit) = self.numbers()?;
        let kind = if self.counts().is_some() { "integer" } else { "number" };
        unit.is_empty().then_some(kind)
    }

    /// Returns the values as integers without a sign; none if some are others.
    pub fn counts(&self) -> Option<Vec<u64>> {
        self.levels.iter().map(|level| level.unquoted().parse().ok()).collect()
    }
}

/// Level index of each factor.
pub type Point = Vec<u32>;

/// One of the shards of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardState {
    /// Number, from 1.
    pub number: u32,
    /// Number of all shards.
    pub count: u32,
    /// True if each of its points has all of its runs, or failed.
    pub complete: bool,
}

impl ShardState {
    /// Returns the state of a shard, by its index and the number of all; `None` for the whole sweep.
    pub fn of((index, count): (u32, u32), complete: bool) -> Option<Self> {
        (count > 1).then_some(Self { number: index + 1, count, complete })
    }

    /// Returns a line that names the call that joins the shards; `None` before this one is complete.
    pub fn completion(self) -> Option<String> {
        let Self { number, count, complete } = self;
        complete.then(|| {
            format!("Shard {number} of {count} is complete; the same call without a shard joins all and makes the tables\n")
        })
    }
}

/// All points of a sweep.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Factors in file order, the scheme last.
    pub factors: Vec<Factor>,
    /// Points. In a grid, the later of two factors varies faster.
    pub points: Vec<Point>,
}

/// Error: too many points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanError;

impl core::fmt::Display for PlanError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "there are more than {MAX_POINTS} points: vary less, or draw them at random")
    }
}

impl core::error::Error for PlanError {}

impl Plan {
    /// Returns the names of the factors whose values make no difference: points that differ in one of them alone have the
    /// same first run in `first_runs`, by its name.
    pub fn factors_without_effect(&self, first_runs: &[Option<&str>]) -> Vec<&str> {
        let has_no_effect = |number: usize| {
            let mut known: BTreeMap<Vec<u32>, &str> = BTreeMap::new();
            let mut is_compared = false;
            for (levels, run) in self.points.iter().zip(first_runs) {
                let Some(run) = run else { continue };
                let mut others = levels.clone();
                others.remove(number);
                match known.insert(others, run) {
                    Some(other) if other != *run => return false,
                    other => is_compared |= other.is_some(),
                }
            }
            is_compared
        };
        let numbers = (0..self.factors.len()).filter(|&number| has_no_effect(number));
        numbers.map(|number| self.factors[number].key.text.as_str()).collect()
    }

    /// Returns the points of a file: every combination of its parts.
    ///
    /// # Errors
    ///
    /// The file has too many points.
    pub fn from_file(file: &SweepFile) -> Result<Self, PlanError> {
        let mut plan = Self { factors: Vec::new(), points: vec![Vec::new()] };
        for part in &file.varied {
            match part {
                Varied::Grid(grid) => {
                    for of in grid {
                        let levels: Vec<Level> = of.values.iter().map(literal_level).collect();
                        let points: Vec<Point> = (0..levels.len() as u32).map(|level| vec![level]).collect();
                        plan.cross(vec![listed_factor(&of.key, levels)], &points)?;
                    }
                }
                Varied::List(list) => {
                    let of_key = |(position, key): (usize, &PlacedText)| {
                        listed_factor(
                            key,
                            list.rows.iter().filter_map(|row| row.get(position)).map(literal_level).collect(),
                        )
                    };
                    let factors: Vec<Factor> = list.keys.iter().enumerate().map(of_key).collect();
                    let points = (0..list.rows.len() as u32).map(|row| vec![row; factors.len()]).collect();
                    plan.cross_merged(factors, points)?;
                }
                Varied::Drawn(drawn) => {
                    let factors: Vec<Factor> =
                        drawn.values.iter().map(|(key, values)| sample_factor(drawn, key, values)).collect();
                    let points = (0..drawn.points).map(|point| vec![point; factors.len()]).collect();
                    plan.cross_merged(factors, points)?;
                }
            }
        }
        if !file.schemes.is_empty() {
            let name =
                |of: &PlacedText| Level { toml: of.text.clone(), place: of.place.clone(), is_literal: false };
            let levels: Vec<Level> = file.schemes.iter().map(name).collect();
            let key = PlacedText { text: SCHEME.to_owned(), place: file.schemes[0].place.clone() };
            let points: Vec<Point> = (0..levels.len() as u32).map(|level| vec![level]).collect();
            plan.cross(vec![Factor { key, kind: FactorKind::Scheme, levels }], &points)?;
        }
        Ok(plan)
    }

    /// Returns the value of a factor at a point.
    pub fn level(&self, point: usize, factor: usize) -> &Level {
        &self.factors[factor].levels[self.points[point][factor] as usize]
    }

    /// Returns the values of a point with the factor names.
    pub fn named_values(&self, point: usize) -> Vec<(&str, &str)> {
        let factors = self.factors.iter().enumerate();
        factors
            .map(|(number, factor)| (factor.key.text.as_str(), self.level(point, number).unquoted()))
            .collect()
    }

    /// Combines points like `cross`, but merges equal values of a factor into one level.
    fn cross_merged(&mut self, mut factors: Vec<Factor>, mut points: Vec<Point>) -> Result<(), PlanError> {
        for (number, factor) in factors.iter_mut().enumerate() {
            let mut kept: Vec<Level> = Vec::new();
            // Sampled values rarely repeat, and the search for duplicates would be slow.
            let is_short = factor.levels.len() <= 1000;
            let mut places = Vec::with_capacity(factor.levels.len());
            for level in core::mem::take(&mut factor.levels) {
                let known = kept.iter().position(|other| is_short && other.toml == level.toml);
                places.push(known.unwrap_or(kept.len()) as u32);
                if known.is_none() {
                    kept.push(level);
                }
            }
            factor.levels = kept;
            points.iter_mut().for_each(|point| point[number] = places[point[number] as usize]);
        }
        self.cross(factors, &points)
    }

    /// Combines every existing point with each of `points` of further factors.
    fn cross(&mut self, factors: Vec<Factor>, points: &[Point]) -> Result<(), PlanError> {
        if self.points.len().saturating_mul(points.len()) > MAX_POINTS {
            return Err(PlanError);
        }
        self.factors.extend(factors);
        let with = |point: &Point| {
            points.iter().map(|further| [point.as_slice(), further].concat()).collect::<Vec<_>>()
        };
        self.points = self.points.iter().flat_map(with).collect();
        Ok(())
    }
}

fn literal_level(value: &PlacedText) -> Level {
    Level { toml: value.text.clone(), place: value.place.clone(), is_literal: true }
}

fn listed_factor(key: &PlacedText, levels: Vec<Level>) -> Factor {
    Factor { key: key.clone(), kind: FactorKind::Listed, levels }
}

/// Samples the value of each point. Each key has its own random stream, so adding a key does not change the values of
/// others.
fn sample_factor(drawn: &DrawnPoints, key: &PlacedText, values: &Values) -> Factor {
    let count = drawn.points;
    let mut stream = RandomStream::new(drawn.seed, &key.text, 0);
    let mut strata: Vec<u32> = (0..count).collect();
    if drawn.is_latin {
        for last in (1..strata.len()).rev() {
            strata.swap(last, stream.below(last as u64 + 1) as usize);
        }
    }
    let mut share = |point: usize| match drawn.is_latin {
        true => (f64::from(strata[point]) + stream.unit()) / f64::from(count),
        false => stream.unit(),
    };
    let value = |share: f64| match values {
        Values::Range(range) => {
            Level { toml: range.at(share), place: range.place.clone(), is_literal: false }
        }
        Values::OneOf(values) => {
            literal_level(&values[((share * values.len() as f64) as usize).min(values.len() - 1)])
        }
    };
    let levels = (0..count as usize).map(|point| value(share(point))).collect();
    let kind = match values {
        Values::Range(_) => FactorKind::DrawnFromRange { draws: count },
        Values::OneOf(_) => FactorKind::DrawnFromList { draws: count },
    };
    Factor { key: key.clone(), kind, levels }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use thalweg_scenario::read_sweep_text;

    fn plan(text: &str) -> Plan {
        let file = read_sweep_text("s.toml", &format!("scenario = \"x\"\n{text}")).unwrap();
        Plan::from_file(&file).unwrap()
    }

    #[test]
    fn all_parts_are_combined() {
        let plan = plan(
            "schemes = [\"cubic\", \"vegas\"]\n[grid]\na = [1, 2, 3]\n[[list]]\nb = \"x\"\nc = 1\n[[list]]\nb = \"x\"\nc = 2\n",
        );
        assert_eq!(plan.points.len(), 3 * 2 * 2);
        assert_eq!(plan.named_values(0), [("a", "1"), ("b", "x"), ("c", "1"), ("scheme", "cubic")]);
        assert_eq!(plan.named_values(3), [("a", "1"), ("b", "x"), ("c", "2"), ("scheme", "vegas")]);
        // `b` has one level, although two rows contain its value.
        assert_eq!(plan.factors[1].levels.len(), 1);
    }

    #[test]
    fn a_hypercube_has_one_point_in_each_part_of_a_range() {
        let text = "[latin-hypercube]\npoints = 20\na = { from = 0.000, to = 20.000 }\n";
        let one = plan(text);
        let (numbers, unit) = one.factors[0].numbers().unwrap();
        let parts: BTreeSet<u64> = numbers.iter().map(|number| *number as u64).collect();
        assert_eq!((parts.len(), unit), (20, ""));
        // Adding another key leaves its values unchanged.
        let two = plan(&format!("{text}b = [\"1 ms\", \"2 ms\"]\n"));
        assert_eq!(one.factors[0].levels, two.factors[0].levels);
        let (numbers, unit) = two.factors[1].numbers().unwrap();
        assert_eq!(unit, "_s");
        assert_eq!(two.points.iter().filter(|point| numbers[point[1] as usize] == 0.001).count(), 10);
    }

    #[test]
    fn too_many_points_are_refused() {
        let list: Vec<String> = (0..1001).map(|n| n.to_string()).collect();
        let text = format!("scenario = \"x\"\n[grid]\na = [{0}]\nb = [{0}]\n", list.join(","));
        assert!(matches!(Plan::from_file(&read_sweep_text("s", &text).unwrap()), Err(PlanError)));
    }
}
