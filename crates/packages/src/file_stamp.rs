//! Metadata of files: lengths and timestamps, compared to notice changes without reading the files.
//!
//! A timestamp does not change when a file changes twice within the resolution of the clock, which is 2 s on some
//! file systems. A file that changed that recently is not trusted.

use std::fs::Metadata;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::timeouts::{CLOCK_LAG, DATE_STEP};

/// The length, the timestamps and the inode number of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    len: u64,
    /// The time of the last change of the content, in nanoseconds since the epoch.
    modified: i64,
    /// The time of the last change of content or metadata; the creation time on systems without it.
    changed: i64,
    /// The inode number, or 0 on systems without it.
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

    /// Returns all fields as bytes, to be hashed.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let Self { len, modified, changed, number } = self;
        [len.to_le_bytes(), modified.to_le_bytes(), changed.to_le_bytes(), number.to_le_bytes()].concat()
    }

    /// True if every change after `since` gets another timestamp.
    pub(crate) fn is_older_than(&self, since: SystemTime) -> bool {
        let since = since.duration_since(UNIX_EPOCH).unwrap_or_default();
        let is_older = |date: i64| {
            let oldest = since.saturating_sub(date_resolution(date)).as_nanos();
            u128::try_from(date).map_or(true, |date| date < oldest)
        };
        is_older(self.modified) && is_older(self.changed)
    }
}

/// Returns the clock resolution that a timestamp suggests. A timestamp in whole seconds may come from a file system
/// with a coarse clock. On Windows, all timestamps are treated as such.
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
    fn trusts_timestamp_after_clock_step() {
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
    fn later_timestamp_is_not_older() {
        assert!(!dated(9 * SECOND + 1, 1).is_older_than(UNIX_EPOCH));
        assert!(dated(-SECOND, -SECOND).is_older_than(UNIX_EPOCH + DATE_STEP));
    }
}
