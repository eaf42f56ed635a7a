//! Output of a session: packets to send and their timing.

use super::{CloseReason, Phase, PollResult, Session, SessionEvent, code};
use crate::datagram_batch::{Batch, Purpose};
use crate::flow::{FlowOutput, is_pdu};
use crate::peer_path::ChallengeAction;
use crate::wire::frame::{Frame, PDU_HEADER, begin_pdu};
use crate::wire::{AEAD_TAG, HEADER, SAFE_DATAGRAM, write_confirm, write_header};
use std::net::SocketAddr;
use thalweg_proto::Ecn;
use thalweg_proto::payload::Slice;
use thalweg_proto::transport::{Event, Signal};
use thalweg_proto::units::{Duration, Time};

impl Session {
    /// Does the work due at `now`, and appends datagrams to `batch`.
    pub fn poll(&mut self, now: Time, batch: &mut Batch) -> PollResult {
        match &self.phase {
            Phase::Over => return PollResult::At(Time::MAX),
            Phase::Draining(_) => return self.poll_draining(now, batch),
            Phase::Open => {}
        }
        if now >= self.last_received + self.config.idle {
            self.end(now, CloseReason::Silent);
            return PollResult::At(Time::MAX);
        }
        if now >= self.keep_alive_at() {
            self.ping(now);
        }
        if !self.check_progress(now, batch) {
            return self.poll_draining(now, batch);
        }
        let has_room = self.budget.check(now);
        self.hand_in_order(now);
        self.poll_confirm(now, batch);
        self.poll_path(now, batch);
        if has_room.is_ok() {
            self.poll_control_frames(now, batch);
        }
        if self.poll_datagrams(batch) == PollResult::Full {
            return PollResult::Full;
        }
        let mut next = self.last_received + self.config.idle;
        if let Err(at) = has_room
            && !self.control_frames.is_empty()
        {
            next = next.min(at);
        }
        next = next.min(self.keep_alive_at()).min(self.path.deadline());
        if self.may_probe() {
            next = next.min(self.path.mtu.deadline());
        }
        if let Some(confirm) = &self.confirm {
            next = next.min(confirm.next_send);
        }
        if let Some(due) = self.order.as_ref().and_then(|order| order.timeout(now)) {
            next = next.min(due);
        }
        let flows = self.poll_flows(now, batch);
        // A failed flow closes the session, and the peer is notified at once.
        if !matches!(self.phase, Phase::Open) {
            return self.poll_draining(now, batch);
        }
        match flows {
            PollResult::Full => PollResult::Full,
            PollResult::At(at) => {
                if let Some(flow) = self.sending() {
                    flow.observe(now);
                }
                let next = next.min(self.progress.due().max(now + Duration::from_millis(1)));
                if self.wants_writable && self.sending().is_some_and(|flow| flow.writable_bytes() > 0) {
                    self.wants_writable = false;
                    self.events.push_back(SessionEvent::Writable);
                }
                PollResult::At(next.min(at))
            }
        }
    }

    /// Returns the time of the next keep-alive: after the idle keep-alive interval, then often, as pings may be lost.
    fn keep_alive_at(&self) -> Time {
        // An unauthenticated peer must prove liveness itself.
        if self.config.keep_alive == Duration::MAX || self.is_untrusted() {
            return Time::MAX;
        }
        let first = self.last_received + self.config.keep_alive;
        let again = self.config.keep_alive.min(PING_AGAIN);
        if self.last_ping < self.last_received { first } else { first.max(self.last_ping + again) }
    }

    fn poll_confirm(&mut self, now: Time, batch: &mut Batch) {
        let Some(confirm) = &mut self.confirm else { return };
        if now < confirm.next_send {
            return;
        }
        let wait =
            self.rtt.map_or(Duration::from_millis(500), |rtt| (rtt * 2).max(Duration::from_millis(50)));
        let is_repeated = confirm.tries > 0;
        confirm.next_send = now + (wait * (1 << confirm.tries.min(4))).min(CONFIRM_AGAIN);
        confirm.tries += 1;
        let start = batch.start();
        write_confirm(batch.buffer(), self.agreed.remote, &confirm.message);
        batch.finish(start, self.path.remote, Purpose::Ordinary(Ecn::NotEct));
        if is_repeated {
            // The server may have received the first confirm and not know about an address change since; an encrypted
            // packet reveals it.
            self.ping(now);
        }
    }

