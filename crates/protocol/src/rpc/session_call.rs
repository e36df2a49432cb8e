//! Commands as calls of extensions: `host_call` with the name and the fields of a command.
//!
//! ```json
//! {"type":"host_call","id":"c1","call":"set_name","args":{"name":"bakery"}}
//! {"type":"host_result","id":"c1","content":[]}
//! ```

use super::{Command, CommandKind, ErrorCode, RpcRequest};
use crate::codec::PlainSpan;
use crate::event::HostCallError;
use crate::ext::{HostCallKind, HostCallTarget};
use crate::json::RawJson;
use crate::reader::{CheckedJson, JsonForm};

impl RpcRequest {
    /// Reads a call to the session as a command. Returns `None` for the other calls.
    ///
    /// # Errors
    /// The invalid field, as text.
    pub fn from_host_call(
        kind: HostCallKind,
        args: &RawJson,
        session: Option<String>,
    ) -> Option<Result<Self, String>> {
        if kind.target() != HostCallTarget::Session {
            return None;
        }
        let kind = CommandKind::from_name(kind.name())?;
        if kind == CommandKind::SwitchSession && session.is_none() {
            return Some(Err("missing field `session`".to_owned()));
        }
        let text = CheckedJson { text: args.as_str(), form: JsonForm::Any, longest: PlainSpan::default() };
        let command = Command::read(kind, text);
        Some(command.map(|command| Self { id: None, command, session }))
    }
}

impl From<ErrorCode> for HostCallError {
    /// Returns the error of a command, which has the same name. Wrong fields are wrong arguments of the
    /// call.
    fn from(code: ErrorCode) -> Self {
        if code == ErrorCode::BadRequest {
            return Self::InvalidArgs;
        }
        Self::from_name(code.name()).unwrap_or(Self::Failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: HostCallKind, args: &str, expect: Result<&str, &str>) {
        let read = RpcRequest::from_host_call(kind, &RawJson::parse(args).unwrap(), None).unwrap();
        let read = read.map(|request| serde_json::to_string(&request).unwrap());
        assert_eq!(read.as_deref(), expect.map_err(str::to_owned).as_ref().map(|text| *text));
    }

    #[test]
    fn every_call_to_the_session_is_a_command() {
        for kind in HostCallKind::ALL.iter().filter(|kind| kind.target() == HostCallTarget::Session) {
            assert!(CommandKind::from_name(kind.name()).is_some(), "{kind}");
        }
        let none = RpcRequest::from_host_call(HostCallKind::Exec, &RawJson::empty_object(), None);
        assert_eq!(none, None);
    }

    #[test]
    fn fields_of_a_call_are_those_of_the_command() {
        check(HostCallKind::SetName, r#"{"name":"x","later":1}"#, Ok(r#"{"type":"set_name","name":"x"}"#));
        check(HostCallKind::SwitchSession, "{}", Err("missing field `session`"));
        check(HostCallKind::Prompt, "{}", Err("missing field `message`"));
    }

    #[test]
    fn error_of_a_command_keeps_its_name() {
        // These are errors of lines of a client, or of its own questions.
        let of_lines = [
            ErrorCode::Malformed,
            ErrorCode::LineTooLong,
            ErrorCode::UnknownCommand,
            ErrorCode::BadRequest,
            ErrorCode::AuthRequired,
            ErrorCode::AuthFailed,
            ErrorCode::NotOpen,
        ];
        for code in ErrorCode::ALL.iter().filter(|code| !of_lines.contains(code)) {
            assert_eq!(HostCallError::from(*code).name(), code.name());
        }
        assert_eq!(HostCallError::from(ErrorCode::BadRequest), HostCallError::InvalidArgs);
    }
}
