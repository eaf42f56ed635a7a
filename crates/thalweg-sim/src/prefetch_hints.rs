//! Prefetch hints to the processor.

const CACHE_LINE_BYTES: usize = 64;

/// Prefetches the cache line in which `value` starts, without waiting for it.
///
/// A network of ten thousand flows does not fit into the cache, hence a packet's next step finds none of its data
/// there. Prefetching overlaps these cache misses with work; plain reads instead stall as soon as the processor runs
/// out of independent instructions.
#[inline(always)]
pub(crate) fn prefetch_cache_line<T>(value: &T) {
    prefetch_at(core::ptr::from_ref(value).cast());
}

/// Prefetches all cache lines of `value`.
#[inline(always)]
pub(crate) fn prefetch_all<T>(value: &T) {
    let start: *const u8 = core::ptr::from_ref(value).cast();
    for offset in (0..size_of::<T>()).step_by(CACHE_LINE_BYTES) {
        prefetch_at(start.wrapping_add(offset));
    }
}

/// Prefetches the cache line with `address`.
#[inline(always)]
pub(crate) fn prefetch_at(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "no safe form of this exists")]
    // SAFETY: a prefetch reads nothing that the program can see and never faults, whatever the address.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