    fn poll_path(&mut self, now: Time, batch: &mut Batch) {
        match self.path.poll(now, self.rtt) {
            ChallengeAction::Nothing => {}
            ChallengeAction::Challenge(token) => {
                let to = self.path.remote;
                if self.path.allowance() >= 64 {
                    self.send(batch, to, Purpose::Ordinary(Ecn::NotEct), |into| {
                        Frame::Challenge(token).write(into);
                    });
                }
            }
            ChallengeAction::GiveUp => {
                if let Some(fallback) = self.fallback.take() {
                    self.path = fallback;
                    self.set_maximum(now);
                } else {
                    self.end(now, CloseReason::Silent);
                    return;
                }
            }
        }
        while self.may_probe() {
            let (size, change) = self.path.mtu.poll(now, self.rtt);
            self.on_change(now, change);
            let Some(size) = size else { return };
            let to = self.path.remote;
            self.send(batch, to, Purpose::Probe, |into| {
                let start = into.len();
                Frame::Probe(size).write(into);
                into.resize(start + usize::from(size) - HEADER - AEAD_TAG, 0);
            });
        }
    }

    /// Before the server's first answer nothing is known about the path. Nothing large may go to an unvalidated address
    /// or an unauthenticated peer.
    pub(super) fn may_probe(&self) -> bool {
        self.confirm.is_none() && self.path.is_validated() && !self.is_untrusted()
    }

    fn poll_control_frames(&mut self, now: Time, batch: &mut Batch) {
        while let Some((_, first)) = self.control_frames.front() {
            let remote = self.path.remote;
            let to = first.unwrap_or(remote);
            if to == remote && self.path.allowance() < CONTROL_FRAME_ALLOWANCE {
                return;
            }
            let room = usize::try_from(self.budget.allowance()).unwrap_or(usize::MAX);
            let mut together = Vec::new();
            while let Some((bytes, _)) = self.control_frames.pop_front_if(|(bytes, other)| {
                let size = HEADER + together.len() + bytes.len() + AEAD_TAG;
                other.unwrap_or(remote) == to && size <= room
            }) {
                together.extend_from_slice(&bytes);
            }
            if together.is_empty() {
                return;
            }
            self.send(batch, to, Purpose::Ordinary(Ecn::NotEct), |into| into.extend_from_slice(&together));
        }
        if core::mem::take(&mut self.ping_waits) {
            // The amplification limit of an unvalidated address delays control frames; exclude that time from the round
            // trip.
            self.ping_sent = self.ping_sent.map(|(token, _)| (token, now));
        }
    }

    /// Sends application datagrams. Returns `Full` if the batch has no room for the queue. Datagrams beyond the
    /// amplification limit of an unvalidated address stay queued.
    fn poll_datagrams(&mut self, batch: &mut Batch) -> PollResult {
        while let Some(datagram) = self.datagrams.front() {
            let size = HEADER + 1 + datagram.as_bytes().len() + AEAD_TAG;
            if self.path.allowance().min(self.budget.allowance()) < size as u64 {
                break;
            }
            if !batch.has_room(size) {
                return PollResult::Full;
            }
            let Some(datagram) = self.datagrams.pop_front() else { break };
            let start = batch.start();
            write_header(batch.buffer(), self.agreed.remote, self.encryptor.next_number());
            Frame::Datagram(datagram.as_bytes()).write(batch.buffer());
            self.seal(batch, start, None, Purpose::Ordinary(Ecn::NotEct), true);
        }
        PollResult::At(Time::MAX)
    }

    fn poll_draining(&mut self, now: Time, batch: &mut Batch) -> PollResult {
        self.poll_control_frames(now, batch);
        let Phase::Draining(draining) = &mut self.phase else { return PollResult::At(Time::MAX) };
        if now >= draining.until {
            self.phase = Phase::Over;
            return PollResult::At(Time::MAX);
        }
        let Some(close) = &draining.close else { return PollResult::At(draining.until) };
        if now >= draining.next_repetition {
            let wait = self.rtt.map_or(FIRST_AGAIN, |rtt| (rtt * 2).max(FIRST_AGAIN));
            draining.next_repetition = now + wait * (1 << draining.tries.min(10));
            draining.tries += 1;
            let (close, remote) = (close.clone(), self.path.remote);
            let room = self.path.allowance().min(self.budget.allowance());
            if room >= (HEADER + close.len() + AEAD_TAG) as u64 {
                self.send(batch, remote, Purpose::Ordinary(Ecn::NotEct), |into| {
                    into.extend_from_slice(&close);
                });
            }
        }
        let Phase::Draining(draining) = &self.phase else { return PollResult::At(Time::MAX) };
        PollResult::At(draining.next_repetition.min(draining.until))
    }

