//! Multiplicative decreases that differ by what they answer: a loss, a mark (ABE, RFC 8511), or either at the end of slow start.

use super::LossKind;

/// The shares of a window that congestion leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Betas {
    loss: f64,
    mark: f64,
    /// `None` where slow start ends as congestion avoidance does.
    slow_start: Option<f64>,
}

impl Betas {
    /// Takes beta of losses, with those of marks and of the end of slow start where they differ.
    pub const fn new(loss: f64, mark: Option<f64>, slow_start: Option<f64>) -> Self {
        let mark = match mark {
            Some(mark) => mark,
            None => loss,
        };
        Self { loss, mark, slow_start }
    }

    /// Returns the share that remains.
    pub fn of(self, kind: LossKind, in_slow_start: bool) -> f64 {
        match (kind, self.slow_start) {
            // A time-out starts anew from a window of one segment, wherever it happens.
            (LossKind::Timeout, _) => self.loss,
            (LossKind::Duplicates | LossKind::Mark, Some(beta)) if in_slow_start => beta,
            // RFC 8511, section 3: in congestion avoidance. A mark in slow start cuts as RFC 3168 has it.
            (LossKind::Mark, _) if !in_slow_start => self.mark,
            (LossKind::Duplicates | LossKind::Mark, _) => self.loss,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_has_its_share() {
        let plain = Betas::new(0.5, None, None);
        let abe = Betas::new(0.5, Some(0.8), None);
        let both = Betas::new(0.7, Some(0.85), Some(0.5));
        for (kind, in_slow_start, expected) in [
            (LossKind::Duplicates, false, [0.5, 0.5, 0.7]),
            (LossKind::Duplicates, true, [0.5, 0.5, 0.5]),
            (LossKind::Mark, false, [0.5, 0.8, 0.85]),
            // RFC 8511 is of congestion avoidance alone.
            (LossKind::Mark, true, [0.5, 0.5, 0.5]),
            (LossKind::Timeout, false, [0.5, 0.5, 0.7]),
            (LossKind::Timeout, true, [0.5, 0.5, 0.7]),
        ] {
            let found = [plain, abe, both].map(|betas| betas.of(kind, in_slow_start));
            assert_eq!(found, expected, "{kind:?}, in slow start: {in_slow_start}");
        }
    }
}
