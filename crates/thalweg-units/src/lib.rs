//! Physical quantities as types: time, rate and size with exact integer arithmetic; packets, segments and shares as
//! real numbers.
//!
//! The project passes no bare numbers for these quantities. All of them parse from and print to text such as `50 ms`,
//! `64 kbit/s` and `10 x 512 B`; a number without a unit is rejected.

mod data_size;
mod packet_and_segment_counts;
mod quantity_parser;
mod rate;
mod share;
mod time;

pub use data_size::Bytes;
pub use packet_and_segment_counts::{Packets, Segments};
pub use quantity_parser::{UnitError, split_number};
pub use rate::Rate;
pub use share::Share;
pub use time::{Duration, Time};
