//! The description of a fault: a name, a moment, and what happens then.

use serde_json::Value;

use crate::peer::ExtensionPeer;

/// One fault.
pub(crate) struct FaultSpec {
    pub(crate) name: &'static str,
    pub(crate) at: FaultMoment,
    /// Happens whenever the moment comes, after the marker was written.
    pub(crate) act: fn(&mut ExtensionPeer, &Value) -> AfterFault,
}

/// A moment in the life of an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultMoment {
    /// Before it says hello, or instead.
    Start,
    /// After hello, before it registers anything.
    Greeted,
    /// After its registrations, before it says that it is ready.
    Registered,
    /// After that, before it reads anything.
    Ready,
    /// The host answered its hello.
    Acknowledged,
    /// It is asked anything: the next three together.
    Question,
    /// Its tool is called.
    Tool,
    /// It is asked about somebody's tool call.
    Gate,
    /// Its command is run.
    Command,
    /// Something it watches happened.
    Event,
    /// A line came that is longer than it can take.
    BigLine,
    /// It is asked to leave.
    Shutdown,
    /// When the file of `inject` says.
    Inject,
    /// Never.
    Never,
}

/// The behavior of the extension after the fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterFault {
    GoOn,
    Instead,
}
