//! `skill`: the model receives the text of the source.

use std::sync::Arc;

use haft_core::tool::ToolContext;
use haft_protocol::RawJson;
use haft_protocol::content::{ToolCall, joined_text};
use haft_protocol::ids::ToolCallId;
use haft_tools::{SkillSource, skill_tool};
use tokio_util::sync::CancellationToken;

struct Source;

impl SkillSource for Source {
    fn load(&self, name: &str, file: Option<&str>) -> Result<String, String> {
        match (name, file) {
            ("pdf", None) => Ok("Do it.".into()),
            ("pdf", Some("long.md")) => Ok("line\n".repeat(5000)),
            ("pdf", Some(file)) => Ok(format!("text of {file}")),
            _ => Err(format!("there is no skill {name:?}")),
        }
    }
}

async fn call(args: &str) -> (String, bool) {
    let call =
        ToolCall { id: ToolCallId::new("1"), name: "skill".into(), args: RawJson::parse(args).unwrap() };
    let context = ToolContext::new(CancellationToken::new(), |_| {});
    let output = skill_tool(Arc::new(Source)).execute(context, call).await;
    (joined_text(&output.content), output.is_error)
}

#[tokio::test]
async fn loads_a_skill_or_one_of_its_files() {
    assert_eq!(call(r#"{"name":"pdf"}"#).await, ("Do it.".into(), false));
    assert_eq!(call(r#"{"name":"pdf","file":""}"#).await, ("Do it.".into(), false));
    assert_eq!(call(r#"{"name":"pdf","file":"a.md"}"#).await, ("text of a.md".into(), false));
    assert_eq!(call(r#"{"name":"nope"}"#).await, ("there is no skill \"nope\"".into(), true));
    let (text, is_error) = call(r#"{"names":"pdf"}"#).await;
    assert!(is_error && text.starts_with("invalid arguments for skill: "), "{text}");
    let (long, _) = call(r#"{"name":"pdf","file":"long.md"}"#).await;
    assert!(long.ends_with("of 5000 lines; read the rest of the file with read]"), "{}", long.len());
}
