//! The end of a stream: sent when everything has been sent once, and again until the peer has acknowledged it.

use thalweg_proto::units::{Duration, Time};

/// The end of the stream, as either end knows it.
#[derive(Debug)]
pub(super) enum Fin {
    Sender(FinSender),
    Receiver(FinReceiver),
}

/// The sending end's part.
#[derive(Debug)]
pub(super) struct FinSender {
    is_reliable: bool,
    /// The length of the stream in bytes, and whether the application stopped early.
    end: Option<(u64, bool)>,
    due: Time,
    /// The number of times that the FIN was sent.
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
            due: Time::ZERO,
            tries: 0,
            acknowledged: false,
            all_arrived: false,
            finished: false,
        }
    }

    pub fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// The application writes no more. A stop after the FIN was sent is none.
    pub fn end(&mut self, now: Time, length: u64, stopped: bool) {
        if self.end.is_none() || stopped && self.tries == 0 {
            self.end = Some((length, stopped));
            self.due = now;
        }
    }

    /// The engine knows that the peer has everything.
    pub fn all_arrived(&mut self) {
        self.all_arrived = true;
    }

    /// The peer has acknowledged it. False for an answer that cannot be.
    pub fn on_fin_ack(&mut self, rest: &[u8]) -> bool {
        let is_sound = rest.is_empty() && self.tries > 0;
        self.acknowledged |= is_sound;
        is_sound
    }

    /// A receiver that cannot count on every byte takes what comes after the end for lost: there the FIN waits until the engine
    /// has done what it can.
    fn is_waiting(&self, is_sent: bool) -> bool {
        let is_time = if self.is_reliable { is_sent } else { self.all_arrived };
        self.end.is_some() && is_time && !self.acknowledged
    }

    /// True if the FIN is to be sent now, all data having been sent once (`is_sent`) or not.
    pub fn is_due(&self, now: Time, is_sent: bool) -> bool {
        self.is_waiting(is_sent) && now >= self.due
    }

    /// The time at which the FIN is to be sent next.
    pub fn next(&self, is_sent: bool) -> Time {
        if self.is_waiting(is_sent) { self.due } else { Time::MAX }
    }

    /// Writes the FIN.
    pub fn write(&mut self, now: Time, rtt: Option<Duration>, buffer: &mut Vec<u8>) {
        let Some((length, stopped)) = self.end else { return };
        buffer.extend_from_slice(&length.to_be_bytes());
        buffer.push(u8::from(stopped));
        // Losses are likely on a path that needs many tries, and silence costs nothing: back off, but not for long.
        let base = rtt.map_or(FIRST_REPEAT, |rtt| (rtt * 2).max(LEAST_REPEAT));
        self.due = now + (base * (1 << self.tries.min(4))).min(LONGEST_REPEAT.max(base));
        self.tries = self.tries.saturating_add(1);
    }

    /// True once, when the peer has everything and knows that it is all.
    pub fn take_finished(&mut self) -> bool {
        let is_done = self.acknowledged && self.all_arrived;
        is_done && !std::mem::replace(&mut self.finished, true)
    }
}

/// The receiving end's part.
#[derive(Debug)]
pub(super) struct FinReceiver {
    is_reliable: bool,
    end: Option<(u64, bool)>,
    answer: bool,
    /// The time from which a stream that may have holes counts as over; [`Time::MAX`] for reliable ones.
    deadline: Time,
    reported: bool,
}

impl FinReceiver {
    pub fn new(is_reliable: bool) -> Self {
        Self { is_reliable, end: None, answer: false, deadline: Time::MAX, reported: false }
    }

    /// The peer says that the stream ends. False for an end that cannot be.
    pub fn on_fin(&mut self, now: Time, rest: &[u8], delivered: u64) -> bool {
        let Some((length, &[stopped])) = rest.split_first_chunk() else { return false };
        let end = (u64::from_be_bytes(*length), stopped == 1);
        if stopped > 1 || end.0 < delivered || self.end.is_some_and(|known| known != end) {
            return false;
        }
        if self.end.is_none() && !self.is_reliable {
            self.deadline = now + GRACE;
        }
        self.end = Some(end);
        self.answer = true;
        true
    }

    /// True where an answer is owed, which is then taken to be given.
    pub fn take_answer(&mut self) -> bool {
        std::mem::take(&mut self.answer)
    }

    /// The end, once: after all has been delivered, or when nothing more is expected. True if the peer stopped early.
    pub fn take_end(&mut self, now: Time, delivered: u64) -> Option<bool> {
        let (length, stopped) = self.end.filter(|_| !self.reported)?;
        self.reported = delivered >= length || now >= self.deadline;
        self.reported.then_some(stopped)
    }

    pub fn next(&self) -> Time {
        if self.reported { Time::MAX } else { self.deadline }
    }
}

/// Before the round-trip time is known.
const FIRST_REPEAT: Duration = Duration::from_millis(500);
/// However short the round trip.
const LEAST_REPEAT: Duration = Duration::from_millis(50);
/// However often it was sent.
const LONGEST_REPEAT: Duration = Duration::from_secs(2);
/// The time for which the last datagrams of a stream that may lose some are waited for.
const GRACE: Duration = Duration::from_secs(1);
