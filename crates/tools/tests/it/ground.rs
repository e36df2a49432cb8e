//! A directory to work in, and calls of tools in it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use haft_core::tool::{Tool, ToolContext, ToolOutput, ToolPreview};
use haft_protocol::RawJson;
use haft_protocol::content::{ToolCall, joined_text};
use haft_protocol::ids::ToolCallId;
use haft_tools::{HostEnvironment, builtin_tools};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// The deadline of every wait for an expected event: only a hang reaches it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A working directory with the tools in it; `scratch` and `home` are beside it.
pub(crate) struct Ground {
    root: tempfile::TempDir,
    tools: Vec<Arc<dyn Tool>>,
}

impl Ground {
    pub(crate) fn new() -> Self {
        Self::with(|environment| environment)
    }

    /// Creates it with another environment than the default one.
    pub(crate) fn with(change: impl FnOnce(HostEnvironment) -> HostEnvironment) -> Self {
        let root = tempfile::tempdir().unwrap();
        for dir in ["place", "scratch", "home"] {
            fs::create_dir(root.path().join(dir)).unwrap();
        }
        let base = root.path().canonicalize().unwrap();
        let environment = HostEnvironment::new(base.join("place"))
            .with_home(base.join("home"))
            .with_scratch(base.join("scratch"))
            .with_backup_dir(base.join("state"));
        Self { tools: builtin_tools(Arc::new(change(environment))), root }
    }

    pub(crate) fn base(&self) -> PathBuf {
        self.root.path().canonicalize().unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.base().join("place").join(name)
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Creates a file and reads it.
    pub(crate) async fn known(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.file(name, content);
        self.ok("read", serde_json::json!({"path": name})).await;
        path
    }

    pub(crate) fn content(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn mode(&self, name: &str) -> u32 {
        fs::metadata(self.path(name)).unwrap().permissions().mode() & 0o7777
    }

    pub(crate) fn tool(&self, name: &str) -> Arc<dyn Tool> {
        Arc::clone(self.tools.iter().find(|tool| tool.spec().name == name).unwrap())
    }

    pub(crate) async fn output(&self, name: &str, args: Value) -> ToolOutput {
        self.call_with(ToolContext::new(CancellationToken::new(), drop), name, args).await
    }

    pub(crate) async fn call_with(&self, context: ToolContext, name: &str, args: Value) -> ToolOutput {
        let call = ToolCall {
            id: ToolCallId::new("1"),
            name: name.to_owned(),
            args: RawJson::from_value(&args).unwrap(),
        };
        tokio::time::timeout(PATIENCE, self.tool(name).execute(context, call)).await.expect("the tool hangs")
    }

    /// Returns the preview of a call.
    pub(crate) async fn preview(&self, name: &str, args: Value) -> Option<ToolPreview> {
        let (context, args) = (ToolContext::new(CancellationToken::new(), drop), RawJson::from_value(&args));
        let call = ToolCall { id: ToolCallId::new("1"), name: name.to_owned(), args: args.unwrap() };
        let tool = self.tool(name);
        tokio::time::timeout(PATIENCE, tool.preview(&context, &call)).await.expect("the preview hangs")
    }

    /// Returns the text of a call that must succeed.
    pub(crate) async fn ok(&self, name: &str, args: Value) -> String {
        let output = self.output(name, args).await;
        let text = joined_text(&output.content);
        assert!(!output.is_error, "{text}");
        text
    }

    /// Returns the text of a call that must fail, with shortened paths.
    pub(crate) async fn error(&self, name: &str, args: Value) -> String {
        let output = self.output(name, args).await;
        let text = joined_text(&output.content);
        assert!(output.is_error, "{text}");
        text.replace(&self.base().display().to_string(), "BASE")
    }

    /// Checks that no temporary file is left beside a written file.
    pub(crate) fn assert_no_leftovers(&self) {
        for entry in ignore::WalkBuilder::new(self.base()).standard_filters(false).build() {
            let path = entry.unwrap().into_path();
            assert!(!path.display().to_string().contains(".haft-"), "{} is left", path.display());
        }
    }
}
