//! Measures of how evenly flows share.

/// Returns Jain's fairness index (Jain, Chiu and Hawe 1984): `(sum x)^2 / (n * sum x^2)`, from 1/n (one flow has all)
/// to 1 (all equal). `None` if all shares are zero.
pub fn jain_index(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// Returns the fairness variance of the SEIF thesis: `(1/n) * sum (x - mean)^2`, in (kbit/s)² for throughputs in
/// kbit/s. Returns zero for an empty list.
pub fn fairness_variance(throughputs: &[f64]) -> f64 {
    if throughputs.is_empty() {
        return 0.0;
    }
    let n = throughputs.len() as f64;
    let mean = throughputs.iter().sum::<f64>() / n;
    throughputs.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n
}
