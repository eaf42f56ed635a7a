//! Time, rate and size as types, with exact integer arithmetic and text with units.
//!
//! Nothing in the project passes a bare number for one of these. All of them parse from and print to text
//! such as `50 ms`, `64 kbit/s` and `10 x 512 B`; a number without a unit is refused.

mod parse;
mod rate;
mod size;
mod time;

pub use parse::UnitError;
pub use rate::Rate;
pub use size::Bytes;
pub use time::{Duration, Time};
