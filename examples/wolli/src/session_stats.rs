//! Facts about the session: entries, branch, leaf.

use haft_sdk::{Extension, Host, MirrorPart, Response};

pub(crate) fn build() -> Extension {
    Extension::new("session_stats", "1.0.0").mirror_session([MirrorPart::Entries]).command(
        "stats",
        "Show session statistics.",
        |_, host: Host| async move {
            let mirror = host.session_mirror();
            let (all, branch) = (mirror.entries().len(), mirror.current_branch().len());
            let leaf = mirror.leaf_id().unwrap_or_default();
            Response::display(format!("{all} entries, {branch} on the branch, leaf {leaf}"))
        },
    )
}
