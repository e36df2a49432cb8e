//! Converts between paths as a model writes them, their canonical form, and absolute paths.
//!
//! Invariant: a canonical path is its own canonical form, and means the same file as the path that it was made from.
//! Enforced by `tests/it/canonical.rs`.

use std::path::{Path, PathBuf, is_separator};

use haft_core::tool::{ToolContext, ToolFailureKind};
use haft_protocol::content::ResolvedPath;

use crate::environment::{AccessKind, Environment, remove_dots};
use crate::failure::ToolFailure;

/// The name of the path argument of all built-in tools.
const ARGUMENT: &str = "path";

/// A path argument in its canonical form.
pub(crate) struct CanonicalPath {
    /// The text of the argument.
    pub(crate) text: String,
    pub(crate) resolved: ResolvedPath,
}

/// Returns the canonical form of a path argument; `None` is the working directory. A path below the working directory
/// is relative to it, because gates compare such paths, and every other path is absolute. Neither has a leading `@` or
/// `~`, `..`, or a link; `./` only precedes names that begin with `@` or `~`. A path that is not UTF-8 without its
/// links keeps them.
pub(crate) async fn canonical_path(
    environment: &dyn Environment,
    text: Option<&str>,
    access: AccessKind,
) -> Result<CanonicalPath, ToolFailure> {
    let absolute = match (text, access) {
        (Some(text), AccessKind::Write) => resolve_file(environment, text)?,
        (text, _) => resolve_or_cwd(environment, text)?,
    };
    let cwd = remove_dots(environment.cwd());
    let base = environment.resolve(environment.cwd()).await?.path;
    let place = environment.resolve(&absolute).await?;
    let written = remove_dots(&absolute);
    // The working directory itself may be a link.
    let unlinked =
        written.strip_prefix(&cwd).map_or_else(|_| written.clone(), |below| join_below(&base, below));
    let text = spell_path(&place.path, &base).or_else(|| spell_path(&written, &cwd));
    Ok(CanonicalPath {
        text: text.ok_or_else(|| "the path is not UTF-8".to_owned())?,
        resolved: ResolvedPath::new(ARGUMENT.to_owned(), place.path.display().to_string())
            .with_exists(place.exists)
            .with_link(place.has_broken_link || place.path != unlinked),
    })
}

/// Resolves the path of a directory or file to search. Rejects another place than the one that the hooks saw.
pub(crate) async fn resolve_root(
    context: &ToolContext,
    environment: &dyn Environment,
    text: Option<&str>,
) -> Result<PathBuf, ToolFailure> {
    let path = resolve_or_cwd(environment, text)?;
    if !context.resolved_paths.is_empty() {
        check_place(context, &environment.resolve(&path).await?.path)?;
    }
    Ok(path)
}

/// Checks that the path of a call still leads to the place that the hooks saw.
pub(crate) fn check_place(context: &ToolContext, place: &Path) -> Result<(), ToolFailure> {
    let checked = context.resolved_paths.iter().find(|checked| checked.argument == ARGUMENT);
    let now = place.display().to_string();
    match checked.filter(|checked| checked.path != now) {
        Some(ResolvedPath { path, .. }) => Err(ToolFailure::classified(
            ToolFailureKind::OutOfReach,
            format!("{path} was checked, but a changed link leads to {now}; try again"),
        )),
        None => Ok(()),
    }
}

/// Spells an absolute path for a tool with this working directory. Returns `None` if the path is not UTF-8.
fn spell_path(path: &Path, cwd: &Path) -> Option<String> {
    let Ok(below) = path.strip_prefix(cwd) else { return Some(path.to_str()?.to_owned()) };
    Some(match below.to_str()? {
        "" => ".".to_owned(),
        name if name.starts_with(['@', '~']) => format!("./{name}"),
        name => name.to_owned(),
    })
}

/// Appends a relative path, without a slash at the end if it is empty.
fn join_below(base: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { base.to_owned() } else { base.join(below) }
}

/// Makes a model's path absolute. A leading `@`, which models copy from mentions of files, is removed, `~` is the
/// home directory, and a relative path starts at the working directory.
pub(crate) fn resolve(environment: &dyn Environment, text: &str) -> Result<PathBuf, ToolFailure> {
    let text = text.strip_prefix('@').unwrap_or(text);
    if text.is_empty() {
        return Err("the path is empty".to_owned().into());
    }
    let path = match (text.strip_prefix('~'), environment.home()) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => environment.cwd().join(text),
    };
    // Removes `.` components. `..` stays, because it has another meaning after a symbolic link.
    Ok(path.components().collect())
}

/// Makes the path of a file to write absolute. A path that names a directory, even a missing one, is rejected.
pub(crate) fn resolve_file(environment: &dyn Environment, text: &str) -> Result<PathBuf, ToolFailure> {
    let path = resolve(environment, text)?;
    let name = text.strip_prefix('@').unwrap_or(text).rsplit(is_separator).next();
    match name {
        Some("" | "." | "..") => Err(format!("{text} is a directory, not a file; add the file name").into()),
        _ => Ok(path),
    }
}

/// Makes an optional path absolute. The default is the working directory.
pub(crate) fn resolve_or_cwd(
    environment: &dyn Environment,
    text: Option<&str>,
) -> Result<PathBuf, ToolFailure> {
    match text {
        Some(text) if !text.is_empty() => resolve(environment, text),
        _ => Ok(environment.cwd().to_owned()),
    }
}

pub(crate) fn show(environment: &dyn Environment, path: &Path) -> String {
    match path.strip_prefix(environment.cwd()) {
        Ok(below) if below.as_os_str().is_empty() => ".".to_owned(),
        Ok(below) => below.display().to_string(),
        Err(_) => path.display().to_string(),
    }
}
