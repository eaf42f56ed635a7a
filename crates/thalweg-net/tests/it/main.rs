//! Integration tests of `thalweg-net`, in one program: it is linked once.

mod application_limited;
mod asymmetric_path;
mod attacks;
mod clock_range;
mod contract_violation;
mod ecn;
mod endpoint_pair;
mod endpoints_over_faulty_channel;
mod flows_over_hostile_paths;
mod fuzz_targets;
mod fuzz_targets_on_fixed_inputs;
mod handshakes;
mod hostile_path;
mod known_answers;
mod performance_advice;
mod receive_autotuning;
mod request_response;
mod socket_buffer_overflow;
mod socket_shards;
mod transfer;
