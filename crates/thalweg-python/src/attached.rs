//! Threads of ours that call Python often keep Python's state of them.
//!
//! To a thread that is not Python's own each call gives a new state, with memory for frames that the system maps, and takes it away at
//! the end, which costs several times what a short call does.

// No safe wrapper of these calls leaves a thread without Python's lock and with its state.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::ptr::null_mut;
use pyo3::ffi::{
    PyEval_RestoreThread, PyEval_SaveThread, PyGILState_Ensure, PyGILState_GetThisThreadState,
    PyGILState_Release, PyGILState_STATE, PyThreadState,
};
use std::thread::{self, ThreadId};

/// The state of this thread that is kept, and how many want it.
#[derive(Clone, Copy)]
struct State {
    holders: usize,
    before: PyGILState_STATE,
    state: *mut PyThreadState,
}

const NONE: State = State { holders: 0, before: PyGILState_STATE::PyGILState_UNLOCKED, state: null_mut() };

thread_local! {
    static STATE: Cell<State> = const { Cell::new(NONE) };
}

/// Keeps the state of the thread that made it. Where another thread drops it, the state stays until the process ends.
#[derive(Debug)]
pub struct Attached {
    thread: ThreadId,
}

impl Attached {
    /// Keeps the state of this thread, which has not Python's lock now.
    pub fn here() -> Self {
        let mut own = STATE.get();
        // SAFETY: the function looks at this thread alone, and any thread may call it.
        let is_pythons_own = own.holders == 0 && !unsafe { PyGILState_GetThisThreadState() }.is_null();
        if !is_pythons_own {
            if own.holders == 0 {
                // SAFETY: the interpreter runs, as what asked for this call waits for it. The first call makes the state and takes the
                // lock, the second gives the lock back, and the state stays until `drop` does the opposite.
                (own.before, own.state) = unsafe { (PyGILState_Ensure(), PyEval_SaveThread()) };
            }
            own.holders += 1;
            STATE.set(own);
        }
        Self { thread: thread::current().id() }
    }

    /// True on the thread whose state it keeps.
    pub fn is_here(&self) -> bool {
        self.thread == thread::current().id()
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let mut own = STATE.get();
        if !self.is_here() || own.holders == 0 {
            return;
        }
        own.holders -= 1;
        STATE.set(own);
        if own.holders == 0 {
            STATE.set(NONE);
            // SAFETY: both come from `here` on this thread, which has not the lock: what is called with it drops no controller.
            unsafe {
                PyEval_RestoreThread(own.state);
                PyGILState_Release(own.before);
            }
        }
    }
}
