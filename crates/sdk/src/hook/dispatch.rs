//! From a line to the handler it is for.

use std::sync::Arc;

use haft_protocol::RawJson;
use haft_protocol::codec::Bounds;
use haft_protocol::hook::{
    self, AfterLlm, AfterTool, ApproveTool, BeforeLlm, BeforeTool, Hello, HelloReply, Method, Mode, RawLine,
    ToolResult, Unread,
};
use haft_protocol::limits::{MAX_DEPTH, MAX_NODES};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;

use super::answer::{Answer, INVALID_PARAMS, INVALID_REQUEST, UNKNOWN_METHOD};
use super::replies::Asked;
use super::{Event, Hook, HookHandler, ToolDecision};
use crate::dispatch::{Dispatch, Flow};
use crate::error::ServeError;
use crate::handler::{BoxFuture, Failure};
use crate::logging::log;
use crate::outbox::Outbox;
use crate::work::Work;
use crate::work::runtimes::Runtimes;

/// The bounds of a line of the host. PicoClaw has no limit, and every call of the model holds the conversation.
const BOUNDS: Bounds = Bounds { line: 64 * 1024 * 1024, depth: MAX_DEPTH + 16, nodes: 16 * MAX_NODES };

/// Gives every call to its handler, without ever waiting for one.
#[derive(Debug)]
pub(crate) struct HookDispatcher {
    hook: Arc<Hook>,
    outbox: Outbox,
    work: Work,
    /// Where events go, once there was one.
    lane: Option<mpsc::UnboundedSender<Event>>,
    /// A line to send after each event that was dealt with.
    handled: Option<&'static str>,
}

impl Dispatch for HookDispatcher {
    const LONGEST_LINE: usize = BOUNDS.line;

    fn line(&mut self, line: &[u8]) -> Result<Flow, ServeError> {
        match RawLine::read(line, BOUNDS) {
            Ok(line) => self.called(line)?,
            Err(Unread { id: Some(id), detail, .. }) => self.answer(id).refuse(INVALID_REQUEST, detail),
            Err(unread) => log(format_args!("line from the host cannot be read: {unread}")),
        }
        Ok(Flow::Continue)
    }

    fn end(self) -> Work {
        self.work
    }
}

impl HookDispatcher {
    pub(crate) fn new(hook: Hook, outbox: Outbox, runtimes: Runtimes, handled: Option<&'static str>) -> Self {
        Self { hook: Arc::new(hook), outbox, work: Work::on(runtimes), lane: None, handled }
    }

    fn called(&mut self, RawLine { id, method: name, params }: RawLine) -> Result<(), ServeError> {
        let method = Method::from_name(&name);
        let Some(id) = id else {
            match method.filter(|method| method.is_notification()) {
                Some(method) => return self.told(method, params),
                None => log(format_args!("{name} has no id, so nobody can be answered")),
            }
            return Ok(());
        };
        match method {
            Some(Method::Hello) => self.greeted(id, &params),
            Some(Method::BeforeLlm) => self.decide::<BeforeLlm>(id, params, |hook| hook.before_llm.as_ref()),
            Some(Method::AfterLlm) => self.decide::<AfterLlm>(id, params, |hook| hook.after_llm.as_ref()),
            Some(Method::BeforeTool) => self.before_tool(id, params),
            Some(Method::AfterTool) => self.decide::<AfterTool>(id, params, |hook| hook.after_tool.as_ref()),
            Some(Method::ApproveTool) => {
                let Some((answer, deciding)) =
                    self.asked::<ApproveTool>(id, params, |hook| hook.approve_tool.as_ref())
                else {
                    return Ok(());
                };
                self.work.go(async move { answer.give(deciding.await) })
            }
            Some(method @ (Method::Event | Method::RuntimeEvent)) => {
                self.answer(id).give(Ok(RawJson::empty_object()));
                self.told(method, params)
            }
            None => {
                self.answer(id).refuse(UNKNOWN_METHOD, format!("unknown method {name:?}"));
                Ok(())
            }
        }
    }

    fn greeted(&mut self, id: u64, params: &RawJson) -> Result<(), ServeError> {
        let answer = self.answer(id);
        let hello = match hello(params) {
            Ok(hello) => hello,
            Err(detail) => {
                answer.refuse(INVALID_PARAMS, detail);
                return Ok(());
            }
        };
        self.hook.missed(&hello.modes).for_each(log);
        let reply = HelloReply { ok: Some(true), name: hello.name.clone() };
        let reply = RawJson::from_value(&reply).map_err(|error| Failure(error.to_string()));
        let Some(handler) = &self.hook.hello else {
            answer.give(reply);
            return Ok(());
        };
        let greeting = handler.call(hello, ());
        self.work.decide(greeting, |outcome| answer.give(outcome.and(reply)))
    }

