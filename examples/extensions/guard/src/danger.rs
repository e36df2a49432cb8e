//! Detects dangerous shell commands: parses the script and looks at the programs that it runs.

use crate::script::{Script, SimpleInvocation};
use crate::words::ShellWord;

/// A reason to block a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Danger {
    /// Recursive, forced removal, in any spelling of its flags.
    RemoveAll,
    /// Becoming root.
    Root,
    /// Writing to a file or device with `dd`.
    RawWrite,
    /// Making a file system.
    Format,
    /// A function that calls itself twice without end.
    ForkBomb,
    /// Write permission for all users on everything.
    OpenAll,
    /// A program or script that only the shell knows: `$X`, `eval "$X"`, `… | sh`.
    Hidden,
    /// A script that the parser does not understand.
    Unreadable,
}

impl Danger {
    /// Returns the usual name of the pattern.
    pub fn name(self) -> &'static str {
        match self {
            Self::RemoveAll => "rm -rf",
            Self::Root => "sudo",
            Self::RawWrite => "dd of=",
            Self::Format => "mkfs",
            Self::ForkBomb => "fork bomb",
            Self::OpenAll => "chmod -R 777",
            Self::Hidden => "a program that the command does not name",
            Self::Unreadable => "a command that cannot be parsed",
        }
    }
}

/// The maximum depth of scripts in scripts, such as `sh -c "sh -c …"`.
const MAX_DEPTH: usize = 8;

/// Programs that run another program: the name, the options with a separate value, and the number of
/// arguments before the other program.
const RUNNERS: &[(&str, &[&str], usize)] = &[
    ("builtin", &[], 0),
    ("busybox", &[], 0),
    ("chroot", &[], 1),
    ("command", &[], 0),
    ("env", &["-u", "-C", "--unset", "--chdir"], 0),
    ("exec", &["-a"], 0),
    ("flock", &["-w", "-E"], 1),
    ("ionice", &["-c", "-n"], 0),
    ("nice", &["-n"], 0),
    ("nohup", &[], 0),
    ("setsid", &[], 0),
    ("stdbuf", &["-i", "-o", "-e"], 0),
    ("strace", &["-o", "-e", "-p"], 0),
    ("time", &["-f", "-o"], 0),
    ("timeout", &["-s", "-k", "--signal", "--kill-after"], 1),
    ("watch", &["-n", "--interval"], 0),
    ("xargs", &["-a", "-d", "-E", "-I", "-L", "-n", "-P", "-s"], 0),
];

/// Programs that run a script: the value of `-c`, a file, or standard input.
const SHELLS: &[&str] = &["ash", "bash", "dash", "ksh", "sh", "zsh"];

/// Returns the first danger in a shell script.
pub fn danger_in(script: &str) -> Option<Danger> {
    danger_in_script(script, 0)
}

fn danger_in_script(text: &str, depth: usize) -> Option<Danger> {
    let script = match Script::parse(text) {
        Ok(script) if depth <= MAX_DEPTH => script,
        Ok(_) | Err(_) => return Some(Danger::Unreadable),
    };
    if script.has_fork_bomb {
        return Some(Danger::ForkBomb);
    }
    let commands = script.commands.iter().find_map(|command| danger_in_command(command, depth));
    let nested = || script.nested.iter().find_map(|script| danger_in_script(script, depth + 1));
    commands.or_else(nested)
}

fn danger_in_command(command: &SimpleInvocation, depth: usize) -> Option<Danger> {
    danger_in_words(&command.words, command.input.as_deref(), depth)
}

fn danger_in_words(words: &[ShellWord], input: Option<&str>, depth: usize) -> Option<Danger> {
    let (name, args) = words.split_first()?;
    let Some(program) = name.program() else { return Some(Danger::Hidden) };
    match program {
        "rm" if has_flag(args, "rR", "--recursive") && has_flag(args, "f", "--force") => {
            Some(Danger::RemoveAll)
        }
        "sudo" | "doas" | "su" | "pkexec" => Some(Danger::Root),
        "dd" if args.iter().any(|arg| arg.text().starts_with("of=")) => Some(Danger::RawWrite),
        "chmod" if has_flag(args, "R", "--recursive") && args.iter().any(|arg| opens_all(arg.text())) => {
            Some(Danger::OpenAll)
        }
        "eval" => danger_in_joined(args, depth),
        "find" => {
            let runs = |arg: &ShellWord| matches!(arg.text(), "-exec" | "-execdir" | "-ok" | "-okdir");
            let starts = args.iter().enumerate().filter(|(_, arg)| runs(arg));
            let mut commands = starts.filter_map(|(at, _)| args.get(at + 1..));
            commands.find_map(|words| danger_in_words(words, None, depth))
        }
        _ if program == "mkfs" || program.starts_with("mkfs.") => Some(Danger::Format),
        _ if SHELLS.contains(&program) => danger_in_shell(args, input, depth),
        _ => {
            let (_, options, before) = RUNNERS.iter().find(|(runner, _, _)| *runner == program)?;
            danger_in_words(command_of_runner(args, options, *before), None, depth)
        }
    }
}

/// Returns the words of the program that a runner starts.
fn command_of_runner<'w>(args: &'w [ShellWord], options: &[&str], before: usize) -> &'w [ShellWord] {
    let (mut at, mut before) = (0, before);
    while let Some(arg) = args.get(at).map(ShellWord::text) {
        at += match arg {
            _ if options.contains(&arg) => 2,
            _ if arg.starts_with('-') || arg.contains('=') => 1,
            _ if before > 0 => {
                before -= 1;
                1
            }
            _ => break,
        };
    }
    args.get(at..).unwrap_or_default()
}

/// Looks into the script that a shell runs. Without `-c` and without a file, that is its standard input.
fn danger_in_shell(args: &[ShellWord], input: Option<&str>, depth: usize) -> Option<Danger> {
    let is_short = |arg: &ShellWord| arg.text().starts_with('-') && !arg.text().starts_with("--");
    if let Some(at) = args.iter().position(|arg| is_short(arg) && arg.text().contains('c')) {
        let script = args.iter().skip(at + 1).find(|arg| !is_short(arg))?;
        return danger_in_joined(std::slice::from_ref(script), depth);
    }
    let has_file = args.iter().any(|arg| !is_short(arg));
    match input {
        _ if has_file => None,
        Some(text) => danger_in_script(text, depth + 1),
        None => Some(Danger::Hidden),
    }
}

/// Looks into a script that is given as words.
fn danger_in_joined(words: &[ShellWord], depth: usize) -> Option<Danger> {
    let known: Option<Vec<&str>> = words.iter().map(ShellWord::known_text).collect();
    known.map_or(Some(Danger::Hidden), |known| danger_in_script(&known.join(" "), depth + 1))
}

/// True if a flag is present: one of these letters, as in `-r` and `-rf`, or the long name or an
/// abbreviation of it, as in `--recurs`.
fn has_flag(args: &[ShellWord], letters: &str, long: &str) -> bool {
    args.iter().map(ShellWord::text).take_while(|arg| *arg != "--").any(|arg| match arg.strip_prefix("--") {
        Some(name) => !name.is_empty() && long.starts_with(arg),
        None => arg.starts_with('-') && arg.contains(|letter| letters.contains(letter)),
    })
}

fn opens_all(mode: &str) -> bool {
    matches!(mode, "777" | "0777" | "a+rwx" | "a=rwx" | "ugo+rwx" | "+rwx")
}
