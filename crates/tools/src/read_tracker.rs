//! The record of files that this session has read, which is required for changes.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Mutex, PoisonError};

use haft_protocol::defense::{Defense, is_up};

use crate::environment::FileKey;

/// The files that the sharing tools have read or written, with their content at that time. It is not stored: a
/// resumed session must read files again.
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

/// The fingerprint of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ContentFingerprint {
    len: usize,
    hash: u64,
}

/// Creates fingerprints that are comparable within a session.
#[derive(Debug, Clone, Default)]
pub(crate) struct ContentHasher {
    hasher: RandomState,
}

impl ContentHasher {
    /// Returns the fingerprint of all bytes.
    pub(crate) fn fingerprint(&self, content: &[u8]) -> ContentFingerprint {
        ContentFingerprint { len: content.len(), hash: self.digest_value(content) }
    }

    /// Returns the digest of any value.
    pub(crate) fn digest_value(&self, value: impl Hash) -> u64 {
        self.hasher.hash_one(value)
    }
}

/// The reason why a file must be read before a change. The text continues a sentence after the file's name.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnreadFileError {
    #[error("has not been read yet; read it before changing it")]
    Never,
    #[error("has changed since it was read; read it again before changing it")]
    Changed,
}

impl ReadTracker {
    pub(crate) fn hasher(&self) -> ContentHasher {
        self.hasher.clone()
    }

    pub(crate) fn note(&self, key: FileKey, content: ContentFingerprint) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        // Entries for the same file under another name, and for another file with the same name, are outdated.
        files.retain(|file| file.key.path != key.path && (key.id.is_none() || file.key.id != key.id));
        files.push(TrackedFile { key, fingerprint: content });
    }

    /// Checks that this is the content that was last read. An empty file need not be read.
    pub(crate) fn check(&self, key: &FileKey, content: ContentFingerprint) -> Result<(), UnreadFileError> {
        if content.len == 0 || !is_up(Defense::StaleCheck) {
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
    fn last_content_under_any_name_counts() {
        let seen = ReadTracker::default();
        let print = |content: &str| seen.hasher().fingerprint(content.as_bytes());
        let check = |path, inode, content: &str| seen.check(&key(path, inode), print(content));
        assert_eq!(check("a", 1, "one"), Err(UnreadFileError::Never));
        assert_eq!(check("a", 1, ""), Ok(()));
        seen.note(key("a", 1), print("one"));
        assert_eq!(check("a", 1, "one"), Ok(()));
        assert_eq!(check("hard link", 1, "one"), Ok(()));
        assert_eq!(check("a", 1, "two"), Err(UnreadFileError::Changed));
        // An editor saved the same content again.
        assert_eq!(check("a", 2, "one"), Ok(()));
        // The session wrote it, another program reverted it, and the old inode number was used again.
        seen.note(key("a", 3), print("two"));
        assert_eq!(check("a", 1, "one"), Err(UnreadFileError::Changed));
        // Changed under the other name.
        seen.note(key("hard link", 3), print("three"));
        assert_eq!(check("a", 3, "three"), Ok(()));
        // Two files swap their names.
        seen.note(key("b", 4), print("four"));
        assert_eq!(check("b", 3, "three"), Err(UnreadFileError::Changed));
    }
}
