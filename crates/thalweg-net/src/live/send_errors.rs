//! Errors of the operating system for datagrams to peers that it does not send, for lack of a route for instance.

use std::collections::HashMap;
use std::net::SocketAddr;

/// Maximum number of recorded destinations: packets from forged addresses also get answers.
const MAX_DESTINATIONS: usize = 256;

/// Last error number per destination, if the last datagrams to it were not sent.
#[derive(Debug, Default)]
pub struct SendErrors(HashMap<SocketAddr, i32>);

impl SendErrors {
    /// Records that datagrams were sent.
    #[inline]
    pub fn on_sent(&mut self, destination: SocketAddr) {
        if !self.0.is_empty() {
            self.0.remove(&destination);
        }
    }

    /// Records that datagrams were refused with this error number.
    pub fn on_failed(&mut self, destination: SocketAddr, number: i32) {
        if self.0.len() >= MAX_DESTINATIONS && !self.0.contains_key(&destination) {
            self.0.clear();
        }
        self.0.insert(destination, number);
    }

    /// Returns the error number of the last datagrams to `destination`; `None` if they were sent.
    pub fn last(&self, destination: SocketAddr) -> Option<i32> {
        self.0.get(&destination).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_datagrams_of_a_destination_count() {
        let [a, b] = ["192.0.2.1:1", "192.0.2.2:1"].map(|address| address.parse::<SocketAddr>().unwrap());
        let mut errors = SendErrors::default();
        errors.on_failed(a, 101);
        errors.on_failed(a, 13);
        errors.on_sent(b);
        assert_eq!((errors.last(a), errors.last(b)), (Some(13), None));
        errors.on_sent(a);
        assert_eq!(errors.last(a), None);
        // Forged addresses take bounded memory.
        (1..=10_000).for_each(|port| errors.on_failed(SocketAddr::new(a.ip(), port), 101));
        assert!(errors.0.len() <= MAX_DESTINATIONS);
        assert_eq!(errors.last(SocketAddr::new(a.ip(), 10_000)), Some(101));
    }
}
