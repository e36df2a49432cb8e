//! The memory of this process as its allocator counts it: exact bytes, independent of freed memory that the allocator
//! keeps.

use std::alloc::System;

use anyhow::{Result, ensure};
use cap::Cap;

/// Counts every allocation of this process.
#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

/// Returns the allocated bytes.
pub(crate) fn live_bytes() -> usize {
    HEAP.allocated()
}

/// Returns the largest number of bytes allocated at one time.
pub(crate) fn peak_bytes() -> usize {
    HEAP.max_allocated()
}

/// The growth of the allocated bytes over rounds of the same work. The first round is not counted, because it includes
/// one-time allocations.
pub(crate) struct HeapGrowth {
    after_first: usize,
}

impl HeapGrowth {
    /// Records the size after the first round.
    pub(crate) fn after_first_round() -> Self {
        Self { after_first: live_bytes() }
    }

    /// Fails if `rounds` more rounds have added more than `each` bytes per round.
    pub(crate) fn check(&self, rounds: u64, each: u64) -> Result<()> {
        let grown = live_bytes().saturating_sub(self.after_first) as u64;
        ensure!(
            grown < rounds * each,
            "after the first round, the heap grew by {grown} bytes in {rounds} more rounds, more than {each} in each"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_growth_after_first_round() {
        let growth = HeapGrowth::after_first_round();
        growth.check(2, 4 << 20).unwrap();
        let kept = vec![1_u8; 16 << 20];
        let error = growth.check(2, 4 << 20).unwrap_err().to_string();
        assert!(error.contains("in 2 more rounds"), "{error}");
        assert_eq!(kept.last(), Some(&1));
    }

    #[test]
    fn peak_remains_when_memory_is_freed() {
        let size = 16 << 20;
        let before = live_bytes();
        drop(vec![1_u8; size]);
        assert!(peak_bytes() >= before.min(live_bytes()) + size);
    }
}
