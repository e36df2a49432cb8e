//! `OpenSessions`: the open sessions, and the selection of one for a command.

use haft_protocol::rpc::{CommandFailure, ErrorCode};

use crate::shorten_name;

/// The open sessions, in the order of their opening. There is always at least one.
#[derive(Debug)]
pub(crate) struct OpenSessions<S> {
    /// The sessions, with their ids.
    open: Vec<(String, S)>,
    /// The id of the current session, which commands without a session use.
    current: String,
}

impl<S> OpenSessions<S> {
    pub(crate) fn new(id: impl Into<String>, session: S) -> Self {
        let id = id.into();
        Self { current: id.clone(), open: vec![(id, session)] }
    }

    /// Adds a session. Returns the earlier session of the same id, which is replaced.
    pub(crate) fn add(&mut self, id: impl Into<String>, session: S) -> Option<S> {
        let id = id.into();
        if let Some((_, old)) = self.open.iter_mut().find(|(known, _)| *known == id) {
            return Some(std::mem::replace(old, session));
        }
        self.open.push((id, session));
        None
    }

    /// Returns the id of the session of a command: the one whose id begins with `named`, or the
    /// current one.
    ///
    /// # Errors
    /// [`CommandFailure`] if no open session matches, or more than one.
    pub(crate) fn find(&self, named: Option<&str>) -> Result<&str, CommandFailure> {
        let Some(named) = named else { return Ok(&self.current) };
        if let Some((id, _)) = self.open.iter().find(|(id, _)| id == named) {
            return Ok(id);
        }
        let mut alike = self.open.iter().filter(|(id, _)| !named.is_empty() && id.starts_with(named));
        match (alike.next(), alike.next()) {
            (Some((id, _)), None) => Ok(id),
            (first, _) => Err(not_found(named, first.is_some())),
        }
    }

    pub(crate) fn get_mut(&mut self, id: &str) -> Option<&mut S> {
        self.open.iter_mut().find(|(known, _)| known == id).map(|(_, session)| session)
    }

    /// Makes this session the current one.
    ///
    /// # Errors
    /// As [`find`](Self::find). The session may still exist on disk.
    pub(crate) fn switch_to(&mut self, named: &str) -> Result<&str, CommandFailure> {
        self.current = self.find(Some(named))?.to_owned();
        Ok(&self.current)
    }

    /// Checks that the session may be closed.
    ///
    /// # Errors
    /// [`CommandFailure`] if it is the last one.
    pub(crate) fn check_can_close(&self, id: &str) -> Result<(), CommandFailure> {
        let others = self.open.iter().any(|(known, _)| known != id);
        others.then_some(()).ok_or_else(|| {
            CommandFailure::new(
                ErrorCode::Busy,
                "the last session cannot be closed; send `shutdown` to end the process",
            )
        })
    }

    /// Removes a session. If it was the current one, the first remaining session becomes current.
    /// The last session cannot be removed.
    pub(crate) fn remove(&mut self, id: &str) -> Option<S> {
        self.check_can_close(id).ok()?;
        let at = self.open.iter().position(|(known, _)| known == id)?;
        let (_, session) = self.open.remove(at);
        if let Some((first, _)) = self.open.first().filter(|_| self.current == id) {
            self.current = first.clone();
        }
        Some(session)
    }

    /// Returns the id of the current session.
    pub(crate) fn current_id(&self) -> &str {
        &self.current
    }

    /// Iterates over all open sessions with their ids, in the order of their opening.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &S)> {
        self.open.iter().map(|(id, session)| (id.as_str(), session))
    }
}

fn not_found(named: &str, several: bool) -> CommandFailure {
    let named = shorten_name(named);
    let what = if several {
        "more than one open session begins with"
    } else {
        "no open session has an id that begins with"
    };
    CommandFailure::new(
        ErrorCode::SessionNotFound,
        format!("{what} {named:?}; `list_sessions` lists the sessions"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roster() -> OpenSessions<u8> {
        let mut roster = OpenSessions::new("0199", 1);
        assert_eq!((roster.add("01aa", 2), roster.add("02", 3)), (None, None));
        roster
    }

    /// Checks the selected session, or the error if none matches.
    #[track_caller]
    fn check(named: Option<&str>, expect: Result<&str, &str>) {
        let roster = roster();
        let found = roster.find(named).map_err(|failure| {
            assert_eq!(failure.code, ErrorCode::SessionNotFound);
            failure.error
        });
        assert_eq!(found.as_deref().map_err(String::as_str), expect);
    }

    #[test]
    fn finds_session_by_id_prefix() {
        check(None, Ok("0199"));
        check(Some("02"), Ok("02"));
        check(Some("019"), Ok("0199"));
        check(Some("01a"), Ok("01aa"));
        let several = "more than one open session begins with \"01\"; `list_sessions` lists the sessions";
        check(Some("01"), Err(several));
        let none = "no open session has an id that begins with \"9\"; `list_sessions` lists the sessions";
        check(Some("9"), Err(none));
        let empty = "no open session has an id that begins with \"\"; `list_sessions` lists the sessions";
        check(Some(""), Err(empty));
    }

    #[test]
    fn exact_id_wins_over_prefix() {
        let mut roster = OpenSessions::new("0199", 1);
        roster.add("01", 2);
        assert_eq!(roster.find(Some("01")), Ok("01"));
    }

    #[test]
    fn opened_session_is_not_current() {
        let mut roster = roster();
        assert_eq!(roster.current_id(), "0199");
        assert_eq!(roster.switch_to("01a"), Ok("01aa"));
        assert!(roster.switch_to("9").is_err());
        assert_eq!((roster.current_id(), roster.find(None)), ("01aa", Ok("01aa")));
        assert_eq!(roster.get_mut("01aa"), Some(&mut 2));
        assert_eq!(roster.add("01aa", 7), Some(2));
    }

    #[test]
    fn closing_the_current_session_selects_the_first() {
        let mut roster = roster();
        assert_eq!(roster.remove("9"), None);
        assert_eq!((roster.remove("01aa"), roster.current_id()), (Some(2), "0199"));
        assert_eq!((roster.remove("0199"), roster.current_id()), (Some(1), "02"));
        assert_eq!(roster.check_can_close("02").unwrap_err().code, ErrorCode::Busy);
        assert_eq!((roster.remove("02"), roster.current_id()), (None, "02"));
        assert_eq!(roster.iter().collect::<Vec<_>>(), [("02", &3)]);
        assert_eq!(roster.get_mut("02"), Some(&mut 3));
    }
}
