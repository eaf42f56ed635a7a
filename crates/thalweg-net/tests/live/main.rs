//! Integration tests of `thalweg-net` that need real time, in one program.

mod advice_live;
mod backlog;
mod beside;
mod drivers;
mod examples;
mod impair;
mod low_delay;
#[path = "../it/pair/mod.rs"]
mod pair;
mod relay;
mod scalable;
mod sockets;
