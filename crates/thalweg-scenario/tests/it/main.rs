//! Integration tests of `thalweg-scenario`, in one program: it is linked once.

mod broken;
mod cake;
mod changes;
mod fabric;
mod generate;
mod hostile;
mod late_hosts;
mod lists;
mod matrices;
mod meaning;
mod media;
mod parquet;
mod paths;
mod reference;
mod reordering;
mod scalable;
mod scenarios;
mod schema;
mod slow_start;
mod speed;
mod threads;
mod topologies;
