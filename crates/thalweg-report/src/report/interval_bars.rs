//! Bars with intervals, as pictures within a table.

/// Draws a bar from zero to `mean` on a scale that ends at `max`, with a line from `mean - half` to `mean + half`.
pub(super) fn interval_bar(mean: f64, half: Option<f64>, max: f64) -> String {
    let place = |value: f64| {
        let share = if max > 0.0 && value.is_finite() { (value / max).clamp(0.0, 1.0) } else { 0.0 };
        share * WIDTH
    };
    let mut svg = format!(
        "<svg class=\"bar\" viewBox=\"0 0 {WIDTH} 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect width=\"{:.1}\" height=\"10\"/>",
        place(mean)
    );
    if let Some(half) = half {
        let (low, high) = (place(mean - half), place(mean + half));
        svg.push_str(&format!("<path d=\"M{low:.1} 2v6M{low:.1} 5H{high:.1}M{high:.1} 2v6\"/>"));
    }
    svg.push_str("</svg>");
    svg
}

const WIDTH: f64 = 120.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_shares_of_the_scale() {
        assert!(interval_bar(50.0, None, 100.0).contains("width=\"60.0\""));
        assert!(!interval_bar(50.0, None, 100.0).contains("path"));
        assert!(interval_bar(50.0, Some(10.0), 100.0).contains("M48.0 2v6M48.0 5H72.0M72.0 2v6"));
        // Values outside the scale and NaN stay within the picture.
        assert!(interval_bar(90.0, Some(20.0), 100.0).contains("H120.0"));
        assert!(interval_bar(f64::NAN, Some(f64::NAN), 0.0).contains("width=\"0.0\""));
    }
}
