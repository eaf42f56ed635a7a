//! The interface of the crate `getrandom`, version 0.3, for the workspace of the adapters: `rand` 0.9 takes its seeds from it.

#[path = "../../getrandom/src/urandom_source.rs"]
mod source;

pub use source::{Error, fill, fill_uninit, u32, u64};
