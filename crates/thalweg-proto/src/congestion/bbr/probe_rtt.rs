//! Minimum round-trip time, and the ProbeRTT state that measures it ("ProbeRTT").

use super::probe_bw::AckPhase;
use super::{AckedData, Bbr, BbrState, ProbeRttBasis};
use crate::units::{Duration, Time};

/// Minimum duration of ProbeRTT at the reduced window (ProbeRTTDuration): flows of different round-trip times
/// overlap, at the cost of 2 % of the throughput.
const DURATION: Duration = Duration::from_millis(200);
/// Lifetime of the minimum round-trip time (MinRTTFilterLen): longer than the interval, so a ProbeRTT still
/// uses the minimum of the previous one.
const MIN_RTT_FILTER: Duration = Duration::from_secs(10);

/// Minimum round-trip time, and the schedule of ProbeRTT.
#[derive(Clone, Copy, Debug)]
pub(super) struct MinRtt {
    /// BBR.min_rtt.
    pub rtt: Duration,
    /// The same in seconds; `None` before the first sample.
    pub seconds: Option<f64>,
    /// BBR.min_rtt_stamp.
    pub stamp: Time,
    /// BBR.probe_rtt_min_delay.
    pub probe_delay: Duration,
    /// BBR.probe_rtt_min_stamp.
    pub probe_stamp: Time,
    /// BBR.probe_rtt_expired.
    pub expired: bool,
    /// BBR.probe_rtt_done_stamp; `None` until the data in flight is small enough.
    pub done_stamp: Option<Time>,
    /// BBR.probe_rtt_round_done.
    pub round_done: bool,
    /// Minimum round-trip time before the last acknowledgement, which may have expired it, in seconds.
    min_rtt_before: Option<f64>,
    /// The value of `min_rtt_before` at the start of the last ProbeRTT.
    at_entry: Option<f64>,
}

impl Default for MinRtt {
    fn default() -> Self {
        Self {
            rtt: Duration::MAX,
            seconds: None,
            stamp: Time::ZERO,
            probe_delay: Duration::MAX,
            probe_stamp: Time::ZERO,
            expired: false,
            done_stamp: None,
            round_done: false,
            min_rtt_before: None,
            at_entry: None,
        }
    }
}

impl MinRtt {
    /// Implements UpdateMinRTT(), with a configurable ProbeRTT interval.
    pub fn update(&mut self, now: Time, rtt: Option<Duration>, interval: Duration) {
        self.expired = now.since(self.probe_stamp) > interval;
        if let Some(rtt) = rtt
            && (rtt < self.probe_delay || self.expired)
        {
            (self.probe_delay, self.probe_stamp) = (rtt, now);
        }
        self.min_rtt_before = self.seconds;
        if self.probe_delay < self.rtt || now.since(self.stamp) > MIN_RTT_FILTER {
            (self.rtt, self.stamp) = (self.probe_delay, self.probe_stamp);
            self.seconds = (self.rtt < Duration::MAX).then(|| self.rtt.as_secs_f64());
        }
    }
}

impl Bbr {
    /// Implements CheckProbeRTT().
    pub(super) fn check_probe_rtt(&mut self, ack: &AckedData) {
        // "ProbeRTT Design Rationale": an idle time has drained the queue already.
        if self.state != BbrState::ProbeRtt && self.min_rtt.expired && !self.idle_restart {
            self.save_cwnd();
            self.enter(BbrState::ProbeRtt);
            self.min_rtt.done_stamp = None;
            self.min_rtt.at_entry = self.min_rtt.min_rtt_before;
            self.cycle.ack_phase = AckPhase::Stopping;
            self.sampler.start_round();
        }
        if self.state == BbrState::ProbeRtt {
            self.handle_probe_rtt(ack);
        }
        if ack.rs.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// Implements HandleProbeRTT().
    fn handle_probe_rtt(&mut self, ack: &AckedData) {
        // Rates measured in ProbeRTT do not reflect the path.
        self.sampler.mark_app_limited(ack.in_flight as u64);
        if self.min_rtt.done_stamp.is_some() {
            // A round trip too, since on long paths 200 ms bring no sample of the drained queue.
            self.min_rtt.round_done |= ack.rs.round_start;
            if self.min_rtt.round_done {
                self.check_probe_rtt_done(ack.now);
            }
        } else if ack.in_flight <= self.probe_rtt_cwnd() {
            // The duration begins once the data in flight is small: the queue drains only from then on.
            self.min_rtt.done_stamp = Some(ack.now + DURATION);
            self.min_rtt.round_done = false;
            self.sampler.start_round();
        }
    }

    /// Implements CheckProbeRTTDone().
    pub(super) fn check_probe_rtt_done(&mut self, now: Time) {
        if self.min_rtt.done_stamp.is_some_and(|done| now > done) {
            self.min_rtt.probe_stamp = now;
            self.restore_cwnd();
            self.exit_probe_rtt(now);
        }
    }

    /// Implements ExitProbeRTT().
    fn exit_probe_rtt(&mut self, now: Time) {
        // "Exiting ProbeRTT": congestion in ProbeRTT may have pulled the bounds far below the capacity.
        self.reset_short_term();
        if self.full_bw.is_reached {
            // The next probe is a whole cycle away, and the queue is known to be empty.
            self.start_down(now);
            self.enter(BbrState::ProbeCruise);
        } else {
            self.enter(BbrState::Startup);
        }
    }

    /// Returns ProbeRTTCwnd(), in bytes.
    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        let gain = BbrState::ProbeRtt.cwnd_gain();
        let before =
            self.min_rtt.at_entry.filter(|_| self.config.probe_rtt_basis == ProbeRttBasis::BeforeExpiry);
        let bytes =
            before.map_or_else(|| self.bdp_multiple(self.bw, gain), |seconds| gain * self.bw * seconds);
        bytes.max(self.min_pipe_cwnd())
    }
}
