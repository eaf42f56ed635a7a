//! Integration tests of `thalweg-catalog`, in one program: it is linked once.

mod external;
mod named;
mod reference;
