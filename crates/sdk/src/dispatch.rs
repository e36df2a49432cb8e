//! Passes each line to its handler.

use std::sync::Arc;

use haft_protocol::codec::{self, DecodedFrame};
use haft_protocol::error::DecodeError;
use haft_protocol::ext::{
    CallTool, CommandCompletions, CommandInvoked, EventIntercept, EventInterceptResponse, ExtensionCall,
    ExtensionCallKind, HelloAck, HostFrame, Intercept, InterceptToolCall, InvokeCommand, PROTOCOL_VERSION,
    Pong, PressShortcut, QueryCompletions, ShortcutCall, ToolCallFrame,
};
use haft_protocol::ids::RequestId;
use haft_protocol::limits::MAX_RESULT_LINE;
use tokio::sync::{mpsc, watch};

use crate::error::ServeError;
use crate::extension::{Extension, ToolCallHandlerKind};
use crate::handler::{BoxedHandler, HandlerFailure};
use crate::host::Host;
use crate::open_requests::HandledToolCall;
use crate::outbox::FrameOutbox;
use crate::panel::PanelEvent;
use crate::running_handlers::RunningHandlers;
use crate::running_handlers::runtimes::HandlerRuntimes;

mod one_way;
mod responder;
mod unreadable_lines;

use one_way::OneWay;
use responder::{GateQuestion, HostQuestion, QuestionResponder};

/// The effect of a line on the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DispatchOutcome {
    /// The connection continues.
    Continue,
    /// The host requested the end.
    Shutdown,
    /// The host closed the connection.
    EndOfInput,
}

/// A receiver of lines, which runs their handlers.
pub trait LineHandler {
    /// The maximum length of a line in bytes, without its end.
    const LONGEST_LINE: usize;

    /// Handles one line from the host.
    ///
    /// # Errors
    /// If the connection cannot continue.
    fn handle_line(&mut self, line: &[u8]) -> Result<DispatchOutcome, ServeError>;

    /// Stops accepting events and returns the running handlers.
    fn end(self) -> RunningHandlers;
}

/// Passes every frame to its handler without waiting for the handler.
#[derive(Debug)]
pub(crate) struct FrameDispatcher {
    extension: Arc<Extension>,
    host: Host,
    outbox: FrameOutbox,
    greeted: watch::Sender<Option<Arc<HelloAck>>>,
    work: RunningHandlers,
    /// The queue of events, created with the first event.
    lane: Option<mpsc::UnboundedSender<OneWay>>,
    /// A line to send after each handled event.
    handled: Option<&'static str>,
}

impl LineHandler for FrameDispatcher {
    const LONGEST_LINE: usize = MAX_RESULT_LINE;

    fn handle_line(&mut self, line: &[u8]) -> Result<DispatchOutcome, ServeError> {
        match codec::decode_with_limit(line, MAX_RESULT_LINE) {
            Ok(DecodedFrame::Known(frame)) => self.handle_frame(frame),
            // A newer host may send frames that this version does not know.
            Ok(DecodedFrame::Unknown { .. }) => Ok(DispatchOutcome::Continue),
            Err(error @ DecodeError::TooLong { .. }) => Err(error.into()),
            Err(error) => {
                unreadable_lines::answer_unreadable_line(line, &error, &self.outbox);
                Ok(DispatchOutcome::Continue)
            }
        }
    }

    fn end(self) -> RunningHandlers {
        // Handlers that wait for the host get no more results.
        self.host.calls().close();
        self.work
    }
}

impl FrameDispatcher {
    pub(crate) fn new(
        extension: Extension,
        outbox: FrameOutbox,
        runtimes: HandlerRuntimes,
        handled: Option<&'static str>,
    ) -> Self {
        let (greeted, ack) = watch::channel(None);
        let (extension, host) = (Arc::new(extension), Host::new(outbox.clone(), ack));
        Self {
            extension,
            host,
            outbox,
            greeted,
            work: RunningHandlers::with_runtimes(runtimes),
            lane: None,
            handled,
        }
    }

