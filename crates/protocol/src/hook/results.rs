//! Every result by its method, for the schema.

use super::{ApprovalReply, HelloReply, LlmReply, ResponseReply, ResultReply, ToolReply};

/// `result` of a hook's reply, by the method that was called. Fields that are not listed may be there and are ignored.
#[derive(Debug, Clone, Default, PartialEq, schemars::JsonSchema)]
pub struct Results {
    /// What answers `hook.hello`.
    #[schemars(rename = "hook.hello")]
    pub hello: HelloReply,
    /// What answers `hook.before_llm`.
    #[schemars(rename = "hook.before_llm")]
    pub before_llm: LlmReply,
    /// What answers `hook.after_llm`.
    #[schemars(rename = "hook.after_llm")]
    pub after_llm: ResponseReply,
    /// What answers `hook.before_tool`.
    #[schemars(rename = "hook.before_tool")]
    pub before_tool: ToolReply,
    /// What answers `hook.after_tool`.
    #[schemars(rename = "hook.after_tool")]
    pub after_tool: ResultReply,
    /// What answers `hook.approve_tool`.
    #[schemars(rename = "hook.approve_tool")]
    pub approve_tool: ApprovalReply,
}
