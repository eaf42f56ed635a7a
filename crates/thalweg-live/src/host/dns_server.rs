//! DNS server for node names (RFC 1035), for programs that bypass `/etc/hosts`: at 127.0.0.1 of each host. It knows
//! only the nodes.

use super::namespace::Host;
use super::setup_error::HostError;
use crate::network_plan::Plan;
use rustix::event::{PollFd, PollFlags, poll};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};

/// DNS port.
const PORT: u16 = 53;
/// Record types: A and AAAA.
const A: u16 = 1;
const AAAA: u16 = 28;
/// Class IN.
const CLASS: u16 = 1;
/// Header flags: authoritative response; recursion desired is copied from the query.
const ANSWER: u8 = 0x84;
const RECURSION: u8 = 0x01;
const CAN_RECURSE: u8 = 0x80;
const NO_SUCH_NAME: u8 = 3;
const NOT_DONE: u8 = 4;
/// TTL of records, in seconds. Names do not change during a run.
const SECONDS: u32 = 60;
/// DNS header length, in bytes.
const HEADER: usize = 12;

/// Node addresses by lower-case name.
#[derive(Clone, Debug)]
pub(crate) struct NodeAddresses(HashMap<String, Vec<IpAddr>>);

/// Serves DNS at all hosts, from a thread that lives as long as this process.
///
/// # Errors
///
/// The system refuses.
pub fn serve(plan: &Plan, hosts: &[Host]) -> Result<(), HostError> {
    let refused = |why: std::io::Error| {
        HostError::new(
            "cannot serve names",
            rustix::io::Errno::from_io_error(&why).unwrap_or(rustix::io::Errno::IO),
        )
    };
    let known = NodeAddresses::from_plan(plan);
    let mut sockets = Vec::new();
    for host in hosts {
        host.enter()?;
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, PORT)).map_err(refused)?;
        socket.set_nonblocking(true).map_err(refused)?;
        sockets.push(socket);
    }
    let thread = std::thread::Builder::new().name("names".to_owned());
    thread.spawn(move || known.answer_all(&sockets)).map_err(refused)?;
    Ok(())
}

impl NodeAddresses {
    /// Creates the table from lower-case names.
    pub(crate) fn new(named: impl IntoIterator<Item = (String, Vec<IpAddr>)>) -> Self {
        Self(named.into_iter().collect())
    }

    fn from_plan(plan: &Plan) -> Self {
        let count = if plan.has_v6() { 2 } else { 1 };
        let named =
            plan.nodes.iter().map(|node| (node.name.to_ascii_lowercase(), node.addresses[..count].to_vec()));
        Self::new(named)
    }

    fn answer_all(&self, sockets: &[UdpSocket]) {
        let mut buffer = [0; 512];
        loop {
            let mut polled: Vec<PollFd<'_>> =
                sockets.iter().map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
            if poll(&mut polled, None).is_err_and(|error| error != rustix::io::Errno::INTR) {
                return;
            }
            let ready: Vec<bool> = polled.iter().map(|polled| !polled.revents().is_empty()).collect();
            for (socket, _) in sockets.iter().zip(ready).filter(|(_, is_ready)| *is_ready) {
                while let Ok((length, from)) = socket.recv_from(&mut buffer) {
                    if let Some(answer) = self.answer(&buffer[..length]) {
                        // The client retries if the answer is lost.
                        let _ = socket.send_to(&answer, from);
                    }
                }
            }
        }
    }

