//! Skills: instructions for special tasks in the Agent Skills format. A skill is a directory with a `SKILL.md`.

use std::path::{Component, Path, PathBuf};

use haft_protocol::project::Project;

use crate::front_matter::{self, FrontMatter};
use crate::home::Home;
use crate::origin::Owner;
use crate::project::UntrustedItem;
use crate::read;

/// The file that makes a directory a skill.
const SKILL_FILE: &str = "SKILL.md";

/// The maximum length of a name, in bytes.
const MAX_NAME: usize = 64;

/// The maximum length of a description, in characters.
const MAX_DESCRIPTION: usize = 1024;

/// The maximum size of `SKILL.md`, in bytes: 1 MiB.
const MAX_FILE: u64 = 1024 * 1024;

const MAX_SKILLS: usize = 200;

/// The maximum number of listed files.
const MAX_LISTED: usize = 100;

/// The maximum depth of listed directories.
const MAX_DEPTH: usize = 4;

/// Checks that a file may be used; the error is the reason why it may not.
pub type FileCheck<'a> = dyn Fn(&Path) -> Result<(), String> + 'a;

/// A skill that can be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// The name: lowercase letters, digits and hyphens.
    pub name: String,
    /// The purpose of the skill, and when to use it.
    pub description: String,
    /// The license of the skill.
    pub license: Option<String>,
    /// The requirements of the skill.
    pub compatibility: Option<String>,
    /// The tools that the author wants to be allowed while the skill is in use.
    pub allowed_tools: Vec<String>,
    /// The absolute path of the skill's directory.
    pub dir: PathBuf,
    /// The owner of the skill.
    pub owner: Owner,
}

/// The skills for a working directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillSet {
    /// The skills that can be loaded, the user's before the project's, and those of one directory by name.
    pub skills: Vec<Skill>,
    /// Skills that are not used because the project is not trusted.
    pub unused: Vec<UntrustedItem>,
    /// Problems, one sentence each.
    pub problems: Vec<String>,
}

impl SkillSet {
    /// Finds skills in `$HAFT_HOME/skills` and `~/.agents/skills` and, for a trusted project, in its `.haft/skills` and
    /// `.agents/skills`. The first skill with a name wins: a project can add skills and never replace the user's.
    pub fn find(home: &Home, user_home: Option<&Path>, project: &Project) -> Self {
        let mut found = Self::default();
        let users = [Some(home.skills_dir()), user_home.map(agents_dir)].into_iter().flatten();
        let users: Vec<_> = users.filter_map(|dir| Some((dir.canonicalize().ok()?, dir))).collect();
        for (_, dir) in &users {
            found.scan(dir, Owner::User, &|_| Ok(()));
        }
        for dir in [project.dir.join(".haft").join("skills"), agents_dir(&project.dir)] {
            // If the project is the user's home directory, its skills are the user's.
            let Ok(real) = dir.canonicalize() else { continue };
            if users.iter().any(|(users, _)| *users == real) {
                continue;
            }
            match project.is_trusted() {
                true => found.scan(&dir, Owner::Project, &|_| Ok(())),
                false => found.unused.push(UntrustedItem { path: dir, sets: Vec::new() }),
            }
        }
        found
    }

    /// Adds the skills at a path: the directory of a skill, its `SKILL.md`, or a directory that contains skills. `check`
    /// says whether a file may be used. Problems are added to [`problems`](Self::problems).
    pub fn add_path(&mut self, path: &Path, owner: Owner, check: &FileCheck<'_>) {
        let dir = match path.file_name() {
            Some(name) if *name == *SKILL_FILE => path.parent().unwrap_or(path),
            _ => path,
        };
        if let Err(problem) = check(path) {
            self.problems.push(problem);
        } else if dir.join(SKILL_FILE).exists() {
            self.add_dirs(vec![dir.to_owned()], owner, check);
        } else {
            self.scan(dir, owner, check);
        }
    }

    /// Returns the skill with this name.
    pub fn get(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.name == name)
    }

    fn scan(&mut self, dir: &Path, owner: Owner, check: &FileCheck<'_>) {
        let entries = match std::fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(error) => return self.problems.push(format!("cannot list {}: {error}", dir.display())),
        };
        let mut dirs: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        dirs.retain(|dir| dir.join(SKILL_FILE).exists());
        dirs.sort();
        self.add_dirs(dirs, owner, check);
    }

    fn add_dirs(&mut self, dirs: Vec<PathBuf>, owner: Owner, check: &FileCheck<'_>) {
        for dir in dirs {
            let file = dir.join(SKILL_FILE);
            match check(&file).and_then(|()| Skill::read(&dir, owner)) {
                Ok(skill) => self.add(skill),
                Err(problem) => {
                    self.problems.push(format!("skill {} is not used: {problem}", file.display()));
                }
            }
        }
    }

    fn add(&mut self, skill: Skill) {
        let dir = skill.dir.display();
        if let Some(first) = self.get(&skill.name) {
            let first = first.dir.display();
            self.problems.push(format!(
                "skill {} in {dir} is not used: {first} has the same name and takes precedence",
                skill.name
            ));
        } else if self.skills.len() == MAX_SKILLS {
            self.problems.push(format!(
                "skill {} in {dir} is not used: the limit of {MAX_SKILLS} skills is reached",
                skill.name
            ));
        } else {
            if skill.dir.file_name().is_none_or(|name| *name != *skill.name) {
                self.problems.push(format!(
                    "skill {} is in {dir}; the directory should have the skill's name",
                    skill.name
                ));
            }
            self.skills.push(skill);
        }
    }
}

