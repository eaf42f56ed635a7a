//! SSTP: two-level flow control of large segments (Gong and Parulkar, "A two-level flow control scheme for high speed
//! networks", 1992).
//!
//! Application data is divided into segments of a fixed number of packets. Two independent controls apply. [Rate
//! control](RateSpec) limits the traffic entering the network to an agreed rate, packet by packet. Window control
//! matches the [`Sender`] to the receiving application, segment by segment. Neither depends on acknowledgements: a
//! [`Receiver`] that slows its sender down causes no retransmission.
//!
//! Each data packet carries a shipment number, which counts transmissions. The network keeps order, so a gap in these
//! numbers is an immediate sign of loss, even for a retransmission. Once no more packets of a segment are in flight,
//! the receiver checks it against the application's loss [`Tolerance`]. The receiver accepts the segment (PACK) and
//! reports its holes to the application, or requests the missing packets (SNAK with a bitmap).
//!
//! # Attributing a gap to segments
//!
//! Packets are sent in groups: a segment sent for the first time, or the answer to one SNAK. The sender finishes a
//! group before it begins another. It answers requests in order of arrival, and sends new segments when no request is
//! left. The receiver knows its requests, so the length of a gap identifies the lost groups: the rest of the previous
//! group, the beginning of the current one, and between them entire new segments (their numbers are missing) and
//! answers to the oldest requests. A wrong guess, after lost reports, costs one request that the sender ignores: it
//! does not resend packets sent less than a round trip ago.
//!
//! # A buffer smaller than the window
//!
//! A window of about 2.5 round trips keeps the sender busy during loss repair. The receive buffer may be smaller, since
//! segments normally arrive in order and are consumed at once. [`Acknowledgement`] selects the policy for a full
//! buffer. Hard and soft acknowledgement come from the paper. Both can livelock: a new segment that is discarded
//! because an older one is missing is sent again. It arrives after the next new segment, which takes the place of a
//! repaired segment and is discarded in turn. The disorder persists indefinitely, without further loss.
//!
//! Firm acknowledgement, the default of scenarios, breaks this cycle with the window. It is hard acknowledgement with
//! one more rule: *when no packet has been lost for three round trips, the window upper limit stays fixed while a
//! segment that was discarded for lack of buffer has not been accepted.*
//!
//! Proof of progress: let the last loss be three round trips ago. While a discarded segment is missing, the limit is
//! fixed, so only finitely many segments can arrive. The lowest missing segment always fits into the buffer. If it was
//! lost or discarded, it has been requested, and its answer arrives after at most the answers to the other requests. So
//! it is accepted, then the next one, until all segments up to the limit are. Then nothing is out of order. Without
//! losses, new segments arrive in order, are consumed at once, and are never discarded. Recovery takes at most as many
//! round trips as the window has segments; in simulation it takes one or two. An exhaustive exploration of endless
//! streams (`thalweg explore sstp --endless`) finds no exception, and shows the cycles of the other two policies. The
//! rule costs no throughput: a successful repair completes within three round trips, and the rule does not apply while
//! losses continue.
//!
//! # Differences from the paper
//!
//! | paper | here | why | effect |
//! | --- | --- | --- | --- |
//! | R_l: accepted by the application | the cumulative acknowledgement counts accepted segments, the window upper limit consumed ones | both numbers are in every report | a slow application holds no sender buffer |
//! | two bytes after the type are unassigned | version, flags | a segment may be short: full segments are flagged in each packet, and the last packet is marked | none on full segments |
//! | figure 5: the window upper limit has a row of 4 bytes | 2 bytes; the other 2 name the segment that a SNAK asks for | segment numbers have 2 bytes everywhere, and a SNAK also acknowledges a segment | a SNAK is as long as in the paper, a PACK 2 bytes shorter |
//! | the tolerance check counts lost packets | a segment is requested if no packet of it arrived, or if the end of a short one is lost and no keep-alive packet has reported its length | the amount missing is unknown | tolerable losses are retransmitted if segments are short |
//! | an idle sender sends a keep-alive packet each period | only while data is unacknowledged, the window is closed, or the stream ends | an idle connection needs no packets | none on losses: all sent data is known or acknowledged |
//! | an idle sender waits for the next burst | [`Resume`] offers to continue at once | the analysis assumes it | up to 1/F less delay |
//! | reports are not lost | state is repeated each round trip, requests after two without an answer; keep-alive packets are answered | deployed networks lose reports | none without loss of reports |
//! | the network keeps order | packets may be held for reordering | deployed networks reorder | a loss is detected later |
//! | one segment size | a write may end in a short segment | streams end | short writes use up the window |

mod burst_rate_control;
mod config;
mod digest_origin;
mod family_adapter;
mod pdu;
mod reassembly;
mod received_packets_bitmap;
mod receiver;
mod sender;
mod state_digest;
pub mod wire;

pub use burst_rate_control::{RateError, RateSpec, Resume};
pub use config::{Acknowledgement, EndsConfig, Evicted, MAX_WINDOW, ReceiverConfig, SenderConfig, Tolerance};
pub use digest_origin::Origin;
pub use pdu::{Data, Pdu, Position, Report, Request};
pub use received_packets_bitmap::Bitmap;
pub use receiver::{Receiver, ReceiverReason, ReceiverStats};
pub use sender::{SegmentStats, Sender, SenderReason};
