//! Names with letters beyond ASCII in output that is not to a terminal.

use crate::command_runs::temporary_path;
use std::fs;
use std::process::{Command, Stdio};

const SCENARIO: &str = r#"
duration = "2 s"
warmup = "0 s"
[[link]]
name = "Straße"
between = ["Köln", "Łódź"]
rate = "1 Mbit/s"
delay = "5 ms"
queue = "10 pkt"
[[flow]]
name = "flüssig"
from = "Köln"
to = "Łódź"
scheme = "cubic"
"#;

/// Names in a pipe keep their letters in any locale, and signs stay ASCII.
#[test]
fn names_in_a_pipe_keep_their_letters() {
    let folder = temporary_path("names-beyond-ascii");
    fs::write(folder.join("scenario.toml"), SCENARIO).unwrap();
    for locale in ["C.UTF-8", "C", ""] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
        command.args(["run", "scenario.toml", "--reps", "2", "--quiet"]).current_dir(&folder);
        let output = command.env("LC_ALL", locale).env("LANG", locale).stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for name in ["flüssig", "Köln -> Łódź"] {
            assert!(text.contains(name), "{locale:?}: {name} in\n{text}");
        }
        assert!(!text.contains('?') && !text.contains('±'), "{locale:?}:\n{text}");
    }
}
