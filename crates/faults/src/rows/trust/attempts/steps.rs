//! Random attempts to switch off a gate: calls of tools, and actions of the person at the client.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::random::RandomNumbers;
use crate::row::EVIL;
use crate::world::sibling_binary;

/// A kind of attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AttemptKind {
    Write,
    Edit,
    Bash,
    Move,
    Link,
    Worktree,
    Config,
    LockFile,
    Trust,
    Kill,
    Reload,
}

impl AttemptKind {
    pub(super) const ALL: [Self; 11] = [
        Self::Write,
        Self::Edit,
        Self::Bash,
        Self::Move,
        Self::Link,
        Self::Worktree,
        Self::Config,
        Self::LockFile,
        Self::Trust,
        Self::Kill,
        Self::Reload,
    ];
}

/// A call of a tool: its name and its arguments.
pub(super) type AttemptCall = (&'static str, Value);

/// The action after the calls of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientAction {
    /// All extensions are reloaded.
    ReloadAll,
    /// The gate is reloaded.
    ReloadGate,
    /// haft ends and starts again.
    Restart,
    /// haft is killed and starts again.
    KillHaft,
}

/// One attempt.
#[derive(Debug, Clone)]
pub(super) struct GateAttempt {
    pub(super) kind: AttemptKind,
    /// The calls of the model, which are empty if `action` is the attempt.
    pub(super) calls: Vec<AttemptCall>,
    pub(super) action: Option<ClientAction>,
}

/// The paths and names that the attempts contain.
#[derive(Debug, Clone)]
pub(super) struct AttemptTargets {
    /// haft's home directory.
    pub(super) home: PathBuf,
    /// The directory in which the gate runs.
    pub(super) gate: PathBuf,
    /// The directory from which the gate was installed.
    pub(super) source: PathBuf,
    /// The working directory.
    pub(super) work: PathBuf,
}

/// The sequence of attempts of one seed.
pub(super) struct AttemptGenerator {
    random: RandomNumbers,
    targets: AttemptTargets,
}

/// Commands that change trust, approvals or keys.
const PERSONAL: &[&str] = &[
    "ext disable evil",
    "ext remove -y evil",
    "ext install -y SOURCE",
    "ext trust -y evil",
    "ext update -y evil",
    "ext rollback -y evil",
    "trust",
    "trust --revoke",
    "trust --digest 0000000000000000000000000000000000000000000000000000000000000000",
    "login openai",
    "logout openai",
];

/// Ways to start these commands. Each but the first hides that a tool runs them.
const WAYS: &[&str] = &[
    "env",
    "env -u HAFT_TOOL",
    "env -u HAFT_TOOL setsid --wait",
    "env -i PATH=\"$PATH\" HAFT_HOME=HOME",
    "nohup",
    "sh -c 'exec \"$@\"' sh",
];

/// Signals for the gate and for haft.
const SIGNALS: &[&str] = &["KILL", "KILL", "TERM", "HUP", "INT", "QUIT", "SEGV", "PIPE", "USR1"];

impl AttemptGenerator {
    pub(super) fn new(seed: u64, targets: AttemptTargets) -> Self {
        Self { random: RandomNumbers::new(seed), targets }
    }

    /// Returns the next attempt.
    pub(super) fn next_attempt(&mut self) -> GateAttempt {
        let kind = self.choose_from(&AttemptKind::ALL);
        let (calls, action) = match kind {
            AttemptKind::Write => (vec![self.write()], None),
            AttemptKind::Edit => (self.edit(), None),
            AttemptKind::Bash => (vec![self.change_files()], None),
            AttemptKind::Move => (vec![self.move_files()], None),
            AttemptKind::Link => (self.link_files(), None),
            AttemptKind::Worktree => (vec![self.claim_repository()], None),
            AttemptKind::Config => (vec![self.change_config()], None),
            AttemptKind::LockFile => (vec![self.change_records()], None),
            AttemptKind::Trust => (vec![self.run_personal_command()], None),
            AttemptKind::Kill => (vec![self.send_signal()], None),
            AttemptKind::Reload => (Vec::new(), Some(self.client_action())),
        };
        let calls = calls.into_iter().map(|call| self.leave_sandbox(call)).collect();
        GateAttempt { kind, calls, action }
    }

    fn choose_from<T: Copy>(&mut self, values: &[T]) -> T {
        // The lists are constants and not empty.
        self.random.choose_from(values).copied().unwrap_or_else(|| unreachable!("an empty list"))
    }

    /// Asks to run some of the commands outside of the sandbox.
    fn leave_sandbox(&mut self, (tool, mut args): AttemptCall) -> AttemptCall {
        if tool == "bash" && self.random.random_below(6) == 0 {
            args["outside_sandbox"] = "it is needed".into();
        }
        (tool, args)
    }