    /// Returns the answer to a message; `None` if there must be none.
    pub(crate) fn answer(&self, message: &[u8]) -> Option<Vec<u8>> {
        let header: &[u8; HEADER] = message.first_chunk()?;
        let [flags, count] = [header[2], header[5]];
        if flags & 0x80 != 0 {
            return None;
        }
        let mut answer = vec![header[0], header[1], ANSWER | flags & (RECURSION | 0x78), CAN_RECURSE];
        let question = (flags & 0x78 == 0 && header[4] == 0 && count == 1).then(|| parse_question(message));
        let Some(Question { name, kind, class, end }) = question.flatten() else {
            answer[3] |= NOT_DONE;
            answer.extend([0; 8]);
            return Some(answer);
        };
        let addresses = self.0.get(&name).filter(|_| class == CLASS);
        let wanted =
            |address: &&IpAddr| matches!((kind, address), (A, IpAddr::V4(_)) | (AAAA, IpAddr::V6(_)));
        let found: Vec<&IpAddr> = addresses.into_iter().flatten().filter(wanted).collect();
        if addresses.is_none() {
            answer[3] |= NO_SUCH_NAME;
        }
        // One question, the answers, no authority or additional records.
        answer.extend([0, 1, 0, found.len() as u8, 0, 0, 0, 0]);
        answer.extend(&message[HEADER..end]);
        for address in found {
            // Compression pointer to the name in the question.
            answer.extend([0xc0, HEADER as u8]);
            answer.extend([kind, CLASS].map(u16::to_be_bytes).concat());
            answer.extend(SECONDS.to_be_bytes());
            let octets = match address {
                IpAddr::V4(address) => address.octets().to_vec(),
                IpAddr::V6(address) => address.octets().to_vec(),
            };
            answer.extend((octets.len() as u16).to_be_bytes());
            answer.extend(octets);
        }
        Some(answer)
    }
}

/// A DNS question.
struct Question {
    /// Lower-case name, without the trailing dot.
    name: String,
    kind: u16,
    class: u16,
    /// Offset behind the question.
    end: usize,
}

fn parse_question(message: &[u8]) -> Option<Question> {
    let (mut labels, mut at) = (Vec::new(), HEADER);
    loop {
        let length = usize::from(*message.get(at)?);
        at += 1;
        match length {
            0 => break,
            // Larger lengths are invalid here; a question has no earlier name to point to.
            1..64 => labels.push(String::from_utf8_lossy(message.get(at..at + length)?).to_ascii_lowercase()),
            _ => return None,
        }
        at += length;
    }
    let word = |at: usize| message.get(at..)?.first_chunk().copied().map(u16::from_be_bytes);
    Some(Question { name: labels.join("."), kind: word(at)?, class: word(at + 2)?, end: at + 4 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn known_nodes() -> NodeAddresses {
        let addresses = vec!["10.71.0.2".parse().unwrap(), "fd74::2".parse().unwrap()];
        NodeAddresses(HashMap::from([("server".to_owned(), addresses)]))
    }

    /// Returns a query as in RFC 1035, section 4.1, with recursion desired.
    fn query(name: &str, kind: u8) -> Vec<u8> {
        let mut message = vec![0xab, 0xcd, 0x01, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            message.push(label.len() as u8);
            message.extend(label.as_bytes());
        }
        message.extend([0, 0, kind, 0, 1]);
        message
    }

    #[test]
    fn nodes_have_addresses() {
        let question = query("Server", 1);
        let answer = known_nodes().answer(&question).unwrap();
        assert_eq!(answer[..12], [0xab, 0xcd, 0x85, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
        assert_eq!(answer[12..question.len()], question[12..]);
        assert_eq!(answer[question.len()..], [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 10, 71, 0, 2]);
        let answer = known_nodes().answer(&query("server", 28)).unwrap();
        assert_eq!((answer[3], answer[7], &answer[answer.len() - 18..][..2]), (0x80, 1, [0, 16].as_slice()));
    }

    #[test]
    fn others_have_none() {
        // A record type that no node has, an unknown name, and an invalid message.
        let flags = |message: &[u8]| known_nodes().answer(message).map(|answer| (answer[3] & 15, answer[7]));
        assert_eq!(flags(&query("server", 16)), Some((0, 0)));
        assert_eq!(flags(&query("www.example.org", 1)), Some((3, 0)));
        assert_eq!(flags(&[0, 0, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0]), Some((4, 0)));
        assert_eq!(flags(&query("server", 1)[..20]), Some((4, 0)));
        let mut answer = query("server", 1);
        answer[2] |= 0x80;
        assert_eq!((flags(&answer), flags(b"x")), (None, None));
    }

    proptest! {
        /// Tests that arbitrary messages cause no panic and every answer is a response.
        #[test]
        fn arbitrary_input_is_handled(message in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Some(answer) = known_nodes().answer(&message) {
                prop_assert!(answer.len() >= 12 && answer[..2] == message[..2] && answer[2] & 0x80 != 0);
            }
        }
    }
}
