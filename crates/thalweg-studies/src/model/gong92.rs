//! The analysis of two-level flow control: Gong and Parulkar 1992, section 4.1.
//!
//! A connection of rate A carries segments of s packets of l bytes. Each packet is lost with probability p on its own.
//! What is lost of a segment is sent again as soon as the sender knows, t_a after the last packet of a group left. The
//! formulas take W as a real number.
//!
//! The third regime of the throughput efficiency is printed in a form that jumps at its upper end, where it should meet
//! `1 - p`, and that lies below simulation by up to 0.3. With p times m, the time for resending what is lost of the
//! segments sent while waiting, in place of p and m apart, it meets the next regime up to p for small p (the step is 0.017
//! at p = 1e-2) and lies closely above simulation. The analysis is made for p up to 1e-2. Towards p = 1 the formulas
//! exceed the share of packets that arrive, 1 - p, which nothing can; the corrected form stops there. [`Form`] offers both;
//! [`Form::Corrected`] is the default.

use thalweg_proto::units::{Bytes, Duration, Rate};

/// A connection: what the formulas know of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// A: the rate.
    pub rate: Rate,
    /// RTD: the round-trip delay, without any packet's own time.
    pub round_trip: Duration,
    /// l: the size of a packet.
    pub packet: Bytes,
    /// s: the packets of a segment.
    pub segment: u32,
}

/// The form in which the third regime of the efficiency is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// With p·m in the denominator, and never above 1 - p.
    #[default]
    Corrected,
    /// As printed in the paper.
    Printed,
}

/// A quantity that the formulas have no value for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DomainError {
    /// The path has no rate, no packets or no segments.
    Path,
    /// A probability lies outside 0 to 1.
    Probability,
    /// A window is below 0 or not a number.
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

/// The results of the analysis of a path with a window and a loss probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Analysis {
    /// t_p: the time of a packet at rate A, in seconds.
    pub packet_time: f64,
    /// t_s = s·t_p, in seconds.
    pub segment_time: f64,
    /// t_a = RTD + 3·t_p, in seconds.
    pub acknowledgement_time: f64,
    /// w_a = t_a/t_s, in segments.
    pub round_trip_window: f64,
    /// The mean number of times that the packets of a segment go out before all have arrived.
    pub rounds: f64,
    /// D_s: the mean time from the start of a segment to its acknowledgement at the sender, in seconds.
    pub sender_delay: f64,
    /// D_r = D_s - RTD/2 - 3·t_p: the mean time from its start to its acceptance at the receiver, in seconds.
    pub receiver_delay: f64,
    /// ThE: the throughput efficiency, 0 to 1.
    pub efficiency: f64,
}

impl Path {
    /// Checks that all quantities are above zero.
    ///
    /// # Errors
    ///
    /// [`DomainError::Path`] if one is not.
    pub fn check(&self) -> Result<(), DomainError> {
        let is_whole = !self.rate.is_zero() && self.packet.get() > 0 && self.segment > 0;
        if is_whole { Ok(()) } else { Err(DomainError::Path) }
    }

    /// t_p in seconds.
    pub fn packet_time(&self) -> f64 {
        self.packet.get() as f64 * 8.0 / self.rate.as_f64()
    }

    /// t_s = s·t_p in seconds.
    pub fn segment_time(&self) -> f64 {
        f64::from(self.segment) * self.packet_time()
    }

    /// t_a = RTD + 3·t_p in seconds.
    pub fn acknowledgement_time(&self) -> f64 {
        self.round_trip.as_secs_f64() + 3.0 * self.packet_time()
    }

    /// w_a = t_a/t_s: the segments sent in one round trip.
    pub fn round_trip_window(&self) -> f64 {
        self.acknowledgement_time() / self.segment_time()
    }

