//! Stateless cookies: a client shows that it receives what is sent to its address before the server remembers anything
//! of it or computes a Diffie-Hellman (Karn and Simpson's idea, RFC 2522, section 3). A server asks for them while others have
//! begun handshakes and proved nothing, which is when they are needed (so do WireGuard, and QUIC with its Retry packets).
//!
//! A cookie is the time at which it was made, in nanoseconds from a moment that nobody else knows, and a keyed hash of that,
//! the client's address, its connection id and its first message: a hello that was changed on its way has no good cookie. The
//! key never leaves the server. A cookie makes one handshake: those that have made theirs are remembered for as long as they
//! would be good.

use crate::identity::Entropy;
use crate::wire::{COOKIE, ConnectionId};
use core::hash::{Hash, Hasher};
use std::collections::{HashSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use thalweg_proto::digest::Digest;
use thalweg_proto::units::{Duration, Time};

/// The time for which a cookie is good: longer than any path's round trip, and short for a thief.
const LIFE: Duration = Duration::from_secs(10);

/// Makes and checks cookies.
pub struct Cookies {
    key: [u8; 32],
    /// Added to the time, in nanoseconds: how long a server has been up is its own business.
    offset: u64,
}

impl core::fmt::Debug for Cookies {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Cookies")
    }
}

impl Cookies {
    /// With a new key.
    pub fn new(entropy: &mut dyn Entropy) -> Self {
        let mut key = [0; 32];
        entropy.fill(&mut key);
        let mut offset = [0; 8];
        entropy.fill(&mut offset);
        Self { key, offset: u64::from_be_bytes(offset) }
    }

    /// A cookie for a client and its first message.
    pub fn make(&self, now: Time, address: SocketAddr, source: ConnectionId, first: &[u8]) -> [u8; COOKIE] {
        let time = (now.as_picos() / 1000).wrapping_add(self.offset).to_be_bytes();
        let mut cookie = [0; COOKIE];
        cookie[..8].copy_from_slice(&time);
        cookie[8..].copy_from_slice(&self.hash(time, address, source, first).as_bytes()[..COOKIE - 8]);
        cookie
    }

    /// True for a cookie that was made for this client and this first message, not long ago.
    pub fn check(
        &self,
        now: Time,
        address: SocketAddr,
        source: ConnectionId,
        first: &[u8],
        cookie: &[u8],
    ) -> bool {
        let Some((time, given)) = cookie.split_first_chunk::<8>() else { return false };
        let made = u64::from_be_bytes(*time).wrapping_sub(self.offset);
        let Ok(given) = <[u8; COOKIE - 8]>::try_from(given) else { return false };
        let mut expected = [0; COOKIE - 8];
        expected.copy_from_slice(&self.hash(*time, address, source, first).as_bytes()[..COOKIE - 8]);
        let age = (now.as_picos() / 1000).checked_sub(made);
        age.is_some_and(|age| age <= LIFE.as_picos() / 1000) && constant_time_eq(&given, &expected)
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

/// Cookies that have made their handshake.
#[derive(Debug, Default)]
pub struct Spent {
    cookies: HashSet<Vec<u8>>,
    /// In the order in which they were spent.
    order: VecDeque<(Time, Vec<u8>)>,
}

impl Spent {
    /// True if this cookie has made a handshake.
    pub fn contains(&self, cookie: &[u8]) -> bool {
        self.cookies.contains(cookie)
    }

    /// It makes one now. Those that are good no more are forgotten.
    pub fn add(&mut self, now: Time, cookie: &[u8]) {
        while let Some((_, old)) = self.order.pop_front_if(|(spent, _)| now.since(*spent) > LIFE) {
            self.cookies.remove(&old);
        }
        if self.cookies.insert(cookie.to_owned()) {
            self.order.push_back((now, cookie.to_owned()));
        }
    }
}

impl Digest for Spent {
    fn digest<H: Hasher>(&self, now: Time, into: &mut H) {
        self.order.iter().for_each(|(spent, cookie)| (now.since(*spent), cookie).hash(into));
    }
}

/// Compares secrets in a time that does not tell where they differ.
pub(crate) fn constant_time_eq<const N: usize>(one: &[u8; N], other: &[u8; N]) -> bool {
    // Each difference is passed through the optimiser's blind spot, so that it cannot stop at the first.
    let difference = one.iter().zip(other).fold(0, |all, (a, b)| core::hint::black_box(all | (a ^ b)));
    difference == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::SystemEntropy;

    const SOURCE: ConnectionId = ConnectionId([1; 8]);
    const FIRST: &[u8] = &[2; 32];

    /// Holds RFC 9000, section 8.1.4.
    #[test]
    fn a_cookie_is_good_for_one_client_and_a_while() {
        let cookies = Cookies::new(&mut SystemEntropy::new());
        let now = Time::ZERO + Duration::from_secs(100);
        let client: SocketAddr = "192.0.2.1:1000".parse().unwrap();
        let cookie = cookies.make(now, client, SOURCE, FIRST);
        assert!(cookies.check(now, client, SOURCE, FIRST, &cookie));
        assert!(cookies.check(now + LIFE, client, SOURCE, FIRST, &cookie));
        assert!(!cookies.check(now + LIFE + Duration::from_nanos(1), client, SOURCE, FIRST, &cookie));
        // From the future: the server was started anew, or somebody made it up.
        assert!(!cookies.check(Time::ZERO, client, SOURCE, FIRST, &cookie));
        for other in ["192.0.2.1:1001", "192.0.2.2:1000", "[2001:db8::1]:1000"] {
            assert!(!cookies.check(now, other.parse().unwrap(), SOURCE, FIRST, &cookie), "{other}");
        }
        assert!(!cookies.check(now, client, ConnectionId([2; 8]), FIRST, &cookie));
        assert!(!cookies.check(now, client, SOURCE, &[3; 32], &cookie));
        for at in 0..COOKIE {
            let mut forged = cookie;
            forged[at] ^= 0x80;
            assert!(!cookies.check(now, client, SOURCE, FIRST, &forged), "byte {at}");
            assert!(!cookies.check(now, client, SOURCE, FIRST, &cookie[..at]));
        }
        let others = Cookies::new(&mut SystemEntropy::new());
        assert!(!others.check(now, client, SOURCE, FIRST, &cookie));
    }

    /// A cookie says when it was made by a clock that each server sets for itself.
    #[test]
    fn a_cookie_does_not_tell_how_long_a_server_has_been_up() {
        let (now, client) = (Time::ZERO + Duration::from_secs(100), "192.0.2.1:1000".parse().unwrap());
        let time = |now| {
            let cookie = Cookies::new(&mut SystemEntropy::new()).make(now, client, SOURCE, FIRST);
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
