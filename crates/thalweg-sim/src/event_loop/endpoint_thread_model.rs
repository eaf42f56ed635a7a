//! Hosts whose thread is woken for arrivals and timers.

use super::EventLoop;
use crate::components::endpoint_thread_model::{ResequencingResult, Thread};
use crate::components::host_processor::Host;
use crate::components::packet_pool::{EndpointIndex, Flags, NONE, Packet};
use crate::event_kinds::EventKind;
use crate::host_model::MAX_SENT;
use crate::packet_trace::Step;
use crate::packet_tracing::Tracing;
use thalweg_proto::Output;
use thalweg_proto::pdu::{DataUnit as _, SegmentStep};
use thalweg_proto::units::Duration;

impl<T: Tracing> EventLoop<T> {
    fn thread(&mut self, number: u32) -> Option<&mut Thread> {
        match &mut self.hosts[number as usize] {
            Host::Thread(thread) => Some(thread),
            Host::Processor(_) | Host::Outside => None,
        }
    }

    /// Handles a packet that reached the socket of a thread.
    pub(crate) fn deliver_to_thread(&mut self, number: u32, endpoint: EndpointIndex, packet: u32) {
        let size = self.network.packets.get(packet).size;
        let accepted = self.thread(number).is_some_and(|thread| thread.accept(endpoint, packet, size));
        if accepted {
            self.wake_thread(number);
        } else {
            self.discard(packet, Step::Dropped, u32::MAX);
        }
    }

    /// Returns the timer granularity of this endpoint's host.
    pub(crate) fn granularity(&self, index: EndpointIndex) -> Duration {
        match &self.hosts[self.connections.endpoint(index).path.host as usize] {
            Host::Thread(thread) => thread.spec().granularity,
            Host::Processor(_) | Host::Outside => Duration::ZERO,
        }
    }

    /// Wakes a thread, unless it is awake.
    pub(crate) fn wake_thread(&mut self, number: u32) {
        let now = self.now;
        if let Some(at) = self.thread(number).and_then(|thread| thread.wake(now)) {
            self.wheel.push(at, EventKind::Host.key(number));
        }
    }

    /// Runs all pending work of a thread.
    pub(crate) fn run_thread(&mut self, number: u32) {
        let now = self.now;
        let Some(thread) = self.thread(number) else { return };
        if !thread.begin(now) {
            return;
        }
        let host = *thread.spec();
        let mut cost = host.call;
        for _ in 0..thread.arrived.len() {
            let Host::Thread(thread) = &mut self.hosts[number as usize] else { break };
            let packets = &self.network.packets;
            let Some((endpoint, packet, size)) = thread.take(|packet| packets.get(packet).size) else {
                break;
            };
            cost += host.cost(size);
            self.put_in_order(number, endpoint, packet);
        }
        let mut left = MAX_SENT;
        while left > 0
            && let Some(id) = self.thread(number).and_then(|thread| thread.ready_endpoints.pop_front())
        {
            self.connections.endpoint_mut(id).awaits_host = false;
            cost += self.poll_for_thread(id, &mut left);
        }
        if let Some(at) = self.thread(number).and_then(|thread| thread.end(now, cost)) {
            self.wheel.push(at, EventKind::Host.key(number));
        }
    }

    /// Delivers a packet to its endpoint in order.
    fn put_in_order(&mut self, number: u32, endpoint: EndpointIndex, packet: u32) {
        let Packet { flags, serial, incarnation, .. } = *self.network.packets.get(packet);
        let is_numbered = !flags.has(Flags::DAMAGED)
            && !flags.has(Flags::ROUTER)
            && self.connections.endpoint(endpoint).incarnation == incarnation;
        let now = self.now;
        let placed = match self.thread(number).filter(|_| is_numbered) {
            Some(thread) => thread.put_in_order(now, endpoint, serial, packet),
            None => ResequencingResult::AtOnce,
        };
        match placed {
            ResequencingResult::AtOnce => self.deliver_to_endpoint(endpoint, packet),
            ResequencingResult::Again => self.ignore(packet),
            ResequencingResult::Waits => {
                self.hand_in_order(number, endpoint);
                // The end of the gap must wake it.
                self.request_host(endpoint);
            }
        }
    }

    /// Delivers the packets that are in order now.
    fn hand_in_order(&mut self, number: u32, endpoint: EndpointIndex) {
        let now = self.now;
        while let Some(packet) = self.thread(number).and_then(|thread| thread.next_in_order(now, endpoint)) {
            self.deliver_to_endpoint(endpoint, packet);
        }
    }

    /// Starts an endpoint on a thread; its first packet has this number.
    pub(crate) fn expect(&mut self, endpoint: EndpointIndex, first: u32) {
        let number = self.connections.endpoint(endpoint).path.host;
        if number != NONE
            && let Some(thread) = self.thread(number)
        {
            for packet in thread.expect(endpoint, first) {
                self.ignore(packet);
            }
        }
    }

    /// Sends an endpoint's packets, at most `left`, and returns their cost.
    fn poll_for_thread(&mut self, index: EndpointIndex, left: &mut usize) -> Duration {
        let mut cost = Duration::ZERO;
        let number = self.connections.endpoint(index).path.host;
        self.hand_in_order(number, index);
        while *left > 0 {
            match self.poll(index) {
                Output::Transmit(pdu) => {
                    if let Some(step) = pdu.segment_step().filter(|step| *step == SegmentStep::Begun) {
                        self.step_segment(index, step);
                    }
                    let size = self.connections.endpoint(index).wire_size(&pdu);
                    if let Host::Thread(thread) =
                        &self.hosts[self.connections.endpoint(index).path.host as usize]
                    {
                        cost += thread.spec().cost(size);
                    }
                    self.send(index, &pdu);
                    *left -= 1;
                }
                Output::Event(event) => self.on_event(index, &event),
                Output::Timeout { .. } | Output::Idle => {
                    let now = self.now;
                    if let Some(at) = self.thread(number).and_then(|thread| thread.gap_ends(now, index)) {
                        self.arm(index, at.max(now + self.granularity(index)));
                    }
                    self.record_endpoint(index);
                    return cost;
                }
            }
        }
        self.request_host(index);
        cost
    }
}
