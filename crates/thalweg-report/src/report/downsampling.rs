//! Downsampling of long series, with their peaks.

/// Returns at most `bound` points (at least 2): the smallest and largest value of each of equal spans of points, in
/// order. All peaks and troughs remain, and the first and last points as well.
pub(super) fn downsample(times: &[f64], values: &[f64], bound: usize) -> (Vec<f64>, Vec<f64>) {
    let length = times.len().min(values.len());
    if length <= bound.max(2) {
        return (times[..length].to_vec(), values[..length].to_vec());
    }
    // The end points take two, each span two.
    let spans = (bound.max(4) - 2) / 2;
    let mut kept = vec![0];
    // Without the end points, which are kept anyway. The product exceeds the 32 bits of WebAssembly.
    let place = |span: usize| 1 + (span as u64 * (length as u64 - 2) / spans as u64) as usize;
    for span in 0..spans {
        let (first, end) = (place(span), place(span + 1));
        let Some((low, high)) = extreme_positions(&values[first..end]) else { continue };
        kept.push(first + low.min(high));
        if low != high {
            kept.push(first + low.max(high));
        }
    }
    kept.push(length - 1);
    (kept.iter().map(|&index| times[index]).collect(), kept.iter().map(|&index| values[index]).collect())
}

/// Returns the positions of the smallest and the largest value; `None` without values.
fn extreme_positions(values: &[f64]) -> Option<(usize, usize)> {
    let mut found: Option<(usize, usize)> = None;
    for (index, value) in values.iter().enumerate() {
        let (low, high) = found.get_or_insert((index, index));
        if *value < values[*low] {
            *low = index;
        }
        if *value > values[*high] {
            *high = index;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn peaks_ends_and_order_stay(values in prop::collection::vec(-1e9f64..1e9, 1..500), bound in 2usize..200) {
            let times: Vec<f64> = (0..values.len()).map(|index| index as f64).collect();
            let (kept_times, kept) = downsample(&times, &values, bound);
            prop_assert!(kept.len() <= bound.max(4));
            prop_assert!(kept_times.windows(2).all(|pair| pair[0] < pair[1]));
            for (time, value) in kept_times.iter().zip(&kept) {
                prop_assert_eq!(values[*time as usize], *value);
            }
            let largest = |values: &[f64]| values.iter().copied().fold(f64::MIN, f64::max);
            let smallest = |values: &[f64]| values.iter().copied().fold(f64::MAX, f64::min);
            prop_assert_eq!(largest(&values), largest(&kept));
            prop_assert_eq!(smallest(&values), smallest(&kept));
            prop_assert_eq!((values.first(), values.last()), (kept.first(), kept.last()));
        }
    }

    #[test]
    fn short_series_are_unchanged() {
        assert_eq!(downsample(&[1.0, 2.0], &[5.0, 6.0], 2), (vec![1.0, 2.0], vec![5.0, 6.0]));
        assert_eq!(downsample(&[], &[], 2), (vec![], vec![]));
    }
}
