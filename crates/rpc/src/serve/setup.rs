//! The setup of a session: model, thinking, tools.

use std::sync::Arc;

use haft_core::Stats;
use haft_core::model::ModelInfo;
use haft_core::tool::ToolSpec;
use haft_protocol::ids::ExtensionName;
use haft_protocol::rpc;
use haft_protocol::rpc::{
    ContextData, HelloData, ModelData, ModelsData, PROTOCOL_VERSION, SetModel, SetThinking, SetTools,
    StateData, ThinkingData, ToolInfo, ToolsData, ToolsSet, capability,
};
use haft_protocol::thinking::Thinking;
use tokio_util::sync::CancellationToken;

use super::outcome::{Carried, Outcome, data};
use super::{messages, session};
use crate::desk::CommandScheduler;
use crate::sessions::{Opened, Sessions};

/// Lists the models that can be asked; the model of the session is always among them.
pub(super) fn get_models(
    session: Option<&Opened>,
    sessions: Arc<impl Sessions>,
    ending: CancellationToken,
) -> Carried {
    let asked = session.map(|session| (session.agent.model(), session.agent.facts()));
    Carried::before(ending, async move {
        let mut models = sessions.models().await?;
        if let Some((ModelInfo { provider, model }, facts)) = asked
            && !models.iter().any(|known| known.provider == provider && known.id == model)
        {
            let thinks = facts.thinking.as_ref();
            models.push(rpc::ModelInfo {
                reasoning: thinks.is_some_and(|levels| levels.iter().any(|level| *level != Thinking::Off)),
                id: model,
                provider,
                context_window: facts.window.unwrap_or_default(),
                max_output: facts.max_output.unwrap_or_default(),
                name: facts.name,
                thinking: facts.thinking,
                images: facts.images,
            });
        }
        data(ModelsData { models })
    })
}

pub(super) fn set_model(
    session: &Arc<Opened>,
    sessions: Arc<impl Sessions>,
    closing: CancellationToken,
    wish: SetModel,
) -> Carried {
    let asked = session.agent.model();
    if wish.model == asked.model || wish.model == asked.to_string() {
        // Whatever its name leads to: it is that one already.
        return Carried::Now(data(ModelData { provider: asked.provider, model: asked.model }));
    }
    let session = Arc::clone(session);
    Carried::before(closing, async move {
        let model = sessions.model(&wish.model, &session.agent.model()).await?;
        let ModelInfo { provider, model: id } = model.info();
        session.agent.set_model(model);
        data(ModelData { provider, model: id })
    })
}

pub(super) fn set_thinking(session: &Opened, wish: SetThinking) -> Outcome {
    session.agent.set_thinking(wish.level);
    data(ThinkingData { level: session.agent.facts().clamp(wish.level) })
}

pub(super) fn get_tools(session: &Opened) -> Outcome {
    session.offer_tools();
    let active = session.agent.tools();
    let tools = session.agent.all_tools();
    let tools = tools.iter().map(|tool| shown(tool, active.iter().any(|active| active.name == tool.name)));
    data(ToolsData { tools: tools.collect() })
}

fn shown(tool: &ToolSpec, active: bool) -> ToolInfo {
    ToolInfo {
        name: tool.name.clone(),
        description: tool.description.clone(),
        schema: tool.schema.clone(),
        active,
        extension: tool.owner.extension().map(ExtensionName::new),
    }
}

pub(super) fn set_tools(session: &Opened, wish: SetTools) -> Outcome {
    session.offer_tools();
    session.agent.set_active_tools(wish.tools);
    let active = session.agent.tools().iter().map(|tool| tool.name.clone()).collect();
    data(ToolsSet { active })
}

/// Answers `hello`. `current` is the session that commands mean which name none; provider and model are those of the
/// session that was asked for.
pub(super) fn greeting(version: &str, current: &str, session: Option<&Opened>) -> Outcome {
    let model = session.map(|session| session.agent.model());
    let (provider, model) = model.map(|model| (model.provider, model.model)).unwrap_or_default();
    data(HelloData {
        protocol_version: PROTOCOL_VERSION,
        version: version.to_owned(),
        provider,
        model,
        capabilities: capability::ALL.iter().map(|word| (*word).to_owned()).collect(),
        session: current.to_owned(),
    })
}

pub(super) fn state(session: &Arc<Opened>, desk: &CommandScheduler) -> Carried {
    let agent = &session.agent;
    let (model, Stats { usage, context }) = (agent.model(), agent.stats());
    let state = StateData {
        provider: model.provider,
        model: model.model,
        cwd: agent.session().header().cwd,
        message_count: agent.messages().len() as u64,
        busy: desk.works(),
        usage,
        session: session.screen.session().to_owned(),
        path: agent.session().path().map(|path| path.to_string_lossy().into_owned()),
        thinking: agent.facts().clamp(agent.thinking()),
        context: ContextData { tokens: context.tokens, estimated: context.estimated, window: context.window },
        prompts: desk.waiting() as u64,
        queue: messages::queue(session),
        name: None,
    };
    let (session, has_file) = (agent.session().clone(), state.path.is_some());
    let named = move || data(StateData { name: session::name(&session), ..state });
    // Where there is a file, that may have to be asked.
    if has_file { Carried::blocking(named) } else { Carried::Now(named()) }
}
