//! The registry: one line a frame. Tags, `KINDS`, decoding and schema follow from it.

use serde::Serialize;

use crate::codec::{CheckedJson, FrameSet};
use crate::ext::{
    ClearNotes, CommandCompletions, CommandCompletionsResponse, CommandInvoked, CommandResponse, EventGap,
    EventIntercept, EventInterceptResponse, Hello, HelloAck, HostCall, HostCallCancel, HostResult,
    LifecycleEvent, Notify, PanelClose, PanelKey, PanelRender, PanelResize, Ping, Pong, Ready,
    RegisterCommand, RegisterRejected, RegisterTool, SetStatus, Shutdown, ShutdownAck, Subscribe,
    ToolCallFrame, ToolResultFrame,
};
use crate::read;

macro_rules! frames {
    ($(#[$doc:meta])* $set:ident { $($(#[$frame_doc:meta])* $frame:ident($payload:ident) = $kind:literal,)* }) => {
        $(#[$doc])*
        // Exhaustive on purpose: a new frame asks every reader for its arm. Strangers meet unknown
        // frames in `decode`, not in a match.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
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
    /// What an extension says.
    ExtensionFrame {
        /// The first frame: who speaks.
        Hello(Hello) = "hello",
        /// A command for the user.
        RegisterCommand(RegisterCommand) = "register_command",
        /// A tool for the model.
        RegisterTool(RegisterTool) = "register_tool",
        /// Which events to watch and which to intercept.
        Subscribe(Subscribe) = "subscribe",
        /// All initial registrations are sent.
        Ready(Ready) = "ready",
        /// Answer to `tool_call`.
        ToolResult(ToolResultFrame) = "tool_result",
        /// Answer to `event_intercept`.
        EventInterceptResponse(EventInterceptResponse) = "event_intercept_response",
        /// Answer to `command_invoked`.
        CommandResponse(CommandResponse) = "command_response",
        /// Answer to `command_completions`.
        CommandCompletionsResponse(CommandCompletionsResponse) = "command_completions_response",
        /// Has the host read, write, edit or run something. Behind the capability `host_services`.
        HostCall(HostCall) = "host_call",
        /// A `host_call` is no longer wanted. Behind the capability `host_services`.
        HostCallCancel(HostCallCancel) = "host_call_cancel",
        /// New content of an open panel.
        PanelRender(PanelRender) = "panel_render",
        /// The extension closes its panel.
        PanelClose(PanelClose) = "panel_close",
        /// A note for the user.
        Notify(Notify) = "notify",
        /// Takes this extension's notes back.
        ClearNotes(ClearNotes) = "clear_notes",
        /// What the extension keeps saying in the status line. Behind the capability `status`.
        SetStatus(SetStatus) = "set_status",
        /// Answer to `ping`. Behind the capability `ping`.
        Pong(Pong) = "pong",
        /// Answer to `shutdown`.
        ShutdownAck(ShutdownAck) = "shutdown_ack",
    }
}

frames! {
    /// What the host says.
    HostFrame {
        /// Answer to `hello`.
        HelloAck(HelloAck) = "hello_ack",
        /// Something was not granted, and so not registered. Behind the capability `register_rejected`.
        RegisterRejected(RegisterRejected) = "register_rejected",
        /// The user ran one of the extension's commands.
        CommandInvoked(CommandInvoked) = "command_invoked",
        /// The user types what follows one of the extension's commands. Only about commands that complete.
        CommandCompletions(CommandCompletions) = "command_completions",
        /// The model called one of the extension's tools.
        ToolCall(ToolCallFrame) = "tool_call",
        /// Something the extension watches happened.
        Event(LifecycleEvent) = "event",
        /// Events were lost on the way. Behind the capability `event_gap`.
        EventGap(EventGap) = "event_gap",
        /// Something the extension intercepts is about to happen.
        EventIntercept(EventIntercept) = "event_intercept",
        /// What a `host_call` came to. Behind the capability `host_services`.
        HostResult(HostResult) = "host_result",
        /// A key, while the extension's panel has the focus.
        PanelKey(PanelKey) = "panel_key",
        /// The room of the extension's panel changed.
        PanelResize(PanelResize) = "panel_resize",
        /// The user closed the extension's panel.
        PanelClose(PanelClose) = "panel_close",
        /// A sign of life is asked for. Behind the capability `ping`.
        Ping(Ping) = "ping",
        /// The host is leaving; the extension should, too.
        Shutdown(Shutdown) = "shutdown",
    }
}
