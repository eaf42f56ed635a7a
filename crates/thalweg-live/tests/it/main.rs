//! Integration tests of `thalweg-live`, in one program: it is linked once.

mod emulator;
mod feedback;
mod gates;
mod groups;
mod middle;
mod net;
