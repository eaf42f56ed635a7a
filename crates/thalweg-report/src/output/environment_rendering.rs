//! Recent history of a simulation as a picture, for environment rendering.

use super::svg_diagrams::{Figure, Line, LinePanel};

/// Recent history of a quantity.
#[derive(Clone, Debug)]
pub struct QuantityHistory {
    /// Name of the quantity, with the unit of its axis.
    pub title: String,
    /// Values in the unit of the axis; NaN where there is none.
    pub values: Vec<f64>,
}

/// Returns a picture in SVG: a panel for each quantity over the same times in seconds.
pub fn history_svg(title: &str, times: &[f64], past: Vec<QuantityHistory>) -> String {
    let panel = |(colour, QuantityHistory { title, values }): (usize, QuantityHistory)| LinePanel {
        title,
        factor: 1.0,
        max: values.iter().copied().filter(|value| value.is_finite()).fold(0.0, f64::max),
        lines: vec![Line { label: String::new(), colour, times: times.to_vec(), values, is_faint: false }],
        across: None,
    };
    let panels = past.into_iter().enumerate().map(panel).collect();
    let (from, to) = (times.first().copied().unwrap_or(0.0), times.last().copied().unwrap_or(0.0));
    Figure { title: title.to_owned(), panels, from, to, ..Figure::default() }.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_quantity_has_a_panel_over_the_times_that_are_given() {
        let past = |title: &str, values: [f64; 3]| QuantityHistory {
            title: title.to_owned(),
            values: values.to_vec(),
        };
        let all = vec![past("Window, segments", [10.0, 20.0, 15.0]), past("RTT, ms", [f64::NAN, 20.0, 21.0])];
        let svg = history_svg("flow", &[1.0, 1.1, 1.2], all);
        assert_eq!(svg.matches("<path class=\"line").count(), 2, "{svg}");
        assert!(svg.contains(">Window, segments</text>") && svg.contains(">1.2 s</text>"), "{svg}");
    }
}
