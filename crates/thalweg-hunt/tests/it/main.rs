//! Integration tests of `thalweg-hunt`, in one program: it is linked once.

mod collapse;
mod hunt;
mod misbehaving;
