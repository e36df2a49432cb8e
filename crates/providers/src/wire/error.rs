//! `AnswerError`: the reason why a request has no complete answer.

use std::error::Error;
use std::io;

use reqwest::header::HeaderMap;

/// The reason why a request has no complete answer. The texts may contain secrets; `http::failure` removes them.
#[derive(Debug)]
pub(crate) enum AnswerError {
    /// The connection failed.
    Connection(ConnectionFailure),
    /// No connection was possible.
    Unreachable(String),
    /// The server answered with an error: instead of an answer, or within it.
    Response(Box<ErrorResponse>),
    /// The answer ended before its last event.
    Truncated,
    /// The answer is not in its format, or exceeds a limit.
    Invalid(String),
    /// The model did not complete the answer.
    Refused(String),
}

/// A failed connection.
#[derive(Debug)]
pub(crate) struct ConnectionFailure {
    pub(crate) stage: ConnectionStage,
    /// The innermost cause, as a text for people.
    pub(crate) cause: String,
}

/// The stage at which a connection failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionStage {
    /// The connection was not established.
    Connect,
    /// The server sent nothing for as long as haft waits.
    Wait,
    /// The connection was lost.
    Transfer,
}

impl ConnectionFailure {
    pub(crate) fn new(error: &reqwest::Error) -> Self {
        let stage = if error.is_connect() {
            ConnectionStage::Connect
        } else if error.is_timeout() && !is_system_timeout(error) {
            ConnectionStage::Wait
        } else {
            ConnectionStage::Transfer
        };
        Self { stage, cause: root_cause(error) }
    }
}

/// True if the system closed the connection, as it does within a minute when the network is lost. False for haft's own
/// timeout.
fn is_system_timeout(error: &(dyn Error + 'static)) -> bool {
    std::iter::successors(Some(error), |&error| error.source()).any(|error| error.is::<io::Error>())
}

/// Returns the innermost cause of an error, which is the informative part.
pub(crate) fn root_cause(error: &dyn Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// An error that a server reports.
#[derive(Debug, Default)]
pub(crate) struct ErrorResponse {
    /// The HTTP status; `None` for an error within an answer.
    pub(crate) status: Option<u16>,
    pub(crate) headers: HeaderMap,
    /// The error's code, if it is not in the body.
    pub(crate) code: Option<String>,
    /// The body, or the event.
    pub(crate) body: String,
}

impl AnswerError {
    /// Returns the error that an event of an answer reports.
    pub(crate) fn in_answer(event: &str) -> Self {
        Self::Response(Box::new(ErrorResponse { body: event.to_owned(), ..ErrorResponse::default() }))
    }

    /// Returns an error about an event that has no valid form.
    pub(crate) fn invalid_event(error: &serde_json::Error) -> Self {
        Self::Invalid(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_timeout_is_not_a_read_timeout() {
        #[derive(Debug, thiserror::Error)]
        #[error("the request failed")]
        struct Request(#[source] io::Error);

        assert!(!is_system_timeout(&std::fmt::Error));
        assert!(is_system_timeout(&Request(io::ErrorKind::TimedOut.into())));
    }
}
