//! Tests of the log's records of interventions in a result, a message or a turn.

use async_trait::async_trait;
use haft_core::Agent;
use haft_core::hooks::{
    AfterToolExecute, BeforeAssistantMessage, BeforeTurn, CancellationToken, FinishedCall, MessageDecision,
    ResultDecision, TurnDecision,
};
use haft_core::session::entry::EntryBody;
use haft_core::session::intervention::HookIntervention;
use haft_core::tool::ToolOutput;
use haft_protocol::message::{Message, StopCause};

use crate::fake::{Script, answer, call, run, says, tool};

/// Returns the entries of the log from the first answer on: messages, and interventions with their hooks.
fn marks(agent: &Agent) -> Vec<String> {
    let line = |body: &EntryBody| match body {
        EntryBody::MessageEntry(said) => Some(role(&said.message).to_owned()),
        EntryBody::Custom(custom) => HookIntervention::from_custom(custom).map(|it| {
            let call = it.call_id.map(|id| format!("{id} ")).unwrap_or_default();
            format!("{call}{} {}", it.action.verb(), it.by.join(","))
        }),
        EntryBody::ToolStart(_) => Some("start".to_owned()),
        _ => None,
    };
    agent.session().branch().iter().filter_map(|entry| line(&entry.body)).collect()
}

fn role(message: &Message) -> &'static str {
    match message {
        Message::User { .. } => "user",
        Message::Assistant(_) => "assistant",
        Message::Tool(_) => "tool",
    }
}

/// Removes a word from results.
struct Hides(&'static str);

#[async_trait]
impl AfterToolExecute for Hides {
    async fn after_tool_execute(
        &self,
        _: &CancellationToken,
        _: &FinishedCall,
        output: ToolOutput,
    ) -> ResultDecision {
        let text = haft_protocol::content::joined_text(&output.content);
        output.with_content(ToolOutput::text(text.replace(self.0, "…")).content).into()
    }

    fn name(&self) -> &str {
        self.0
    }
}

#[tokio::test]
async fn records_hooks_that_changed_a_result() {
    let one = answer(Some("look"), vec![call("t1", "echo", "{}")], StopCause::ToolUse);
    let agent = Script::new(vec![one, says("ok")])
        .agent()
        .tool(tool("echo", |_| ToolOutput::text("a key and a word")))
        .after_tool_execute(Hides("key"))
        .after_tool_execute(Hides("nothing"))
        .after_tool_execute(Hides("word"))
        .build()
        .unwrap();
    run(&agent).await.1.unwrap();
    assert_eq!(
        marks(&agent),
        ["user", "assistant", "start", "t1 result changed by key,word", "tool", "assistant"]
    );
}

/// Replaces or suppresses a message for the user.
struct Censor(MessageDecision);

#[async_trait]
impl BeforeAssistantMessage for Censor {
    async fn before_assistant_message(&self, _: &CancellationToken, _: &str) -> MessageDecision {
        self.0.clone()
    }

    fn name(&self) -> &str {
        "censor"
    }
}

#[tokio::test]
async fn records_hooks_that_changed_a_message() {
    let replace = |text: &str| MessageDecision::Replace { text: text.into() };
    let suppress = MessageDecision::Suppress { reason: String::new() };
    for (decision, mark) in [
        (replace("hm"), Some("message replaced by censor")),
        (suppress, Some("message hidden by censor")),
        (replace("ok"), None),
        (MessageDecision::Show, None),
    ] {
        let agent =
            Script::new(vec![says("ok")]).agent().before_assistant_message(Censor(decision)).build().unwrap();
        run(&agent).await.1.unwrap();
        let expect: Vec<&str> = ["user", "assistant"].into_iter().chain(mark).collect();
        assert_eq!(marks(&agent), expect);
    }
}

/// Allows one step.
struct Once;

#[async_trait]
impl BeforeTurn for Once {
    async fn before_turn(&self, _: &CancellationToken, step: u32) -> TurnDecision {
        match step {
            1 => TurnDecision::Allow,
            2 => TurnDecision::Block { reason: "late".into() },
            _ => panic!("the turn is over"),
        }
    }

    fn name(&self) -> &str {
        "clock"
    }
}

#[tokio::test]
async fn records_hook_that_blocked_a_turn() {
    let one = answer(None, vec![call("t1", "echo", "{}")], StopCause::ToolUse);
    let echo = tool("echo", |_| ToolOutput::text(""));
    let agent = Script::new(vec![one]).agent().tool(echo).before_turn(Once).build().unwrap();
    run(&agent).await.1.unwrap_err();
    assert_eq!(marks(&agent), ["user", "assistant", "start", "tool", "turn ended by clock"]);
}
