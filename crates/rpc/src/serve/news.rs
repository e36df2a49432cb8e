//! `News`: the ends of tasks, as the hub is told of them.

use haft_protocol::rpc::{Failure, Payload};

use super::work::Ended;
use crate::desk::{Job, Ticket};
use crate::sessions::Opened;

/// What became of something that was under way.
pub(super) enum News {
    /// What a session worked on.
    Ended(String, Ended),
    /// A command whose reply may be long.
    Bulky(Place, Ticket, Result<Payload, Failure>),
    /// A command.
    Done(Place, Ticket, Result<Payload, Failure>),
    /// A command of an extension, or a template: beside its reply, the job that comes of it.
    Ran(String, Ticket, Result<(Payload, Option<Job>), Failure>),
    /// A session is open, or is not.
    Opened(Ticket, Meant, Result<Opened, Failure>),
    /// A session is closed; why what it said may not be on the disk.
    Closed(String, Option<String>),
    /// What was left of a session that was open already.
    Gone,
}

/// Whose command it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// The process's.
    Lobby,
    /// That of the session with this id.
    Session(String),
}

/// Whether commands that name no session mean the one that was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meant {
    FromHereOn,
    Not,
}
