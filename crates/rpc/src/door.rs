//! `AuthGate`: who may drive the process.
//!
//! The promise: while a token is asked for, no command is done before `hello` has shown it, and a wrong one ends the
//! connection.

use std::hint::black_box;

use haft_protocol::rpc::{AuthToken, Command, CommandFailure, CommandKind, ErrorCode, RpcResponse};

/// Lets commands through: all of them when no token is asked for, and otherwise once `hello` has shown it.
#[derive(Debug, Default)]
pub(crate) struct AuthGate {
    /// The expected token; none once it was shown.
    token: Option<AuthToken>,
}

/// A command that is not let through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AuthRefusal {
    /// It is answered with this, and the next one may do better.
    Closed(CommandFailure),
    /// It is answered with this, and the connection ends.
    Wrong(CommandFailure),
}

impl AuthGate {
    /// A door that asks for this token, if there is one. An empty one is none.
    pub(crate) fn new(token: Option<AuthToken>) -> Self {
        Self { token: token.filter(|token| Self::requires_token(Some(token))) }
    }

    pub(crate) fn requires_token(token: Option<&AuthToken>) -> bool {
        token.is_some_and(|token| !token.0.is_empty())
    }

    /// Checks that the command may be carried out.
    ///
    /// # Errors
    /// [`Refused`], which says whether the connection goes on.
    pub(crate) fn admit(&mut self, command: &Command) -> Result<(), AuthRefusal> {
        let Some(expected) = &self.token else { return Ok(()) };
        let Command::Hello(hello) = command else { return Err(missing_token()) };
        match &hello.token {
            Some(token) if is_same(token, expected) => {
                self.token = None;
                Ok(())
            }
            Some(_) => Err(wrong_token()),
            None => Err(missing_token()),
        }
    }

    /// Returns the answer to a command that cannot be read: while a token is asked for, that it is not let through,
    /// unless it is a `hello` with a mistake.
    pub(crate) fn reply_to_unreadable(&self, reply: RpcResponse) -> RpcResponse {
        let is_command = |failure: &CommandFailure| {
            matches!(failure.code, ErrorCode::UnknownCommand | ErrorCode::BadRequest)
                && reply.command != CommandKind::Hello.name()
        };
        match &reply.outcome {
            Err(failure) if self.token.is_some() && is_command(failure) => {
                RpcResponse { outcome: Err(auth_required_failure()), ..reply }
            }
            Ok(_) | Err(_) => reply,
        }
    }
}

/// True if two tokens are one, in a time that does not depend on where they differ.
fn is_same(AuthToken(one): &AuthToken, AuthToken(other): &AuthToken) -> bool {
    let differences = one.bytes().zip(other.bytes()).fold(0, |found, (a, b)| black_box(found | (a ^ b)));
    differences == 0 && one.len() == other.len()
}

fn missing_token() -> AuthRefusal {
    AuthRefusal::Closed(auth_required_failure())
}

fn auth_required_failure() -> CommandFailure {
    CommandFailure::new(ErrorCode::AuthRequired, "auth required: send hello with token first")
}

fn wrong_token() -> AuthRefusal {
    AuthRefusal::Wrong(CommandFailure::new(
        ErrorCode::AuthFailed,
        "the token is wrong; start again with the right one",
    ))
}

#[cfg(test)]
mod tests {
    use haft_protocol::rpc::{HelloCommand, PingCommand};

    use super::*;

    fn hello(token: Option<&str>) -> Command {
        HelloCommand { token: token.map(|token| AuthToken(token.into())), ..HelloCommand::default() }.into()
    }

    fn ping() -> Command {
        PingCommand {}.into()
    }

    #[track_caller]
    fn check(token: Option<&str>, commands: &[Command], expect: &[Result<(), AuthRefusal>]) {
        let mut door = AuthGate::new(token.map(|token| AuthToken(token.into())));
        let admitted: Vec<_> = commands.iter().map(|command| door.admit(command)).collect();
        assert_eq!(admitted, expect);
    }

    #[test]
    fn without_a_token_everything_is_let_through() {
        check(None, &[ping(), hello(None), hello(Some("x"))], &[Ok(()), Ok(()), Ok(())]);
        check(Some(""), &[ping()], &[Ok(())]);
    }

    #[test]
    fn the_token_comes_first_and_once() {
        let commands = [ping(), hello(None), hello(Some("s3cret")), ping(), hello(Some("x")), hello(None)];
        let expect = [Err(missing_token()), Err(missing_token()), Ok(()), Ok(()), Ok(()), Ok(())];
        check(Some("s3cret"), &commands, &expect);
    }

    #[test]
    fn a_wrong_token_is_wrong_wherever_it_differs() {
        for token in ["", "s", "s3cre", "s3crets", "S3cret", "s3creT"] {
            check(Some("s3cret"), &[hello(Some(token)), ping()], &[Err(wrong_token()), Err(missing_token())]);
        }
    }
}
