//! Operations on all branches of a session: reading, forking and abandoning them.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Weak};

use super::SessionError;
use super::digest::SessionDigest;
use super::disk::RealDisk;
use super::entry::{EntryBody, ForkOrigin, SessionEntry, SessionHeader};
use super::id::EntryId;
use super::recover::recover;
use super::relocation::LogSnapshot;
use super::state::{KnownTags, SessionSnapshot, SessionState, SnapshotStorage};
use super::tree::{SessionTree, fold_tags};
use super::watch::SessionWatcher;
use super::{Session, SharedSession, header, store};

impl Session {
    /// Creates a session from the branch that ends with `at`, or with the [leaf](Self::leaf); an empty session without
    /// a leaf. The entries keep their ids, even summarized ones. The fork uses the same clock.
    ///
    /// The fork of a session with a file has its own file, an independent copy that includes unsaved entries. This
    /// session stays open. If the session has no entries or no file yet, the fork's file is created with its first
    /// content. The fork of a session in memory is in memory.
    ///
    /// Blocks the thread while it reads and writes. Entries that are appended meanwhile are not in the copy, and
    /// appending does not wait.
    ///
    /// ```
    /// use haft_core::protocol::content::ContentBlock;
    /// use haft_core::protocol::message::{Message, Rfc3339Time};
    /// use haft_core::session::{Durability, Session};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let said = |text: &str| Message::User { content: vec![ContentBlock::text(text)], time: Rfc3339Time("T".into()) };
    /// let session = Session::in_memory("/srv/app".as_ref());
    /// let first = session.append(said("one"), Durability::Soon).await?;
    /// session.append(said("two"), Durability::Soon).await?;
    ///
    /// let other = session.fork(Some(first))?;
    /// other.append(said("another two"), Durability::Soon).await?;
    /// assert_eq!((other.entries()?.len(), session.entries()?.len()), (2, 2));
    /// assert_eq!(other.header().forked_from.map(|origin| origin.session), Some(session.id()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`SessionError::NoEntry`], [`SessionError::Newer`], [`SessionError::Io`].
    pub fn fork(&self, at: Option<EntryId>) -> Result<Self, SessionError> {
        let whole = self.shared.lock().snapshot();
        let clock = Arc::clone(&self.clock);
        Ok(Self { clock, ..Self::new(whole.fork(at)?) })
    }

    /// Returns every entry of all branches, each after the one that it follows. Blocks the thread while it reads the
    /// file, if not all entries are in memory; does not keep the entries that it read.
    ///
    /// # Errors
    /// [`SessionError::Io`].
    pub fn entries(&self) -> Result<Vec<Arc<SessionEntry>>, SessionError> {
        let whole = self.shared.lock().snapshot();
        whole.entries()
    }

