//! Budget for bytes that the application did not ask for: acknowledgements, requests, retransmissions, answers, probes.
//!
//! The peer takes part in choosing the timers and rules of schemes, which have no limit on bytes sent per byte
//! received. This budget is that limit for all schemes. Everything except new application data is limited to the sum of
//! [`BUDGET_PER_RECEIVED_BYTE`] bytes per received byte, the amount of new data, and [`BUDGET_PER_SECOND`] bytes per second. A flow that
//! exhausts the budget is not polled until there is more; it neither loses data nor spins.
//!
//! An untrusted peer is sent at most [`UNAUTHENTICATED_CREDIT`] bytes plus [`AMPLIFICATION`](crate::peer_path::AMPLIFICATION) bytes per
//! byte received after the handshake, of whatever kind.

use crate::peer_path::AMPLIFICATION;
use thalweg_proto::units::{Duration, Time};

/// Bytes allowed per received byte.
pub const BUDGET_PER_RECEIVED_BYTE: u64 = 2;

/// Bytes allowed per second, independent of received data.
pub const BUDGET_PER_SECOND: u64 = 64 << 10;

/// Bytes allowed to an unauthenticated peer before anything is received, to acknowledge the confirm.
pub const UNAUTHENTICATED_CREDIT: u64 = 64;

/// Maximum receive memory for an unauthenticated peer, in bytes.
pub const UNAUTHENTICATED_MEMORY: u64 = 64 << 10;

/// Maximum accumulated budget, in bytes: twice the largest default window.
const MAX_BUDGET: u64 = 32 << 20;

/// Bytes that may be sent now.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Remaining budget, in bytes. Packets of unknown size may make it negative.
    bytes_left: i64,
    /// Time of the last refill.
    last_refill: Time,
    /// Bytes that an unauthenticated peer may be sent; `None` for an authorised peer.
    unauthenticated: Option<u64>,
    /// Bytes received in the handshake, reserved for a refusal.
    handshake: u64,
}

impl Budget {
    /// Creates the budget of a session that begins at `now`. `confirm` is the size of the confirm in bytes; `unauthenticated`
    /// is true for an unauthenticated peer.
    pub const fn new(now: Time, confirm: u64, unauthenticated: bool) -> Self {
        let unauthenticated = if unauthenticated { Some(UNAUTHENTICATED_CREDIT) } else { None };
        Self {
            bytes_left: BUDGET_PER_SECOND as i64,
            last_refill: now,
            unauthenticated,
            handshake: confirm * AMPLIFICATION,
        }
    }

    /// Marks the peer as authorised.
    pub fn authorise(&mut self) {
        self.unauthenticated = None;
    }

    /// Returns true if the peer is unauthenticated.
    pub const fn is_untrusted(&self) -> bool {
        self.unauthenticated.is_some()
    }

    /// Releases the handshake's bytes to send the close reason.
    pub fn close(&mut self) {
        if let Some(left) = &mut self.unauthenticated {
            *left += core::mem::take(&mut self.handshake);
        }
    }

    /// Credits received bytes.
    #[inline]
    pub fn on_received(&mut self, bytes: u64) {
        if let Some(left) = &mut self.unauthenticated {
            *left += bytes * AMPLIFICATION;
        }
        self.add(bytes * BUDGET_PER_RECEIVED_BYTE);
    }

    /// Charges sent bytes; new application data is credited instead.
    #[inline]
    pub fn on_sent(&mut self, bytes: u64, is_new: bool) {
        if let Some(left) = &mut self.unauthenticated {
            *left = left.saturating_sub(bytes);
        }
        if is_new {
            self.add(bytes);
        } else {
            // Datagrams are short.
            self.bytes_left -= bytes as i64;
        }
    }

    fn add(&mut self, bytes: u64) {
        self.bytes_left = self.bytes_left.saturating_add_unsigned(bytes).min(MAX_BUDGET as i64);
    }

    /// Returns the maximum size of the next datagram, in bytes.
    #[inline]
    pub const fn allowance(&self) -> u64 {
        match self.unauthenticated {
            Some(left) => left,
            None => u64::MAX,
        }
    }

