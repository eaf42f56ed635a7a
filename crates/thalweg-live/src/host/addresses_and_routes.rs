//! Addresses and routes of a network namespace, over rtnetlink (RFC 3549).

use super::setup_error::{HostError, of_reply};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};
use std::net::IpAddr;
use std::os::fd::OwnedFd;

const NEW_LINK: u16 = 16;
const NEW_ADDRESS: u16 = 20;
const NEW_ROUTE: u16 = 24;
/// Message type of acknowledgements: zero or an error code.
const ERROR: u16 = 2;
/// Request flags: with acknowledgement, and for creation.
const REQUEST: u16 = 1 | 4;
const MAKE: u16 = REQUEST | 0x400;
const IFF_UP: u32 = 1;
/// Attributes of links, addresses and routes.
const LINK_MTU: u16 = 4;
const LINK_QUEUE: u16 = 13;
const ADDRESS: u16 = 1;
const ADDRESS_LOCAL: u16 = 2;
const ROUTE_TO: u16 = 1;
const ROUTE_DEVICE: u16 = 4;
const ROUTE_SOURCE: u16 = 7;
/// Skip duplicate address detection: addresses are unique by construction.
const NO_CHECK: u8 = 2;
const TABLE_MAIN: u8 = 254;
const BY_ADMINISTRATOR: u8 = 4;
const TABLE_LOCAL: u8 = 255;
const SCOPE_LINK: u8 = 253;
const SCOPE_HOST: u8 = 254;
const UNICAST: u8 = 1;
const LOCAL: u8 = 2;

/// Netlink socket to the network namespace of its creation.
#[derive(Debug)]
pub(super) struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

impl Netlink {
    pub fn new() -> Result<Self, HostError> {
        // Protocol number 0 is rtnetlink.
        let made = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None);
        let socket = made.map_err(|why| HostError::new("cannot configure network namespaces", why))?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Returns the index of a device.
    pub fn index(&self, name: &str) -> Result<u32, HostError> {
        let index = rustix::net::netdevice::name_to_index(&self.socket, name);
        index.map_err(|why| HostError::new(format!("there is no device {name}"), why))
    }

    /// Brings a device up, optionally with a given MTU and queue length.
    pub fn up(&mut self, device: u32, mtu: Option<u32>, queue: Option<u32>) -> Result<(), HostError> {
        let mut body = vec![0, 0, 0, 0];
        for word in [device, IFF_UP, IFF_UP] {
            body.extend(word.to_ne_bytes());
        }
        for (code, value) in [(LINK_MTU, mtu), (LINK_QUEUE, queue)] {
            if let Some(value) = value {
                append_attribute(&mut body, code, &value.to_ne_bytes());
            }
        }
        self.request(NEW_LINK, REQUEST, &body).map_err(|why| HostError::new("cannot switch a device on", why))
    }

    /// Assigns an address to a device and adds a default route through it.
    pub fn address(&mut self, device: u32, address: IpAddr) -> Result<(), HostError> {
        let (family, bits, octets) = match &address {
            IpAddr::V4(address) => (AddressFamily::INET, 32, address.octets().to_vec()),
            IpAddr::V6(address) => (AddressFamily::INET6, 128, address.octets().to_vec()),
        };
        let family = family.as_raw() as u8;
        let mut body = vec![family, bits, NO_CHECK, 0];
        body.extend(device.to_ne_bytes());
        append_attribute(&mut body, ADDRESS_LOCAL, &octets);
        append_attribute(&mut body, ADDRESS, &octets);
        self.request(NEW_ADDRESS, MAKE, &body)
            .map_err(|why| HostError::new(format!("cannot set the address {address}"), why))?;
        let scope = if address.is_ipv4() { SCOPE_LINK } else { 0 };
        let mut body = vec![family, 0, 0, 0, TABLE_MAIN, BY_ADMINISTRATOR, scope, UNICAST, 0, 0, 0, 0];
        append_attribute(&mut body, ROUTE_DEVICE, &device.to_ne_bytes());
        if address.is_ipv4() {
            append_attribute(&mut body, ROUTE_SOURCE, &octets);
        }
        self.request(NEW_ROUTE, MAKE, &body)
            .map_err(|why| HostError::new(format!("cannot set the route of {address}"), why))
    }

