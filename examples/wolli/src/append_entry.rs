//! State in the session that the model never sees.

use haft_sdk::{Extension, Host, HostError, MirrorPart, Response};
use serde::Deserialize;

#[derive(Deserialize)]
struct CountEntry {
    owner: String,
    kind: String,
    data: u64,
}

/// Returns the last recorded count.
fn last_count(host: &Host) -> u64 {
    let branch = host.session_mirror().current_branch();
    let entries = branch.iter().rev().filter_map(|entry| entry.line.read::<CountEntry>().ok());
    let mut counts = entries.filter(|entry| entry.owner == "append_entry" && entry.kind == "count");
    counts.next().map_or(0, |entry| entry.data)
}

pub(crate) fn build() -> Extension {
    Extension::new("append_entry", "1.0.0").mirror_session([MirrorPart::Entries]).command(
        "count",
        "Count the calls of this command.",
        |_, host: Host| async move {
            host.session().append_entry("count", &(last_count(&host) + 1)).await?;
            Ok::<_, HostError>(Response::display(format!("count {}", last_count(&host))))
        },
    )
}
