//! One extension of `haft ext list --json`.

use std::time::SystemTime;

use haft_config::{OnTimeout, SandboxLevel, SettingOrigin};
use haft_host::LastFailure;
use haft_packages::Origin;
use haft_packages::install::Row;
use haft_packages::install::lock::Came;
use haft_rpc::escaped;
use serde_json::{Value, json};

use super::hook::OfHook;
use super::listed::Listed;

/// A line for one, with its end. Nobody who wrote a manifest writes to a terminal.
pub(crate) fn line(listed: &Listed, now: SystemTime) -> String {
    format!("{}\n", escaped(of(listed, now).to_string()))
}

/// What programs are told of one. Keys are added at most, and none changes its meaning.
fn of(listed: &Listed, now: SystemTime) -> Value {
    let Listed { row, failure, sandbox, loosened, hook, .. } = listed;
    let entry = row.entry.as_ref();
    let problems = listed.problems(now).into_iter();
    let on_timeout = if loosened.lets_pass { OnTimeout::Allow } else { OnTimeout::Block };
    json!({
        "name": row.name,
        "kind": if listed.hook.is_some() { "hook" } else { "extension" },
        "version": row.version,
        "description": row.description,
        "language": row.language,
        "scope": listed.scope(),
        "state": listed.word(),
        "runs": listed.runs(),
        "sandbox": sandbox.map(SandboxLevel::name),
        "source": listed.hook.as_ref().map_or_else(|| source(row), configured),
        "dir": row.dir.to_string_lossy(),
        "runs_in": row.runs_in.to_string_lossy(),
        "code": entry.map(|entry| entry.tree),
        "approved": entry.map(|entry| &entry.approved.at),
        "locked_tools": entry.iter().flat_map(|entry| entry.changed.keys()).collect::<Vec<_>>(),
        "priority": hook.as_ref().and_then(|hook| hook.priority),
        "on_timeout": on_timeout.name(),
        "vouches": loosened.vouches,
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

fn configured(hook: &OfHook) -> Value {
    match &hook.origin {
        SettingOrigin::File { path, line } => {
            json!({"kind": "config", "path": path.to_string_lossy(), "line": line})
        }
        SettingOrigin::Flag(_) | SettingOrigin::Env(_) | SettingOrigin::Default => json!({"kind": "config"}),
    }
}

fn failed(LastFailure { at, code, message }: &LastFailure) -> Value {
    let at = jiff::Timestamp::try_from(*at).ok().map(|at| at.strftime("%FT%TZ").to_string());
    json!({"at": at, "code": code, "message": message})
}
