//! The network interface of a host: queues of packets.

use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;
use std::collections::VecDeque;

/// An interface with its packets.
#[derive(Debug)]
pub struct Queues {
    mtu: usize,
    /// Maximum number of waiting outgoing packets; the stack continues once they have left.
    max_outgoing: usize,
    incoming: VecDeque<Vec<u8>>,
    outgoing: VecDeque<Vec<u8>>,
}

impl Queues {
    /// Creates an empty interface.
    pub fn new(mtu: usize, max_outgoing: usize) -> Self {
        Self { mtu, max_outgoing, incoming: VecDeque::new(), outgoing: VecDeque::new() }
    }

    /// Returns true if packets must leave before the stack can send others.
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
        let packet = self.incoming.pop_front()?;
        Some((Incoming(packet), Outgoing(&mut self.outgoing)))
    }

    fn transmit(&mut self, _now: Instant) -> Option<Outgoing<'_>> {
        (self.outgoing.len() < self.max_outgoing).then_some(Outgoing(&mut self.outgoing))
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

/// Room for a packet to send.
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
