//! Analysis of two-level flow control: Gong and Parulkar 1992, section 4.2.
//!
//! A connection of rate A carries segments of s packets of l bytes. Each packet is lost independently with probability
//! p. Lost packets of a segment are retransmitted as soon as the sender detects the loss, t_a after the last packet of
//! a group. The formulas take W as a real number.
//!
//! The throughput efficiency has a formula for each of four regimes: windows of one segment, up to w_a + 1, up to
//! 2 w_a + 1, and above. The printed form of the third regime is discontinuous at its upper end, where it should meet
//! `1 - p`, and lies below simulation by up to 0.3. The denominator of the printed form has p and m as separate
//! terms; that of the corrected form has p times m, the time for retransmitting the losses of the segments sent while
//! waiting. The corrected form meets the next regime up to p for small p (the step is 0.017 at p = 1e-2) and lies
//! closely above simulation. The analysis is made for p up to 1e-2. Towards p = 1 the formulas exceed 1 - p, the share
//! of packets that arrive; the corrected form is limited to this value. [`Form`] offers both; [`Form::Corrected`] is
//! the default.

use thalweg_proto::units::{Bytes, Duration, Rate};

/// A connection: the parameters of the formulas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// A: rate.
    pub rate: Rate,
    /// RTD: round-trip delay without transmission times.
    pub round_trip: Duration,
    /// l: packet size.
    pub packet: Bytes,
    /// s: packets per segment.
    pub segment: u32,
}

/// Form of the third regime of the efficiency: windows from w_a + 1 to 2 w_a + 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// With p·m in the denominator, and never above 1 - p.
    #[default]
    Corrected,
    /// As printed in the paper.
    Printed,
}

/// An argument outside the domain of the formulas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DomainError {
    /// A path without rate, packets or segments.
    Path,
    /// A probability outside 0 to 1.
    Probability,
    /// Negative window, or NaN.
    Window,
}

impl core::fmt::Display for DomainError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Path => "the path needs a rate, a packet size and a segment above zero",
            Self::Probability => "the loss probability must lie between 0 and 1",
            Self::Window => "the window is above 0",
        })
    }
}

impl core::error::Error for DomainError {}

/// Results of the analysis of a path with a window and a loss probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Analysis {
    /// t_p: transmission time of a packet at rate A, in seconds.
    pub packet_time: f64,
    /// t_s = s·t_p, in seconds.
    pub segment_time: f64,
    /// t_a = RTD + 3·t_p, in seconds.
    pub acknowledgement_time: f64,
    /// w_a = t_a/t_s, in segments.
    pub round_trip_window: f64,
    /// Mean number of transmission rounds of a segment until all packets have arrived.
    pub rounds: f64,
    /// D_s: mean time from the start of a segment to its acknowledgement at the sender, in seconds.
    pub sender_delay: f64,
    /// D_r = D_s - RTD/2 - 3·t_p: mean time from its start to its acceptance at the receiver, in seconds.
    pub receiver_delay: f64,
    /// ThE: throughput efficiency, 0 to 1.
    pub efficiency: f64,
}

impl Path {
    /// Checks that all quantities are above zero.
    ///
    /// # Errors
    ///
    /// Returns [`DomainError::Path`] otherwise.
    pub fn check(&self) -> Result<(), DomainError> {
        let is_valid = !self.rate.is_zero() && self.packet.get() > 0 && self.segment > 0;
        if is_valid { Ok(()) } else { Err(DomainError::Path) }
    }

    /// Returns t_p in seconds.
    pub fn packet_time(&self) -> f64 {
        self.packet.get() as f64 * 8.0 / self.rate.as_f64()
    }

    /// Returns t_s = s·t_p in seconds.
    pub fn segment_time(&self) -> f64 {
        f64::from(self.segment) * self.packet_time()
    }

    /// Returns t_a = RTD + 3·t_p in seconds.
    pub fn acknowledgement_time(&self) -> f64 {
        self.round_trip.as_secs_f64() + 3.0 * self.packet_time()
    }

    /// Returns w_a = t_a/t_s: the number of segments sent per round trip.
    pub fn round_trip_window(&self) -> f64 {
        self.acknowledgement_time() / self.segment_time()
    }

