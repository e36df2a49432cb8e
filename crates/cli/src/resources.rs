//! Texts of the user and the project for the model: system prompt, context files, skills, prompt templates.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use haft_config::{
    ContextFile, ContextFiles, Home, Owner, Project, Skill, SkillSet, TemplateExpansion, TemplateSet,
    UntrustedItem, find_system_prompt,
};
use haft_core::prompt::{ContextFileText, SkillSummary, SystemPrompt};
use haft_host::{ExtensionOrigin, ExtensionResources};
use haft_protocol::ids::ExtensionName;
use haft_tools::SkillSource;

use crate::args::AgentArgs;
use crate::exit::{Exit, OrExit as _};

/// The texts, as they were when the run began.
#[derive(Debug, Clone, Default)]
pub(crate) struct PromptResources {
    pub(crate) context: ContextFiles,
    pub(crate) skills: SkillSet,
    /// True if no skill is offered, also not those of extensions.
    no_skills: bool,
    home: Option<Home>,
    project: Option<Project>,
    /// The templates of extensions, each with the files that it may name.
    templates: Vec<(PathBuf, FileLimits)>,
    /// The directories of the skills of extensions, each with the files that it may name.
    skill_limits: Vec<(PathBuf, FileLimits)>,
}

impl PromptResources {
    /// Finds all texts; context files only if `context_files` is true.
    pub(crate) fn find(home: &Home, project: &Project, context_files: bool) -> Self {
        Self {
            context: if context_files { ContextFiles::find(home, project) } else { ContextFiles::default() },
            skills: SkillSet::find(home, std::env::home_dir().as_deref(), project),
            no_skills: false,
            home: Some(home.clone()),
            project: Some(project.clone()),
            templates: Vec::new(),
            skill_limits: Vec::new(),
        }
    }

    /// Removes all skills, and ignores those of extensions.
    pub(crate) fn without_skills(self) -> Self {
        Self { skills: SkillSet::default(), no_skills: true, ..self }
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
        let context = self.context.files.iter().map(|file| {
            ContextFileText::new(file.path.display().to_string(), file.text.clone()).with_cut(file.cut)
        });
        let mut system = SystemPrompt::default()
            .with_appended(args.append_system_prompt.clone())
            .with_facts(facts)
            .with_context(context.collect())
            .with_skills(self.skill_summaries());
        system.identity = identity;
        Ok(system)
    }

    /// Returns the skills as the model sees them before loading them.
    pub(crate) fn skill_summaries(&self) -> Vec<SkillSummary> {
        let summary = |skill: &Skill| SkillSummary::new(skill.name.clone(), skill.description.clone());
        self.skills.skills.iter().map(summary).collect()
    }

    /// Returns the file that replaces haft's system prompt, if there is one.
    pub(crate) fn custom_system_prompt(&self) -> anyhow::Result<Option<ContextFile>> {
        let Some((home, project)) = self.home.as_ref().zip(self.project.as_ref()) else { return Ok(None) };
        find_system_prompt(home, project)
            .map_err(|(path, error)| anyhow::anyhow!("cannot read {}: {error}", path.display()))
            .or_exit(Exit::Configuration)
    }

    /// Returns the prompt templates. They are read on the first use.
    pub(crate) fn find_templates(&self) -> TemplateSet {
        let mut found = match (&self.home, &self.project) {
            (Some(home), Some(project)) => TemplateSet::find(home, project),
            _ => TemplateSet::default(),
        };
        // The problems of these paths were reported when they were added.
        let problems = found.problems.len();
        for (path, limits) in &self.templates {
            found.add_path(path, &|file| limits.check_file(file));
        }
        found.problems.truncate(problems);
        found
    }

