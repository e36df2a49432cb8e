//! Paths as a model writes them, and as it reads them.

use std::path::{Path, PathBuf, is_separator};

use crate::builtin::ToolFailure;
use crate::environment::Environment;

/// Makes a model's path absolute: one leading `@`, which models copy from mentions of files, is stripped, `~` is
/// the home directory, and anything relative starts at the working directory.
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
    // Drops `.` parts; `..` stays, because behind a symbolic link it means something else.
    Ok(path.components().collect())
}

/// The same for a file that is to be written: what names a directory, even one that does not exist, is refused.
pub(crate) fn resolve_file(environment: &dyn Environment, text: &str) -> Result<PathBuf, ToolFailure> {
    let path = resolve(environment, text)?;
    let name = text.strip_prefix('@').unwrap_or(text).rsplit(is_separator).next();
    match name {
        Some("" | "." | "..") => {
            Err(format!("{text} names a directory, not a file; add the name of the file").into())
        }
        _ => Ok(path),
    }
}

/// The same for a path that may be left out or empty: the working directory then.
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
