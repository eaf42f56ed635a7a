//! Inference of the path from a sender's recording, as a scenario.
//!
//! [`Recording`] is a sender's log, from a trace by any program or by `--record`, [`Path`] the path inferred from it, and [`inferred_scenario`] the
//! file that simulates the same scheme on that path.
//!
//! # Inferred properties
//!
//! | property | source | limitation |
//! | --- | --- | --- |
//! | base delay | the shortest round trip of a packet whose data was sent once | too high if the queue was never empty |
//! | rate | acknowledged data in spans with round trips longer than the shortest: there was a queue, and the bottleneck was busy | if the sender never filled the path, the highest observed rate is a lower bound, [`Path::was_filled`] is false, and the scenario has 1.5 times that rate, an assumption |
//! | queue | the longest round trips; packets lost at them mean that the queue was full | without such losses, a lower bound, and the scenario has a queue of a bandwidth-delay product or more, an assumption |
//! | policer | losses that a token bucket explains ([`thalweg_trace::findings::fit_token_bucket`]) | the queue is then unknown |
//! | outages | times without acknowledgements although packets had been sent | a loss of all packets in flight has the same effect |
//! | losses | packets lost at short round trips, and whether they come in bursts | a spurious retransmission counts as a loss |
//!
//! Both directions get half of the delay; the reverse path is assumed lossless, as lost acknowledgements are not
//! visible.

mod busy_spans;
mod inferred_path;
pub mod inferred_scenario;
mod outages;
mod path_change;
mod sender_recording;
#[cfg(test)]
mod simulated_tests;
#[cfg(test)]
mod tests;

pub use inferred_path::{Interval, Intervals, Losses, NoPath, Path};
pub use outages::Outage;
pub use path_change::Change;
pub use sender_recording::{Packet, Recording, RecordingError, capture_limitation};
