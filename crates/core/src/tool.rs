//! `Tool`: a function that the model can call, built in or registered by an extension.

mod approval;
#[cfg(feature = "schemars")]
mod function;
mod preview;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, ResolvedPath, ToolCall};
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ExtensionName;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::forward::forward_trait;
use crate::jobs::BackgroundJobs;
use crate::sanitize::strip_hidden_chars;

pub use approval::{ApprovalRequest, QUOTE_MARK};
#[cfg(feature = "schemars")]
pub use function::{FunctionTool, IntoToolOutput, JsonOutput, NoArgs, function};
pub(crate) use preview::LazyPreview;
pub use preview::ToolPreview;

/// A function that the model can call. For a function with typed arguments, [`function`] is shorter.
///
/// ```
/// use std::sync::Arc;
///
/// use haft_core::protocol::RawJson;
/// use haft_core::protocol::content::ToolCall;
/// use haft_core::tool::{Tool, ToolContext, ToolOutput, ToolSpec};
///
/// struct Weather;
///
/// #[derive(serde::Deserialize)]
/// struct Args {
///     city: String,
/// }
///
/// #[async_trait::async_trait]
/// impl Tool for Weather {
///     fn spec(&self) -> Arc<ToolSpec> {
///         let schema = serde_json::json!({
///             "type": "object",
///             "properties": { "city": { "type": "string" } },
///             "required": ["city"],
///         });
///         Arc::new(ToolSpec::new("weather", "The weather in a city.").with_schema(schema.into()))
///     }
///
///     async fn execute(&self, context: ToolContext, call: ToolCall) -> ToolOutput {
///         // The arguments match the schema, and every gate has allowed the call.
///         let Args { city } = match call.args.read() {
///             Ok(args) => args,
///             Err(error) => return ToolOutput::error(error.to_string()),
///         };
///         context.progress(format!("asking about {city}"));
///         ToolOutput::text(format!("{city}: 16 degrees, fog"))
///     }
/// }
/// # assert!(haft_core::schema::SchemaValidator::compile(&Weather.spec().schema).is_ok());
/// ```
#[diagnostic::on_unimplemented(note = "`haft_core::tool::function` makes a tool of a function")]
#[async_trait]
pub trait Tool: Send + Sync {
    /// Returns name, description and schema. The result must not change during the life of the tool.
    fn spec(&self) -> Arc<ToolSpec>;

    /// Returns the canonical form of arguments that match the schema: each value that the tool reads, in one spelling,
    /// and no other values. Hooks see this form, a person approves it, and [`execute`](Self::execute) receives it.
    /// It matches the schema, and is its own canonical form. The agent calls this method before the first hook, and
    /// again after each rewrite. The default keeps the arguments. A tool that wraps another must pass this call on.
    ///
    /// # Errors
    /// The reason, for the model, why no call with these arguments can run.
    async fn canonical_args(&self, args: RawJson) -> Result<CanonicalArgs, String> {
        Ok(args.into())
    }

    /// Runs one call. The arguments are canonical, and every gate allowed the call. A panic becomes an error result.
    async fn execute(&self, context: ToolContext, call: ToolCall) -> ToolOutput;

    /// Returns the reason why a person must approve the call before it runs; `None` if that is not needed. The agent
    /// asks after all gates, and never runs the call without the approval. The tool compares
    /// [`ToolContext::approved`] with the reason at the time of the execution.
    async fn approval_request(&self, _call: &ToolCall) -> Option<ApprovalRequest> {
        None
    }

    /// Returns the effect that the call would have, for a person who is asked about it; `None` if the tool has no
    /// preview. The person sees a diff in place of the arguments, so it must contain all that the call changes. Changes
    /// nothing, and reads only what the tool may read without an approval. The agent calls this method only when a
    /// person is asked, and drops the future when the run is cancelled or after 5 s. A tool that wraps another must pass
    /// this call on.
    async fn preview(&self, _context: &ToolContext, _call: &ToolCall) -> Option<ToolPreview> {
        None
    }
}

