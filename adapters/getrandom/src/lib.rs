//! The interface of the crate `getrandom`, version 0.4, for this workspace.
//!
//! `rand` and others take their seeds from it. Within the call of a stack they get numbers of the running connection
//! ([`thalweg_stack_random`]), elsewhere those of the operating system.

use core::fmt;
use core::mem::MaybeUninit;
use std::fs::File;
use std::io::Read as _;

#[cfg(feature = "sys_rng")]
pub use rand_core;

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
    if thalweg_stack_random::fill(bytes) {
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

/// The generator of `rand_core` over [`fill`].
#[cfg(feature = "sys_rng")]
#[derive(Clone, Copy, Debug, Default)]
pub struct SysRng;

#[cfg(feature = "sys_rng")]
impl rand_core::TryRng for SysRng {
    type Error = Error;

    fn try_next_u32(&mut self) -> Result<u32, Error> {
        u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Error> {
        u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        fill(bytes)
    }
}

#[cfg(feature = "sys_rng")]
impl rand_core::TryCryptoRng for SysRng {}