    fn poll_flows(&mut self, now: Time, batch: &mut Batch) -> PollResult {
        let mut next = Time::MAX;
        let mut drained = 0;
        while drained < self.slots.len() {
            let turn = self.turn % self.slots.len();
            match self.poll_flow(now, batch, turn) {
                Turn::Stopped(PollResult::Full) => return PollResult::Full,
                Turn::Stopped(PollResult::At(at)) => return PollResult::At(next.min(at)),
                Turn::Drained { until, has_sent } => {
                    next = next.min(until);
                    drained = if has_sent { 1 } else { drained + 1 };
                }
            }
        }
        PollResult::At(next)
    }

    /// Polls one flow. It keeps the next turn, unless it is drained or must not send more.
    fn poll_flow(&mut self, now: Time, batch: &mut Batch, turn: usize) -> Turn {
        // Where the path takes large datagrams, many small ones are still sent together.
        let follows_path = self.slots[turn].flow.follows_path();
        let datagram = usize::from(if follows_path { self.path.mtu.plpmtu() } else { SAFE_DATAGRAM });
        let mut sent_once = self.slots[turn].flow.sent_once();
        let mut has_sent = false;
        loop {
            if !batch.has_room(datagram) {
                return Turn::Stopped(PollResult::Full);
            }
            if self.path.allowance() < datagram as u64 {
                // The answer to the challenge, or packets before it, unblock the flow.
                return Turn::Stopped(PollResult::At(Time::MAX));
            }
            if let Err(at) = self.budget.check(now) {
                // Continue with the next flow: retransmissions of one flow must not block acknowledgements of another.
                self.turn = turn + 1;
                return Turn::Stopped(PollResult::At(at));
            }
            let start = batch.start();
            write_header(batch.buffer(), self.agreed.remote, self.encryptor.next_number());
            let of_packet = match self.poll_to_send(now, batch.buffer(), turn) {
                Ok(ecn) => ecn,
                Err(until) => {
                    batch.buffer().truncate(start);
                    self.turn = turn + 1;
                    return Turn::Drained { until, has_sent };
                }
            };
            let Some(slot) = self.slots.get_mut(turn) else { continue };
            let buffer = batch.buffer();
            if (buffer.len() - start + AEAD_TAG) as u64 > self.budget.allowance() {
                // Receiving a packet raises the limit.
                slot.pending = buffer.split_off(start + HEADER);
                buffer.truncate(start);
                return Turn::Stopped(PollResult::At(Time::MAX));
            }
            let before = core::mem::replace(&mut sent_once, slot.flow.sent_once());
            let is_new = sent_once > before;
            if is_new {
                self.progress.expect(now);
            }
            // Acknowledgements are Not-ECT (RFC 3168, section 6.1.4). So is data without a timer to detect the loss
            // of all of it.
            let is_data = slot.sends && is_pdu(&buffer[start + HEADER + PDU_HEADER..]);
            if let Some(lately) = self.sent_lately.as_mut().filter(|_| is_data) {
                let pdu = batch.buffer().get(start + HEADER + PDU_HEADER..).unwrap_or_default();
                lately.on_sent(self.encryptor.next_number(), pdu);
            }
            let ecn = if is_data { self.codepoint(of_packet) } else { Ecn::NotEct };
            // Packets that the protocol sends as Not-ECT say nothing about the path's treatment of ECT.
            if is_data && of_packet.is_none() {
                self.path.on_data(ecn != Ecn::NotEct, is_new);
            }
            self.seal(batch, start, None, Purpose::Ordinary(ecn), is_new);
            has_sent = true;
        }
    }

    /// Returns the ECN codepoint of this end's data: that of the packet or else of the scheme, unless the path drops
    /// ECN-capable packets or the scheme does not react to CE.
    fn codepoint(&self, of_packet: Option<Ecn>) -> Ecn {
        if self.path.ecn_capable() && self.ecn.is_capable() {
            of_packet.unwrap_or(self.ecn)
        } else {
            Ecn::NotEct
        }
    }