forward_trait!(Tool for [Arc, Box] {
    async canonical_args(args: RawJson) -> Result<CanonicalArgs, String>;
    async execute(context: ToolContext, call: ToolCall) -> ToolOutput;
    async approval_request(call: &ToolCall) -> Option<ApprovalRequest>;
    async preview(context: &ToolContext, call: &ToolCall) -> Option<ToolPreview>;
    fn spec() -> Arc<ToolSpec>;
});

impl fmt::Debug for dyn Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tool").field(&self.spec().name).finish()
    }
}

/// Canonical arguments, and the files that the paths in them lead to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CanonicalArgs {
    /// The arguments.
    pub args: RawJson,
    /// The places, for hooks and for [`ToolContext::resolved_paths`].
    pub resolved_paths: Arc<[ResolvedPath]>,
}

impl CanonicalArgs {
    /// Sets [`resolved_paths`](Self::resolved_paths).
    #[must_use]
    pub fn with_resolved_paths(self, resolved_paths: impl Into<Arc<[ResolvedPath]>>) -> Self {
        Self { resolved_paths: resolved_paths.into(), ..self }
    }
}

impl From<RawJson> for CanonicalArgs {
    /// Creates arguments without paths.
    fn from(args: RawJson) -> Self {
        Self { args, resolved_paths: Arc::default() }
    }
}

/// The description of a tool for the model, and how the agent may run it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The name: `[A-Za-z][A-Za-z0-9_-]*`.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// The JSON Schema of the arguments, an object schema.
    pub schema: RawJson,
    /// Guidelines for the system prompt, one per line; each should name the tool.
    pub guidelines: Vec<String>,
    /// The name for people; `None` shows `name`.
    pub label: Option<String>,
    /// The line in the list of tools of the system prompt; `None` uses the first line of the description.
    pub snippet: Option<String>,
    /// The owner of the tool.
    pub owner: ToolOwner,
    /// The concurrency of calls of the same message.
    pub concurrency: ToolConcurrency,
}

impl ToolSpec {
    /// Creates the specification of an embedder's tool without arguments that can run concurrently with others.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            schema: RawJson::empty_object_schema(),
            guidelines: Vec::new(),
            label: None,
            snippet: None,
            owner: ToolOwner::Embedder,
            concurrency: ToolConcurrency::default(),
        }
    }

    /// Sets the JSON Schema of the arguments, an object schema.
    #[must_use]
    pub fn with_schema(mut self, schema: RawJson) -> Self {
        self.schema = schema;
        self
    }

    /// Sets [`guidelines`](Self::guidelines).
    #[must_use]
    pub fn with_guidelines(self, guidelines: Vec<String>) -> Self {
        Self { guidelines, ..self }
    }

    /// Sets [`label`](Self::label).
    #[must_use]
    pub fn with_label(self, label: impl Into<String>) -> Self {
        Self { label: Some(label.into()), ..self }
    }

    /// Sets [`snippet`](Self::snippet).
    #[must_use]
    pub fn with_snippet(self, snippet: impl Into<String>) -> Self {
        Self { snippet: Some(snippet.into()), ..self }
    }

    /// Sets [`owner`](Self::owner).
    #[must_use]
    pub fn with_owner(self, owner: ToolOwner) -> Self {
        Self { owner, ..self }
    }

    /// Sets [`concurrency`](Self::concurrency).
    #[must_use]
    pub fn with_concurrency(self, concurrency: ToolConcurrency) -> Self {
        Self { concurrency, ..self }
    }
}

/// The owner of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOwner {
    /// haft.
    BuiltIn,
    /// The program that embeds the agent.
    Embedder,
    /// The extension with this name.
    Extension(String),
}

impl ToolOwner {
    /// Returns the name of the extension, if the owner is one.
    pub fn extension(&self) -> Option<&str> {
        match self {
            Self::Extension(name) => Some(name),
            Self::BuiltIn | Self::Embedder => None,
        }
    }
}

/// The concurrency of calls of the same message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolConcurrency {
    /// Runs concurrently with other parallel calls.
    #[default]
    Parallel,
    /// Runs alone: earlier calls finish first, and later calls wait.
    Exclusive,
}

