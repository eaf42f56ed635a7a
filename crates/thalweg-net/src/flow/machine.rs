//! The engine of a flow over bytes, whichever it is.

use super::{FLOW_HEADER, PDU, PathHints, Recorder, Role, Scheme};
use thalweg_catalog::AnyEngine;
use thalweg_proto::Ecn;
use thalweg_proto::Output;
use thalweg_proto::end::End;
use thalweg_proto::payload::Slice;
use thalweg_proto::transport::{BreachKind, Command, Event, SenderStats};
use thalweg_proto::units::Time;

/// An engine that carries bytes, and the format of its PDUs.
#[derive(Debug)]
pub(super) struct Machine {
    engine: AnyEngine<Slice>,
    /// Bytes that a packet has beside its payload.
    overhead: u32,
    /// The largest datagram of the flow when it began.
    maximum: u32,
}

/// An output of an engine, whose PDU has been encoded already.
pub(super) type Polled = Output<(), Event<Slice>, ()>;

impl Machine {
    pub fn new(scheme: &Scheme, role: Role, path: &PathHints) -> Self {
        let ends = scheme.ends(path);
        let engine = match role {
            Role::Sender => AnyEngine::sender(&ends, None),
            Role::Receiver => AnyEngine::receiver(&ends),
        };
        Self { engine, overhead: scheme.values().0.traits.overhead, maximum: path.maximum }
    }

    /// The engine's answers to what is asked of any.
    pub fn end(&self) -> &dyn End {
        self.engine.end()
    }

    /// The bytes that wait to be sent.
    #[inline]
    pub fn backlog(&self) -> u64 {
        self.engine.backlog()
    }

    /// A PDU came, maybe with the network's mark. False where it is none of this scheme.
    pub fn receive(&mut self, now: Time, bytes: Slice, ecn: Ecn, recorder: Option<&Recorder>) -> bool {
        let Some(recorder) = recorder else { return self.engine.receive_bytes(now, bytes, ecn) };
        let Some(pdu) = self.engine.decode(bytes) else { return false };
        recorder.on_received(now, &pdu);
        self.engine.receive(now, pdu, ecn);
        true
    }

    pub fn command(&mut self, now: Time, command: Command<Slice>) {
        self.engine.command(now, command);
    }

    /// The next thing to do. A PDU that is to be sent is appended to `buffer`.
    #[inline]
    pub fn poll(&mut self, now: Time, buffer: &mut Vec<u8>, recorder: Option<&Recorder>) -> Polled {
        loop {
            let start = buffer.len();
            buffer.push(PDU);
            let polled = match recorder {
                Some(recorder) => self.poll_recorded(now, buffer, recorder),
                None => self.engine.poll_bytes(now, buffer),
            };
            if !matches!(polled, Output::Transmit(())) {
                buffer.truncate(start);
                return polled;
            }
            let size = buffer.len() - start;
            let is_sound = size > FLOW_HEADER as usize && size <= self.maximum as usize;
            if is_sound || !self.engine.blame(BreachKind::PduSize) {
                return polled;
            }
            buffer.truncate(start);
        }
    }

    #[cold]
    fn poll_recorded(&mut self, now: Time, buffer: &mut Vec<u8>, recorder: &Recorder) -> Polled {
        match self.engine.poll(now) {
            Output::Transmit(pdu) => {
                let start = buffer.len();
                pdu.encode(buffer);
                recorder.on_sent(now, &pdu, buffer.len() - start + FLOW_HEADER as usize);
                Output::Transmit(())
            }
            Output::Event(event) => Output::Event(event),
            Output::Timeout { at, reason } => Output::Timeout { at, reason },
            Output::Idle => Output::Idle,
        }
    }

    /// The largest datagram has changed.
    pub fn set_maximum(&mut self, bytes: u32) {
        let path = PathHints { maximum: bytes, ..PathHints::default() };
        if let Some(end) = self.engine.end_mut() {
            end.set_segment(path.segment(self.overhead));
        }
    }

    /// Changes the window that a receiver advertises.
    pub fn set_window(&mut self, bytes: u64) {
        if let Some(end) = self.engine.end_mut() {
            end.set_window(bytes);
        }
    }

    /// Changes how much a receiver keeps for want of what comes before.
    pub fn set_memory(&mut self, bytes: u64) {
        if let Some(end) = self.engine.end_mut() {
            end.set_memory(bytes);
        }
    }

    /// The peer is reached over another path.
    pub fn renew(&mut self, now: Time, scheme: &Scheme) {
        self.engine.renew(now, &scheme.ends(&PathHints::default()));
    }

    /// PDUs of the peer have waited here for longer than the path took.
    pub fn skip_round_trips(&mut self) {
        if let Some(end) = self.engine.end_mut() {
            end.skip_round_trips();
        }
    }

    /// The counters and beliefs of a sender; of a receiver all are zero.
    pub fn sender_stats(&self, now: Time) -> SenderStats {
        self.end().sender_stats(now).unwrap_or_default()
    }
}
