//! Share of a metric's variance that each factor explains alone.
//!
//! It is the correlation ratio: the variance of the means over all points with the same value of a factor, over the
//! total variance. For a full grid these are the main effects of an analysis of variance, and the remainder is
//! interaction. Values sampled from a range are binned into equal parts by rank, which estimates the first-order Sobol
//! index from given data (Plischke, Borgonovo and Smith 2013).

use thalweg_report::statistics::{Estimate, chi_squared_quantile, mean};

/// Minimum association of two factors, as the square of Cramér's V, from which their effects are not separable. A
/// crossed design has 0, and the keys of a list that change together have 1.
const MIN_ASSOCIATION: f64 = 0.25;

/// Probability that a drawn factor exceeds its limit of association with another by chance.
const SIGNIFICANCE: f64 = 0.01;

/// Returns the association from which the effects of two factors are not separable, by their numbers of classes, and
/// by the number of draws if both are random.
///
/// Drawn factors are independent, but a few draws associate them by chance: of eight in two halves each, every second
/// pair exceeds [`MIN_ASSOCIATION`]. Their limit is the value that independent factors reach with the probability
/// [`SIGNIFICANCE`] in the chi-squared test with `draws - 1` in place of the number of draws. Its statistic has the mean
/// of the distribution at any number of draws (Haldane 1940), and the test is recommended for small samples (Campbell
/// 2007). The limit is at most 1: where one factor determines the other, their shares are the same number, by chance or
/// not.
fn association_limit(classes: [usize; 2], draws: Option<u32>) -> f64 {
    let Some(draws) = draws else { return MIN_ASSOCIATION };
    let degrees = classes.map(|count| count.saturating_sub(1));
    let quantile = chi_squared_quantile(1.0 - SIGNIFICANCE, (degrees[0] * degrees[1]) as u64);
    let of_chance = quantile / (f64::from(draws.saturating_sub(1)) * degrees[0].min(degrees[1]) as f64);
    // Rounding must not separate factors that determine each other.
    of_chance.clamp(MIN_ASSOCIATION, 1.0 - 1e-9)
}

/// Classification of the points by the value of a factor.
#[derive(Clone, Debug)]
pub struct Classes {
    /// Class of each point.
    pub class_of_point: Vec<usize>,
    /// Number of classes.
    pub count: usize,
}

impl Classes {
    /// Bins numbers sampled from a range into equal parts by rank.
    pub fn bin_by_rank(numbers: &[f64]) -> Self {
        let mut order: Vec<usize> = (0..numbers.len()).collect();
        order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
        // Classes must be large: the means of small ones differ by chance alone.
        let count = ((numbers.len() as f64).sqrt() as usize / 2).clamp(2, 20).min(numbers.len().max(1));
        let mut of = vec![0; numbers.len()];
        for (rank, point) in order.into_iter().enumerate() {
            of[point] = rank * count / numbers.len();
        }
        Self { class_of_point: of, count }
    }

    /// Returns the number of points.
    fn points(&self) -> u32 {
        u32::try_from(self.class_of_point.len()).unwrap_or(u32::MAX)
    }

    /// Returns the square of Cramér's V with another classification of the same points, from 0 (independent) to 1 (one
    /// determines the other), and the numbers of classes with points.
    fn association(&self, other: &Self) -> (f64, [usize; 2]) {
        let points = self.class_of_point.len() as f64;
        let mut joint = vec![0.0; self.count * other.count];
        for (&row, &column) in self.class_of_point.iter().zip(&other.class_of_point) {
            joint[row * other.count + column] += 1.0;
        }
        let row_sums: Vec<f64> = joint.chunks(other.count.max(1)).map(|row| row.iter().sum()).collect();
        let column_sums: Vec<f64> =
            (0..other.count).map(|column| joint.iter().skip(column).step_by(other.count).sum()).collect();
        let present = |sums: &[f64]| sums.iter().filter(|sum| **sum > 0.0).count();
        let present = [present(&row_sums), present(&column_sums)];
        let fewer = present[0].min(present[1]);
        if fewer < 2 {
            return (0.0, present);
        }
        let cells = joint.iter().enumerate().map(|(cell, count)| {
            let expected = row_sums[cell / other.count] * column_sums[cell % other.count] / points;
            if expected > 0.0 { (count - expected) * (count - expected) / expected } else { 0.0 }
        });
        (cells.sum::<f64>() / (points * (fewer - 1) as f64), present)
    }
}

/// Returns sets of classifications, by their indices, whose effects are not separable, because their values change
/// together over the points. `draws` is the number of draws of each, or `None` if it is not random. A classification that
/// is independent of all others is in no set.
pub fn confounded_sets(classifications: &[Classes], draws: &[Option<u32>]) -> Vec<Vec<usize>> {
    let mut set_of: Vec<usize> = (0..classifications.len()).collect();
    for (number, classes) in classifications.iter().enumerate() {
        for other in 0..number {
            let (association, counts) = classes.association(&classifications[other]);
            // Points may be missing, and each draw may be crossed with values of other factors.
            let draws = draws[number].zip(draws[other]).map(|(a, b)| a.min(b).min(classes.points()));
            if association >= association_limit(counts, draws) {
                let (old, new) = (set_of[number], set_of[other]);
                set_of.iter_mut().filter(|set| **set == old).for_each(|set| *set = new);
            }
        }
    }
    let members = |set: usize| -> Vec<usize> {
        set_of.iter().enumerate().filter(|(_, of)| **of == set).map(|(number, _)| number).collect()
    };
    let mut sets: Vec<Vec<usize>> = (0..set_of.len()).map(members).filter(|set| set.len() > 1).collect();
    sets.sort();
    sets
}

