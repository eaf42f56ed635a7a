//! The states that a breadth-first search has come to, and the way to each: what all searches have in common.

use std::collections::VecDeque;
use std::collections::hash_map::{Entry, HashMap};
use std::hash::Hash;

/// States by their digests `Key`, each with the step from which it was reached first, and those that wait to be visited.
#[derive(Debug)]
pub struct Visited<Key, Step, State> {
    numbers: HashMap<Key, u32>,
    origins: Vec<Option<(u32, Step)>>,
    depths: Vec<u32>,
    waiting: VecDeque<(u32, State)>,
}

impl<Key, Step, State> Default for Visited<Key, Step, State> {
    fn default() -> Self {
        Self { numbers: HashMap::new(), origins: Vec::new(), depths: Vec::new(), waiting: VecDeque::new() }
    }
}

impl<Key: Eq + Hash, Step: Copy, State> Visited<Key, Step, State> {
    /// The number of a state that was reached by `origin`, a step from a state of that number; `None` if it was seen before.
    pub fn add(&mut self, key: Key, origin: Option<(u32, Step)>) -> Option<u32> {
        let number = self.origins.len() as u32;
        match self.numbers.entry(key) {
            Entry::Occupied(_) => return None,
            Entry::Vacant(place) => place.insert(number),
        };
        self.depths.push(origin.map_or(0, |(from, _)| self.depths[from as usize] + 1));
        self.origins.push(origin);
        Some(number)
    }

    /// Puts a state in the line of those to be visited.
    pub fn push(&mut self, number: u32, state: State) {
        self.waiting.push_back((number, state));
    }

    /// The next to be visited.
    pub fn pop(&mut self) -> Option<(u32, State)> {
        self.waiting.pop_front()
    }

    /// The steps from the first state to a state: none others are fewer.
    pub fn way(&self, mut number: u32) -> Vec<Step> {
        let mut steps = Vec::new();
        while let Some(&Some((from, step))) = self.origins.get(number as usize) {
            steps.push(step);
            number = from;
        }
        steps.reverse();
        steps
    }

    /// The number of different states.
    pub fn states(&self) -> u64 {
        self.origins.len() as u64
    }

    /// The number of those that wait to be visited.
    pub fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// The steps from the first state to one.
    pub fn depth_of(&self, number: u32) -> u32 {
        self.depths.get(number as usize).copied().unwrap_or(0)
    }

    /// The most steps from the first state to any.
    pub fn depth(&self) -> u32 {
        self.depths.iter().copied().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_visited_once_by_the_shortest_way() {
        let mut visited = Visited::default();
        assert_eq!(visited.add('a', None), Some(0));
        assert_eq!((visited.add('b', Some((0, 1))), visited.add('c', Some((0, 2)))), (Some(1), Some(2)));
        assert_eq!(visited.add('c', Some((1, 3))), None);
        assert_eq!(visited.add('d', Some((2, 4))), Some(3));
        visited.push(3, "d");
        visited.push(1, "b");
        assert_eq!((visited.way(0), visited.way(3)), (vec![], vec![2, 4]));
        assert_eq!((visited.states(), visited.waiting(), visited.depth(), visited.depth_of(1)), (4, 2, 2, 1));
        assert_eq!((visited.pop(), visited.pop(), visited.pop()), (Some((3, "d")), Some((1, "b")), None));
    }
}
