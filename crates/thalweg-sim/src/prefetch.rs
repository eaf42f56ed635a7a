//! A hint to the processor.

/// Asks for the cache line in which `value` starts, without waiting for it.
///
/// A network of ten thousand flows does not fit into the cache, and nothing of a packet's next step is there when its
/// turn comes. Asking ahead, for many packets at once, lets the waits overlap; plain reads in its place stall as soon
/// as the processor runs out of instructions that do not depend on them (measured: see `docs/speed.md`).
#[inline(always)]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "there is no safe way to say this")]
    // SAFETY: a prefetch reads nothing that the program can see and never faults; the address is a reference's.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(value).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
