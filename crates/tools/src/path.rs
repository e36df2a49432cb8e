//! Converts between paths as a model writes them and absolute paths.

use std::path::{Path, PathBuf, is_separator};

use crate::environment::Environment;
use crate::failure::ToolFailure;

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
