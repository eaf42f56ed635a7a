//! Integration tests of `thalweg-catalog`, in one program: it is linked once.

mod external_controller_options;
mod live_option_reference;
mod runtime_names;
