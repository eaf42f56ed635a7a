//! Fair queue of items that wait for service one at a time. Places and turns are shared by address.

use crate::endpoint::Host;
use std::collections::{HashMap, VecDeque};
use std::time::Instant;

/// Maximum number of waiting items.
const MAX_ITEMS: usize = 4;
/// Maximum number of remembered addresses; with more, fairness by address is lost anyway.
const MAX_REMEMBERED: usize = 1024;

/// Waiting items in order of arrival, except that the item in service comes first.
#[derive(Debug)]
pub struct FairQueue<T> {
    entries: VecDeque<(Host, T)>,
    shown: Option<Instant>,
    /// Number of unsuccessful turns per address.
    failed_turns: HashMap<Host, usize>,
}

/// No waiting address has more places than the address of the new item.
#[derive(Debug, PartialEq, Eq)]
pub struct QueueFull;

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self { entries: VecDeque::new(), shown: None, failed_turns: HashMap::new() }
    }
}

impl<T> FairQueue<T> {
    /// Makes room for an item of this address. If the queue is full, evicts and returns the newest item of the address
    /// with the most places; unsuccessful turns of an address count as places.
    pub fn evict(&mut self, host: Host) -> Result<Option<T>, QueueFull> {
        if self.entries.len() < MAX_ITEMS {
            return Ok(None);
        }
        let is_first_shown = usize::from(self.shown.is_some());
        let others = (is_first_shown..self.entries.len()).map(|at| (self.weight(self.entries[at].0), at));
        let (max, newest) = others.max().ok_or(QueueFull)?;
        // Equal weights must not evict each other.
        if max <= self.weight(host) + 1 {
            return Err(QueueFull);
        }
        Ok(self.entries.remove(newest).map(|(_, item)| item))
    }

    /// Appends an item.
    pub fn add(&mut self, host: Host, item: T) {
        self.entries.push_back((host, item));
    }

    /// Returns the item in service, or else the next one: the first to arrive from the address with the fewest
    /// unsuccessful turns.
    pub fn next(&self) -> Option<(usize, &T)> {
        let mut candidates = self.entries.iter().enumerate();
        let (at, (_, item)) = match self.shown {
            Some(_) => candidates.next(),
            None => candidates.min_by_key(|(_, (host, _))| self.failed_turns(*host)),
        }?;
        Some((at, item))
    }

    /// Puts this item in service.
    pub fn show(&mut self, at: usize, now: Instant) {
        if let Some(item) = self.entries.remove(at) {
            self.entries.push_front(item);
            self.shown = Some(now);
        }
    }

    /// Returns the start of the current item's service, if there is one.
    pub fn shown(&self) -> Option<Instant> {
        self.shown
    }

    /// Removes an item. If it was in service, its turn counts as unsuccessful.
    pub fn remove(&mut self, at: usize) -> Option<T> {
        let (host, item) = self.entries.remove(at)?;
        if at == 0 && self.shown.take().is_some() {
            if self.failed_turns.len() >= MAX_REMEMBERED {
                self.failed_turns.clear();
            }
            *self.failed_turns.entry(host).or_default() += 1;
        }
        Some(item)
    }

    /// Removes the item in service after a successful turn.
    pub fn take(&mut self) -> Option<T> {
        self.shown.take()?;
        self.entries.pop_front().map(|(_, item)| item)
    }

    /// Removes all items.
    pub fn drain(&mut self) -> impl Iterator<Item = T> {
        self.shown = None;
        self.entries.drain(..).map(|(_, item)| item)
    }

