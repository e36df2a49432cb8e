//! What differs between the dialects that extensions speak: who says hello first, how words become a line and a line
//! words, and what is said at the end. Everything else is the session's, and the same for all of them.

use bytes::Bytes;
use haft_protocol::codec::{self, Bounds, Plain, Reading};
use haft_protocol::ext::{ExtensionFrame, HostFrame, Response, Shutdown};

use super::decode::{Heard, Unreadable, unreadable};
use super::greeting::Greeting;
use super::pending::Kind;

/// How one connection speaks, and what is said first.
#[derive(Debug, Clone)]
pub(crate) enum Speech {
    /// The native dialect: the extension says hello and is answered with this. Gone once it was.
    Native(Option<Greeting>),
}

/// What is said to an extension.
#[derive(Debug)]
pub(crate) enum Words {
    /// A frame of the native dialect.
    Frame(HostFrame),
}

/// What an extension answers.
#[derive(Debug)]
pub(crate) enum Answer {
    /// A frame of the native dialect.
    Frame(Response),
}

/// How the lines of a connection are read, also where the connection is not at hand.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ear {
    /// As frames of the native dialect, within these bounds.
    Frames(Bounds),
}

/// What a line says.
#[derive(Debug)]
pub(crate) enum Said {
    /// A frame of the native dialect.
    Frame(Result<Reading<ExtensionFrame>, Unreadable>),
}

impl Ear {
    /// Reads a line, of which so much is known.
    pub(super) fn hear(self, line: &Bytes, known: Plain) -> Heard {
        let said = match self {
            Self::Frames(bounds) => {
                let frame = codec::read_knowing(line, bounds, known);
                Said::Frame(frame.map_err(|error| unreadable(error, line)))
            }
        };
        Heard { bytes: line.len(), said }
    }
}

impl Speech {
    /// How what comes is read.
    pub(super) fn ear(&self, bounds: Bounds) -> Ear {
        match self {
            Self::Native(_) => Ear::Frames(bounds),
        }
    }

    /// What one is told that shall leave, beside the end of its input.
    pub(super) fn farewell(&self) -> Option<Words> {
        match self {
            Self::Native(_) => Some(Words::Frame(HostFrame::Shutdown(Shutdown {}))),
        }
    }
}

impl Words {
    /// What answers them, if they are a question at all.
    pub(super) fn kind(&self) -> Option<Kind> {
        match self {
            Self::Frame(frame) => Kind::asked_by(frame),
        }
    }

    /// Whether they may be left out when too much waits already. How much was left out is never left out itself.
    pub(super) fn is_droppable(&self) -> bool {
        match self {
            Self::Frame(frame) => !matches!(frame, HostFrame::EventGap(_)),
        }
    }

    /// Their line, newline included.
    ///
    /// # Errors
    /// Why they have none.
    pub(super) fn line(&self) -> Result<String, String> {
        let line = match self {
            Self::Frame(frame) => codec::encode(frame),
        };
        line.map_err(|error| format!("it has no JSON form: {error}"))
    }
}

impl From<HostFrame> for Words {
    fn from(frame: HostFrame) -> Self {
        Self::Frame(frame)
    }
}
