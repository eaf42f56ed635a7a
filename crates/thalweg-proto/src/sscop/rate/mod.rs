//! Rate-based flow control for SSCOP (Chen and Chen 1999).
//!
//! The source spaces its SDs in a pattern that probes for up to twice its rate ([`probing_pacer`]). The receiver estimates the
//! granted rate from the spacing of arrivals, and reports it in STAT and USTAT ([`receiver_rate_estimator`]). The source corrects
//! that rate by the queueing delay of its POLLs ([`queueing_delay_control`]).
//!
//! # Differences from the paper
//!
//! The printed rules ([`RateConfig::literal`]) fill the bottleneck's queue and lose packets continuously. In a busy
//! FIFO, the probing pattern measures about 2λ/(1+λ) of the capacity instead of the share λ, and the lowest third of
//! the spacings selects the pairs with the fewest PDUs of other sources between them. [`RateConfig::amended`] adds the
//! amendments that reproduce the paper's results:
//!
//! | paper | ours | reason | effect |
//! | --- | --- | --- | --- |
//! | the probed rate is the base of every correction | with a backlog above 1 PDU the base is the smaller of it and the rate of acknowledged PDUs ([`Base::Delivered`]) | the probe overestimates on a busy link; it is meant for unused capacity | the queue settles, and shares become equal |
//! | a backlog above α is corrected in one period | half of it ([`RateConfig::gain`]) | the POLL observes a correction one round trip late | no lasting oscillation |
//! | without backlog the rate is the probed one | after the start it exceeds the delivery rate by at most a tenth, or grows by 1 PDU a period ([`RateConfig::growth`]) | all sources would double at once when the queue empties; with a quarter, links of 5 ms stay in a limit cycle | fewer losses after a change of capacity |
//! | POLL at once when STAT has arrived | directly after the next SD ([`RateConfig::poll_behind_data`]) | a short POLL catches up with a larger SD at every hop and waits, so long paths measure a queue that does not exist | long paths get their share |
//! | fewer than three arrivals in a period give no rate | arrivals are kept until there are three ([`RateConfig::keep_records`]) | otherwise a source at 1 PDU a round trip never gets a rate | slow sources start |

pub mod probing_pacer;
pub mod queueing_delay_control;
pub mod receiver_rate_estimator;

use super::SequenceNumber;
use crate::units::{Duration, Rate, Time};
use probing_pacer::Pacer;
use queueing_delay_control::Control;
use receiver_rate_estimator::ReceiverRateEstimator;

/// Rate in a STAT or USTAT: a floating-point number of 16 bits, 6 of exponent and 10 of mantissa.
///
/// A 32-bit rate would change the format of STAT and USTAT, and a peer without rate control would read it as list
/// elements. The upper octets of W2 and W3 are reserved, and ignored by such a peer. The encoded value is within 0.05 %
/// of the rate; all bits 0 mean "no rate".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RateField(u16);

const MANTISSA_BITS: u32 = 10;
const MAX_EXPONENT: u32 = 54;

impl RateField {
    /// Returns the nearest value, at least 1 bit/s.
    pub fn new(rate: Rate) -> Self {
        let bits = rate.as_bits_per_sec().max(1);
        let shift = (64 - bits.leading_zeros()).saturating_sub(MANTISSA_BITS + 1);
        if shift == 0 && bits < 1 << MANTISSA_BITS {
            return Self(bits as u16);
        }
        // Rounds to nearest; a carry into the exponent is correct.
        let half = if shift == 0 { 0 } else { 1u64 << (shift - 1) };
        let mantissa = (bits.saturating_add(half) >> shift) - (1 << MANTISSA_BITS);
        let maximum = (u64::from(MAX_EXPONENT) << MANTISSA_BITS) | ((1 << MANTISSA_BITS) - 1);
        Self(((u64::from(shift + 1) << MANTISSA_BITS) + mantissa).min(maximum) as u16)
    }

    /// Returns the rate.
    pub fn rate(self) -> Rate {
        let exponent = u32::from(self.0 >> MANTISSA_BITS).min(MAX_EXPONENT);
        let mantissa = u64::from(self.0) & ((1 << MANTISSA_BITS) - 1);
        Rate::from_bits_per_sec(if exponent == 0 {
            mantissa
        } else {
            (mantissa + (1 << MANTISSA_BITS)) << (exponent - 1)
        })
    }

    pub(super) fn to_octets(self) -> [u8; 2] {
        self.0.to_be_bytes()
    }

    pub(super) fn from_octets(octets: [u8; 2]) -> Option<Self> {
        let bits = u16::from_be_bytes(octets);
        (bits != 0).then_some(Self(bits))
    }

