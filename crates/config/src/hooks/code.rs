//! What a hook's command would have run: the files that its words name.

use std::path::{Path, PathBuf};

use super::ProcessHook;

/// Where one of a command's words may lead; whether a file is there is not looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    /// As the command writes it, without what surrounds it; of a module of Python's, its file.
    pub word: String,
    /// The same, from the directory on that the hook runs in.
    pub path: PathBuf,
}

/// What ends a word for a shell, or stands between an option or a variable and its value.
const BETWEEN: &[char] = &[';', '|', '&', '(', ')', '<', '"', '\'', '`', '=', ','];

/// What a shell puts the directory that it runs in in the place of.
const HERE: &[&str] = &["$PWD/", "${PWD}/"];

impl ProcessHook {
    /// The directory that it runs in, where haft works in `cwd`.
    pub fn place(&self, cwd: &Path) -> PathBuf {
        self.dir.as_ref().map_or_else(|| cwd.to_owned(), |dir| cwd.join(dir))
    }

    /// All that its command may name as a file: the program, if it is a path; each argument, and each part of it, as a
    /// shell would part it; and what `-m MODULE` has Python look for there. A path that is not named in full, such as one
    /// that a shell computes, and what these files load in turn, is not among it.
    pub fn code(&self, cwd: &Path) -> Vec<NamedFile> {
        let place = self.place(cwd);
        let mut words = Vec::new();
        for (at, word) in self.command.iter().enumerate() {
            if at > 0 || word.contains(std::path::is_separator) {
                words.push(word.clone());
            }
            // A program's name has no parts.
            if at > 0 {
                words.extend(parts(word));
            }
        }
        let arguments: Vec<String> = self.command.iter().skip(1).flat_map(|word| parts(word)).collect();
        words.extend(modules(&arguments));
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

/// The parts of a word that a shell, or who reads options, takes for words. What the output goes to is not run.
fn parts(word: &str) -> Vec<String> {
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

/// The files that `-m MODULE` stands for.
fn modules(words: &[String]) -> Vec<String> {
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
    use crate::file::ReadFile;
    use crate::hooks::HookTimeouts;
    use crate::layers::Owner;

    /// Which of these files below `/w` a hook's command names.
    #[track_caller]
    fn check(command: &[&str], dir: &str, expect: &[&str]) {
        let there =
            ["gate.py", "tools/gate.py", "tools/x/__init__.py", "tools/x/y.py", "bin/gate", "out.log"];
        let text = format!(
            "[hooks.processes.g]\nenabled = true\nobserve = ['*']\ncommand = {command:?}\ndir = {dir:?}\n"
        );
        let file = ReadFile::parse(Path::new("config.toml"), &text).unwrap();
        let hooks = file.hooks(Owner::User, HookTimeouts::default()).unwrap();
        let named = hooks[0].code(Path::new("/w"));
        let found: Vec<_> = there
            .into_iter()
            .filter(|file| named.iter().any(|named| named.path == Path::new("/w").join(file)))
            .collect();
        assert_eq!(found, expect, "{named:?}");
    }

    #[test]
    fn every_word_and_its_parts_may_name_a_file() {
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

    #[test]
    fn a_module_of_pythons_is_named_by_its_file() {
        check(&["python3", "-m", "gate"], "", &["gate.py"]);
        check(&["python3", "-mgate"], "", &["gate.py"]);
        check(&["python3", "-m", "x.y"], "tools", &["tools/x/y.py"]);
        check(&["sh", "-c", "exec python3 -m x"], "tools", &["tools/x/__init__.py"]);
    }
}
