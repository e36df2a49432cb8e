//! The code files that a hook's command names.

use std::path::{Path, PathBuf};

use super::ProcessHook;
use crate::home::Home;

/// A file that a word of a command may name. The file may not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    /// The path as written in the command, without surrounding text; for a Python module, its file.
    pub word: String,
    /// The same path, resolved against the hook's working directory.
    pub path: PathBuf,
}

/// Characters that end a word in a shell, or separate an option or a variable from its value.
const BETWEEN: &[char] = &[';', '|', '&', '(', ')', '<', '"', '\'', '`', '=', ','];

/// Texts that a shell replaces with its working directory.
const HERE: &[&str] = &["$PWD/", "${PWD}/"];

impl ProcessHook {
    /// Returns the hook's working directory when haft works in `cwd`.
    pub fn working_dir(&self, cwd: &Path) -> PathBuf {
        self.dir.as_ref().map_or_else(|| cwd.to_owned(), |dir| cwd.join(dir))
    }

    /// Returns all files that the command may name: the program, if it is a path; each argument and its parts, split
    /// like in a shell; and the files of Python's `-m MODULE`. Computed paths, and files loaded by these files, are not
    /// included.
    pub fn code_files(&self, cwd: &Path) -> Vec<NamedFile> {
        let place = self.working_dir(cwd);
        let mut words = Vec::new();
        for (at, word) in self.command.iter().enumerate() {
            if at > 0 || word.contains(std::path::is_separator) {
                words.push(word.clone());
            }
            // The program's name is not split.
            if at > 0 {
                words.extend(shell_parts(word));
            }
        }
        let arguments: Vec<String> = self.command.iter().skip(1).flat_map(|word| shell_parts(word)).collect();
        words.extend(python_module_files(&arguments));
        let mut named: Vec<NamedFile> = Vec::new();
        for word in words.into_iter().filter(|word| !word.is_empty()) {
            let path = place.join(&word);
            if named.iter().all(|other| other.path != path) {
                named.push(NamedFile { word, path });
            }
        }
        named
    }
}

/// The parts of a project that a user's hook would run.
impl ProcessHook {
    /// Returns the files among [`code_files`](Self::code_files) that the project in `cwd` controls: files in the
    /// project, and relative paths that are resolved against it. Files in haft's own directory belong to the user,
    /// wherever that directory is.
    pub fn code_in_project(&self, home: &Home, cwd: &Path) -> Vec<NamedFile> {
        let is_near = self.dir.as_ref().is_none_or(|dir| dir.is_relative());
        let (project, own) = (cwd.canonicalize().ok(), home.root().canonicalize().ok());
        let is_projects = |named: &NamedFile| {
            let real = named.path.canonicalize().ok();
            let lies_in = |dir: &Option<PathBuf>| {
                real.as_ref().zip(dir.as_ref()).is_some_and(|(real, dir)| real.starts_with(dir))
            };
            let begins_there = is_near && Path::new(&named.word).is_relative();
            begins_there || (!lies_in(&own) && (named.path.starts_with(cwd) || lies_in(&project)))
        };
        self.code_files(cwd).into_iter().filter(|named| named.path.is_file() && is_projects(named)).collect()
    }

    /// Returns a readable note if the untrusted project in `cwd` would control the hook, including the next step.
    pub fn untrusted_project_note(&self, home: &Home, cwd: &Path) -> Option<String> {
        if let Some(dir) = self.dir.as_ref().filter(|dir| dir.is_relative()) {
            return Some(format!(
                "its `dir`, {}, is relative to the project, which is not trusted; use an absolute path outside \
                 the project",
                dir.display()
            ));
        }
        if let Some(named) = self.code_in_project(home, cwd).first() {
            return Some(format!(
                "{} is in the project, which is not trusted; use an absolute path outside the project, or run \
                 `haft trust` to review and trust the project",
                named.path.display()
            ));
        }
        let is_there = self.working_dir(cwd).canonicalize().ok().zip(cwd.canonicalize().ok());
        let is_there = is_there.is_some_and(|(place, project)| place.starts_with(project));
        (is_there && self.imports_from_working_dir()).then(|| {
            "Python imports modules from its working directory first, here the project, which is not trusted; \
             set `dir` to a directory outside the project, or run `haft trust` to review and trust the project"
                .to_owned()
        })
    }

    /// True if Python imports modules from its working directory.
    fn imports_from_working_dir(&self) -> bool {
        let Some((program, arguments)) = self.command.split_first() else { return false };
        let is_python =
            Path::new(program).file_name().is_some_and(|name| name.to_string_lossy().starts_with("python"));
        let options: Vec<_> = arguments.iter().take_while(|word| word.starts_with('-')).collect();
        let has = |option: &str| options.iter().any(|word| word.starts_with(option));
        is_python && (has("-m") || has("-c")) && !has("-I") && !has("-P")
    }
}

/// Returns the parts of a word that a shell or an option parser treats as words. Targets of output redirections are
/// skipped, because they are not run.
fn shell_parts(word: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut is_output = false;
    for part in
        word.split(|c: char| c.is_whitespace() || BETWEEN.contains(&c)).filter(|part| !part.is_empty())
    {
        let (read, to) = part.split_once('>').map_or((part, None), |(read, to)| (read, Some(to)));
        if !std::mem::take(&mut is_output) && !read.is_empty() {
            parts.push(HERE.iter().find_map(|here| read.strip_prefix(here)).unwrap_or(read).to_owned());
        }
        is_output = to.is_some_and(|to| to.trim_start_matches('>').is_empty());
    }
    parts
}

