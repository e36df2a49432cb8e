//! A hook of each kind, and the order in which they are asked. `cargo run -p haft-example-embed --bin every-hook`

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::sync::Arc;

use async_trait::async_trait;
use haft_core::compact::PendingCompaction;
use haft_core::hooks::*;
use haft_core::prelude::{Agent, function};
use haft_core::protocol::content::{InputSource, ToolCall};
use haft_core::protocol::event::AgentEvent;
use haft_core::tool::NoArgs;
use haft_example_embed::scripted;

/// Watches and decides everything.
struct House;

/// Asked by `Agent::review_input`: here a prefix becomes an instruction.
#[async_trait]
impl OnInput for House {
    async fn on_input(&self, _: &CancellationToken, input: &UserInput) -> UserInputDecision {
        println!("on_input");
        match input.text.strip_prefix("?quick ") {
            Some(rest) => {
                UserInputDecision::Change(UserInput::new(format!("Answer briefly: {rest}"), input.source))
            }
            None => UserInputDecision::Keep,
        }
    }
}

/// Adds to the system prompt of a run.
#[async_trait]
impl BeforeAgentStart for House {
    async fn before_agent_start(&self, _: &CancellationToken, start: &AgentStart) -> AgentStartAdditions {
        println!("before_agent_start: {} block", start.prompt.len());
        PromptSection::from("The house is open until 9.").into()
    }
}

/// Can end the run before a step.
#[async_trait]
impl BeforeTurn for House {
    async fn before_turn(&self, _: &CancellationToken, step: u32) -> TurnDecision {
        println!("before_turn: {step}");
        TurnDecision::Allow
    }
}

/// Can change a request before it is encoded.
#[async_trait]
impl BeforeModelRequest for House {
    async fn before_model_request(
        &self,
        _: &CancellationToken,
        request: &OutgoingRequest,
    ) -> RequestDecision {
        println!("before_model_request: {} messages", request.messages.len());
        RequestDecision::Send
    }
}

/// Can change the encoded request of an `HttpModel`; the scripted model encodes none.
#[async_trait]
impl BeforeProviderRequest for House {
    async fn before_provider_request(
        &self,
        _: &CancellationToken,
        request: &ProviderRequest,
    ) -> ProviderRequestDecision {
        println!("before_provider_request: {}", request.model.provider);
        ProviderRequestDecision::Change { payload: None, headers: vec![("x-house".into(), "tea".into())] }
    }
}

/// Can change an answer before it is recorded.
#[async_trait]
impl AfterModelResponse for House {
    async fn after_model_response(
        &self,
        _: &CancellationToken,
        response: &ReceivedResponse,
    ) -> ResponseDecision {
        println!("after_model_response: {} block", response.content.len());
        ResponseDecision::Keep
    }
}

/// Can change what the user sees of an answer.
#[async_trait]
impl BeforeAssistantMessage for House {
    async fn before_assistant_message(&self, _: &CancellationToken, text: &str) -> MessageDecision {
        println!("before_assistant_message: {text}");
        MessageDecision::Show
    }
}

/// Can change, answer or block a call.
#[async_trait]
impl BeforeToolExecute for House {
    async fn before_tool_execute(&self, _: &CancellationToken, call: &ToolCall) -> ToolDecision {
        println!("before_tool_execute: {}", call.name);
        ToolDecision::Allow
    }
}

/// Approves a call, for example after a question to a person.
#[async_trait]
impl ApproveTool for House {
    async fn approve_tool(&self, _: &CancellationToken, call: &ToolCall) -> ApproverDecision {
        println!("approve_tool: {}", call.name);
        allow()
    }
}

/// Can change a result before the model reads it.
#[async_trait]
impl AfterToolExecute for House {
    async fn after_tool_execute(
        &self,
        _: &CancellationToken,
        finished: &FinishedCall,
        output: haft_core::tool::ToolOutput,
    ) -> ResultDecision {
        println!("after_tool_execute: {}", finished.call.name);
        output.into()
    }
}

/// Can continue a run that would end.
#[async_trait]
impl BeforeSettle for House {
    async fn before_settle(&self, _: &CancellationToken, run: &SettlingRun) -> SettleDecision {
        println!("before_settle: {}", run.text);
        match run.continued {
            0 => SettleDecision::GoOn { text: "Say it in one word.".into() },
            _ => SettleDecision::Settle,
        }
    }
}

