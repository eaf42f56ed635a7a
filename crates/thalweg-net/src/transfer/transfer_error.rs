//! Errors of single files and of whole transfers.

pub use crate::safe_display::{escape_unsafe, first_unsafe, is_unsafe};
use std::fmt;
use std::io;

/// The reason why a file was not transferred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Error kind.
    pub kind: FaultKind,
    /// Human-readable detail, at most [`Fault::MAX_TEXT_BYTES`] bytes.
    pub text: String,
}

/// Kinds of [`Fault`], numbered as on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FaultKind {
    /// The source was modified while it was read.
    Changed = 1,
    /// The source no longer exists at the sender.
    Vanished = 2,
    /// Permission was denied, on either side.
    Permission = 3,
    /// The receiver's disk is full, or its disk quota (EDQUOT) exceeded.
    DiskFull = 4,
    /// The sender's quota at the receiver is exhausted.
    SenderQuota = 5,
    /// The receiver rejects the name.
    Name = 6,
    /// Another entry has the name of the file.
    PathConflict = 7,
    /// The file's folder could not be created.
    Folder = 8,
    /// Another transfer is writing this file.
    Busy = 9,
    /// The stored bytes differ from the sent ones.
    Mismatch = 10,
    /// Any other disk or operating system error.
    Storage = 11,
    /// The peer violated the protocol.
    Protocol = 12,
    /// The peer has another protocol version.
    Version = 13,
    /// The other side gave up the file first.
    Stopped = 14,
    /// The receiver writes to its standard output, which takes only one file.
    Single = 15,
    /// A symbolic link that points outside the receiver's folder.
    Link = 16,
    /// Neither a file nor a folder; not sent.
    Special = 17,
    /// A file left by an unfinished transfer; not sent.
    Unfinished = 18,
    /// The existing file is not from this sender, or was modified since.
    NotFromSender = 19,
    /// The receiver keeps its existing file.
    Kept = 20,
    /// A name with a leading dot, at the top of the receiver's folder.
    DotName = 21,
    /// The existing file's sender is unknown, because its file system has no extended attributes.
    Unmarked = 22,
}

impl FaultKind {
    const ALL: [Self; 22] = [
        Self::Changed,
        Self::Vanished,
        Self::Permission,
        Self::DiskFull,
        Self::SenderQuota,
        Self::Name,
        Self::PathConflict,
        Self::Folder,
        Self::Busy,
        Self::Mismatch,
        Self::Storage,
        Self::Protocol,
        Self::Version,
        Self::Stopped,
        Self::Single,
        Self::Link,
        Self::Special,
        Self::Unfinished,
        Self::NotFromSender,
        Self::Kept,
        Self::DotName,
        Self::Unmarked,
    ];

    /// Returns the kind with wire number `number`.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }

    /// Returns the names of all kinds.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().map(Self::name)
    }

    /// Returns the machine-readable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Vanished => "vanished",
            Self::Permission => "permission",
            Self::DiskFull => "disk-full",
            Self::SenderQuota => "quota",
            Self::Name => "name",
            Self::PathConflict => "path-conflict",
            Self::Folder => "folder",
            Self::Busy => "busy",
            Self::Mismatch => "mismatch",
            Self::Storage => "storage",
            Self::Protocol => "protocol",
            Self::Version => "version",
            Self::Stopped => "stopped",
            Self::Single => "single",
            Self::Link => "link",
            Self::Special => "special",
            Self::Unfinished => "unfinished",
            Self::NotFromSender => "not-from-sender",
            Self::Kept => "kept",
            Self::DotName => "hidden",
            Self::Unmarked => "unmarked",
        }
    }

    /// Returns true for entries that are skipped by design, which is not an error.
    pub fn is_omitted(self) -> bool {
        matches!(self, Self::Special | Self::Unfinished)
    }

    /// Returns the human-readable message.
    pub fn message(self) -> &'static str {
        match self {
            Self::Changed => "it changed while it was sent; send it again",
            Self::Vanished => "the sender no longer has it",
            Self::Permission => "permission denied",
            Self::DiskFull => "the receiver's disk is full or its disk quota is exceeded",
            Self::SenderQuota => "it exceeds the quota of this sender at the receiver",
            Self::Name => "the receiver does not accept this name",
            Self::PathConflict => "another entry exists at its path",
            Self::Folder => "its folder could not be created",
            Self::Busy => "another transfer is writing it",
            Self::Mismatch => "the stored data differ from the sent data; send it again",
            Self::Storage => "it could not be read or stored",
            Self::Protocol => "the peer did not follow the protocol",
            Self::Version => "the peer uses another version of the protocol",
            Self::Stopped => "it was cancelled",
            Self::Single => {
                "the receiver writes to its standard output, which takes one file or stream and no folder"
            }
            Self::Link => {
                "it is a symbolic link that leads, or may lead, out of the receiver's folder; such are taken with \
                 --outside-links only"
            }
            Self::Special => "it is neither a file nor a folder",
            Self::Unfinished => "it is a leftover of an unfinished transfer",
            Self::NotFromSender => {
                "the receiver keeps its existing file, which did not come from this sender or was changed since; \
                 --overwrite or --backup replaces it"
            }
            Self::Kept => "the receiver keeps its existing file",
            Self::DotName => {
                "names that begin with a dot are taken at the top of the folder with --hidden only"
            }
            Self::Unmarked => {
                "the receiver keeps its existing file, as its file system has no extended attributes (user.*) for the \
                 sender's key; --overwrite or --backup replaces it"
            }
        }
    }
}

