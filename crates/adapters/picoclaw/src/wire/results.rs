//! Every result by its method, for the schema.

use super::{ApprovalReply, HelloReply, LlmReply, ResponseReply, ResultReply, ToolReply};

/// `result` of a hook's reply, by the method that was called. Fields that are not listed may be there and are ignored.
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HookResults {
    /// The answer to `hook.hello`.
    #[cfg_attr(feature = "schema", schemars(rename = "hook.hello"))]
    pub hello: HelloReply,
    /// The answer to `hook.before_llm`.
    #[cfg_attr(feature = "schema", schemars(rename = "hook.before_llm"))]
    pub before_llm: LlmReply,
    /// The answer to `hook.after_llm`.
    #[cfg_attr(feature = "schema", schemars(rename = "hook.after_llm"))]
    pub after_llm: ResponseReply,
    /// The answer to `hook.before_tool`.
    #[cfg_attr(feature = "schema", schemars(rename = "hook.before_tool"))]
    pub before_tool: ToolReply,
    /// The answer to `hook.after_tool`.
    #[cfg_attr(feature = "schema", schemars(rename = "hook.after_tool"))]
    pub after_tool: ResultReply,
    /// The answer to `hook.approve_tool`.
    #[cfg_attr(feature = "schema", schemars(rename = "hook.approve_tool"))]
    pub approve_tool: ApprovalReply,
}
