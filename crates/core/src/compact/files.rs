//! Which files were read and changed, from the calls of haft's own tools.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use haft_protocol::RawJson;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::Message;
use serde::Deserialize;

use crate::session::entry::{Compaction, Entry, EntryBody, Said};

/// Files by how they were touched, each once; the last one touched is the last. One that was changed is not among those
/// that were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Files {
    pub(crate) read: Vec<String>,
    pub(crate) modified: Vec<String>,
}

/// Tools and their arguments by call.
type Calls = HashMap<ToolCallId, (String, RawJson)>;

#[derive(Deserialize)]
struct Args {
    path: String,
}

impl Files {
    /// The files that these entries touched, and those of the summary before.
    pub(crate) fn of(entries: &[Arc<Entry>], previous: Option<&Compaction>) -> Self {
        let mut files = Self::default();
        if let Some(previous) = previous {
            files.read.clone_from(&previous.files_read);
            files.modified.clone_from(&previous.files_modified);
        }
        let mut calls = Calls::new();
        for entry in entries {
            if let EntryBody::Said(Said { message, .. }) = &entry.body {
                files.hear(message, &mut calls);
            } else if let EntryBody::ToolStart(start) = &entry.body {
                // A hook may have changed the arguments.
                calls.insert(start.call_id.clone(), (start.name.clone(), start.args.clone()));
            }
        }
        files.tidy();
        files
    }

    fn hear(&mut self, message: &Message, calls: &mut Calls) {
        match message {
            Message::Assistant(said) => {
                let said = said.tool_calls().cloned();
                calls.extend(said.map(|call| (call.id, (call.name, call.args))));
            }
            Message::Tool(result) if !result.is_error => {
                if let Some((name, args)) = calls.get(&result.call_id) {
                    self.touch(name, args);
                }
            }
            Message::Tool(_) | Message::User { .. } => {}
        }
    }

    fn touch(&mut self, tool: &str, args: &RawJson) {
        let list = match tool {
            "read" => &mut self.read,
            "edit" | "write" => &mut self.modified,
            _ => return,
        };
        if let Ok(Args { path }) = serde_json::from_str(args.as_str()) {
            list.push(path);
        }
    }

    fn tidy(&mut self) {
        let mut seen = HashSet::new();
        for list in [&mut self.modified, &mut self.read] {
            let mut newest: Vec<String> = std::mem::take(list);
            newest.reverse();
            newest.retain(|path| seen.insert(path.clone()));
            newest.reverse();
            *list = newest;
        }
    }
}
