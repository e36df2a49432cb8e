//! Tests that random sequences of entries are read as they were written, in every file that the session had.

use std::collections::BTreeMap;
use std::path::Path;

use futures::executor::block_on;
use haft_protocol::RawJson;
use haft_protocol::content::ContentBlock;
use haft_protocol::message::{Message, Rfc3339Time};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

use crate::session::entry::*;
use crate::session::store::{self, SessionStore};
use crate::session::{Durability, EntryId, Session, SessionError, fold_tags};

fn time() -> Rfc3339Time {
    Rfc3339Time("2026-01-02T03:04:05.678Z".to_owned())
}

/// An operation on a session.
#[derive(Debug, Clone)]
enum Step {
    /// Appends an entry, with a small number as id or with a random id.
    Append(EntryBody, Option<u8>),
    /// Deletes the file, so that the session continues in another one, and appends an entry.
    Lose(EntryBody),
    /// Moves to one of the entries.
    Move(prop::sample::Index),
    Clear,
    ReadTags,
    /// Closes the session and opens its file again.
    Reopen,
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        // Looks like a field of another entry.
        Just(serde_json::json!({"x": 1, "answer": {"usage": {"input": 7}}, "type": "tags", "id": "0"})),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(any::<String>(), inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

fn raw_json() -> impl Strategy<Value = RawJson> {
    json().prop_map(|value| RawJson::from_value(&value).unwrap())
}

fn tags() -> impl Strategy<Value = Tags> {
    let key = prop_oneof![3 => "[a-d]", 1 => any::<String>()];
    let tags = btree_map(key, option::weighted(0.7, any::<String>()), 0..4);
    (tags, prop::bool::weighted(0.1)).prop_map(|(tags, replace)| Tags { tags, replace })
}

fn custom_message() -> impl Strategy<Value = CustomMessage> {
    let details = option::of(raw_json().prop_filter("is read as none", |json| json.as_str() != "null"));
    let fields = (any::<String>(), any::<String>(), any::<String>(), any::<bool>(), details);
    fields.prop_map(|(owner, kind, text, display, details)| CustomMessage {
        owner,
        kind,
        content: vec![ContentBlock::text(text)],
        display,
        details,
    })
}

fn summary() -> Compaction {
    Compaction {
        summary: "all well".to_owned(),
        first_kept: None,
        tokens_before: 1,
        files_read: Vec::new(),
        files_modified: Vec::new(),
        by: None,
        answer: None,
        used: None,
        settings: SessionSettings::default(),
    }
}

fn body() -> impl Strategy<Value = EntryBody> {
    let custom = (any::<String>(), raw_json()).prop_map(|(kind, data)| Custom {
        owner: "todo".to_owned(),
        kind,
        data,
        answer: None,
    });
    let label = option::of(any::<String>()).prop_map(|label| Label { target: EntryId::from(1), label });
    prop_oneof![
        4 => tags().prop_map(Into::into),
        4 => custom_message().prop_map(Into::into),
        1 => custom.prop_map(Into::into),
        1 => label.prop_map(Into::into),
        1 => Just(summary().into()),
        1 => any::<String>().prop_map(|text| {
            Message::User { content: vec![ContentBlock::text(text)], time: time() }.into()
        }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (body(), option::of(0_u8..40)).prop_map(|(body, id)| Step::Append(body, id)),
        1 => body().prop_map(Step::Lose),
        1 => any::<prop::sample::Index>().prop_map(Step::Move),
        1 => Just(Step::Clear),
        1 => Just(Step::ReadTags),
        1 => Just(Step::Reopen),
    ]
}

/// A session and its expected content.
struct Case {
    session: Session,
    entries: Vec<SessionEntry>,
    leaf: Option<EntryId>,
}

impl Case {
    fn run(&mut self, step: Step) {
        match step {
            Step::Append(body, id) => self.append(body, id.map(|id| EntryId::from(u128::from(id)))),
            Step::Lose(body) => {
                if let Some(path) = self.session.path().filter(|path| path.exists()) {
                    std::fs::remove_file(path).unwrap();
                }
                self.append(body, None);
            }
            Step::Move(at) if !self.entries.is_empty() => {
                self.leaf = Some(at.get(&self.entries).id);
                self.session.move_to(self.leaf).unwrap();
            }
            Step::Move(_) => {}
            Step::Clear => {
                self.leaf = None;
                self.session.clear().unwrap();
            }
            Step::ReadTags => assert_eq!(self.session.tags().unwrap(), expected_tags(&self.entries)),
            Step::Reopen => {
                let Some(path) = self.session.path().filter(|path| path.exists()) else { return };
                self.session = Session::in_memory(Path::new("/w"));
                self.session = Session::open(&path).unwrap().with_clock(time);
                self.leaf = self.entries.last().map(|entry| entry.id);
                assert_eq!((self.session.leaf(), self.session.take_repairs()), (self.leaf, vec![]));
            }
        }
    }

    fn append(&mut self, body: EntryBody, id: Option<EntryId>) {
        let appended = match id {
            Some(id) => {
                block_on(self.session.append_with_id(id, body.clone(), Durability::Soon)).map(|()| id)
            }
            None => block_on(self.session.append(body.clone(), Durability::Soon)),
        };
        if let Some(id) = id.filter(|id| self.entries.iter().any(|entry| entry.id == *id)) {
            assert!(matches!(appended, Err(SessionError::DuplicateId(taken)) if taken == id));
        } else {
            let id = appended.unwrap();
            self.entries.push(SessionEntry { id, parent: self.leaf, time: time(), body });
            self.leaf = Some(id);
        }
        assert_eq!(self.session.leaf(), self.leaf);
    }

    /// Returns the path from the root to the leaf.
    fn branch(&self) -> Vec<SessionEntry> {
        let (mut branch, mut next) = (Vec::new(), self.leaf);
        while let Some(entry) = self.entries.iter().rev().find(|entry| Some(entry.id) == next) {
            next = entry.parent;
            branch.push(entry.clone());
        }
        branch.reverse();
        branch
    }
}

/// Returns the tags key by key: the last change of the key counts, unless a later entry replaced all tags.
fn expected_tags(entries: &[SessionEntry]) -> BTreeMap<String, String> {
    let change = |entry: &SessionEntry| {
        if let EntryBody::Tags(change) = &entry.body { Some(change.clone()) } else { None }
    };
    let changes: Vec<Tags> = entries.iter().filter_map(change).collect();
    let begin = changes.iter().rposition(|change| change.replace).unwrap_or_default();
    let keys = changes.iter().flat_map(|change| change.tags.keys());
    let last = |key: &String| changes[begin..].iter().rev().find_map(|change| change.tags.get(key).cloned());
    keys.filter_map(|key| Some((key.clone(), last(key)??))).collect()
}

fn owned(session: &Session) -> Vec<SessionEntry> {
    session.entries().unwrap().iter().map(|entry| entry.as_ref().clone()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: (ProptestConfig::default().cases / 4).max(1), ..ProptestConfig::default() })]

    #[test]
    fn entries_are_read_as_they_were_written(steps in vec(step(), 1..30)) {
        let dir = TempDir::new().unwrap();
        let store = SessionStore::new(dir.path());
        let session = store.create(Path::new("/w")).with_clock(time);
        let mut case = Case { session, entries: Vec::new(), leaf: None };
        steps.into_iter().for_each(|step| case.run(step));
        let expect = expected_tags(&case.entries);
        assert_eq!(owned(&case.session), case.entries);
        assert_eq!(case.session.tags().unwrap(), expect);
        let branch = case.branch();
        let fork = case.session.fork(None).unwrap();
        assert_eq!(owned(&fork), branch);
        assert_eq!(fork.tags().unwrap(), fold_tags(&branch));
        let path = case.session.path().unwrap();
        if path.exists() {
            let read = store::read(&path).unwrap();
            assert_eq!((read.entries, read.repairs), (case.entries, vec![]));
            let found = store.find(&case.session.id().to_string()).unwrap().summary().unwrap();
            assert_eq!((found.tags, found.usage), (expect, Default::default()));
        }
    }
}
