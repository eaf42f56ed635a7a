//! Names of transmitters, for display and for random streams.

use thalweg_proto::random::RandomStream;

/// The names of all transmitters.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    seed: u64,
    /// Link name, source node and destination node of each direction of each link of the specification.
    pub links: Vec<(String, String, String)>,
    /// First transmitter and name of each group with links of its own.
    groups: Vec<(u32, String)>,
}

impl Names {
    pub fn new(seed: u64) -> Self {
        Self { seed, links: Vec::new(), groups: Vec::new() }
    }

    /// Assigns the transmitters from `first` on to the flows of `group`.
    pub fn begin_group(&mut self, first: u32, group: &str) {
        self.groups.push((first, group.to_owned()));
    }

    /// Returns true for a direction of a link of the specification.
    pub fn is_link(&self, transmitter: u32) -> bool {
        (transmitter as usize) < self.links.len()
    }

    /// Returns a transmitter's random stream for `purpose`. It is named by link and direction, or by group and number
    /// within it: an added link or group does not change the draws of others.
    pub fn stream(&self, purpose: &str, transmitter: u32) -> RandomStream {
        if let Some((link, _, _)) = self.links.get(transmitter as usize) {
            return RandomStream::new(
                self.seed,
                &format!("{purpose}@link {link}"),
                u64::from(transmitter % 2),
            );
        }
        let after = self.groups.partition_point(|(first, _)| *first <= transmitter);
        let (first, group) = after.checked_sub(1).map_or((0, ""), |index| {
            let (first, group) = &self.groups[index];
            (*first, group.as_str())
        });
        RandomStream::new(self.seed, &format!("{purpose}@flow {group}"), u64::from(transmitter - first))
    }

    /// Returns the random stream for a constant draw of flow `index` of `group` at a link: a direction of a link of the
    /// specification or, by `side`, the flow's own access link. Both directions of a link share it.
    pub fn flow_stream(&self, transmitter: u32, side: u32, group: &str, index: u32) -> RandomStream {
        let line = match (self.links.get(transmitter as usize), side) {
            (Some((link, ..)), _) => format!("link {link}"),
            (None, 0) => "source".to_owned(),
            (None, _) => "sink".to_owned(),
        };
        RandomStream::new(self.seed, &format!("delay@{line} of flow {group}"), u64::from(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inserting a link or group shifts the numbers of later ones, but not their streams.
    #[test]
    fn streams_follow_names() {
        let names = |extra: bool| {
            let mut names = Names::new(7);
            for link in if extra { vec!["new", "old"] } else { vec!["old"] } {
                for _ in 0..2 {
                    names.links.push((link.to_owned(), String::new(), String::new()));
                }
            }
            let first = names.links.len() as u32;
            names.begin_group(first, "web");
            names
        };
        let draw = |names: &Names, number| names.stream("loss", number).next_u64();
        let (before, after) = (names(false), names(true));
        for (old, new) in [(0, 2), (1, 3), (2, 4), (5, 7)] {
            assert_eq!(draw(&before, old), draw(&after, new));
        }
        assert_ne!(draw(&after, 0), draw(&after, 2));
        assert_ne!(draw(&after, 2), draw(&after, 3));
    }
}
