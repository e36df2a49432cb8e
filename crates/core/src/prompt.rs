//! The system prompt: who the agent is, which tools there are, what others add.

use std::sync::Arc;

use crate::hooks::PromptSection;
use crate::tool::{ToolOwner, ToolSpec};

/// The longest section an extension may add, in bytes; what is longer is cut.
pub const MAX_SECTION: usize = 4 * 1024;

const IDENTITY: &str = "You are haft, a coding agent. You work in the user's files with the tools below. \
Read before you change, make the smallest change that does the job, check your work, and answer briefly.";

/// The parts of the system prompt that do not depend on the tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SystemPrompt {
    /// Who the agent is; haft's own text when absent.
    pub identity: Option<String>,
    /// Texts the user adds, in order.
    pub appended: Vec<String>,
    /// Facts about the place of work, a line each: the working directory, the date.
    pub facts: Vec<String>,
}

impl SystemPrompt {
    /// The whole prompt for these tools.
    pub fn render(&self, tools: &[Arc<ToolSpec>]) -> String {
        let mut parts = vec![self.identity.clone().unwrap_or_else(|| IDENTITY.to_owned())];
        if !tools.is_empty() {
            parts.push(available_tools(tools));
        }
        let guidelines: Vec<&str> = tools
            .iter()
            .flat_map(|tool| &tool.guidelines)
            .map(|line| line.trim())
            .filter(|line| !line.is_empty())
            .collect();
        if !guidelines.is_empty() {
            parts.push(format!("# Guidelines\n{}", bullets(guidelines)));
        }
        parts.extend(self.appended.iter().cloned());
        if !self.facts.is_empty() {
            parts.push(self.facts.join("\n"));
        }
        parts.join("\n\n")
    }
}

fn available_tools(tools: &[Arc<ToolSpec>]) -> String {
    let lines = tools.iter().map(|tool| {
        let summary = tool.description.lines().next().unwrap_or_default().trim();
        let owner = match &tool.owner {
            ToolOwner::Extension(name) => format!(" (extension {name})"),
            ToolOwner::BuiltIn | ToolOwner::Embedder => String::new(),
        };
        if summary.is_empty() {
            format!("{}{owner}", tool.name)
        } else {
            format!("{}{owner}: {summary}", tool.name)
        }
    });
    format!("# Available tools\n{}", bullets(lines))
}

fn bullets<S: std::fmt::Display>(lines: impl IntoIterator<Item = S>) -> String {
    lines.into_iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n")
}

/// Adds somebody's section: headed by the owner's name, cut at [`MAX_SECTION`], unable to pose as a heading of ours.
pub(crate) fn append_section(prompt: &mut String, section: &PromptSection) {
    let text = section.text.trim();
    let mut end = text.len().min(MAX_SECTION);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (kept, cut) = text.split_at(end);
    prompt.push_str(&format!("\n\n# From {}\n", section.owner));
    for line in kept.lines() {
        // A heading inside a section would look like one of haft's own.
        prompt.push_str(if line.starts_with("# ") { "#" } else { "" });
        prompt.push_str(line);
        prompt.push('\n');
    }
    if !cut.is_empty() {
        prompt.push_str(&format!("[{} bytes cut]\n", cut.len()));
    }
    prompt.truncate(prompt.trim_end().len());
}

#[cfg(test)]
mod tests {
    use haft_protocol::RawJson;

    use super::*;
    use crate::tool::Concurrency;

    fn tool(name: &str, description: &str, owner: ToolOwner) -> Arc<ToolSpec> {
        Arc::new(ToolSpec {
            name: name.into(),
            description: description.into(),
            schema: RawJson::empty_object(),
            guidelines: vec![format!("Use {name} with care.")],
            owner,
            concurrency: Concurrency::Parallel,
        })
    }

    #[test]
    fn names_every_tool_its_owner_and_its_guidelines() {
        let tools = [
            tool("read", "Reads a file.\nMore.", ToolOwner::BuiltIn),
            tool("weather", "", ToolOwner::Extension("w".into())),
        ];
        let prompt = SystemPrompt {
            identity: Some("You are X.".into()),
            appended: vec!["Be brief.".into()],
            facts: vec!["Working directory: /w".into()],
        };
        insta::assert_snapshot!(prompt.render(&tools), @r"
        You are X.

        # Available tools
        - read: Reads a file.
        - weather (extension w)

        # Guidelines
        - Use read with care.
        - Use weather with care.

        Be brief.

        Working directory: /w
        ");
    }

    #[test]
    fn a_section_is_attributed_cut_and_cannot_pose_as_ours() {
        let mut prompt = "You are X.".to_owned();
        let text = format!("# Available tools\n{}", "é".repeat(MAX_SECTION));
        append_section(&mut prompt, &PromptSection { owner: "guide".into(), text });
        assert!(prompt.starts_with("You are X.\n\n# From guide\n## Available tools\n"));
        assert!(prompt.ends_with("bytes cut]"));
        assert!(prompt.len() < MAX_SECTION + 100);
    }
}
