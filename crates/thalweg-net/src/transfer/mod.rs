//! File transfer over any pair of byte streams.
//!
//! Two streams, one per direction, carry the frames of [`transfer_messages`]. The sender walks its files and
//! [offers](transfer_messages::ToReceiver::Offer) them without waiting, at most
//! [`transfer_messages::MAX_OUTSTANDING_OFFERS`] ahead. The receiver answers each offer: send it, already present, or
//! partly present. Contents follow in the order of the answers: small files do not need a round trip each.
//!
//! - **Atomic**: a file is written as `NAME.SENDER.thalweg.part` next to its destination, synced to disk, then renamed.
//!   A final name therefore always holds a complete file, the old or the new one.
//! - **Resuming** trusts nothing: the receiver hashes the blocks of an unfinished file as they are on its disk and
//!   sends the digests. The sender compares them with its own file, reports the matching ones and sends the others. A
//!   transfer interrupted at any byte, by either side, resumes there. No metadata is stored beside the bytes
//!   themselves.
//! - **End to end**: before a file gets its name, the BLAKE3 hash of the bytes the sender read is compared with that of
//!   the bytes the receiver wrote, kept blocks included. One pass over the file gives digests and hash ([`tree_hash`]).
//! - A source file modified during reading is detected by its size, times and inode number before and after. The
//!   receiver does not store it.
//! - The sender [reports](transfer_messages::ToReceiver::Missing) everything it does not or cannot send, so both sides have the
//!   same list.
//! - **Names**: an offer carries one path component and the depth of its folder, so path traversal cannot be expressed.
//!   Names come in ascending order, which excludes duplicates without any state. The receiver opens everything relative
//!   to the descriptor of its folder, follows no symbolic link below it (`dir`), and writes to no file that has a
//!   second hard link.
//! - **Permissions** are the sender's, masked by the receiver's umask and without write access for group and others,
//!   unless the receiver [keeps them](Destination::with_permissions). Permissions of existing folders do not change.
//! - **Existing files** are replaced only if the same sender delivered them and nobody changed them since, unless the
//!   receiver configures otherwise ([`ExistingFilePolicy`]). Names of unfinished files include the sender, so no sender resumes
//!   another's file.
//! - **Priorities**: a receiver of several simultaneous transfers reads the more urgent ones first ([`TransferScheduler`]).
//! - **Bounds**: frames, names, depths, outstanding offers and digests are bounded; a peer that exceeds a bound is
//!   refused. Memory does not grow with the size or number of files, except for the names of one folder at the sender.
//!
//! [`send_transfer`] and [`receive_transfer`] block; each uses a few threads. The end of the connection must make both streams fail.

mod file_metadata;
mod file_names;
mod folder_walk;
mod frame_io;
mod offer_preview;
mod open_folders;
mod rate_limited_stream;
mod receive;
mod send;
mod storage_quota;
mod transfer_error;
pub mod transfer_messages;
mod transfer_priority;
mod transfer_progress;
pub mod tree_hash;
mod wire_format;

pub use file_names::{unfinished_name, validate_name as checked_name};
pub use folder_walk::{Roots, Source};
pub use offer_preview::{Preview, PreviewItem, PreviewItemKind, preview_offer};
pub use rate_limited_stream::{Pace, Throttle};
#[doc(hidden)]
pub use receive::read_mark;
pub use receive::{Claims, Destination, ExistingFilePolicy, Target, TransferScheduler, receive_transfer};
pub use send::{Options, send_transfer};
pub use storage_quota::{Limits, Quota};
pub use transfer_error::{Error, Fault, FaultKind, escape_unsafe, first_unsafe, is_unsafe};
pub use transfer_priority::Priority;
pub use transfer_progress::{Failure, Progress, Report, Total, UnresumableItem};
pub use wire_format::{Frame, WireError};

/// Outcome of a transfer.
#[derive(Debug)]
pub struct TransferOutcome {
    /// Report of transferred, skipped and failed files.
    pub report: Report,
    /// Success if the transfer completed, else the error that ended it. Failed files are in the report.
    pub result: Result<(), Error>,
}
