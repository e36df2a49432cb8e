//! One extension of `haft ext list --json`.

use std::time::SystemTime;

use haft_config::SandboxLevel;
use haft_host::install::Row;
use haft_host::install::lock::Came;
use haft_host::{LastFailure, Origin};
use haft_rpc::escaped;
use serde_json::{Value, json};

use super::list::Listed;
use super::problem::problems;

/// A line for one, with its end. Nobody who wrote a manifest writes to a terminal.
pub(crate) fn line(listed: &Listed, now: SystemTime) -> String {
    format!("{}\n", escaped(of(listed, now).to_string()))
}

/// What programs are told of one. Keys are added at most, and none changes its meaning.
fn of(listed: &Listed, now: SystemTime) -> Value {
    let Listed { row, failure, sandbox, .. } = listed;
    let entry = row.entry.as_ref();
    let problems = problems(listed, now).into_iter();
    json!({
        "name": row.name,
        "version": row.version,
        "description": row.description,
        "language": row.language,
        "scope": listed.scope(),
        "state": listed.word(),
        "runs": listed.runs(),
        "sandbox": sandbox.map(SandboxLevel::name),
        "source": source(row),
        "dir": row.dir.to_string_lossy(),
        "runs_in": row.runs_in.to_string_lossy(),
        "code": entry.map(|entry| entry.tree),
        "approved": entry.map(|entry| &entry.approved.at),
        "locked_tools": entry.iter().flat_map(|entry| entry.changed.keys()).collect::<Vec<_>>(),
        "failure": failure.as_ref().map(failed),
        "problems": problems.map(|one| json!({"text": one.sentence(), "next": one.next})).collect::<Vec<_>>(),
    })
}

fn source(row: &Row) -> Value {
    match row.entry.as_ref().map(|entry| &entry.source) {
        Some(Came::Git { url, commit }) => json!({"kind": "git", "url": url, "commit": commit}),
        Some(Came::Directory { path }) => json!({"kind": "directory", "path": path.to_string_lossy()}),
        Some(Came::Placed { path, .. }) => json!({"kind": "placed", "path": path.to_string_lossy()}),
        None if row.origin == Origin::Project => {
            json!({"kind": "project", "path": row.dir.to_string_lossy()})
        }
        None => json!({"kind": "placed", "path": row.dir.to_string_lossy()}),
    }
}

fn failed(LastFailure { at, code, message }: &LastFailure) -> Value {
    let at = jiff::Timestamp::try_from(*at).ok().map(|at| at.strftime("%FT%TZ").to_string());
    json!({"at": at, "code": code, "message": message})
}
