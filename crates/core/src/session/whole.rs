//! A session with all its branches: reading them, copying one of them into a session of its own, leaving them.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use super::SessionError;
use super::disk::RealDisk;
use super::entry::{EntryBody, ForkOrigin, SessionEntry};
use super::id::EntryId;
use super::moving::LogSnapshot;
use super::recover::recover;
use super::state::{SessionSnapshot, SessionState, SnapshotStorage};
use super::survey::SessionDigest;
use super::tree::SessionTree;
use super::{Session, header, store};

impl Session {
    /// A new session with the branch that ends with `at`, or with the [leaf](Self::leaf); an empty one if there is no
    /// leaf. It has the entries under their names, summed up or not, and the clock of this one.
    ///
    /// Beside a file there is a new file, which is a copy: what happens to one session does not happen to the other, and
    /// this one stays open. What waits to be written is in the copy. Beside a session without entries, or without a file
    /// so far, the file will be made when there is something to keep. One in memory gives one in memory.
    ///
    /// Blocks the thread while it reads and writes; whoever appends meanwhile does not wait for it, and is not in the copy.
    ///
    /// ```
    /// use haft_core::protocol::content::Content;
    /// use haft_core::protocol::message::{Message, Time};
    /// use haft_core::session::{Durability, Session};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let said = |text: &str| Message::User { content: vec![Content::text(text)], time: Time("T".into()) };
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

    /// Every entry with all branches, each behind the one that it follows. Blocks the thread while it reads the file, if
    /// not all of it is in memory; what it read is not kept there.
    ///
    /// # Errors
    /// [`SessionError::Io`].
    pub fn entries(&self) -> Result<Vec<Arc<SessionEntry>>, SessionError> {
        let whole = self.shared.lock().snapshot();
        whole.entries()
    }

    /// The name that it was last given, on whichever branch. Blocks the thread the first time, while it looks through the
    /// file, if not all of it is in memory.
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
        // Whoever named it meanwhile was later.
        let name = self.shared.lock().name.get_or_insert(found).clone();
        Ok(Some(name).filter(|name| !name.is_empty()))
    }

    /// Goes on from the root, as [`move_to`](Self::move_to) does. What was said stays in the file, on branches that were
    /// left. A session in memory forgets it: nothing can ever show it again.
    ///
    /// Whether it has a file or not: once the agent [reloads](crate::Agent::reload) the session it begins anew, with an
    /// empty context and [nothing used](crate::Agent::usage), since what branches used that were left does not count. What
    /// the agent could not write yet it writes when it reloads: have it reload before, too, so that this is left as well.
    ///
    /// # Errors
    /// None so far: kept, so that no caller has to assume it.
    pub fn clear(&self) -> Result<(), SessionError> {
        self.shared.lock().clear();
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

    /// The newest name; an empty one if there is none.
    fn name(self) -> Result<String, SessionError> {
        if let SnapshotStorage::File { source: LogSnapshot { known: false, path, .. }, .. } = &self.home {
            let survey = File::open(path).and_then(|file| SessionDigest::read_from(&file));
            let survey = survey.map_err(|error| SessionError::from_io("read", path, error))?;
            return Ok(survey.name.unwrap_or_default());
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
