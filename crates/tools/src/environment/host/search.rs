//! Searches a tree for lines and files, ignoring the same files as git. Everything here blocks.

mod git_settings;
mod ignore_file;
mod ignore_rules;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use ignore::{DirEntry, Walk, WalkBuilder};
use tokio_util::sync::CancellationToken;

use super::atomic::{PathBoundary, open_within};
use crate::environment::{
    EnvironmentError, FindHit, FindHits, FindQuery, GrepHits, GrepLine, GrepQuery, GrepText,
};
use crate::limits::{MAX_COMPILED_PATTERN, MAX_GLOB, MAX_PATTERN};

use ignore_rules::IgnoreRules;

/// The maximum length of a shown line in bytes; the rest is cut off.
const MAX_LINE: usize = 500;

/// The maximum length of a searched line, which limits the memory of a search. A file with a longer line counts as
/// unreadable.
const MAX_SEARCHED_LINE: usize = 32 * 1024 * 1024;

pub(super) fn grep(
    stop: &CancellationToken,
    reads: Option<&PathBoundary>,
    query: &GrepQuery,
) -> Result<GrepHits, EnvironmentError> {
    let matcher = build_matcher(query)?;
    let glob = query.glob.as_deref().map(GlobFilter::new).transpose()?;
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .before_context(query.context)
        .after_context(query.context)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MAX_SEARCHED_LINE))
        .build();
    let mut found = GrepHits::default();
    for entry in walk_tree_without(&query.root, denied_below(&query.root, reads)?) {
        if stop.is_cancelled() {
            return Err(EnvironmentError::Cancelled);
        }
        if found.capped {
            break;
        }
        let Ok(entry) = entry else {
            found.unreadable += 1;
            continue;
        };
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        let fits = glob.as_ref().is_none_or(|glob| glob.matches_path(&relative_path(&query.root, &entry)));
        if is_file && fits {
            let left = query.limit - found.matches;
            let mut sink = FileSink { stop, left, path: entry.path(), found: GrepHits::default() };
            if search_file(&mut searcher, &matcher, reads, &mut sink).is_err() {
                sink.found.unreadable += 1;
            }
            merge_hits(&mut found, sink.found);
        }
    }
    Ok(found)
}

/// Searches the file of a sink. With a boundary, no link is followed to a file outside, even if one was placed
/// meanwhile.
fn search_file(
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    reads: Option<&PathBoundary>,
    sink: &mut FileSink<'_>,
) -> io::Result<()> {
    match reads {
        None => searcher.search_path(matcher, sink.path, sink),
        Some(reads) => {
            let file = open_within(reads, sink.path).map_err(io::Error::other)?;
            searcher.search_file(matcher, &file, sink)
        }
    }
}

fn build_matcher(query: &GrepQuery) -> Result<RegexMatcher, EnvironmentError> {
    if query.pattern.len() > MAX_PATTERN {
        let detail = format!("it is longer than {} KiB", MAX_PATTERN / 1024);
        return Err(EnvironmentError::Query { what: "the pattern", detail });
    }
    RegexMatcherBuilder::new()
        .case_insensitive(query.ignore_case)
        .fixed_strings(query.literal)
        .multi_line(true)
        .crlf(true)
        .line_terminator(Some(b'\n'))
        .size_limit(MAX_COMPILED_PATTERN)
        .dfa_size_limit(MAX_COMPILED_PATTERN)
        .build(&query.pattern)
        .map_err(|error| EnvironmentError::Query { what: "the pattern", detail: error.to_string() })
}

/// Adds the matches of a file. A binary file has no text, not even before its first NUL.
fn merge_hits(found: &mut GrepHits, file: GrepHits) {
    found.binary += file.binary;
    found.unreadable += file.unreadable;
    if file.binary == 0 {
        found.lines.extend(file.lines);
        found.matches += file.matches;
        found.capped = file.capped;
    }
}

/// Collects the matches of a file, up to the number that is left.
struct FileSink<'a> {
    stop: &'a CancellationToken,
    left: usize,
    path: &'a Path,
    found: GrepHits,
}

impl FileSink<'_> {
    fn push(&mut self, number: Option<u64>, text: GrepText) {
        self.found.lines.push(GrepLine { path: self.path.to_owned(), number: number.unwrap_or(0), text });
    }
}

impl Sink for FileSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, line: &SinkMatch<'_>) -> io::Result<bool> {
        if self.found.matches == self.left {
            self.found.capped = true;
            return Ok(false);
        }
        self.found.matches += 1;
        self.push(line.line_number(), GrepText::Match(clip_line(line.bytes())));
        Ok(!self.stop.is_cancelled())
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        self.push(line.line_number(), GrepText::Context(clip_line(line.bytes())));
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.found.binary = 1;
        Ok(false)
    }
}

