//! Which extensions a run starts, and what the user is told about the others.

use std::sync::Arc;

use haft_host::discovery::{Discovery, Search, SkipReason};
use haft_host::{Origin, SpecSource};

use crate::console::note;
use crate::exit::{Exit, OrExit as _};

/// Makes sure that every extension that the command line names can be started. Who names one wants it in place: a
/// run without it could do what it was to prevent.
///
/// # Errors
/// What is wrong with the first one that cannot be used.
pub(crate) fn check_named(search: &Search) -> anyhow::Result<()> {
    let named = Search { explicit: search.explicit.clone(), path: search.path.clone(), ..Search::default() };
    match Discovery::run(&named).errors.into_iter().next() {
        None => Ok(()),
        Some(error) => Err(error).or_exit(Exit::RequiredExtension),
    }
}

/// Looks for extensions, at the start and at every reload. Says on standard error which are there and may not
/// run; one that the user disabled is passed over in silence, unless the command line names it. What cannot run is reported by the host.
pub(crate) fn source(search: Search) -> SpecSource {
    Arc::new(move || {
        let found = Discovery::run(&search);
        let told = found
            .skipped
            .iter()
            .filter(|skipped| skipped.reason != SkipReason::Disabled || skipped.origin == Origin::Explicit);
        told.for_each(|skipped| note(&format!("haft: {skipped}")));
        found.into()
    })
}
