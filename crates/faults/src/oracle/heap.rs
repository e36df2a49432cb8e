//! Memory of this process as its allocator counts it: exact bytes, whatever the system's allocator keeps of freed ones.

use std::alloc::System;

use anyhow::{Result, ensure};
use cap::Cap;

/// Counts every allocation of this process.
#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

/// Bytes that are allocated now.
pub(crate) fn live_bytes() -> usize {
    HEAP.allocated()
}

/// Most bytes that were ever allocated at the same time.
pub(crate) fn peak_bytes() -> usize {
    HEAP.max_allocated()
}

/// Growth of this process's live bytes over rounds of the same work. The first round is not counted: it pays for
/// everything that is made once.
pub(crate) struct HeapGrowth {
    after_first: usize,
}

impl HeapGrowth {
    /// Takes the size to compare with, after the first round.
    pub(crate) fn after_first_round() -> Self {
        Self { after_first: live_bytes() }
    }

    /// Fails if `rounds` further ones have added more than `each` bytes per round.
    pub(crate) fn check(&self, rounds: u64, each: u64) -> Result<()> {
        let grown = live_bytes().saturating_sub(self.after_first) as u64;
        ensure!(
            grown < rounds * each,
            "after the first round the heap grew by {grown} bytes in {rounds} further ones, more than {each} each"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_further_rounds_keep_is_noticed() {
        let growth = HeapGrowth::after_first_round();
        growth.check(2, 4 << 20).unwrap();
        let kept = vec![1_u8; 16 << 20];
        let error = growth.check(2, 4 << 20).unwrap_err().to_string();
        assert!(error.contains("in 2 further ones"), "{error}");
        assert_eq!(kept.last(), Some(&1));
    }

    #[test]
    fn the_peak_stays_when_memory_is_freed() {
        let size = 16 << 20;
        let before = live_bytes();
        drop(vec![1_u8; size]);
        assert!(peak_bytes() >= before.min(live_bytes()) + size);
    }
}
