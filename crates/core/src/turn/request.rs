//! Builds the request to the model and applies the edits of hooks.

use std::sync::Arc;

use haft_protocol::event::AgentEvent;
use haft_protocol::names;

use super::answer::AnswerDemand;
use super::record_refusal;
use super::state::TurnInput;
use crate::agent_state::{AgentSetup, MAX_TOOL_NAME};
use crate::hooks::{
    BeforeModelRequest, OutgoingRequest, PromptSection, Refusal, RequestDecision, RequestEdit,
};
use crate::model::{Model, ModelError, ModelErrorKind, ModelRequest, RequestOptions, ToolChoice};
use crate::run_context::{NoDecision, PANICKED, RunContext};
use crate::session::complete_tool_calls;
use crate::tool::ToolSpec;

/// A request while hooks edit it.
pub(super) struct RequestDraft<'a> {
    run: &'a RunContext,
    setup: &'a AgentSetup,
    demand: &'a AnswerDemand,
    model: Arc<dyn Model>,
    request: OutgoingRequest,
}

fn request_event(request: &OutgoingRequest) -> AgentEvent {
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

impl<'a> RequestDraft<'a> {
    /// Creates the request of a step before any hook has seen it.
    pub(super) fn new(
        run: &'a RunContext,
        setup: &'a AgentSetup,
        sections: &[PromptSection],
        demand: &'a AnswerDemand,
        step: u32,
        last: bool,
    ) -> Self {
        let tools = run.agent.tools().offered_specs(setup);
        let system = run.agent.system_prompt().render(&tools, sections);
        let tools = if last { Vec::new() } else { tools };
        let request = OutgoingRequest {
            step,
            model: setup.model.info(),
            // The tools stay in the prompt even if none can be called any more, so that the provider's cache stays
            // valid.
            system,
            messages: run.agent.transcript.messages(),
            options: demand.request_options(&run.agent.config.options, &tools),
            tools,
            thinking: setup.thinking,
            last,
        };
        Self { run, setup, demand, model: setup.model.clone(), request }
    }

    /// Asks the hooks about the request; returns the edited request and its model.
    ///
    /// # Errors
    /// The input that ends the step.
    pub(super) async fn apply_hooks(
        mut self,
        hooks: &[Arc<dyn BeforeModelRequest>],
    ) -> Result<(Arc<dyn Model>, ModelRequest), TurnInput> {
        let run = self.run;
        for hook in hooks {
            let refusal =
                match run.await_decision(hook.before_model_request(&run.cancel, &self.request)).await {
                    Ok(RequestDecision::Send) => continue,
                    Ok(RequestDecision::Edit(edit)) => {
                        self.edit(edit).await.iter().for_each(|detail| hook.edit_refused(detail));
                        continue;
                    }
                    Ok(RequestDecision::Refuse(refusal)) => refusal,
                    Err(NoDecision::Cancelled) => return Err(TurnInput::Cancelled),
                    Err(NoDecision::Panicked) => Refusal::for_turn(PANICKED),
                };
            return Err(record_refusal(run, refusal.attribute_to(hook.name())));
        }
        self.check_choice(&self.request.options)
            .map_err(|reason| TurnInput::Failed(ModelError::new(ModelErrorKind::Rejected, reason)))?;
        run.emitter.emit(request_event(&self.request));
        let OutgoingRequest { system, messages, tools, thinking, options, .. } = self.request;
        let (review, output_schema) = (run.agent.request_review(), self.demand.output.clone());
        let request = ModelRequest { system, messages, tools, thinking, options, output_schema, review };
        Ok((self.model, request))
    }

    /// Applies the valid changes; returns the reasons for rejected ones.
    async fn edit(&mut self, edit: RequestEdit) -> Vec<String> {
        let RequestEdit { model, messages, add_tools, options, thinking } = edit;
        let mut refused = Vec::new();
        if let Some(name) = model {
            refused.extend(self.select_model(&name).await.err());
        }
        match messages {
            Some(messages) if messages.is_empty() => {
                refused.push("the edit removes all messages".to_owned());
            }
            // Servers reject a call without a result.
            Some(messages) => self.request.messages = Arc::new(complete_tool_calls(messages)),
            None => {}
        }
        for tool in add_tools {
            refused.extend(self.add_tool(tool).err());
        }
        if let Some(options) = options {
            match check_options(&options).and_then(|()| self.check_choice(&options)) {
                Ok(()) => self.request.options = options,
                Err(detail) => refused.push(detail),
            }
        }
        self.request.thinking = thinking.unwrap_or(self.request.thinking);
        refused
    }

    fn check_choice(&self, options: &RequestOptions) -> Result<(), String> {
        match &options.tool_choice {
            Some(ToolChoice::Required | ToolChoice::Tool(_)) if self.demand.is_answered => {
                Err("only the first answer of a run can be made to call a tool, or the run would never end"
                    .to_owned())
            }
            Some(ToolChoice::Tool(name)) if !self.request.tools.iter().any(|tool| tool.name == *name) => {
                Err(format!("the tool choice names {name:?}, but no such tool is offered to the model"))
            }
            Some(ToolChoice::Tool(_) | ToolChoice::Auto | ToolChoice::None | ToolChoice::Required) | None => {
                Ok(())
            }
        }
    }

    async fn select_model(&mut self, name: &str) -> Result<(), String> {
        let (setup, models) = (self.setup, self.run.agent.config.models.as_deref());
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
            None => Err("no other model is available".to_owned()),
        };
        let refused = |why| {
            format!("cannot switch to model {name:?}: {why}; the request goes to {}", self.request.model)
        };
        let model = found.map_err(refused)?;
        self.request.model = model.info();
        self.model = model;
        Ok(())
    }

    fn add_tool(&mut self, tool: ToolSpec) -> Result<(), String> {
        let name = &tool.name;
        if self.request.last || self.request.tools.iter().any(|offered| offered.name == *name) {
            return Ok(());
        }
        if !names::is_tool(name, MAX_TOOL_NAME) {
            return Err(format!(
                "cannot add the tool {name:?}: a tool name is a letter, then letters, digits, _ and -"
            ));
        }
        if !self.setup.is_tool_active(name) {
            return Err(format!("cannot add the tool {name:?}: the tool is not active"));
        }
        if !tool.schema.is_object() {
            return Err(format!("cannot add the tool {name:?}: its schema is not an object"));
        }
        self.request.tools.push(Arc::new(tool));
        Ok(())
    }
}

/// Returns the reason why no model accepts the options.
pub(crate) fn check_options(options: &RequestOptions) -> Result<(), String> {
    if options.max_tokens == Some(0) {
        return Err("max_tokens is 0; set it to at least 1".to_owned());
    }
    if let Some(temperature) = options.temperature
        && !(0.0..=2.0).contains(&temperature)
    {
        return Err(format!("the temperature is {temperature}; set it to at least 0 and at most 2"));
    }
    if let Some(top_p) = options.top_p
        && !(top_p > 0.0 && top_p <= 1.0)
    {
        return Err(format!("top_p is {top_p}; set it to more than 0 and at most 1"));
    }
    match options.stop.iter().any(String::is_empty) {
        true => Err("a stop word is empty; remove it".to_owned()),
        false => Ok(()),
    }
}
