//! Connections of real flows: packets between the same ports form one connection, as flow queues require.

use std::collections::HashMap;
use std::net::IpAddr;
use thalweg_proto::units::{Duration, Time};

/// Connection key: the flow of the network, protocol and ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub flow: u32,
    pub addresses: [IpAddr; 2],
    pub protocol: u8,
    pub ports: [u16; 2],
}

/// Maximum number of connections, except one shared overflow connection per flow.
const MAX_CONNECTIONS: usize = 1 << 16;

/// Idle timeout of a connection; all its packets have arrived by then.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// State of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenConnection {
    /// Number in the network.
    pub number: u32,
    /// Time of the last packet.
    last: Time,
    /// Next TCP sequence number: one beyond the highest sent.
    pub next: Option<u32>,
}

/// Connection table.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    open_connections: HashMap<Key, OpenConnection>,
    checked_at: Time,
}

impl Connections {
    /// Returns the connection of `key`, created by `connect` if missing. Passes expired ones to `close`.
    pub fn find(
        &mut self,
        now: Time,
        key: Key,
        connect: impl FnOnce() -> u32,
        close: impl FnMut(u32),
    ) -> &mut OpenConnection {
        let mut key = key;
        if !self.open_connections.contains_key(&key) {
            self.close_expired(now, close);
            if self.open_connections.len() >= MAX_CONNECTIONS {
                // Overflow connections of a flow share one entry.
                key = Key { protocol: 0, ports: [0; 2], ..key };
            }
        }
        let open = self.open_connections.entry(key).or_insert_with(|| OpenConnection {
            number: connect(),
            last: now,
            next: None,
        });
        open.last = now;
        open
    }

    /// Keeps an idle connection alive while a gate holds its packets.
    pub fn keep(&mut self, now: Time, key: &Key) {
        if let Some(open) = self.open_connections.get_mut(key) {
            open.last = now;
        }
    }

    /// Closes expired connections periodically.
    fn close_expired(&mut self, now: Time, mut close: impl FnMut(u32)) {
        if now.since(self.checked_at) < IDLE_TIMEOUT {
            return;
        }
        self.checked_at = now;
        self.open_connections.retain(|_, open| {
            let stays = now.since(open.last) < IDLE_TIMEOUT;
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
        // One overflow entry per flow beyond the limit.
        assert_eq!(made as usize, MAX_CONNECTIONS + 3);
    }
}
