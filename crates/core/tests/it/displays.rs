//! Tests of texts that the user sees in addition to a result.

use async_trait::async_trait;
use haft_core::Agent;
use haft_core::hooks::{
    AfterToolExecute, ApproveTool, ApproverDecision, BeforeToolExecute, CancellationToken, FinishedCall,
    Refusal, ResultDecision, ToolDecision,
};
use haft_core::tool::{DisplayText, ToolOutput};
use haft_protocol::content::ToolCall;
use haft_protocol::ids::ExtensionName;

use crate::fake::{Script, call, calls, run, says, tool};

fn displayed(text: &str) -> ToolOutput {
    let display = DisplayText::new(ExtensionName::new("cache"), text);
    ToolOutput::text("old").with_display(display)
}

/// Answers every call and shows a text.
struct Answers;

#[async_trait]
impl BeforeToolExecute for Answers {
    async fn before_tool_execute(&self, _: &CancellationToken, _: &ToolCall) -> ToolDecision {
        ToolDecision::Respond { output: displayed("answered") }
    }

    fn name(&self) -> &str {
        "cache"
    }
}

/// Approves or denies every call.
struct Approves(bool);

#[async_trait]
impl ApproveTool for Approves {
    async fn approve_tool(&self, _: &CancellationToken, _: &ToolCall) -> ApproverDecision {
        match self.0 {
            true => ApproverDecision::Approve,
            false => ApproverDecision::Deny { reason: "no".into() },
        }
    }
}

/// Shows a text for every result, or ends the turn.
struct Edits(bool);

#[async_trait]
impl AfterToolExecute for Edits {
    async fn after_tool_execute(
        &self,
        _: &CancellationToken,
        _: &FinishedCall,
        _: ToolOutput,
    ) -> ResultDecision {
        match self.0 {
            true => ResultDecision::Show(displayed("edited")),
            false => ResultDecision::Refuse(Refusal::for_turn("secret")),
        }
    }

    fn name(&self) -> &str {
        "redactor"
    }
}

/// Returns the events from the result to the end of the step.
async fn told(agent: Agent) -> Vec<String> {
    let told = run(&agent).await.0.into_iter().skip_while(|line| !line.starts_with("result"));
    told.take_while(|line| !line.starts_with("end")).collect()
}

fn script() -> Script {
    Script::new(vec![calls(vec![call("t1", "echo", "{}")]), says("ok")])
}

const SHOWN: &str = r#"{"type":"ext_display","extension":"cache","text":""#;

#[tokio::test]
async fn display_text_follows_the_final_result() {
    let agent =
        |yes| script().agent().tool(tool("echo", |_| ToolOutput::text("new"))).approve_tool(Approves(yes));
    let answered = |yes| agent(yes).before_tool_execute(Answers).build().unwrap();
    assert_eq!(told(answered(true)).await, ["result t1 (by cache) old", &format!("{SHOWN}answered\"}}")]);
    assert_eq!(told(answered(false)).await, ["result t1 error no"]);
    let edited = agent(true).after_tool_execute(Edits(true));
    let expect = ["result t1 old".to_owned(), format!("{SHOWN}edited\"}}")];
    assert_eq!(told(edited.build().unwrap()).await, expect);
    // A withheld result shows no text.
    let ended = agent(true).after_tool_execute(Edits(true)).after_tool_execute(Edits(false));
    assert_eq!(
        told(ended.build().unwrap()).await,
        ["result t1 error result withheld: redactor ended the turn: secret"]
    );
}
