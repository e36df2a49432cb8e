//! The fields about when an extension starts and ends. It can do without them, so a mistake in one is told, and the
//! field counts as left out.

use std::time::Duration;

use super::{Fields, ManifestError};
use crate::spec::{Lazy, Lifecycle};
use crate::timeouts::MAX_ASKED;

/// What the manifest asks for, and what is wrong with it.
pub(super) fn read(fields: &Fields<'_>) -> (Lifecycle, Vec<String>) {
    let mut ignored = Vec::new();
    let lifecycle = Lifecycle {
        on_demand: kept(on_demand(fields), &mut ignored).unwrap_or_default(),
        hello: kept(deadline(fields, "hello_timeout_ms"), &mut ignored).flatten(),
        ready: kept(deadline(fields, "ready_timeout_ms"), &mut ignored).flatten(),
        lazy: lazy(fields).unwrap_or_else(|error| {
            // Whoever wrote something had a reason not to want the default.
            ignored.push(format!("{error}; it counts as false"));
            Lazy::Never
        }),
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

/// `true`, `false`, or `{"cwd": true}`.
fn lazy(fields: &Fields<'_>) -> Result<Lazy, ManifestError> {
    if let Some(object) = fields.object_in("lazy")? {
        return Ok(match object.boolean("cwd")? {
            Some(true) => Lazy::InSameDirectory,
            Some(false) | None => Lazy::Allowed,
        });
    }
    Ok(match fields.boolean("lazy")? {
        Some(false) => Lazy::Never,
        Some(true) | None => Lazy::Allowed,
    })
}

fn deadline(fields: &Fields<'_>, field: &str) -> Result<Option<Duration>, ManifestError> {
    let Some(asked) = fields.positive(field)?.map(Duration::from_millis) else { return Ok(None) };
    if asked > MAX_ASKED {
        return Err(fields.error(field, &format!("must be at most {}", MAX_ASKED.as_millis())));
    }
    Ok(Some(asked))
}
