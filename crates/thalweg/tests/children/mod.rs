//! Processes that tests start, which end with the test however that ends: by a panic, a time-out or `kill -9`.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::OnceLock;

/// A call of a program that the kernel kills when the thread that started it is gone. Signals to the process group of the test, as
/// Ctrl-C sends one, do not reach it: what it is told comes from the test alone.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = after(&[]);
    command.arg(program);
    command
}

/// The same for a program that these words run.
pub fn after(words: &[&str]) -> Command {
    let mut command = Command::new("env");
    command.args(words).process_group(0);
    if has_leash() {
        command.args(LEASH).args(["sh", "-c", STILL_THERE]).arg(std::process::id().to_string());
    }
    command
}

/// Words before a command by which it ends with its parent.
pub const LEASH: [&str; 3] = ["setpriv", "--pdeathsig", "KILL"];

/// The parent may be gone before its child has said that it wants to know.
const STILL_THERE: &str = r#"[ "$PPID" = "$0" ] && exec "$@""#;

/// True if the host has `setpriv` (util-linux). Children outlive a test that is killed where it has not.
pub fn has_leash() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| {
        let tried = Command::new(LEASH[0]).args(&LEASH[1..]).arg("true").output();
        tried.is_ok_and(|output| output.status.success())
    })
}
