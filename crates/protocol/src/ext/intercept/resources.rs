//! `resources`: an extension adds skills and prompt templates.
//!
//! ```json
//! {"type":"event_intercept","id":"23","event":"resources","cwd":"/src/app","reason":"startup"}
//! {"type":"event_intercept_response","id":"23","skills":["skills"],"templates":["prompts/review.md"]}
//! ```

use serde::{Deserialize, Serialize};

use super::{EventInterceptResponse, InterceptHook, InterceptKind, read_field};
use crate::ext::answer_error::AnswerError;
use crate::ids::RequestId;
use crate::json::RawJson;
use crate::named_enum::named_enum;

/// The maximum number of paths in `skills`, and in `templates`.
pub const MAX_RESOURCE_PATHS: usize = 32;

/// The maximum length of a path in `skills` and `templates`, in bytes.
pub const MAX_RESOURCE_PATH: usize = 4096;

named_enum! {
    /// The reason why the host asks for resources.
    pub enum ResourcesReason {
        /// The session was opened and the extension is ready.
        Startup = "startup",
        /// Extensions were loaded again: `reload_ext`.
        Reload = "reload",
    }
}

/// Before the first prompt of a session, and after a reload of extensions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterceptResources {
    /// The working directory of the session.
    pub cwd: String,
    /// The reason for the question.
    pub reason: ResourcesReason,
}

/// The files that an extension adds. They are in effect until the next question. Each path is a file
/// or a directory, absolute or relative to the extension's directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourcesDecision {
    /// The skills: a skill's directory, its `SKILL.md`, or a directory that contains skills.
    pub skills: Vec<String>,
    /// The prompt templates: a Markdown file, or a directory that contains some.
    pub templates: Vec<String>,
}

impl InterceptHook for InterceptResources {
    type Decision = ResourcesDecision;

    const KIND: InterceptKind = InterceptKind::Resources;

    fn read(response: EventInterceptResponse) -> Result<ResourcesDecision, AnswerError> {
        if response.is_blocking() {
            return Err(AnswerError::new("resources cannot block; answer without paths instead"));
        }
        Ok(ResourcesDecision {
            skills: read_paths("skills", response.skills)?,
            templates: read_paths("templates", response.templates)?,
        })
    }

    fn respond(decision: ResourcesDecision, id: RequestId) -> EventInterceptResponse {
        EventInterceptResponse {
            skills: write_paths(&decision.skills),
            templates: write_paths(&decision.templates),
            ..EventInterceptResponse::pass_through(id)
        }
    }
}

fn read_paths(name: &str, field: Option<RawJson>) -> Result<Vec<String>, AnswerError> {
    let paths: Vec<String> = read_field(name, field)?.unwrap_or_default();
    if paths.len() > MAX_RESOURCE_PATHS {
        return Err(AnswerError::new(format!("{name}: has more than {MAX_RESOURCE_PATHS} paths")));
    }
    let is_wrong = |path: &String| path.is_empty() || path.contains('\0');
    if paths.iter().any(is_wrong) {
        return Err(AnswerError::new(format!("{name}: has an empty path or a path with a null character")));
    }
    match paths.iter().any(|path| path.len() > MAX_RESOURCE_PATH) {
        true => Err(AnswerError::new(format!("{name}: has a path of more than {MAX_RESOURCE_PATH} bytes"))),
        false => Ok(paths),
    }
}

fn write_paths(paths: &[String]) -> Option<RawJson> {
    (!paths.is_empty()).then(|| RawJson::from_value(paths).expect("a list of strings is JSON"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(fields: &str, expect: Result<(&[&str], &[&str]), &str>) {
        let response = serde_json::from_str(&format!(r#"{{"id":"1"{fields}}}"#)).unwrap();
        let got = InterceptResources::read(response);
        let owned = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
        let expect = expect.map(|(skills, templates)| ResourcesDecision {
            skills: owned(skills),
            templates: owned(templates),
        });
        assert_eq!(got.map_err(|error| error.to_string()), expect.map_err(str::to_owned), "{fields}");
    }

    #[test]
    fn reads_paths_within_limits() {
        check("", Ok((&[], &[])));
        check(r#","skills":null,"templates":[]"#, Ok((&[], &[])));
        check(r#","skills":["a","/b"],"templates":["c.md"]"#, Ok((&["a", "/b"], &["c.md"])));
        check(r#","block":true"#, Err("resources cannot block; answer without paths instead"));
        check(r#","skills":["a",""]"#, Err("skills: has an empty path or a path with a null character"));
        check(
            r#","templates":["a\u0000"]"#,
            Err("templates: has an empty path or a path with a null character"),
        );
        let long = format!(r#","skills":["{}"]"#, "a".repeat(MAX_RESOURCE_PATH + 1));
        check(&long, Err("skills: has a path of more than 4096 bytes"));
        let many = format!(r#","templates":[{}]"#, vec![r#""a""#; MAX_RESOURCE_PATHS + 1].join(","));
        check(&many, Err("templates: has more than 32 paths"));
        let wrong = r#","skills":"a""#;
        let response = serde_json::from_str(&format!(r#"{{"id":"1"{wrong}}}"#)).unwrap();
        let error = InterceptResources::read(response).unwrap_err().to_string();
        assert!(error.starts_with("skills: invalid type: string"), "{error}");
    }

    #[test]
    fn writes_paths_as_they_are_read() {
        let decision = ResourcesDecision { skills: vec!["a".into()], templates: Vec::new() };
        let response = InterceptResources::respond(decision.clone(), RequestId::new("1"));
        assert_eq!(response.templates, None);
        assert_eq!(InterceptResources::read(response), Ok(decision));
    }
}
