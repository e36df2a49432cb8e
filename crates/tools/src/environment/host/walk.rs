//! Walking a tree the way git sees it. Everything here blocks.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, Walk, WalkBuilder};
use tokio_util::sync::CancellationToken;

use crate::environment::{EnvironmentError, FindHit, FindHits, FindQuery};

/// All entries below `root` in the order of their names, `root` first. Hidden files are seen, `.git` and what ignore
/// files name are not, whether or not there is a repository.
pub(super) fn walk(root: &Path) -> Walk {
    WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git")
        .sort_by_file_name(Ord::cmp)
        .build()
}

pub(super) fn find(stop: &CancellationToken, query: &FindQuery) -> Result<FindHits, EnvironmentError> {
    let glob = Glob::new(&query.glob)?;
    let mut found = FindHits::default();
    for entry in walk(&query.root) {
        if stop.is_cancelled() {
            return Err(EnvironmentError::Cancelled);
        }
        let Ok(entry) = entry else {
            found.unreadable += 1;
            continue;
        };
        let below = below(&query.root, &entry);
        if entry.depth() == 0 || !glob.fits(&below) {
            continue;
        }
        if found.hits.len() == query.limit {
            found.capped = true;
            break;
        }
        found.hits.push(FindHit { path: below, is_dir: entry.file_type().is_some_and(|kind| kind.is_dir()) });
    }
    Ok(found)
}

/// The path of an entry below the root it was found from; a root that is a file is known by its name.
pub(super) fn below(root: &Path, entry: &DirEntry) -> PathBuf {
    match entry.path().strip_prefix(root) {
        Ok(below) if !below.as_os_str().is_empty() => below.to_owned(),
        _ => PathBuf::from(entry.file_name()),
    }
}

/// A glob as people mean it: without a slash it is about names, with one about paths.
pub(super) struct Glob {
    matcher: GlobMatcher,
    about_names: bool,
}

impl Glob {
    pub(super) fn new(text: &str) -> Result<Self, EnvironmentError> {
        let text = text.strip_prefix("./").unwrap_or(text);
        let matcher = GlobBuilder::new(text.trim_start_matches('/'))
            .literal_separator(true)
            .build()
            .map_err(|error| EnvironmentError::Query { what: "the glob", detail: error.to_string() })?
            .compile_matcher();
        Ok(Self { matcher, about_names: !text.contains('/') })
    }

    pub(super) fn fits(&self, below: &Path) -> bool {
        match below.file_name() {
            Some(name) if self.about_names => self.matcher.is_match(name),
            _ => self.matcher.is_match(below),
        }
    }
}
