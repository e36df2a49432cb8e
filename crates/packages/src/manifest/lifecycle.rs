//! The fields about when an extension starts and ends. It can do without them, so a mistake in one is told, and the
//! field counts as left out.

use std::sync::Arc;
use std::time::Duration;

use super::{Fields, ManifestError, activation};
use crate::spec::Lifecycle;
use crate::timeouts::MAX_ASKED;

/// What the manifest asks for, and what is wrong with it. `guards` is true of an extension that must be in place.
pub(super) fn read(fields: &Fields<'_>, guards: bool) -> (Lifecycle, Vec<String>) {
    let mut ignored = Vec::new();
    let lifecycle = Lifecycle {
        on_demand: kept(on_demand(fields), &mut ignored).unwrap_or_default(),
        hello: kept(deadline(fields, "hello_timeout_ms"), &mut ignored).flatten(),
        ready: kept(deadline(fields, "ready_timeout_ms"), &mut ignored).flatten(),
        activation: activation::read(fields, guards)
            .map_err(|error| ignored.push(format!("{error}; the extension starts at once")))
            .unwrap_or_default()
            .map(Arc::new),
    };
    (lifecycle, ignored)
}

fn kept<T>(value: Result<T, ManifestError>, ignored: &mut Vec<String>) -> Option<T> {
    value.map_err(|error| ignored.push(format!("{error}; the field is ignored"))).ok()
}

fn on_demand(fields: &Fields<'_>) -> Result<bool, ManifestError> {
    match fields.text("lifecycle")?.as_deref() {
        None | Some("always") => Ok(false),
        Some("on_demand") => Ok(true),
        Some(_) => Err(fields.error("lifecycle", "must be `always` or `on_demand`")),
    }
}

fn deadline(fields: &Fields<'_>, field: &str) -> Result<Option<Duration>, ManifestError> {
    let Some(asked) = fields.positive(field)?.map(Duration::from_millis) else { return Ok(None) };
    if asked > MAX_ASKED {
        return Err(fields.error(field, &format!("must be at most {}", MAX_ASKED.as_millis())));
    }
    Ok(Some(asked))
}
