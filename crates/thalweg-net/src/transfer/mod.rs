//! Files over any pair of byte streams.
//!
//! Two streams, one in each direction, carry the frames of [`messages`]. The sender walks through its files and
//! [offers](messages::ToReceiver::Offer) them without waiting, up to [`messages::WINDOW`] ahead; the receiver answers each
//! offer: send it, it is here, or so much of it may be here. Contents follow in the order of the answers, so that many
//! small files need no round trip each.
//!
//! - A file is written as `NAME.SENDER.thalweg.part` beside its place, is synchronised with the disk, and then takes its place at
//!   once by being renamed. So what stands under a final name is always whole: the old file or the new one.
//! - **Resuming** trusts nothing: the receiver hashes the blocks of an unfinished file as they are on its disk and sends the
//!   digests; the sender compares them with its own file, tells which are right, and sends the others. A transfer that was
//!   cut off at any byte, by either side, goes on where it stopped. Nothing is stored beside the bytes themselves.
//! - **End to end**: the BLAKE3 hash of what the sender read is compared with that of what the receiver wrote, kept blocks
//!   included, before a file gets its name. The same pass over the file gives digests and hash ([`tree`]).
//! - A source that is written to while it is read is found out by its size, times and number before and after, and does not
//!   become a file at the receiver.
//! - What the sender does not or cannot send it [says](messages::ToReceiver::Missing), so that both sides know the same.
//! - **Names**: an offer names one component of a path and the depth of the folder that it is in, so a path that leads
//!   elsewhere cannot be said. Names come in ascending order, so none comes twice, and nothing must be remembered to check
//!   it. The receiver reaches everything from the descriptor of its folder, follows no symbolic link below it (`dir`), and
//!   writes to no file that has a second name.
//! - **Permissions** are what the receiver's mask leaves of the sender's, and others never write, unless the receiver
//!   [asks for them](Destination::with_permissions). Those of folders that are here are left alone.
//! - **What is there** is replaced only if the same sender brought it and nobody has changed it since, unless the receiver
//!   says otherwise ([`Existing`]). A sender's unfinished files have its own name in theirs: nobody goes on with another's.
//! - **Priorities**: a receiver of several transfers at once reads the more urgent ones first ([`Turns`]).
//! - **Bounds**: frames, names, depths, outstanding offers and digests are bounded, and a peer that goes beyond them is
//!   refused. Memory does not grow with the size or number of files, but for the names of a folder at the sender.
//!
//! [`send`] and [`receive`] block; each uses a few threads. The end of the connection must make both streams fail.

mod dir;
mod disk;
mod fault;
mod frames;
pub mod messages;
mod names;
mod preview;
mod priority;
mod progress;
mod quota;
mod receive;
mod send;
pub mod tree;
mod walk;
mod wire;

pub use fault::{Error, Fault, FaultKind, first_hidden, is_hidden, printable};
pub use names::{checked as checked_name, unfinished as unfinished_name};
pub use preview::{Preview, Thing, ThingKind, preview};
pub use priority::Priority;
pub use progress::{Cut, Failure, Progress, Report, Total};
pub use quota::{Limits, Quota};
pub use receive::{Claims, Destination, Existing, Target, Turns, receive};
pub use send::{Options, send};
pub use walk::{Roots, Source};
pub use wire::{Frame, WireError};

/// The end of a transfer.
#[derive(Debug)]
pub struct Outcome {
    /// The report of what was transferred and what was not.
    pub report: Report,
    /// Success if it came to its end, else the reason for which it did not. Files that failed are in the report.
    pub result: Result<(), Error>,
}
