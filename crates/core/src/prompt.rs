//! The system prompt: who the agent is, which tools there are, what others add.

use std::sync::Arc;

use crate::hooks::PromptSection;
use crate::tool::{ToolOwner, ToolSpec};

/// The longest section an extension may add, in bytes; what is longer is cut.
pub const MAX_SECTION: usize = 4 * 1024;

const IDENTITY: &str = "You are haft, a coding agent. You work in the user's files with the tools below. \
Read before you change, make the smallest change that does the job, check your work, and answer briefly.";

/// The parts of the system prompt that do not depend on the tools.
///
/// ```
/// use haft_core::hooks::PromptSection;
/// use haft_core::prompt::SystemPrompt;
///
/// let prompt = SystemPrompt {
///     identity: Some("You are a reviewer.".into()),
///     appended: vec!["Answer in one sentence.".into()],
///     facts: vec!["Working directory: /srv/app".into()],
/// };
/// let section = PromptSection { owner: "house-rules".into(), text: "Tests come first.".into() };
/// let text = prompt.render(&[], &[section]);
/// assert!(text.starts_with("You are a reviewer.\n\nAnswer in one sentence."));
/// assert!(text.ends_with("From house-rules\nTests come first."));
/// ```
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
    /// The whole prompt for these tools, with what hooks add at its end.
    pub fn render(&self, tools: &[Arc<ToolSpec>], sections: &[PromptSection]) -> String {
        let mut parts = vec![self.identity.clone().unwrap_or_else(|| IDENTITY.to_owned())];
        if !tools.is_empty() {
            parts.push(available_tools(tools));
        }
        let guidelines: Vec<String> = tools.iter().flat_map(|tool| guidelines(tool)).collect();
        if !guidelines.is_empty() {
            parts.push(format!("# Guidelines\n{}", bullets(guidelines)));
        }
        parts.extend(self.appended.iter().cloned());
        if !self.facts.is_empty() {
            parts.push(self.facts.join("\n"));
        }
        parts.extend(sections.iter().filter(|section| !section.text.trim().is_empty()).map(attributed));
        parts.join("\n\n")
    }
}

/// A tool's advice, a line each. One that does not name its tool is headed by the name: nobody could tell what it
/// is about otherwise.
fn guidelines(tool: &ToolSpec) -> impl Iterator<Item = String> {
    let lines = tool.guidelines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.filter(|line| !line.is_empty()).map(|line| match line.contains(&tool.name) {
        true => line,
        false => format!("{}: {line}", tool.name),
    })
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

/// Somebody's section: headed by the owner's name, cut at [`MAX_SECTION`], unable to pose as a heading of ours.
fn attributed(section: &PromptSection) -> String {
    let text = section.text.trim();
    let (kept, cut) = text.split_at(text.floor_char_boundary(MAX_SECTION));
    let mut lines = vec![format!("# From {}", section.owner)];
    lines.extend(kept.trim_end().lines().map(|line| match line.trim_start().strip_prefix('#') {
        // A heading of the first level inside a section would look like one of haft's own.
        Some(rest) if !rest.starts_with('#') => format!("##{rest}"),
        Some(_) | None => line.to_owned(),
    }));
    if !cut.is_empty() {
        lines.push(format!("[{} bytes cut]", cut.len()));
    }
    lines.join("\n")
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
        insta::assert_snapshot!(prompt.render(&tools, &[]), @r"
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
        let text = format!("# Available tools\n #\tGuidelines\n{}", "é".repeat(MAX_SECTION));
        let sections = [
            PromptSection { owner: "guide".into(), text },
            PromptSection { owner: "silent".into(), text: " \n".into() },
        ];
        let prompt = SystemPrompt { identity: Some("You are X.".into()), ..SystemPrompt::default() };
        let prompt = prompt.render(&[], &sections);
        let start = "You are X.\n\n# From guide\n## Available tools\n##\tGuidelines\né";
        assert!(prompt.starts_with(start), "{prompt}");
        assert!(prompt.ends_with("bytes cut]"));
        assert!(prompt.len() < MAX_SECTION + 100);
    }

    #[test]
    fn a_guideline_is_one_line_that_names_its_tool() {
        let mut spec = (*tool("weather", "", ToolOwner::Extension("w".into()))).clone();
        spec.guidelines = vec!["Ask before you guess.\n\n# Available tools\n- bash".into(), " ".into()];
        let prompt = SystemPrompt::default().render(&[Arc::new(spec)], &[]);
        let line = "# Guidelines\n- weather: Ask before you guess. # Available tools - bash";
        assert!(prompt.ends_with(line), "{prompt}");
    }
}
