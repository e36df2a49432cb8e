//! The extension's copy of the session.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use haft_protocol::RawJson;
use haft_protocol::ext::{EntriesFrame, StateFrame};
use serde::Deserialize;

/// A copy of the session, which the host keeps up to date. It has the parts that
/// [`Extension::mirror_session`](crate::Extension::mirror_session) names.
///
/// All reads return at once. In the handler of a hook, a tool or a command, and after the result of
/// a call, the copy has everything that the session had at that time; so it has the extension's
/// own entries after the call that appended them.
///
/// ```
/// use haft_sdk::{Extension, Host, MirrorPart, Response};
///
/// let extension = Extension::new("count", "1.0.0")
///     .mirror_session([MirrorPart::Entries, MirrorPart::Model])
///     .command("count", "count the messages", |_, host: Host| async move {
///         let branch = host.session_mirror().current_branch();
///         let messages = branch.iter().filter(|entry| entry.kind == "message").count();
///         let model = host.session_mirror().state().model.clone().unwrap_or_default();
///         Response::display(format!("{messages} messages, next to {model}"))
///     });
/// # drop(extension);
/// ```
#[derive(Debug, Clone, Default)]
pub struct SessionMirror {
    content: Arc<RwLock<MirrorContent>>,
}

/// An entry of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MirroredEntry {
    /// The type of the entry: `message`, `custom`, `label`, … The type `omitted` stands for an entry
    /// that is too long for a frame.
    pub kind: String,
    /// The id of the entry.
    pub id: String,
    /// The entry that this entry follows; `None` for a root.
    pub parent: Option<String>,
    /// The line of the session file, with all fields of the type.
    pub line: RawJson,
}

#[derive(Debug, Default)]
struct MirrorContent {
    state: Arc<StateFrame>,
    header: Option<RawJson>,
    entries: Vec<Arc<MirroredEntry>>,
    by_id: HashMap<String, usize>,
    leaf: Option<String>,
}

/// The fields of each entry.
#[derive(Deserialize)]
struct EntryHead {
    #[serde(rename = "type")]
    kind: String,
    id: String,
    parent: Option<String>,
}

/// The fields of an entry of the type `label`.
#[derive(Deserialize)]
struct LabelEntry {
    target: String,
    label: Option<String>,
}

impl SessionMirror {
    /// Returns the state of the session. Parts that the extension does not mirror are `None`.
    pub fn state(&self) -> Arc<StateFrame> {
        Arc::clone(&self.read().state)
    }

    /// Returns the first line of the session file: id, working directory, time.
    pub fn session_header(&self) -> Option<RawJson> {
        self.read().header.clone()
    }

    /// Returns all entries, of all branches, each behind its parent.
    pub fn entries(&self) -> Vec<Arc<MirroredEntry>> {
        self.read().entries.clone()
    }

    /// Returns an entry.
    pub fn find_entry(&self, id: &str) -> Option<Arc<MirroredEntry>> {
        self.read().get(id).cloned()
    }

    /// Returns the entry that the next entry will follow; `None` at the root.
    pub fn leaf_id(&self) -> Option<String> {
        self.read().leaf.clone()
    }

    /// Returns the entries from the root to the leaf.
    pub fn current_branch(&self) -> Vec<Arc<MirroredEntry>> {
        let content = self.read();
        let mut branch = Vec::new();
        let mut next = content.leaf.as_deref();
        // Each entry is behind its parent, so this ends.
        while let Some(entry) = next.and_then(|id| content.get(id)) {
            branch.push(Arc::clone(entry));
            next = entry.parent.as_deref();
        }
        branch.reverse();
        branch
    }

    /// Returns the label of an entry, if it has one.
    pub fn find_label(&self, id: &str) -> Option<String> {
        let content = self.read();
        let labels = content.entries.iter().rev().filter(|entry| entry.kind == "label");
        let mut labels = labels.filter_map(|entry| entry.line.read::<LabelEntry>().ok());
        labels.find(|label| label.target == id).and_then(|label| label.label)
    }

