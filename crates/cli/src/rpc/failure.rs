//! What a client is told of an error.

use haft_protocol::rpc::{ErrorCode, Failure};

use crate::exit::Exit;

/// An error that has no code of its own, but for a session that is open elsewhere.
pub(super) fn failed(error: &anyhow::Error) -> Failure {
    let code =
        if Exit::of(error) == Exit::SessionInUse { ErrorCode::SessionLocked } else { ErrorCode::Failed };
    coded(code, error)
}

/// An error of looking for a session: that there is none, or more than one.
pub(super) fn not_found(error: &anyhow::Error) -> Failure {
    if Exit::of(error) == Exit::Session { coded(ErrorCode::SessionNotFound, error) } else { failed(error) }
}

/// An error with this code.
pub(super) fn coded(code: ErrorCode, error: &anyhow::Error) -> Failure {
    Failure::new(code, format!("{error:#}"))
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn the_code_follows_from_the_exit() {
        let error = |exit: Exit| exit.with(anyhow::anyhow!("why"));
        assert_eq!(failed(&error(Exit::SessionInUse)), Failure::new(ErrorCode::SessionLocked, "why"));
        assert_eq!(failed(&error(Exit::Session)).code, ErrorCode::Failed);
        assert_eq!(not_found(&error(Exit::Session)).code, ErrorCode::SessionNotFound);
        assert_eq!(not_found(&error(Exit::SessionInUse)).code, ErrorCode::SessionLocked);
        let chain = Err::<(), _>(anyhow::anyhow!("why")).context("what").unwrap_err();
        assert_eq!(not_found(&chain), Failure::new(ErrorCode::Failed, "what: why"));
    }
}
