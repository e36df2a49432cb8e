//! Prompt templates: Markdown files that expand `/name arguments` to a longer prompt.

mod fill;

use std::path::{Path, PathBuf};

use haft_protocol::project::Project;

use crate::front_matter;
use crate::home::Home;
use crate::project::UntrustedItem;
use crate::read;
use crate::skill::{FileCheck, Skill};

/// The maximum size of a template, in bytes: 256 KiB.
const MAX_FILE: u64 = 256 * 1024;

/// The maximum number of templates.
const MAX_TEMPLATES: usize = 1000;

/// The templates of haft, by name. A file with the same name takes precedence.
const BUILT_IN: [(&str, &str); 2] = [
    ("init", include_str!("template/built_in/init.md")),
    ("review", include_str!("template/built_in/review.md")),
];

/// A prompt template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// The name of the command: the file name without `.md`.
    pub name: String,
    /// The description from the front matter, or the first line.
    pub description: String,
    /// The arguments that the template takes, as readable text.
    pub argument_hint: Option<String>,
    /// The file; `None` for a template of haft.
    pub path: Option<PathBuf>,
    body: String,
}

/// The templates for a working directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TemplateSet {
    /// The usable templates, the user's before the project's, and those of one directory by name.
    pub templates: Vec<Template>,
    /// Templates that are not used because the project is not trusted.
    pub unused: Vec<UntrustedItem>,
    /// Problems, one sentence each.
    pub problems: Vec<String>,
}

/// The result of expanding a command that may be a template or a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateExpansion {
    /// The prompt to send.
    Prompt(String),
    /// The reason why the command failed, for the user.
    Failed(String),
    /// The command does not exist.
    Unknown,
}

impl TemplateSet {
    /// Finds templates in `$HAFT_HOME/prompts` and, for a trusted project, in its `.haft/prompts`, and adds those of
    /// haft. The first template with a name wins.
    pub fn find(home: &Home, project: &Project) -> Self {
        let mut found = Self::default();
        found.scan(&home.prompts_dir(), &|_| Ok(()));
        match projects_dir(home, project) {
            Some(projects) if project.is_trusted() => found.scan(&projects, &|_| Ok(())),
            Some(_) => found.unused.extend(Self::untrusted_templates(home, project)),
            None => {}
        }
        let own = BUILT_IN.iter().filter(|(name, _)| found.get(name).is_none());
        let own: Vec<Template> = own.filter_map(|(name, text)| Template::parse(name, text).ok()).collect();
        found.templates.extend(own);
        found
    }

    /// Returns the template directory of an untrusted project, if it has any templates, without reading them.
    pub fn untrusted_templates(home: &Home, project: &Project) -> Option<UntrustedItem> {
        let path = projects_dir(home, project)
            .filter(|dir| !project.is_trusted() && !template_files(dir).is_empty())?;
        Some(UntrustedItem { path, sets: Vec::new() })
    }

    /// Adds the templates at a path: a Markdown file, or a directory that contains some. `check` says whether a file may
    /// be used. Problems are added to [`problems`](Self::problems).
    pub fn add_path(&mut self, path: &Path, check: &FileCheck<'_>) {
        if let Err(problem) = check(path) {
            return self.problems.push(problem);
        }
        if !path.is_file() {
            return self.scan(path, check);
        }
        match is_template_file(path) {
            true => self.add_file(path, check),
            false => self.problems.push(format!(
                "template {} is not used: the file name does not end with .md",
                path.display()
            )),
        }
    }

    /// True if a template with this name exists and is not used.
    pub fn is_unused(&self, name: &str) -> bool {
        !name.contains('/')
            && self.unused.iter().any(|unused| unused.path.join(format!("{name}.md")).is_file())
    }

    /// Returns the template with this name.
    pub fn get(&self, name: &str) -> Option<&Template> {
        self.templates.iter().find(|template| template.name == name)
    }

    /// Expands `/name arguments`, where the name is a template or `skill:NAME`.
    pub fn expand(&self, skills: &[Skill], name: &str, arguments: &str) -> TemplateExpansion {
        let Some(called) = name.strip_prefix("skill:") else {
            return match self.get(name) {
                Some(template) => TemplateExpansion::Prompt(fill::fill_template(&template.body, arguments)),
                None => TemplateExpansion::Unknown,
            };
        };
        match Skill::find_in(skills, called).and_then(Skill::load) {
            Ok(text) if arguments.trim().is_empty() => TemplateExpansion::Prompt(text),
            Ok(text) => TemplateExpansion::Prompt(format!("{text}\n{}", arguments.trim())),
            Err(error) => TemplateExpansion::Failed(error),
        }
    }

    fn scan(&mut self, dir: &Path, check: &FileCheck<'_>) {
        for path in template_files(dir) {
            self.add_file(&path, check);
        }
    }

    fn add_file(&mut self, path: &Path, check: &FileCheck<'_>) {
        let within_limit = || match self.templates.len() < MAX_TEMPLATES {
            true => check(path),
            false => Err(format!("the limit of {MAX_TEMPLATES} templates is reached")),
        };
        match within_limit().and_then(|()| Template::read(path)) {
            Ok(template) => self.add(template),
            Err(problem) => self.problems.push(format!("template {} is not used: {problem}", path.display())),
        }
    }

    fn add(&mut self, template: Template) {
        let taken = self.templates.iter_mut().find(|first| first.name == template.name);
        match taken.map(|first| (first.path.clone(), first)) {
            None => self.templates.push(template),
            // A template of haft is replaced.
            Some((None, first)) => *first = template,
            Some((Some(path), _)) => self.problems.push(format!(
                "template {} is not used: {} has the same name and takes precedence",
                template.path.unwrap_or_default().display(),
                path.display()
            )),
        }
    }
}

/// Returns the template directory of a project; `None` if it does not exist or is the user's own.
fn projects_dir(home: &Home, project: &Project) -> Option<PathBuf> {
    let dir = project.haft_dir().join("prompts");
    let is_users = || dir.canonicalize().ok() == home.prompts_dir().canonicalize().ok();
    (dir.is_dir() && !is_users()).then_some(dir)
}

fn template_files(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| is_template_file(path));
    paths.sort();
    paths
}

fn is_template_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

impl Template {
    fn read(path: &Path) -> Result<Self, String> {
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err("the file name contains spaces".to_owned());
        }
        if name.contains(':') {
            return Err("the file name contains a colon, which is reserved for `/skill:NAME`".to_owned());
        }
        let text = read::text(path, MAX_FILE).map_err(|error| error.to_string())?;
        Ok(Self { path: Some(path.to_owned()), ..Self::parse(name, &text)? })
    }

    fn parse(name: &str, text: &str) -> Result<Self, String> {
        let (yaml, body) = front_matter::split(text);
        let fields = front_matter::parse(yaml.unwrap_or_default())?;
        let first = body.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let body = body.trim();
        if body.is_empty() {
            return Err("the template is empty".to_owned());
        }
        Ok(Self {
            name: name.to_owned(),
            description: front_matter::text_field(&fields, "description")?
                .unwrap_or_else(|| first.to_owned()),
            argument_hint: front_matter::text_field(&fields, "argument-hint")?,
            path: None,
            body: body.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests;
