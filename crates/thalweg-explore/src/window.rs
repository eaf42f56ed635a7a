//! The window transport as a protocol to explore.

use super::{Bounds, Scheme, Tag};
use std::sync::Arc;
use thalweg_proto::congestion::{FixedWindow, FixedWindowConfig};
use thalweg_proto::units::Duration;
use thalweg_proto::window::{self, ReceiverConfig, Recovery, RttConfig, SenderConfig};

/// The window transport with a fixed window. Timeouts are constant; otherwise states would differ by round-trip times,
/// and these are arbitrary in an exploration.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Loss recovery method.
    pub recovery: Recovery,
}

impl Scheme for Window {
    type Pdu = window::Pdu<Tag>;
    type Sender = window::Sender<Tag, FixedWindow>;
    type Receiver = window::Receiver<Tag>;

    fn ends(&self, bounds: &Bounds) -> (Self::Sender, Self::Receiver) {
        let always = Duration::from_secs(1);
        let rtt = RttConfig { initial: always, floor: always, ceiling: always, ..RttConfig::default() };
        let sender = SenderConfig { segment: 1, recovery: self.recovery, rtt, ..SenderConfig::default() };
        let base = ReceiverConfig { sack: self.recovery == Recovery::Sack, ..ReceiverConfig::default() };
        // Unread data closes the window only if the receive window is as small as the sender's.
        let receiver = if bounds.slow_reader {
            ReceiverConfig { window: bounds.window.into(), wait_for_consumption: true, ..base }
        } else {
            base
        };
        let controller = FixedWindow::new(&FixedWindowConfig { window: f64::from(bounds.window) });
        (window::Sender::new(Arc::new(sender), controller), window::Receiver::new(Arc::new(receiver)))
    }
}
