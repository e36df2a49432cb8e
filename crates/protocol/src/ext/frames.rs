//! The registry of frames, one line each. Tags, `KINDS`, decoding and the schema follow from it.

use serde::Serialize;

use crate::codec::{CheckedJson, FrameSet};
use crate::ext::{
    CancelRequest, ClearNotes, CommandCompletions, CommandCompletionsResponse, CommandInvoked,
    CommandResponse, EntriesFrame, EventFrame, EventGap, EventIntercept, EventInterceptResponse,
    ExtensionCall, ExtensionCallResult, Hello, HelloAck, HostCall, HostCallCancel, HostCallProgress,
    HostResult, LifecycleEvent, Notify, OpenPanel, PanelClose, PanelKey, PanelRender, PanelResize, Ping,
    Pong, Ready, RegisterCommand, RegisterFrame, RegisterRejected, RegisterTool, SessionEvent, SetStatus,
    Shutdown, ShutdownAck, StateFrame, SubmitSlash, SubmitText, Subscribe, ToolCallFrame, ToolCallProgress,
    ToolCancel, ToolRequest, ToolRequestCancel, ToolRequestResult, ToolResultFrame, UnregisterFrame,
};
use crate::read;

/// The fields of all hooks together are much longer than any other frame.
type BoxedResponse = Box<EventInterceptResponse>;