    /// Polls a flow until it has output to send, and appends that to `buffer`. Passes events to the application
    /// meanwhile. Returns the packet's ECN codepoint, if its protocol chose one. The error is the time of the next poll.
    #[inline]
    fn poll_to_send(&mut self, now: Time, buffer: &mut Vec<u8>, turn: usize) -> Result<Option<Ecn>, Time> {
        // Flows are removed when the connection ends.
        let slot = self.slots.get_mut(turn).ok_or(Time::MAX)?;
        if !slot.pending.is_empty() {
            buffer.append(&mut slot.pending);
            return Ok(None);
        }
        begin_pdu(buffer, slot.number);
        while let Some(slot) = self.slots.get_mut(turn) {
            match slot.flow.poll(now, buffer) {
                FlowOutput::Transmit { ecn } => return Ok(ecn),
                FlowOutput::Event(event) => self.on_event(now, event),
                FlowOutput::Ended { stopped } => self.on_ended(stopped),
                FlowOutput::Timeout { at } => return Err(at),
                FlowOutput::Idle => break,
            }
        }
        Err(Time::MAX)
    }

    pub(super) fn on_event(&mut self, now: Time, event: Event<Slice>) {
        match event {
            Event::Delivered(data) => self.events.push_back(SessionEvent::Delivered(data)),
            Event::Finished => {
                self.own_stream_acked = true;
                self.events.push_back(SessionEvent::OwnStreamAcknowledged);
            }
            Event::Failed(failure) => {
                self.drain(now, Some((code::FAILED, "a flow gave up")), CloseReason::Failed(failure));
            }
            Event::Congestion(Signal::Timeout) => self.path.on_timeout(),
            Event::Hole { packets } => self.events.push_back(SessionEvent::Hole { packets }),
            // Writability is checked after draining.
            Event::Congestion(_) | Event::Writable => {}
        }
    }

    /// Sends one packet with the frames appended by `write`.
    pub(super) fn send(
        &mut self,
        batch: &mut Batch,
        to: SocketAddr,
        purpose: Purpose,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let start = batch.start();
        let buffer = batch.buffer();
        write_header(buffer, self.agreed.remote, self.encryptor.next_number());
        write(buffer);
        self.seal(batch, start, Some(to), purpose, false);
    }

    /// Completes the packet that begins at `start`. Sends it to the peer's current address, or to `to`.
    #[inline]
    fn seal(
        &mut self,
        batch: &mut Batch,
        start: usize,
        to: Option<SocketAddr>,
        purpose: Purpose,
        is_new: bool,
    ) {
        if self.encryptor.seal(batch.buffer(), start).is_err() {
            // The packet numbers are exhausted: 2^62 packets were sent.
            batch.buffer().truncate(start);
            self.end(self.last_received, CloseReason::Protocol);
            return;
        }
        let size = batch.start() - start;
        if to.is_none_or(|to| to == self.path.remote) {
            self.path.on_sent(size);
            if purpose != Purpose::Probe {
                self.path.mtu.on_sent(size);
            }
        }
        // Probes have a limit of their own: their rate.
        if purpose != Purpose::Probe {
            self.budget.on_sent(size as u64, is_new);
        }
        self.stats.packets_sent += 1;
        self.stats.bytes_sent += size as u64;
        batch.finish(start, to.unwrap_or(self.path.remote), purpose);
    }
}

/// Outcome of a flow's turn.
enum Turn {
    /// Sending is blocked for now.
    Stopped(PollResult),
    /// The flow is drained until its next timer.
    Drained {
        until: Time,
        /// True if something was sent; other flows may have output again.
        has_sent: bool,
    },
}

/// Initial retransmission interval of a close, or two round trips; doubled each time.
const FIRST_AGAIN: Duration = Duration::from_millis(100);

/// Retransmission interval of an unanswered ping.
const PING_AGAIN: Duration = Duration::from_millis(500);

/// Maximum size of all control frames together, in bytes.
const CONTROL_FRAME_ALLOWANCE: u64 = 512;

/// The longest interval at which an unanswered confirm is repeated, as the hello is: the server waits 20 s for it. The round trip does
/// not bound it from below, as an answer to a repeated hello measures none (RFC 6298, section 3).
const CONFIRM_AGAIN: Duration = Duration::from_millis(600);
