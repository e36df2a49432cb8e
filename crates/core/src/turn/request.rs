//! What is asked of the model, as the hooks leave it.

use std::sync::Arc;

use haft_protocol::event::AgentEvent;

use super::Turn;
use super::state::Input;
use crate::agent::Setup;
use crate::call::PANICKED;
use crate::hooks::{BeforeModelRequest, OutgoingRequest, RequestDecision, RequestEdit};
use crate::model::{Model, ModelRequest, ModelSource, RequestOptions};
use crate::session::answered;
use crate::tool::ToolSpec;

/// A request on its way through the hooks.
struct Drafted {
    model: Arc<dyn Model>,
    request: OutgoingRequest,
}

impl Turn {
    /// The request of a step, and who is asked.
    ///
    /// # Errors
    /// What becomes of the turn instead.
    pub(super) async fn request(
        &self,
        step: u32,
        last: bool,
        hooks: &[Arc<dyn BeforeModelRequest>],
    ) -> Result<(Arc<dyn Model>, ModelRequest), Input> {
        let setup = self.setup();
        let mut drafted = self.draft(&setup, step, last);
        for hook in hooks {
            match self.settle(hook.before_model_request(&self.cancel, &drafted.request)).await {
                Some(RequestDecision::Send) => {}
                Some(RequestDecision::Edit { edit, .. }) => {
                    let refused = drafted.edit(edit, &setup, self.agent.models.as_deref()).await;
                    refused.iter().for_each(|detail| hook.edit_refused(detail));
                }
                Some(RequestDecision::AbortTurn { by, reason }) => return Err(self.blocked(by, reason)),
                Some(RequestDecision::HardAbort { by, reason }) => {
                    return Err(Input::Discarded { by, reason });
                }
                None if self.cancel.is_cancelled() => return Err(Input::Cancelled),
                None => return Err(self.blocked(hook.name().to_owned(), PANICKED.to_owned())),
            }
        }
        let Drafted { model, request } = drafted;
        self.emitter.emit(told(&request));
        let OutgoingRequest { system, messages, tools, thinking, options, .. } = request;
        Ok((model, ModelRequest { system, messages, tools, thinking, options }))
    }

    fn draft(&self, setup: &Setup, step: u32, last: bool) -> Drafted {
        let tools = self.agent.tools().offered(setup);
        let request = OutgoingRequest {
            step,
            model: setup.model.info(),
            // It names the tools even where none may be called any more: what comes before the messages stays the same,
            // so that a provider's cache still fits.
            system: self.agent.system.render(&tools, &self.sections),
            messages: self.agent.transcript.messages(),
            tools: if last { Vec::new() } else { tools },
            thinking: setup.thinking,
            options: RequestOptions::default(),
            last,
        };
        Drafted { model: setup.model.clone(), request }
    }
}

/// What observers are told of a request.
fn told(request: &OutgoingRequest) -> AgentEvent {
    AgentEvent::ModelRequest {
        step: request.step,
        provider: request.model.provider.clone(),
        model: request.model.model.clone(),
        messages: request.messages.len() as u64,
        tools: request.tools.len() as u64,
        max_tokens: request.options.max_tokens,
        temperature: request.options.temperature,
    }
}

impl Drafted {
    /// Makes the changes that count; says why others do not.
    async fn edit(
        &mut self,
        edit: RequestEdit,
        setup: &Setup,
        models: Option<&dyn ModelSource>,
    ) -> Vec<String> {
        let RequestEdit { model, messages, add_tools, options, thinking } = edit;
        let mut refused = Vec::new();
        if let Some(name) = model {
            refused.extend(self.ask(&name, setup, models).await.err());
        }
        match messages {
            Some(messages) if messages.is_empty() => {
                refused.push("it left no message to answer".to_owned());
            }
            // Servers refuse a call without a result.
            Some(messages) => self.request.messages = Arc::new(answered(messages)),
            None => {}
        }
        for tool in add_tools {
            refused.extend(self.add(tool, setup).err());
        }
        if let Some(options) = options {
            match check(options) {
                Ok(()) => self.request.options = options,
                Err(detail) => refused.push(detail),
            }
        }
        self.request.thinking = thinking.unwrap_or(self.request.thinking);
        refused
    }

    /// Has another model asked.
    async fn ask(
        &mut self,
        name: &str,
        setup: &Setup,
        models: Option<&dyn ModelSource>,
    ) -> Result<(), String> {
        let is = |model: &dyn Model| {
            let info = model.info();
            info.model == name || info.to_string() == name
        };
        if is(self.model.as_ref()) {
            return Ok(());
        }
        let found = match models {
            _ if is(setup.model.as_ref()) => Ok(setup.model.clone()),
            Some(models) => models.model(name, &setup.model.info()).await,
            None => Err("no other model is known here".to_owned()),
        };
        let refused = |why| format!("it wants model {name:?}: {why}; {} is asked", self.request.model);
        let model = found.map_err(refused)?;
        self.request.model = model.info();
        self.model = model;
        Ok(())
    }

    /// Offers one more tool. The one that is offered already stays as it is.
    fn add(&mut self, tool: ToolSpec, setup: &Setup) -> Result<(), String> {
        let name = &tool.name;
        if self.request.last || self.request.tools.iter().any(|offered| offered.name == *name) {
            return Ok(());
        }
        if !is_name(name) {
            return Err(format!(
                "it adds a tool named {name:?}; a name is a letter, then letters, digits, _ and -"
            ));
        }
        if !setup.offers(name) {
            return Err(format!(
                "it adds the tool {name:?}, which is not among the tools that are switched on"
            ));
        }
        if !tool.schema.is_object() {
            return Err(format!("it adds the tool {name:?}, whose schema is not an object"));
        }
        self.request.tools.push(Arc::new(tool));
        Ok(())
    }
}

/// What every provider takes for the name of a tool.
fn is_name(name: &str) -> bool {
    /// The longest.
    const MOST: usize = 64;
    let rest = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.len() <= MOST && name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(rest)
}

fn check(options: RequestOptions) -> Result<(), String> {
    if options.max_tokens == Some(0) {
        return Err("it leaves no room for an answer: max_tokens is 0".to_owned());
    }
    match options.temperature {
        Some(temperature) if !(temperature.is_finite() && temperature >= 0.0) => {
            Err(format!("it sets a temperature of {temperature}; 0 is the least"))
        }
        Some(_) | None => Ok(()),
    }
}
