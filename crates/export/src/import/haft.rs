//! Sessions of haft, exported or copied.

use haft_core::session::entry::{Entry, EntryBody, Origin, Unknown};
use haft_core::session::{EntryId, Recovered, Repair, recover};
use serde_json::Value;

use super::{ImportProblem, ImportError, ParsedSession};

/// Entries keep their names, as in a fork.
pub(super) fn read(bytes: &[u8]) -> Result<ParsedSession, ImportError> {
    let Recovered { header, mut entries, repairs, .. } = recover(bytes);
    if let Some(Repair::Newer { version }) =
        repairs.iter().find(|repair| matches!(repair, Repair::Newer { .. }))
    {
        return Err(ImportError::Newer { version: *version });
    }
    let mut problems: Vec<ImportProblem> = repairs.into_iter().map(repair_problem).collect();
    for entry in &mut entries {
        update_kept_line(entry, &mut problems);
    }
    let leaf = entries.last().map(|entry| entry.id);
    let origin = header.as_ref().map(|header| Origin { session: header.id, entry: leaf });
    Ok(ParsedSession { entries, problems, created: header.map(|header| header.created), origin })
}

fn repair_problem(repair: Repair) -> ImportProblem {
    match repair {
        Repair::BadLine { line, reason } => ImportProblem { line: Some(line), what: reason },
        other @ (Repair::TornTail { .. }
        | Repair::NoHeader { .. }
        | Repair::Reattached { .. }
        | Repair::Newer { .. }
        | Repair::Moved { .. }) => ImportProblem { line: None, what: other.to_string() },
    }
}

/// A line that is kept as it stands names the parent that its entry had; after a repair that may be another one now.
fn update_kept_line(entry: &mut Entry, problems: &mut Vec<ImportProblem>) {
    let EntryBody::Unknown(Unknown { kind, line }) = &mut entry.body else { return };
    let Ok(Value::Object(mut fields)) = serde_json::from_str::<Value>(line) else { return };
    let named = fields.get("parent").and_then(Value::as_str).and_then(EntryId::parse);
    if named != entry.parent {
        let parent = entry.parent.map_or(Value::Null, |parent| Value::String(parent.to_string()));
        fields.insert("parent".to_owned(), parent);
        *line = Value::Object(fields).to_string().into();
    }
    problems.push(ImportProblem {
        line: None,
        what: format!("an entry of the type {kind:?} is kept, and not understood"),
    });
}
