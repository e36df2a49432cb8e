//! The setup of a session: model, thinking level, tools.

use std::sync::Arc;

use haft_core::SessionStats;
use haft_core::model::ModelId;
use haft_protocol::rpc;
use haft_protocol::rpc::{
    CommandFailure, ErrorCode, GetModels, HelloData, ModelData, ModelsData, PROTOCOL_VERSION, SetModel,
    SetThinking, SetTools, StateData, ThinkingData, ToolsData, ToolsSet, capability,
};
use haft_protocol::thinking::ThinkingLevel;
use tokio_util::sync::CancellationToken;

use super::outcome::{CommandExecution, ReplyResult, reply_data};
use super::{messages, session};
use crate::command_scheduler::CommandScheduler;
use crate::question_broker::QuestionBroker;
use crate::session_provider::{OpenedSession, SessionProvider};
use crate::shorten_name;

/// Lists the available models, always including the session's model.
pub(super) fn get_models(
    session: Option<&OpenedSession>,
    sessions: Arc<impl SessionProvider>,
    ending: CancellationToken,
    wish: GetModels,
) -> CommandExecution {
    let asked = session.map(|session| (session.agent.model(), session.agent.model_facts()));
    CommandExecution::until_cancelled(ending, async move {
        let mut models = sessions.models().await?;
        let own = asked.as_ref().map(|(info, _)| info.provider.clone());
        for known in models.iter_mut().filter(|known| Some(&known.provider) == own.as_ref()) {
            known.available = None;
        }
        if let Some((ModelId { provider, model }, facts)) = asked
            && !models.iter().any(|known| known.provider == provider && known.id == model)
        {
            let thinks = facts.thinking.as_ref();
            models.push(rpc::ModelInfo {
                reasoning: thinks
                    .is_some_and(|levels| levels.iter().any(|level| *level != ThinkingLevel::Off)),
                id: model,
                provider,
                context_window: facts.window.unwrap_or_default(),
                max_output: facts.max_output.unwrap_or_default(),
                name: facts.name,
                thinking: facts.thinking,
                images: facts.images,
                prices: None,
                available: None,
            });
        }
        models.retain(|known| wish.all == Some(true) || known.is_available());
        models.sort_by_key(|known| !known.is_available());
        reply_data(ModelsData { models })
    })
}

pub(super) fn set_model(
    session: &Arc<OpenedSession>,
    sessions: Arc<impl SessionProvider>,
    closing: CancellationToken,
    wish: SetModel,
) -> CommandExecution {
    let asked = session.agent.model();
    if wish.model == asked.model || wish.model == asked.to_string() {
        // The session already uses the model of this name.
        return CommandExecution::Now(reply_data(ModelData { provider: asked.provider, model: asked.model }));
    }
    let session = Arc::clone(session);
    CommandExecution::until_cancelled(closing, async move {
        let model = sessions.model(&wish.model, &session.agent.model()).await?;
        let ModelId { provider, model: id } = model.info();
        session.agent.set_model(model);
        reply_data(ModelData { provider, model: id })
    })
}

pub(super) fn set_thinking(session: &OpenedSession, wish: SetThinking) -> ReplyResult {
    session.agent.set_thinking(wish.level);
    reply_data(ThinkingData { level: session.agent.model_facts().clamp_thinking(wish.level) })
}

pub(super) fn get_tools(session: &OpenedSession) -> ReplyResult {
    session.offer_tools();
    reply_data(ToolsData { tools: session.agent.tool_infos() })
}

pub(super) fn set_tools(session: &OpenedSession, wish: SetTools) -> ReplyResult {
    session.offer_tools();
    session.agent.set_active_tools(wish.tools);
    let active = session.agent.tools().iter().map(|tool| tool.name.clone()).collect();
    reply_data(ToolsSet { active })
}

/// Replies to `hello` after a check that a tool exists for each name in `approve`. Waits for the extensions only if a
/// name is unknown. The approvals are in effect meanwhile, and stay in effect if a name is unknown.
pub(super) fn check_approvals(
    session: Arc<OpenedSession>,
    questions: QuestionBroker,
    ending: CancellationToken,
    reply: ReplyResult,
) -> CommandExecution {
    let unknown = move |session: &OpenedSession| {
        session.offer_tools();
        questions.unknown_approvals(&session.agent.all_tools())
    };
    if unknown(&session).is_empty() {
        return CommandExecution::Now(reply);
    }
    CommandExecution::until_cancelled(ending, async move {
        if let Some(host) = session.host() {
            host.wait_until_settled().await;
        }
        match unknown(&session).first() {
            None => reply,
            Some(name) => Err(unknown_approval(name, &session)),
        }
    })
}

fn unknown_approval(name: &str, session: &OpenedSession) -> CommandFailure {
    let tools = session.agent.all_tools();
    let known: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let error =
        format!("approve: unknown tool {:?}; available tools: {}", shorten_name(name), known.join(", "));
    CommandFailure::new(ErrorCode::BadRequest, error)
}

/// Returns the data for `hello`. `current` is the current session; provider and model are those of the requested
/// session.
pub(super) fn hello_data(version: &str, current: &str, session: Option<&OpenedSession>) -> ReplyResult {
    let model = session.map(|session| session.agent.model());
    let (provider, model) = model.map(|model| (model.provider, model.model)).unwrap_or_default();
    reply_data(HelloData {
        protocol_version: PROTOCOL_VERSION,
        version: version.to_owned(),
        provider,
        model,
        capabilities: capability::ALL.iter().map(|word| (*word).to_owned()).collect(),
        session: current.to_owned(),
    })
}

pub(super) fn state(session: &Arc<OpenedSession>, desk: &CommandScheduler) -> CommandExecution {
    let agent = &session.agent;
    let (model, SessionStats { usage, context, .. }) = (agent.model(), agent.stats());
    let state = StateData {
        provider: model.provider,
        model: model.model,
        cwd: agent.session().header().cwd,
        message_count: agent.messages().len() as u64,
        busy: desk.is_working(),
        usage,
        session: session.screen.session().to_owned(),
        path: agent.session().path().map(|path| path.to_string_lossy().into_owned()),
        thinking: agent.model_facts().clamp_thinking(agent.thinking()),
        context: context.into(),
        prompts: desk.waiting_jobs() as u64,
        queue: messages::queue(session),
        name: None,
    };
    let (session, has_file) = (agent.session().clone(), state.path.is_some());
    let named = move || reply_data(StateData { name: session::session_name(&session), ..state });
    // The name of a session with a file may have to be read from it.
    if has_file { CommandExecution::from_blocking(named) } else { CommandExecution::Now(named()) }
}
