//! The messages that the two sides of a transfer send each other.

use super::fault::Fault;
use super::priority::Priority;
use super::tree::{BLOCK, Digest};

/// The version of the protocol; peers of another are refused.
pub const VERSION: u64 = 3;
/// Offers that may wait for their end at the receiver.
pub const WINDOW: usize = 8192;
/// The [weight](Offer::weight) from which on offers that wait for their end allow no further one.
pub const WINDOW_WEIGHT: usize = 2 << 20;
/// A sender that has not been greeted says no more than this before it waits, in bytes, but for its total: somebody may have to
/// be asked about it first.
pub const UNGREETED: u64 = 32 << 10;
/// The longest name of a file or folder, in bytes.
pub const LONGEST_NAME: usize = 255;
/// The greatest depth of folders in each other.
pub const DEEPEST: usize = 256;
/// Digests that may be asked for before they are used.
pub const MOST_DIGESTS: u64 = 64;
/// The longest body of a frame without file contents, in bytes.
pub const LONGEST_BODY: usize = 8192;
/// The most file contents in a frame, in bytes.
pub const MOST_DATA: u64 = BLOCK;
/// The longest hole in a frame, in bytes.
pub const MOST_HOLE: u64 = 64 * BLOCK;
/// The longest target of a symbolic link, in bytes.
pub const LONGEST_TARGET: usize = 4095;
/// Files with further names whose first names a receiver remembers.
pub const MOST_SHARED: usize = 65_536;

/// A point in time of a file system: seconds since 1970 and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Modified {
    /// Seconds since 1970-01-01 00:00 UTC, negative before.
    pub seconds: i64,
    /// Nanoseconds beyond them, less than 10^9.
    pub nanoseconds: u32,
}

/// The description of something that a sender has, for the receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The number of folders that it is in: its folder is the last one offered with one less.
    pub depth: u64,
    /// Its name there: one component of a path.
    pub name: Vec<u8>,
    /// Another name in the folder differs from it only by case.
    pub alike: bool,
    /// The permission bits of Unix: nine of them, and of folders the sticky bit.
    pub mode: u32,
    /// The kind of thing.
    pub kind: OfferKind,
}

impl Offer {
    /// The memory that the offer counts for at the receiver, in bytes: 128, its path with one byte for each folder that it is
    /// in, and the target of a symbolic link. `path` is the number of bytes in the names of the path, the last included.
    pub fn weight(&self, path: usize) -> usize {
        let depth = usize::try_from(self.depth).unwrap_or(usize::MAX);
        let target = if let OfferKind::Link { target, .. } = &self.kind { target.len() } else { 0 };
        path.saturating_add(depth).saturating_add(target).saturating_add(128)
    }
}

/// The kind of thing that is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OfferKind {
    /// A file.
    File {
        /// Bytes in it.
        size: u64,
        /// The time of its last change.
        modified: Modified,
        /// Further names of it may be offered later.
        shared: bool,
    },
    /// A further name of a file that was offered before, as shared.
    Name {
        /// The number of that offer.
        first: u64,
    },
    /// A symbolic link.
    Link {
        /// The time of its last change.
        modified: Modified,
        /// The path that it leads to: 1 to [`LONGEST_TARGET`] bytes without a zero.
        target: Vec<u8>,
    },
    /// A folder. What is in it follows.
    Folder {
        /// The time of its last change.
        modified: Modified,
    },
    /// Bytes whose number is known when they end. They cannot be resumed.
    Stream,
}

impl OfferKind {
    /// It has contents of its own.
    pub fn is_file(&self) -> bool {
        matches!(self, Self::File { .. } | Self::Stream)
    }
}

/// The numbers of files and folders that have something that is not carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Another owner than the user who sends.
    pub owners: u64,
    /// Extended attributes.
    pub attributes: u64,
    /// Access control lists.
    pub lists: u64,
    /// Bits that change the user that a program runs as (setuid, setgid).
    pub bits: u64,
    /// Further names that came as files of their own, because there are more than [`MOST_SHARED`] files with some.
    pub names: u64,
}

impl Lost {
    /// Nothing is lost.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Those that came since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            owners: self.owners - earlier.owners,
            attributes: self.attributes - earlier.attributes,
            lists: self.lists - earlier.lists,
            bits: self.bits - earlier.bits,
            names: self.names - earlier.names,
        }
    }

    /// Each with its count and what it is called, singular and plural.
    pub fn counts(&self) -> [(u64, &'static str, &'static str); 5] {
        [
            (self.owners, "owner", "owners"),
            (self.attributes, "set of extended attributes", "sets of extended attributes"),
            (self.lists, "access control list", "access control lists"),
            (self.bits, "setuid or setgid bit", "setuid or setgid bits"),
            (self.names, "hard link", "hard links"),
        ]
    }
}

