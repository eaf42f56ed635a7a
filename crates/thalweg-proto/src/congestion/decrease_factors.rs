//! Multiplicative-decrease factors by signal: loss, mark (ABE, RFC 8511), or either at the end of slow start.

use super::LossKind;

/// Multiplicative-decrease factors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DecreaseFactors {
    loss: f64,
    mark: f64,
    /// Factor at the end of slow start; `None` uses the factors of congestion avoidance.
    slow_start: Option<f64>,
}

impl DecreaseFactors {
    /// Creates the factors from that of losses, with optional overrides for marks and for the end of slow start.
    pub const fn new(loss: f64, mark: Option<f64>, slow_start: Option<f64>) -> Self {
        let mark = match mark {
            Some(mark) => mark,
            None => loss,
        };
        Self { loss, mark, slow_start }
    }

    /// Returns the factor for a signal.
    pub fn factor(self, kind: LossKind, in_slow_start: bool) -> f64 {
        match (kind, self.slow_start) {
            // A timeout restarts from a window of one segment in any phase; RFC 8511 leaves it to RFC 5681.
            (LossKind::Timeout, _) => self.loss,
            (LossKind::Detected | LossKind::Mark, Some(beta)) if in_slow_start => beta,
            // RFC 8511, section 3, applies to congestion avoidance. A mark in slow start reduces the window as in RFC
            // 3168.
            (LossKind::Mark, _) if !in_slow_start => self.mark,
            (LossKind::Detected | LossKind::Mark, _) => self.loss,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_has_its_decrease_factor() {
        let plain = DecreaseFactors::new(0.5, None, None);
        let abe = DecreaseFactors::new(0.5, Some(0.8), None);
        let both = DecreaseFactors::new(0.7, Some(0.85), Some(0.5));
        for (kind, in_slow_start, expected) in [
            (LossKind::Detected, false, [0.5, 0.5, 0.7]),
            (LossKind::Detected, true, [0.5, 0.5, 0.5]),
            (LossKind::Mark, false, [0.5, 0.8, 0.85]),
            // RFC 8511 applies to congestion avoidance alone.
            (LossKind::Mark, true, [0.5, 0.5, 0.5]),
            (LossKind::Timeout, false, [0.5, 0.5, 0.7]),
            (LossKind::Timeout, true, [0.5, 0.5, 0.7]),
        ] {
            let found = [plain, abe, both].map(|betas| betas.factor(kind, in_slow_start));
            assert_eq!(found, expected, "{kind:?}, in slow start: {in_slow_start}");
        }
    }
}