    /// Returns all waiting items.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().map(|(_, item)| item)
    }

    /// Returns the item at this index.
    pub fn get(&self, at: usize) -> Option<&T> {
        self.entries.get(at).map(|(_, item)| item)
    }

    fn failed_turns(&self, host: Host) -> usize {
        self.failed_turns.get(&host).copied().unwrap_or(0)
    }

    fn weight(&self, host: Host) -> usize {
        self.entries.iter().filter(|(other, _)| *other == host).count() + self.failed_turns(host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    fn host(number: u8) -> Host {
        Host::from_address(SocketAddr::from(([192, 0, 2, number], 1)))
    }

    fn enqueue(
        queue: &mut FairQueue<&'static str>,
        number: u8,
        name: &'static str,
    ) -> Result<Option<&'static str>, QueueFull> {
        let gone = queue.evict(host(number))?;
        queue.add(host(number), name);
        Ok(gone)
    }

    /// Puts the next item in service and returns it.
    fn show(queue: &mut FairQueue<&'static str>) -> &'static str {
        let (at, name) = queue.next().map(|(at, name)| (at, *name)).unwrap();
        queue.show(at, Instant::now());
        name
    }

    #[test]
    fn the_address_with_most_places_loses_its_newest_item_unless_shown() {
        let mut queue = FairQueue::default();
        for name in ["a1", "a2", "a3", "a4"] {
            assert_eq!(enqueue(&mut queue, 1, name), Ok(None));
        }
        assert_eq!(enqueue(&mut queue, 1, "a5"), Err(QueueFull), "nobody makes room for himself");
        assert_eq!(show(&mut queue), "a1");
        assert_eq!(enqueue(&mut queue, 2, "b1"), Ok(Some("a4")), "the newest");
        assert_eq!(enqueue(&mut queue, 3, "c1"), Ok(Some("a3")));
        assert_eq!(enqueue(&mut queue, 1, "a6"), Err(QueueFull));
        // One of the first two is in service; the other gives its address as many places as each other address has.
        assert_eq!(enqueue(&mut queue, 4, "d1"), Ok(Some("a2")));
        assert_eq!(enqueue(&mut queue, 5, "e1"), Err(QueueFull), "one each, and one has it on the screen");
        assert_eq!(queue.iter().copied().collect::<Vec<_>>(), ["a1", "b1", "c1", "d1"]);
    }

    #[test]
    fn an_address_after_an_unsuccessful_turn_follows_others() {
        let mut queue = FairQueue::default();
        for (number, name) in [(1, "a1"), (1, "a2"), (1, "a3"), (2, "b1")] {
            assert_eq!(enqueue(&mut queue, number, name), Ok(None));
        }
        assert_eq!(show(&mut queue), "a1");
        assert_eq!(show(&mut queue), "a1", "it stays until it is decided");
        assert_eq!(queue.remove(0), Some("a1"));
        assert_eq!(enqueue(&mut queue, 1, "a4"), Ok(None));
        assert_eq!(show(&mut queue), "b1");
        assert_eq!(queue.take(), Some("b1"));
        assert_eq!(enqueue(&mut queue, 2, "b2"), Ok(None));
        assert_eq!(show(&mut queue), "b2", "it was let in, which does not count");
        queue.remove(0);
        // Both addresses had one unsuccessful turn: order of arrival decides.
        assert_eq!(show(&mut queue), "a2");
        // An unsuccessful turn also counts when places are scarce.
        queue.remove(0);
        for (number, name) in [(3, "c1"), (4, "d1")] {
            assert_eq!(enqueue(&mut queue, number, name), Ok(None));
        }
        assert_eq!(enqueue(&mut queue, 5, "e1"), Ok(Some("a4")));
        assert_eq!(enqueue(&mut queue, 6, "f1"), Ok(Some("a3")));
        assert_eq!(enqueue(&mut queue, 7, "g1"), Err(QueueFull));
    }

    #[test]
    fn addresses_that_had_a_turn_are_remembered_up_to_a_number() {
        let mut queue = FairQueue::default();
        for number in 0..5000_u32 {
            let host = Host::from_address(SocketAddr::from((number.to_be_bytes(), 1)));
            queue.add(host, ());
            queue.show(0, Instant::now());
            queue.remove(0);
            assert!(queue.failed_turns(host) == 1 && queue.failed_turns.len() <= MAX_REMEMBERED);
        }
    }
}
