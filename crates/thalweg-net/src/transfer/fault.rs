//! The things that can go wrong with one file, and with a whole transfer.

pub use crate::text::{first_hidden, is_hidden, printable};
use std::fmt;
use std::io;

/// The reason for which a file was not transferred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// More about it, for people; at most [`Fault::LONGEST`] bytes.
    pub text: String,
}

/// Kinds of [`Fault`], with the number that each has on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FaultKind {
    /// The source was written to while it was read.
    Changed = 1,
    /// The source is gone, at the sender.
    Vanished = 2,
    /// Permission was denied, on either side.
    Permission = 3,
    /// The receiver's disk is full.
    DiskFull = 4,
    /// The sender has used what the receiver gives it.
    Quota = 5,
    /// The receiver does not take this name.
    Name = 6,
    /// Something else stands where the file should go.
    InTheWay = 7,
    /// The file's folder could not be made.
    Folder = 8,
    /// Another transfer is writing this file.
    Busy = 9,
    /// The stored bytes are not those that were sent.
    Mismatch = 10,
    /// Any other error of a disk or an operating system.
    Storage = 11,
    /// The peer did not follow the protocol.
    Protocol = 12,
    /// The peer speaks another version.
    Version = 13,
    /// The other side gave the file up first.
    Stopped = 14,
    /// The receiver writes to its standard output, which takes one file.
    Single = 15,
    /// A symbolic link that leads out of the receiver's folder.
    Link = 16,
    /// Neither a file nor a folder, which is not sent.
    Special = 17,
    /// A file that an unfinished transfer has left, which is not sent.
    Unfinished = 18,
    /// A file is there that this sender did not send, or that was changed since.
    Foreign = 19,
    /// A file is there, and the receiver keeps what it has.
    Kept = 20,
    /// A name that begins with a dot, at the top of the receiver's folder.
    Hidden = 21,
    /// A file is there of which nobody can know who sent it, as its file system keeps no extended attributes.
    Unmarked = 22,
}

impl FaultKind {
    const ALL: [Self; 22] = [
        Self::Changed,
        Self::Vanished,
        Self::Permission,
        Self::DiskFull,
        Self::Quota,
        Self::Name,
        Self::InTheWay,
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
        Self::Foreign,
        Self::Kept,
        Self::Hidden,
        Self::Unmarked,
    ];

    /// The kind with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }

    /// The names of all kinds.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().map(Self::name)
    }

    /// A word for programs to read.
    pub fn name(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Vanished => "vanished",
            Self::Permission => "permission",
            Self::DiskFull => "disk-full",
            Self::Quota => "quota",
            Self::Name => "name",
            Self::InTheWay => "in-the-way",
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
            Self::Foreign => "foreign",
            Self::Kept => "kept",
            Self::Hidden => "hidden",
            Self::Unmarked => "unmarked",
        }
    }

    /// Nothing went wrong: such things are not sent.
    pub fn is_passed_by(self) -> bool {
        matches!(self, Self::Special | Self::Unfinished)
    }

    /// The words for what happened.
    pub fn message(self) -> &'static str {
        match self {
            Self::Changed => "it changed while it was sent; send it again when it is at rest",
            Self::Vanished => "the sender does not have it any more",
            Self::Permission => "permission denied",
            Self::DiskFull => "the receiver's disk is full",
            Self::Quota => "it does not fit into the room that the receiver gives this sender",
            Self::Name => "the receiver does not take this name",
            Self::InTheWay => "something else stands in its place",
            Self::Folder => "its folder could not be made",
            Self::Busy => "another transfer is writing it",
            Self::Mismatch => "what was stored is not what was sent; send it again",
            Self::Storage => "it could not be read or stored",
            Self::Protocol => "the peer did not follow the protocol",
            Self::Version => "the peer speaks another version of the protocol",
            Self::Stopped => "it was given up",
            Self::Single => {
                "the receiver writes to its standard output, which takes one file or stream and no folder"
            }
            Self::Link => {
                "it is a symbolic link that leads, or may lead, out of the receiver's folder; such are taken with \
                 --outside-links only"
            }
            Self::Special => "it is neither a file nor a folder",
            Self::Unfinished => "it is what an unfinished transfer has left",
            Self::Foreign => {
                "the receiver has a file there that did not come from this sender, or was changed since, and replaces \
                 it with --overwrite or --backup only"
            }
            Self::Kept => "the receiver has a file there, and keeps it",
            Self::Hidden => {
                "names that begin with a dot are taken at the top of the folder with --hidden only"
            }
            Self::Unmarked => {
                "the receiver has a file there, and cannot know whether it came from this sender, as its file system keeps \
                 no extended attributes (user.*); it replaces it with --overwrite or --backup only"
            }
        }
    }
}

impl Fault {
    /// The longest text, in bytes.
    pub const LONGEST: usize = 512;

    /// A fault; `text` is cut to [`Fault::LONGEST`].
    pub fn new(kind: FaultKind, text: impl Into<String>) -> Self {
        let mut text = text.into();
        text.truncate(text.floor_char_boundary(Self::LONGEST));
        Self { kind, text }
    }

    /// The fault of what a sender cannot read, by an operating system's error.
    pub fn of_source(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound {
            return FaultKind::Vanished.into();
        }
        // Names that the receiver does not take are another matter.
        let kind = match Self::of(error).kind {
            FaultKind::Permission => FaultKind::Permission,
            _ => FaultKind::Storage,
        };
        Self::new(kind, format!("at the sender: {error}"))
    }

    /// The fault of what a receiver cannot store, by an operating system's error.
    pub fn of(error: &io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => FaultKind::Permission,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => FaultKind::DiskFull,
            io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory => FaultKind::InTheWay,
            io::ErrorKind::InvalidFilename => FaultKind::Name,
            // A link where a file was expected.
            _ if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => FaultKind::InTheWay,
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
        // The text may be a peer's.
        if self.text.is_empty() { Ok(()) } else { write!(f, " ({})", printable(self.text.as_bytes())) }
    }
}

/// The reason for which a transfer ended before its end. Everything under a final name is whole all the same.
#[derive(Debug)]
pub enum Error {
    /// The connection ended. The same transfer, begun again, goes on where this one stopped. An error of the kind
    /// [`Interrupted`](io::ErrorKind::Interrupted) is a user's wish.
    Interrupted(io::Error),
    /// The peer sent what the protocol does not allow.
    Protocol(String),
    /// The peer ended the transfer.
    Refused(Fault),
    /// This side cannot do it.
    Here(Fault),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted(error) if error.kind() == io::ErrorKind::Interrupted => {
                f.write_str("interrupted")
            }
            Self::Interrupted(error) => {
                write!(f, "the connection ended before the transfer did ({error})")
            }
            Self::Protocol(what) => write!(f, "the peer did not follow the protocol: {what}"),
            Self::Refused(fault) => write!(f, "the peer ended the transfer: {fault}"),
            Self::Here(fault) => write!(f, "{fault}"),
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
    fn a_long_text_is_cut_between_characters() {
        let fault = Fault::new(FaultKind::Storage, "ü".repeat(400));
        assert_eq!(fault.text.len(), 512);
        assert_eq!(Fault::new(FaultKind::Storage, format!("a{}", "ü".repeat(400))).text.len(), 511);
    }
}
