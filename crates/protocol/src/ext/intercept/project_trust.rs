//! `project_trust`: an extension decides whether the person trusts a project.
//!
//! ```json
//! {"type":"event_intercept","id":"24","event":"project_trust","cwd":"/src/app","digest":"9c1f…","items":["instructions: AGENTS.md"]}
//! {"type":"event_intercept_response","id":"24","trust":"yes","remember":true}
//! ```

use serde::{Deserialize, Serialize};

use super::{EventInterceptResponse, InterceptHook, InterceptKind, read_field};
use crate::ext::answer_error::AnswerError;
use crate::ids::RequestId;
use crate::json::RawJson;
use crate::named_enum::named_enum;

/// Before the files of a project are used about whose trust the person has not decided. Asked once, in
/// a process of the extension for this question alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterceptProjectTrust {
    /// The directory of the project.
    pub cwd: String,
    /// The digest of all files that need trust, as `haft trust --show` prints it.
    pub digest: String,
    /// The parts of the project that need trust, as `haft trust` lists them. Dangerous ones come first
    /// and begin with `!`.
    pub items: Vec<String>,
}

named_enum! {
    /// The opinion about a project.
    pub enum TrustOpinion {
        /// The files are used.
        Yes = "yes",
        /// The files are not used.
        No = "no",
    }
}

/// The decision about a project.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProjectTrustDecision {
    /// The next extension is asked; without an opinion, the project stays untrusted.
    #[default]
    Undecided,
    /// The files are used while they stay as they are.
    Trust {
        /// True if the decision is stored, as `haft trust` does; otherwise it is for this process.
        remember: bool,
    },
    /// The files are not used by this process.
    Distrust,
}

impl InterceptHook for InterceptProjectTrust {
    type Decision = ProjectTrustDecision;

    const KIND: InterceptKind = InterceptKind::ProjectTrust;

    fn read(response: EventInterceptResponse) -> Result<ProjectTrustDecision, AnswerError> {
        if response.is_blocking() {
            return Err(AnswerError::new("project_trust cannot block; answer with \"trust\":\"no\" instead"));
        }
        let remember = read_field("remember", response.remember)?.unwrap_or(false);
        Ok(match read_field("trust", response.trust)? {
            None => ProjectTrustDecision::Undecided,
            Some(TrustOpinion::Yes) => ProjectTrustDecision::Trust { remember },
            Some(TrustOpinion::No) => ProjectTrustDecision::Distrust,
        })
    }

    fn respond(decision: ProjectTrustDecision, id: RequestId) -> EventInterceptResponse {
        let (opinion, remembers) = match decision {
            ProjectTrustDecision::Undecided => (None, false),
            ProjectTrustDecision::Trust { remember } => (Some(TrustOpinion::Yes), remember),
            ProjectTrustDecision::Distrust => (Some(TrustOpinion::No), false),
        };
        EventInterceptResponse {
            trust: opinion.map(|opinion| RawJson::from_value(&opinion).expect("a name is JSON")),
            remember: remembers.then(|| RawJson::from_value(&true).expect("true is JSON")),
            ..EventInterceptResponse::pass_through(id)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(fields: &str, expect: Result<ProjectTrustDecision, &str>) {
        let response = serde_json::from_str(&format!(r#"{{"id":"1"{fields}}}"#)).unwrap();
        let got = InterceptProjectTrust::read(response);
        match (got, expect) {
            (Ok(got), Ok(expect)) => assert_eq!(got, expect, "{fields}"),
            (Err(error), Err(begins)) => assert!(error.to_string().starts_with(begins), "{fields}: {error}"),
            (got, expect) => panic!("{fields}: {got:?} is not {expect:?}"),
        }
    }

    #[test]
    fn only_a_clear_yes_trusts() {
        check("", Ok(ProjectTrustDecision::Undecided));
        check(r#","trust":null,"remember":true"#, Ok(ProjectTrustDecision::Undecided));
        check(r#","trust":"yes""#, Ok(ProjectTrustDecision::Trust { remember: false }));
        check(r#","trust":"yes","remember":true"#, Ok(ProjectTrustDecision::Trust { remember: true }));
        check(r#","trust":"no","remember":true"#, Ok(ProjectTrustDecision::Distrust));
        check(r#","trust":true"#, Err("trust: "));
        check(r#","trust":"maybe""#, Err("trust: "));
        check(r#","trust":"yes","remember":"yes""#, Err("remember: "));
        check(r#","trust":"yes","block":true"#, Err("project_trust cannot block"));
    }

    #[test]
    fn writes_decision_as_it_is_read() {
        for decision in [
            ProjectTrustDecision::Undecided,
            ProjectTrustDecision::Trust { remember: false },
            ProjectTrustDecision::Trust { remember: true },
            ProjectTrustDecision::Distrust,
        ] {
            let response = InterceptProjectTrust::respond(decision, RequestId::new("1"));
            assert_eq!(InterceptProjectTrust::read(response), Ok(decision));
        }
    }
}
