//! Limits the bytes that a piece of work requests from the allocator, or has at the same time.

/// Runs the work and returns its value. Counts all bytes that the current thread allocates, even if it frees them.
///
/// # Panics
/// If the work allocates more than `limit` bytes.
#[track_caller]
pub(crate) fn run_limited<T>(limit: usize, work: impl FnOnce() -> T) -> T {
    let mut value = None;
    let used = allocation_counter::measure(|| value = Some(work())).bytes_total;
    assert!(used <= limit as u64, "{used} bytes were allocated, more than the limit of {limit}");
    value.expect("`measure` runs the work")
}

/// Runs the work and returns its value. Counts the bytes that the current thread has at the same time.
///
/// # Panics
/// If the work has more than `limit` bytes at any time.
#[track_caller]
pub(crate) fn run_at_most<T>(limit: usize, work: impl FnOnce() -> T) -> T {
    let mut value = None;
    let used = allocation_counter::measure(|| value = Some(work())).bytes_max;
    assert!(used <= limit as u64, "{used} bytes were in use, more than the limit of {limit}");
    value.expect("`measure` runs the work")
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn work_within_the_limit_returns_its_value() {
        assert_eq!(run_limited(100, || black_box(vec![7_u8; 100])), vec![7; 100]);
    }

    #[test]
    #[should_panic(expected = "1010 bytes were allocated, more than the limit of 1009")]
    fn freed_bytes_count() {
        run_limited(1009, || (0..101).for_each(|_| drop(black_box(vec![0_u8; 10]))));
    }

    #[test]
    fn freed_bytes_do_not_count_as_used() {
        run_at_most(10, || (0..101).for_each(|_| drop(black_box(vec![0_u8; 10]))));
    }

    #[test]
    #[should_panic(expected = "20 bytes were in use, more than the limit of 19")]
    fn bytes_in_use_count() {
        run_at_most(19, || black_box([vec![0_u8; 10], vec![0_u8; 10]]).len());
    }

    #[test]
    fn other_threads_do_not_count() {
        let (allocate, requests) = std::sync::mpsc::sync_channel(0);
        let (done, results) = std::sync::mpsc::sync_channel(0);
        let other = std::thread::spawn(move || {
            for size in requests {
                done.send(black_box(vec![0_u8; size]).len()).unwrap();
            }
        });
        // Blocking on a channel allocates a little on this thread, far less than the other thread.
        let size = run_limited(64 * 1024, || {
            allocate.send(1 << 20).unwrap();
            results.recv().unwrap()
        });
        assert_eq!(size, 1 << 20);
        drop(allocate);
        other.join().unwrap();
    }
}
