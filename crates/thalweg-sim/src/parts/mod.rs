//! The components of a run, each with its own methods and independent of the event loop.

pub(crate) mod boundary;
pub(crate) mod connection_ids;
pub(crate) mod drop_tail;
pub(crate) mod ecmp;
pub(crate) mod ending;
pub(crate) mod endpoint;
pub(crate) mod feedback;
pub(crate) mod flow;
pub(crate) mod gate;
pub(crate) mod host;
pub(crate) mod lookahead;
pub(crate) mod names;
pub(crate) mod network;
pub(crate) mod outside;
pub(crate) mod packet;
pub(crate) mod reader;
pub(crate) mod rounds;
pub(crate) mod segments;
pub(crate) mod series;
pub(crate) mod tally;
pub(crate) mod thread;
pub(crate) mod traffic;
pub(crate) mod transfer;
pub(crate) mod transmitter;
pub(crate) mod workload;