fn agents_dir(dir: &Path) -> PathBuf {
    dir.join(".agents").join("skills")
}

impl Skill {
    fn read(dir: &Path, owner: Owner) -> Result<Self, String> {
        let text = read::text(&dir.join(SKILL_FILE), MAX_FILE).map_err(|error| error.to_string())?;
        let (yaml, _) = front_matter::split(&text);
        let yaml = yaml.ok_or("the file does not begin with front matter between two `---` lines")?;
        let fields = front_matter::parse(yaml)?;
        Ok(Self {
            name: parse_name(&fields)?,
            description: parse_description(&fields)?,
            license: front_matter::text_field(&fields, "license")?,
            compatibility: front_matter::text_field(&fields, "compatibility")?,
            allowed_tools: front_matter::words_field(&fields, "allowed-tools")?,
            dir: dir.to_owned(),
            owner,
        })
    }

    /// Returns the skill with this name among `skills`.
    ///
    /// # Errors
    /// A message that lists the available skills, for the user and for the model.
    pub fn find_in<'a>(skills: &'a [Self], name: &str) -> Result<&'a Self, String> {
        skills.iter().find(|skill| skill.name == name).ok_or_else(|| {
            let names: Vec<_> = skills.iter().map(|skill| skill.name.as_str()).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            format!("no skill named {name:?}; available skills: {names}")
        })
    }

    /// Returns the text for the model: the instructions, the directory, and the files in it.
    ///
    /// # Errors
    /// The reason why the skill cannot be read, for the user and for the model.
    pub fn load(&self) -> Result<String, String> {
        let file = self.dir.join(SKILL_FILE);
        let text = read::text(&file, MAX_FILE)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        let (_, body) = front_matter::split(&text);
        let mut text = format!("Skill {} in {}\n\n{}\n", self.name, self.dir.display(), body.trim());
        let files = list_files(&self.dir);
        if !files.is_empty() {
            text.push_str("\nFiles of this skill:\n");
            files.iter().for_each(|file| text.push_str(&format!("- {file}\n")));
        }
        Ok(text)
    }

    /// Returns the text of a file in the skill's directory, by its relative path.
    ///
    /// # Errors
    /// The reason why the file cannot be read. Paths outside the directory, including link targets, are rejected.
    pub fn load_file(&self, file: &str) -> Result<String, String> {
        let path = resolve_inside(&self.dir, file)?;
        read::text(&path, MAX_FILE)
            .map_err(|error| format!("cannot read {file} of skill {}: {error}", self.name))
    }
}

fn parse_name(fields: &FrontMatter) -> Result<String, String> {
    let name = front_matter::text_field(fields, "name")?.ok_or("`name` is missing")?;
    let plain = name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    if !plain || name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        return Err(format!(
            "the name {name:?} is not valid; use lowercase letters, digits and single hyphens between them"
        ));
    }
    match name.len() > MAX_NAME {
        true => Err(format!("the name is longer than {MAX_NAME} characters")),
        false => Ok(name),
    }
}

fn parse_description(fields: &FrontMatter) -> Result<String, String> {
    let text = front_matter::text_field(fields, "description")?.ok_or("`description` is missing")?;
    match text.chars().count() {
        0..=MAX_DESCRIPTION => Ok(text),
        count => Err(format!("the description has {count} characters; the maximum is {MAX_DESCRIPTION}")),
    }
}

/// Lists the files in the skill's directory except `SKILL.md`, as sorted relative paths. Hidden files and links are
/// left out.
fn list_files(dir: &Path) -> Vec<String> {
    let mut files = Vec::new();
    add_files(dir, "", 0, &mut files);
    files.retain(|file| file != SKILL_FILE);
    files.sort();
    if files.len() > MAX_LISTED {
        files.truncate(MAX_LISTED);
        files.push("and more".to_owned());
    }
    files
}

fn add_files(dir: &Path, prefix: &str, depth: usize, files: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        // One file more than the maximum proves that there are more.
        if files.len() > MAX_LISTED + 1 {
            return;
        }
        let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else { continue };
        if name.starts_with('.') || name == "node_modules" || name == "__pycache__" {
            continue;
        }
        if kind.is_file() {
            files.push(format!("{prefix}{name}"));
        } else if kind.is_dir() && depth < MAX_DEPTH {
            add_files(&entry.path(), &format!("{prefix}{name}/"), depth + 1, files);
        }
    }
}

fn resolve_inside(dir: &Path, file: &str) -> Result<PathBuf, String> {
    let outside = || format!("{file} is outside the skill's directory; use a path in it");
    let plain =
        Path::new(file).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !plain {
        return Err(outside());
    }
    let missing = |error: std::io::Error| format!("cannot read {file}: {error}");
    let root = dir.canonicalize().map_err(missing)?;
    let path = root.join(file).canonicalize().map_err(missing)?;
    if path.starts_with(&root) { Ok(path) } else { Err(outside()) }
}

#[cfg(test)]
mod tests;
