//! `skill`: loads instructions for special tasks.

use std::sync::Arc;

use async_trait::async_trait;
use haft_core::prompt::SKILL_TOOL;
use haft_core::tool::{Tool, ToolContext, ToolOutput, ToolOwner, ToolSpec};
use haft_protocol::content::ToolCall;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::builtin::{schema, shorten_head};

const DESCRIPTION: &str = "Load a skill: the instructions for a special task that the system prompt lists \
by name. Pass only name first; the result gives the directory of the skill and the names of its files. \
Pass file to read one of them.";

/// The source of skills. They are the user's and the project's own files, so they are not read through the tools'
/// [`Environment`](crate::Environment).
pub trait SkillSource: Send + Sync + 'static {
    /// Returns the instructions of a skill, or the text of one of its files. May block.
    ///
    /// # Errors
    /// The reason, for the model.
    fn load(&self, name: &str, file: Option<&str>) -> Result<String, String>;
}

/// Creates the tool `skill` with this source.
pub fn skill_tool(source: Arc<dyn SkillSource>) -> Arc<dyn Tool> {
    let spec = ToolSpec::new(SKILL_TOOL.to_owned(), DESCRIPTION.to_owned())
        .with_schema(schema::<SkillArgs>())
        .with_owner(ToolOwner::BuiltIn);
    Arc::new(SkillTool { source, spec: Arc::new(spec) })
}

#[derive(Debug, Deserialize, JsonSchema)]
struct SkillArgs {
    /// Name of the skill, as the system prompt lists it
    name: String,
    /// A file of the skill, relative to its directory. Default: its instructions
    file: Option<String>,
}

struct SkillTool {
    source: Arc<dyn SkillSource>,
    spec: Arc<ToolSpec>,
}

#[async_trait]
impl Tool for SkillTool {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    async fn execute(&self, context: ToolContext, call: ToolCall) -> ToolOutput {
        let SkillArgs { name, file } = match call.args.read() {
            Ok(args) => args,
            Err(error) => {
                return ToolOutput::error(format!("invalid arguments for {SKILL_TOOL}: {error}"));
            }
        };
        let source = Arc::clone(&self.source);
        let file = file.filter(|file| !file.is_empty());
        let loaded = tokio::task::spawn_blocking(move || source.load(&name, file.as_deref()));
        let loaded = tokio::select! {
            biased;
            () = context.cancel.cancelled() => return ToolOutput::error("cancelled".to_owned()),
            loaded = loaded => loaded,
        };
        match loaded {
            Ok(Ok(text)) => ToolOutput::text(shorten_head(&text, "read the rest of the file with read")),
            Ok(Err(problem)) => ToolOutput::error(problem),
            Err(error) => ToolOutput::error(format!("cannot load the skill: {error}")),
        }
    }
}
