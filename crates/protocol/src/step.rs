//! The places where a test can end the process, to see what a crash there leaves behind.
//!
//! With the feature `undefended`, which nothing but `haft-faults` asks for, [`stop_at`] names one of them by its number;
//! without it [`step`] does nothing and costs nothing.

/// Something on the disk is about to change.
#[cfg(not(feature = "undefended"))]
#[inline]
pub const fn step() {}

#[cfg(feature = "undefended")]
pub use stops::{step, steps, stop_at};

#[cfg(feature = "undefended")]
mod stops {
    use std::sync::atomic::{AtomicU64, Ordering};

    static TAKEN: AtomicU64 = AtomicU64::new(0);
    static LAST: AtomicU64 = AtomicU64::new(u64::MAX);

    /// Something on the disk is about to change.
    pub fn step() {
        if TAKEN.fetch_add(1, Ordering::Relaxed) + 1 == LAST.load(Ordering::Relaxed) {
            // As a kill would: nothing is tidied up.
            std::process::abort();
        }
    }

    /// Ends the process instead of its next step of this number, counted from 1 in the process's life.
    pub fn stop_at(step: u64) {
        LAST.store(step, Ordering::Relaxed);
    }

    /// How many steps this process has taken.
    pub fn steps() -> u64 {
        TAKEN.load(Ordering::Relaxed)
    }
}