    /// Makes every address local except the prefix `inside` (address and length), which is routed to `device`.
    /// `loopback` is the index of the namespace's loopback device.
    pub fn everywhere(&mut self, loopback: u32, device: u32, inside: (IpAddr, u8)) -> Result<(), HostError> {
        let (address, bits) = inside;
        let (family, octets) = match &address {
            IpAddr::V4(address) => (AddressFamily::INET, address.octets().to_vec()),
            IpAddr::V6(address) => (AddressFamily::INET6, address.octets().to_vec()),
        };
        let family = family.as_raw() as u8;
        let refused = |why| HostError::new("cannot make addresses local", why);
        let scope = if address.is_ipv4() { SCOPE_HOST } else { 0 };
        let mut body = vec![family, 0, 0, 0, TABLE_LOCAL, BY_ADMINISTRATOR, scope, LOCAL, 0, 0, 0, 0];
        append_attribute(&mut body, ROUTE_DEVICE, &loopback.to_ne_bytes());
        self.request(NEW_ROUTE, MAKE, &body).map_err(refused)?;
        let scope = if address.is_ipv4() { SCOPE_LINK } else { 0 };
        let mut body = vec![family, bits, 0, 0, TABLE_LOCAL, BY_ADMINISTRATOR, scope, UNICAST, 0, 0, 0, 0];
        append_attribute(&mut body, ROUTE_TO, &octets);
        append_attribute(&mut body, ROUTE_DEVICE, &device.to_ne_bytes());
        self.request(NEW_ROUTE, MAKE, &body).map_err(refused)
    }

    fn request(&mut self, kind: u16, flags: u16, body: &[u8]) -> Result<(), Errno> {
        self.sequence += 1;
        let length = body.len() as u32 + 16;
        let mut message = length.to_ne_bytes().to_vec();
        message.extend(kind.to_ne_bytes());
        message.extend(flags.to_ne_bytes());
        message.extend(self.sequence.to_ne_bytes());
        message.extend([0; 4]);
        message.extend(body);
        send(&self.socket, &message, SendFlags::empty())?;
        let mut answer = [0; 4096];
        let (length, _) = recv(&self.socket, &mut answer, RecvFlags::empty())?;
        parse_acknowledgement(&answer[..length])
    }
}

/// Parses the reply to a request with acknowledgement.
pub(crate) fn parse_acknowledgement(reply: &[u8]) -> Result<(), Errno> {
    let kind = reply.get(4..).and_then(|rest| rest.first_chunk().copied()).map(u16::from_ne_bytes);
    let code = reply.get(16..).and_then(|rest| rest.first_chunk().copied()).map(i32::from_ne_bytes);
    match (kind, code) {
        (Some(ERROR), Some(0)) => Ok(()),
        (Some(ERROR), Some(code)) => Err(of_reply(code)),
        _ => Err(Errno::PROTO),
    }
}

fn append_attribute(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend((value.len() as u16 + 4).to_ne_bytes());
    body.extend(code.to_ne_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_acknowledgements_or_errors() {
        let reply = |kind: u16, code: i32| {
            let mut reply = vec![20, 0, 0, 0];
            reply.extend(kind.to_ne_bytes());
            reply.extend([0; 10]);
            reply.extend(code.to_ne_bytes());
            reply
        };
        assert_eq!(parse_acknowledgement(&reply(ERROR, 0)), Ok(()));
        assert_eq!(parse_acknowledgement(&reply(ERROR, -17)), Err(Errno::EXIST));
        for invalid in [reply(ERROR, 17), reply(ERROR, i32::MIN), reply(3, 0), Vec::new(), vec![0; 18]] {
            assert_eq!(parse_acknowledgement(&invalid), Err(Errno::PROTO), "{invalid:?}");
        }
    }
}