/// Returns the classification by all of the classes of several.
pub fn cross_classes(classifications: &[&Classes]) -> Classes {
    let points = classifications.first().map_or(0, |classes| classes.class_of_point.len());
    let mut numbers = std::collections::BTreeMap::new();
    let of = (0..points)
        .map(|point| {
            let key: Vec<usize> =
                classifications.iter().map(|classes| classes.class_of_point[point]).collect();
            let next = numbers.len();
            *numbers.entry(key).or_insert(next)
        })
        .collect();
    Classes { class_of_point: of, count: numbers.len() }
}

/// Returns the share of the variance of all runs that lies between runs of the same point, from 0 to 1: one minus the
/// adjusted coefficient of determination. The means of points scatter by chance too, and the adjustment removes that
/// part. `None` with one run per point, or where nothing varies.
pub fn random_variance_share(points: &[&Estimate]) -> Option<f64> {
    let runs: f64 = points.iter().map(|of| of.n as f64).sum();
    let all = points.iter().map(|of| of.n as f64 * of.mean).sum::<f64>() / runs;
    let (mut within, mut between, mut degrees) = (0.0, 0.0, 0.0);
    for of in points {
        let n = of.n as f64;
        let std_dev = of.std_dev.unwrap_or(0.0);
        within += (n - 1.0) * std_dev * std_dev;
        degrees += n - 1.0;
        between += n * (of.mean - all) * (of.mean - all);
    }
    let total = (within + between) / (runs - 1.0);
    (degrees > 0.0 && total > 0.0).then(|| (within / degrees / total).min(1.0))
}