/// The context of a running call.
///
/// ```
/// use haft_core::tool::{ToolFailureKind, ToolContext, ToolOutput};
///
/// async fn fetch(context: ToolContext, pages: u32) -> ToolOutput {
///     for page in 1..=pages {
///         context.progress(format!("page {page} of {pages}"));
///         // Stops a long call soon after the user cancels it.
///         let Some(()) = context.cancel.run_until_cancelled(fetch_page(page)).await else {
///             return ToolOutput::failed(ToolFailureKind::Cancelled, format!("stopped before page {page}"));
///         };
///     }
///     ToolOutput::text(format!("{pages} pages"))
/// }
/// # async fn fetch_page(_: u32) {}
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// // A test creates its own context.
/// let cancel = haft_core::hooks::CancellationToken::new();
/// let context = ToolContext::new(cancel, |progress| println!("{}", progress.text));
/// assert_eq!(fetch(context, 2).await, ToolOutput::text("2 pages"));
/// # }
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct ToolContext {
    /// Cancelled with the run. A tool should then stop soon and return its partial output.
    pub cancel: CancellationToken,
    /// The request that a person approved for this call.
    pub approved: Option<ApprovalRequest>,
    /// The [state](ToolPreview::state) on which the preview is based that a person saw. The tool rejects the call if the
    /// state is another one at the time of the execution. `None` if no person saw a preview.
    pub previewed_state: Option<u64>,
    /// The files that the paths of this call led to when the hooks saw it. The tool rejects the call if a path leads to
    /// another file at the time of the execution. Empty if the agent has no hooks.
    pub resolved_paths: Arc<[ResolvedPath]>,
    /// The background jobs of the agent. `None` without an agent.
    pub jobs: Option<BackgroundJobs>,
    progress: Arc<dyn Fn(ToolProgress) + Send + Sync>,
}

impl ToolContext {
    /// Creates a context that passes progress to `progress`.
    pub fn new(cancel: CancellationToken, progress: impl Fn(ToolProgress) + Send + Sync + 'static) -> Self {
        Self {
            cancel,
            approved: None,
            previewed_state: None,
            resolved_paths: Arc::default(),
            jobs: None,
            progress: Arc::new(progress),
        }
    }

    /// Reports further output of the running call to observers; never blocks.
    pub fn progress(&self, text: impl Into<String>) {
        self.report_progress(ToolProgress { text: text.into(), ..ToolProgress::default() });
    }

    /// Reports progress of the running call to observers; never blocks.
    pub fn report_progress(&self, progress: ToolProgress) {
        (self.progress)(progress);
    }
}

/// The progress of a running call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolProgress {
    /// The next piece of the output; may be empty.
    pub text: String,
    /// True if the text replaces all earlier output.
    pub replaces: bool,
    /// Data for people and programs, an object, in place of earlier ones.
    pub details: Option<RawJson>,
}

impl ToolProgress {
    /// Creates progress that follows the earlier progress.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), replaces: false, details: None }
    }

    /// Sets [`replaces`](Self::replaces).
    #[must_use]
    pub fn with_replaces(self, replaces: bool) -> Self {
        Self { replaces, ..self }
    }

    /// Sets [`details`](Self::details).
    #[must_use]
    pub fn with_details(self, details: impl Into<Option<RawJson>>) -> Self {
        Self { details: details.into(), ..self }
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("cancel", &self.cancel)
            .field("approved", &self.approved)
            .field("previewed_state", &self.previewed_state)
            .field("resolved_paths", &self.resolved_paths)
            .field("jobs", &self.jobs)
            .finish_non_exhaustive()
    }
}

