//! How many bytes a piece of work asks the allocator for.

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Does the work, which may allocate at most `limit` bytes, those it frees again included.
#[track_caller]
pub(crate) fn within<T>(limit: usize, work: impl FnOnce() -> T) -> T {
    let region = Region::new(ALLOCATOR);
    let value = work();
    let used = region.change().bytes_allocated;
    assert!(used <= limit, "{used} bytes were allocated; {limit} had to do");
    value
}
