//! From a line to the handler it is for.

use std::sync::Arc;

use haft_protocol::codec::{self, Decoded};
use haft_protocol::error::DecodeError;
use haft_protocol::ext::{
    CallTool, CommandCompletions, CommandInvoked, CompleteCommand, EventIntercept, EventInterceptResponse,
    HelloAck, HostFrame, Intercept, InterceptAssistantMessage, InterceptBeforeAgentStart,
    InterceptBeforeCompact, InterceptToolCall, InterceptTurnStart, InvokeCommand, PROTOCOL_VERSION, Pong,
    ToolCall, capability,
};
use haft_protocol::ids::RequestId;
use haft_protocol::limits::MAX_RESULT_LINE;
use tokio::sync::{mpsc, watch};

use crate::error::ServeError;
use crate::extension::{Extension, Kind};
use crate::handler::{Failure, Handler};
use crate::host::Host;
use crate::outbox::Outbox;
use crate::panel::PanelEvent;
use crate::work::Work;
use crate::work::runtimes::Runtimes;

mod lane;
mod refuse;
mod responder;

use lane::OneWay;
use responder::{GateQuestion, Question, Responder};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    Continue,
    Shutdown,
    EndOfInput,
}

/// The receiver of lines, which runs the handlers for them.
pub(crate) trait Dispatch {
    /// The longest line, in bytes, without its end.
    const LONGEST_LINE: usize;

    /// Takes one line from the host. After an error the conversation cannot go on.
    fn line(&mut self, line: &[u8]) -> Result<Flow, ServeError>;

    /// Takes no more events, and gives away what runs.
    fn end(self) -> Work;
}

/// Gives every frame to its handler, without ever waiting for one.
#[derive(Debug)]
pub(crate) struct Dispatcher {
    extension: Arc<Extension>,
    host: Host,
    outbox: Outbox,
    greeted: watch::Sender<Option<Arc<HelloAck>>>,
    work: Work,
    /// Where events go, once there was one.
    lane: Option<mpsc::UnboundedSender<OneWay>>,
    /// A line to send after each event that was dealt with.
    handled: Option<&'static str>,
}

impl Dispatch for Dispatcher {
    const LONGEST_LINE: usize = MAX_RESULT_LINE;

    fn line(&mut self, line: &[u8]) -> Result<Flow, ServeError> {
        match codec::decode_within(line, MAX_RESULT_LINE) {
            Ok(Decoded::Known(frame)) => self.frame(frame),
            // A newer host may say more than we understand, if somebody asked it to.
            Ok(Decoded::Unknown { .. }) => Ok(Flow::Continue),
            Err(error @ DecodeError::TooLong { .. }) => Err(error.into()),
            Err(error) => {
                refuse::answer(line, &error, &self.outbox);
                Ok(Flow::Continue)
            }
        }
    }

    fn end(self) -> Work {
        // What a handler waits for does not come any more.
        self.host.calls().close();
        self.work
    }
}

impl Dispatcher {
    pub(crate) fn new(
        extension: Extension,
        outbox: Outbox,
        runtimes: Runtimes,
        handled: Option<&'static str>,
    ) -> Self {
        let (greeted, ack) = watch::channel(None);
        let (extension, host) = (Arc::new(extension), Host::new(outbox.clone(), ack));
        Self { extension, host, outbox, greeted, work: Work::on(runtimes), lane: None, handled }
    }

    fn frame(&mut self, frame: HostFrame) -> Result<Flow, ServeError> {
        match frame {
            HostFrame::HelloAck(ack) => self.greet(ack)?,
            HostFrame::CommandInvoked(command) => self.command(command)?,
            HostFrame::CommandCompletions(asked) => self.complete(asked)?,
            HostFrame::ToolCall(call) => self.tool(call)?,
            HostFrame::Event(event) => self.in_order(OneWay::Event(event))?,
            HostFrame::RegisterRejected(rejected) => self.in_order(OneWay::Rejected(rejected))?,
            HostFrame::EventGap(gap) => self.in_order(OneWay::Gap(gap.lost))?,
            HostFrame::EventIntercept(intercept) => self.intercept(intercept)?,
            HostFrame::PanelKey(key) => {
                self.in_order(OneWay::Panel(key.panel_id.clone(), PanelEvent::Key(key)))?
            }
            HostFrame::PanelResize(room) => {
                let resized = PanelEvent::Resized { width: room.width, height: room.height };
                self.in_order(OneWay::Panel(room.panel_id, resized))?
            }
            HostFrame::PanelClose(close) => {
                self.in_order(OneWay::Panel(close.panel_id, PanelEvent::Closed))?
            }
            HostFrame::HostResult(result) => self.host.calls().done(result),
            HostFrame::Ping(ping) => self.outbox.push(Pong { id: ping.id }),
            HostFrame::Shutdown(_) => return Ok(Flow::Shutdown),
        }
        Ok(Flow::Continue)
    }