    fn handle_frame(&mut self, frame: HostFrame) -> Result<DispatchOutcome, ServeError> {
        match frame {
            HostFrame::HelloAck(ack) => self.handle_hello_ack(ack)?,
            HostFrame::CommandInvoked(command) => self.dispatch_command(command)?,
            HostFrame::CommandCompletions(asked) => self.dispatch_completions(asked)?,
            HostFrame::ToolCall(call) => self.dispatch_tool(call)?,
            HostFrame::ExtCall(call) => self.dispatch_call(call)?,
            HostFrame::Event(event) => self.enqueue_one_way(OneWay::Event(event))?,
            HostFrame::RegisterRejected(rejected) => self.enqueue_one_way(OneWay::Rejected(rejected))?,
            HostFrame::EventGap(gap) => self.enqueue_one_way(OneWay::Gap(gap.lost))?,
            HostFrame::EventIntercept(intercept) => self.dispatch_intercept(intercept)?,
            HostFrame::PanelKey(key) => {
                self.enqueue_one_way(OneWay::Panel(key.panel_id.clone(), PanelEvent::Key(key)))?
            }
            HostFrame::PanelResize(room) => {
                let resized = PanelEvent::Resized { width: room.width, height: room.height };
                self.enqueue_one_way(OneWay::Panel(room.panel_id, resized))?
            }
            HostFrame::PanelClose(close) => {
                self.enqueue_one_way(OneWay::Panel(close.panel_id, PanelEvent::Closed))?
            }
            HostFrame::Cancel(cancel) => self.host.open_requests().cancel(&cancel.id),
            // Frames of newer zot versions, which the SDK does not ask for.
            HostFrame::ToolCancel(_) | HostFrame::ToolResult(_) => {}
            HostFrame::HostResult(result) => self.host.deliver_result(result),
            HostFrame::Progress(progress) => self.host.calls().deliver_piece(progress),
            HostFrame::State(change) => self.host.session_mirror().apply_state(change),
            HostFrame::Entries(change) => self.host.session_mirror().apply_entries(change),
            HostFrame::Ping(ping) => self.outbox.push(Pong { id: ping.id }),
            HostFrame::Shutdown(_) => return Ok(DispatchOutcome::Shutdown),
        }
        Ok(DispatchOutcome::Continue)
    }

    fn enqueue_one_way(&mut self, one_way: OneWay) -> Result<(), ServeError> {
        let lane = match &self.lane {
            Some(lane) => lane,
            None => {
                let (lane, queue) = mpsc::unbounded_channel();
                let (extension, host) = (Arc::clone(&self.extension), self.host.clone());
                let handling = one_way::run(extension, host, queue, self.outbox.clone(), self.handled);
                self.work.spawn_handler(handling)?;
                self.lane.insert(lane)
            }
        };
        // The lane ends after the dispatcher, so its receiver still exists.
        let _ = lane.send(one_way);
        Ok(())
    }

    fn handle_hello_ack(&mut self, ack: HelloAck) -> Result<(), ServeError> {
        if ack.protocol_version != PROTOCOL_VERSION {
            return Err(ServeError::Incompatible { host: ack.protocol_version, sdk: PROTOCOL_VERSION });
        }
        self.outbox.set_limits(ack.limits.as_deref().copied().unwrap_or_default());
        if self.extension.start_frames().needs_roles() && self.greeted.borrow().is_none() {
            self.outbox.push_all(&self.extension.start_frames().subscription_frames(&ack.capabilities));
        }
        self.greeted.send_replace(Some(Arc::new(ack)));
        Ok(())
    }

    fn dispatch_command(&mut self, command: CommandInvoked) -> Result<(), ServeError> {
        let found = self.extension.commands.iter().find(|(registered, _)| registered.name == command.name);
        let handler =
            found.map(|(_, handler)| handler.clone()).ok_or_else(|| unknown_name("command", &command.name));
        self.run_handler::<InvokeCommand, _>(handler, command.args, command.id, None)
    }

    fn dispatch_completions(&mut self, asked: CommandCompletions) -> Result<(), ServeError> {
        let found = self.extension.completions.iter().find(|(command, _)| *command == asked.name);
        let handler = found
            .map(|(_, handler)| handler.clone())
            .ok_or_else(|| unknown_name("completion of", &asked.name));
        self.run_handler::<QueryCompletions, _>(handler, asked.prefix, asked.id, None)
    }

    fn dispatch_call(&mut self, asked: ExtensionCall) -> Result<(), ServeError> {
        let ExtensionCall { id, call, args, session } = asked;
        let named = match ExtensionCallKind::from_name(&call) {
            Some(ExtensionCallKind::Shortcut) => args.read::<ShortcutCall>().ok(),
            None => None,
        };
        let name = named.map(|named| named.name).unwrap_or_default();
        let handler = self.extension.shortcuts.find_handler(&name);
        let handler = handler.ok_or_else(|| unknown_name("call", &call));
        self.run_handler::<PressShortcut, _>(handler, PressShortcut { name, session }, id, None)
    }

    fn dispatch_tool(&mut self, call: ToolCallFrame) -> Result<(), ServeError> {
        let found = self.extension.tools.iter().find(|(registered, _)| registered.name == call.name);
        let handler =
            found.map(|(_, handler)| handler.clone()).ok_or_else(|| unknown_name("tool", &call.name));
        let tool_call = HandledToolCall { id: call.tool_id };
        self.run_handler::<CallTool, _>(handler, call.args, call.id, Some(tool_call))
    }

