//! Glances at files: their lengths and dates, without reading them.
//!
//! A date tells nothing of a second change within its own step, which is 2 s on some file systems. A file that changed
//! within one step before a glance is not relied upon.

use std::fs::Metadata;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::timeouts::{CLOCK_LAG, DATE_STEP};

/// The length, the dates and the number of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    len: u64,
    /// When its content was last changed, in nanoseconds since the epoch.
    modified: i64,
    /// When anything of it was last changed; where the system does not say, when it was made.
    changed: i64,
    /// Its number in the file system; 0 where there is none.
    number: u64,
}

impl FileStamp {
    #[cfg(unix)]
    pub(crate) fn from_metadata(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
        Self {
            len: metadata.len(),
            modified: nanos(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanos(metadata.ctime(), metadata.ctime_nsec()),
            number: metadata.ino(),
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn from_metadata(metadata: &Metadata) -> Self {
        let nanos = |time: std::io::Result<SystemTime>| {
            let since = time.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            i64::try_from(since.unwrap_or_default().as_nanos()).unwrap_or(i64::MAX)
        };
        let (modified, changed) = (nanos(metadata.modified()), nanos(metadata.created()));
        Self { len: metadata.len(), modified, changed, number: 0 }
    }

    /// All of it as bytes, to be hashed.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let Self { len, modified, changed, number } = self;
        [len.to_le_bytes(), modified.to_le_bytes(), changed.to_le_bytes(), number.to_le_bytes()].concat()
    }

    /// True if every change since then has another date.
    pub(crate) fn is_older_than(&self, since: SystemTime) -> bool {
        let since = since.duration_since(UNIX_EPOCH).unwrap_or_default();
        let is_older = |date: i64| {
            let oldest = since.saturating_sub(date_resolution(date)).as_nanos();
            u128::try_from(date).map_or(true, |date| date < oldest)
        };
        is_older(self.modified) && is_older(self.changed)
    }
}

/// Returns the time that a later change may have and still show this date. Whole seconds are dates of a system that
/// knows no finer ones; where files may be on any, as on Windows, all count as such.
fn date_resolution(date: i64) -> Duration {
    let is_coarse = cfg!(not(unix)) || date % 1_000_000_000 == 0;
    if is_coarse { DATE_STEP } else { CLOCK_LAG }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn dated(modified: i64, changed: i64) -> FileStamp {
        FileStamp { len: 0, modified, changed, number: 1 }
    }

    #[test]
    #[cfg(unix)]
    fn a_date_is_trusted_when_its_step_is_over() {
        let check = |date: i64, after: Duration, expect: bool| {
            let since = UNIX_EPOCH + Duration::from_nanos(date.unsigned_abs()) + after;
            let old = SECOND + 1;
            assert_eq!(dated(date, old).is_older_than(since), expect, "{date} {after:?}");
            assert_eq!(dated(old, date).is_older_than(since), expect, "{date} {after:?}");
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
        assert!(!dated(9 * SECOND + 1, 1).is_older_than(UNIX_EPOCH));
        assert!(dated(-SECOND, -SECOND).is_older_than(UNIX_EPOCH + DATE_STEP));
    }
}
