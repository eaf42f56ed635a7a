//! Integration tests of `thalweg-scenario`, in one program: it is linked once.

mod cake_queues;
mod damaged_files;
mod direction_dependent_routes;
mod error_messages;
mod external_scalable_controller;
mod impairment_correlation;
mod json_schema;
mod key_reference;
mod key_semantics;
mod large_networks;
mod late_hosts;
mod link_changes;
mod link_layers;
mod link_scenarios;
mod named_paths;
mod on_off_and_rounds_workloads;
mod parquet;
mod random_scenarios;
mod reading_speed;
mod reordering;
mod repository_scenarios;
mod same_results_on_any_threads;
mod slow_start_exits;
mod topology_files;
mod traffic_matrices;
mod transfer_lists;
