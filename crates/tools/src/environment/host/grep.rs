//! Searching the lines of a tree. Everything here blocks.

use std::io;
use std::path::Path;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use tokio_util::sync::CancellationToken;

use super::walk::{self, Glob};
use crate::environment::{EnvironmentError, GrepHits, GrepLine, GrepQuery, GrepText};

/// Longest line that is shown, in bytes; the rest of it is cut off.
const MAX_LINE: usize = 500;

/// Longest line that is searched, and so the memory of a search; a file with a longer one counts as unreadable.
const MAX_SEARCHED_LINE: usize = 32 * 1024 * 1024;

pub(super) fn grep(stop: &CancellationToken, query: &GrepQuery) -> Result<GrepHits, EnvironmentError> {
    let matcher = matcher(query)?;
    let glob = query.glob.as_deref().map(Glob::new).transpose()?;
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .before_context(query.context)
        .after_context(query.context)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MAX_SEARCHED_LINE))
        .build();
    let mut found = GrepHits::default();
    for entry in walk::walk(&query.root) {
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
        let fits = glob.as_ref().is_none_or(|glob| glob.fits(&walk::below(&query.root, &entry)));
        if is_file && fits {
            let left = query.limit - found.matches;
            let mut sink = FileSink { stop, left, path: entry.path(), found: GrepHits::default() };
            if searcher.search_path(&matcher, entry.path(), &mut sink).is_err() {
                sink.found.unreadable += 1;
            }
            add(&mut found, sink.found);
        }
    }
    Ok(found)
}

fn matcher(query: &GrepQuery) -> Result<RegexMatcher, EnvironmentError> {
    RegexMatcherBuilder::new()
        .case_insensitive(query.ignore_case)
        .fixed_strings(query.literal)
        .multi_line(true)
        .crlf(true)
        .line_terminator(Some(b'\n'))
        .build(&query.pattern)
        .map_err(|error| EnvironmentError::Query { what: "the pattern", detail: error.to_string() })
}

/// Adds what was found in one file. What stands before the first NUL of a binary file is no text either.
fn add(found: &mut GrepHits, file: GrepHits) {
    found.binary += file.binary;
    found.unreadable += file.unreadable;
    if file.binary == 0 {
        found.lines.extend(file.lines);
        found.matches += file.matches;
        found.capped = file.capped;
    }
}

/// Takes the lines of one file, up to as many matches as are left.
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
        self.push(line.line_number(), GrepText::Match(clean(line.bytes())));
        Ok(!self.stop.is_cancelled())
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        self.push(line.line_number(), GrepText::Context(clean(line.bytes())));
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.found.binary = 1;
        Ok(false)
    }
}

fn clean(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches(['\r', '\n']);
    if text.len() <= MAX_LINE {
        return text.to_owned();
    }
    let (kept, _) = text.split_at(text.floor_char_boundary(MAX_LINE));
    format!("{kept}… [line cut]")
}
