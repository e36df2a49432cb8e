//! Tests of a long conversation in a window that is much too small.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::{StreamExt, stream};
use haft_core::compact::PendingCompaction;
use haft_core::hooks::{BeforeCompact, CancellationToken, CompactDecision};
use haft_core::model::{
    Model, ModelError, ModelErrorKind, ModelEvent, ModelFacts, ModelId, ModelRequest, ModelResponse,
    ModelStream,
};
use haft_core::session::entry::{Compaction, EntryBody};
use haft_core::tool::{Tool, ToolContext, ToolOutput, ToolSpec};
use haft_core::{Agent, estimated_tokens};
use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent;
use haft_protocol::message::{AssistantBlock, Message, StopCause, TokenUsage};

use crate::fake::{call, spec};
use haft_core::tool::ToolConcurrency;

const WINDOW: u64 = 8_192;

/// Turns per test run; `HAFT_COMPACT_TURNS` sets another count.
const TURNS: usize = 40;

/// A small server: it counts tokens, rejects requests that are too long, and answers a prompt with two steps of tools.
#[derive(Clone, Default)]
struct Small {
    /// The window that the model reports.
    known: Option<u64>,
    refused: Arc<AtomicUsize>,
    summaries: Arc<AtomicUsize>,
    calls: Arc<AtomicUsize>,
    violations: Arc<Mutex<Vec<String>>>,
}

impl Small {
    /// Counts more than a quarter of the bytes, as real providers do for code.
    fn count(request: &ModelRequest) -> u64 {
        let tools: usize = request.tools.iter().map(|tool| tool.schema.as_str().len()).sum();
        let fixed = ((request.system.len() + tools) / 4) as u64;
        let said: u64 = request.messages.iter().map(estimated_tokens).sum();
        (fixed + said) * 11 / 10
    }

    /// Checks that each call has exactly one result, directly after it.
    fn check(&self, messages: &[Message]) {
        let mut open: Vec<String> = Vec::new();
        for message in messages {
            match message {
                Message::Tool(result) => {
                    match open.iter().position(|id| *id == result.call_id.to_string()) {
                        Some(at) => drop(open.remove(at)),
                        None => self.violations.lock().unwrap().push(format!("stray {}", result.call_id)),
                    }
                    continue;
                }
                Message::User { .. } | Message::Assistant(_) if !open.is_empty() => {
                    self.violations.lock().unwrap().push(format!("without results: {open:?}"));
                }
                Message::User { .. } | Message::Assistant(_) => {}
            }
            open = match message {
                Message::Assistant(said) => said.tool_calls().map(|call| call.id.to_string()).collect(),
                Message::User { .. } | Message::Tool(_) => Vec::new(),
            };
        }
    }

    fn answer(&self, request: &ModelRequest) -> (Vec<AssistantBlock>, StopCause) {
        let text = |text: String| vec![AssistantBlock::Text { text }];
        if request.tools.is_empty() {
            let nth = self.summaries.fetch_add(1, Ordering::Relaxed);
            return (text(format!("summary {nth}: {}", "and more ".repeat(200))), StopCause::End);
        }
        let since =
            request.messages.iter().rev().take_while(|message| !matches!(message, Message::User { .. }));
        if since.count() >= 4 {
            return (text("that is done. ".repeat(20)), StopCause::End);
        }
        let nth = self.calls.fetch_add(1, Ordering::Relaxed);
        let path = |at: usize| format!(r#"{{"path":"src/file-{}.rs"}}"#, at % 30);
        let (read, edit) = (format!("r{nth}"), format!("e{nth}"));
        let calls = [call(&read, "read", &path(nth)), call(&edit, "edit", &path(nth / 2))];
        (calls.into_iter().map(AssistantBlock::ToolCall).collect(), StopCause::ToolUse)
    }
}

#[async_trait]
impl Model for Small {
    fn info(&self) -> ModelId {
        ModelId { provider: "small".into(), model: "8k".into() }
    }

    fn facts(&self) -> ModelFacts {
        ModelFacts::default().with_window(self.known)
    }

