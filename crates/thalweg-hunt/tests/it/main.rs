//! Integration tests of `thalweg-hunt`, in one program: it is linked once.

mod congestion_collapse;
mod hunt;
mod misbehaving_receivers;
