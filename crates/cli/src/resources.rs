//! Texts of the user and the project for the model: system prompt, context files, skills, prompt templates.

use std::path::Path;
use std::sync::Arc;

use haft_config::{
    ContextFile, ContextFiles, Home, Project, Skill, SkillSet, TemplateExpansion, TemplateSet, UntrustedItem,
    find_system_prompt,
};
use haft_core::prompt::{ContextFileText, SkillSummary, SystemPrompt};
use haft_tools::SkillSource;

use crate::args::AgentArgs;
use crate::exit::{Exit, OrExit as _};

/// The texts, as they were when the run began.
#[derive(Debug, Default)]
pub(crate) struct PromptResources {
    pub(crate) context: ContextFiles,
    pub(crate) skills: SkillSet,
    home: Option<Home>,
    project: Option<Project>,
}

impl PromptResources {
    /// Finds all texts; context files only if `context_files` is true.
    pub(crate) fn find(home: &Home, project: &Project, context_files: bool) -> Self {
        Self {
            context: if context_files { ContextFiles::find(home, project) } else { ContextFiles::default() },
            skills: SkillSet::find(home, std::env::home_dir().as_deref(), project),
            home: Some(home.clone()),
            project: Some(project.clone()),
        }
    }

    /// Returns the texts of an untrusted project, which are not used.
    pub(crate) fn untrusted_items(&self) -> impl Iterator<Item = UntrustedItem> {
        let system = self.project.as_ref().and_then(UntrustedItem::system_prompt);
        let templates = self.home.as_ref().zip(self.project.as_ref());
        let templates = templates.and_then(|(home, project)| TemplateSet::untrusted_templates(home, project));
        let found = self.context.unused.iter().chain(&self.skills.unused).cloned();
        system.into_iter().chain(found).chain(templates)
    }

    /// Returns the problems of files that are not usable or only partly usable.
    pub(crate) fn problems(&self) -> impl Iterator<Item = &str> {
        self.context.problems.iter().chain(&self.skills.problems).map(String::as_str)
    }

    pub(crate) fn system_prompt(&self, args: &AgentArgs, facts: Vec<String>) -> anyhow::Result<SystemPrompt> {
        let identity = match &args.system_prompt {
            Some(text) => Some(text.clone()),
            None => self.custom_system_prompt()?.map(|file| file.text),
        };
        let context = self.context.files.iter().map(|file| ContextFileText {
            path: file.path.display().to_string(),
            text: file.text.clone(),
            cut: file.cut,
        });
        let skills = self
            .skills
            .skills
            .iter()
            .map(|skill| SkillSummary { name: skill.name.clone(), description: skill.description.clone() });
        Ok(SystemPrompt {
            identity,
            appended: args.append_system_prompt.clone(),
            facts,
            context: context.collect(),
            skills: skills.collect(),
        })
    }

    /// Returns the file that replaces haft's system prompt, if there is one.
    pub(crate) fn custom_system_prompt(&self) -> anyhow::Result<Option<ContextFile>> {
        let Some((home, project)) = self.home.as_ref().zip(self.project.as_ref()) else { return Ok(None) };
        find_system_prompt(home, project)
            .map_err(|(path, error)| anyhow::anyhow!("cannot read {}: {error}", path.display()))
            .or_exit(Exit::Configuration)
    }

    /// Returns the source of the skill tool; `None` without skills.
    pub(crate) fn skill_source(&self) -> Option<Arc<dyn SkillSource>> {
        let skills = self.skills.skills.clone();
        (!skills.is_empty()).then(|| Arc::new(SkillLoader { skills }) as Arc<dyn SkillSource>)
    }

    /// Returns the prompt templates. They are read on the first use.
    pub(crate) fn find_templates(&self) -> TemplateSet {
        match (&self.home, &self.project) {
            (Some(home), Some(project)) => TemplateSet::find(home, project),
            _ => TemplateSet::default(),
        }
    }

    /// Expands `/name arguments`.
    pub(crate) fn expand(&self, templates: &TemplateSet, name: &str, arguments: &str) -> TemplateExpansion {
        templates.expand(&self.skills.skills, name, arguments)
    }
}

struct SkillLoader {
    skills: Vec<Skill>,
}

impl SkillSource for SkillLoader {
    fn load(&self, name: &str, file: Option<&str>) -> Result<String, String> {
        let skill = Skill::find_in(&self.skills, name)?;
        match file {
            None => skill.load(),
            Some(file) => skill.load_file(file),
        }
    }
}

/// Returns a path for people: below the home directory with `~`.
pub(crate) fn display_path(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}
