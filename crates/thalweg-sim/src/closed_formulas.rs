//! Closed formulas of the literature, for comparison with simulations: the rate of TCP under loss, waiting times, and
//! the capacity of paths and queues. Windows are in segments, times in seconds, rates in bit/s, probabilities from 0 to
//! 1. A value outside a formula's domain gives `None`.

/// Returns the mean window of Reno with random or periodic loss: sqrt(3 / (2 b p)) segments, where each acknowledgement
/// covers `b` segments (Mathis, Semke, Mahdavi and Ott 1997, "The Macroscopic Behavior of the TCP Congestion Avoidance
/// Algorithm", section 2). The formula ignores timeouts and is too high for p above 1 %.
pub fn mathis_window(p: f64, b: f64) -> Option<f64> {
    (is_loss_probability(p) && b > 0.0).then(|| libm::sqrt(1.5 / (b * p)))
}

/// Returns the rate of Reno in segments sent a second, timeouts included; 1 - p of them arrive (Padhye, Firoiu,
/// Towsley and Kurose 1998, "Modeling TCP Throughput", equation 32). `rtt` and the first timeout `t0` are in seconds,
/// each acknowledgement covers `b` segments, and the receive window is `max_window` segments.
pub fn padhye_rate(p: f64, rtt: f64, t0: f64, b: f64, max_window: f64) -> Option<f64> {
    if !(is_loss_probability(p) && p < 1.0 && rtt > 0.0 && t0 >= 0.0 && b > 0.0 && max_window >= 1.0) {
        return None;
    }
    let arrives = 1.0 - p;
    let third = (2.0 + b) / (3.0 * b);
    let unlimited = third + libm::sqrt(8.0 * arrives / (3.0 * b * p) + third * third);
    // The probability that a loss in a window of w segments is detected by a timeout: equation 24.
    let by_timeout = |w: f64| {
        let three = libm::pow(arrives, 3.0);
        let found = (1.0 - three) * (1.0 + three * (1.0 - libm::pow(arrives, w - 3.0)));
        (found / (1.0 - libm::pow(arrives, w))).min(1.0)
    };
    let backoffs = 1.0
        + p
        + 2.0 * p * p
        + 4.0 * libm::pow(p, 3.0)
        + 8.0 * libm::pow(p, 4.0)
        + 16.0 * libm::pow(p, 5.0)
        + 32.0 * libm::pow(p, 6.0);
    let window = unlimited.min(max_window);
    let timeout = by_timeout(window);
    let rounds = if unlimited < max_window {
        b / 2.0 * unlimited + 1.0
    } else {
        b / 8.0 * max_window + arrives / (p * max_window) + 2.0
    };
    let sent = arrives / p + window + timeout / arrives;
    Some(sent / (rtt * rounds + timeout * t0 * backoffs / arrives))
}

/// Returns the mean window of CUBIC with one loss in 1/p segments, in segments: the larger one of its concave region,
/// (C (3 + beta) / (4 (1 - beta)))^(1/4) (rtt / p)^(3/4) with `c` in segments/s³ (RFC 9438, section 5.1, equation 5), and
/// its Reno-friendly region, which is Reno's window sqrt(3 / (2 p)) for any beta (section 4.3). Timeouts are ignored.
pub fn cubic_window(p: f64, rtt: f64, c: f64, beta: f64) -> Option<f64> {
    Some(cubic_curve_window(p, rtt, c, beta)?.max(mathis_window(p, 1.0)?))
}

/// Returns true if CUBIC is in its Reno-friendly region, where the window of [`cubic_window`] is Reno's.
pub fn is_reno_friendly(p: f64, rtt: f64, c: f64, beta: f64) -> Option<bool> {
    Some(cubic_curve_window(p, rtt, c, beta)? < mathis_window(p, 1.0)?)
}

/// Returns the mean window of CUBIC's curve alone.
fn cubic_curve_window(p: f64, rtt: f64, c: f64, beta: f64) -> Option<f64> {
    (is_loss_probability(p) && rtt > 0.0 && c > 0.0 && (0.0..1.0).contains(&beta))
        .then(|| libm::pow(c * (3.0 + beta) / (4.0 * (1.0 - beta)), 0.25) * libm::pow(rtt / p, 0.75))
}

/// Returns the mean wait in the queue of M/G/1, in service times: rho (1 + v) / (2 (1 - rho)), where `v` is the squared
/// coefficient of variation of the service times (Pollaczek 1930, Khinchine 1932). M/D/1 has v = 0, M/M/1 has v = 1. By
/// Little's law the mean queue is rho times this, in packets.
pub fn mg1_wait(rho: f64, v: f64) -> Option<f64> {
    ((0.0..1.0).contains(&rho) && v >= 0.0).then(|| rho * (1.0 + v) / (2.0 * (1.0 - rho)))
}

/// Returns the blocking probability of M/M/1/K with room for `k` packets, the one in service included: (1 - rho) rho^k
/// / (1 - rho^(k + 1)), and 1 / (k + 1) at rho = 1 (Kleinrock 1975, "Queueing Systems", volume 1, section 3.6).
pub fn mm1k_blocked(rho: f64, k: f64) -> Option<f64> {
    if !(rho >= 0.0 && k >= 1.0) {
        return None;
    }
    Some(if rho == 1.0 {
        1.0 / (k + 1.0)
    } else {
        (1.0 - rho) * libm::pow(rho, k) / (1.0 - libm::pow(rho, k + 1.0))
    })
}