    /// Checks that data other than new data may be sent at `now`. The error is the earliest time that allows it.
    #[inline]
    pub fn check(&mut self, now: Time) -> Result<(), Time> {
        if self.bytes_left < BUDGET_PER_SECOND as i64 {
            self.fill(now);
        } else {
            self.last_refill = now;
        }
        if self.bytes_left > 0 {
            Ok(())
        } else {
            Err(self.last_refill + refill_time(self.bytes_left.unsigned_abs() + 1))
        }
    }

    /// Adds the time-based refill, up to one second's worth.
    fn fill(&mut self, now: Time) {
        let nanos = now.since(self.last_refill).as_picos() / 1000;
        let refill = u128::from(nanos) * u128::from(BUDGET_PER_SECOND) / NANOS;
        // Saturation is harmless: any larger deficit is treated alike.
        let missing = BUDGET_PER_SECOND.saturating_add_signed(-self.bytes_left);
        if refill >= u128::from(missing) {
            (self.bytes_left, self.last_refill) = (BUDGET_PER_SECOND as i64, now);
        } else if refill > 0 {
            self.bytes_left += refill as i64;
            self.last_refill += refill_time(refill as u64);
        }
    }
}

const NANOS: u128 = 1_000_000_000;

/// Returns the time needed to refill `bytes`.
fn refill_time(bytes: u64) -> Duration {
    let nanos = (u128::from(bytes) * NANOS).div_ceil(u128::from(BUDGET_PER_SECOND));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// Sends as many packets of 60 bytes as allowed at each of these times.
    fn send_packets(budget: &mut Budget, times: impl Iterator<Item = u64>) -> u64 {
        times
            .map(|millis| {
                let mut bytes = 0;
                while budget.check(at(millis)).is_ok() {
                    budget.on_sent(60, false);
                    bytes += 60;
                    assert!(bytes < 1 << 30);
                }
                bytes
            })
            .sum()
    }

    #[test]
    fn the_budget_is_twice_the_received_bytes_plus_a_rate() {
        let mut budget = Budget::new(at(0), 200, false);
        // One second's worth at once, and ten more in ten seconds, independent of the polling rate.
        let all = send_packets(&mut budget, 0..=10_000);
        assert!((11 * BUDGET_PER_SECOND - 60..=11 * BUDGET_PER_SECOND + 60).contains(&all), "{all}");
        budget.on_received(1 << 20);
        let all = send_packets(&mut budget, 10_000..=10_000);
        assert!(((2 << 20) - 120..=(2 << 20) + 60).contains(&all), "{all}");
        // New data is not charged; it pays for as many bytes of retransmissions.
        budget.on_sent(100_000, true);
        assert!(send_packets(&mut budget, 10_000..=10_000).abs_diff(100_000) <= 120);
        // An hour of silence accumulates one second's worth.
        assert!(send_packets(&mut budget, [3_610_000].into_iter()).abs_diff(BUDGET_PER_SECOND) <= 120);
    }

    #[test]
    fn a_refusal_returns_the_time_of_the_next_refill() {
        let mut budget = Budget::new(at(0), 200, false);
        send_packets(&mut budget, 0..=0);
        let mut now = at(0);
        for _ in 0..1000 {
            let Err(next) = budget.check(now) else { panic!("nothing came") };
            assert!(next > now && budget.check(next).is_ok());
            assert!(next.since(now) <= Duration::from_millis(2));
            now = next;
            budget.on_sent(60, false);
        }
    }

    #[test]
    fn an_unauthenticated_peer_gets_three_bytes_per_byte() {
        let mut budget = Budget::new(at(0), 200, true);
        assert_eq!(budget.allowance(), UNAUTHENTICATED_CREDIT);
        budget.on_sent(42, false);
        budget.on_received(54);
        assert_eq!(budget.allowance(), UNAUTHENTICATED_CREDIT - 42 + 3 * 54);
        budget.on_sent(100, true);
        assert_eq!(budget.allowance(), UNAUTHENTICATED_CREDIT - 42 + 3 * 54 - 100);
        // A refused peer receives the reason.
        budget.close();
        budget.close();
        assert_eq!(budget.allowance(), UNAUTHENTICATED_CREDIT - 42 + 3 * 54 - 100 + 600);
        budget.authorise();
        assert_eq!(budget.allowance(), u64::MAX);
    }
}