    /// Asks one of the hook's own tools, or else the handler.
    fn before_tool(&mut self, id: u64, params: RawJson) -> Result<(), ServeError> {
        let own = hook::read(&params).ok().and_then(|call: BeforeTool| {
            let handler = self.hook.tools.iter().find(|(tool, _)| tool.name == call.tool);
            handler.map(|(_, handler)| handler.call(call.arguments, ()))
        });
        let Some(running) = own else {
            return self.decide::<BeforeTool>(id, params, |hook| hook.before_tool.as_ref());
        };
        let (answer, hook) = (self.answer(id), Arc::clone(&self.hook));
        self.work.go(async move {
            // The model reads why, as of any tool.
            let result = running.await.unwrap_or_else(|Failure(reason)| ToolResult::error(reason));
            answer.give(BeforeTool::reply(ToolDecision::Respond(result), &params, &hook).map_err(Failure));
        })
    }

    /// Asks the handler of an interceptor, where no other kind of handler can be in the way.
    fn decide<Q: Asked>(
        &mut self,
        id: u64,
        params: RawJson,
        handler: impl FnOnce(&Hook) -> Option<&HookHandler<Q, Q::Answer>>,
    ) -> Result<(), ServeError> {
        let Some((answer, deciding)) = self.asked(id, params, handler) else { return Ok(()) };
        self.work.decide(deciding, |outcome| answer.give(outcome))
    }

    /// A call of a handler that is about to be made; `None` when the call is answered already.
    fn asked<Q: Asked>(
        &self,
        id: u64,
        params: RawJson,
        handler: impl FnOnce(&Hook) -> Option<&HookHandler<Q, Q::Answer>>,
    ) -> Option<(Answer, BoxFuture<Result<RawJson, Failure>>)> {
        let answer = self.answer(id);
        let question: Q = match hook::read(&params) {
            Ok(question) => question,
            Err(detail) => {
                answer.refuse(INVALID_PARAMS, detail);
                return None;
            }
        };
        let Some(handler) = handler(&self.hook) else {
            answer.give(Q::reply(Q::unasked(), &params, &self.hook).map_err(Failure));
            return None;
        };
        let (deciding, hook) = (handler.call(question, ()), Arc::clone(&self.hook));
        let replying = async move { Q::reply(deciding.await?, &params, &hook).map_err(Failure) };
        Some((answer, Box::pin(replying)))
    }

    fn told(&mut self, method: Method, params: RawJson) -> Result<(), ServeError> {
        match Event::read(method, params) {
            Ok(event) => self.in_order(event),
            Err(detail) => {
                log(format_args!("{}: params: {detail}", method.name()));
                Ok(())
            }
        }
    }

    fn in_order(&mut self, event: Event) -> Result<(), ServeError> {
        if self.hook.events.is_empty() && self.handled.is_none() {
            return Ok(());
        }
        let lane = match &self.lane {
            Some(lane) => lane,
            None => {
                let (lane, queue) = mpsc::unbounded_channel();
                self.work.go(hear(Arc::clone(&self.hook), queue, self.outbox.clone(), self.handled))?;
                self.lane.insert(lane)
            }
        };
        // The lane ends after the dispatcher, so it is there to take this.
        let _ = lane.send(event);
        Ok(())
    }

    fn answer(&self, id: u64) -> Answer {
        Answer::new(self.outbox.clone(), id)
    }
}

/// A newer host may have modes that are not known here.
fn hello(params: &RawJson) -> Result<Hello, String> {
    let mut params: Value = params.read().map_err(|error| error.to_string())?;
    if let Some(Value::Array(modes)) = params.get_mut("modes") {
        modes.retain(|mode| Mode::deserialize(mode).is_ok());
    }
    hook::read(&params.into())
}

/// Handles events one after the other until the connection ends. The queue has no limit: dropping an event would tear a
/// hole in somebody's audit log, and waiting here would hold up the calls.
async fn hear(
    hook: Arc<Hook>,
    mut queue: mpsc::UnboundedReceiver<Event>,
    outbox: Outbox,
    handled: Option<&'static str>,
) {
    while let Some(event) = queue.recv().await {
        for handler in &hook.events {
            if let Err(Failure(reason)) = handler.call(event.clone(), ()).await {
                log(format_args!("{}: {reason}", event.name));
            }
        }
        if let Some(line) = handled {
            outbox.line(line.to_owned());
        }
    }
}