/// Returns the bandwidth-delay product in bytes, from the rate in bit/s and the round-trip time in seconds. A buffer of
/// this size keeps the link busy while one Reno flow, or several synchronised ones, halve their windows (Villamizar and
/// Song 1994, "High Performance TCP in ANSNET").
pub fn bdp_bytes(rate: f64, rtt: f64) -> Option<f64> {
    (rate >= 0.0 && rtt >= 0.0).then_some(rate * rtt / 8.0)
}

/// Returns the buffer in bytes that suffices for `flows` desynchronised flows: the bandwidth-delay product over sqrt(n)
/// (Appenzeller, Keslassy and McKeown 2004, "Sizing Router Buffers").
pub fn small_buffer_bytes(rate: f64, rtt: f64, flows: f64) -> Option<f64> {
    bdp_bytes(rate, rtt).filter(|_| flows >= 1.0).map(|bdp| bdp / libm::sqrt(flows))
}

fn is_loss_probability(p: f64) -> bool {
    p > 0.0 && p <= 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_close(value: Option<f64>, expected: f64, tolerance: f64) {
        let value = value.unwrap();
        assert!((value / expected - 1.0).abs() <= tolerance, "{value} instead of {expected}");
    }

    /// RFC 9438, tables 1 and 2: the mean windows of Reno (1.2 / sqrt(p)) and CUBIC at a round trip of 100 ms and 10 ms.
    #[test]
    fn responses_agree_with_the_tables_of_rfc_9438() {
        for (p, reno) in [(1e-2, 12.0), (1e-3, 38.0), (1e-4, 120.0), (1e-6, 1200.0)] {
            assert_close(mathis_window(p, 1.0), reno * 1.5f64.sqrt() / 1.2, 0.002);
        }
        // Round trips of 100 ms, then 10 ms. In the Reno-friendly region the tables have 1.2 / sqrt(p), rounded down.
        for (rtt, p, window) in [
            (0.1, 1e-2, 12.0),
            (0.1, 1e-3, 38.0),
            (0.1, 1e-4, 187.0),
            (0.1, 1e-6, 5926.0),
            (0.01, 1e-4, 120.0),
            (0.01, 1e-6, 1200.0),
            (0.01, 1e-8, 33_325.0),
        ] {
            let is_reno_friendly = is_reno_friendly(p, rtt, 0.4, 0.7).unwrap();
            assert_eq!(is_reno_friendly, [12.0, 38.0, 120.0, 1200.0].contains(&window), "{window}");
            assert_close(
                cubic_window(p, rtt, 0.4, 0.7),
                window,
                if is_reno_friendly { 0.025 } else { 0.003 },
            );
        }
        assert_close(cubic_window(1e-8, 0.1, 0.4, 0.7), 187_394.0, 0.001);
    }

    /// With few losses timeouts are rare, and both models of Reno agree to a few percent; with many losses they do
    /// not.
    #[test]
    fn padhye_meets_mathis_where_losses_are_rare() {
        let rtt = 0.1;
        let rate = |p: f64| {
            padhye_rate(p, rtt, 0.3, 1.0, f64::INFINITY).unwrap() * rtt / mathis_window(p, 1.0).unwrap()
        };
        assert!((rate(1e-5) - 1.0).abs() < 0.02, "{}", rate(1e-5));
        assert!(rate(1e-2) < 0.95 && rate(0.1) < 0.65, "{} {}", rate(1e-2), rate(0.1));
        // With rare losses a small receive window limits the rate: Wm a round trip.
        let limited = padhye_rate(1e-6, rtt, 0.3, 1.0, 20.0).unwrap() * rtt;
        assert!((limited / 20.0 - 1.0).abs() < 0.01, "{limited}");
    }

    #[test]
    fn queues_of_known_values() {
        assert_close(mg1_wait(0.5, 0.0), 0.5, 1e-12);
        assert_close(mg1_wait(0.5, 1.0), 1.0, 1e-12);
        assert_close(mg1_wait(0.8, 1.0 / 3.0), 8.0 / 3.0, 1e-12);
        assert_close(mm1k_blocked(1.0, 4.0), 0.2, 1e-12);
        assert_close(mm1k_blocked(0.5, 1.0), 1.0 / 3.0, 1e-12);
        // 100 Mbit/s for 80 ms are 1 MB; a hundred flows need a tenth of it.
        assert_close(bdp_bytes(1e8, 0.08), 1e6, 1e-12);
        assert_close(small_buffer_bytes(1e8, 0.08, 100.0), 1e5, 1e-12);
    }

    #[test]
    fn arguments_outside_the_domain_have_no_value() {
        assert_eq!(
            (mathis_window(0.0, 1.0), mathis_window(1.5, 1.0), mathis_window(f64::NAN, 1.0)),
            (None, None, None)
        );
        assert_eq!((mg1_wait(1.0, 0.0), mg1_wait(-0.1, 0.0), mm1k_blocked(0.5, 0.0)), (None, None, None));
        assert_eq!((padhye_rate(1.0, 0.1, 0.3, 1.0, 9.0), cubic_window(1e-3, 0.1, 0.4, 1.0)), (None, None));
        assert_eq!(small_buffer_bytes(1e8, 0.1, 0.0), None);
    }
}
