//! Stateless cookies: a client proves that it receives at its address before the server keeps any state or computes a
//! Diffie-Hellman (Karn and Simpson's idea, RFC 2522, section 3). A server requires them only while other unvalidated
//! handshakes are pending, like WireGuard under load and QUIC with its Retry packets.
//!
//! A cookie consists of its creation time, in nanoseconds from a secret origin, and a keyed hash of that time, the
//! client's address, connection id and first message. A hello modified on its way thus has no valid cookie. The key
//! never leaves the server. A cookie is valid for one handshake: spent cookies are remembered for their lifetime.

use crate::identity::Entropy;
use crate::wire::{COOKIE_SIZE, ConnectionId};
use core::hash::{Hash, Hasher};
use std::collections::{HashSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use thalweg_proto::state_digest::Digest;
use thalweg_proto::units::{Duration, Time};

/// Lifetime of a cookie: longer than any round trip, but short for a thief.
const COOKIE_LIFETIME: Duration = Duration::from_secs(10);

/// Creates and checks cookies.
pub struct Cookies {
    key: [u8; 32],
    /// Offset added to the time, in nanoseconds, to hide the server's uptime.
    offset: u64,
}

impl core::fmt::Debug for Cookies {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Cookies")
    }
}

impl Cookies {
    /// Creates an instance with a new key.
    pub fn new(entropy: &mut dyn Entropy) -> Self {
        let mut key = [0; 32];
        entropy.fill(&mut key);
        let mut offset = [0; 8];
        entropy.fill(&mut offset);
        Self { key, offset: u64::from_be_bytes(offset) }
    }

    /// Returns a cookie for a client and its first message.
    pub fn make(
        &self,
        now: Time,
        address: SocketAddr,
        source: ConnectionId,
        first: &[u8],
    ) -> [u8; COOKIE_SIZE] {
        let time = (now.as_picos() / 1000).wrapping_add(self.offset).to_be_bytes();
        let mut cookie = [0; COOKIE_SIZE];
        cookie[..8].copy_from_slice(&time);
        cookie[8..].copy_from_slice(&self.hash(time, address, source, first).as_bytes()[..COOKIE_SIZE - 8]);
        cookie
    }

    /// Returns true for an unexpired cookie made for this client and this first message.
    pub fn check(
        &self,
        now: Time,
        address: SocketAddr,
        source: ConnectionId,
        first: &[u8],
        cookie: &[u8],
    ) -> bool {
        let Some((time, tag_bytes)) = cookie.split_first_chunk::<8>() else { return false };
        let made = u64::from_be_bytes(*time).wrapping_sub(self.offset);
        let Ok(given_tag) = <[u8; COOKIE_SIZE - 8]>::try_from(tag_bytes) else { return false };
        let mut expected = [0; COOKIE_SIZE - 8];
        expected.copy_from_slice(&self.hash(*time, address, source, first).as_bytes()[..COOKIE_SIZE - 8]);
        let age = (now.as_picos() / 1000).checked_sub(made);
        age.is_some_and(|age| age <= COOKIE_LIFETIME.as_picos() / 1000)
            && constant_time_eq(&given_tag, &expected)
    }

    fn hash(&self, time: [u8; 8], address: SocketAddr, source: ConnectionId, first: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&time);
        match address.ip() {
            IpAddr::V4(ip) => hasher.update(&ip.octets()),
            IpAddr::V6(ip) => hasher.update(&ip.octets()),
        };
        hasher.update(&address.port().to_be_bytes()).update(&source.0).update(first);
        hasher.finalize()
    }
}

/// Spent cookies.
#[derive(Debug, Default)]
pub struct UsedCookies {
    cookies: HashSet<Vec<u8>>,
    /// Cookies in the order of their use.
    order: VecDeque<(Time, Vec<u8>)>,
}

impl UsedCookies {
    /// Returns true if this cookie is spent.
    pub fn contains(&self, cookie: &[u8]) -> bool {
        self.cookies.contains(cookie)
    }

