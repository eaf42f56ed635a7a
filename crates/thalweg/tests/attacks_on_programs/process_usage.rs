//! Memory and CPU time of another process, from the kernel.

use std::fs;
use std::time::Duration;

pub struct Process(u32);

impl Process {
    pub fn new(id: u32) -> Self {
        Self(id)
    }

    /// Returns the peak resident memory in bytes; `None` after the process has ended.
    pub fn peak(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0)).unwrap();
        let value = status.lines().find_map(|text| text.strip_prefix("VmHWM:"))?;
        Some(value.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024)
    }

    /// Returns the CPU time of all its threads, including ended ones, in user and kernel mode, in ticks of 10 ms.
    pub fn cpu(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0)).unwrap();
        // The second field is a name in brackets with arbitrary characters; `utime` and `stime` are the 14th and 15th.
        let rest = stat.rsplit_once(')').unwrap().1;
        let ticks = |field: usize| rest.split_whitespace().nth(field - 3).unwrap().parse::<u64>().unwrap();
        Duration::from_millis(10 * (ticks(14) + ticks(15)))
    }
}
