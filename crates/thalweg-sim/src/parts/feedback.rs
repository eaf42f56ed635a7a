//! Routers that tell sources: what a watched queue's policy sees, and how its messages travel.
//!
//! A message enters the network at the node whose queue speaks and takes the shortest path from there to the source,
//! over the source's access link if it has one. It is a packet like any other: it needs room in queues, takes time on
//! lines, and can be lost; but it goes ahead of what is no message. A router never speaks because of a message, so
//! that messages do not make messages.

use std::collections::BTreeMap;
use thalweg_queue::feedback::{Message, Watch};

/// A policy at a queue, and what its router has sent.
#[derive(Debug)]
pub(crate) struct Watched {
    pub watch: Watch,
    pub messages: u64,
    pub bytes: u64,
    /// The number of its next message.
    pub next: u32,
}

/// The ways of messages from queues that speak to the sources that listen.
#[derive(Clone, Debug, Default)]
pub(crate) struct MessageWays {
    /// By queue, group, and whether the flow's answers are meant: where the route starts, and its links.
    pub ways: BTreeMap<(u32, u32, bool), (u32, u32)>,
    /// For policies to say what they send; empty between two events.
    pub outbox: Vec<Message>,
}

impl MessageWays {
    /// Messages of the queue `link` to the sources of `group` take the route that starts at `start` and crosses so many
    /// links.
    pub fn add(&mut self, link: u32, group: u32, reply: bool, start: u32, hops: u32) {
        self.ways.insert((link, group, reply), (start, hops));
    }
}
