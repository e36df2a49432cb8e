//! Passes each line to its handler.

use std::sync::Arc;

use crate::wire::{
    self, AfterLlm, AfterTool, ApproveTool, BeforeLlm, BeforeTool, HelloReply, HookHello, HookMode,
    HookToolResult, Method, RawLine, UnreadableLine,
};
use haft_protocol::RawJson;
use haft_protocol::codec::LineLimits;
use haft_protocol::limits::{MAX_DEPTH, MAX_NODES};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;

use super::replies::AnswerableCall;
use super::responder::{CallResponder, INVALID_PARAMS, INVALID_REQUEST, UNKNOWN_METHOD};
use super::{Hook, HookEvent, HookHandler, ToolDecision};
use haft_sdk::ServeError;
use haft_sdk::peer::{
    BoxFuture, DispatchOutcome, FrameOutbox, HandlerFailure, HandlerRuntimes, LineHandler, RunningHandlers,
    log,
};

/// The limits of a line of the host. PicoClaw has no limit, and every request to the model contains
/// the conversation.
const BOUNDS: LineLimits =
    LineLimits { line: 64 * 1024 * 1024, depth: MAX_DEPTH + 16, nodes: 16 * MAX_NODES };

/// Passes every call to its handler without waiting for the handler.
#[derive(Debug)]
pub(crate) struct HookDispatcher {
    hook: Arc<Hook>,
    outbox: FrameOutbox,
    work: RunningHandlers,
    /// The queue of events, created with the first event.
    lane: Option<mpsc::UnboundedSender<HookEvent>>,
    /// A line to send after each handled event.
    handled: Option<&'static str>,
}

impl LineHandler for HookDispatcher {
    const LONGEST_LINE: usize = BOUNDS.line;

    fn handle_line(&mut self, line: &[u8]) -> Result<DispatchOutcome, ServeError> {
        match RawLine::read(line, BOUNDS) {
            Ok(line) => self.handle_call(line)?,
            Err(UnreadableLine { id: Some(id), detail, .. }) => {
                self.responder(id).respond_error(INVALID_REQUEST, detail)
            }
            Err(unread) => log(format_args!("line from the host cannot be read: {unread}")),
        }
        Ok(DispatchOutcome::Continue)
    }

    fn end(self) -> RunningHandlers {
        self.work
    }
}

impl HookDispatcher {
    pub(crate) fn new(
        hook: Hook,
        outbox: FrameOutbox,
        runtimes: HandlerRuntimes,
        handled: Option<&'static str>,
    ) -> Self {
        Self {
            hook: Arc::new(hook),
            outbox,
            work: RunningHandlers::with_runtimes(runtimes),
            lane: None,
            handled,
        }
    }

    fn handle_call(&mut self, RawLine { id, method: name, params }: RawLine) -> Result<(), ServeError> {
        let method = Method::from_name(&name);
        let Some(id) = id else {
            match method.filter(|method| method.is_notification()) {
                Some(method) => return self.handle_event(method, params),
                None => log(format_args!("{name} has no id, so nobody can be answered")),
            }
            return Ok(());
        };
        match method {
            Some(Method::Hello) => self.handle_hello(id, &params),
            Some(Method::BeforeLlm) => {
                self.run_interceptor::<BeforeLlm>(id, params, |hook| hook.before_llm.as_ref())
            }
            Some(Method::AfterLlm) => {
                self.run_interceptor::<AfterLlm>(id, params, |hook| hook.after_llm.as_ref())
            }
            Some(Method::BeforeTool) => self.before_tool(id, params),
            Some(Method::AfterTool) => {
                self.run_interceptor::<AfterTool>(id, params, |hook| hook.after_tool.as_ref())
            }
            Some(Method::ApproveTool) => {
                let Some((answer, deciding)) =
                    self.prepare_call::<ApproveTool>(id, params, |hook| hook.approve_tool.as_ref())
                else {
                    return Ok(());
                };
                self.work.spawn_handler(async move { answer.respond(deciding.await) })
            }
            Some(method @ (Method::Event | Method::RuntimeEvent)) => {
                self.responder(id).respond(Ok(RawJson::empty_object()));
                self.handle_event(method, params)
            }
            None => {
                self.responder(id).respond_error(UNKNOWN_METHOD, format!("unknown method {name:?}"));
                Ok(())
            }
        }
    }

    fn handle_hello(&mut self, id: u64, params: &RawJson) -> Result<(), ServeError> {
        let answer = self.responder(id);
        let hello = match read_hello(params) {
            Ok(hello) => hello,
            Err(detail) => {
                answer.respond_error(INVALID_PARAMS, detail);
                return Ok(());
            }
        };
        self.hook.uncalled_points(&hello.modes).for_each(log);
        let reply = HelloReply { ok: Some(true), name: hello.name.clone() };
        let reply = RawJson::from_value(&reply).map_err(|error| HandlerFailure(error.to_string()));
        let Some(handler) = &self.hook.hello else {
            answer.respond(reply);
            return Ok(());
        };
        let greeting = handler.call(hello, ());
        self.work.run_intercept(greeting, |outcome| answer.respond(outcome.and(reply)))
    }

