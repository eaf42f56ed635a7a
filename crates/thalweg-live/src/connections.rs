//! The connections of real flows: packets between the same ports are one, so that queues keep apart what belongs apart.

use std::collections::HashMap;
use std::net::IpAddr;
use thalweg_proto::units::{Duration, Time};

/// The things that packets of one connection share, with the flow of the network that they are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub flow: u32,
    pub addresses: [IpAddr; 2],
    pub protocol: u8,
    pub ports: [u16; 2],
}

/// Connections that are kept at a time, but for one of each flow that further ones share.
const MOST: usize = 1 << 16;

/// A connection that had no packet for so long is over: what was under way of it has arrived.
const SILENCE: Duration = Duration::from_secs(60);

/// A connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    /// Its number in the network.
    pub number: u32,
    /// The time of its last packet.
    last: Time,
    /// The sequence number behind all that TCP has sent on it.
    pub next: Option<u32>,
}

/// All connections.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    open: HashMap<Key, Open>,
    looked: Time,
}

impl Connections {
    /// The connection of `key`, which `connect` makes where there is none. Those that are over are handed to `close`.
    pub fn find(
        &mut self,
        now: Time,
        key: Key,
        connect: impl FnOnce() -> u32,
        close: impl FnMut(u32),
    ) -> &mut Open {
        let mut key = key;
        if !self.open.contains_key(&key) {
            self.tidy(now, close);
            if self.open.len() >= MOST {
                // Further ones of a flow share one.
                key = Key { protocol: 0, ports: [0; 2], ..key };
            }
        }
        let open = self.open.entry(key).or_insert_with(|| Open { number: connect(), last: now, next: None });
        open.last = now;
        open
    }

    /// A connection is still used although none of its packets come: a gate holds it back.
    pub fn keep(&mut self, now: Time, key: &Key) {
        if let Some(open) = self.open.get_mut(key) {
            open.last = now;
        }
    }

    /// Closes what is over, once in a while.
    fn tidy(&mut self, now: Time, mut close: impl FnMut(u32)) {
        if now.since(self.looked) < SILENCE {
            return;
        }
        self.looked = now;
        self.open.retain(|_, open| {
            let stays = now.since(open.last) < SILENCE;
            if !stays {
                close(open.number);
            }
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn key(port: u16) -> Key {
        let address = IpAddr::from(Ipv4Addr::LOCALHOST);
        Key { flow: 0, addresses: [address; 2], protocol: 6, ports: [port, 80] }
    }

    #[test]
    fn connections_last_while_they_are_used() {
        let (mut connections, mut made, mut closed) = (Connections::default(), 0, Vec::new());
        for second in 0..200 {
            for port in [1, 2].into_iter().take(if second == 0 { 2 } else { 1 }) {
                let connect = || {
                    made += 1;
                    made
                };
                let number = connections.find(
                    Time::ZERO + Duration::from_secs(second),
                    key(port),
                    connect,
                    |number| closed.push(number),
                );
                assert_eq!(number.number, u32::from(port));
            }
        }
        connections.find(Time::ZERO + Duration::from_secs(200), key(3), || 3, |number| closed.push(number));
        assert_eq!(closed, [2]);
    }

    #[test]
    fn there_are_never_too_many() {
        let (mut connections, mut made) = (Connections::default(), 0);
        for number in 0..200_000u32 {
            let key = Key { flow: number >> 16, ..key(number as u16) };
            connections.find(
                Time::ZERO,
                key,
                || {
                    made += 1;
                    made
                },
                |_| (),
            );
        }
        // One more for each flow that came when all were taken.
        assert_eq!(made as usize, MOST + 3);
    }
}
