//! The description of a fault: its name, its moment and its action.

use serde_json::Value;

use crate::peer::ExtensionPeer;

/// One fault.
pub(crate) struct FaultSpec {
    pub(crate) name: &'static str,
    pub(crate) at: FaultMoment,
    /// Runs whenever the moment comes, after the marker was written.
    pub(crate) act: fn(&mut ExtensionPeer, &Value) -> AfterFault,
}

/// A moment in the life of an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultMoment {
    /// Before or instead of `hello`.
    Start,
    /// After `hello`, before the registrations.
    Greeted,
    /// After the registrations, before `ready`.
    Registered,
    /// After `ready`, before anything is read.
    Ready,
    /// The host answered `hello`.
    Acknowledged,
    /// Any question: a tool call, an interception or a command.
    Question,
    /// A call of the extension's tool.
    Tool,
    /// An interception of any tool call.
    Gate,
    /// A call of the extension's command.
    Command,
    /// A subscribed event.
    Event,
    /// A line that is longer than the extension can read.
    BigLine,
    /// A request to shut down.
    Shutdown,
    /// The moment that the file of `inject` names.
    Inject,
    /// Never.
    Never,
}

/// The behavior of the extension after the fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterFault {
    /// The extension handles the frame as usual.
    Continue,
    /// The extension skips its usual answer.
    SkipAnswer,
}
