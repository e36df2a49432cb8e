//! What is looked for, and what was found. Both searches leave out `.git` and what ignore files name, and do not
//! follow symbolic links.

use std::path::PathBuf;

/// Files to find by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindQuery {
    /// The directory to look in; absolute.
    pub root: PathBuf,
    /// A glob. Without a slash it is held against names, with one against paths below `root`.
    pub glob: String,
    /// The most hits.
    pub limit: usize,
}

/// Files that were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FindHits {
    /// In the order of their paths.
    pub hits: Vec<FindHit>,
    /// Whether there are more.
    pub capped: bool,
    /// Directories that could not be read.
    pub unreadable: usize,
}

/// One file that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindHit {
    /// Below the root.
    pub path: PathBuf,
    /// Whether it is a directory.
    pub is_dir: bool,
}

/// Lines to find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepQuery {
    /// A directory or one file; absolute.
    pub root: PathBuf,
    /// A regular expression, or plain text.
    pub pattern: String,
    /// Whether `pattern` is plain text.
    pub literal: bool,
    /// Whether upper and lower case are the same.
    pub ignore_case: bool,
    /// Only files that this glob fits, by the rule of [`FindQuery::glob`].
    pub glob: Option<String>,
    /// Lines to show before and after each match.
    pub context: usize,
    /// The most matches.
    pub limit: usize,
}

/// Lines that were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrepHits {
    /// In the order of paths and line numbers.
    pub lines: Vec<GrepLine>,
    /// Matches among them.
    pub matches: usize,
    /// Whether there are more.
    pub capped: bool,
    /// Binary files that were passed over: those with a NUL byte in what was read of them.
    pub binary: usize,
    /// Files and directories that could not be read.
    pub unreadable: usize,
}

/// One line that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepLine {
    /// The file; absolute.
    pub path: PathBuf,
    /// Counted from 1.
    pub number: u64,
    /// The line.
    pub text: GrepText,
}

/// A line with its part in the result, line ends left out; what is not UTF-8 in it is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrepText {
    /// A match.
    Match(String),
    /// A neighbour of one.
    Context(String),
}
