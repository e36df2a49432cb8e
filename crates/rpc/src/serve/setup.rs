//! What a session works with: model, thinking, tools.

use std::sync::Arc;

use haft_core::model::ModelInfo;
use haft_core::tool::ToolSpec;
use haft_protocol::ids::ExtensionName;
use haft_protocol::rpc::{
    ModelData, ModelsData, SetModel, SetThinking, SetTools, ThinkingData, ToolInfo, ToolsData, ToolsSet,
};
use haft_protocol::{rpc, thinking::Thinking};
use tokio_util::sync::CancellationToken;

use super::outcome::{Carried, Outcome, data};
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
