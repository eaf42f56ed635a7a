//! The protocols that can be explored.

use super::{Bounds, Outcome, Scheme, Tag, search};
use std::sync::Arc;
use thalweg_proto::aack;
use thalweg_proto::congestion::Fixed;
use thalweg_proto::units::Duration;
use thalweg_proto::window::{self, ReceiverConfig, Recovery, RttConfig, SenderConfig};

/// Names and what they are.
pub const SCHEMES: [(&str, &str); 4] = [
    ("adaptive-ack", "adaptive acknowledgement (Lee et al. 1997)"),
    ("sack", "the window transport, a fixed window, repair by selective acknowledgement"),
    ("newreno", "the same, repair by partial acknowledgement"),
    ("go-back-n", "the same, everything after a loss sent again"),
];

/// Explores the scheme of that name; `None` if there is none. See [`search`].
pub fn explore(name: &str, bounds: &Bounds, show: impl FnMut(u64, u64) -> bool) -> Option<Outcome> {
    let recovery = match name {
        "adaptive-ack" => return Some(search(&AdaptiveAck::default(), bounds, show)),
        "sack" => Recovery::Sack,
        "newreno" => Recovery::NewReno,
        "go-back-n" => Recovery::GoBackN,
        _ => return None,
    };
    Some(search(&Window { recovery }, bounds, show))
}

/// Adaptive acknowledgement; the paper's times by default.
#[derive(Clone, Copy, Debug, Default)]
pub struct AdaptiveAck(pub aack::Config);

impl Scheme for AdaptiveAck {
    type Pdu = aack::Pdu<Tag>;
    type Sender = aack::Transmitter<Tag>;
    type Receiver = aack::Receiver<Tag>;

    fn ends(&self, bounds: &Bounds) -> (Self::Sender, Self::Receiver) {
        let config = Arc::new(aack::Config { segment: 1, window: bounds.window, ..self.0 });
        (aack::Transmitter::new(Arc::clone(&config)), aack::Receiver::new(config))
    }

    fn say(&self, pdu: &Self::Pdu) -> String {
        match pdu {
            aack::Pdu::Data(data) => format!("DATA {}", data.sequence),
            aack::Pdu::Ack(report) => {
                format!("ACK (({}, {}), {})", report.gap_in, report.gap_out, report.cumulative)
            }
        }
    }

    fn asked(&self, receiver: &Self::Receiver) -> Option<u64> {
        receiver.is_missing().then(|| receiver.expected())
    }

    /// The receiver reports every T_normal.
    fn check_rest(&self, periods: &[Duration]) -> Result<(), String> {
        match periods.iter().find(|&&period| period != self.0.normal) {
            Some(period) => Err(format!(
                "everything is repaired, and yet the receiver reports every {period} in place of every {}",
                self.0.normal
            )),
            None => Ok(()),
        }
    }
}

/// The window transport with a fixed window. Time-outs are always the same, so that states do not differ by round-trip
/// times that an exploration makes up.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// How losses are repaired.
    pub recovery: Recovery,
}

impl Scheme for Window {
    type Pdu = window::Pdu<Tag>;
    type Sender = window::Sender<Tag, Fixed>;
    type Receiver = window::Receiver<Tag>;

    fn ends(&self, bounds: &Bounds) -> (Self::Sender, Self::Receiver) {
        let always = Duration::from_secs(1);
        let rtt = RttConfig { initial: always, floor: always, ceiling: always, ..RttConfig::default() };
        let sender = SenderConfig { segment: 1, recovery: self.recovery, rtt, ..SenderConfig::default() };
        let receiver = ReceiverConfig { sack: self.recovery == Recovery::Sack, ..ReceiverConfig::default() };
        let controller = Fixed::new(f64::from(bounds.window));
        (window::Sender::new(Arc::new(sender), controller), window::Receiver::new(Arc::new(receiver)))
    }

    /// Bytes are packets here, and counted from 1 as in what is delivered.
    fn say(&self, pdu: &Self::Pdu) -> String {
        match pdu {
            window::Pdu::Segment(segment) => format!("segment {}", segment.sequence + 1),
            window::Pdu::Ack(ack) => {
                let held = ack.sack.iter().filter(|block| !block.is_empty());
                let held: String = held
                    .map(|block| {
                        let at = |offset: u32| ack.cumulative + u64::from(offset);
                        format!(", holds {} to {}", at(block.start) + 1, at(block.end))
                    })
                    .collect();
                format!("ack of all before {}{held}", ack.cumulative + 1)
            }
        }
    }
}
