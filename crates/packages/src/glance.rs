//! Glances at files: their lengths and dates, without reading them.
//!
//! A date tells nothing of a second change within its own step, which is 2 s on some file systems. A file that changed
//! within one step before a glance is not relied upon.

use std::fs::Metadata;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::timeouts::{CLOCK_LAG, DATE_STEP};

/// The length and the dates of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Glance(u64, Change);

/// The dates of a file: nanoseconds since the epoch of the last change of its content and of anything, and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Change(i64, i64, u64);

impl Glance {
    /// Reads the length and the dates from metadata.
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self(metadata.len(), Change::of(metadata))
    }
}

impl Change {
    /// Reads the dates from metadata.
    #[cfg(unix)]
    pub(crate) fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
        Self(
            nanos(metadata.mtime(), metadata.mtime_nsec()),
            nanos(metadata.ctime(), metadata.ctime_nsec()),
            metadata.ino(),
        )
    }

    /// Reads the dates from metadata, without the date of any change and without a number.
    #[cfg(not(unix))]
    pub(crate) fn of(metadata: &Metadata) -> Self {
        let nanos = |time: std::io::Result<SystemTime>| {
            let since = time.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            i64::try_from(since.unwrap_or_default().as_nanos()).unwrap_or(i64::MAX)
        };
        Self(nanos(metadata.modified()), nanos(metadata.created()), 0)
    }

    /// The dates and the number as bytes, to be hashed.
    pub(crate) fn bytes(&self) -> [u8; 24] {
        let mut bytes = [0; 24];
        let (dates, number) = bytes.split_at_mut(16);
        let (modified, changed) = dates.split_at_mut(8);
        modified.copy_from_slice(&self.0.to_le_bytes());
        changed.copy_from_slice(&self.1.to_le_bytes());
        number.copy_from_slice(&self.2.to_le_bytes());
        bytes
    }

    /// True if every change since then has another date.
    pub(crate) fn is_older_than(&self, since: SystemTime) -> bool {
        let since = since.duration_since(UNIX_EPOCH).unwrap_or_default();
        let is_older = |date: i64| {
            let oldest = since.saturating_sub(step(date)).as_nanos();
            u128::try_from(date).map_or(true, |date| date < oldest)
        };
        is_older(self.0) && is_older(self.1)
    }
}

/// How much later a change may be and still have this date. Whole seconds are dates of a system that knows no finer ones;
/// where files may be on any, as on Windows, all count as such.
fn step(date: i64) -> Duration {
    let is_coarse = cfg!(not(unix)) || date % 1_000_000_000 == 0;
    if is_coarse { DATE_STEP } else { CLOCK_LAG }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    #[cfg(unix)]
    fn a_date_is_trusted_when_its_step_is_over() {
        let check = |date: i64, after: Duration, expect: bool| {
            let since = UNIX_EPOCH + Duration::from_nanos(date.unsigned_abs()) + after;
            let old = SECOND + 1;
            assert_eq!(Change(date, old, 1).is_older_than(since), expect, "{date} {after:?}");
            assert_eq!(Change(old, date, 1).is_older_than(since), expect, "{date} {after:?}");
        };
        let (fine, coarse) = (50 * SECOND + 123_456_789, 50 * SECOND);
        for (date, step) in [(fine, CLOCK_LAG), (coarse, DATE_STEP)] {
            check(date, Duration::ZERO, false);
            check(date, step, false);
            check(date, step + Duration::from_nanos(1), true);
        }
    }

    #[test]
    fn what_is_dated_later_is_not_older() {
        assert!(!Change(9 * SECOND + 1, 1, 1).is_older_than(UNIX_EPOCH));
        assert!(Change(-SECOND, -SECOND, 1).is_older_than(UNIX_EPOCH + DATE_STEP));
    }
}
