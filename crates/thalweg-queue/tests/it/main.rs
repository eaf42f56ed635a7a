//! Integration tests of `thalweg-queue`, in one program: it is linked once.

mod capacity;
mod disciplines;
mod losses;
