//! End of a stream: a FIN sent when all data has been sent once, and retransmitted until the peer acknowledges it.

use thalweg_proto::units::{Duration, Time};

/// FIN state of either end.
#[derive(Debug)]
pub(super) enum Fin {
    Sender(FinSender),
    Receiver(FinReceiver),
}

/// FIN state of the sender.
#[derive(Debug)]
pub(super) struct FinSender {
    is_reliable: bool,
    /// Stream length in bytes, and true if the application stopped early.
    end: Option<(u64, bool)>,
    next_send: Time,
    /// Number of transmissions of the FIN.
    tries: u32,
    acknowledged: bool,
    all_arrived: bool,
    finished: bool,
}

impl FinSender {
    pub fn new(is_reliable: bool) -> Self {
        Self {
            is_reliable,
            end: None,
            next_send: Time::ZERO,
            tries: 0,
            acknowledged: false,
            all_arrived: false,
            finished: false,
        }
    }

    pub fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// Ends the stream. A stop after the FIN was sent has no effect.
    pub fn end(&mut self, now: Time, length: u64, stopped: bool) {
        if self.end.is_none() || stopped && self.tries == 0 {
            self.end = Some((length, stopped));
            self.next_send = now;
        }
    }

    /// Notes that the peer has acknowledged all data.
    pub fn all_arrived(&mut self) {
        self.all_arrived = true;
    }

    /// Processes a FIN acknowledgement. Returns false if it is invalid.
    pub fn on_fin_ack(&mut self, rest: &[u8]) -> bool {
        let is_sound = rest.is_empty() && self.tries > 0;
        self.acknowledged |= is_sound;
        is_sound
    }

    /// An unreliable receiver treats data after the FIN as lost. There the FIN waits until the engine has sent all it
    /// can.
    fn is_waiting(&self, is_sent: bool) -> bool {
        let is_time = if self.is_reliable { is_sent } else { self.all_arrived };
        self.end.is_some() && is_time && !self.acknowledged
    }

    /// Returns true if the FIN is due. `is_sent` tells that all data has been sent once.
    pub fn is_due(&self, now: Time, is_sent: bool) -> bool {
        self.is_waiting(is_sent) && now >= self.next_send
    }

    /// Returns the time of the next FIN transmission.
    pub fn next(&self, is_sent: bool) -> Time {
        if self.is_waiting(is_sent) { self.next_send } else { Time::MAX }
    }

    /// Encodes the FIN.
    pub fn write(&mut self, now: Time, rtt: Option<Duration>, buffer: &mut Vec<u8>) {
        let Some((length, stopped)) = self.end else { return };
        buffer.extend_from_slice(&length.to_be_bytes());
        buffer.push(u8::from(stopped));
        // Many tries suggest a lossy path, and waiting costs nothing: back off, with a low maximum.
        let base = rtt.map_or(FIRST_REPEAT, |rtt| (rtt * 2).max(MIN_REPEAT));
        self.next_send = now + (base * (1 << self.tries.min(4))).min(MAX_REPEAT.max(base));
        self.tries = self.tries.saturating_add(1);
    }

    /// Returns true once, when the peer has all data and the FIN.
    pub fn take_finished(&mut self) -> bool {
        let is_done = self.acknowledged && self.all_arrived;
        is_done && !std::mem::replace(&mut self.finished, true)
    }
}

/// FIN state of the receiver.
#[derive(Debug)]
pub(super) struct FinReceiver {
    is_reliable: bool,
    end: Option<(u64, bool)>,
    answer: bool,
    /// Completion time of an unreliable stream with holes; [`Time::MAX`] for reliable ones.
    deadline: Time,
    reported: bool,
}

impl FinReceiver {
    pub fn new(is_reliable: bool) -> Self {
        Self { is_reliable, end: None, answer: false, deadline: Time::MAX, reported: false }
    }

    /// Processes a FIN. Returns false if it is invalid.
    pub fn on_fin(&mut self, now: Time, rest: &[u8], delivered: u64) -> bool {
        let Some((length, &[stopped])) = rest.split_first_chunk() else { return false };
        let end = (u64::from_be_bytes(*length), stopped == 1);
        if stopped > 1 || end.0 < delivered || self.end.is_some_and(|known| known != end) {
            return false;
        }
        if self.end.is_none() && !self.is_reliable {
            self.deadline = now + LAST_DATAGRAM_WAIT;
        }
        self.end = Some(end);
        self.answer = true;
        true
    }

    /// Returns true if a FIN acknowledgement is due, and clears it.
    pub fn take_answer(&mut self) -> bool {
        std::mem::take(&mut self.answer)
    }

    /// Returns the end of the stream once: after all data was delivered, or when no more is expected. The value is true
    /// if the peer stopped early.
    pub fn take_end(&mut self, now: Time, delivered: u64) -> Option<bool> {
        let (length, stopped) = self.end.filter(|_| !self.reported)?;
        self.reported = delivered >= length || now >= self.deadline;
        self.reported.then_some(stopped)
    }

    pub fn next(&self) -> Time {
        if self.reported { Time::MAX } else { self.deadline }
    }
}

/// Retransmission timeout of the FIN before the first round-trip sample.
const FIRST_REPEAT: Duration = Duration::from_millis(500);
/// Minimum retransmission timeout of the FIN.
const MIN_REPEAT: Duration = Duration::from_millis(50);
/// Maximum retransmission timeout of the FIN.
const MAX_REPEAT: Duration = Duration::from_secs(2);
/// Time to wait for the last datagrams of an unreliable stream.
const LAST_DATAGRAM_WAIT: Duration = Duration::from_secs(1);