    /// Returns the 16 bits.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Creates a field from its 16 bits; `None` for 0.
    pub const fn from_bits(bits: u16) -> Option<Self> {
        if bits == 0 { None } else { Some(Self(bits)) }
    }
}

/// Unit of sizes and rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SizeUnit {
    /// Octets of PDUs.
    Bytes,
    /// ATM cells of 53 octets, including AAL5's trailer.
    Cells,
}

impl SizeUnit {
    /// Returns the size of a PDU of `length` octets in this unit.
    pub const fn size(self, length: u32) -> u32 {
        match self {
            Self::Bytes => length,
            Self::Cells => (length + 8).div_ceil(48),
        }
    }

    /// Returns the size of one unit in bits.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Bytes => 8,
            Self::Cells => 53 * 8,
        }
    }
}

/// Probing pattern of the source, and its evaluation at the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Probing {
    /// Spacings alternate between a half and one and a half intervals; the receiver uses the lowest third (Chen and
    /// Chen).
    Spacing,
    /// Back-to-back pairs; the receiver uses the spacing within pairs (Keshav 1991).
    PacketPair,
}

/// Base rate of queueing-delay control at a backlog above one PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// The probed rate, as printed.
    Probed,
    /// The smaller of the probed rate and the delivery rate of acknowledged PDUs.
    Delivered,
}

/// Parameters of rate control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateConfig {
    /// Initial rate.
    pub start: Rate,
    /// Maximum rate: the link's.
    pub max: Rate,
    /// Size of a full SD in octets, the "PDU" of the rules below.
    pub pdu: u32,
    /// Unit of sizes and rates.
    pub unit: SizeUnit,
    /// Probing pattern of the source.
    pub probing: Probing,
    /// Target backlog of a source, in PDUs (α).
    pub alpha: f64,
    /// Base rate of the correction for a backlog.
    pub base: Base,
    /// Share of the backlog above α that is drained per period, above 0 to 1.
    pub gain: f64,
    /// After the first backlog, maximum rate of a source without backlog, as a multiple of the delivery rate; `None`
    /// for no bound.
    pub growth: Option<f64>,
    /// Send a POLL immediately after an SD.
    pub poll_behind_data: bool,
    /// Keep arrivals over several POLLs until there are three.
    pub keep_records: bool,
    /// Minimum timeout of a POLL.
    pub poll_floor: Duration,
    /// Maximum timeout of a POLL, which bounds the doubling. At a loss rate of a quarter, half of the POLLs remain
    /// unanswered; with a long timeout, a sender with only retransmissions waits for it repeatedly.
    pub poll_ceiling: Duration,
    /// Drain interval. A source that has not observed an empty queue for this long sends at half its rate for two
    /// periods. All sources then observe the empty queue and restart their intervals. A source that started on a
    /// standing queue then learns the true minimum round-trip time.
    pub drain_interval: Option<Duration>,
    /// Jitter tolerance. Round-trip times that exceed the minimum by no more than this, and by no more than a quarter,
    /// count as queue-free. Hosts answer late: at 100 Mbit/s, a tenth of a millisecond is a backlog of one PDU, at
    /// which a source no longer grows beyond its delivery rate.
    pub jitter: Duration,
}

impl RateConfig {
    /// Returns the rules as printed.
    pub fn literal() -> Self {
        Self {
            start: Rate::from_mbits_per_sec(4),
            max: Rate::from_mbits_per_sec(100),
            pdu: 512,
            unit: SizeUnit::Bytes,
            probing: Probing::Spacing,
            alpha: 3.0,
            base: Base::Probed,
            gain: 1.0,
            growth: None,
            poll_behind_data: false,
            keep_records: false,
            poll_floor: Duration::from_millis(10),
            poll_ceiling: Duration::from_secs(10),
            drain_interval: None,
            jitter: Duration::ZERO,
        }
    }

    /// Returns the rules with the amendments that make them work.
    pub fn amended() -> Self {
        Self {
            base: Base::Delivered,
            gain: 0.5,
            growth: Some(1.1),
            poll_behind_data: true,
            keep_records: true,
            ..Self::literal()
        }
    }

    /// Returns the configuration with every value clamped to its range.
    #[must_use]
    pub fn in_range(self) -> Self {
        let finite =
            |value: f64, min: f64, max: f64| if value.is_nan() { min } else { value.clamp(min, max) };
        let max = self.max.max(Rate::from_bits_per_sec(1));
        Self {
            start: self.start.max(Rate::from_bits_per_sec(1)).min(max),
            max,
            pdu: self.pdu.clamp(4, 1 << 20),
            alpha: finite(self.alpha, 0.0, 1e6),
            gain: finite(self.gain, 1e-3, 1.0),
            growth: self.growth.map(|growth| finite(growth, 1.0, 1e3)),
            ..self
        }
    }

