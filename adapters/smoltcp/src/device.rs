//! The network interface of a host: queues of packets.

use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;
use std::collections::VecDeque;

/// An interface with its packets.
#[derive(Debug)]
pub struct Queues {
    mtu: usize,
    /// Maximum number of queued outgoing packets; the stack continues once they have left.
    max_outgoing: usize,
    incoming: VecDeque<Vec<u8>>,
    outgoing: VecDeque<Vec<u8>>,
}

impl Queues {
    /// Creates an empty interface.
    pub fn new(mtu: usize, max_outgoing: usize) -> Self {
        Self { mtu, max_outgoing, incoming: VecDeque::new(), outgoing: VecDeque::new() }
    }

    /// Returns true if packets must leave before the stack can send or receive others.
    pub fn is_full(&self) -> bool {
        self.outgoing.len() >= self.max_outgoing
    }

    /// Adds a received packet.
    pub fn push(&mut self, packet: &[u8]) {
        self.incoming.push_back(packet.to_vec());
    }

    /// Takes the next packet to send.
    pub fn pop(&mut self) -> Option<Vec<u8>> {
        self.outgoing.pop_front()
    }
}

impl Device for Queues {
    type RxToken<'a> = Incoming;
    type TxToken<'a> = Outgoing<'a>;

    fn receive(&mut self, _now: Instant) -> Option<(Incoming, Outgoing<'_>)> {
        // The answer to a packet needs a place in the queue; until then the packet waits.
        if self.is_full() {
            return None;
        }
        let packet = self.incoming.pop_front()?;
        Some((Incoming(packet), Outgoing(&mut self.outgoing)))
    }

    fn transmit(&mut self, _now: Instant) -> Option<Outgoing<'_>> {
        (!self.is_full()).then_some(Outgoing(&mut self.outgoing))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu;
        capabilities
    }
}

/// A received packet.
#[derive(Debug)]
pub struct Incoming(Vec<u8>);

impl RxToken for Incoming {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

/// Token for one packet to send.
#[derive(Debug)]
pub struct Outgoing<'a>(&'a mut VecDeque<Vec<u8>>);

impl TxToken for Outgoing<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut packet = vec![0; length];
        let result = write(&mut packet);
        self.0.push_back(packet);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_accepts_no_answer() {
        let mut queues = Queues::new(1500, 1);
        queues.push(&[1]);
        queues.transmit(Instant::ZERO).unwrap().consume(1, |packet| packet[0] = 2);
        assert!(queues.is_full() && queues.transmit(Instant::ZERO).is_none());
        assert!(queues.receive(Instant::ZERO).is_none(), "its answer would exceed the queue");
        assert_eq!(queues.pop(), Some(vec![2]));
        let (packet, answer) = queues.receive(Instant::ZERO).expect("the packet is still there");
        packet.consume(|bytes| assert_eq!(bytes, [1]));
        answer.consume(1, |packet| packet[0] = 3);
        assert_eq!(queues.pop(), Some(vec![3]));
    }
}