macro_rules! frames {
    ($(#[$doc:meta])* $set:ident { $($(#[$frame_doc:meta])* $frame:ident($payload:ident) = $kind:literal,)* }) => {
        $(#[$doc])*
        // Exhaustive on purpose: the compiler requires every reader to handle a new frame.
        // Programs of other authors get unknown frames from `decode`, not in a match.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "type")]
        pub enum $set {
            $($(#[$frame_doc])* #[serde(rename = $kind)] $frame($payload),)*
        }

        impl FrameSet for $set {
            const KINDS: &'static [&'static str] = &[$($kind),*];

            fn kind(&self) -> &'static str {
                match self { $(Self::$frame(_) => $kind,)* }
            }

            fn read(kind: &str, line: CheckedJson<'_>) -> Option<Result<Self, String>> {
                match kind {
                    $($kind => Some(read::read(line).map(Self::$frame)),)*
                    _ => None,
                }
            }
        }

        $(impl From<$payload> for $set {
            fn from(frame: $payload) -> Self {
                Self::$frame(frame)
            }
        })*
    };
}

frames! {
    /// The frames of an extension.
    ExtensionFrame {
        /// The first frame: name, version and capabilities.
        Hello(Hello) = "hello",
        /// Registers a command.
        RegisterCommand(RegisterCommand) = "register_command",
        /// Registers a tool.
        RegisterTool(RegisterTool) = "register_tool",
        /// Subscribes to events and hooks.
        Subscribe(Subscribe) = "subscribe",
        /// Registers something of another kind. Needs the capability `calls`.
        Register(RegisterFrame) = "register",
        /// Removes a registration. Needs the capability `calls`.
        Unregister(UnregisterFrame) = "unregister",
        /// Ends the initial registrations.
        Ready(Ready) = "ready",
        /// Response to `tool_call`.
        ToolResult(ToolResultFrame) = "tool_result",
        /// The progress of a `tool_call`. Needs the capability `progress`.
        Progress(ToolCallProgress) = "progress",
        /// Response to `event_intercept`.
        EventInterceptResponse(BoxedResponse) = "event_intercept_response",
        /// Response to `command_invoked`.
        CommandResponse(CommandResponse) = "command_response",
        /// Response to `command_completions`.
        CommandCompletionsResponse(CommandCompletionsResponse) = "command_completions_response",
        /// Response to `ext_call`.
        ExtResult(ExtensionCallResult) = "ext_result",
        /// Runs a tool of the host: read, write, edit or exec. Needs the capability
        /// `host_services`.
        HostCall(HostCall) = "host_call",
        /// Cancels a `host_call`. Needs the capability `host_services`.
        HostCallCancel(HostCallCancel) = "host_call_cancel",
        /// Sends a prompt, as in newer zot versions.
        Submit(SubmitText) = "submit",
        /// Runs a command, as in newer zot versions.
        SubmitSlash(SubmitSlash) = "submit_slash",
        /// Opens a panel, as in newer zot versions.
        OpenPanel(OpenPanel) = "open_panel",
        /// Runs a tool of the model, as in newer zot versions. Needs the capability `call_tool`.
        CallTool(ToolRequest) = "call_tool",
        /// Cancels a `call_tool`.
        CallToolCancel(ToolRequestCancel) = "call_tool_cancel",
        /// New content of an open panel.
        PanelRender(PanelRender) = "panel_render",
        /// Asks the host to close a panel.
        PanelClose(PanelClose) = "panel_close",
        /// Shows a note.
        Notify(Notify) = "notify",
        /// Removes all notes of this extension.
        ClearNotes(ClearNotes) = "clear_notes",
        /// Sets a text in the status line. Needs the capability `status`.
        SetStatus(SetStatus) = "set_status",
        /// Response to `ping`. Needs the capability `ping`.
        Pong(Pong) = "pong",
        /// Response to `shutdown`.
        ShutdownAck(ShutdownAck) = "shutdown_ack",
    }
}

frames! {
    /// The frames of the host.
    HostFrame {
        /// Response to `hello`.
        HelloAck(HelloAck) = "hello_ack",
        /// The user did not grant a registration. Needs the capability `register_rejected`.
        RegisterRejected(RegisterRejected) = "register_rejected",
        /// The user ran one of the extension's commands.
        CommandInvoked(CommandInvoked) = "command_invoked",
        /// The user types after one of the extension's commands. Only for commands with
        /// `completes`.
        CommandCompletions(CommandCompletions) = "command_completions",
        /// The model called one of the extension's tools.
        ToolCall(ToolCallFrame) = "tool_call",
        /// The host uses a registration of the extension. Needs the capability `calls`.
        ExtCall(ExtensionCall) = "ext_call",
        /// A subscribed event.
        Event(EventFrame) = "event",
        /// The host dropped events. Needs the capability `event_gap`.
        EventGap(EventGap) = "event_gap",
        /// A subscribed hook: the host waits for the decision.
        EventIntercept(EventIntercept) = "event_intercept",
        /// The host no longer waits for a response. Needs the capability `cancel`.
        Cancel(CancelRequest) = "cancel",
        /// The host no longer waits for a `tool_result`, as in newer zot versions. Needs the capability
        /// `tool_cancel`.
        ToolCancel(ToolCancel) = "tool_cancel",
        /// Result of a `host_call`. Needs the capability `host_services`.
        HostResult(HostResult) = "host_result",
        /// Result of a `call_tool`.
        ToolResult(ToolRequestResult) = "tool_result",
        /// A part of the value of a `host_call`. Needs the capability `progress`.
        Progress(HostCallProgress) = "progress",
        /// The changed parts of the session's state. Needs the capability `mirror`.
        State(StateFrame) = "state",
        /// New entries of the session. Needs the capability `mirror`.
        Entries(EntriesFrame) = "entries",
        /// A key for an open panel.
        PanelKey(PanelKey) = "panel_key",
        /// The size of a panel. Needs the capability `panel_resize`.
        PanelResize(PanelResize) = "panel_resize",
        /// The user closed a panel.
        PanelClose(PanelClose) = "panel_close",
        /// Asks for a sign of life. Needs the capability `ping`.
        Ping(Ping) = "ping",
        /// Shuts the extension down.
        Shutdown(Shutdown) = "shutdown",
    }
}

impl From<EventInterceptResponse> for ExtensionFrame {
    fn from(response: EventInterceptResponse) -> Self {
        Box::new(response).into()
    }
}

impl From<LifecycleEvent> for HostFrame {
    fn from(event: LifecycleEvent) -> Self {
        Self::Event(event.into())
    }
}

impl From<SessionEvent> for HostFrame {
    fn from(event: SessionEvent) -> Self {
        Self::Event(event.into())
    }
}