/// Returns the share of the variance of `values` that lies between classes, from 0 to 1; `None` where nothing varies.
pub fn explained_variance_share(values: &[f64], classes: &Classes) -> Option<f64> {
    let all = mean(values)?;
    let total: f64 = values.iter().map(|value| (value - all) * (value - all)).sum();
    // Ignore rounding differences.
    if total <= 1e-24 * values.iter().map(|value| value * value).sum::<f64>() {
        return None;
    }
    let (mut sums, mut counts) = (vec![0.0; classes.count], vec![0.0; classes.count]);
    for (value, &class) in values.iter().zip(&classes.class_of_point) {
        sums[class] += value;
        counts[class] += 1.0;
    }
    let groups = sums.iter().zip(&counts).filter(|(_, count)| **count > 0.0);
    let between: f64 = groups.map(|(sum, count)| count * (sum / count - all) * (sum / count - all)).sum();
    Some((between / total).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_is_split_into_its_main_effects() {
        // y = 3 a + b over a in {-1, 1} and b in {-1, 1}: variances 9 and 1.
        let points = [(0, 0), (0, 1), (1, 0), (1, 1)];
        let sign = |level: usize| if level == 0 { -1.0 } else { 1.0 };
        let values: Vec<f64> = points.iter().map(|&(a, b)| 3.0 * sign(a) + sign(b)).collect();
        let share = |of: fn(&(usize, usize)) -> usize| {
            explained_variance_share(
                &values,
                &Classes { class_of_point: points.iter().map(of).collect(), count: 2 },
            )
            .unwrap()
        };
        assert!((share(|p| p.0) - 0.9).abs() < 1e-12 && (share(|p| p.1) - 0.1).abs() < 1e-12);
        // Pure interaction.
        let product: Vec<f64> = points.iter().map(|&(a, b)| sign(a) * sign(b)).collect();
        let a = Classes { class_of_point: points.iter().map(|point| point.0).collect(), count: 2 };
        assert_eq!(explained_variance_share(&product, &a), Some(0.0));
        assert_eq!(explained_variance_share(&[2.0; 4], &a), None);
    }

    #[test]
    fn drawn_values_are_classed_by_order() {
        let numbers: Vec<f64> = (0..400).map(|n| f64::from((n * 37) % 400)).collect();
        let classes = Classes::bin_by_rank(&numbers);
        assert_eq!(classes.count, 10);
        let share = explained_variance_share(&numbers, &classes).unwrap();
        // A tenth of the range holds a hundredth of the variance.
        assert!((share - 0.99).abs() < 1e-3, "{share}");
    }

    fn classes(of: &[usize]) -> Classes {
        Classes { class_of_point: of.to_vec(), count: of.iter().max().map_or(0, |last| last + 1) }
    }

    /// Returns the sets of factors that are not random.
    fn sets_of_given(classifications: &[Classes]) -> Vec<Vec<usize>> {
        confounded_sets(classifications, &vec![None; classifications.len()])
    }

    #[test]
    fn values_that_change_together_are_one_factor() {
        let rate = classes(&[0, 0, 0, 1, 1, 1]);
        let count = classes(&[0, 1, 2, 0, 1, 2]);
        assert_eq!(sets_of_given(&[rate.clone(), count.clone()]), [] as [Vec<usize>; 0]);
        // The keys of a list, beside a scheme that is crossed with it.
        let (delay, scheme) = (classes(&[0, 0, 1, 1, 2, 2]), classes(&[0, 1, 0, 1, 0, 1]));
        let loss = classes(&[0, 0, 1, 1, 0, 0]);
        assert_eq!(sets_of_given(&[delay.clone(), scheme, loss.clone()]), [[0, 2]]);
        let joint = cross_classes(&[&delay, &loss]);
        assert_eq!((joint.class_of_point.as_slice(), joint.count), ([0, 0, 1, 1, 2, 2].as_slice(), 3));
        // Every third point of a grid of 2 x 3: each value of one comes with one of the other.
        assert_eq!(sets_of_given(&[classes(&[0, 1]), classes(&[0, 1])]), [[0, 1]]);
        // One point of a crossed design is missing.
        assert_eq!(
            sets_of_given(&[classes(&rate.class_of_point[1..]), classes(&count.class_of_point[1..])]),
            [] as [Vec<usize>; 0]
        );
    }

    /// All pairs of draws of two factors into two halves are equally probable: one factor can keep its order.
    #[test]
    fn few_draws_of_independent_factors_are_rarely_one_factor() {
        let joined = |draws: u32, repeats: usize| {
            let first = Classes::bin_by_rank(&(0..draws).map(f64::from).collect::<Vec<_>>());
            let half = first.class_of_point.iter().filter(|class| **class == 0).count() as u32;
            let repeat = |of: &[usize]| classes(&of.repeat(repeats));
            let (mut joined, mut all) = (0, 0);
            for members in (0_u32..1 << draws).filter(|members| members.count_ones() == draws - half) {
                let second: Vec<usize> = (0..draws).map(|draw| (members >> draw & 1) as usize).collect();
                let pair = [repeat(&first.class_of_point), repeat(&second)];
                all += 1;
                joined += usize::from(!confounded_sets(&pair, &[Some(draws); 2]).is_empty());
                assert!(
                    first.class_of_point != second || confounded_sets(&pair, &[Some(draws); 2]) == [[0, 1]]
                );
            }
            (joined, all)
        };
        // Only where the halves are the same, or the opposite ones: with the limit of lists 4 of 10, 34 of 70 and 52 of
        // 252.
        assert_eq!([joined(5, 1), joined(8, 1), joined(10, 1)], [(1, 10), (2, 70), (2, 252)]);
        // Repetition with each of four schemes is not further evidence.
        assert_eq!([joined(5, 4), joined(8, 4)], [(1, 10), (2, 70)]);
        // Campbell's test at 1 %: near 1 % of 12 870.
        let (of_sixteen, all) = joined(16, 1);
        assert_eq!((of_sixteen, all), (130, 12_870));
    }

    #[test]
    fn drawn_choices_are_one_factor_if_one_determines_the_other() {
        let (delay, loss) = (classes(&[0, 1, 2, 3, 0, 1, 2, 3]), classes(&[0, 0, 1, 1, 0, 0, 1, 1]));
        let drawn = [Some(8); 2];
        assert_eq!(confounded_sets(&[delay.clone(), loss], &drawn), [[0, 1]]);
        // Cramér's V squared is 0.73; its mean over independent draws is (4 - 1) / (8 - 1) = 0.43.
        let other = classes(&[0, 0, 1, 1, 0, 0, 1, 0]);
        assert_eq!(confounded_sets(&[delay.clone(), other.clone()], &drawn), [] as [Vec<usize>; 0]);
        assert_eq!(sets_of_given(&[delay.clone(), other.clone()]), [[0, 1]]);
        // With one that is not random, association is not due to chance.
        assert_eq!(confounded_sets(&[delay, other], &[Some(8), None]), [[0, 1]]);
    }

    #[test]
    fn without_effects_all_variance_is_random() {
        // Forty points of two runs each, all of one distribution.
        let mut state = 1_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as f64 / (1_u64 << 24) as f64
        };
        let mut draw = |effect: f64| -> Vec<Estimate> {
            let point = |at: i32| {
                let values = [0, 1].map(|_| uniform() + effect * f64::from(at % 2));
                Estimate::from_values(&values).unwrap()
            };
            (0..400).map(point).collect()
        };
        let share = |points: &[Estimate]| random_variance_share(&points.iter().collect::<Vec<_>>()).unwrap();
        let none = share(&draw(0.0));
        assert!((0.9..=1.0).contains(&none), "{none}");
        // An effect of twice the standard deviation between halves of the points: variances 1 and 1.
        let half = share(&draw(2.0 / 12.0_f64.sqrt()));
        assert!((half - 0.5).abs() < 0.05, "{half}");
        assert_eq!(random_variance_share(&[&Estimate::from_values(&[1.0]).unwrap()]), None);
    }
}
