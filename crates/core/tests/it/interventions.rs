//! What hooks did to a result, a message or a turn is in the log, for people who read it.

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

/// What happened in the log, from the first answer on: messages, and what was done by whom.
fn marks(agent: &Agent) -> Vec<String> {
    let line = |body: &EntryBody| match body {
        EntryBody::Said(said) => Some(role(&said.message).to_owned()),
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

/// Takes a word out of results.
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
        ToolOutput { content: ToolOutput::text(text.replace(self.0, "…")).content, ..output }.into()
    }

    fn name(&self) -> &str {
        self.0
    }
}

#[tokio::test]
async fn a_result_that_was_changed_says_by_whom() {
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

/// Has the user see something else, or nothing.
struct Censor(MessageDecision);

#[async_trait]
impl BeforeAssistantMessage for Censor {
    async fn before_assistant_message(&self, _: &CancellationToken, _: &str) -> MessageDecision {
        self.0.clone()
    }
}

#[tokio::test]
async fn a_message_that_the_user_did_not_see_says_because_of_whom() {
    let replace = |text: &str| MessageDecision::Replace { by: "censor".into(), text: text.into() };
    let suppress = MessageDecision::Suppress { by: "censor".into(), reason: String::new() };
    for (decision, mark) in [
        (replace("hm"), Some("shown otherwise by censor")),
        (suppress, Some("not shown because of censor")),
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
            2 => TurnDecision::Block { by: "clock".into(), reason: "late".into() },
            _ => panic!("the turn is over"),
        }
    }
}

#[tokio::test]
async fn a_turn_that_was_blocked_says_by_whom() {
    let one = answer(None, vec![call("t1", "echo", "{}")], StopCause::ToolUse);
    let echo = tool("echo", |_| ToolOutput::text(""));
    let agent = Script::new(vec![one]).agent().tool(echo).before_turn(Once).build().unwrap();
    run(&agent).await.1.unwrap_err();
    assert_eq!(marks(&agent), ["user", "assistant", "start", "tool", "turn ended by clock"]);
}
