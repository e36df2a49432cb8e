//! `user_bash`: an extension decides about a shell command of the person.
//!
//! ```json
//! {"type":"event_intercept","id":"12","event":"user_bash","command":"make deploy","cwd":"/src/app","excluded":false}
//! {"type":"event_intercept_response","id":"12","block":true,"reason":"no deployment on Fridays"}
//! {"type":"event_intercept_response","id":"12","result":{"output":"deployed\n","exit_code":0}}
//! ```

use serde::{Deserialize, Serialize};

use super::{EventInterceptResponse, InterceptHook, InterceptKind};
use crate::ext::answer_error::AnswerError;
use crate::ids::RequestId;

/// Before a command that the person wrote as `!command` or `!!command` runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterceptUserBash {
    /// The current command: as it was written, or as an earlier interceptor changed it.
    pub command: String,
    /// The directory in which the command runs.
    pub cwd: String,
    /// True if the model does not get the output: `!!command`.
    pub excluded: bool,
}

/// The result of a command that an extension ran in its own way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UserBashResult {
    /// The output.
    pub output: String,
    /// The exit status; absent if the command was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
}

/// The decision about a command of the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserBashDecision {
    /// The command runs.
    Run,
    /// Another command runs.
    Rewrite {
        /// The command.
        command: String,
    },
    /// The command does not run; this is its result.
    Answer(UserBashResult),
    /// The command does not run.
    Block {
        /// The reason, for the person.
        reason: String,
    },
}

impl InterceptHook for InterceptUserBash {
    type Decision = UserBashDecision;

    const KIND: InterceptKind = InterceptKind::UserBash;

    fn read(response: EventInterceptResponse) -> Result<UserBashDecision, AnswerError> {
        if response.is_blocking() {
            return Ok(UserBashDecision::Block { reason: response.reason });
        }
        match (response.result, response.command) {
            (Some(_), Some(_)) => Err(AnswerError::new("has both command and result")),
            (Some(result), None) => Ok(UserBashDecision::Answer(*result)),
            (None, Some(command)) if command.trim().is_empty() => Err(AnswerError::new("command: is empty")),
            (None, Some(command)) => Ok(UserBashDecision::Rewrite { command }),
            (None, None) => Ok(UserBashDecision::Run),
        }
    }

    fn respond(decision: UserBashDecision, id: RequestId) -> EventInterceptResponse {
        let mut response = EventInterceptResponse::pass_through(id);
        match decision {
            UserBashDecision::Run => {}
            UserBashDecision::Rewrite { command } => response.command = Some(command),
            UserBashDecision::Answer(result) => response.result = Some(Box::new(result)),
            UserBashDecision::Block { reason } => (response.block, response.reason) = (Some(true), reason),
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(fields: &str, expect: Result<UserBashDecision, &str>) {
        let response = serde_json::from_str(&format!(r#"{{"id":"1"{fields}}}"#)).unwrap();
        let got = InterceptUserBash::read(response);
        assert_eq!(got.map_err(|error| error.to_string()), expect.map_err(str::to_owned), "{fields}");
    }

    #[test]
    fn reads_commands_results_and_blocks() {
        let result = |output: &str, exit_code| {
            Ok(UserBashDecision::Answer(UserBashResult { output: output.into(), exit_code }))
        };
        check("", Ok(UserBashDecision::Run));
        check(r#","block":false,"command":null,"result":null"#, Ok(UserBashDecision::Run));
        check(r#","command":"ls -1""#, Ok(UserBashDecision::Rewrite { command: "ls -1".into() }));
        check(r#","command":" ""#, Err("command: is empty"));
        check(r#","result":{"output":"a"}"#, result("a", None));
        check(r#","result":{"output":"a","exit_code":-1}"#, result("a", Some(-1)));
        check(r#","result":{"output":"a"},"command":"b""#, Err("has both command and result"));
        check(
            r#","block":true,"reason":"no","command":"b""#,
            Ok(UserBashDecision::Block { reason: "no".into() }),
        );
    }
}
