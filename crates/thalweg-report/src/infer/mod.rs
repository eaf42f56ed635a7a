//! From what a sender saw to the path that it was on, as a scenario.
//!
//! [`Recording`] is a sender's log as `--record` writes it, [`Path`] what can be told of the path from that, and
//! [`scenario`] the file that simulates the same scheme on it.
//!
//! # What a sender can tell
//!
//! | of the path | from | where that is wrong |
//! | --- | --- | --- |
//! | its base delay | the shortest round trip of a packet whose data was sent once | a queue that was never empty |
//! | its rate | what was acknowledged in spans in which round trips were longer than the shortest: then there was a queue, and the bottleneck was busy | a sender that never filled the path: the highest rate that was seen is a lower bound, and [`Path::was_filled`] says so |
//! | its queue | the longest round trips; if packets were lost at them, the queue was full | where none were lost so, the queue is at least as long |
//! | its losses | packets lost while round trips were not long, and whether they come in runs | a repair that was not needed counts as a loss |
//!
//! Both directions get half of the delay; the way back is taken to lose nothing, as lost acknowledgements do not show.

mod path;
mod recording;
pub mod scenario;
#[cfg(test)]
mod tests;

pub use path::{Losses, NoPath, Path};
pub use recording::{Packet, Recording, RecordingError};
