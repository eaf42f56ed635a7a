//! Data transfer of SSCOP as a protocol to explore.

use super::{Bounds, End, Scheme, Tag};
use core::hash::{Hash, Hasher};
use std::sync::Arc;
use thalweg_proto::sscop::{Config, Credit, Endpoint, EndpointConfig, Pdu, TimerConfig};
use thalweg_proto::units::Duration;

/// SSCOP from state 10, data transfer ready. The connection opens before anything may go wrong.
///
/// A STAT has at most three elements (`MaxSTAT`), which splits reports, and a POLL follows every second SD (`MaxPD`).
/// The window is the credit granted by the receiver. No number of losses and early expiries within the bounds looks
/// like a silent peer (`Timer_NO-RESPONSE`), where closing the connection would be correct.
///
/// SSCOP relies on a layer below that neither duplicates nor reorders frames: its reaction to duplicates and reordering
/// is not an error in the engine.
#[derive(Clone, Debug)]
pub struct Sscop(pub Config);

impl Default for Sscop {
    fn default() -> Self {
        let second = Duration::from_secs(1);
        let timers = TimerConfig {
            cc: second,
            poll: second,
            keep_alive: second * 2,
            idle: TIMER_IDLE,
            ..Config::default().timers
        };
        Self(Config { max_pd: 2, max_stat: 3, timers, ..Config::default() })
    }
}

/// `Timer_IDLE`, the longest timer that repeats a PDU.
const TIMER_IDLE: Duration = Duration::from_secs(15);

impl Scheme for Sscop {
    type Pdu = Pdu<Tag>;
    type Sender = Endpoint<Tag>;
    type Receiver = Endpoint<Tag>;

    /// BGN and BGAK.
    const SET_UP: u32 = 2;

    fn ends(&self, bounds: &Bounds) -> (Self::Sender, Self::Receiver) {
        let faults = u64::from(bounds.losses) + u64::from(bounds.delays) + u64::from(bounds.expiries);
        let timers = TimerConfig { no_response: TIMER_IDLE * (faults + 2), ..self.0.timers };
        let credit = if bounds.slow_reader { Credit::User } else { self.0.credit };
        let sscop = Arc::new(Config { window: bounds.window, timers, credit, ..self.0.clone() });
        let config = EndpointConfig { sscop, segment: 1 };
        (Endpoint::new(&config), Endpoint::new(&config))
    }

    /// POLL numbers are relative to the last one of the endpoint that sent it.
    fn digest_pdu<H: Hasher>(
        &self,
        pdu: &Self::Pdu,
        to: End,
        sender: &Self::Sender,
        receiver: &Self::Receiver,
        into: &mut H,
    ) {
        let latest = |end: &Endpoint<Tag>| end.sscop().variables().vt_ps;
        let (local, other) = match to {
            End::Sender => (latest(sender), latest(receiver)),
            End::Receiver => (latest(receiver), latest(sender)),
        };
        let mut pdu = pdu.clone();
        match &mut pdu {
            Pdu::Poll { ps, .. } => *ps = other.distance_from(*ps).into(),
            Pdu::Stat(stat) => stat.ps = local.distance_from(stat.ps).into(),
            _ => {}
        }
        pdu.hash(into);
    }
}
