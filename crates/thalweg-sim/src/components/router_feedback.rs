//! Feedback of routers to sources: the policy of a watched queue, and the forwarding of its messages.
//!
//! A message enters the network at the node of the queue and takes the shortest path to the source, including the
//! source's access link if any. It is an ordinary packet: it occupies queues, takes time on links, and can be lost. But
//! it has priority over other packets. Messages never cause further messages.

use std::collections::BTreeMap;
use thalweg_queue::feedback::{Message, Watch};

/// A feedback policy of a queue, and counts of its messages.
#[derive(Debug)]
pub(crate) struct WatchedQueue {
    pub watch: Watch,
    pub messages: u64,
    pub bytes: u64,
    /// Serial number of its next message.
    pub next: u32,
}

/// Paths of messages from queues to sources.
#[derive(Clone, Debug, Default)]
pub(crate) struct MessageRoutes {
    /// Start of the route and number of its links, by queue, group, and true for the flow's responses.
    pub paths: BTreeMap<(u32, u32, bool), (u32, u32)>,
    /// Output buffer of policies; empty between two events.
    pub outbox: Vec<Message>,
}

impl MessageRoutes {
    /// Registers the route of messages from the queue `link` to the sources of `group`: it starts at `start` and
    /// crosses this number of links.
    pub fn add(&mut self, link: u32, group: u32, reply: bool, start: u32, hops: u32) {
        self.paths.insert((link, group, reply), (start, hops));
    }
}