impl Fault {
    /// Maximum length of the text, in bytes.
    pub const MAX_TEXT_BYTES: usize = 512;

    /// Creates a fault; truncates `text` to [`Fault::MAX_TEXT_BYTES`].
    pub fn new(kind: FaultKind, text: impl Into<String>) -> Self {
        let mut text = text.into();
        text.truncate(text.floor_char_boundary(Self::MAX_TEXT_BYTES));
        Self { kind, text }
    }

    /// Maps an operating system error to the fault for an unreadable source.
    pub fn from_source_error(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound {
            return FaultKind::Vanished.into();
        }
        // These kinds describe names at the receiver.
        let kind = match Self::from_io_error(error).kind {
            FaultKind::Permission => FaultKind::Permission,
            _ => FaultKind::Storage,
        };
        Self::new(kind, format!("at the sender: {error}"))
    }

    /// Maps an operating system error to the fault for a file that the receiver cannot store.
    pub fn from_io_error(error: &io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => FaultKind::Permission,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => FaultKind::DiskFull,
            io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory => FaultKind::PathConflict,
            io::ErrorKind::InvalidFilename => FaultKind::Name,
            // A symbolic link instead of a file.
            _ if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
                FaultKind::PathConflict
            }
            _ => FaultKind::Storage,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<FaultKind> for Fault {
    fn from(kind: FaultKind) -> Self {
        Self { kind, text: String::new() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.message())?;
        // The text may come from the peer.
        if self.text.is_empty() { Ok(()) } else { write!(f, " ({})", escape_unsafe(self.text.as_bytes())) }
    }
}

/// The reason why a transfer ended early. Every file with a final name is complete regardless.
#[derive(Debug)]
pub enum Error {
    /// The connection ended. Repeating the transfer resumes it. The error kind
    /// [`Interrupted`](io::ErrorKind::Interrupted) means that a user stopped it.
    ConnectionEnded(io::Error),
    /// The peer violated the protocol.
    Protocol(String),
    /// The peer ended the transfer.
    EndedByPeer(Fault),
    /// A local error.
    Local(Fault),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConnectionEnded(error) if error.kind() == io::ErrorKind::Interrupted => {
                f.write_str("interrupted")
            }
            Self::ConnectionEnded(error) => {
                write!(f, "the connection ended before the transfer did ({error})")
            }
            Self::Protocol(what) => write!(f, "the peer did not follow the protocol: {what}"),
            Self::EndedByPeer(fault) => write!(f, "the peer ended the transfer: {fault}"),
            Self::Local(fault) => write!(f, "{fault}"),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_kinds_are_one_to_one() {
        for kind in FaultKind::ALL {
            assert_eq!(FaultKind::from_number(kind as u8), Some(kind));
        }
        assert_eq!(FaultKind::from_number(0), None);
        assert_eq!(FaultKind::from_number(23), None);
    }

    #[test]
    fn an_exceeded_disk_quota_is_named() {
        for cause in [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded] {
            let fault = Fault::from_io_error(&cause.into());
            assert_eq!(fault.kind, FaultKind::DiskFull);
            assert!(fault.kind.message().contains("disk quota is exceeded"), "{fault}");
        }
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let fault = Fault::new(FaultKind::Storage, "ü".repeat(400));
        assert_eq!(fault.text.len(), 512);
        assert_eq!(Fault::new(FaultKind::Storage, format!("a{}", "ü".repeat(400))).text.len(), 511);
    }
}
