//! Keeps Python's thread state on our threads that call Python often.
//!
//! On a thread that Python did not create, each call creates a new thread state, with frame memory mapped by the
//! system, and destroys it at the end. This costs several times as much as a short call.

// No safe wrapper releases Python's lock while it keeps the thread's state.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::ptr::null_mut;
use pyo3::ffi::{
    PyEval_RestoreThread, PyEval_SaveThread, PyGILState_Ensure, PyGILState_GetThisThreadState,
    PyGILState_Release, PyGILState_STATE, PyThreadState,
};
use std::thread::{self, ThreadId};

/// The kept state of this thread, and its number of holders.
#[derive(Clone, Copy)]
struct State {
    holders: usize,
    state_before: PyGILState_STATE,
    state: *mut PyThreadState,
}

const NONE: State =
    State { holders: 0, state_before: PyGILState_STATE::PyGILState_UNLOCKED, state: null_mut() };

thread_local! {
    static STATE: Cell<State> = const { Cell::new(NONE) };
}

/// Keeps the state of the creating thread. If another thread drops it, the state stays until the process ends.
#[derive(Debug)]
pub struct KeptThreadState {
    thread: ThreadId,
}

impl KeptThreadState {
    /// Keeps the state of this thread, which must not hold Python's lock.
    pub fn here() -> Self {
        let mut kept = STATE.get();
        // SAFETY: the function looks at this thread alone, and any thread may call it.
        let is_python_thread = kept.holders == 0 && !unsafe { PyGILState_GetThisThreadState() }.is_null();
        if !is_python_thread {
            if kept.holders == 0 {
                // SAFETY: the interpreter runs, as the caller waits for this thread. The first call creates the state
                // and takes the lock, the second releases the lock, and the state lives until `drop` reverses both.
                (kept.state_before, kept.state) = unsafe { (PyGILState_Ensure(), PyEval_SaveThread()) };
            }
            kept.holders += 1;
            STATE.set(kept);
        }
        Self { thread: thread::current().id() }
    }

    /// Returns true on the thread that created it.
    pub fn is_here(&self) -> bool {
        self.thread == thread::current().id()
    }
}

impl Drop for KeptThreadState {
    fn drop(&mut self) {
        let mut kept = STATE.get();
        if !self.is_here() || kept.holders == 0 {
            return;
        }
        kept.holders -= 1;
        STATE.set(kept);
        if kept.holders == 0 {
            STATE.set(NONE);
            // SAFETY: both come from `here` on this thread, which does not hold the lock; the calls drop no controller.
            unsafe {
                PyEval_RestoreThread(kept.state);
                PyGILState_Release(kept.state_before);
            }
        }
    }
}
