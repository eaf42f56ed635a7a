//! Regenerates `scenarios/cellular.trace`: 30 s of a synthetic cellular link, always the same.

use std::fs::File;
use std::path::Path;
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Duration, Rate};
use thalweg_queue::CapacityTrace;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/cellular.trace");
    let mut stream = RandomStream::new(1, "cellular", 0);
    let mean = Rate::from_mbits_per_sec(6);
    let trace = CapacityTrace::synthesise(&mut stream, mean, 0.7, Duration::from_secs(30))?;
    trace.write(File::create(&path)?)?;
    println!("{} opportunities, {} on average", trace.opportunities.len(), trace.mean_rate());
    Ok(())
}