    async fn stream(&self, _: CancellationToken, request: ModelRequest) -> Result<ModelStream, ModelError> {
        self.check(&request.messages);
        let input = Self::count(&request);
        let (content, stop) = self.answer(&request);
        let output: usize = content.iter().map(|block| serde_json::to_string(block).unwrap().len() / 4).sum();
        if input + output as u64 > WINDOW {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(ModelError::new(ModelErrorKind::Overflow, format!("{input} of {WINDOW} tokens")));
        }
        let usage = TokenUsage::default().with_input(input).with_output(output as u64);
        let done = ModelEvent::Done(ModelResponse::new(content, stop).with_usage(usage));
        Ok(stream::iter([Ok(done)]).boxed())
    }
}

struct Says(&'static str, usize);

#[async_trait]
impl Tool for Says {
    fn spec(&self) -> Arc<ToolSpec> {
        let schema = RawJson::parse(r#"{"type":"object","properties":{"path":{"type":"string"}}}"#).unwrap();
        Arc::new((*spec(self.0, ToolConcurrency::Parallel)).clone().with_schema(schema))
    }

    async fn execute(&self, _: ToolContext, call: ToolCall) -> ToolOutput {
        ToolOutput::text(format!("{}: {}", call.args, "let x = 1;\n".repeat(self.1)))
    }
}

/// Writes every third summary itself.
struct Third(Arc<AtomicUsize>);

#[async_trait]
impl BeforeCompact for Third {
    async fn before_compact(&self, _: &CancellationToken, _: &PendingCompaction) -> CompactDecision {
        match self.0.fetch_add(1, Ordering::Relaxed) % 3 {
            2 => CompactDecision::Replace { summary: "the hook's own summary".into(), first_kept: None },
            _ => CompactDecision::Default,
        }
    }

    fn name(&self) -> &str {
        "third"
    }
}

fn turns() -> usize {
    std::env::var("HAFT_COMPACT_TURNS").map_or(TURNS, |count| count.parse().unwrap())
}

async fn converse(model: &Small) -> Agent {
    let agent = Agent::builder(model.clone())
        .tool(Says("read", 150))
        .tool(Says("edit", 10))
        .before_compact(Third(Arc::default()))
        .build()
        .unwrap();
    for turn in 0..turns() {
        let mut run = agent.prompt(format!("Turn {turn}: {}", "please mind this. ".repeat(turn % 40)));
        while let Some(event) = run.next().await {
            assert!(!matches!(event, AgentEvent::Error { .. }), "turn {turn}: {event:?}");
        }
        run.finish().await.unwrap();
    }
    assert_eq!(*model.violations.lock().unwrap(), Vec::<String>::new());
    agent
}

#[track_caller]
fn last(agent: &Agent) -> Compaction {
    let branch = agent.session().branch();
    let found = branch.iter().rev().find_map(|entry| {
        if let EntryBody::Compaction(found) = &entry.body { Some(found.clone()) } else { None }
    });
    found.unwrap()
}

#[tokio::test]
async fn a_long_conversation_in_a_small_window_never_overflows() {
    let model = Small { known: Some(WINDOW), ..Small::default() };
    let agent = converse(&model).await;
    assert!(model.summaries.load(Ordering::Relaxed) >= turns() / 10);
    // Every edited file is still listed: all thirty after enough turns.
    let files = last(&agent).files_modified;
    assert!(files.len() >= 25, "{files:?}");
    let Some(Message::User { content, .. }) = agent.messages().first().cloned() else { panic!("no summary") };
    let told = haft_protocol::content::joined_text(&content);
    assert!(files.iter().all(|file| told.contains(file)), "{told}");
}

#[tokio::test]
async fn unknown_window_is_found_by_rejections() {
    let model = Small::default();
    let agent = converse(&model).await;
    assert!(model.refused.load(Ordering::Relaxed) >= turns() / 10);
    assert!(last(&agent).files_modified.len() >= 25);
}

#[tokio::test]
async fn a_hook_writes_every_third_summary() {
    let model = Small { known: Some(WINDOW), ..Small::default() };
    let agent = converse(&model).await;
    let mut summaries = 0;
    for _ in 0..3 {
        let Ok(done) = agent.compact(CancellationToken::new(), None).await else { break };
        summaries += usize::from(done.by.as_deref() == Some("third"));
        agent.prompt("More.").finish().await.unwrap();
    }
    assert_eq!(summaries, 1);
}
