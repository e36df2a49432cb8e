//! Import of sessions of haft, zot and pi. Nothing in them is executed; unreadable parts are reported.

mod builder;
mod haft;
mod pi;
mod zot;

use std::fmt;

use haft_core::session::entry::{FORMAT_VERSION, ForkOrigin, Name, SessionEntry, SessionHeader};
use haft_core::session::{EntryId, SessionId};
use haft_protocol::message::Rfc3339Time;
use serde::Deserialize;

use builder::EntryBuilder;

/// The limits of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportLimits {
    /// The maximum size of a file, in bytes.
    pub bytes: usize,
    /// The maximum length of a line, in bytes.
    pub line: usize,
    /// The maximum number of lines.
    pub lines: usize,
}

impl Default for ImportLimits {
    fn default() -> Self {
        Self { bytes: 512 << 20, line: 64 << 20, lines: 1_000_000 }
    }
}

/// The program that wrote a session file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionFormat {
    /// A session of haft, or an exported one.
    Haft,
    /// A session of pi.
    Pi,
    /// A session of zot, or a `.zotsession` file.
    Zot,
}

impl fmt::Display for SessionFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Haft => "haft",
            Self::Pi => "pi",
            Self::Zot => "zot",
        })
    }
}

/// An imported session.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedSession {
    /// The program that wrote the file.
    pub format: SessionFormat,
    /// The header of a new session in the given directory.
    pub header: SessionHeader,
    /// The entries, each after its parent.
    pub entries: Vec<SessionEntry>,
    /// Parts that could not be imported completely.
    pub problems: Vec<ImportProblem>,
}

impl ImportedSession {
    /// Sets the name of the session.
    pub fn set_name(&mut self, name: &str) {
        let Some(SessionEntry { id, time, .. }) = self.entries.last() else { return };
        let body = Name { name: name.to_owned() }.into();
        let named = SessionEntry::new(EntryId::new(), Some(*id), time.clone(), body);
        self.entries.push(named);
    }
}

/// A part that could not be imported completely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportProblem {
    /// The line, counted from 1; `None` if the problem concerns the whole file.
    pub line: Option<u64>,
    /// The problem and its effect.
    pub what: String,
}

impl fmt::Display for ImportProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// The reason why a file cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file exceeds the [`ImportLimits`].
    #[error("the file has more than {most} {what}; split the file, or remove the parts you do not need")]
    TooLarge {
        /// The exceeded quantity: bytes, lines, …
        what: &'static str,
        /// The limit.
        most: usize,
    },
    /// The file does not have a known format.
    #[error("the file is not a session of haft, pi or zot")]
    UnknownFormat,
    /// A newer version of haft wrote the file.
    #[error("the session has format {version}, newer than {FORMAT_VERSION}; upgrade haft to import it")]
    Newer {
        /// The format version of the file.
        version: u32,
    },
    /// The session has no readable entries.
    #[error("the session has no readable entries")]
    Empty,
}

/// Imports a session as a new session of the directory `cwd`.
///
/// # Errors
/// [`ImportError`] when the file cannot be imported. Mistakes in single lines are reported as problems.
pub fn import_session(
    bytes: &[u8],
    cwd: &str,
    limits: &ImportLimits,
) -> Result<ImportedSession, ImportError> {
    check_limits(bytes, limits)?;
    let format = detect_format(bytes).ok_or(ImportError::UnknownFormat)?;
    let source = match format {
        SessionFormat::Haft => haft::read(bytes)?,
        SessionFormat::Pi => pi::read(bytes),
        SessionFormat::Zot => zot::read(bytes),
    };
    let ParsedSession { entries, problems, created, origin } = source;
    let first = entries.first().ok_or(ImportError::Empty)?;
    let created = created.unwrap_or_else(|| first.time.clone());
    let header = SessionHeader::new(SessionId::new(), cwd.to_owned(), created).with_forked_from(origin);
    Ok(ImportedSession { format, header, entries, problems })
}

/// The content of a session file, read by the parser of one format.
struct ParsedSession {
    entries: Vec<SessionEntry>,
    problems: Vec<ImportProblem>,
    created: Option<Rfc3339Time>,
    origin: Option<ForkOrigin>,
}

impl ParsedSession {
    fn from_builder(builder: EntryBuilder, created: Option<Rfc3339Time>) -> Self {
        let (entries, problems) = builder.finish();
        Self { entries, problems, created, origin: None }
    }
}

fn check_limits(bytes: &[u8], limits: &ImportLimits) -> Result<(), ImportError> {
    let most = |found: usize, most: usize, what| match found > most {
        true => Err(ImportError::TooLarge { what, most }),
        false => Ok(()),
    };
    most(bytes.len(), limits.bytes, "bytes")?;
    let (mut lines, mut longest) = (0, 0);
    for line in bytes.split(|byte| *byte == b'\n') {
        lines += 1;
        longest = line.len().max(longest);
    }
    most(lines, limits.lines, "lines")?;
    most(longest, limits.line, "bytes in one line")
}

/// The number of lines to examine for the format.
const LOOKED_AT: usize = 20;

/// Returns the format of a file, from the first conclusive line. The very first line may be damaged.
fn detect_format(bytes: &[u8]) -> Option<SessionFormat> {
    #[derive(Deserialize)]
    struct FormatProbe {
        #[serde(rename = "type")]
        kind: String,
        format_version: Option<serde_json::Value>,
        id: Option<serde_json::Value>,
        parent: Option<serde_json::Value>,
        #[serde(rename = "parentId")]
        parent_id: Option<serde_json::Value>,
        timestamp: Option<serde_json::Value>,
        meta: Option<serde_json::Value>,
    }
    let shapes = lines(bytes)
        .take(LOOKED_AT)
        .filter_map(|(_, line)| serde_json::from_str::<FormatProbe>(line.ok()?).ok());
    let format = |shape: FormatProbe| match shape.kind.as_str() {
        "meta" if shape.meta.is_some() => Some(SessionFormat::Zot),
        "session" if shape.format_version.is_some() => Some(SessionFormat::Haft),
        "session" if shape.timestamp.is_some() => Some(SessionFormat::Pi),
        _ if shape.parent_id.is_some() || shape.timestamp.is_some() => Some(SessionFormat::Pi),
        _ if shape.id.is_some() && shape.parent.is_some() => Some(SessionFormat::Haft),
        _ => None,
    };
    shapes.into_iter().find_map(format)
}

/// Returns the lines that are not empty, with their numbers.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (u64, Result<&str, std::str::Utf8Error>)> {
    let numbered = (1..).zip(bytes.split(|byte| *byte == b'\n'));
    let full = numbered.filter(|(_, line)| !line.trim_ascii().is_empty());
    full.map(|(number, line)| (number, std::str::from_utf8(line)))
}

/// Same as [`lines`], with each line parsed as JSON, or the reason why it cannot be parsed.
fn parse_rows<'b, T: Deserialize<'b>>(
    bytes: &'b [u8],
) -> impl Iterator<Item = (u64, Result<(&'b str, T), String>)> {
    lines(bytes).map(|(number, line)| {
        let line = line.map_err(|error| error.to_string());
        let row = line.and_then(|line| {
            serde_json::from_str(line).map(|row| (line, row)).map_err(|error| error.to_string())
        });
        (number, row)
    })
}
