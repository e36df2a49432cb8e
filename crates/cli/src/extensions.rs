//! Which extensions a run starts, and what the user is told about the others.

use std::sync::Arc;

use haft_host::SpecSource;
use haft_host::discovery::{Discovery, Search, SkipReason};

use crate::console::note;

/// Looks for extensions, at the start and at every reload. Says on standard error which are there and may not
/// run; one that the user disabled is passed over in silence. What cannot run is reported by the host.
pub(crate) fn source(search: Search) -> SpecSource {
    Arc::new(move || {
        let found = Discovery::run(&search);
        for skipped in found.skipped.iter().filter(|skipped| skipped.reason != SkipReason::Disabled) {
            note(&format!("haft: {skipped}"));
        }
        found.into()
    })
}
