//! `BuiltIn`: the common part of the built-in tools.

use std::future::{Future, poll_fn, ready};
use std::marker::PhantomData;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use async_trait::async_trait;
use haft_core::tool::{
    ApprovalRequest, CanonicalArgs, Tool, ToolConcurrency, ToolContext, ToolFailureKind, ToolOutput,
    ToolOwner, ToolPreview, ToolSpec,
};
use haft_core::truncate::{self, TruncationLimits};
use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;

use crate::approval::{CallSubject, approval_request};
use crate::environment::{Environment, EnvironmentError};
use crate::failure::ToolFailure;
use crate::path;
use crate::read_tracker::ReadTracker;

/// The state that the tools of a session share.
#[derive(Clone)]
pub(crate) struct SharedToolState {
    pub(crate) environment: Arc<dyn Environment>,
    pub(crate) seen: Arc<ReadTracker>,
    pub(crate) reader: ResultAudience,
    /// Held by a call until it has its place in the queue of its file. It is fair, so that calls that start together
    /// keep their order.
    starting: Arc<Mutex<()>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultAudience {
    /// A model: remarks follow the content that they are about.
    Model,
    Program,
}

impl SharedToolState {
    /// Creates the state of a session that has not read any file.
    pub(crate) fn new(environment: Arc<dyn Environment>, reader: ResultAudience) -> Arc<Self> {
        Arc::new(Self { environment, seen: Arc::default(), reader, starting: Arc::default() })
    }

    /// Returns the state for a call outside of the sandbox.
    fn without_sandbox(&self) -> Self {
        let environment = self.environment.without_sandbox();
        Self { environment: environment.unwrap_or_else(|| Arc::clone(&self.environment)), ..self.clone() }
    }
}

/// A built-in tool: its description for the model, and its implementation.
pub(crate) trait BuiltIn: Send + Sync + 'static {
    const NAME: &'static str;
    const DESCRIPTION: &'static str;
    const GUIDELINES: &'static [&'static str];
    const CONCURRENCY: ToolConcurrency;
    /// The arguments. Their serialized form is canonical: it has no aliases and no unknown keys.
    type Args: DeserializeOwned + Serialize + JsonSchema + Send + Sync;

    /// Returns the use of the environment, for the check of the sandbox.
    fn subject(args: &Self::Args) -> CallSubject<'_>;

    /// Returns the path of the [`subject`](Self::subject), if it is in the arguments.
    fn path_mut(args: &mut Self::Args) -> Option<&mut String>;

    fn run(
        context: &ToolContext,
        ground: &SharedToolState,
        args: Self::Args,
    ) -> impl Future<Output = Result<ToolOutput, ToolFailure>> + Send;

    /// Computes what [`run`](Self::run) would change, without a change; `None` if the tool has no preview.
    fn preview(
        _context: &ToolContext,
        _ground: &SharedToolState,
        _args: Self::Args,
    ) -> impl Future<Output = Result<Option<ToolPreview>, ToolFailure>> + Send {
        ready(Ok(None))
    }
}

/// A built-in tool with the state of its session.
pub(crate) struct BuiltInTool<T> {
    ground: Arc<SharedToolState>,
    spec: Arc<ToolSpec>,
    tool: PhantomData<T>,
}

impl<T: BuiltIn> BuiltInTool<T> {
    pub(crate) fn tool(ground: &Arc<SharedToolState>) -> Arc<dyn Tool> {
        let spec = ToolSpec::new(T::NAME.to_owned(), T::DESCRIPTION.to_owned())
            .with_schema(schema::<T::Args>())
            .with_guidelines(T::GUIDELINES.iter().map(|&line| line.to_owned()).collect())
            .with_owner(ToolOwner::BuiltIn)
            .with_concurrency(T::CONCURRENCY);
        Arc::new(Self { ground: Arc::clone(ground), spec: Arc::new(spec), tool: PhantomData })
    }
}

#[async_trait]
impl<T: BuiltIn> Tool for BuiltInTool<T> {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    async fn canonical_args(&self, args: RawJson) -> Result<CanonicalArgs, String> {
        let mut args = read_args::<T>(&args)?;
        let mut places = None;
        if let CallSubject::File(text, access) = T::subject(&args) {
            let environment = self.ground.environment.as_ref();
            let path =
                path::canonical_path(environment, text, access).await.map_err(|error| error.to_string())?;
            if let Some(text) = T::path_mut(&mut args) {
                *text = path.text;
            }
            places = Some(path.resolved);
        }
        let args = RawJson::from_value(&args).map_err(|error| error.to_string())?;
        Ok(CanonicalArgs::from(args).with_resolved_paths(places.into_iter().collect::<Vec<_>>()))
    }

