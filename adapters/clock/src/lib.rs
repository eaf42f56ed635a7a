//! Simulated time for stacks that read the system's clock, and random numbers for those with BoringSSL.
//!
//! Such stacks take neither as an argument. This crate defines the C functions `clock_gettime`, which the standard library
//! calls for [`Instant::now`] and [`SystemTime::now`](std::time::SystemTime::now), and `RAND_bytes`, from which BoringSSL
//! and its users draw. A program that contains the crate has these definitions in place of those of libc and BoringSSL.
//! Within [`with_simulated_clock`], the clocks of this thread stand at the simulated time; elsewhere they are those of the system. Random
//! numbers come from the running connection, if there is one ([`thalweg_stack_random`]).
//!
//! It needs a dynamic libc (`RTLD_NEXT`), as on GNU/Linux. The build fails on other systems.

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
compile_error!(
    "clock_gettime can only be replaced with a dynamic libc: build for a target like x86_64-unknown-linux-gnu"
);

use core::cell::Cell;
use core::sync::atomic::{AtomicUsize, Ordering};
use libc::{c_int, clockid_t, timespec};
use std::fs::File;
use std::io::Read as _;
use std::sync::LazyLock;
use std::time::Instant;
use thalweg_proto::units::Time;

/// Monotonic time and calendar time at the start of the simulation, in seconds. They leave room for instants before it.
const MONOTONIC_START: i64 = 1_000_000;
const CALENDAR_START: i64 = 1_800_000_000;

/// Picoseconds of a nanosecond, and nanoseconds of a second.
const PICOS_PER_NANO: u64 = 1000;
const NANOS: u64 = 1_000_000_000;

thread_local! {
    /// Simulated time in nanoseconds; `None` outside of [`with_simulated_clock`].
    static NOW: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Restores the clock, also after a panic.
struct Restore(Option<u64>);

impl Drop for Restore {
    fn drop(&mut self) {
        NOW.set(self.0);
    }
}

/// Runs `act` with the clocks of this thread at a simulated time, rounded down to nanoseconds.
pub fn with_simulated_clock<R>(now: Time, act: impl FnOnce() -> R) -> R {
    let _restore = Restore(NOW.replace(Some(now.as_picos() / PICOS_PER_NANO)));
    act()
}

/// Returns the simulated time of an instant read within [`with_simulated_clock`].
pub fn simulated_time_of(instant: Instant) -> Time {
    static START: LazyLock<Instant> = LazyLock::new(|| with_simulated_clock(Time::ZERO, Instant::now));
    let nanos = instant.saturating_duration_since(*START).as_nanos();
    Time::from_picos(u64::try_from(nanos * u128::from(PICOS_PER_NANO)).unwrap_or(u64::MAX))
}

/// Reads a clock: the simulated time within [`with_simulated_clock`], and the system's elsewhere.
///
/// # Safety
///
/// As for the function of libc that it replaces: `to` is valid for writes, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: clockid_t, to: *mut timespec) -> c_int {
    let start = match clock {
        libc::CLOCK_MONOTONIC
        | libc::CLOCK_MONOTONIC_RAW
        | libc::CLOCK_MONOTONIC_COARSE
        | libc::CLOCK_BOOTTIME => MONOTONIC_START,
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE => CALENDAR_START,
        // Processor times.
        _ => return unsafe { system_clock(clock, to) },
    };
    let Some(now) = NOW.get() else { return unsafe { system_clock(clock, to) } };
    if !to.is_null() {
        let (seconds, nanos) = ((now / NANOS).cast_signed(), (now % NANOS).cast_signed());
        // Safety: the caller provides a valid pointer.
        unsafe { to.write(timespec { tv_sec: start + seconds, tv_nsec: nanos }) };
    }
    0
}

/// Calls the function of libc.
///
/// # Safety
///
/// As for that function.
unsafe fn system_clock(clock: clockid_t, to: *mut timespec) -> c_int {
    static SYSTEM: AtomicUsize = AtomicUsize::new(0);
    let mut address = SYSTEM.load(Ordering::Relaxed);
    if address == 0 {
        // Safety: the name ends with a zero.
        address = unsafe { libc::dlsym(libc::RTLD_NEXT, c"clock_gettime".as_ptr()) } as usize;
        if address == 0 {
            return -1;
        }
        SYSTEM.store(address, Ordering::Relaxed);
    }
    // Safety: libc's function of that name has this type, and the caller's arguments are valid.
    unsafe {
        let system: unsafe extern "C" fn(clockid_t, *mut timespec) -> c_int = core::mem::transmute(address);
        system(clock, to)
    }
}

/// Fills memory with random numbers: those of the running connection, and the system's elsewhere. Returns 1.
///
/// # Safety
///
/// As for the function of BoringSSL that it replaces: `to` is valid for writes of `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn RAND_bytes(to: *mut u8, length: usize) -> c_int {
    if length == 0 {
        return 1;
    }
    // Safety: the caller provides valid memory.
    unsafe { to.write_bytes(0, length) };
    // Safety: the memory is valid and initialised.
    let bytes = unsafe { core::slice::from_raw_parts_mut(to, length) };
    if !thalweg_stack_random::fill_random(bytes) {
        // BoringSSL aborts too, as programs do not check.
        let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(bytes));
        if read.is_err() {
            std::process::abort();
        }
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    #[test]
    fn clocks_stand_at_the_simulated_time_within_a_call() {
        let at = |millis: u64| Time::from_picos(millis * 1_000_000_000);
        let [zero, later] = [0, 1500].map(|millis| with_simulated_clock(at(millis), Instant::now));
        assert_eq!(later - zero, Duration::from_millis(1500));
        assert_eq!((simulated_time_of(zero), simulated_time_of(later)), (at(0), at(1500)));
        let calendar =
            with_simulated_clock(at(2000), SystemTime::now).duration_since(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(calendar, Duration::from_secs(1_800_000_002));
        // Nested calls and panics restore the clock.
        let caught = std::panic::catch_unwind(|| with_simulated_clock(at(5), || panic!("as a stack may")));
        assert!(caught.is_err());
        let before = Instant::now();
        std::thread::sleep(Duration::from_millis(5));
        assert!(before.elapsed() >= Duration::from_millis(5));
    }

    #[test]
    fn random_numbers_are_those_of_the_connection() {
        let draw = || {
            let mut bytes = [0; 32];
            // Safety: the array has that length.
            assert_eq!(unsafe { RAND_bytes(bytes.as_mut_ptr(), bytes.len()) }, 1);
            bytes
        };
        let seeded =
            || thalweg_stack_random::with_generator(&mut thalweg_stack_random::Generator::new(7), draw);
        assert_eq!(seeded(), seeded());
        assert_ne!(draw(), draw());
    }
}
