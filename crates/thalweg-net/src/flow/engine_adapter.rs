//! Engine adapter: drives any engine over bytes.

use super::{FLOW_HEADER, PDU, PathHints, Recorder, Role, Scheme};
use thalweg_catalog::AnyEngine;
use thalweg_proto::Ecn;
use thalweg_proto::Output;
use thalweg_proto::endpoint::{End, Notice};
use thalweg_proto::payload::Slice;
use thalweg_proto::pdu::DataUnit;
use thalweg_proto::transport::{Command, Event, SenderStats, ViolationKind};
use thalweg_proto::units::Time;

/// Engine that carries bytes, with its PDU codec.
#[derive(Debug)]
pub(super) struct EngineAdapter {
    engine: AnyEngine<Slice>,
    /// Overhead per packet, in bytes.
    overhead: u32,
    /// Maximum datagram size at the start of the flow, in bytes.
    max_datagram: u32,
}

/// Engine output with an already encoded PDU, and the ECN codepoint of its packet where the protocol chooses one for
/// each.
pub(super) type Polled = Output<Option<Ecn>, Event<Slice>, ()>;

impl EngineAdapter {
    pub fn new(scheme: &Scheme, role: Role, path: &PathHints) -> Self {
        let ends = scheme.ends(path);
        let engine = match role {
            Role::Sender => AnyEngine::sender(&ends, None),
            Role::Receiver => AnyEngine::receiver(&ends, None),
        };
        Self { engine, overhead: scheme.values().0.traits.overhead, max_datagram: path.max_datagram }
    }

    /// Returns the interface common to all engines.
    pub fn end(&self) -> &dyn End {
        self.engine.end()
    }

    /// Returns the number of unsent bytes.
    #[inline]
    pub fn backlog(&self) -> u64 {
        self.engine.backlog()
    }

    /// Processes a PDU, with or without a congestion mark. Returns false if it is not a PDU of this scheme.
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

    /// Returns the next output. Appends a PDU to send to `buffer`.
    #[inline]
    pub fn poll(&mut self, now: Time, buffer: &mut Vec<u8>, recorder: Option<&Recorder>) -> Polled {
        loop {
            let start = buffer.len();
            buffer.push(PDU);
            let polled = match recorder {
                Some(recorder) => self.poll_recorded(now, buffer, recorder),
                None => self.engine.poll_bytes(now, buffer),
            };
            if !matches!(polled, Output::Transmit(_)) {
                buffer.truncate(start);
                return polled;
            }
            let size = buffer.len() - start;
            let is_sound = size > FLOW_HEADER as usize && size <= self.max_datagram as usize;
            if is_sound || !self.engine.report_violation(ViolationKind::PduSize) {
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
                Output::Transmit(DataUnit::<Slice>::ecn(&pdu))
            }
            Output::Event(event) => Output::Event(event),
            Output::Timeout { at, reason } => Output::Timeout { at, reason },
            Output::Idle => Output::Idle,
        }
    }

    /// Sets the maximum datagram size.
    pub fn set_maximum(&mut self, bytes: u32) {
        let path = PathHints { max_datagram: bytes, ..PathHints::default() };
        self.notify(Notice::Segment(path.max_payload(self.overhead)));
    }

    /// Reports a change outside of the engine.
    pub fn notify(&mut self, notice: Notice) {
        if let Some(end) = self.engine.end_mut() {
            end.notify(notice);
        }
    }

    /// Resets path state after a migration.
    pub fn on_path_change(&mut self, now: Time, scheme: &Scheme) {
        self.engine.on_path_change(now, &scheme.ends(&PathHints::default()));
    }

    /// Returns the counters and estimates of a sender; all zero for a receiver.
    pub fn sender_stats(&self, now: Time) -> SenderStats {
        self.end().sender_stats(now).unwrap_or_default()
    }
}
