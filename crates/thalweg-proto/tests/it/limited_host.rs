//! Tests a sender on a host that limits it: drivers stop polling when they lack space, and handle received packets
//! first.

use std::sync::Arc;
use thalweg_proto::congestion::{Any, NewRenoConfig};
use thalweg_proto::payload::Length;
use thalweg_proto::transport::Input;
use thalweg_proto::units::{Duration, Time};
use thalweg_proto::window::{Ack, ControllerConfig, Pdu, Sender, SenderConfig};
use thalweg_proto::{Ecn, Engine, Output};

/// A sender in slow start with unlimited data.
struct Host {
    sender: Sender<Length, Any>,
    now: Time,
    sent: u64,
}

impl Host {
    fn new() -> Self {
        let controller = ControllerConfig::NewReno(NewRenoConfig {
            initial_window: 10.0,
            initial_ssthresh: f64::INFINITY,
            slow_start_exit: Default::default(),
            ecn_beta: None,
            slow_start_beta: None,
        });
        let config = SenderConfig { segment: 1000, byte_counting: u32::MAX, ..SenderConfig::default() };
        let controller = controller.shared().expect("it is listed");
        let mut sender = Sender::new(Arc::new(config), controller);
        sender.handle(Time::ZERO, Input::Write(Length(10_000_000)));
        Self { sender, now: Time::ZERO, sent: 0 }
    }

    /// Polls for `max` segments, a tenth of a second later, and acknowledges them one by one; returns the window.
    fn round(&mut self, max: u64) -> f64 {
        self.now += Duration::from_millis(100);
        let before = self.sent;
        while self.sent - before < max {
            match self.sender.poll(self.now) {
                Output::Transmit(_) => self.sent += 1,
                Output::Event(_) => {}
                Output::Timeout { .. } | Output::Idle => break,
            }
        }
        self.now += Duration::from_millis(100);
        let ack = Ack { cumulative: 1000 * self.sent, window: 1 << 30, ..Ack::default() };
        self.sender.handle(self.now, Input::Pdu { pdu: Pdu::Ack(ack), ecn: Ecn::NotEct });
        self.sender.stats(self.now).common.window.expect("it has one")
    }
}

/// RFC 9002, section 7.8: an unused window is not validated by the path, and does not grow.
#[test]
fn a_window_unused_by_the_host_does_not_grow() {
    let mut host = Host::new();
    assert_eq!(host.round(u64::MAX), 20.0);
    assert_eq!(host.round(u64::MAX), 40.0);
    for _ in 0..100 {
        assert_eq!(host.round(19), 40.0);
    }
    // Half of it is enough: the doubled window was used by then.
    assert_eq!(host.round(20), 60.0);
    assert_eq!(host.round(20), 60.0);
    // A sender limited by its window uses it.
    assert_eq!(host.round(u64::MAX), 120.0);
}
