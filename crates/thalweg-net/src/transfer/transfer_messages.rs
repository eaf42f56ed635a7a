//! Messages between the two sides of a transfer.

use super::transfer_error::Fault;
use super::transfer_priority::Priority;
use super::tree_hash::{BLOCK, Digest};

/// Protocol version; peers with another version are refused.
pub const VERSION: u64 = 3;
/// Maximum number of outstanding offers.
pub const MAX_OUTSTANDING_OFFERS: usize = 8192;
/// Total [weight](Offer::weight) of outstanding offers at which the sender must stop offering, in bytes.
pub const WINDOW_WEIGHT: usize = 2 << 20;
/// Maximum bytes that a sender sends before the receiver's greeting, its total excluded: the transfer may need approval
/// first.
pub const PRE_ACCEPTANCE_BYTES: u64 = 32 << 10;
/// Maximum length of a file or folder name, in bytes.
pub const MAX_NAME_BYTES: usize = 255;
/// Maximum depth of nested folders.
pub const MAX_DEPTH: usize = 256;
/// Maximum number of outstanding requested digests.
pub const MAX_DIGESTS: u64 = 64;
/// Maximum body of a frame without file contents, in bytes.
pub const MAX_BODY_BYTES: usize = 8192;
/// Maximum file contents in a frame, in bytes.
pub const MAX_DATA: u64 = BLOCK;
/// Maximum hole in a frame, in bytes.
pub const MAX_HOLE: u64 = 64 * BLOCK;
/// Maximum length of a symbolic link's target, in bytes.
pub const MAX_TARGET_BYTES: usize = 4095;
/// Maximum number of hard-linked files whose first names a receiver remembers.
pub const MAX_SHARED: usize = 65_536;

/// File-system timestamp: seconds since 1970 and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileTime {
    /// Seconds since 1970-01-01 00:00 UTC, negative before.
    pub seconds: i64,
    /// Nanoseconds beyond them, less than 10^9.
    pub nanoseconds: u32,
}

/// Description of an item that the sender offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Number of enclosing folders: the parent is the last offered folder with a depth one less.
    pub depth: u64,
    /// Name in its folder: one path component.
    pub name: Vec<u8>,
    /// True if another name in the folder differs only by case.
    pub alike: bool,
    /// Unix permission bits: nine, plus the sticky bit for folders.
    pub mode: u32,
    /// Kind of the item.
    pub kind: OfferKind,
}

impl Offer {
    /// Returns the memory that the offer counts for at the receiver, in bytes: 128, its path with one byte for each
    /// enclosing folder, and the target of a symbolic link. `path` is the number of bytes in the names of the path, the
    /// last included.
    pub fn weight(&self, path: usize) -> usize {
        let depth = usize::try_from(self.depth).unwrap_or(usize::MAX);
        let target = if let OfferKind::Link { target, .. } = &self.kind { target.len() } else { 0 };
        path.saturating_add(depth).saturating_add(target).saturating_add(128)
    }
}

/// Kind of an offered item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OfferKind {
    /// Regular file.
    File {
        /// Size in bytes.
        size: u64,
        /// Modification time.
        modified: FileTime,
        /// True if further hard links to it may be offered later.
        shared: bool,
    },
    /// Hard link to a file offered earlier as shared.
    Name {
        /// Number of that offer.
        first: u64,
    },
    /// Symbolic link.
    Link {
        /// Modification time.
        modified: FileTime,
        /// Target path: 1 to [`MAX_TARGET_BYTES`] bytes without a zero.
        target: Vec<u8>,
    },
    /// Folder; its contents follow.
    Folder {
        /// Modification time.
        modified: FileTime,
    },
    /// Stream of unknown length. It cannot be resumed.
    Stream,
}

impl OfferKind {
    /// Returns true for an item with contents of its own.
    pub fn is_file(&self) -> bool {
        matches!(self, Self::File { .. } | Self::Stream)
    }
}

/// Number of files and folders with properties that the transfer does not carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostProperties {
    /// Owners other than the sending user.
    pub owners: u64,
    /// Extended attributes.
    pub attributes: u64,
    /// Access control lists.
    pub lists: u64,
    /// Set-user-ID and set-group-ID bits.
    pub bits: u64,
    /// Hard links sent as separate files, because more than [`MAX_SHARED`] files have several names.
    pub names: u64,
}