/// Is waited for at points of a run; decides nothing.
#[async_trait]
impl OnWaitPoint for House {
    async fn on_wait_point(&self, _: &CancellationToken, point: &WaitPoint) {
        if let WaitPoint::AgentEnd { .. } = point {
            println!("on_wait_point: the run ends");
        }
    }
}

/// Sees every event; decides nothing.
impl Observer for House {
    fn observe(&self, event: &AgentEvent) {
        if let AgentEvent::Done = event {
            println!("observe: done");
        }
    }
}

/// Can write the summary of a compaction.
#[async_trait]
impl BeforeCompact for House {
    async fn before_compact(&self, _: &CancellationToken, about: &PendingCompaction) -> CompactDecision {
        println!("before_compact: {} entries", about.entries.len());
        CompactDecision::Default
    }
}

/// Asked by `Agent::review_user_bash`: here `sudo` is removed.
#[async_trait]
impl OnUserBash for House {
    async fn on_user_bash(&self, _: &CancellationToken, bash: &UserBash) -> BashDecision {
        println!("on_user_bash: {}", bash.command);
        match bash.command.strip_prefix("sudo ") {
            Some(rest) => BashDecision::Rewrite { command: rest.to_owned() },
            None => BashDecision::Run,
        }
    }
}

/// Asked by `Agent::review_switch`.
#[async_trait]
impl BeforeSwitch for House {
    async fn before_switch(&self, _: &CancellationToken, _: &PendingSwitch) -> SessionChangeDecision {
        println!("before_switch");
        SessionChangeDecision::Continue
    }
}

/// Asked by `Agent::review_fork`.
#[async_trait]
impl BeforeFork for House {
    async fn before_fork(&self, _: &CancellationToken, _: &PendingFork) -> SessionChangeDecision {
        println!("before_fork");
        SessionChangeDecision::Continue
    }
}

/// Asked by `Agent::review_move`: can summarize the branch that the session leaves.
#[async_trait]
impl BeforeTree for House {
    async fn before_tree(&self, _: &CancellationToken, pending: &PendingMove) -> BranchDecision {
        println!("before_tree: {} entries are left", pending.left.len());
        BranchDecision::Continue
    }
}

/// Adds the value to each list of hooks.
fn all_hooks(house: Arc<House>) -> HookSet {
    let mut hooks = HookSet::default();
    hooks.on_input.push(house.clone());
    hooks.before_agent_start.push(house.clone());
    hooks.before_turn.push(house.clone());
    hooks.before_model_request.push(house.clone());
    hooks.before_provider_request.push(house.clone());
    hooks.after_model_response.push(house.clone());
    hooks.before_assistant_message.push(house.clone());
    hooks.before_tool_execute.push(house.clone());
    hooks.approve_tool.push(house.clone());
    hooks.after_tool_execute.push(house.clone());
    hooks.before_settle.push(house.clone());
    hooks.wait_points.push(house.clone());
    hooks.observers.push(house.clone());
    hooks.before_compact.push(house.clone());
    hooks.on_user_bash.push(house.clone());
    hooks.before_switch.push(house.clone());
    hooks.before_fork.push(house.clone());
    hooks.before_tree.push(house);
    hooks
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = scripted(
        r#"[{"say": [{"call": {"name": "clock", "args": {}}}]}, {"say": [{"text": "It is noon."}]},
            {"say": [{"text": "Noon."}]}, {"say": [{"text": "Noon."}]}]"#,
    )?;
    let clock = function("clock", "Returns the time.", |NoArgs {}, _| async {
        "12:00, a minute after the bell of the town hall has rung for the second time on this sunny day in May"
    });
    let agent = Agent::builder(model).tool(clock).hooks(all_hooks(Arc::new(House))).build()?;
    let cancel = CancellationToken::new();

    let typed = UserInput::new("?quick What time is it?", InputSource::Rpc);
    if let Some(input) = agent.review_input(&cancel, typed).await {
        println!("prompt: {}", input.text);
        agent.prompt(input).await?;
    }
    agent.compact(cancel, None).await?;
    println!("compacted");
    Ok(())
}