    pub(crate) fn apply_state(&self, change: StateFrame) {
        let mut content = self.content.write().unwrap_or_else(PoisonError::into_inner);
        let state = Arc::make_mut(&mut content.state);
        let StateFrame { seq, session, provider, model, thinking, busy, queue, context, name, tags, tools } =
            change;
        (state.seq, state.session) = (seq, session);
        replace_if_some(&mut state.provider, provider);
        replace_if_some(&mut state.model, model);
        replace_if_some(&mut state.thinking, thinking);
        replace_if_some(&mut state.busy, busy);
        replace_if_some(&mut state.queue, queue);
        replace_if_some(&mut state.context, context);
        replace_if_some(&mut state.name, name);
        replace_if_some(&mut state.tags, tags);
        replace_if_some(&mut state.tools, tools);
    }

    pub(crate) fn apply_entries(&self, change: EntriesFrame) {
        let mut content = self.content.write().unwrap_or_else(PoisonError::into_inner);
        let content = &mut *content;
        if change.reset {
            content.entries.clear();
            content.by_id.clear();
        }
        replace_if_some(&mut content.header, change.header);
        for line in change.append {
            // A host sends only lines with these fields.
            let Ok(EntryHead { kind, id, parent }) = line.read() else { continue };
            content.by_id.insert(id.clone(), content.entries.len());
            content.entries.push(Arc::new(MirroredEntry { kind, id, parent, line }));
        }
        content.leaf = change.leaf;
    }

    fn read(&self) -> RwLockReadGuard<'_, MirrorContent> {
        self.content.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MirrorContent {
    fn get(&self, id: &str) -> Option<&Arc<MirroredEntry>> {
        self.by_id.get(id).and_then(|&at| self.entries.get(at))
    }
}

fn replace_if_some<T>(old: &mut Option<T>, new: Option<T>) {
    if new.is_some() {
        *old = new;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(json: &str) -> EntriesFrame {
        serde_json::from_str(json).unwrap()
    }

    fn ids(entries: &[Arc<MirroredEntry>]) -> String {
        entries.iter().map(|entry| entry.id.as_str()).collect()
    }

    #[test]
    fn branch_follows_the_leaf() {
        let mirror = SessionMirror::default();
        mirror.apply_entries(entries(
            r#"{"seq":1,"session":"s","reset":true,"header":{"cwd":"/w"},"append":[
                {"type":"message","id":"a","parent":null},{"type":"message","id":"b","parent":"a"},
                {"type":"message","id":"c","parent":"a"}],"leaf":"c"}"#,
        ));
        assert_eq!((ids(&mirror.entries()), ids(&mirror.current_branch())), ("abc".into(), "ac".into()));
        mirror.apply_entries(entries(r#"{"seq":2,"session":"s","append":[],"leaf":"b"}"#));
        assert_eq!((ids(&mirror.current_branch()), mirror.leaf_id().as_deref()), ("ab".into(), Some("b")));
        mirror.apply_entries(entries(r#"{"seq":3,"session":"s","append":[]}"#));
        assert_eq!((ids(&mirror.current_branch()), mirror.leaf_id()), (String::new(), None));
        assert_eq!(mirror.session_header().unwrap().as_str(), r#"{"cwd":"/w"}"#);
        mirror.apply_entries(entries(r#"{"seq":4,"session":"s","reset":true,"append":[]}"#));
        assert_eq!((mirror.entries(), mirror.find_entry("a")), (Vec::new(), None));
    }

    #[test]
    fn last_label_of_an_entry_counts() {
        let mirror = SessionMirror::default();
        let label = |id: &str, label: &str| {
            mirror.apply_entries(entries(&format!(
                r#"{{"seq":1,"session":"s","append":[{{"type":"label","id":"{id}","parent":null,"target":"a"{label}}}]}}"#
            )));
        };
        label("1", r#","label":"start""#);
        assert_eq!((mirror.find_label("a").as_deref(), mirror.find_label("b")), (Some("start"), None));
        label("2", "");
        assert_eq!(mirror.find_label("a"), None);
    }

    #[test]
    fn state_keeps_unchanged_parts() {
        let mirror = SessionMirror::default();
        let first = r#"{"seq":1,"session":"s","busy":false,"name":"bakery"}"#;
        mirror.apply_state(serde_json::from_str(first).unwrap());
        mirror.apply_state(serde_json::from_str(r#"{"seq":2,"session":"s","busy":true}"#).unwrap());
        let state = mirror.state();
        assert_eq!((state.seq, state.busy, state.name.as_deref()), (2, Some(true), Some("bakery")));
    }
}