/// The result of a call.
///
/// ```
/// use haft_core::protocol::RawJson;
/// use haft_core::tool::{ToolFailureKind, ToolOutput};
///
/// fn lookup(word: &str) -> ToolOutput {
///     match word {
///         "haft" => ToolOutput::text("the handle of a knife")
///             .with_details(RawJson::from(serde_json::json!({ "source": "dictionary" }))),
///         // The model reads the error and can try another word.
///         _ => ToolOutput::failed(ToolFailureKind::NotFound, format!("no entry for {word:?}; try its singular")),
///     }
/// }
/// assert!(!lookup("haft").is_error);
/// assert!(lookup("hafts").is_error);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolOutput {
    /// The content for the model.
    pub content: Vec<ContentBlock>,
    /// True if the call failed.
    pub is_error: bool,
    /// Data for people and programs that is not sent to the model: an object, for example the diff of a change. Removed
    /// if a hook changes the result, because it would show content that the hook removed.
    pub details: Option<RawJson>,
    /// The kind of failure, if programs can react to it.
    pub failure: Option<ToolFailureKind>,
    /// True if the user already has the result. If all calls of a message are handled and no user message is queued,
    /// the turn ends without another request.
    pub handled: bool,
    /// True if the run ends after the calls of this message, without another request. A queued user message continues
    /// it.
    pub terminate: bool,
    /// A text for the user in addition to the result, shown if the result counts.
    pub display: Option<DisplayText>,
}

/// A text that an extension shows the user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DisplayText {
    /// The owner of the text.
    pub by: ExtensionName,
    /// The text.
    pub text: String,
}

impl DisplayText {
    /// Creates a text.
    pub fn new(by: ExtensionName, text: impl Into<String>) -> Self {
        Self { by, text: text.into() }
    }
}

impl From<DisplayText> for AgentEvent {
    fn from(DisplayText { by, text }: DisplayText) -> Self {
        Self::ExtDisplay { extension: by, text }
    }
}

/// A kind of failure that programs can react to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolFailureKind {
    /// The file does not exist.
    NotFound,
    /// The file must be read before it is changed.
    NotRead,
    /// The file has changed since it was read.
    Stale,
    /// The file is outside the allowed paths.
    OutOfReach,
    /// The arguments are invalid.
    InvalidArgs,
    /// The time limit was reached.
    TimedOut,
    /// The call was cancelled.
    Cancelled,
}

impl ToolOutput {
    /// Creates a successful result.
    pub fn new(content: Vec<ContentBlock>) -> Self {
        Self {
            content,
            is_error: false,
            details: None,
            failure: None,
            handled: false,
            terminate: false,
            display: None,
        }
    }

    /// Creates a successful result with text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![ContentBlock::text(text)])
    }

    /// Creates an error result; the model reads the text.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// Creates an error result of a known kind; the model reads the text.
    pub fn failed(failure: ToolFailureKind, text: impl Into<String>) -> Self {
        Self { failure: Some(failure), ..Self::error(text) }
    }

    /// Removes characters that only a model would see (see [`strip_hidden_chars`]) and adds a note with their number.
    #[must_use]
    pub fn without_hidden_text(mut self) -> Self {
        let mut hidden = 0;
        for block in &mut self.content {
            if let ContentBlock::Text { text } = block {
                let read = strip_hidden_chars(text);
                hidden += read.hidden;
                if let Cow::Owned(clean) = read.text {
                    *text = clean;
                }
            }
        }
        if hidden > 0 {
            self.content.push(ContentBlock::text(format!("[{hidden} invisible characters were removed]")));
        }
        self
    }

    /// Sets [`content`](Self::content).
    #[must_use]
    pub fn with_content(self, content: Vec<ContentBlock>) -> Self {
        Self { content, ..self }
    }

    /// Sets [`details`](Self::details).
    #[must_use]
    pub fn with_details(self, details: impl Into<Option<RawJson>>) -> Self {
        Self { details: details.into(), ..self }
    }

    /// Sets [`failure`](Self::failure).
    #[must_use]
    pub fn with_failure(self, failure: impl Into<Option<ToolFailureKind>>) -> Self {
        Self { failure: failure.into(), ..self }
    }

    /// Sets [`handled`](Self::handled).
    #[must_use]
    pub fn with_handled(self, handled: bool) -> Self {
        Self { handled, ..self }
    }

    /// Sets [`terminate`](Self::terminate).
    #[must_use]
    pub fn with_terminate(self, terminate: bool) -> Self {
        Self { terminate, ..self }
    }

    /// Sets [`display`](Self::display).
    #[must_use]
    pub fn with_display(self, display: impl Into<Option<DisplayText>>) -> Self {
        Self { display: display.into(), ..self }
    }

    /// Sets [`is_error`](Self::is_error).
    #[must_use]
    pub fn with_is_error(self, is_error: bool) -> Self {
        Self { is_error, ..self }
    }
}

