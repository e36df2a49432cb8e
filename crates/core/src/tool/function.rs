//! `FunctionTool`: a tool from an async function with typed arguments.

use std::fmt;
use std::fmt::Display;
use std::future::ready;
use std::sync::Arc;

use async_trait::async_trait;
use futures::FutureExt;
use futures::future::BoxFuture;
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, ToolCall};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Tool, ToolConcurrency, ToolContext, ToolFailureKind, ToolOutput, ToolSpec};

/// Creates a tool from an async function with typed arguments. The schema for the model comes from the type of the
/// arguments, and its documentation describes them. The result is anything that [`IntoToolOutput`] converts.
///
/// ```
/// use haft_core::prelude::*;
///
/// #[derive(serde::Deserialize, JsonSchema)]
/// struct Stock {
///     /// The item to count.
///     item: String,
/// }
///
/// fn with_stock(agent: AgentBuilder) -> AgentBuilder {
///     agent.tool(function("stock", "Counts the remaining pieces of an item.", |Stock { item }, _| async move {
///         match item.as_str() {
///             "teapots" => Ok("12 left"),
///             _ => Err(format!("{item}: not sold here")), // the model reads the error
///         }
///     }))
/// }
/// ```
pub fn function<Args, Fun, Work>(
    name: impl Into<String>,
    description: impl Into<String>,
    run: Fun,
) -> FunctionTool
where
    Args: DeserializeOwned + JsonSchema + Send + 'static,
    Fun: Fn(Args, ToolContext) -> Work + Send + Sync + 'static,
    Work: Future<Output: IntoToolOutput> + Send + 'static,
{
    let run = move |context: ToolContext, args: RawJson| match args.read() {
        Ok(args) => run(args, context).map(IntoToolOutput::into_tool_output).boxed(),
        Err(error) => {
            let text = format!("arguments do not fit: {error}");
            ready(ToolOutput::failed(ToolFailureKind::InvalidArgs, text)).boxed()
        }
    };
    let spec = ToolSpec::new(name, description).with_schema(RawJson::schema_of::<Args>());
    FunctionTool { spec: Arc::new(spec), run: Arc::new(run) }
}

/// The arguments of a [`function`] without arguments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct NoArgs {}

/// A tool from an async function; see [`function`]. Clones share the function.
#[derive(Clone)]
pub struct FunctionTool {
    spec: Arc<ToolSpec>,
    run: Arc<ToolFn>,
}

type ToolFn = dyn Fn(ToolContext, RawJson) -> BoxFuture<'static, ToolOutput> + Send + Sync;

impl FunctionTool {
    /// Changes the specification, for example its guidelines.
    ///
    /// ```
    /// # use haft_core::tool::FunctionTool;
    /// fn with_guideline(tool: FunctionTool) -> FunctionTool {
    ///     tool.edit_spec(|spec| spec.guidelines.push("Count with `stock` before you promise a delivery.".into()))
    /// }
    /// ```
    #[must_use]
    pub fn edit_spec(mut self, edit: impl FnOnce(&mut ToolSpec)) -> Self {
        edit(Arc::make_mut(&mut self.spec));
        self
    }

    /// Runs each call alone: earlier calls of the same message finish first, and later ones wait.
    #[must_use]
    pub fn run_alone(self) -> Self {
        self.edit_spec(|spec| spec.concurrency = ToolConcurrency::Exclusive)
    }
}

#[async_trait]
impl Tool for FunctionTool {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    async fn execute(&self, context: ToolContext, call: ToolCall) -> ToolOutput {
        (self.run)(context, call.args).await
    }
}

impl fmt::Debug for FunctionTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionTool").field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// The result of a [`function`] that becomes the result of a call.
#[diagnostic::on_unimplemented(
    note = "wrap a value that serializes in `JsonOutput`",
    note = "or return a text, a number, a `ToolOutput`, or a `Result` of one of them"
)]
pub trait IntoToolOutput {
    /// Converts the result.
    fn into_tool_output(self) -> ToolOutput;
}

impl IntoToolOutput for ToolOutput {
    fn into_tool_output(self) -> ToolOutput {
        self
    }
}

impl IntoToolOutput for Vec<ContentBlock> {
    /// Converts texts and images to a successful result.
    fn into_tool_output(self) -> ToolOutput {
        ToolOutput { content: self, ..ToolOutput::text("") }
    }
}

impl<T: IntoToolOutput, E: Display> IntoToolOutput for Result<T, E> {
    /// Converts an error to an error result with the text of the error.
    fn into_tool_output(self) -> ToolOutput {
        match self {
            Ok(output) => output.into_tool_output(),
            Err(error) => ToolOutput::error(error.to_string()),
        }
    }
}

/// Converts values with a text to a successful result.
macro_rules! text_outputs {
    ($($type:ty),*) => {
        $(impl IntoToolOutput for $type {
            fn into_tool_output(self) -> ToolOutput {
                ToolOutput::text(self.to_string())
            }
        })*
    };
}

impl IntoToolOutput for () {
    /// Reports that the work is done, because servers reject a result without content.
    fn into_tool_output(self) -> ToolOutput {
        ToolOutput::text("done")
    }
}

text_outputs!(&str, String, serde_json::Value, RawJson, bool, i32, i64, u32, u64, usize, f64);

/// A value that the model receives as JSON.
///
/// ```
/// use haft_core::tool::{IntoToolOutput, JsonOutput, ToolOutput};
///
/// assert_eq!(JsonOutput([1, 2]).into_tool_output(), ToolOutput::text("[1,2]"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonOutput<T>(pub T);

impl<T: Serialize> IntoToolOutput for JsonOutput<T> {
    /// Converts a value that has no JSON form to an error result.
    fn into_tool_output(self) -> ToolOutput {
        serde_json::to_string(&self.0).into_tool_output()
    }
}