    /// Runs one of the hook's own tools, or else the handler.
    fn before_tool(&mut self, id: u64, params: RawJson) -> Result<(), ServeError> {
        let own = wire::read(&params).ok().and_then(|call: BeforeTool| {
            let handler = self.hook.tools.iter().find(|(tool, _)| tool.name == call.tool);
            handler.map(|(_, handler)| handler.call(call.arguments, ()))
        });
        let Some(running) = own else {
            return self.run_interceptor::<BeforeTool>(id, params, |hook| hook.before_tool.as_ref());
        };
        let (answer, hook) = (self.responder(id), Arc::clone(&self.hook));
        self.work.spawn_handler(async move {
            // The model reads the reason, as for any tool.
            let result = running.await.unwrap_or_else(|HandlerFailure(reason)| HookToolResult::error(reason));
            answer.respond(
                BeforeTool::encode_reply(ToolDecision::Respond(result), &params, &hook)
                    .map_err(HandlerFailure),
            );
        })
    }

    /// Runs the handler of an interceptor, separately from all other kinds of handlers.
    fn run_interceptor<Q: AnswerableCall>(
        &mut self,
        id: u64,
        params: RawJson,
        handler: impl FnOnce(&Hook) -> Option<&HookHandler<Q, Q::Answer>>,
    ) -> Result<(), ServeError> {
        let Some((answer, deciding)) = self.prepare_call(id, params, handler) else { return Ok(()) };
        self.work.run_intercept(deciding, |outcome| answer.respond(outcome))
    }

    /// Prepares the call of a handler; `None` if the call is already answered.
    fn prepare_call<Q: AnswerableCall>(
        &self,
        id: u64,
        params: RawJson,
        handler: impl FnOnce(&Hook) -> Option<&HookHandler<Q, Q::Answer>>,
    ) -> Option<(CallResponder, BoxFuture<Result<RawJson, HandlerFailure>>)> {
        let answer = self.responder(id);
        let question: Q = match wire::read(&params) {
            Ok(question) => question,
            Err(detail) => {
                answer.respond_error(INVALID_PARAMS, detail);
                return None;
            }
        };
        let Some(handler) = handler(&self.hook) else {
            answer.respond(Q::encode_reply(Q::default_answer(), &params, &self.hook).map_err(HandlerFailure));
            return None;
        };
        let (deciding, hook) = (handler.call(question, ()), Arc::clone(&self.hook));
        let replying =
            async move { Q::encode_reply(deciding.await?, &params, &hook).map_err(HandlerFailure) };
        Some((answer, Box::pin(replying)))
    }

    fn handle_event(&mut self, method: Method, params: RawJson) -> Result<(), ServeError> {
        match HookEvent::read(method, params) {
            Ok(event) => self.enqueue_event(event),
            Err(detail) => {
                log(format_args!("{}: params: {detail}", method.name()));
                Ok(())
            }
        }
    }

    fn enqueue_event(&mut self, event: HookEvent) -> Result<(), ServeError> {
        if self.hook.events.is_empty() && self.handled.is_none() {
            return Ok(());
        }
        let lane = match &self.lane {
            Some(lane) => lane,
            None => {
                let (lane, queue) = mpsc::unbounded_channel();
                self.work.spawn_handler(run_event_handlers(
                    Arc::clone(&self.hook),
                    queue,
                    self.outbox.clone(),
                    self.handled,
                ))?;
                self.lane.insert(lane)
            }
        };
        // The lane ends after the dispatcher, so its receiver still exists.
        let _ = lane.send(event);
        Ok(())
    }

    fn responder(&self, id: u64) -> CallResponder {
        CallResponder::new(self.outbox.clone(), id)
    }
}

/// Reads `hello`. A newer host may send modes that this version does not know.
fn read_hello(params: &RawJson) -> Result<HookHello, String> {
    let mut params: Value = params.read().map_err(|error| error.to_string())?;
    if let Some(Value::Array(modes)) = params.get_mut("modes") {
        modes.retain(|mode| HookMode::deserialize(mode).is_ok());
    }
    wire::read(&params.into())
}

/// Handles events one at a time until the connection ends. The queue has no limit: a dropped event
/// would leave a gap in an audit log, and waiting here would delay the calls.
async fn run_event_handlers(
    hook: Arc<Hook>,
    mut queue: mpsc::UnboundedReceiver<HookEvent>,
    outbox: FrameOutbox,
    handled: Option<&'static str>,
) {
    while let Some(event) = queue.recv().await {
        for handler in &hook.events {
            if let Err(HandlerFailure(reason)) = handler.call(event.clone(), ()).await {
                log(format_args!("{}: {reason}", event.name));
            }
        }
        if let Some(line) = handled {
            outbox.send_line(line.to_owned());
        }
    }
}
