//! Integration tests of `thalweg-studies`, in one program: it is linked once.

mod bless25;
mod chen99;
mod liang91;
mod papers;
mod two_level;
mod yang01;
