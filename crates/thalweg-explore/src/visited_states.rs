//! The visited states of a breadth-first search, with the path to each.

use std::collections::VecDeque;
use std::collections::hash_map::{Entry, HashMap};
use std::hash::Hash;

/// States by their digests `Key`, each with the step that first reached it, and the queue of unvisited states.
#[derive(Debug)]
pub struct VisitedStates<Key, Step, State> {
    numbers: HashMap<Key, u32>,
    origins: Vec<Option<(u32, Step)>>,
    depths: Vec<u32>,
    unexplored: VecDeque<(u32, State)>,
}

impl<Key, Step, State> Default for VisitedStates<Key, Step, State> {
    fn default() -> Self {
        Self { numbers: HashMap::new(), origins: Vec::new(), depths: Vec::new(), unexplored: VecDeque::new() }
    }
}

impl<Key: Eq + Hash, Step: Copy, State> VisitedStates<Key, Step, State> {
    /// Adds a state reached by `origin`, a step from a state of that number; returns its number, or `None` if known.
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

    /// Queues a state.
    pub fn push(&mut self, number: u32, state: State) {
        self.unexplored.push_back((number, state));
    }

    /// Returns the next state to visit.
    pub fn pop(&mut self) -> Option<(u32, State)> {
        self.unexplored.pop_front()
    }

    /// Returns a shortest path from the first state to a state.
    pub fn path(&self, mut number: u32) -> Vec<Step> {
        let mut steps = Vec::new();
        while let Some(&Some((from, step))) = self.origins.get(number as usize) {
            steps.push(step);
            number = from;
        }
        steps.reverse();
        steps
    }

    /// Returns the number of distinct states.
    pub fn states(&self) -> u64 {
        self.origins.len() as u64
    }

    /// Returns the number of queued states.
    pub fn queued_states(&self) -> u64 {
        self.unexplored.len() as u64
    }

    /// Returns the distance of a state from the first, in steps.
    pub fn depth_of(&self, number: u32) -> u32 {
        self.depths.get(number as usize).copied().unwrap_or(0)
    }

    /// Returns the maximum distance from the first state, in steps.
    pub fn depth(&self) -> u32 {
        self.depths.iter().copied().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_visited_once_on_its_shortest_path() {
        let mut visited = VisitedStates::default();
        assert_eq!(visited.add('a', None), Some(0));
        assert_eq!((visited.add('b', Some((0, 1))), visited.add('c', Some((0, 2)))), (Some(1), Some(2)));
        assert_eq!(visited.add('c', Some((1, 3))), None);
        assert_eq!(visited.add('d', Some((2, 4))), Some(3));
        visited.push(3, "d");
        visited.push(1, "b");
        assert_eq!((visited.path(0), visited.path(3)), (vec![], vec![2, 4]));
        assert_eq!(
            (visited.states(), visited.queued_states(), visited.depth(), visited.depth_of(1)),
            (4, 2, 2, 1)
        );
        assert_eq!((visited.pop(), visited.pop(), visited.pop()), (Some((3, "d")), Some((1, "b")), None));
    }
}
