//! `AuthGate`: checks that a client may drive the process.
//!
//! With a token configured, no command runs before `hello` has presented it, and a wrong token ends
//! the connection.

use std::hint::black_box;

use haft_protocol::rpc::{AuthToken, Command, CommandFailure, CommandKind, ErrorCode, RpcResponse};

/// Admits commands: all of them without a token, otherwise only after `hello` has presented it.
#[derive(Debug, Default)]
pub(crate) struct AuthGate {
    /// The expected token; `None` after the client has presented it.
    token: Option<AuthToken>,
}

/// The refusal of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AuthRefusal {
    /// The reply; the client may send another command.
    Closed(CommandFailure),
    /// The reply; the connection then ends.
    Wrong(CommandFailure),
}

impl AuthGate {
    /// Creates a gate with this token. No token or an empty one admits all clients.
    pub(crate) fn new(token: Option<AuthToken>) -> Self {
        Self { token: token.filter(|token| Self::requires_token(Some(token))) }
    }

    pub(crate) fn requires_token(token: Option<&AuthToken>) -> bool {
        token.is_some_and(|token| !token.0.is_empty())
    }

    /// Checks that the command may run.
    ///
    /// # Errors
    /// [`AuthRefusal`], which determines whether the connection continues.
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

    /// Returns the reply to an unreadable command. Before authentication the reply is a refusal,
    /// unless the command is a wrong `hello`.
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

/// Compares two tokens in a time that does not depend on their first difference.
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
        "wrong token; restart with the right token",
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
    fn admits_all_commands_without_a_token() {
        check(None, &[ping(), hello(None), hello(Some("x"))], &[Ok(()), Ok(()), Ok(())]);
        check(Some(""), &[ping()], &[Ok(())]);
    }

    #[test]
    fn token_is_required_first_and_once() {
        let commands = [ping(), hello(None), hello(Some("s3cret")), ping(), hello(Some("x")), hello(None)];
        let expect = [Err(missing_token()), Err(missing_token()), Ok(()), Ok(()), Ok(()), Ok(())];
        check(Some("s3cret"), &commands, &expect);
    }

    #[test]
    fn rejects_any_wrong_token() {
        for token in ["", "s", "s3cre", "s3crets", "S3cret", "s3creT"] {
            check(Some("s3cret"), &[hello(Some(token)), ping()], &[Err(wrong_token()), Err(missing_token())]);
        }
    }
}
