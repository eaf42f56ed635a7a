//! One type for all congestion controllers, selected at run time.

use super::*;
use crate::state_digest::{Digest, feed_debug};
use core::hash::Hasher;

macro_rules! any_of {
    (shared { $($file:ident: $Name:ident($Held:ty), $Config:ident;)+ } dedicated { $($dedicated:ident: $Dedicated:ident;)* }) => {
        /// Any controller that shares the common sender type.
        #[derive(Clone, Debug)]
        #[expect(missing_docs, reason = "each variant holds the controller of its name")]
        pub enum Any { $($Name($Held)),+ }

        /// Calls a method with a controller and its former state; evaluates `$else` if the former state belongs to
        /// another controller.
        macro_rules! each_before {
            ($any:expr, $before:expr, ($now:ident, $was:ident) => $body:expr, $else:expr) => {
                match ($any, $before) {
                    $((Any::$Name($now), Any::$Name($was)) => $body,)+
                    _ => $else,
                }
            };
        }

        macro_rules! each {
            ($any:expr, $controller:ident => $body:expr) => {
                match $any { $(Any::$Name($controller) => $body),+ }
            };
        }
    };
}
controllers!(any_of);

// No controller of the list keeps data with a packet. A controller with packet data has its own sender type: see
// [`ExternalController`](crate::window::ExternalController).
impl Controller for Any {
    type PacketInfo = ();

    // Inlined: most controllers ignore the sample, and it is then never built.
    #[inline(always)]
    fn on_sent(&mut self, sample: &SentSample) {
        each!(self, controller => controller.on_sent(sample));
    }

    fn on_ack(&mut self, sample: &AckSample, info: ()) {
        each!(self, controller => controller.on_ack(sample, info));
    }

    fn on_loss(&mut self, sample: &LossSample) {
        each!(self, controller => controller.on_loss(sample));
    }

    #[inline]
    fn on_packet_lost(&mut self, sample: &LostSample, info: ()) {
        each!(self, controller => controller.on_packet_lost(sample, info));
    }

    #[inline]
    fn on_app_limited(&mut self, connection: &ConnectionState) {
        each!(self, controller => controller.on_app_limited(connection));
    }

    fn on_recovered(&mut self, connection: &ConnectionState) {
        each!(self, controller => controller.on_recovered(connection));
    }

    fn would_undo(&self, saved: &Self) -> bool {
        each_before!(self, saved, (now, was) => now.would_undo(was), false)
    }

    #[expect(clippy::useless_conversion, reason = "some are in a box already, others are not")]
    fn on_undo(&mut self, saved: Self, connection: &ConnectionState) {
        each_before!(self, saved, (now, was) => now.on_undo(*Box::from(was), connection), ());
    }

    fn on_feedback(&mut self, sample: &FeedbackSample) {
        each!(self, controller => controller.on_feedback(sample));
    }

    fn retransmits_reported_drops(&self) -> bool {
        each!(self, controller => controller.retransmits_reported_drops())
    }

    fn needs_each_ack_in_repair(&self) -> bool {
        each!(self, controller => controller.needs_each_ack_in_repair())
    }

    fn on_idle(&mut self, connection: &ConnectionState) {
        each!(self, controller => controller.on_idle(connection));
    }

    fn on_window_unused(&mut self, window: f64, connection: &ConnectionState) {
        each!(self, controller => controller.on_window_unused(window, connection));
    }

    #[inline(always)]
    fn decision(&self) -> Decision {
        each!(self, controller => controller.decision())
    }

    fn ssthresh(&self) -> Option<f64> {
        each!(self, controller => controller.ssthresh())
    }
}

impl Digest for Any {
    fn feed_state<H: Hasher>(&self, now: Time, into: &mut H) {
        feed_debug(now, self, into);
    }
}

#[cfg(test)]
mod tests {
    //! Checks that the common type forwards to the inner controller.
    use super::*;
    use crate::units::{Duration, Time};

    #[test]
    fn a_spurious_reduction_is_undone_by_the_controller() {
        let connection = ConnectionState {
            now: Time::ZERO,
            outstanding: 40,
            in_flight: 40,
            in_flight_bytes: 40_000,
            smoothed_rtt: Duration::from_millis(10),
            min_rtt: Duration::from_millis(10),
            segment: 1000,
            next_sequence: 40_000,
        };
        let loss = LossSample { connection, kind: LossKind::Detected, sent_at: Time::ZERO, repeated: false };
        // Stored inline, and boxed.
        let new_reno = NewRenoConfig {
            initial_window: 40.0,
            initial_ssthresh: 20.0,
            slow_start_exit: Default::default(),
            ecn_beta: None,
            slow_start_beta: None,
        };
        let cubic = CubicConfig {
            initial_window: 40.0,
            initial_ssthresh: 20.0,
            c: 0.4,
            beta: 0.7,
            fast_convergence: true,
            slow_start_exit: Default::default(),
            ecn_beta: None,
            slow_start_beta: None,
        };
        let (mut one, mut other) = (Any::NewReno(new_reno.make()), Any::Cubic(cubic.make().into()));
        for any in [&mut one, &mut other] {
            let before = any.clone();
            any.on_loss(&loss);
            assert!(any.decision().window < 40.0 && any.would_undo(&before));
            any.on_undo(before, &connection);
            assert!((any.decision().window - 40.0).abs() < 1e-9);
        }
        // The controller type never changes.
        let before = other.clone();
        one.on_loss(&loss);
        let after = one.decision().window;
        assert!(!one.would_undo(&before));
        one.on_undo(before, &connection);
        assert!((one.decision().window - after).abs() < 1e-9);
    }
}