    fn dispatch_intercept(
        &mut self,
        EventIntercept { id, intercept }: EventIntercept,
    ) -> Result<(), ServeError> {
        let extension = Arc::clone(&self.extension);
        let (hooks, waits) = (&extension.hooks, &extension.waits);
        match intercept {
            Intercept::ToolCall(input) => match extension.tool_call_handler(&input.tool_name) {
                Some(ToolCallHandlerKind::Gate(handler)) => {
                    self.run_intercept::<GateQuestion, _>(Some(handler), input, id)
                }
                Some(ToolCallHandlerKind::Ordered { handler, .. }) => {
                    self.run_intercept::<InterceptToolCall, _>(Some(handler), input, id)
                }
                None => self.run_intercept::<InterceptToolCall, InterceptToolCall>(None, input, id),
            },
            Intercept::TurnStart(input) => self.answer_hook(hooks.turn_start.as_ref(), input, id),
            Intercept::AssistantMessage(input) => {
                self.answer_hook(hooks.assistant_message.as_ref(), input, id)
            }
            Intercept::BeforeAgentStart(input) => {
                self.answer_hook(hooks.before_agent_start.as_ref(), input, id)
            }
            Intercept::BeforeCompact(input) => self.answer_hook(hooks.before_compact.as_ref(), input, id),
            Intercept::ToolResult(input) => self.answer_hook(hooks.tool_result.as_ref(), input, id),
            Intercept::Input(input) => self.answer_hook(hooks.input.as_ref(), input, id),
            Intercept::BeforeSettle(input) => self.answer_hook(hooks.before_settle.as_ref(), input, id),
            Intercept::Context(input) => self.answer_hook(hooks.context.as_ref(), input, id),
            Intercept::MessageEnd(input) => self.answer_hook(hooks.message_end.as_ref(), input, id),
            Intercept::BeforeProviderRequest(input) => {
                self.answer_hook(hooks.before_provider_request.as_ref(), input, id)
            }
            Intercept::UserBash(input) => self.answer_hook(hooks.user_bash.as_ref(), input, id),
            Intercept::BeforeSwitch(input) => self.answer_hook(hooks.before_switch.as_ref(), input, id),
            Intercept::BeforeFork(input) => self.answer_hook(hooks.before_fork.as_ref(), input, id),
            Intercept::BeforeTree(input) => self.answer_hook(hooks.before_tree.as_ref(), input, id),
            Intercept::ProjectTrust(input) => self.answer_hook(hooks.project_trust.as_ref(), input, id),
            Intercept::Resources(input) => self.answer_hook(hooks.resources.as_ref(), input, id),
            Intercept::Approve(input) => self.answer_hook(hooks.approve.as_ref(), input, id),
            Intercept::SessionStart(input) => self.answer_hook(waits.session_start.as_ref(), input, id),
            Intercept::SessionShutdown(input) => self.answer_hook(waits.session_shutdown.as_ref(), input, id),
            Intercept::AgentStart(input) => self.answer_hook(waits.agent_start.as_ref(), input, id),
            Intercept::AgentEnd(input) => self.answer_hook(waits.agent_end.as_ref(), input, id),
            Intercept::TurnEnd(input) => self.answer_hook(waits.turn_end.as_ref(), input, id),
            Intercept::MessageStart(input) => self.answer_hook(waits.message_start.as_ref(), input, id),
            Intercept::ToolEnd(input) => self.answer_hook(waits.tool_end.as_ref(), input, id),
        }
    }

    /// Runs the handler of a hook whose question it gets as it is.
    fn answer_hook<Q: HostQuestion + Send + 'static>(
        &mut self,
        handler: Option<&BoxedHandler<Q, Q::Answer>>,
        input: Q,
        id: RequestId,
    ) -> Result<(), ServeError> {
        self.run_intercept::<Q, Q>(handler, input, id)
    }

    /// Runs the handler of a hook, separately from all other kinds of handlers.
    fn run_intercept<Q: HostQuestion + 'static, I: Send + 'static>(
        &mut self,
        handler: Option<&BoxedHandler<I, Q::Answer>>,
        input: I,
        id: RequestId,
    ) -> Result<(), ServeError> {
        let Some(handler) = handler else {
            self.outbox.push(EventInterceptResponse::pass_through(id));
            return Ok(());
        };
        let (host, open) = self.host.for_request(&id, None);
        let responder = QuestionResponder::<Q>::new(self.outbox.clone(), id);
        let deciding = handler.call(input, host);
        self.work.run_intercept(deciding, |outcome| {
            drop(open);
            responder.respond(outcome);
        })
    }

    /// Starts the handler of a command or tool and ensures that the request is answered.
    fn run_handler<Q: HostQuestion + 'static, I: Send + 'static>(
        &mut self,
        handler: Result<BoxedHandler<I, Q::Answer>, HandlerFailure>,
        input: I,
        id: RequestId,
        tool_call: Option<HandledToolCall>,
    ) -> Result<(), ServeError> {
        let (host, open) = self.host.for_request(&id, tool_call);
        let responder = QuestionResponder::<Q>::new(self.outbox.clone(), id);
        match handler {
            Ok(handler) => {
                self.work.spawn_handler(async move {
                    let outcome = handler.call(input, host).await;
                    // Progress must not follow the answer.
                    drop(open);
                    responder.respond(outcome);
                })
            }
            Err(failure) => {
                responder.respond(Err(failure));
                Ok(())
            }
        }
    }
}

fn unknown_name(kind: &str, name: &str) -> HandlerFailure {
    HandlerFailure(format!("this extension has no {kind} {name:?}"))
}
