//! Child processes that end with their test, even after a panic, a timeout or `kill -9`.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::OnceLock;

/// Returns a command that the kernel kills when the thread that started it ends. It does not receive signals to the
/// test's process group, such as Ctrl-C: only the test sends it signals.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = after(&[]);
    command.arg(program);
    command
}

/// Returns the same for a program run by these words.
pub fn after(words: &[&str]) -> Command {
    let mut command = Command::new("env");
    command.args(words).process_group(0);
    if has_leash() {
        command.args(LEASH).args(["sh", "-c", STILL_THERE]).arg(std::process::id().to_string());
    }
    command
}

/// Command prefix that ties a process to its parent's life.
pub const LEASH: [&str; 3] = ["setpriv", "--pdeathsig", "KILL"];

/// Checks for a parent that ended before the child requested the signal.
const STILL_THERE: &str = r#"[ "$PPID" = "$0" ] && exec "$@""#;

/// Returns true if the host has `setpriv` (util-linux). Without it children outlive a killed test.
pub fn has_leash() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| {
        let tried = Command::new(LEASH[0]).args(&LEASH[1..]).arg("true").output();
        tried.is_ok_and(|output| output.status.success())
    })
}
