//! Integration tests of `thalweg-catalog`, in one program: it is linked once.

mod named;
mod reference;
