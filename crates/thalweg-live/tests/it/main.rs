//! Integration tests of `thalweg-live`, in one program: it is linked once.

mod connected_components;
mod emulator;
mod gates;
mod middleboxes;
mod router_feedback;
mod test_network;
