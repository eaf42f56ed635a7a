//! Integration tests of `thalweg-live`, in one program: it is linked once.

mod connected_components;
mod emulator;
mod feedback;
mod gates;
mod middleboxes;
mod test_network;
