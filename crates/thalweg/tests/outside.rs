//! The examples, which are crates outside the workspace, as users' are: what they add is usable by name.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The folder of an example.
fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// Runs the program of an example, built beside the workspace's own, with the versions that the workspace has.
#[track_caller]
fn run(name: &str, arguments: &[&str]) -> Output {
    let folder = folder(name);
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    std::fs::copy(lock, folder.join("Cargo.lock")).expect("the workspace has a lock file");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is in the target folder");
    let mut command = Command::new(env!("CARGO"));
    command.args(["run", "--quiet", "--offline", "--manifest-path"]).arg(folder.join("Cargo.toml"));
    command.arg("--target-dir").arg(target).arg("--").args(arguments).current_dir(&folder);
    command.output().expect("cargo runs")
}

/// The output of a call that succeeds.
#[track_caller]
fn printed(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// A discipline of another crate is simulated, listed, written out and checked as those of this project.
#[test]
fn a_discipline_of_ones_own_is_used_by_name() {
    let listed = printed(&run("discipline", &["list", "queues"]));
    assert!(listed.contains("newest-first") && listed.contains("fq-codel"), "{listed}");
    let schema = printed(&run("discipline", &["schema"]));
    assert!(schema.contains("\"patience\""), "the schema has its keys");
    let told = printed(&run("discipline", &["validate", "stack.toml"]));
    assert!(told.contains("newest first, with a patience of 30 ms"), "{told}");
    let document = printed(&run("discipline", &["run", "stack.toml", "--json", "--verify"]));
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let totals = &document["runs"][0]["totals"];
    // 1028 bytes on the wire at 10 Mbit/s are 1216 packets a second of the 1875 that come; the newest waits for one at most.
    let delivered = totals["delay_samples"].as_u64().unwrap();
    assert!((6055..=6080).contains(&delivered), "{delivered} of 6080 in 5 s");
    let longest = totals["delay_p99_worst_s"].as_f64().unwrap();
    assert!((0.0108..0.0118).contains(&longest), "{longest} s: 10 ms, and two packets of 0.82 ms");
    let wrong = run("discipline", &["validate", "stack.toml", "--set", "link.bottleneck.queue.patience=0s"]);
    let wrong = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(wrong.contains("patience"), "{wrong}");
}
