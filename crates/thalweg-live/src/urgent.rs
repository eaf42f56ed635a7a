//! A thread that is woken when it asked for it, as far as the system lets users have that.

use std::num::NonZeroU64;
use std::time::Duration;

/// The time for which this thread runs at most before others have their turn: whoever asks for little is served sooner (the system's
/// own is some milliseconds).
const SLICE: Duration = Duration::from_micros(100);

/// The priority of a thread that nothing else keeps waiting.
const FIRST: i32 = -20;

/// The arguments of `sched_setattr`, as of Linux 3.14.
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

/// Makes this thread urgent. Where the system refuses some of it, lateness tells.
pub(crate) fn make_urgent() {
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: 0,
        flags: 0,
        nice: 0,
        priority: 0,
        runtime: SLICE.as_nanos() as u64,
        deadline: 0,
        period: 0,
    };
    #[allow(unsafe_code, reason = "no safe wrapper of this call exists")]
    // SAFETY: the call reads as many bytes as `size` says, which are those of the structure, and keeps no pointer. It changes nothing
    // but when this thread (0) runs; a system that does not know it answers with an error.
    unsafe {
        libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0);
    }
    // Only some users have the right to go first.
    let _ = rustix::process::setpriority_process(None, FIRST);
    // A sleep may end up to 50 us late by the system's leave; this thread wants none.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}