/// From the sender to the receiver. Offers are numbered from 0 in their order; `id` is that number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToReceiver {
    /// The first frame.
    Hello {
        /// [`VERSION`].
        version: u64,
        /// Files are the same when their contents are; without, when size and time of change are.
        checksum: bool,
        /// The urgency: 1, the most, to 6, the least.
        priority: Priority,
        /// The number of files and folders that its user named, for those who are asked whether they want them.
        named: u64,
    },
    /// Something to be transferred. Names of a folder come in ascending order of their bytes.
    Offer(Offer),
    /// The amount that there will be, for those who watch.
    Total {
        /// Files.
        files: u64,
        /// Bytes in them.
        bytes: u64,
    },
    /// The receiver's file has the sender's contents.
    Same {
        /// The number of the offer.
        id: u64,
    },
    /// Asks for digests of pieces of an unfinished file.
    Verify {
        /// The number of the offer.
        id: u64,
        /// The first piece.
        first: u64,
        /// The number of pieces.
        count: u64,
    },
    /// The contents that follow, until `End` or `Abandon`, are of this file, from its first byte on.
    Begin {
        /// The number of the offer.
        id: u64,
    },
    /// The next piece of the unfinished file is right; contents go on behind it.
    Keep,
    /// The next bytes of the file follow.
    Data {
        /// The number of bytes: 1 to [`MOST_DATA`].
        length: u64,
    },
    /// The file is complete.
    End {
        /// Its hash.
        hash: Digest,
    },
    /// The file will not come after all.
    Abandon {
        /// The number of the offer.
        id: u64,
        /// The reason.
        fault: Fault,
    },
    /// Something that is not offered, and what keeps it back.
    Missing {
        /// The number of folders that it is in, as in an [`Offer`].
        depth: u64,
        /// Its name there. It may be that of a folder that was offered and cannot be looked into.
        name: Vec<u8>,
        /// The reason.
        fault: Fault,
    },
    /// So many zeros of the file follow, which are not stored: full blocks of [`BLOCK`] bytes each, never its last.
    Hole {
        /// The number of zeros: a multiple of [`BLOCK`], at most [`MOST_HOLE`].
        length: u64,
    },
    /// The properties that files and folders have at the sender, and that are not carried.
    Lost(Lost),
    /// There are no more offers.
    Finish,
}

/// From the receiver to the sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToSender {
    /// The first frame.
    Hello {
        /// [`VERSION`].
        version: u64,
    },
    /// Answer to an offer: all of it, please.
    Want {
        /// The number of the offer.
        id: u64,
    },
    /// Answer to an offer: it is here already.
    Skip {
        /// The number of the offer.
        id: u64,
    },
    /// Answer to an offer: so much of it may be here.
    Part {
        /// The number of the offer.
        id: u64,
        /// Bytes, at most its size.
        length: u64,
    },
    /// Answer to an offer: a file of its name and size has this hash.
    Hash {
        /// The number of the offer.
        id: u64,
        /// The hash of the receiver's file.
        hash: Digest,
    },
    /// Answer to `Verify`.
    Digests {
        /// Of which offer.
        id: u64,
        /// The piece that the first digest is of.
        first: u64,
        /// At most [`MOST_DIGESTS`].
        digests: Vec<Digest>,
    },
    /// It is under its final name and safe from loss of power, but for its name.
    Stored {
        /// The number of the offer.
        id: u64,
    },
    /// It will not be stored. Nothing of it is under its final name.
    Failed {
        /// The number of the offer.
        id: u64,
        /// The reason.
        fault: Fault,
    },
    /// So many bytes of files are at the receiver, counted from the beginning.
    Progress {
        /// Stored, kept or skipped.
        bytes: u64,
    },
    /// Somebody is being asked whether to take it. What came is read when it is known; then a greeting follows.
    Asked,
    /// The transfer is held back from now on, because others are more urgent, or not any more.
    Held {
        /// It is.
        held: bool,
    },
    /// Everything is stored, with names: the transfer is over.
    Done,
    /// The transfer ends here.
    Refuse {
        /// The reason.
        fault: Fault,
    },
}