    /// Everything at once, for a window of `window` segments and losses with probability `p`.
    ///
    /// # Errors
    ///
    /// [`DomainError`] when the path is empty, or `p` or `window` is outside its range.
    pub fn analyse(&self, p: f64, window: f64, form: Form) -> Result<Analysis, DomainError> {
        self.check()?;
        if !(0.0..=1.0).contains(&p) {
            return Err(DomainError::Probability);
        }
        if window.is_nan() || window <= 0.0 {
            return Err(DomainError::Window);
        }
        let (segment_time, round_trip) = (self.segment_time(), self.acknowledgement_time());
        let rounds = rounds(p, self.segment);
        // Nothing arrives where everything is lost; infinity times zero is no number.
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
            efficiency: efficiency(p, window, self.round_trip_window(), self.segment, form)
                .unwrap_or(segment_time / sender_delay),
        })
    }
}

/// The mean number of rounds until `segment` packets have arrived, each lost with probability `p` in each round:
/// `Σ_{i>=0} 1 - (1 - p^i)^s`.
fn rounds(p: f64, segment: u32) -> f64 {
    if p >= 1.0 {
        return f64::INFINITY;
    }
    if 1.0 - p < SLOW {
        return rounds_near_one(p, segment);
    }
    let s = f64::from(segment);
    // The first round has p^0 = 1 and always happens.
    let (mut sum, mut power) = (1.0, 1.0);
    loop {
        power *= p;
        // 1 - (1 - p^i)^s, without the loss of digits for small p^i.
        let term = -libm::expm1(s * libm::log1p(-power));
        sum += term;
        // What is left is at most s·p^(i+1)/(1 - p).
        if s * power * p <= 1e-16 * sum * (1.0 - p) || term == 0.0 {
            return sum;
        }
    }
}

/// The same where so much is lost that the sum would take for ever. With p = e^-λ it is an integral and what Euler and
/// Maclaurin add to it: H_s/λ + 1/2, where H_s is the s-th harmonic number. The next term is of the order of λ.
fn rounds_near_one(p: f64, segment: u32) -> f64 {
    harmonic(segment) / -libm::log(p) + 0.5
}

/// 1 + 1/2 + ... + 1/n.
fn harmonic(n: u32) -> f64 {
    if n <= FEW {
        return (1..=n).map(|k| 1.0 / f64::from(k)).sum();
    }
    let n = f64::from(n);
    libm::log(n) + EULER + 1.0 / (2.0 * n) - 1.0 / (12.0 * n * n)
}

/// Below this share of packets that arrive the sum of the rounds is not taken term by term.
const SLOW: f64 = 1e-4;
/// Up to this number the harmonic numbers are added up; beyond it their expansion is exact to the last digit.
const FEW: u32 = 1000;
/// Euler's constant.
const EULER: f64 = 0.577_215_664_901_532_9;

/// ThE for a window of `window` segments where `w_a` are sent in a round trip; `None` for a window of up to one segment,
/// whose efficiency is `t_s/D_s`.
fn efficiency(p: f64, window: f64, w_a: f64, segment: u32, form: Form) -> Option<f64> {
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

/// The second and the third regime.
fn within_a_window(p: f64, window: f64, w_a: f64, segment: u32, form: Form) -> f64 {
    // The mean number of segments from one that loses a packet to the next. Without losses, all expressions below go
    // to the ratio of what they have with it.
    let apart = -1.0 / libm::expm1(f64::from(segment) * libm::log1p(-p));
    if window <= w_a + 1.0 {
        return if apart.is_finite() {
            (apart + window) / (2.0 * w_a + 1.0 + p + (w_a + 1.0) / window * apart)
        } else {
            window / (w_a + 1.0)
        };
    }
    if !apart.is_finite() {
        return 1.0;
    }
    let m = (window - w_a).min(w_a * (1.0 - p));
    let waited = match form {
        Form::Printed => p + m,
        Form::Corrected => p * m,
    };
    (w_a + m + apart) / (2.0 * w_a + 1.0 + waited + apart)
}

#[cfg(test)]
#[path = "gong92_tests.rs"]
mod tests;
