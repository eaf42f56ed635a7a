//! Child processes that end with their test, even after a panic, a timeout or `kill -9`.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

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

/// Waits until a process handles SIGINT and has had this much CPU time, with a resolution of 10 ms. A fixed wait would be
/// too short on a busy host.
#[track_caller]
#[allow(dead_code, reason = "not every program of tests interrupts children that compute")]
pub fn wait_for_work(process: u32, cpu: Duration) {
    const SIGINT: u64 = 1 << (2 - 1);
    // proc_pid_stat(5) counts in units of sysconf(_SC_CLK_TCK), which is 100 on Linux; utime and stime are fields 14 and 15.
    let read = |file: &str| std::fs::read_to_string(format!("/proc/{process}/{file}")).unwrap_or_default();
    let handles = || {
        let status = read("status");
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        caught.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & SIGINT != 0))
    };
    let computed = || {
        let stat = read("stat");
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
        Duration::from_millis(10)
            * fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u32>().ok()).sum::<u32>()
    };
    let begun = Instant::now();
    while !handles() || computed() < cpu {
        assert!(
            begun.elapsed() < Duration::from_secs(300),
            "process {process} computed for {:?}",
            computed()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
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