    /// Adds a spent cookie, and removes expired ones.
    pub fn add(&mut self, now: Time, cookie: &[u8]) {
        while let Some((_, old)) = self.order.pop_front_if(|(spent, _)| now.since(*spent) > COOKIE_LIFETIME) {
            self.cookies.remove(&old);
        }
        if self.cookies.insert(cookie.to_owned()) {
            self.order.push_back((now, cookie.to_owned()));
        }
    }
}

impl Digest for UsedCookies {
    fn feed_state<H: Hasher>(&self, now: Time, into: &mut H) {
        self.order.iter().for_each(|(spent, cookie)| (now.since(*spent), cookie).hash(into));
    }
}

/// Compares secrets in constant time.
pub(crate) fn constant_time_eq<const N: usize>(one: &[u8; N], other: &[u8; N]) -> bool {
    // `black_box` keeps the optimiser from stopping at the first difference.
    let difference = one.iter().zip(other).fold(0, |all, (a, b)| core::hint::black_box(all | (a ^ b)));
    difference == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::SystemEntropy;

    const SOURCE: ConnectionId = ConnectionId([1; 8]);
    const FIRST_INPUT: &[u8] = &[2; 32];

    /// Holds RFC 9000, section 8.1.4.
    #[test]
    fn a_cookie_is_bound_to_its_client_and_lifetime() {
        let cookies = Cookies::new(&mut SystemEntropy::new());
        let now = Time::ZERO + Duration::from_secs(100);
        let client: SocketAddr = "192.0.2.1:1000".parse().unwrap();
        let cookie = cookies.make(now, client, SOURCE, FIRST_INPUT);
        assert!(cookies.check(now, client, SOURCE, FIRST_INPUT, &cookie));
        assert!(cookies.check(now + COOKIE_LIFETIME, client, SOURCE, FIRST_INPUT, &cookie));
        assert!(!cookies.check(
            now + COOKIE_LIFETIME + Duration::from_nanos(1),
            client,
            SOURCE,
            FIRST_INPUT,
            &cookie
        ));
        // A cookie from the future: the server restarted, or the cookie is forged.
        assert!(!cookies.check(Time::ZERO, client, SOURCE, FIRST_INPUT, &cookie));
        for other in ["192.0.2.1:1001", "192.0.2.2:1000", "[2001:db8::1]:1000"] {
            assert!(!cookies.check(now, other.parse().unwrap(), SOURCE, FIRST_INPUT, &cookie), "{other}");
        }
        assert!(!cookies.check(now, client, ConnectionId([2; 8]), FIRST_INPUT, &cookie));
        assert!(!cookies.check(now, client, SOURCE, &[3; 32], &cookie));
        for at in 0..COOKIE_SIZE {
            let mut forged = cookie;
            forged[at] ^= 0x80;
            assert!(!cookies.check(now, client, SOURCE, FIRST_INPUT, &forged), "byte {at}");
            assert!(!cookies.check(now, client, SOURCE, FIRST_INPUT, &cookie[..at]));
        }
        let others = Cookies::new(&mut SystemEntropy::new());
        assert!(!others.check(now, client, SOURCE, FIRST_INPUT, &cookie));
    }

    /// Each server's cookie time has a random offset of its own.
    #[test]
    fn a_cookie_does_not_reveal_the_server_uptime() {
        let (now, client) = (Time::ZERO + Duration::from_secs(100), "192.0.2.1:1000".parse().unwrap());
        let time = |now| {
            let cookie = Cookies::new(&mut SystemEntropy::new()).make(now, client, SOURCE, FIRST_INPUT);
            u64::from_be_bytes(cookie[..8].try_into().unwrap())
        };
        let (mut same, mut real) = (0, 0);
        for _ in 0..50 {
            let [one, other] = [time(now), time(now)];
            same += u32::from(one == other);
            real += u32::from(one < u64::MAX / 1000);
        }
        assert!(same == 0 && real < 10, "{same} {real}");
    }
}
