//! The window transport with a congestion controller and the full loss recovery of live senders.

use super::{Bounds, Scheme, Tag};
use core::hash::Hash;
use std::sync::Arc;
use thalweg_proto::congestion::{
    Any, Bbr, BbrConfig, ConfigureController, Controller, CopaConfig, CubicConfig, DctcpConfig,
    LedbatPlusPlusConfig, NewRenoConfig, PragueConfig, SlowStartExit,
};
use thalweg_proto::state_digest::Digest;
use thalweg_proto::units::Duration;
use thalweg_proto::window::{
    self, ControllerConfig, RackConfig, ReceiverConfig, Recovery, RttConfig, SenderConfig, SenderReason,
    Validation,
};

/// Names of schemes with a controller, and their descriptions.
pub(crate) const CONTROLLED_SCHEMES: [(&str, &str); 7] = [
    ("sack-newreno", "NewReno with RACK, tail loss probes, PRR, F-RTO, undo and window validation"),
    ("sack-cubic", "the same with CUBIC and HyStart++"),
    ("sack-dctcp", "the same with DCTCP"),
    ("sack-prague", "the same with Prague"),
    ("sack-copa", "the same with Copa"),
    ("sack-ledbat-plus-plus", "the same with LEDBAT++"),
    ("sack-bbr", "the same with BBR"),
];

/// The window transport with SACK, RACK, tail loss probes, undo of spurious reductions, PRR, F-RTO and window decay.
/// Timeouts are constant; otherwise states would differ by round-trip times, and these are arbitrary in an
/// exploration.
#[derive(Clone, Debug)]
pub struct ControlledWindow<C> {
    /// Controller in its initial state.
    pub controller: C,
}

impl ControlledWindow<Any> {
    /// Creates the scheme with a controller of [`CONTROLLED_SCHEMES`] and an initial window of two; `None` for an unknown name
    /// or a controller with a sender of its own.
    pub(crate) fn by_name(name: &str) -> Option<Self> {
        let (initial_window, initial_ssthresh, gain) = (2.0, f64::INFINITY, 1.0 / 16.0);
        let config: ControllerConfig = match name {
            "sack-newreno" => NewRenoConfig {
                initial_window,
                initial_ssthresh,
                slow_start_exit: SlowStartExit::Loss,
                ecn_beta: None,
                slow_start_beta: None,
            }
            .into(),
            "sack-cubic" => CubicConfig {
                initial_window,
                initial_ssthresh,
                c: 0.4,
                beta: 0.7,
                fast_convergence: true,
                slow_start_exit: SlowStartExit::HystartPlusPlus,
                ecn_beta: None,
                slow_start_beta: None,
            }
            .into(),
            "sack-dctcp" => DctcpConfig { initial_window, initial_ssthresh, gain }.into(),
            "sack-prague" => PragueConfig {
                initial_window,
                initial_ssthresh,
                gain,
                virtual_rtt: Duration::from_millis(25),
                transition: 500,
                burst_delay: Duration::from_micros(250),
            }
            .into(),
            "sack-copa" => CopaConfig {
                initial_window,
                delta: 0.5,
                competitive_mode: true,
                min_rtt_lifetime: Duration::from_secs(10),
            }
            .into(),
            "sack-ledbat-plus-plus" => LedbatPlusPlusConfig {
                initial_window,
                initial_ssthresh,
                target: Duration::from_millis(60),
                constant: 1.0,
                slowdowns: true,
            }
            .into(),
            _ => return None,
        };
        Some(Self { controller: config.shared().ok()? })
    }
}

impl ControlledWindow<Bbr> {
    /// Creates the scheme with BBR and an initial window of two.
    pub(crate) fn bbr() -> Self {
        Self { controller: BbrConfig { initial_window: 2.0, ..BbrConfig::default() }.make() }
    }
}

impl<C: Controller<PacketInfo: Hash> + Digest> Scheme for ControlledWindow<C> {
    type Pdu = window::Pdu<Tag>;
    type Sender = window::Sender<Tag, C>;
    type Receiver = window::Receiver<Tag>;

    fn ends(&self, bounds: &Bounds) -> (Self::Sender, Self::Receiver) {
        let always = Duration::from_secs(1);
        let rtt = RttConfig { initial: always, floor: always, ceiling: always, ..RttConfig::default() };
        let sender = SenderConfig {
            segment: 1,
            max_window: bounds.window,
            recovery: Recovery::Sack,
            rack: Some(RackConfig { undo: true, tail_probe: true, max_ack_delay: Duration::ZERO }),
            prr: true,
            f_rto: true,
            validation: Some(Validation::Decay),
            rtt,
            ..SenderConfig::default()
        };
        let base = ReceiverConfig { report_arrivals: true, ..ReceiverConfig::default() };
        let receiver = if bounds.slow_reader {
            ReceiverConfig { window: bounds.window.into(), wait_for_consumption: true, ..base }
        } else {
            base
        };
        let sender = window::Sender::new(Arc::new(sender), self.controller.clone());
        (sender, window::Receiver::new(Arc::new(receiver)))
    }

    fn is_pacing(&self, reason: &SenderReason) -> bool {
        *reason == SenderReason::Pacing
    }
}