impl LostProperties {
    /// Returns true if nothing is lost.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the increase since `earlier`.
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

    /// Returns each count with its singular and plural name.
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

/// Messages from the sender to the receiver. Offers are numbered from 0 in order; `id` is that number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToReceiver {
    /// First frame.
    Hello {
        /// [`VERSION`].
        version: u64,
        /// Compare contents to detect unchanged files; otherwise size and modification time.
        checksum: bool,
        /// Priority: 1 (most urgent) to 6 (least).
        priority: Priority,
        /// Number of files and folders that the user named, for the approval prompt.
        named: u64,
    },
    /// Item to transfer. Names in a folder come in ascending byte order.
    Offer(Offer),
    /// Total amount, for progress displays.
    Total {
        /// Files.
        files: u64,
        /// Bytes in them.
        bytes: u64,
    },
    /// Confirmation that the receiver's file has the sender's contents.
    Same {
        /// Offer number.
        id: u64,
    },
    /// Request for digests of blocks of an unfinished file.
    Verify {
        /// Offer number.
        id: u64,
        /// Index of the first piece.
        first: u64,
        /// Number of pieces.
        count: u64,
    },
    /// Start of a file: the contents up to `End` or `Abandon` belong to it, from its first byte on.
    Begin {
        /// Offer number.
        id: u64,
    },
    /// Confirmation that the next block of the unfinished file is valid; contents continue behind it.
    Keep,
    /// Next bytes of the file, which follow the frame.
    Data {
        /// Number of bytes: 1 to [`MAX_DATA`].
        length: u64,
    },
    /// End of a complete file.
    End {
        /// Hash of the file.
        hash: Digest,
    },
    /// Cancellation of an offered item.
    Abandon {
        /// Offer number.
        id: u64,
        /// Reason.
        fault: Fault,
    },
    /// Item that is not offered, with the reason.
    Missing {
        /// Number of enclosing folders, as in an [`Offer`].
        depth: u64,
        /// Name in its folder; may be that of an offered folder that is unreadable.
        name: Vec<u8>,
        /// Reason.
        fault: Fault,
    },
    /// Hole: zeros of the file that are not stored, in full blocks of [`BLOCK`] bytes, never its last.
    Hole {
        /// Length in bytes: a multiple of [`BLOCK`], at most [`MAX_HOLE`].
        length: u64,
    },
    /// Properties of files and folders that the transfer does not carry.
    Lost(LostProperties),
    /// End of the offers.
    Finish,
}

/// Messages from the receiver to the sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToSender {
    /// First frame.
    Hello {
        /// [`VERSION`].
        version: u64,
    },
    /// Answer to an offer: send all of it.
    Want {
        /// Offer number.
        id: u64,
    },
    /// Answer to an offer: already present.
    Skip {
        /// Offer number.
        id: u64,
    },
    /// Answer to an offer: partly present, subject to verification.
    Part {
        /// Offer number.
        id: u64,
        /// Bytes present, at most the offered size.
        length: u64,
    },
    /// Answer to an offer: hash of an existing file with the same name and size.
    Hash {
        /// Offer number.
        id: u64,
        /// Hash of the receiver's file.
        hash: Digest,
    },
    /// Answer to `Verify`.
    Digests {
        /// Number of the offer.
        id: u64,
        /// Block number of the first digest.
        first: u64,
        /// At most [`MAX_DIGESTS`].
        digests: Vec<Digest>,
    },
    /// The item has its final name; its contents are synced to disk, its name is not yet.
    Stored {
        /// Offer number.
        id: u64,
    },
    /// The item will not be stored. Nothing of it has the final name.
    Failed {
        /// Offer number.
        id: u64,
        /// Reason.
        fault: Fault,
    },
    /// Content bytes present at the receiver, cumulative.
    Progress {
        /// Stored, kept and skipped bytes.
        bytes: u64,
    },
    /// Approval is pending. The receiver reads on after the decision and then sends its greeting.
    AwaitingApproval,
    /// The receiver pauses the transfer in favour of more urgent ones, or resumes it.
    Held {
        /// True for a pause.
        held: bool,
    },
    /// Everything is stored, names included: the transfer is complete.
    Done,
    /// The receiver refuses the transfer or aborts it.
    Refuse {
        /// Reason.
        fault: Fault,
    },
}