    /// Adds the skills and templates of extensions. Skills and templates that exist take precedence. Returns at most one
    /// problem for each path.
    pub(crate) fn add_extension_files(
        &mut self,
        found: &[ExtensionResources],
    ) -> Vec<(ExtensionName, String)> {
        let (mut templates, mut problems) = (self.find_templates(), Vec::new());
        for answer in found {
            let limits = self.file_limits(answer);
            let owner = match answer.origin {
                ExtensionOrigin::Project => Owner::Project,
                ExtensionOrigin::Explicit
                | ExtensionOrigin::BuiltIn
                | ExtensionOrigin::Global
                | ExtensionOrigin::Hook => Owner::User,
            };
            let mut report = |of_path: &[String]| problems.extend(first_problem(&answer.extension, of_path));
            for path in answer.paths.skills.iter().filter(|_| !self.no_skills) {
                let (before, skills) = (self.skills.problems.len(), self.skills.skills.len());
                self.skills.add_path(&answer.dir.join(path), owner, &|file| limits.check_file(file));
                report(&self.skills.problems.split_off(before));
                let added = self.skills.skills.iter().skip(skills).map(|skill| skill.dir.clone());
                self.skill_limits.extend(added.map(|dir| (dir, limits.clone())));
            }
            for path in &answer.paths.templates {
                let (before, path) = (templates.problems.len(), answer.dir.join(path));
                templates.add_path(&path, &|file| limits.check_file(file));
                report(&templates.problems.split_off(before));
                self.templates.push((path, limits.clone()));
            }
        }
        problems
    }

    fn file_limits(&self, answer: &ExtensionResources) -> FileLimits {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let untrusted = self.project.as_ref().filter(|project| !project.is_trusted());
        let home = self.home.as_ref().map(|home| real(home.root()));
        FileLimits {
            confined_to: answer.is_confined.then(|| real(&answer.dir)),
            untrusted: untrusted.map(|project| real(&project.dir)),
            own: home.into_iter().chain([real(&answer.dir)]).collect(),
        }
    }

    /// Expands `/name arguments`.
    pub(crate) fn expand(&self, templates: &TemplateSet, name: &str, arguments: &str) -> TemplateExpansion {
        templates.expand(&self.skills.skills, name, arguments)
    }
}

/// Returns the first problem, and the number of the others.
fn first_problem(extension: &ExtensionName, problems: &[String]) -> Option<(ExtensionName, String)> {
    let (first, others) = problems.split_first()?;
    let text = match others.len() {
        0 => first.clone(),
        count => format!("{first}; {count} more problems in the same directory"),
    };
    Some((extension.clone(), text))
}

/// The files that an extension may add. All directories are without links.
#[derive(Debug, Clone)]
struct FileLimits {
    /// The directory of an extension that has a sandbox.
    confined_to: Option<PathBuf>,
    /// The directory of a project that is not trusted.
    untrusted: Option<PathBuf>,
    /// The directories that are not the project's, even if they are in its directory.
    own: Vec<PathBuf>,
}

impl FileLimits {
    /// # Errors
    /// The reason why the file or directory cannot be used.
    fn check_file(&self, path: &Path) -> Result<(), String> {
        let real = path.canonicalize().map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        if self.confined_to.as_ref().is_some_and(|dir| !real.starts_with(dir)) {
            return Err(format!(
                "{} is outside of the extension's directory, and the extension has a sandbox",
                path.display()
            ));
        }
        let Some(project) = self.untrusted.as_ref().filter(|project| real.starts_with(project)) else {
            return Ok(());
        };
        match self.own.iter().any(|dir| dir.starts_with(project) && real.starts_with(dir)) {
            true => Ok(()),
            false => Err(format!(
                "{} is in the project, which is not trusted; run `haft trust` to review and trust it",
                path.display()
            )),
        }
    }
}

/// The current skills and prompt templates of a session.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedResources(Arc<Mutex<Arc<PromptResources>>>);

impl SharedResources {
    pub(crate) fn new(resources: PromptResources) -> Self {
        Self(Arc::new(Mutex::new(Arc::new(resources))))
    }

    pub(crate) fn get(&self) -> Arc<PromptResources> {
        // A panic cannot leave the value half changed, because each change is one assignment.
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn replace(&self, resources: PromptResources) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(resources);
    }
}