    /// Adds a watcher, which receives all changes after the returned content. The watcher is removed when it is
    /// dropped.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex, Weak};
    ///
    /// use haft_core::session::entry::Name;
    /// use haft_core::session::{Durability, Session, SessionChange, SessionWatcher};
    ///
    /// #[derive(Default)]
    /// struct Copy(Mutex<Vec<SessionChange>>);
    ///
    /// impl SessionWatcher for Copy {
    ///     fn session_changed(&self, change: SessionChange) {
    ///         self.0.lock().unwrap().push(change);
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Session::in_memory("/srv/app".as_ref());
    /// session.append(Name { name: "release".into() }, Durability::Soon).await?;
    /// let copy = Arc::new(Copy::default());
    /// let weak: Weak<Copy> = Arc::downgrade(&copy);
    /// let content = session.watch_changes(weak);
    /// session.append(Name { name: "release 2".into() }, Durability::Soon).await?;
    /// assert_eq!((content.entries()?.len(), copy.0.lock().unwrap().len()), (1, 1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn watch_changes(&self, watcher: Weak<dyn SessionWatcher>) -> WatchedSession {
        let mut state = self.shared.lock();
        state.watchers.add(watcher);
        let rest = state.snapshot();
        WatchedSession { header: rest.header.clone(), leaf: rest.leaf, rest }
    }

    /// Returns the current name, from any branch. Blocks the thread the first time if it has to search the file.
    ///
    /// # Errors
    /// [`SessionError::Io`].
    pub fn name(&self) -> Result<Option<String>, SessionError> {
        let whole = {
            let state = self.shared.lock();
            if let Some(name) = &state.name {
                return Ok(Some(name.clone()).filter(|name| !name.is_empty()));
            }
            state.snapshot()
        };
        let found = whole.name()?;
        // A name that was set meanwhile is newer.
        let name = self.shared.lock().name.get_or_insert(found).clone();
        Ok(Some(name).filter(|name| !name.is_empty()))
    }

    /// Returns the current tags by key, from all branches: the [fold](super::fold_tags) of all `tags` entries. Blocks
    /// the thread the first time if it has to search the file.
    ///
    /// # Errors
    /// [`SessionError::Io`].
    pub fn tags(&self) -> Result<BTreeMap<String, String>, SessionError> {
        let whole = {
            let state = self.shared.lock();
            if let KnownTags::Folded(tags) = &state.tags {
                return Ok(tags.clone());
            }
            state.snapshot()
        };
        let found = whole.read_tags()?;
        Ok(self.shared.lock().tags.resolve(found))
    }

    /// Moves to the root, as [`move_to`](Self::move_to) does. Entries in the file stay, on abandoned branches. A
    /// session in memory drops its entries, because nothing can show them again.
    ///
    /// After the agent [reloads](crate::Agent::reload) the session, it starts with an empty context and [no
    /// usage](crate::Agent::usage), because the usage of abandoned branches does not count. The reload writes pending
    /// entries; reload before `clear` as well, so that they are abandoned too.
    ///
    /// # Errors
    /// Returns no error at present; the result type allows future ones.
    pub fn clear(&self) -> Result<(), SessionError> {
        self.shared.lock().clear();
        Ok(())
    }
}

/// The content of a session when its watcher was added. The watcher receives all later changes.
#[non_exhaustive]
pub struct WatchedSession {
    /// The header.
    pub header: SessionHeader,
    /// The leaf.
    pub leaf: Option<EntryId>,
    rest: SessionSnapshot,
}

impl WatchedSession {
    /// Returns the entries that are in memory, in the order in which they were read or written.
    pub fn entries_in_memory(&self) -> &[Arc<SessionEntry>] {
        &self.rest.entries
    }

    /// Returns every entry of all branches, each after the one that it follows. Blocks the thread while it reads the
    /// file, if not all entries are in memory.
    ///
    /// # Errors
    /// [`SessionError::Io`].
    pub fn entries(self) -> Result<Vec<Arc<SessionEntry>>, SessionError> {
        self.rest.entries()
    }
}

impl fmt::Debug for WatchedSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchedSession").field("header", &self.header).finish_non_exhaustive()
    }
}

impl SharedSession {
    /// Reads the ids of the entries that are only in the file, once, so that a caller's id can be compared with them.
    pub(super) fn read_file_ids(&self) -> Result<(), SessionError> {
        let whole = {
            let state = self.lock();
            if state.knows_all_ids() {
                return Ok(());
            }
            state.snapshot()
        };
        let ids = whole.read_ids()?;
        self.lock().file_ids.get_or_insert(ids);
        Ok(())
    }
}

