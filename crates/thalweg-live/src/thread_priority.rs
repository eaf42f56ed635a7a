//! Low-latency scheduling of a thread, as far as the system permits.

use std::num::NonZeroU64;
use std::time::Duration;

/// Scheduler slice of this thread. A short slice is scheduled sooner; the system default is some milliseconds.
const SCHEDULER_SLICE: Duration = Duration::from_micros(100);

/// Nice value of a thread with the highest priority.
const HIGHEST_PRIORITY_NICE: i32 = -20;

/// Arguments of `sched_setattr`, as of Linux 3.14.
#[repr(C)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Raises the scheduling priority of this thread. Refused settings show up as lateness.
pub(crate) fn raise_priority() {
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: 0,
        flags: 0,
        nice: 0,
        priority: 0,
        runtime: SCHEDULER_SLICE.as_nanos() as u64,
        deadline: 0,
        period: 0,
    };
    #[allow(unsafe_code, reason = "no safe wrapper of this call exists")]
    // SAFETY: the call reads `size` bytes, the length of the structure, and keeps no pointer. It only changes the
    // scheduling of this
    // thread (0); a system without this call returns an error.
    unsafe {
        libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0);
    }
    // Fails without the privilege to raise priority.
    let _ = rustix::process::setpriority_process(None, HIGHEST_PRIORITY_NICE);
    // The default timer slack delays a sleep by up to 50 us.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}
