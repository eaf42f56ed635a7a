//! Hosts: arriving packets, packets to send, and the processor if there is one.

use super::EventLoop;
use crate::components::host_processor::{Host, Job, MAX_WAITING, Processor};
use crate::components::packet_pool::{EndpointIndex, Flags};
use crate::event_kinds::EventKind;
use crate::packet_trace::Step;
use crate::packet_tracing::Tracing;
use thalweg_proto::Output;
use thalweg_proto::pdu::{DataUnit as _, SegmentStep};

impl<T: Tracing> EventLoop<T> {
    fn processor(&mut self, number: u32) -> Option<&mut Processor> {
        match &mut self.hosts[number as usize] {
            Host::Processor(processor) => Some(processor),
            Host::Thread(_) | Host::Outside => None,
        }
    }

    /// Handles a packet that reached the host of its endpoint.
    pub(crate) fn deliver_to_host(&mut self, endpoint: EndpointIndex, packet: u32) {
        let number = self.connections.endpoint(endpoint).path.host;
        if matches!(self.hosts[number as usize], Host::Outside) {
            return self.deliver_outside(endpoint, packet);
        }
        // Packets of a data sender keep their order: a POLL must not overtake the data it asks about.
        let is_answer = self.network.packets.get(packet).flags.has(Flags::TO_SENDER);
        let Some(host) = self.processor(number) else {
            return self.deliver_to_thread(number, endpoint, packet);
        };
        let line = if is_answer { &mut host.control } else { &mut host.data };
        if line.len() >= MAX_WAITING {
            self.discard(packet, Step::Dropped, u32::MAX);
            return;
        }
        line.push_back((endpoint, packet));
        self.next_job(number);
    }

    /// Requests the host for an endpoint that may have something to send.
    pub(crate) fn request_host(&mut self, index: EndpointIndex) {
        let endpoint = self.connections.endpoint_mut(index);
        let number = endpoint.path.host;
        let is_new = !core::mem::replace(&mut endpoint.awaits_host, true);
        match &mut self.hosts[number as usize] {
            Host::Processor(processor) => {
                processor.ready_endpoints.extend(is_new.then_some(index));
                self.next_job(number);
            }
            Host::Thread(thread) => {
                thread.ready_endpoints.extend(is_new.then_some(index));
                self.wake_thread(number);
            }
            Host::Outside => {}
        }
    }

    /// Starts the next job of an idle processor.
    fn next_job(&mut self, number: u32) {
        while let Some(host) = self.processor(number).filter(|host| host.job.is_none()) {
            if let Some((endpoint, packet)) = host.control.pop_front() {
                self.begin(number, Job::Receive { endpoint, packet });
            } else if let Some(id) = host.ready_endpoints.pop_front() {
                self.connections.endpoint_mut(id).awaits_host = false;
                self.poll_for_host(number, id);
            } else if let Some((endpoint, packet)) = host.data.pop_front() {
                self.begin(number, Job::Receive { endpoint, packet });
            } else {
                return;
            }
        }
    }

    /// Polls an endpoint until it has something to send.
    fn poll_for_host(&mut self, number: u32, index: EndpointIndex) {
        loop {
            match self.poll(index) {
                Output::Transmit(pdu) => {
                    if let Some(step) = pdu.segment_step().filter(|step| *step == SegmentStep::Begun) {
                        self.step_segment(index, step);
                    }
                    return self.begin(number, Job::Send { endpoint: index, pdu });
                }
                Output::Event(event) => self.on_event(index, &event),
                Output::Timeout { .. } | Output::Idle => return self.record_endpoint(index),
            }
            if self.processor(number).is_some_and(|host| host.job.is_some()) {
                // The event made another endpoint of this host send: this one waits its turn.
                return self.request_host(index);
            }
        }
    }

    fn begin(&mut self, number: u32, job: Job) {
        let size = match &job {
            Job::Receive { packet, .. } => self.network.packets.get(*packet).size,
            Job::Send { endpoint, pdu } => self.connections.endpoint(*endpoint).wire_size(pdu),
        };
        let now = self.now;
        let Some(host) = self.processor(number) else { return };
        host.job = Some(job);
        let done = now + host.cost(size);
        self.wheel.push(done, EventKind::Host.key(number));
    }

    /// Handles a processor that is done, or a thread that wakes.
    pub(crate) fn on_host(&mut self, number: u32) {
        let Some(host) = self.processor(number) else { return self.run_thread(number) };
        match host.job.take() {
            Some(Job::Receive { endpoint, packet }) => self.deliver_to_endpoint(endpoint, packet),
            Some(Job::Send { endpoint, pdu }) => {
                self.send(endpoint, &pdu);
                // The endpoint may have more; the others come first.
                self.request_host(endpoint);
            }
            None => {}
        }
        self.next_job(number);
    }
}