/// The tools of an agent by name, in the order in which the model sees them.
///
/// ```
/// use std::sync::Arc;
///
/// use haft_core::{Agent, InvalidToolError};
/// use haft_core::tool::{Tool, ToolSet};
///
/// /// Replaces the tools from the next step on; see [`Agent::set_tools`].
/// fn offer(agent: &Agent, own: ToolSet, more: Vec<Arc<dyn Tool>>) -> Result<(), InvalidToolError> {
///     agent.set_tools(own.into_iter().chain(more).collect()) // of two tools with the same name, the later one
/// }
/// ```
#[derive(Clone, Default)]
pub struct ToolSet {
    order: Vec<Arc<dyn Tool>>,
    by_name: HashMap<String, usize>,
}

impl ToolSet {
    /// Adds a tool.
    ///
    /// # Errors
    /// [`NameTaken`] if a tool of the same name exists; the earlier tool stays.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), NameTaken> {
        let name = tool.spec().name.clone();
        if let Some(&index) = self.by_name.get(&name) {
            let owner = self.order.get(index).map_or(ToolOwner::BuiltIn, |tool| tool.spec().owner.clone());
            return Err(NameTaken { name, owner });
        }
        self.by_name.insert(name, self.order.len());
        self.order.push(tool);
        Ok(())
    }

    /// Adds a tool, in the place of an earlier tool of the same name if there is one.
    pub fn replace(&mut self, tool: Arc<dyn Tool>) {
        let name = tool.spec().name.clone();
        let earlier = self.by_name.get(&name).and_then(|&index| self.order.get_mut(index));
        match earlier {
            Some(earlier) => *earlier = tool,
            None => {
                self.by_name.insert(name, self.order.len());
                self.order.push(tool);
            }
        }
    }

    /// Returns the tool of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.by_name.get(name).and_then(|&index| self.order.get(index))
    }

    /// Returns all specifications, in order.
    pub fn specs(&self) -> Vec<Arc<ToolSpec>> {
        self.order.iter().map(|tool| tool.spec()).collect()
    }

    /// Returns all tools, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.order.iter()
    }
}

impl FromIterator<Arc<dyn Tool>> for ToolSet {
    /// Collects tools as [`Extend`] does.
    fn from_iter<I: IntoIterator<Item = Arc<dyn Tool>>>(tools: I) -> Self {
        let mut set = Self::default();
        set.extend(tools);
        set
    }
}

impl Extend<Arc<dyn Tool>> for ToolSet {
    /// Adds tools, each in the place of an earlier tool of the same name if there is one.
    fn extend<I: IntoIterator<Item = Arc<dyn Tool>>>(&mut self, tools: I) {
        tools.into_iter().for_each(|tool| self.replace(tool));
    }
}

impl IntoIterator for ToolSet {
    type Item = Arc<dyn Tool>;
    type IntoIter = std::vec::IntoIter<Arc<dyn Tool>>;

    fn into_iter(self) -> Self::IntoIter {
        self.order.into_iter()
    }
}

impl<'a> IntoIterator for &'a ToolSet {
    type Item = &'a Arc<dyn Tool>;
    type IntoIter = std::slice::Iter<'a, Arc<dyn Tool>>;

    fn into_iter(self) -> Self::IntoIter {
        self.order.iter()
    }
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.order.iter().map(|tool| tool.spec().name.clone())).finish()
    }
}

/// The error for a second tool with the same name. The earlier tool stays.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a tool named {name:?} already exists")]
#[non_exhaustive]
pub struct NameTaken {
    /// The name.
    pub name: String,
    /// The owner of the existing tool.
    pub owner: ToolOwner,
}
