//! Watchdog of stacks: ends the process if a call of a stack does not return.
//!
//! Nothing in this process can end a call that loops forever. A thread watches all calls; if one takes longer than
//! [`call_limit`], it reports the stack and the simulated time, and ends the process with [`EXIT_CODE`]. What was written before,
//! such as the completed runs of a sweep, is kept.

use core::cell::RefCell;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, Once, PoisonError, Weak};
use std::time::Duration;
use thalweg_proto::units::Time;

/// Exit code after a call that did not return.
pub const EXIT_CODE: i32 = 2;

/// Environment variable with the maximum duration of a call, in seconds of real time.
pub const CALL_LIMIT_VARIABLE: &str = "THALWEG_STACK_CALL_LIMIT";

/// Interval between two observations of a call.
const INTERVAL: Duration = Duration::from_millis(250);

/// Returns the maximum duration of a call in real time: 60 s, or the value of [`CALL_LIMIT_VARIABLE`].
pub fn call_limit() -> Duration {
    let seconds = std::env::var(CALL_LIMIT_VARIABLE).ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(60))
}

/// The calls of one thread.
#[derive(Debug, Default)]
struct Calls {
    /// Number of entries and returns: odd during a call.
    count: AtomicU64,
    /// Stack and simulated time of the latest call.
    stack: AtomicU32,
    at: AtomicU64,
}

static THREADS: Mutex<Vec<Weak<Calls>>> = Mutex::new(Vec::new());
static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
static WATCHDOG_STARTED: Once = Once::new();
static LIMIT: LazyLock<Duration> = LazyLock::new(call_limit);

thread_local! {
    static THREAD_CALLS: RefCell<Arc<Calls>> = RefCell::new({
        let calls = Arc::new(Calls::default());
        let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|calls| calls.strong_count() > 0);
        threads.push(Arc::downgrade(&calls));
        calls
    });
}

/// A stack for [`guard_call`], by its position among all names.
#[derive(Clone, Copy, Debug)]
pub struct StackId(u32);

impl StackId {
    /// Registers a stack by its name, and starts the thread that watches calls.
    pub fn new(name: &'static str) -> Self {
        WATCHDOG_STARTED.call_once(|| {
            // Without a thread, a call that does not return is not reported.
            let _ = std::thread::Builder::new().name("stack calls".to_owned()).spawn(watch_calls);
        });
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        let place = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        });
        // There are as many names as schemes.
        Self(place as u32)
    }
}

/// Ends a call, also after a panic.
struct Return<'a>(&'a Calls);

impl Drop for Return<'_> {
    fn drop(&mut self) {
        self.0.count.fetch_add(1, Ordering::Release);
    }
}

/// Makes a call of a stack.
pub fn guard_call<R>(stack: StackId, now: Time, call: impl FnOnce() -> R) -> R {
    THREAD_CALLS.with_borrow(|own| {
        own.stack.store(stack.0, Ordering::Relaxed);
        own.at.store(now.as_picos(), Ordering::Relaxed);
        own.count.fetch_add(1, Ordering::Release);
        let _return = Return(own);
        call()
    })
}

/// Observes all calls until one exceeds the limit.
fn watch_calls() {
    // Intervals are counted, not time: a stopped process does not exceed the limit.
    let max = LIMIT.as_millis() / INTERVAL.as_millis();
    let mut seen: Vec<(Weak<Calls>, u64, u128)> = Vec::new();
    loop {
        std::thread::sleep(INTERVAL);
        let threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut next = Vec::with_capacity(threads.len());
        for weak in threads {
            let Some(calls) = weak.upgrade() else { continue };
            let count = calls.count.load(Ordering::Acquire);
            let before = seen.iter().find(|(other, ..)| other.ptr_eq(&weak));
            let intervals = before.filter(|(_, last, _)| *last == count).map_or(0, |(.., times)| times + 1);
            if !count.is_multiple_of(2) && intervals >= max {
                abort_with_report(&calls);
            }
            next.push((weak, count, intervals));
        }
        seen = next;
    }
}

fn abort_with_report(calls: &Calls) -> ! {
    let names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let name = names.get(calls.stack.load(Ordering::Relaxed) as usize).copied().unwrap_or_default();
    let at = Time::from_picos(calls.at.load(Ordering::Relaxed));
    eprintln!("error: at {at}: a call of the stack `{name}` has not returned for {} s", LIMIT.as_secs());
    std::process::exit(EXIT_CODE);
}
