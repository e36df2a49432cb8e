//! The table of `haft ext list`: one line for each extension, at most as wide as the terminal.

use std::path::{Path, PathBuf};

use haft_config::{SandboxLevel, SettingOrigin};
use haft_core::sanitize::sanitize_line;
use haft_packages::install::lock::InstallOrigin;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::hook::HookListDetails;
use super::listing::ListedExtension;
use crate::resources::display_path;

const HEADER: [&str; 6] = ["NAME", "VERSION", "SCOPE", "STATE", "SANDBOX", "FROM"];

/// The maximum width of a version in columns; a manifest can contain any text.
const VERSION: usize = 14;

/// The maximum width of a name in columns. A longer name has a line of its own.
const NAME: usize = 24;

/// The minimum width of the last column.
const FROM: usize = 16;

/// The gap between two columns.
const GAP: usize = 2;

/// The directories that shorten paths.
pub(crate) struct PathShortener {
    /// Shown as `.`.
    pub(crate) cwd: PathBuf,
    /// Shown as `~`.
    pub(crate) home: Option<PathBuf>,
}

pub(crate) fn render_table(rows: &[ListedExtension], places: &PathShortener, width: usize) -> String {
    let mut lines = vec![HEADER.map(str::to_owned)];
    lines.extend(rows.iter().map(|row| row_cells(row, places)));
    let widths: [usize; 6] = std::array::from_fn(|column| {
        let cells = lines.iter().map(|line| line[column].width());
        // Names with lines of their own do not widen the column.
        cells.filter(|width| column > 0 || *width <= NAME).max().unwrap_or(0)
    });
    let before: usize = widths.iter().take(5).map(|width| width + GAP).sum();
    let room = width.saturating_sub(before).max(FROM);
    let text: Vec<String> = lines.into_iter().map(|line| align_row(line, &widths, room)).collect();
    text.join("\n")
}

fn align_row(
    [name, version, scope, state, sandbox, from]: [String; 6],
    widths: &[usize; 6],
    room: usize,
) -> String {
    let (first, name) =
        if name.width() > NAME { (format!("{name}\n"), String::new()) } else { (String::new(), name) };
    let mut line = String::new();
    for (cell, width) in [name, version, scope, state, sandbox].iter().zip(widths) {
        line.push_str(cell);
        line.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.width()) + GAP));
    }
    format!("{first}{line}{}", truncate_start(&from, room)).trim_end().to_owned()
}

fn row_cells(listed: &ListedExtension, places: &PathShortener) -> [String; 6] {
    let row = &listed.row;
    let version = match (&row.version, &listed.hook) {
        (Some(version), _) => sanitize_line(version),
        // A process hook has no version.
        (None, Some(_)) => "(hook)".to_owned(),
        (None, None) => "-".to_owned(),
    };
    let sandbox = match listed.can_run() {
        true => listed.sandbox.map_or("?", SandboxLevel::name),
        // Without a program, a sandbox has no effect.
        false => "-",
    };
    [
        sanitize_line(&row.name),
        truncate_end(&version, VERSION),
        listed.scope().to_owned(),
        listed.status_word().to_owned(),
        sandbox.to_owned(),
        sanitize_line(&origin_text(listed, places)),
    ]
}

fn origin_text(ListedExtension { row, hook, .. }: &ListedExtension, places: &PathShortener) -> String {
    if let Some(HookListDetails { origin: SettingOrigin::File { path, line }, .. }) = hook {
        return format!("{}:{line}", places.shorten_path(path));
    }
    match row.entry.as_ref().map(|entry| &entry.source) {
        Some(InstallOrigin::Git { url, .. }) => url.clone(),
        Some(InstallOrigin::Directory { path } | InstallOrigin::Placed { path, .. }) => {
            places.shorten_path(path)
        }
        None => places.shorten_path(&row.dir),
    }
}

impl PathShortener {
    fn shorten_path(&self, path: &Path) -> String {
        if let Ok(below) = path.strip_prefix(&self.cwd) {
            return format!("./{}", below.display()).trim_end_matches('/').to_owned();
        }
        display_path(path, self.home.as_deref())
    }
}

fn truncate_end(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut left = room.saturating_sub(1);
    let fits = |c: &char| left.checked_sub(c.width().unwrap_or(0)).map(|rest| left = rest).is_some();
    format!("{}…", text.chars().take_while(fits).collect::<String>())
}

/// Shortens a path or an address to its end, which identifies it best. The cut is before a path component if possible.
fn truncate_start(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let backwards: String = text.chars().rev().collect();
    let end: String = truncate_end(&backwards, room).chars().rev().collect();
    end.find('/')
        .and_then(|at| end.get(at..))
        .filter(|part| part.len() > 1)
        .map_or(end.clone(), |part| format!("…{part}"))
}

#[cfg(test)]
mod tests;
