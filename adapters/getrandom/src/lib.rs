//! The interface of the crate `getrandom`, version 0.4, for this workspace.
//!
//! `rand` and others take their seeds from it. Within the call of a stack they get numbers of the running connection
//! ([`thalweg_stack_random`]), elsewhere those of the operating system.

mod urandom_source;

#[cfg(feature = "sys_rng")]
pub use rand_core;
pub use urandom_source::{Error, fill, fill_uninit, u32, u64};

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
