//! Skills: instructions for special tasks in the Agent Skills format, a directory with a `SKILL.md` in it.

use std::path::{Component, Path, PathBuf};

use haft_protocol::project::Project;

use crate::front_matter::{self, FrontMatter};
use crate::home::Home;
use crate::origin::Owner;
use crate::project::UntrustedItem;
use crate::read;

/// The file that makes a directory a skill.
const SKILL_FILE: &str = "SKILL.md";

/// The longest name, in bytes.
const MAX_NAME: usize = 64;

/// The longest description, in characters.
const MAX_DESCRIPTION: usize = 1024;

/// The longest `SKILL.md`, in bytes: 1 MiB.
const MAX_FILE: u64 = 1024 * 1024;

const MAX_SKILLS: usize = 200;

/// The most files that are listed.
const MAX_LISTED: usize = 100;

/// The most directories inside each other that are looked into.
const MAX_DEPTH: usize = 4;

/// A skill that can be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Lower-case letters, digits and hyphens.
    pub name: String,
    /// The purpose of the skill, and when to use it.
    pub description: String,
    /// Under which licence it comes.
    pub license: Option<String>,
    /// The requirements of the skill.
    pub compatibility: Option<String>,
    /// Tools that its author wants allowed while it is at work.
    pub allowed_tools: Vec<String>,
    /// Its directory, absolute.
    pub dir: PathBuf,
    /// The owner of the skill.
    pub owner: Owner,
}

/// The skills of a place of work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillSet {
    /// Those that can be loaded, the user's before the project's, each place by name.
    pub skills: Vec<Skill>,
    /// Skills that are not used, because the project is not trusted.
    pub unused: Vec<UntrustedItem>,
    /// Problems, a sentence each.
    pub problems: Vec<String>,
}

impl SkillSet {
    /// Looks in `$HAFT_HOME/skills` and `~/.agents/skills` and, for a project that is trusted, in its `.haft/skills` and
    /// `.agents/skills`. The first one keeps a name: a project can add a skill and never replace one of the user's.
    pub fn find(home: &Home, user_home: Option<&Path>, project: &Project) -> Self {
        let mut found = Self::default();
        let users = [Some(home.skills_dir()), user_home.map(agents_dir)].into_iter().flatten();
        let users: Vec<_> = users.filter_map(|dir| Some((dir.canonicalize().ok()?, dir))).collect();
        for (_, dir) in &users {
            found.scan(dir, Owner::User);
        }
        for dir in [project.dir.join(".haft").join("skills"), agents_dir(&project.dir)] {
            // In the user's own home directory the project's place is the user's.
            let Ok(real) = dir.canonicalize() else { continue };
            if users.iter().any(|(users, _)| *users == real) {
                continue;
            }
            match project.is_trusted() {
                true => found.scan(&dir, Owner::Project),
                false => found.unused.push(UntrustedItem { path: dir, sets: Vec::new() }),
            }
        }
        found
    }

    /// The skill of a name.
    pub fn get(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.name == name)
    }

    fn scan(&mut self, dir: &Path, owner: Owner) {
        let entries = match std::fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(error) => return self.problems.push(format!("cannot list {}: {error}", dir.display())),
        };
        let mut dirs: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        dirs.retain(|dir| dir.join(SKILL_FILE).exists());
        dirs.sort();
        for dir in dirs {
            match Skill::read(&dir, owner) {
                Ok(skill) => self.add(skill),
                Err(problem) => {
                    let file = dir.join(SKILL_FILE);
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
                "skill {} in {dir} is not used: {first} has the same name and comes first",
                skill.name
            ));
        } else if self.skills.len() == MAX_SKILLS {
            self.problems
                .push(format!("skill {} in {dir} is not used: there are {MAX_SKILLS} before it", skill.name));
        } else {
            if skill.dir.file_name().is_none_or(|name| *name != *skill.name) {
                self.problems.push(format!(
                    "skill {} should lie in a directory of that name, and lies in {dir}",
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
        let yaml = yaml.ok_or("it does not begin with a front matter between two lines of `---`")?;
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

    /// The one of this name among `skills`.
    ///
    /// # Errors
    /// That there is none, and which there are, for people and for the model.
    pub fn find_in<'a>(skills: &'a [Self], name: &str) -> Result<&'a Self, String> {
        skills.iter().find(|skill| skill.name == name).ok_or_else(|| {
            let names: Vec<_> = skills.iter().map(|skill| skill.name.as_str()).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            format!("there is no skill {name:?}; there are {names}")
        })
    }

    /// Returns the text for the model: the instructions, where they lie, and the files beside them.
    ///
    /// # Errors
    /// Why it cannot be read, for people and for the model.
    pub fn load(&self) -> Result<String, String> {
        let file = self.dir.join(SKILL_FILE);
        let text = read::text(&file, MAX_FILE)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        let (_, body) = front_matter::split(&text);
        let mut told = format!("Skill {} in {}\n\n{}\n", self.name, self.dir.display(), body.trim());
        let files = list_files(&self.dir);
        if !files.is_empty() {
            told.push_str("\nFiles of this skill:\n");
            files.iter().for_each(|file| told.push_str(&format!("- {file}\n")));
        }
        Ok(told)
    }

    /// The text of a file within the skill's directory, as its instructions name it.
    ///
    /// # Errors
    /// Why it cannot be read: what lies outside of the directory is refused, whatever links lead there.
    pub fn load_file(&self, file: &str) -> Result<String, String> {
        let path = resolve_inside(&self.dir, file)?;
        read::text(&path, MAX_FILE)
            .map_err(|error| format!("cannot read {file} of skill {}: {error}", self.name))
    }
}

fn parse_name(fields: &FrontMatter) -> Result<String, String> {
    let name = front_matter::text_field(fields, "name")?.ok_or("it has no `name`")?;
    let plain = name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    if !plain || name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        return Err(format!(
            "the name {name:?} may have lower-case letters, digits and single hyphens between them only"
        ));
    }
    match name.len() > MAX_NAME {
        true => Err(format!("the name is longer than {MAX_NAME} characters")),
        false => Ok(name),
    }
}

fn parse_description(fields: &FrontMatter) -> Result<String, String> {
    let text = front_matter::text_field(fields, "description")?.ok_or("it has no `description`")?;
    match text.chars().count() {
        0..=MAX_DESCRIPTION => Ok(text),
        count => Err(format!("its description has {count} characters, and {MAX_DESCRIPTION} are the most")),
    }
}

/// The files beside `SKILL.md`, relative to the directory and in order. Hidden ones and links are left out.
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
        // One more than are listed is enough to know that there are more.
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
    let outside = || format!("{file} lies outside of the skill's directory; name a file of the skill");
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
