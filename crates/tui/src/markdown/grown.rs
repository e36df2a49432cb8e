//! What of the block that still grows is as it stays, so that a long one costs no more than its end.
//!
//! A list whose next items have begun, and code whose next lines have, change their rows above no more: but where items
//! turn out to stand apart, which the whole list then does.

use std::borrow::Cow;
use std::ops::Range;

/// Below so many bytes a block is rendered whole.
pub(super) const LONG: usize = 4 << 10;

/// How to go on with a block in its middle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Resume {
    /// At an item of a list.
    List {
        /// The number of that item; bullets have none.
        number: Option<u64>,
        /// Whether the items stand apart.
        loose: bool,
    },
    /// At a line of code, below this line.
    Code(String),
}

impl Resume {
    /// What stands before the rest of the block, so that it is read as it is.
    pub(super) fn before(&self) -> &str {
        match self {
            Self::List { .. } => "",
            Self::Code(fence) => fence,
        }
    }

    /// Whether it is a list whose items stand together.
    pub(super) fn is_tight(&self) -> bool {
        matches!(self, Self::List { loose: false, .. })
    }

    /// Whether what stands above stays with this below it: where a list gives addresses, they may be those of links above.
    pub(super) fn holds_with(&self, rest: &str) -> bool {
        match self {
            Self::List { .. } => !rest.contains("]:"),
            Self::Code(_) => true,
        }
    }

    /// The rest of the block, as it is read.
    pub(super) fn source<'s>(&self, rest: &'s str) -> Cow<'s, str> {
        match self.before() {
            "" => Cow::Borrowed(rest),
            before => Cow::Owned([before, rest].concat()),
        }
    }
}

/// A place in a source at which one can go on, and how many lines are before it.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    pub(super) at: usize,
    pub(super) lines: usize,
    pub(super) resume: Resume,
}

/// Where the rest of the open block begins.
#[derive(Debug, Clone)]
pub(super) struct Grown {
    pub(super) block: usize,
    /// The byte of the text.
    pub(super) from: usize,
    /// The lines of the whole text before it.
    pub(super) lines: usize,
    pub(super) resume: Resume,
}

/// The line of a source that a byte of it is in, from its first column to that byte.
pub(super) fn begin_of_line(source: &str, at: usize) -> usize {
    source.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1)
}

/// The whole line that a range begins in, with its end.
pub(super) fn line_of(source: &str, range: &Range<usize>) -> String {
    let rest = source.get(begin_of_line(source, range.start)..).unwrap_or_default();
    let line = rest.lines().next().unwrap_or_default();
    format!("{line}\n")
}
