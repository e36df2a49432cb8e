//! Import of haft's own sessions, exported or copied.

use haft_core::session::entry::{EntryBody, ForkOrigin, SessionEntry, Unknown};
use haft_core::session::{EntryId, RecoveredSession, SessionRepair, recover};
use serde_json::Value;

use super::{ImportError, ImportProblem, ParsedSession};

/// Reads a session. Entries keep their ids, as in a fork.
pub(super) fn read(bytes: &[u8]) -> Result<ParsedSession, ImportError> {
    let RecoveredSession { header, mut entries, repairs, .. } = recover(bytes);
    if let Some(SessionRepair::Newer { version }) =
        repairs.iter().find(|repair| matches!(repair, SessionRepair::Newer { .. }))
    {
        return Err(ImportError::Newer { version: *version });
    }
    let mut problems: Vec<ImportProblem> = repairs.into_iter().map(repair_problem).collect();
    for entry in &mut entries {
        update_kept_line(entry, &mut problems);
    }
    let leaf = entries.last().map(|entry| entry.id);
    let origin = header.as_ref().map(|header| ForkOrigin { session: header.id, entry: leaf });
    Ok(ParsedSession { entries, problems, created: header.map(|header| header.created), origin })
}

fn repair_problem(repair: SessionRepair) -> ImportProblem {
    match repair {
        SessionRepair::BadLine { line, reason } => ImportProblem { line: Some(line), what: reason },
        other @ (SessionRepair::TornTail { .. }
        | SessionRepair::NoHeader { .. }
        | SessionRepair::Omitted { .. }
        | SessionRepair::Reattached { .. }
        | SessionRepair::Newer { .. }
        | SessionRepair::Unanswered
        | SessionRepair::Moved { .. }) => ImportProblem { line: None, what: other.to_string() },
    }
}

/// Corrects the parent in the line of an unknown entry, because a repair may have changed the entry's parent.
fn update_kept_line(entry: &mut SessionEntry, problems: &mut Vec<ImportProblem>) {
    let EntryBody::Unknown(Unknown { kind, line, .. }) = &mut entry.body else { return };
    let Ok(Value::Object(mut fields)) = serde_json::from_str::<Value>(line) else { return };
    let named = fields.get("parent").and_then(Value::as_str).and_then(EntryId::parse);
    if named != entry.parent {
        let parent = entry.parent.map_or(Value::Null, |parent| Value::String(parent.to_string()));
        fields.insert("parent".to_owned(), parent);
        *line = Value::Object(fields).to_string().into();
    }
    problems.push(ImportProblem {
        line: None,
        what: format!("an entry of type {kind:?} was not recognized and is kept unchanged"),
    });
}
