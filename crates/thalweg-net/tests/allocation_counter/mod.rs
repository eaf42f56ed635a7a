//! Allocation counter of a process, for tests with a separate process.
#![allow(dead_code, reason = "not every test uses all of it")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// System allocator with counters of calls and of held bytes.
struct CountingAllocator;

pub static CALLS: AtomicU64 = AtomicU64::new(0);
pub static HELD_BYTES: AtomicI64 = AtomicI64::new(0);

#[expect(unsafe_code, reason = "there is no safe way to count allocations; all is passed on as it is")]
// SAFETY: every call goes to the system's allocator with the same arguments.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        HELD_BYTES.fetch_add(layout.size() as i64, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD_BYTES.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }

    // The default `realloc` calls `alloc` and `dealloc`, so growth is counted too.
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Returns the number of allocated bytes.
pub fn allocated_bytes() -> i64 {
    HELD_BYTES.load(Ordering::Relaxed)
}
