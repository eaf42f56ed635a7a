//! The random numbers of `/dev/urandom`, for versions 0.3 and 0.4 of the crate `getrandom`.

use core::fmt;
use core::mem::MaybeUninit;
use std::fs::File;
use std::io::Read as _;

/// The operating system has no random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error(i32);

impl Error {
    /// Returns the number of the operating system's error.
    pub const fn raw_os_error(self) -> Option<i32> {
        Some(self.0)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no random numbers: {}", std::io::Error::from_raw_os_error(self.0))
    }
}

impl core::error::Error for Error {}

impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        Self::from_raw_os_error(error.0)
    }
}

/// Fills `bytes` with random numbers.
///
/// # Errors
///
/// The operating system's error.
pub fn fill(bytes: &mut [u8]) -> Result<(), Error> {
    if thalweg_stack_random::fill_random(bytes) {
        return Ok(());
    }
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(bytes));
    read.map_err(|error| Error(error.raw_os_error().unwrap_or_default()))
}

/// Fills `bytes` with random numbers and returns them.
///
/// # Errors
///
/// The operating system's error.
pub fn fill_uninit(bytes: &mut [MaybeUninit<u8>]) -> Result<&mut [u8], Error> {
    let mut drawn = vec![0; bytes.len()];
    fill(&mut drawn)?;
    Ok(bytes.write_copy_of_slice(&drawn))
}

/// Returns 32 random bits.
///
/// # Errors
///
/// The operating system's error.
pub fn u32() -> Result<u32, Error> {
    let mut bytes = [0; 4];
    fill(&mut bytes).map(|()| u32::from_le_bytes(bytes))
}

/// Returns 64 random bits.
///
/// # Errors
///
/// The operating system's error.
pub fn u64() -> Result<u64, Error> {
    let mut bytes = [0; 8];
    fill(&mut bytes).map(|()| u64::from_le_bytes(bytes))
}
