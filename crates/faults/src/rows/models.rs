//! Group M: model servers that send too much.

use anyhow::{Context, Result, ensure};
use futures::StreamExt;
use haft_core::model::{Model, ModelError, ModelRequest};
use haft_protocol::content::ContentBlock;
use haft_protocol::message::{Message, Rfc3339Time};
use haft_providers::{ApiDialect, HttpModel, ModelConfig};
use haft_test_support::model_server::{ModelServer, Scenario, WireFormat};
use tokio_util::sync::CancellationToken;

use crate::defense::{Defense, take_down};
use crate::oracle::{live_bytes, peak_bytes};
use crate::row::{CASE, FaultCase, FaultRow};
use crate::world::World;

/// The memory that an answer may need, together with the server in the same process.
const MEMORY: usize = 64 * 1024 * 1024;

pub(crate) const ROWS: &[FaultRow] = &[FaultRow {
    id: "M-01",
    title: "a model server sends 1,100 tool calls in one answer",
    cases: &[FaultCase { play: |world| Box::pin(too_many_calls(world)), ..CASE }],
    undefend: Some(|_| take_down(Defense::AnswerBudget)),
}];

async fn too_many_calls(world: &mut World) -> Result<()> {
    world.mark("too many calls")?;
    let add_call = |scenario: Scenario, number| scenario.tool(&format!("call_{number}"), "weather", "{}");
    let scenario = || (0..1_100).fold(Scenario::new(), add_call).cut_every(0);
    check(scenario, "the answer has more than 1024 texts and tool calls").await
}

/// Checks that a request ends in this error for each dialect that streams arguments, with little memory.
async fn check(scenario: impl Fn() -> Scenario, says: &str) -> Result<()> {
    for (wire, dialect, model) in [
        (WireFormat::Anthropic, ApiDialect::AnthropicMessages, "claude-sonnet-4-6"),
        (WireFormat::OpenAiResponses, ApiDialect::OpenAiResponses, "gpt-5.6"),
    ] {
        let server = ModelServer::start(wire, vec![scenario()]).await;
        let mut config = ModelConfig::new(dialect, "server", model);
        config.base_url = Some(server.base_url());
        let model = HttpModel::new(config)?;
        let before = live_bytes().max(peak_bytes());
        let error = answer_error(&model).await?;
        ensure!(error.message.contains(says), "{wire:?}: {error}");
        let used = peak_bytes().saturating_sub(before);
        ensure!(used < MEMORY, "{wire:?}: the answer needed {used} bytes");
    }
    Ok(())
}

/// Sends a prompt and returns the error.
async fn answer_error(model: &HttpModel) -> Result<ModelError> {
    let content = vec![ContentBlock::text("hello")];
    let prompt = Message::User { content, time: Rfc3339Time("2026-01-01T00:00:00Z".into()) };
    let request = ModelRequest::new(vec![prompt]);
    let mut answer = model.stream(CancellationToken::new(), request).await?;
    let mut last = None;
    while let Some(item) = answer.next().await {
        last = Some(item);
    }
    last.context("the answer has no end")?.err().context("the answer was accepted")
}