    /// Computes all results, for a window of `window` segments and loss probability `p`.
    ///
    /// # Errors
    ///
    /// Returns a [`DomainError`] if the path is empty, or `p` or `window` is outside its range.
    pub fn analyse(&self, p: f64, window: f64, form: Form) -> Result<Analysis, DomainError> {
        self.check()?;
        if !(0.0..=1.0).contains(&p) {
            return Err(DomainError::Probability);
        }
        if window.is_nan() || window <= 0.0 {
            return Err(DomainError::Window);
        }
        let (segment_time, round_trip) = (self.segment_time(), self.acknowledgement_time());
        let rounds = mean_rounds(p, self.segment);
        // With total loss nothing arrives; infinity times zero would be NaN.
        let sender_delay =
            if p >= 1.0 { f64::INFINITY } else { segment_time / (1.0 - p) + round_trip * rounds };
        Ok(Analysis {
            packet_time: self.packet_time(),
            segment_time,
            acknowledgement_time: round_trip,
            round_trip_window: self.round_trip_window(),
            rounds,
            sender_delay,
            receiver_delay: sender_delay - self.round_trip.as_secs_f64() / 2.0 - 3.0 * self.packet_time(),
            efficiency: throughput_efficiency(p, window, self.round_trip_window(), self.segment, form)
                .unwrap_or(segment_time / sender_delay),
        })
    }
}

/// Returns the mean number of rounds until `segment` packets have arrived, each lost with probability `p` in each
/// round: `Σ_{i>=0} 1 - (1 - p^i)^s`.
fn mean_rounds(p: f64, segment: u32) -> f64 {
    if p >= 1.0 {
        return f64::INFINITY;
    }
    if 1.0 - p < MIN_ARRIVING_SHARE {
        return rounds_near_one(p, segment);
    }
    let s = f64::from(segment);
    // The first round has p^0 = 1 and always happens.
    let (mut sum, mut power) = (1.0, 1.0);
    loop {
        power *= p;
        // 1 - (1 - p^i)^s, without loss of precision for small p^i.
        let term = -libm::expm1(s * libm::log1p(-power));
        sum += term;
        // The remainder is at most s·p^(i+1)/(1 - p).
        if s * power * p <= 1e-16 * sum * (1.0 - p) || term == 0.0 {
            return sum;
        }
    }
}

/// Returns the same for p near 1, where the sum converges too slowly. With p = e^-λ the sum is, by the Euler-Maclaurin
/// formula, H_s/λ + 1/2, where H_s is the s-th harmonic number. The next term is of the order of λ.
fn rounds_near_one(p: f64, segment: u32) -> f64 {
    harmonic_number(segment) / -libm::log(p) + 0.5
}

/// Returns 1 + 1/2 + ... + 1/n.
fn harmonic_number(n: u32) -> f64 {
    if n <= MAX_SUMMED_INDEX {
        return (1..=n).map(|k| 1.0 / f64::from(k)).sum();
    }
    let n = f64::from(n);
    libm::log(n) + EULER + 1.0 / (2.0 * n) - 1.0 / (12.0 * n * n)
}

/// Share of arriving packets below which the sum of the rounds is not computed term by term.
const MIN_ARRIVING_SHARE: f64 = 1e-4;
/// Largest index whose harmonic number is summed directly; beyond it the expansion is exact to the last digit.
const MAX_SUMMED_INDEX: u32 = 1000;
/// Euler's constant.
const EULER: f64 = 0.577_215_664_901_532_9;

/// Returns ThE for a window of `window` segments and `w_a` segments per round trip; `None` for a window of up to one
/// segment, whose efficiency is `t_s/D_s`.
fn throughput_efficiency(p: f64, window: f64, w_a: f64, segment: u32, form: Form) -> Option<f64> {
    if window <= 1.0 {
        return None;
    }
    if window >= 2.0 * w_a + 1.0 {
        return Some(1.0 - p);
    }
    let efficiency = within_a_window(p, window, w_a, segment, form);
    Some(match form {
        Form::Printed => efficiency,
        Form::Corrected => efficiency.min(1.0 - p),
    })
}

/// Returns ThE in the second and the third regime.
fn within_a_window(p: f64, window: f64, w_a: f64, segment: u32, form: Form) -> f64 {
    // Mean number of segments from one with a loss to the next. Without losses, all expressions below tend to their
    // ratio with it.
    let loss_spacing = -1.0 / libm::expm1(f64::from(segment) * libm::log1p(-p));
    if window <= w_a + 1.0 {
        return if loss_spacing.is_finite() {
            (loss_spacing + window) / (2.0 * w_a + 1.0 + p + (w_a + 1.0) / window * loss_spacing)
        } else {
            window / (w_a + 1.0)
        };
    }
    if !loss_spacing.is_finite() {
        return 1.0;
    }
    let m = (window - w_a).min(w_a * (1.0 - p));
    let waited = match form {
        Form::Printed => p + m,
        Form::Corrected => p * m,
    };
    (w_a + m + loss_spacing) / (2.0 * w_a + 1.0 + waited + loss_spacing)
}

#[cfg(test)]
#[path = "gong92_tests.rs"]
mod tests;