fn clip_line(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches(['\r', '\n']);
    if text.len() <= MAX_LINE {
        return text.to_owned();
    }
    let (kept, _) = text.split_at(text.floor_char_boundary(MAX_LINE));
    format!("{kept}… [line cut]")
}

/// Walks all entries below `root` in the order of their names, `root` first. Includes hidden files. Leaves out `.git`
/// and ignored files, with or without a repository. Reads only ignore files that are short, regular, in the project,
/// and of the user if they are in a parent directory.
pub fn walk_tree(root: &Path) -> Walk {
    walk_tree_without(root, Vec::new())
}

/// Walks as [`walk_tree`] does, and leaves out some paths with their contents.
fn walk_tree_without(root: &Path, denied: Vec<PathBuf>) -> Walk {
    let mut walk = WalkBuilder::new(root);
    walk.standard_filters(false).sort_by_file_name(Ord::cmp);
    let base = root.canonicalize().ok().filter(|base| base.is_dir());
    let rules = base.map(|base| (Mutex::new(IgnoreRules::new(&base)), base));
    let root = root.to_owned();
    walk.filter_entry(move |entry| {
        if entry.depth() == 0 {
            return true;
        }
        let below = entry.path().strip_prefix(&root).unwrap_or(entry.path());
        let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
        let is_ignored = || {
            let (rules, base) = rules.as_ref()?;
            Some(lock_rules(rules).is_excluded(&base.join(below), is_dir))
        };
        entry.file_name() != ".git"
            && !denied.iter().any(|path| path == entry.path())
            && !is_ignored().unwrap_or(false)
    });
    walk.build()
}

fn lock_rules(rules: &Mutex<IgnoreRules>) -> MutexGuard<'_, IgnoreRules> {
    rules.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the paths below a directory that must be left out, as the walk names them.
///
/// # Errors
/// The directory itself is outside of the boundary.
fn denied_below(root: &Path, reads: Option<&PathBoundary>) -> Result<Vec<PathBuf>, EnvironmentError> {
    let Some(reads) = reads else { return Ok(Vec::new()) };
    let real = root.canonicalize().map_err(|error| EnvironmentError::io("search", root, error))?;
    reads.check(&real)?;
    let below = reads.never_accessible().iter().filter_map(|path| path.strip_prefix(&real).ok());
    Ok(below.map(|path| root.join(path)).collect())
}

pub(super) fn find(
    stop: &CancellationToken,
    reads: Option<&PathBoundary>,
    query: &FindQuery,
) -> Result<FindHits, EnvironmentError> {
    let glob = GlobFilter::new(&query.glob)?;
    let mut found = FindHits::default();
    for entry in walk_tree_without(&query.root, denied_below(&query.root, reads)?) {
        if stop.is_cancelled() {
            return Err(EnvironmentError::Cancelled);
        }
        let Ok(entry) = entry else {
            found.unreadable += 1;
            continue;
        };
        let below = relative_path(&query.root, &entry);
        if entry.depth() == 0 || !glob.matches_path(&below) {
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

pub(super) fn relative_path(root: &Path, entry: &DirEntry) -> PathBuf {
    match entry.path().strip_prefix(root) {
        Ok(below) if !below.as_os_str().is_empty() => below.to_owned(),
        _ => PathBuf::from(entry.file_name()),
    }
}

/// A glob: without a slash it is matched against names, with a slash against paths.
pub(super) struct GlobFilter {
    matcher: GlobSet,
    about_names: bool,
}

impl GlobFilter {
    pub(super) fn new(text: &str) -> Result<Self, EnvironmentError> {
        let text = text.strip_prefix("./").unwrap_or(text);
        let invalid = |detail: String| EnvironmentError::Query { what: "the glob", detail };
        if text.len() > MAX_GLOB {
            return Err(invalid(format!("it is longer than {MAX_GLOB} bytes")));
        }
        let glob = GlobBuilder::new(text.trim_start_matches('/')).literal_separator(true).build();
        // A matcher of a single glob would panic if the glob is nested too deeply for the regular expressions.
        let matcher = glob.and_then(|glob| GlobSetBuilder::new().add(glob).build());
        let matcher = matcher.map_err(|error| invalid(error.to_string()))?;
        Ok(Self { matcher, about_names: !text.contains('/') })
    }

    pub(super) fn matches_path(&self, below: &Path) -> bool {
        match below.file_name() {
            Some(name) if self.about_names => self.matcher.is_match(name),
            _ => self.matcher.is_match(below),
        }
    }
}