impl SessionSnapshot {
    fn fork(self, at: Option<EntryId>) -> Result<SessionState, SessionError> {
        let Self { header: old, leaf, entries, home } = self;
        let leaf = at.or(leaf);
        let origin = ForkOrigin { session: old.id, entry: leaf };
        let header = header(Path::new(&old.cwd), Some(origin));
        let beside = |path: &Path| path.with_file_name(header.id.file_name());
        match (home, leaf) {
            (SnapshotStorage::Memory, leaf) => {
                Ok(SessionState::in_memory(header).with_entries(path_to(entries, leaf)?))
            }
            (SnapshotStorage::NotCreated { disk, path }, leaf) => {
                let path = beside(&path);
                Ok(SessionState::not_created(disk, header, path).with_entries(path_to(entries, leaf)?))
            }
            (SnapshotStorage::File { disk, source }, Some(_)) => {
                let (lines, _) = source.lines(&old, &entries)?;
                store::copy_branch(disk, &source.path, &lines, &recover(&lines), &header)
            }
            (SnapshotStorage::File { disk, source }, None) => {
                let path = beside(&source.path);
                Ok(SessionState::not_created(disk, header, path))
            }
            (SnapshotStorage::ReadOnly { path }, leaf) => match (old.newer_version(), leaf) {
                (Some(version), _) => Err(SessionError::Newer { path, version }),
                (None, Some(leaf)) => store::fork_state(&path, Some(leaf)),
                (None, None) => {
                    let path = beside(&path);
                    Ok(SessionState::not_created(Arc::new(RealDisk), header, path))
                }
            },
        }
    }

    /// Returns the digest of the file; `None` if all entries are in memory.
    fn digest(&self) -> Result<Option<SessionDigest>, SessionError> {
        let SnapshotStorage::File { source: LogSnapshot { known: false, path, .. }, .. } = &self.home else {
            return Ok(None);
        };
        let digest = File::open(path).and_then(|file| SessionDigest::read_from(&file));
        digest.map(Some).map_err(|error| SessionError::from_io("read", path, error))
    }

    fn read_tags(self) -> Result<BTreeMap<String, String>, SessionError> {
        let tags = self.digest()?.map(|digest| digest.tags);
        Ok(tags.unwrap_or_else(|| fold_tags(self.entries.iter().map(Arc::as_ref))))
    }

    /// Returns the ids of all lines of the file; an empty set if there is no file to read.
    fn read_ids(&self) -> Result<HashSet<EntryId>, SessionError> {
        match &self.home {
            SnapshotStorage::File { source, .. } => source.read_ids(),
            SnapshotStorage::Memory
            | SnapshotStorage::NotCreated { .. }
            | SnapshotStorage::ReadOnly { .. } => Ok(HashSet::new()),
        }
    }

    /// Returns the newest name; an empty string if there is none.
    fn name(self) -> Result<String, SessionError> {
        if let Some(digest) = self.digest()? {
            return Ok(digest.name.unwrap_or_default());
        }
        let name = |entry: &Arc<SessionEntry>| {
            if let EntryBody::Name(name) = &entry.body { Some(name.name.clone()) } else { None }
        };
        Ok(self.entries.iter().rev().find_map(name).unwrap_or_default())
    }

    fn entries(self) -> Result<Vec<Arc<SessionEntry>>, SessionError> {
        let Self { header, entries, home, .. } = self;
        let SnapshotStorage::File { source: source @ LogSnapshot { known: false, .. }, .. } = home else {
            let tree: SessionTree = entries.into_iter().collect();
            return Ok(tree.parents_first().cloned().collect());
        };
        let (lines, _) = source.lines(&header, &entries)?;
        let tree: SessionTree = entries.into_iter().collect();
        let in_memory = |entry: SessionEntry| tree.get(entry.id).cloned().unwrap_or_else(|| Arc::new(entry));
        Ok(recover(&lines).entries.into_iter().map(in_memory).collect())
    }
}

fn path_to(
    entries: Vec<Arc<SessionEntry>>,
    leaf: Option<EntryId>,
) -> Result<Vec<Arc<SessionEntry>>, SessionError> {
    let tree: SessionTree = entries.into_iter().collect();
    leaf.map_or(Ok(Vec::new()), |leaf| tree.path_to(leaf).map_err(SessionError::NoEntry))
}
