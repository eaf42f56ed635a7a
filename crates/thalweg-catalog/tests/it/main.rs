//! Integration tests of `thalweg-catalog`, in one program: it is linked once.

mod external_controller;
mod reference;
mod runtime_names;
