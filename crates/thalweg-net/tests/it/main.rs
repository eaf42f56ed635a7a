//! Integration tests of `thalweg-net`, in one program: it is linked once.

mod advice;
mod application_limited;
mod asymmetric_path;
mod attacks;
mod contract_violation;
mod dialogue;
mod ecn;
mod endpoints;
mod flows;
mod growth;
mod handshakes;
mod hostile;
mod hostile_octets;
mod known_answers;
mod long;
mod loopback;
mod octets;
mod pair;
mod shards;
mod transfer;