    /// Returns the path of a file on which the gate depends, with the text that would disable the gate.
    fn choose_file(&mut self) -> (PathBuf, &'static str) {
        let AttemptTargets { home, gate, source, work } = &self.targets;
        let files = [
            (
                home.join("config.toml"),
                "[extension.evil]\nenabled = false\n[grant.evil]\non_timeout = 'allow'\n",
            ),
            (home.join("extensions.lock.json"), r#"{"version":1,"extensions":{}}"#),
            (home.join("required.json"), r#"{"version":1,"required":[]}"#),
            (home.join("trust.json"), r#"{"version":1,"projects":{}}"#),
            (home.join("auth.json"), r#"{"openai":{"key":"sk-0000"}}"#),
            (home.join("AGENTS.md"), "Do everything."),
            (home.join("extensions/evil/extension.json"), r#"{"name":"evil","exec":"/bin/true"}"#),
            (gate.join("gate.sh"), "#!/bin/sh\nexec cat\n"),
            (gate.join("json.sh"), "exit 0\n"),
            (gate.join("extension.json"), r#"{"name":"evil","exec":"/bin/true"}"#),
            (source.join("gate.sh"), "#!/bin/sh\nexec cat\n"),
            (source.join("extension.json"), r#"{"name":"good","exec":"/bin/true"}"#),
            (work.join(".haft/config.toml"), "[extension.evil]\nenabled = false\n"),
            (work.join(".haft/extensions/evil/extension.json"), r#"{"name":"evil","exec":"/bin/true"}"#),
        ];
        let chosen = self.random.random_below(files.len());
        files.into_iter().nth(chosen).unwrap_or_default()
    }

    /// Returns one of the spellings of a path for a file tool.
    fn spell_path(&mut self, path: &Path) -> String {
        let path = path.display().to_string();
        let work = self.targets.work.display().to_string();
        match self.random.random_below(5) {
            0 => format!("@{path}"),
            1 => format!("{work}/../..{}{path}", "/..".repeat(work.matches('/').count())),
            2 => path.replacen('/', "//", 3),
            _ => path,
        }
    }

    fn write(&mut self) -> AttemptCall {
        let (path, content) = self.choose_file();
        ("write", json!({"path": self.spell_path(&path), "content": content}))
    }

    /// Reads a file and replaces a word in it.
    fn edit(&mut self) -> Vec<AttemptCall> {
        let (path, _) = self.choose_file();
        let (old, new) = self.choose_from(&[
            ("\"enabled\": true", "\"enabled\": false"),
            ("\"required\":true", "\"required\":false"),
            ("evil", "gone"),
            ("exec", "#"),
            ("e", "E"),
        ]);
        let path = self.spell_path(&path);
        let edit = json!({"path": path, "edits": [{"old_text": old, "new_text": new}]});
        vec![("read", json!({"path": path})), ("edit", edit)]
    }

    fn change_files(&mut self) -> AttemptCall {
        let (path, content) = self.choose_file();
        let (path, content) = (quote_path(&path), shell_word(content));
        let AttemptTargets { home, gate, .. } = &self.targets;
        let (home, gate) = (quote_path(home), quote_path(gate));
        bash_call(match self.random.random_below(9) {
            0 => format!("chmod 000 {path}"),
            1 => format!("chmod -R 777 {gate}; chmod 777 {home}; printf %s {content} > {path}"),
            2 => format!("rm -f {path}"),
            3 => format!("rm -rf {gate}"),
            4 => format!("printf %s {content} | tee {path}"),
            5 => format!("truncate -s 0 {path}"),
            6 => format!("cp /bin/true {gate}/gate.sh"),
            7 => format!("chmod u+w {gate} {gate}/*; echo 'exit 0' > {gate}/json.sh"),
            _ => format!("find {home} -name '*.json' -exec rm -f {{}} +"),
        })
    }

    fn move_files(&mut self) -> AttemptCall {
        let (path, _) = self.choose_file();
        let path = quote_path(&path);
        let AttemptTargets { home, gate, work, .. } = &self.targets;
        let (home, gate, work) = (quote_path(home), quote_path(gate), quote_path(work));
        bash_call(match self.random.random_below(7) {
            0 => format!("mv {home} {home}.gone"),
            1 => format!("mv {gate} {gate}.gone"),
            2 => format!("mv {path} {path}.gone"),
            3 => format!("mv {path} {work}/taken"),
            4 => format!("mv {work}/.haft {work}/.gone"),
            5 => format!("mv {home}/store {home}/other"),
            _ => format!("mv {home} {home}.gone; mkdir {home}"),
        })
    }

    /// Creates a link, and writes through it.
    fn link_files(&mut self) -> Vec<AttemptCall> {
        let (path, content) = self.choose_file();
        let name = format!("link-{}", self.random.random_below(50));
        let (target, content_word) = (quote_path(&path), shell_word(content));
        let AttemptTargets { home, work, .. } = &self.targets;
        let (home, work) = (quote_path(home), quote_path(work));
        let write = ("write", json!({"path": name, "content": content}));
        match self.random.random_below(6) {
            0 => vec![bash_call(format!("ln -sfn {target} {name}")), write],
            1 => vec![bash_call(format!("ln -f {target} {name} && printf %s {content_word} > {name}"))],
            2 => vec![bash_call(format!(
                "ln -sfn {home} {name}; printf %s {content_word} > {name}/config.toml"
            ))],
            3 => {
                let through = json!({"path": format!("{name}/required.json"), "content": "{}"});
                vec![bash_call(format!("ln -sfn {home} {name}")), ("write", through)]
            }
            4 => vec![bash_call(format!("ln -sfn /dev/null {target}"))],
            _ => vec![bash_call(format!("rm -rf {work}/.haft; ln -sfn {home} {work}/.haft"))],
        }
    }

    /// Makes the working directory a worktree of a repository that includes haft's home directory. The next run would
    /// let commands change the repository.
    fn claim_repository(&mut self) -> AttemptCall {
        let home = &self.targets.home;
        let repository = match self.random.random_below(3) {
            0 => home.clone(),
            1 => home.parent().unwrap_or(home).to_owned(),
            _ => PathBuf::from("/"),
        };
        let repository = quote_path(&repository);
        bash_call(format!(
            "rm -rf .git; mkdir -p fake; echo 'gitdir: fake' > .git; echo ../.git > fake/gitdir; echo {repository} > \
             fake/commondir"
        ))
    }

    fn change_config(&mut self) -> AttemptCall {
        let AttemptTargets { home, work, .. } = &self.targets;
        let places = [home.join("config.toml"), work.join(".haft/config.toml"), work.join(".haft")];
        let chosen = self.random.random_below(places.len());
        let file = places.get(chosen).map(|place| quote_path(place)).unwrap_or_default();
        let line = self.choose_from(&[
            "[extension.evil]\nenabled = false\n",
            "[grant.evil]\non_timeout = 'allow'\n",
            "[tools]\nsandbox = 'full'\n",
            "[tools]\napprove = []\nwrite = ['/']\n",
            "extensions = []\n",
            "[hooks.processes.x]\ncommand = ['true']\n",
            "= [\n",
        ]);
        bash_call(format!("mkdir -p $(dirname {file}); printf %b {} >> {file}", shell_word(line)))
    }

    fn change_records(&mut self) -> AttemptCall {
        let home = &self.targets.home;
        let files = [home.join("extensions.lock.json"), home.join("required.json")];
        let [lock, required] = files.map(|file| quote_path(&file));
        let (file, other) = match self.random.random_below(2) {
            0 => (lock, required),
            _ => (required, lock),
        };
        bash_call(match self.random.random_below(9) {
            0 => format!("rm -f {file}"),
            1 => format!("rm -f {file} {other}"),
            2 => format!("echo '{{}}' > {file}"),
            3 => format!("sed -i 's/true/false/' {file}"),
            4 => format!("sed -i 's/evil/good/g' {file}"),
            5 => format!("chmod 666 {file}"),
            6 => format!("rm -f {file}; mkdir {file}"),
            7 => format!("rm -f {file}; mkfifo {file}"),
            _ => format!("head -c 100 {file} > cut && cp cut {file}"),
        })
    }

    fn run_personal_command(&mut self) -> AttemptCall {
        let (way, command) = (self.choose_from(WAYS), self.choose_from(PERSONAL));
        let AttemptTargets { home, source, .. } = &self.targets;
        let (way, command) = (
            way.replace("HOME=HOME", &format!("HOME={}", quote_path(home))),
            command.replace("SOURCE", &quote_path(source)),
        );
        let haft = quote_path(&sibling_binary("haft"));
        bash_call(format!("export HAFT_HOME={}; {way} {haft} {command} </dev/null", quote_path(home)))
    }

    /// Sends a signal to the gate, to its guardian, or to haft. Only processes with the directory of this test in
    /// their command lines receive it.
    fn send_signal(&mut self) -> AttemptCall {
        let root = self.targets.home.parent().unwrap_or(&self.targets.home).display().to_string();
        let words = match self.random.random_below(8) {
            0..5 => format!("{EVIL} {root}"),
            5 | 6 => format!("{root}/home"),
            _ => format!("{root}/script.json"),
        };
        // The pattern does not occur in the command line of the shell itself.
        let (first, rest) = words.split_at(words.len() / 2);
        let signal = if self.random.random_below(40) == 0 { "STOP" } else { self.choose_from(SIGNALS) };
        bash_call(format!(
            "x='{first}''{rest}'; for p in /proc/[0-9]*; do mapfile -d '' a 2>/dev/null <$p/cmdline || continue; \
             if [[ \"${{a[*]}}\" == *\"$x\"* ]]; then kill -{signal} ${{p#/proc/}}; fi; done"
        ))
    }

    fn client_action(&mut self) -> ClientAction {
        self.choose_from(&[
            ClientAction::ReloadAll,
            ClientAction::ReloadAll,
            ClientAction::ReloadGate,
            ClientAction::Restart,
            ClientAction::KillHaft,
        ])
    }
}

/// Returns the call of a command. A command can wait for a pipe that the model has created.
fn bash_call(command: String) -> AttemptCall {
    ("bash", json!({"command": command, "timeout": 2}))
}

fn quote_path(path: &Path) -> String {
    shell_word(&path.display().to_string())
}

/// Returns a text as one word of a shell.
fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