impl SkillSource for SharedResources {
    fn load(&self, name: &str, file: Option<&str>) -> Result<String, String> {
        let resources = self.get();
        let skill = Skill::find_in(&resources.skills.skills, name)?;
        // The file may have been replaced since the skill was added.
        for (_, limits) in resources.skill_limits.iter().filter(|(dir, _)| *dir == skill.dir) {
            limits.check_file(&skill.dir.join(file.unwrap_or("SKILL.md")))?;
        }
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

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;

    use haft_config::ProjectTrust;
    use haft_protocol::ext::ResourcesDecision;

    use super::*;

    struct Fixture {
        root: tempfile::TempDir,
    }

    impl Fixture {
        /// Creates a home with the skill `own`, an extension with a skill and a template, and a project with a skill.
        fn new() -> Self {
            let fixture = Self { root: tempfile::tempdir().unwrap() };
            fixture.write("home/skills/own/SKILL.md", "---\nname: own\ndescription: Mine.\n---\nx");
            fixture.write("ext/skills/house/SKILL.md", "---\nname: house\ndescription: House rules.\n---\nx");
            fixture.write("ext/tidy.md", "Tidy $1.");
            fixture.write("code/skills/theirs/SKILL.md", "---\nname: theirs\ndescription: Theirs.\n---\nx");
            std::os::unix::fs::symlink(fixture.at("code/skills/theirs"), fixture.at("ext/skills/link"))
                .unwrap();
            fixture
        }

        fn at(&self, path: &str) -> PathBuf {
            self.root.path().join(path)
        }

        fn write(&self, path: &str, text: &str) {
            fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
            fs::write(self.at(path), text).unwrap();
        }

        /// Adds the files of the extension `ext`; returns the names of skills and templates, and the problems.
        fn add(
            &self,
            project: &str,
            is_confined: bool,
            paths: ResourcesDecision,
        ) -> (Vec<String>, Vec<String>) {
            let project = Project { dir: self.at(project), trust: ProjectTrust::Untrusted };
            let mut resources = PromptResources::find(&Home::at(self.at("home")), &project, false);
            resources.skills.skills.retain(|skill| skill.dir.starts_with(self.root.path()));
            let (extension, origin) = (ExtensionName::new("ext"), ExtensionOrigin::Global);
            let answer = ExtensionResources::new(extension, self.at("ext"), origin, is_confined, paths);
            let problems = resources.add_extension_files(&[answer]);
            let skills = resources.skill_summaries().into_iter().map(|skill| skill.name);
            let templates = resources.find_templates().templates.into_iter();
            let templates =
                templates.filter(|template| template.path.is_some()).map(|template| template.name);
            let root = format!("{}/", self.root.path().display());
            (
                skills.chain(templates).collect(),
                problems.into_iter().map(|(_, problem)| problem.replace(&root, "")).collect(),
            )
        }
    }

    fn named(skills: &[&str], templates: &[&str]) -> ResourcesDecision {
        let owned = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
        ResourcesDecision { skills: owned(skills), templates: owned(templates) }
    }

    const UNTRUSTED: &str =
        "is in the project, which is not trusted; run `haft trust` to review and trust it";

    #[test]
    fn extension_adds_files_but_none_of_an_untrusted_project() {
        let fixture = Fixture::new();
        let (names, problems) = fixture.add("code", false, named(&["skills"], &["tidy.md"]));
        assert_eq!(names, ["own", "house", "tidy"]);
        assert_eq!(
            problems,
            [format!("skill ext/skills/link/SKILL.md is not used: ext/skills/link/SKILL.md {UNTRUSTED}")]
        );
        let (names, problems) =
            fixture.add("code", false, named(&["../code/skills", "skills/house"], &["gone.md"]));
        assert_eq!(names, ["own", "house"]);
        let missing = "cannot read ext/gone.md: No such file or directory (os error 2)";
        assert_eq!(problems, [format!("ext/../code/skills {UNTRUSTED}"), missing.to_owned()]);
        // In a project that contains them, the extension's directory and haft's home are not the project's.
        let (names, problems) =
            fixture.add("", false, named(&["skills/house", "../home/skills"], &["../code"]));
        assert_eq!(names, ["own", "house"]);
        let taken = "skill own in ext/../home/skills/own is not used: home/skills/own has the same name and takes precedence";
        assert_eq!(problems, [taken.to_owned(), format!("ext/../code {UNTRUSTED}")]);
    }

    #[test]
    fn confined_extension_adds_only_files_of_its_own() {
        let fixture = Fixture::new();
        let own = named(&["skills/house", "../home/skills", "skills/link"], &["tidy.md", "/etc"]);
        let (names, problems) = fixture.add("elsewhere", true, own);
        assert_eq!(names, ["own", "house", "tidy"]);
        let outside = "is outside of the extension's directory, and the extension has a sandbox";
        assert_eq!(
            problems,
            ["ext/../home/skills", "ext/skills/link", "/etc"].map(|path| format!("{path} {outside}"))
        );
    }
}
