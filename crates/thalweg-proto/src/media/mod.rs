//! A live video source over unreliable packets, which follows the network: SCReAMv2
//! (draft-johansson-ccwg-rfc8298bis-screamv2, the editors' text of late 2025, which has the changes up to version 03 and the
//! fast attack of l4s_alpha; sections are its own), fed by a model of an encoder (RFC 8593), with feedback as in RFC 8888.
//!
//! A [`Sender`] encodes what the application writes: a frame takes as many bytes as the encoder gives it, at the moment of its
//! capture. Frames are cut into packets, which are never sent again; a [`Receiver`] reports on each and delivers it, and
//! counts which frames came whole, which could be shown, and when the picture froze ([`MediaCounts`]).
//!
//! # Differences from the sources
//!
//! | source | here | reason | effect |
//! | --- | --- | --- | --- |
//! | a media source of its own | the encoder takes what the application has written, so a transfer of a given size ends when all of it was in frames | schemes are fed alike in scenarios and on real paths | a source that writes without end is a call |
//! | bytes of data units with all RTP headers, MSS 1000 | payload and 16 bytes; MSS is `segment` with them | one size of packets for all | PACKET_OVERHEAD is 16, not 20 |
//! | times that begin at zero (4.2.2) | a congestion that has not been is never | a flow that begins is not cautious because of its clock | multiplicative increase from the start |
//! | QDELAY_TARGET_LOW, `queue_avg`, `cwnd` in pseudo-code | QDELAY_TARGET_LO, qdelay_avg, ref_wnd | the text's own names | none |
//! | the target is adjusted at each acknowledgement (4.2.1.4.1) | with qdelay_avg, once in min(VIRTUAL_RTT, s_rtt) | the history of 200 values is then of 5 s, whatever the packets' rate | none known |
//! | loss_event_rate: the fraction of round trips with losses, not how it is estimated | an average in which each round trip counts 1/100 | RFC 8298 leaves it open too | the target rises within a round trip of a loss |
//! | ref_wnd is limited by what was in flight when the target is at its most (the reference code has it) | it stands still there | the text does not say how | more is cut at the first mark after that |
//! | clock drift and skips (6) | not compensated | simulated clocks agree; live ones drift by less than 60 ms in ten minutes | none |
//! | nothing of feedback that stops | packets go at RATE_PACE_MIN when the window is full | section 1 names a minimum send rate; without one a blackout never ends | one packet in 0.2 s |
//! | frames MAY be skipped or thrown away (3.3) | none is captured while a packet has waited for more than 200 ms | a queue without bound | gaps in time, which count as freezes |
//! | feedback of 100 bytes (5) | 12 bytes and 2 for each packet, in words of 4; a report covers the last 32 packets | section 6, "Feedback issues", and RFC 8888 | one lost report is no loss |
//! | encoder: rate fluctuations, frame intervals that vary, 8 frames of a transient (RFC 8593, 5.2 to 5.4) | sizes vary by the Laplacian distribution of 5.2; frames come in their rhythm | what is not there is within what key frames do | fewer bursts |
//! | no key frames but transients (RFC 8593) | first, when the receiver asks (RFC 4585, 6.3.1), and in an interval if one is given; `key-size` times as large, which the frames after it make good by a fifth each | calls have them | an assumption: no source gives the factor |
//! | a receiver's jitter buffer | a frame is shown when it is whole and those before it were | measures of the network, not of a player | freezes are those of a player without a buffer |

mod config;
mod control;
mod delay;
mod encoder;
mod family;
mod history;
mod pdu;
mod playout;
mod receiver;
mod sender;
pub mod wire;

pub use crate::frames::{Encoded, MediaCounts, Shown};
pub use config::{Config, EncoderConfig, Response};
pub use pdu::{Arrival, Data, MAX_REPORTED, Pdu, Report};
pub use receiver::{Receiver, ReceiverReason};
pub use sender::{Sender, SenderReason};
pub use wire::DATA_HEADER;