    fn in_order(&mut self, one_way: OneWay) -> Result<(), ServeError> {
        let lane = match &self.lane {
            Some(lane) => lane,
            None => {
                let (lane, queue) = mpsc::unbounded_channel();
                let (extension, host) = (Arc::clone(&self.extension), self.host.clone());
                let handling = lane::run(extension, host, queue, self.outbox.clone(), self.handled);
                self.work.go(handling)?;
                self.lane.insert(lane)
            }
        };
        // The lane ends after the dispatcher, so it is there to take this.
        let _ = lane.send(one_way);
        Ok(())
    }

    fn greet(&mut self, ack: HelloAck) -> Result<(), ServeError> {
        if ack.protocol_version != PROTOCOL_VERSION {
            return Err(ServeError::Incompatible { host: ack.protocol_version, sdk: PROTOCOL_VERSION });
        }
        self.outbox.set_limits(ack.limits.as_deref().copied().unwrap_or_default());
        if self.extension.is_narrow() && self.greeted.borrow().is_none() {
            let roles = ack.capabilities.iter().any(|known| known == capability::INTERCEPT_ROLES);
            self.outbox.push_all(&self.extension.subscriptions(roles));
        }
        self.greeted.send_replace(Some(Arc::new(ack)));
        Ok(())
    }

    fn command(&mut self, command: CommandInvoked) -> Result<(), ServeError> {
        let found = self.extension.commands.iter().find(|(registered, _)| registered.name == command.name);
        let handler =
            found.map(|(_, handler)| handler.clone()).ok_or_else(|| unknown("command", &command.name));
        self.ask::<InvokeCommand, _>(handler, command.args, command.id)
    }

    fn complete(&mut self, asked: CommandCompletions) -> Result<(), ServeError> {
        let found = self.extension.completions.iter().find(|(command, _)| *command == asked.name);
        let handler =
            found.map(|(_, handler)| handler.clone()).ok_or_else(|| unknown("completion of", &asked.name));
        self.ask::<CompleteCommand, _>(handler, asked.prefix, asked.id)
    }

    fn tool(&mut self, call: ToolCall) -> Result<(), ServeError> {
        let found = self.extension.tools.iter().find(|(registered, _)| registered.name == call.name);
        let handler = found.map(|(_, handler)| handler.clone()).ok_or_else(|| unknown("tool", &call.name));
        self.ask::<CallTool, _>(handler, call.args, call.id)
    }

    fn intercept(&mut self, EventIntercept { id, intercept }: EventIntercept) -> Result<(), ServeError> {
        let extension = Arc::clone(&self.extension);
        match intercept {
            Intercept::ToolCall(input) => match extension.tool_call_handler(&input.tool_name) {
                Some(Kind::Gate(handler)) => self.decide::<GateQuestion, _>(Some(handler), input, id),
                Some(Kind::Ordered { handler, .. }) => {
                    self.decide::<InterceptToolCall, _>(Some(handler), input, id)
                }
                None => self.decide::<InterceptToolCall, InterceptToolCall>(None, input, id),
            },
            Intercept::TurnStart(input) => {
                self.decide::<InterceptTurnStart, _>(extension.turn_start.as_ref(), input, id)
            }
            Intercept::AssistantMessage(input) => {
                self.decide::<InterceptAssistantMessage, _>(extension.assistant_message.as_ref(), input, id)
            }
            Intercept::BeforeAgentStart(input) => {
                self.decide::<InterceptBeforeAgentStart, _>(extension.before_agent_start.as_ref(), input, id)
            }
            Intercept::BeforeCompact(input) => {
                self.decide::<InterceptBeforeCompact, _>(extension.before_compact.as_ref(), input, id)
            }
        }
    }

    /// Asks an intercept's handler, where no other kind of handler can be in the way.
    fn decide<Q: Question + 'static, I: Send + 'static>(
        &mut self,
        handler: Option<&Handler<I, Q::Answer>>,
        input: I,
        id: RequestId,
    ) -> Result<(), ServeError> {
        let Some(handler) = handler else {
            self.outbox.push(EventInterceptResponse::pass(id));
            return Ok(());
        };
        let responder = Responder::<Q>::new(self.outbox.clone(), id);
        let deciding = handler.call(input, self.host.clone());
        self.work.decide(deciding, |outcome| responder.respond(outcome))
    }

    /// Starts the handler of a command or tool and sees to it that its question is answered.
    fn ask<Q: Question + 'static, I: Send + 'static>(
        &mut self,
        handler: Result<Handler<I, Q::Answer>, Failure>,
        input: I,
        id: RequestId,
    ) -> Result<(), ServeError> {
        let responder = Responder::<Q>::new(self.outbox.clone(), id);
        let host = self.host.clone();
        match handler {
            Ok(handler) => self.work.go(async move { responder.respond(handler.call(input, host).await) }),
            Err(failure) => {
                responder.respond(Err(failure));
                Ok(())
            }
        }
    }
}

fn unknown(kind: &str, name: &str) -> Failure {
    Failure(format!("this extension has no {kind} {name:?}"))
}
