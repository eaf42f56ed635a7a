//! SSTP: two-level flow control of large segments (Gong and Parulkar, "A two-level flow control scheme for high speed
//! networks", 1992).
//!
//! What the application writes is cut into segments of a fixed number of packets. Two controls work apart from each
//! other: [rate control](RateSpec) keeps what enters the network within an agreed rate, packet by packet, and window
//! control matches the [`Sender`] to the receiving application, segment by segment. Neither has to do with
//! acknowledgement: a [`Receiver`] that slows its sender down causes no retransmission.
//!
//! Each data packet carries a shipment number, which counts what the sender puts on the wire. The network keeps order,
//! so a gap in these numbers is a loss, at once, of a retransmission too. A segment of which no more packets are on
//! their way is checked against the application's loss [`Tolerance`]: it is accepted (PACK), with its holes told to the
//! application, or its missing packets are asked for (SNAK with a bitmap).
//!
//! # What a gap has lost
//!
//! Packets are sent in groups: a segment for the first time, or what one SNAK asked for. The sender finishes a group
//! before it begins another, answers requests in the order in which they came, and sends new segments when none is
//! left. The receiver knows its requests, so the length of a gap tells which groups it held: the rest of the one that
//! was arriving, the beginning of the one that arrives now, between them whole new segments (their numbers are missing)
//! and answers to the oldest requests. A wrong guess, after reports were lost, costs a request that the sender ignores:
//! it does not send again what left less than a round trip ago.
//!
//! # A buffer smaller than the window
//!
//! A window of about 2.5 round trips keeps the sender busy while losses are repaired. The receiver need not have as
//! much room, since segments normally come in order and are consumed at once. [`Acknowledgement`] says what it does when
//! it runs out of room. Hard and soft acknowledgement are the paper's. Both can get stuck: a new segment that is
//! discarded because an older one is missing is sent again, and arrives after the next new one, which takes the place
//! of a repaired segment and is discarded in turn. The disorder is passed on for ever, without any further loss.
//!
//! Firm acknowledgement, the default of scenarios, breaks this circle with the protocol's own means, the window. It is
//! hard acknowledgement with one more rule: *when no packet has been lost for three round trips, the window upper limit
//! stands still while a segment that was discarded for want of room has not been accepted.*
//!
//! Why it cannot get stuck: let the last loss be over for three round trips. While a discarded segment is missing the
//! limit is fixed, so the segments that can arrive are finitely many. The lowest one missing has always room; if it was
//! lost or discarded it has been asked for, and its answer comes after at most the answers to the other requests. So it
//! is accepted, then the next one, until all up to the limit are. Then nothing is out of order any more, and without
//! losses new segments arrive in order, are consumed at once, and are never discarded. It takes no more than as many
//! round trips as the window has segments; in simulation it takes one or two. An exhaustive exploration of endless streams
//! (`thalweg explore sstp --endless`) finds no exception, and shows the circles of the other two. Why it costs nothing: a
//! repair that goes well is over before three round trips have passed, and while losses go on the rule does not apply.
//!
//! # Differences from the paper
//!
//! | paper | here | why | effect |
//! | --- | --- | --- | --- |
//! | R_l: accepted by the application | the cumulative acknowledgement counts accepted segments, the window upper limit consumed ones | both numbers are in every report | a slow application holds no buffer of the sender |
//! | two bytes after the type are open | version, flags | a segment may be short: full ones say so in each packet, the last packet is marked | none on full segments |
//! | the tolerance check counts what is lost | a segment is asked for if nothing of it came, or if the end of a short one is lost and no keep-alive packet has told its length | it is not known how much is missing | what is tolerated is sent again, where segments are short |
//! | an idle sender sends a keep-alive packet each period | only while something is unacknowledged, the window is closed, or the stream ends | silence costs nothing | none on losses: all that was sent is known or acknowledged |
//! | an idle sender waits for the next burst | [`Resume`] offers to go on at once | the analysis assumes it | up to 1/F less delay |
//! | reports are not lost | state is repeated each round trip, requests after two without an answer, keep-alive packets are answered | deployed networks lose reports | none without losses of reports |
//! | the network keeps order | packets may be held for reordering | deployed networks do not | a loss is found later |
//! | one segment size | what is written may end in a short segment | streams end | short writes use up the window |

mod assembly;
mod bitmap;
mod config;
mod digest;
mod family;
mod origin;
mod pdu;
mod rate;
mod receiver;
mod sender;
pub mod wire;

pub use bitmap::Bitmap;
pub use config::{Acknowledgement, EndsConfig, Evicted, MAX_WINDOW, ReceiverConfig, SenderConfig, Tolerance};
pub use origin::Origin;
pub use pdu::{Data, Pdu, Position, Report, Request};
pub use rate::{RateError, RateSpec, Resume};
pub use receiver::{Receiver, ReceiverReason, ReceiverStats};
pub use sender::{SegmentStats, Sender, SenderReason};
