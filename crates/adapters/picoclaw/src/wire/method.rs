//! The registry of methods, one line each. The calls and their schema follow from it.

use haft_protocol::foreign::named_enum;

/// Passes the registry to a macro.
macro_rules! methods {
    ($define:ident) => {
        $define! {
            /// The host introduces itself; always the first call, with the id 1.
            Hello(HookHello) = "hook.hello",
            /// Before a request to the model.
            BeforeLlm(BeforeLlm) = "hook.before_llm",
            /// The model has answered.
            AfterLlm(AfterLlm) = "hook.after_llm",
            /// Before a tool runs.
            BeforeTool(BeforeTool) = "hook.before_tool",
            /// After a tool has run.
            AfterTool(AfterTool) = "hook.after_tool",
            /// Approves or denies a tool call.
            ApproveTool(ApproveTool) = "hook.approve_tool",
            /// An event in the form of PicoClaw up to 0.2.8; has no reply.
            Event(LegacyEvent) = "hook.event",
            /// An event in the form of PicoClaw since 0.2.9; has no reply.
            RuntimeEvent(RuntimeEvent) = "hook.runtime_event",
        }
    };
}

macro_rules! define_methods {
    ($($(#[$doc:meta])* $call:ident($params:ident) = $name:literal,)*) => {
        named_enum! {
            /// The methods of a hook.
            pub enum Method { $($(#[$doc])* $call = $name,)* }
        }
    };
}

methods!(define_methods);

impl Method {
    /// True if the method is a notification, which has no id and no reply.
    pub const fn is_notification(self) -> bool {
        match self {
            Self::Event | Self::RuntimeEvent => true,
            Self::Hello
            | Self::BeforeLlm
            | Self::AfterLlm
            | Self::BeforeTool
            | Self::AfterTool
            | Self::ApproveTool => false,
        }
    }
}

pub(super) use methods;