    /// Returns the size of a full SD in bits.
    fn pdu_bits(&self) -> f64 {
        f64::from(self.unit.size(self.pdu)) * f64::from(self.unit.bits())
    }
}

/// Rate control of one endpoint, as source and receiver.
#[derive(Clone, Debug)]
pub(super) struct RateControl {
    config: RateConfig,
    pacer: Pacer,
    control: Control,
    estimator: ReceiverRateEstimator,
    /// A POLL must follow the next SD.
    poll_due: bool,
}

impl RateControl {
    pub fn new(config: RateConfig) -> Self {
        Self {
            pacer: Pacer::new(config.probing),
            control: Control::new(config),
            estimator: ReceiverRateEstimator::new(config.unit, config.probing, config.keep_records),
            poll_due: true,
            config,
        }
    }

    /// Resets the state for a new connection or a new path.
    pub fn restart(&mut self) {
        *self = Self::new(self.config);
    }

    pub fn rate(&self) -> Rate {
        self.control.rate()
    }

    /// Returns the departure time of the next SD. The first of a pair is the one with an even number.
    pub fn due(&mut self, length: u32, again: bool, s: SequenceNumber) -> Time {
        let second = !again && s.get() % 2 == 1;
        self.pacer.due(self.size(length), self.control.rate_in_units(), second)
    }

    pub fn on_sent(&mut self, now: Time, length: u32) {
        self.pacer.on_sent(now, self.size(length));
    }

    /// Records the departure time of a waiting SD, if any, after a poll of the engine.
    pub fn wait(&mut self, turn: Option<Time>) {
        self.pacer.wait(turn);
    }

    fn size(&self, length: u32) -> u32 {
        self.config.unit.size(length)
    }

    /// Returns true if a POLL must follow the SD being sent.
    pub fn takes_poll_behind_data(&mut self) -> bool {
        core::mem::take(&mut self.poll_due)
    }

    /// Handles the answer to the last POLL; returns true if the next POLL must be sent at once.
    pub fn wants_poll(&mut self) -> bool {
        self.poll_due = self.config.poll_behind_data;
        !self.config.poll_behind_data
    }

    pub fn on_poll_sent(&mut self) {
        self.poll_due = false;
    }

    pub fn on_poll_timeout(&mut self) {
        self.control.on_poll_timeout();
    }

    /// Returns the timeout of a POLL; `otherwise` before the first round-trip sample.
    pub fn poll_timeout(&self, otherwise: Duration) -> Duration {
        self.control.poll_timeout().unwrap_or(otherwise)
    }

    pub fn on_stat(&mut self, now: Time, rtt: Duration, acknowledged: u64, field: Option<RateField>) {
        self.control.on_stat(now, rtt, acknowledged, field.map(RateField::rate));
    }

    pub fn on_ustat(&mut self, field: Option<RateField>) {
        self.control.on_ustat(field.map(RateField::rate));
    }

    pub fn on_arrival(&mut self, now: Time, length: u32, s: SequenceNumber, gap: bool) {
        self.estimator.on_arrival(now, length, s, gap);
    }

    /// Returns the rate for a USTAT.
    pub fn rate_on_loss(&mut self) -> Option<RateField> {
        self.estimator.rate_on_loss()
    }

    /// Returns the rate for a STAT.
    pub fn take_rate(&mut self) -> Option<RateField> {
        self.estimator.take_rate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_field_is_within_a_twentieth_of_a_percent() {
        for bits in
            (0..63).flat_map(|shift| [1u64 << shift, (1 << shift) + (1 << shift) / 3, (2 << shift) - 1])
        {
            let read = RateField::new(Rate::from_bits_per_sec(bits)).rate().as_f64();
            assert!((read / bits as f64 - 1.0).abs() <= 0.0005, "{bits}: {read}");
        }
        for bits in [0, 1, 1023, 1024, 1025, 2047, 2048] {
            let field = RateField::new(Rate::from_bits_per_sec(bits));
            assert_eq!(field.rate().as_bits_per_sec(), bits.max(1));
        }
        assert!(RateField::new(Rate::MAX).rate().as_f64() > 1.8e19);
        // Any bit pattern of a peer decodes to some rate.
        for bits in 1..=u16::MAX {
            let field = RateField::from_bits(bits).map(RateField::rate);
            assert!(field.is_some_and(|rate| !rate.is_zero()));
        }
    }
}
