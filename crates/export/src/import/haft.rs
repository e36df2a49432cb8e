//! Sessions of haft, exported or copied.

use haft_core::session::entry::{Entry, EntryBody, Origin, Unknown};
use haft_core::session::{EntryId, Recovered, Repair, recover};
use serde_json::Value;

use super::{Problem, ReadError, Source};

/// Entries keep their names, as in a fork.
pub(super) fn read(bytes: &[u8]) -> Result<Source, ReadError> {
    let Recovered { header, mut entries, repairs, .. } = recover(bytes);
    if let Some(Repair::Newer { version }) =
        repairs.iter().find(|repair| matches!(repair, Repair::Newer { .. }))
    {
        return Err(ReadError::Newer { version: *version });
    }
    let mut problems: Vec<Problem> = repairs.into_iter().map(problem).collect();
    for entry in &mut entries {
        restate(entry, &mut problems);
    }
    let leaf = entries.last().map(|entry| entry.id);
    let origin = header.as_ref().map(|header| Origin { session: header.id, entry: leaf });
    Ok(Source { entries, problems, created: header.map(|header| header.created), origin })
}

fn problem(repair: Repair) -> Problem {
    match repair {
        Repair::BadLine { line, reason } => Problem { line: Some(line), what: reason },
        other @ (Repair::TornTail { .. }
        | Repair::NoHeader { .. }
        | Repair::Reattached { .. }
        | Repair::Newer { .. }
        | Repair::Moved { .. }) => Problem { line: None, what: other.to_string() },
    }
}

/// A line that is kept as it stands names the parent that its entry had; after a repair that may be another one now.
fn restate(entry: &mut Entry, problems: &mut Vec<Problem>) {
    let EntryBody::Unknown(Unknown { kind, line }) = &mut entry.body else { return };
    let Ok(Value::Object(mut fields)) = serde_json::from_str::<Value>(line) else { return };
    let named = fields.get("parent").and_then(Value::as_str).and_then(EntryId::parse);
    if named != entry.parent {
        let parent = entry.parent.map_or(Value::Null, |parent| Value::String(parent.to_string()));
        fields.insert("parent".to_owned(), parent);
        *line = Value::Object(fields).to_string().into();
    }
    problems.push(Problem {
        line: None,
        what: format!("an entry of the type {kind:?} is kept, and not understood"),
    });
}
