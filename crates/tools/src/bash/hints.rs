//! Hints for the model about commands that wanted a person: interpreters without a script, and programs that need a
//! terminal or a password.

use crate::environment::{RunEnd, RunReport};

/// Programs that read a script or text from the standard input if they get no arguments.
const READERS: &[&str] = &[
    "bash", "bc", "cat", "dash", "fish", "ghci", "irb", "julia", "lua", "mysql", "node", "nodejs", "perl",
    "php", "psql", "python", "python2", "python3", "ruby", "sh", "sqlite3", "tclsh", "zsh",
];

/// Options that ask these programs for a conversation.
const INTERACTIVE: &[&str] = &["-i", "--interactive"];

/// Lines at the end of the output that are searched for messages.
const LINES: usize = 5;

/// Messages, in lower case, of programs that need a terminal.
const NO_TERMINAL: &[&str] = &[
    "/dev/tty",
    "a terminal is required",
    "error opening terminal",
    "failed tty get",
    "inappropriate ioctl for device",
    "must be run from a terminal",
    "no tty present",
    "not a terminal",
    "not a tty",
];

/// Messages, in lower case, of programs that ask for a password.
const PASSWORD: &[&str] = &[
    "a password is required",
    "authentication failure",
    "authentication token manipulation error",
    "could not read password",
    "could not read username",
    "password:",
];

/// Programs that ask for a password, and fail with no more than "System error" if they cannot.
const ASKING: &[&str] = &["chfn", "chsh", "login", "passwd", "su", "sudo"];

/// Returns a hint for the model; `None` if the command did not want a person, as far as the result shows.
pub(super) fn terminal_hint(command: &str, report: &RunReport) -> Option<String> {
    let mut words = command.split_whitespace();
    let program = words.next()?.rsplit('/').next()?;
    match report.end {
        RunEnd::Exited(0) => {
            let is_alone = words.all(|word| INTERACTIVE.contains(&word));
            let read_nothing = report.tail.trim().is_empty() && is_alone && READERS.contains(&program);
            read_nothing.then(|| {
                format!("{program} read no input, because commands have none; pass a script or text as a file or with an option such as -c")
            })
        }
        RunEnd::Exited(_) => {
            let lines: Vec<String> = report.tail.lines().rev().take(LINES).map(str::to_lowercase).collect();
            let mentions =
                |texts: &[&str]| lines.iter().any(|line| texts.iter().any(|text| line.contains(text)));
            let asks = ASKING.contains(&program) && mentions(&["system error"]);
            if asks || mentions(PASSWORD) {
                Some(
                    "nobody can type a password; use a way without one, or ask the user to run the command"
                        .to_owned(),
                )
            } else if mentions(NO_TERMINAL) {
                Some("no terminal is available; use an option for batch mode, or another program".to_owned())
            } else {
                None
            }
        }
        RunEnd::Signaled(_) | RunEnd::TimedOut | RunEnd::Cancelled | RunEnd::WantedTerminal => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, code: i32, output: &str, expect: Option<&str>) {
        let report = RunReport {
            end: RunEnd::Exited(code),
            tail: output.to_owned(),
            lines: 0,
            bytes: 0,
            cut: false,
            full: None,
            background: false,
            created: Vec::new(),
            removed: Vec::new(),
        };
        let hint = terminal_hint(command, &report);
        assert_eq!(hint.is_some(), expect.is_some(), "{command}: {hint:?}");
        assert!(hint.unwrap_or_default().contains(expect.unwrap_or_default()), "{command}");
    }

    #[test]
    fn interpreter_without_script_gets_a_hint() {
        for command in ["python3", " /usr/bin/node\n", "bash -i", "sqlite3", "cat"] {
            check(command, 0, "", Some("read no input"));
        }
        for (command, output) in
            [("python3 a.py", ""), ("cat /dev/null", ""), ("true", ""), ("python3", "3\n"), ("cat <x", "")]
        {
            check(command, 0, output, None);
        }
    }

    #[test]
    fn program_that_needs_terminal_or_password_gets_a_hint() {
        check("top", 1, "top: failed tty get\n", Some("no terminal is available"));
        check("htop", 1, "Error opening terminal: dumb.\n", Some("no terminal is available"));
        check("su nobody", 1, "su: System error\n", Some("nobody can type a password"));
        check("passwd", 1, "passwd: System error\npasswd: password unchanged\n", Some("nobody can type"));
        check(
            "sudo true",
            1,
            "sudo: a terminal is required\nsudo: a password is required\n",
            Some("password"),
        );
        check("make", 2, "cc: System error\nfailed: test_password\n", None);
        check("su nobody", 0, "su: System error\n", None);
        let early = format!("not a tty\n{}", "line\n".repeat(LINES));
        check("make", 2, &early, None);
    }
}
