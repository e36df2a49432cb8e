//! Code that the programs in `src/bin` share: a model that needs neither a key nor the network.
//!
//! The code of `docs/first-embedding.md` and `docs/embedding.md` is compiled here, too, as documentation tests.

use haft_providers::{ScriptError, ScriptedModel};

#[cfg(doctest)]
#[doc = include_str!("../../../docs/first-embedding.md")]
pub struct FirstEmbedding;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
pub struct Embedding;

/// Guesses that do not compile, because a type with such a method could also be a closure. The error of the compiler
/// names the right call, which follows here. `tests/it/first_guesses.rs` has the guesses that compile.
///
/// ```compile_fail,E0277
/// # fn watch(agent: haft_core::AgentBuilder) -> haft_core::AgentBuilder {
/// agent.observer(|event: &haft_core::protocol::event::AgentEvent| eprintln!("{event:?}"))
/// # }
/// ```
///
/// ```
/// # fn watch(agent: haft_core::AgentBuilder) -> haft_core::AgentBuilder {
/// agent.observe(|event| eprintln!("{event:?}"))
/// # }
/// ```
///
/// ```compile_fail,E0277
/// # fn approve(agent: haft_core::AgentBuilder) -> haft_core::AgentBuilder {
/// agent.approve_tool(|_, _| async { true })
/// # }
/// ```
///
/// ```
/// # fn approve(agent: haft_core::AgentBuilder) -> haft_core::AgentBuilder {
/// agent.approve(|_, _| async { true })
/// # }
/// ```
///
/// ```compile_fail,E0277
/// # use haft_core::prelude::*;
/// # fn add_tool(agent: AgentBuilder) -> AgentBuilder {
/// agent.tool(|NoArgs {}, _: ToolContext| async { "noon" })
/// # }
/// ```
///
/// ```
/// # use haft_core::prelude::*;
/// # fn add_tool(agent: AgentBuilder) -> AgentBuilder {
/// agent.tool(function("time", "Returns the time.", |NoArgs {}, _| async { "noon" }))
/// # }
/// ```
///
/// ```compile_fail,E0277
/// # use haft_core::prelude::*;
/// # fn add_tool(agent: AgentBuilder) -> AgentBuilder {
/// agent.tool(function("count", "Counts.", |NoArgs {}, _| async { [1, 2, 3] }))
/// # }
/// ```
///
/// ```
/// # use haft_core::prelude::*;
/// # fn add_tool(agent: AgentBuilder) -> AgentBuilder {
/// agent.tool(function("count", "Counts.", |NoArgs {}, _| async { JsonOutput([1, 2, 3]) }))
/// # }
/// ```
#[cfg(doctest)]
pub struct WrongGuesses;

/// Creates a model that gives the answers in `steps`, a JSON list: see "The scripted model" in
/// `docs/providers.md`.
///
/// In your own program use a model of `haft_providers::choose`, or any other
/// `haft_core::model::Model`.
///
/// # Errors
/// [`ScriptError`] if the steps are not valid.
pub fn scripted(steps: &str) -> Result<ScriptedModel, ScriptError> {
    ScriptedModel::from_json(&format!(r#"{{"steps": {steps}}}"#))
}