    async fn approval_request(&self, call: &ToolCall) -> Option<ApprovalRequest> {
        // The call itself reports invalid arguments.
        let args = read_args::<T>(&call.args).ok()?;
        approval_request(self.ground.environment.as_ref(), T::subject(&args)).await
    }

    /// Works in the sandbox, because nobody has approved the call.
    async fn preview(&self, context: &ToolContext, call: &ToolCall) -> Option<ToolPreview> {
        let args = match read_args::<T>(&call.args) {
            Ok(args) => args,
            Err(text) => return Some(ToolPreview::error(text)),
        };
        match T::preview(context, &self.ground, args).await {
            Ok(preview) => preview,
            Err(failure) => Some(ToolPreview::error(failure.to_string())),
        }
    }

    async fn execute(&self, context: ToolContext, call: ToolCall) -> ToolOutput {
        if context.cancel.is_cancelled() {
            return ToolFailure::from(EnvironmentError::Cancelled).output();
        }
        let args = match read_args::<T>(&call.args) {
            Ok(args) => args,
            Err(text) => return ToolOutput::failed(ToolFailureKind::InvalidArgs, text),
        };
        let starting = self.ground.starting.lock().await;
        let request = approval_request(self.ground.environment.as_ref(), T::subject(&args)).await;
        let ground = match request {
            None => Arc::clone(&self.ground),
            // The request names the place to which a path leads, so a changed link makes another request.
            Some(request) if context.approved.as_ref() == Some(&request) => {
                Arc::new(self.ground.without_sandbox())
            }
            Some(request) => {
                let text = format!("not run without an approval: {}", request.reason);
                return ToolOutput::failed(ToolFailureKind::OutOfReach, text);
            }
        };
        let mut work = pin!(T::run(&context, &ground, args));
        // The first step takes the place in the queue.
        let first = poll_fn(|task| Poll::Ready(work.as_mut().poll(task))).await;
        drop(starting);
        let result = match first {
            Poll::Ready(result) => result,
            Poll::Pending => work.await,
        };
        match result {
            Ok(output) => output,
            Err(failure) => failure.output(),
        }
    }
}

fn read_args<T: BuiltIn>(args: &RawJson) -> Result<T::Args, String> {
    args.read::<T::Args>().map_err(|error| format!("invalid arguments for {}: {error}", T::NAME))
}

/// Returns the schema of a tool's arguments, without references, which some providers reject, and without keywords
/// that are useless to a model.
pub(crate) fn schema<A: JsonSchema>() -> RawJson {
    let settings = SchemaSettings::draft2020_12().for_deserialize().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<A>();
    strip_schema(&mut schema);
    RawJson::from_value(&schema).unwrap_or_else(|_| RawJson::empty_object())
}

fn strip_schema(schema: &mut Schema) {
    for keyword in ["title", "format"] {
        schema.remove(keyword);
    }
    // A struct's own description is for readers of the source. The model gets the tool's description.
    if schema.get("type").and_then(|kind| kind.as_str()) == Some("object") {
        schema.remove("description");
    }
    transform_subschemas(&mut strip_schema, schema);
}

/// Waits for a future until the call is cancelled, because files of the kernel and of dead servers may never answer.
/// Not for changes: their outcome must be known.
pub(crate) async fn run_until_cancelled<T>(
    context: &ToolContext,
    work: impl Future<Output = Result<T, EnvironmentError>>,
) -> Result<T, EnvironmentError> {
    tokio::select! {
        biased;
        () = context.cancel.cancelled() => Err(EnvironmentError::Cancelled),
        result = work => result,
    }
}

/// Returns the beginning of a list, with a note if there is more. `hint` tells how to see the rest.
pub(crate) fn shorten_head(text: &str, hint: &str) -> String {
    let kept = truncate::head(text, TruncationLimits::default());
    if kept.is_whole() {
        return text.to_owned();
    }
    let all = kept.kept_lines + kept.omitted_lines;
    format!("{}\n[showing {} of {all} lines; {hint}]", kept.text.trim_end_matches('\n'), kept.kept_lines)
}
