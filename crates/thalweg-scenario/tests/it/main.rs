//! Integration tests of `thalweg-scenario`, in one program: it is linked once.

mod broken;
mod cake;
mod external_scalable_controller;
mod hostile;
mod key_semantics;
mod large_networks;
mod late_hosts;
mod link_changes;
mod lists;
mod matrices;
mod media;
mod parquet;
mod paths;
mod random_scenarios;
mod reading_speed;
mod reference;
mod reordering;
mod scenarios;
mod schema;
mod slow_start;
mod threads;
mod topologies;