/// Returns the files that `-m MODULE` may load.
fn python_module_files(words: &[String]) -> Vec<String> {
    let mut before = "";
    let mut found = Vec::new();
    for word in words {
        let glued = word.strip_prefix("-m").filter(|module| !module.is_empty());
        if let Some(module) = glued.or((before == "-m").then_some(word)) {
            let path = module.replace('.', "/");
            found.extend(["", "/__init__", "/__main__"].map(|file| format!("{path}{file}.py")));
        }
        before = word;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::ParsedConfigFile;
    use crate::hooks::HookTimeouts;
    use crate::origin::Owner;

    fn hook(command: &[&str], dir: &str) -> ProcessHook {
        let text = format!(
            "[hooks.processes.g]\nenabled = true\nobserve = ['*']\ncommand = {command:?}\ndir = {dir:?}\n"
        );
        let file = ParsedConfigFile::parse(Path::new("config.toml"), &text).unwrap();
        let hooks = file.hooks(Owner::User, HookTimeouts::default()).unwrap();
        hooks[0].clone()
    }

    /// Checks which of some files below `/w` a hook's command names.
    #[track_caller]
    fn check(command: &[&str], dir: &str, expect: &[&str]) {
        let there =
            ["gate.py", "tools/gate.py", "tools/x/__init__.py", "tools/x/y.py", "bin/gate", "out.log"];
        let named = hook(command, dir).code_files(Path::new("/w"));
        let found: Vec<_> = there
            .into_iter()
            .filter(|file| named.iter().any(|named| named.path == Path::new("/w").join(file)))
            .collect();
        assert_eq!(found, expect, "{named:?}");
    }

    #[test]
    fn words_and_their_parts_name_files() {
        check(&["python3", "gate.py"], "", &["gate.py"]);
        check(&["python3", "-u", "gate.py", "tools/gate.py"], "", &["gate.py", "tools/gate.py"]);
        check(&["bin/gate"], "", &["bin/gate"]);
        check(&["/w/bin/gate"], "", &["bin/gate"]);
        check(&["gate.py"], "", &[]);
        check(&["python3", "/w/gate.py"], "/elsewhere", &["gate.py"]);
        check(&["python3", "gate.py"], "/elsewhere", &[]);
        check(&["python3", "gate.py"], "tools", &["tools/gate.py"]);
        check(&["sh", "-c", "cd / && exec python3 'tools/gate.py'; true"], "", &["tools/gate.py"]);
        check(&["sh", "-c", "python3 $PWD/gate.py>out.log 2>> out.log"], "", &["gate.py"]);
        check(&["sh", "-c", "python3 gate.py > out.log"], "", &["gate.py"]);
        check(&["sh", "-c", "bin/gate < gate.py"], "", &["gate.py", "bin/gate"]);
        check(&["/opt/gate", "--policy=tools/gate.py"], "", &["tools/gate.py"]);
    }

    /// Checks the note about an untrusted project that contains these files.
    #[track_caller]
    fn check_told(command: &[&str], dir: &str, expect: &str) {
        let root = tempfile::tempdir().unwrap();
        let (project, home) = (root.path().join("w"), Home::at(root.path().join("w/home")));
        for file in ["w/hooks/gate.py", "w/home/gate.py", "gate.py"] {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let full = |text: &&str| text.replace("ROOT", &root.path().display().to_string());
        let command: Vec<String> = command.iter().map(full).collect();
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let message = hook(&command, &full(&dir)).untrusted_project_note(&home, &project);
        match expect {
            "" => assert_eq!(message, None),
            expect => {
                assert!(message.as_ref().is_some_and(|message| message.contains(expect)), "{message:?}")
            }
        }
    }

    #[test]
    fn untrusted_project_controls_its_files_and_relative_paths() {
        let inside = "w/hooks/gate.py is in the project, which is not trusted";
        check_told(&["python3", "hooks/gate.py"], "", inside);
        check_told(&["hooks/gate.py"], "", inside);
        check_told(&["sh", "-c", "python3 hooks/gate.py"], "", inside);
        check_told(&["python3", "ROOT/w/hooks/gate.py"], "", inside);
        check_told(&["python3", "gate.py"], "ROOT/w/hooks", inside);
        check_told(&["python3", "../gate.py"], "", "w/../gate.py is in the project");
        check_told(&["gate"], "hooks", "its `dir`, hooks, is relative to the project");
        check_told(&["python3", "-u", "-m", "elsewhere"], "", "Python imports modules");
        check_told(&["python3", "-P", "-m", "elsewhere"], "", "");
        check_told(&["python3", "-m", "elsewhere"], "ROOT", "");
        check_told(&["python3", "hooks/missing.py"], "", "");
        check_told(&["python3", "ROOT/gate.py", "-m", "x"], "", "");
        check_told(&["python3", "gate.py"], "ROOT", "");
        check_told(&["python3", "ROOT/w/home/gate.py"], "", "");
    }

    #[test]
    fn python_module_is_mapped_to_its_file() {
        check(&["python3", "-m", "gate"], "", &["gate.py"]);
        check(&["python3", "-mgate"], "", &["gate.py"]);
        check(&["python3", "-m", "x.y"], "tools", &["tools/x/y.py"]);
        check(&["sh", "-c", "exec python3 -m x"], "tools", &["tools/x/__init__.py"]);
    }
}
