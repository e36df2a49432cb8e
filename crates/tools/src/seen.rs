//! The files that this session has read: the ground of every change.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

use haft_protocol::defence::{Defence, is_up};

use crate::environment::FileKey;

/// The files that were read or written by the tools that share it, with their content then. It is kept nowhere: whoever
/// takes a session up again has to read again.
#[derive(Debug, Default)]
pub(crate) struct ReadTracker {
    files: Mutex<Vec<TrackedFile>>,
    hasher: ContentHasher,
}

#[derive(Debug)]
struct TrackedFile {
    key: FileKey,
    fingerprint: ContentFingerprint,
}

/// Stands for a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContentFingerprint {
    len: usize,
    hash: u64,
}

/// Makes prints, all of them alike for one session.
#[derive(Debug, Clone, Default)]
pub(crate) struct ContentHasher {
    hasher: RandomState,
}

impl ContentHasher {
    /// Looks at every byte.
    pub(crate) fn fingerprint(&self, content: &[u8]) -> ContentFingerprint {
        ContentFingerprint { len: content.len(), hash: self.hasher.hash_one(content) }
    }
}

/// Why a file must be read before it is changed; completes a sentence that begins with its name.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnreadFileError {
    #[error("has not been read yet; read it before you change it")]
    Never,
    #[error("has changed since it was read; read it again before you change it")]
    Changed,
}

impl ReadTracker {
    pub(crate) fn hasher(&self) -> ContentHasher {
        self.hasher.clone()
    }

    pub(crate) fn note(&self, key: FileKey, content: ContentFingerprint) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        // Another name of the same file, and another file that had the name before, say nothing any more.
        files.retain(|file| file.key.path != key.path && (key.id.is_none() || file.key.id != key.id));
        files.push(TrackedFile { key, fingerprint: content });
    }

    /// Checks that this is the content that was read last. There is nothing to lose in an empty file.
    pub(crate) fn check(&self, key: &FileKey, content: ContentFingerprint) -> Result<(), UnreadFileError> {
        if content.len == 0 || !is_up(Defence::StaleCheck) {
            return Ok(());
        }
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let named = files.iter().find(|file| file.key.path == key.path);
        let same = || files.iter().find(|file| key.id.is_some() && file.key.id == key.id);
        match named.or_else(same) {
            None => Err(UnreadFileError::Never),
            Some(file) if file.fingerprint == content => Ok(()),
            Some(_) => Err(UnreadFileError::Changed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(path: &str, inode: u64) -> FileKey {
        FileKey { path: path.into(), id: Some((1, inode)) }
    }

    #[test]
    fn the_last_content_under_any_name_counts() {
        let seen = ReadTracker::default();
        let print = |content: &str| seen.hasher().fingerprint(content.as_bytes());
        let check = |path, inode, content: &str| seen.check(&key(path, inode), print(content));
        assert_eq!(check("a", 1, "one"), Err(UnreadFileError::Never));
        assert_eq!(check("a", 1, ""), Ok(()));
        seen.note(key("a", 1), print("one"));
        assert_eq!(check("a", 1, "one"), Ok(()));
        assert_eq!(check("hard link", 1, "one"), Ok(()));
        assert_eq!(check("a", 1, "two"), Err(UnreadFileError::Changed));
        // An editor saved the same again.
        assert_eq!(check("a", 2, "one"), Ok(()));
        // The session wrote it, and somebody took that back; the old number may be used again.
        seen.note(key("a", 3), print("two"));
        assert_eq!(check("a", 1, "one"), Err(UnreadFileError::Changed));
        // Changed under the other name.
        seen.note(key("hard link", 3), print("three"));
        assert_eq!(check("a", 3, "three"), Ok(()));
        // Two files change places.
        seen.note(key("b", 4), print("four"));
        assert_eq!(check("b", 3, "three"), Err(UnreadFileError::Changed));
    }
}
