//! A live video source over unreliable packets with rate adaptation: SCReAMv2
//! (draft-johansson-ccwg-rfc8298bis-screamv2, the editors' text of late 2025, with the changes up to version 03 and the
//! fast attack of l4s_alpha; section numbers refer to it). An encoder model (RFC 8593) is the source; feedback is as in
//! RFC 8888.
//!
//! A [`Sender`] encodes the data that the application writes: a frame takes as many bytes as the encoder assigns at its
//! capture. Frames are split into packets, which are never retransmitted. A [`Receiver`] reports on each packet and
//! delivers it. It counts complete frames, displayed frames and freezes of the picture ([`MediaCounts`]).
//!
//! # Differences from the sources
//!
//! | source | here | reason | effect |
//! | --- | --- | --- | --- |
//! | a media source of its own | the encoder consumes data written by the application; a transfer of a given size ends when frames have carried all of it | all schemes are fed alike in scenarios and on real paths | a source that writes without end is a call |
//! | bytes of data units with all RTP headers, MSS 1000 | payload and 16 bytes; MSS is `segment` with them | one packet size for all schemes | PACKET_OVERHEAD is 16, not 20 |
//! | times that begin at zero (4.2.2) | the time of the last congestion is undefined before the first | a new flow is not cautious because of its clock | multiplicative increase from the start |
//! | QDELAY_TARGET_LOW, `queue_avg`, `cwnd` in pseudo-code | QDELAY_TARGET_LO, qdelay_avg, ref_wnd | the text's own names | none |
//! | the target is adjusted at each acknowledgement (4.2.1.4.1) | with qdelay_avg, once per min(VIRTUAL_RTT, s_rtt) | the history of 200 values then spans 5 s at any packet rate | none known |
//! | loss_event_rate: the fraction of round trips with losses, without an estimator | an average with a weight of 1/100 per round trip | RFC 8298 leaves it open too | the target rises within a round trip of a loss |
//! | ref_wnd is limited by the flight when the target is at its maximum (as in the reference code) | it does not change there | the text gives no rule | a larger reduction at the first mark after that |
//! | clock drift and skips (6) | not compensated | simulated clocks agree; live ones drift by less than 60 ms in ten minutes | none |
//! | no rule for missing feedback | packets leave at RATE_PACE_MIN when the window is full | section 1 names a minimum send rate; without one a blackout never ends | one packet per 0.2 s |
//! | frames MAY be skipped or thrown away (3.3) | none is captured while a packet has waited for more than 200 ms | the queue would be unbounded | gaps in time, which count as freezes |
//! | feedback of 100 bytes (5) | 12 bytes and 2 for each packet, in words of 4; a report covers the last 32 packets | section 6, "Feedback issues", and RFC 8888 | one lost report does not count as a loss |
//! | encoder: rate fluctuations, varying frame intervals, transients of 8 frames (RFC 8593, 5.2 to 5.4) | sizes vary by the Laplacian distribution of 5.2; frame intervals are constant | the omitted variation is smaller than that of key frames | fewer bursts |
//! | transients instead of key frames (RFC 8593) | a key frame at the start, on request of the receiver (RFC 4585, 6.3.1), and at an interval if configured; `key-size` times as large, which the following frames compensate by a fifth of their size each, or by a twentieth of the extra size that remains if that is more; no key frame while that exceeds 12 frames | calls have them; without the limit, requests after each loss raise the mean rate above the target | an assumption: no source gives the factor |
//! | a receiver's jitter buffer | a frame is shown when it and all earlier frames are complete | measures the network, not a player | freezes as of a player without a buffer |

mod config;
mod congestion_control;
mod family_adapter;
mod frame_playout;
mod pdu;
mod queueing_delay;
mod receiver;
mod sender;
mod sent_packets;
mod video_encoder_model;
pub mod wire;

pub use crate::media_frame_counters::{EncoderCounters, MediaCounts, PlayoutCounters};
pub use config::{Config, EncoderConfig, Response};
pub use pdu::{Arrival, Data, MAX_REPORTED, Pdu, Report};
pub use receiver::{Receiver, ReceiverReason};
pub use sender::{Sender, SenderReason};
pub use wire::DATA_HEADER;
