//! Share of a metric's variance that each factor explains alone.
//!
//! It is the correlation ratio: the variance of the means over all points with the same value of a factor, over the
//! total variance. For a full grid these are the main effects of an analysis of variance, and the remainder is
//! interaction. Values sampled from a range are binned into equal parts by rank, which estimates the first-order Sobol
//! index from given data (Plischke, Borgonovo and Smith 2013).

use thalweg_report::statistics::mean;

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
}
