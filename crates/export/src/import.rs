//! Sessions of haft, zot and pi as entries of haft. Nothing of them is run, and what cannot be read is told.

mod haft;
mod maker;
mod pi;
mod zot;

use std::fmt;

use haft_core::session::entry::{FORMAT_VERSION, ForkOrigin, Name, SessionEntry, SessionHeader};
use haft_core::session::{EntryId, SessionId};
use haft_protocol::message::Rfc3339Time;
use serde::Deserialize;

use maker::EntryBuilder;

/// The limits of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportLimits {
    /// Bytes of a file.
    pub bytes: usize,
    /// Bytes of a line.
    pub line: usize,
    /// Lines.
    pub lines: usize,
}

impl Default for ImportLimits {
    fn default() -> Self {
        Self { bytes: 512 << 20, line: 64 << 20, lines: 1_000_000 }
    }
}

/// The program that a session file belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionFormat {
    /// A session of haft, or one that it exported.
    Haft,
    /// A session of pi.
    Pi,
    /// A session of zot, or a `.zotsession`.
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

/// The session made of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedSession {
    /// The program it belonged to.
    pub format: SessionFormat,
    /// Of a new session in the directory that was given.
    pub header: SessionHeader,
    /// Each behind its parent.
    pub entries: Vec<SessionEntry>,
    /// Parts that could not be read as they were meant.
    pub problems: Vec<ImportProblem>,
}

impl ImportedSession {
    /// Gives the session a name.
    pub fn set_name(&mut self, name: &str) {
        let Some(SessionEntry { id, time, .. }) = self.entries.last() else { return };
        let body = Name { name: name.to_owned() }.into();
        let named = SessionEntry { id: EntryId::new(), parent: Some(*id), time: time.clone(), body };
        self.entries.push(named);
    }
}

/// Something that could not be read as it was meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportProblem {
    /// The line, counted from 1; none where it is about the file.
    pub line: Option<u64>,
    /// The problem, and its effect.
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

/// Why a file is not read at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// It is larger than [`ImportLimits`] allow.
    #[error("the file has more than {most} {what}; split it, or take what you need of it")]
    TooLarge {
        /// Bytes, lines, …
        what: &'static str,
        /// The limit.
        most: usize,
    },
    /// Nothing in it is of a known format.
    #[error("the file is no session of haft, pi or zot")]
    UnknownFormat,
    /// A later version of haft wrote it.
    #[error("the session is of format {version}, newer than {FORMAT_VERSION}; import it with a newer haft")]
    Newer {
        /// Its version.
        version: u32,
    },
    /// There is nothing to go on with.
    #[error("the session holds no entry that can be read")]
    Empty,
}

/// Reads a session as a new one of the directory `cwd`.
///
/// # Errors
/// [`ImportError`] when there is nothing to import. What is wrong with single lines is among the problems.
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
    let header = SessionHeader {
        id: SessionId::new(),
        format_version: FORMAT_VERSION,
        cwd: cwd.to_owned(),
        created,
        forked_from: origin,
    };
    Ok(ImportedSession { format, header, entries, problems })
}

/// The session that the reader of one format found.
struct ParsedSession {
    entries: Vec<SessionEntry>,
    problems: Vec<ImportProblem>,
    created: Option<Rfc3339Time>,
    origin: Option<ForkOrigin>,
}

impl ParsedSession {
    fn from_builder(maker: EntryBuilder, created: Option<Rfc3339Time>) -> Self {
        let (entries, problems) = maker.finish();
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

/// Lines that are looked at for the format.
const LOOKED_AT: usize = 20;

/// Returns the format of a file, by the first line that tells. The first line of all may be damaged.
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

/// The lines that are not empty, with their numbers.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (u64, Result<&str, std::str::Utf8Error>)> {
    let numbered = (1..).zip(bytes.split(|byte| *byte == b'\n'));
    let full = numbered.filter(|(_, line)| !line.trim_ascii().is_empty());
    full.map(|(number, line)| (number, std::str::from_utf8(line)))
}

/// The same with what each line says, or why it says nothing.
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
