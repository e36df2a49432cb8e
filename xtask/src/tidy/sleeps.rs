//! Finds sleeps in tests: a test must wait for an event with a long deadline, never for a fixed time.

use crate::repo::RepoFile;

/// Crates that contain only test code.
const TEST_CRATES: &[&str] = &["crates/faults/", "crates/test-support/"];

/// The extensions of files with code.
const CODE: &[&str] = &["rs", "py", "sh", "js", "mjs", "ts"];

/// A command that sleeps at least this many seconds represents a process that keeps running: no test waits for its
/// end.
const STAYS: u32 = 60;

const ADVICE: &str = "sleeps in a test; wait for an event with a long deadline (`haft_test_support::PATIENCE`), or give the \
                      reason in a comment `// sleep: …` on this line or directly above (`# sleep: …` in a script)";

pub(super) fn check(files: &[RepoFile]) -> Vec<String> {
    files.iter().flat_map(check_file).collect()
}

fn check_file(RepoFile { path, text }: &RepoFile) -> Vec<String> {
    let is_code = path.rsplit_once('.').is_some_and(|(_, ending)| CODE.contains(&ending));
    let is_product = path.starts_with("crates/") || path.starts_with("examples/");
    if !is_code || !is_product {
        return Vec::new();
    }
    let is_virtual = has_virtual_clock(text);
    let lines: Vec<&str> = text.lines().collect();
    let mut findings = Vec::new();
    for at in first_test_line(path, &lines)..lines.len() {
        let line = lines[at];
        let above = at.checked_sub(1).map_or("", |above| lines[above].trim_start());
        let is_reason = above.starts_with("//") || above.starts_with('#');
        let has_reason = gives_reason(line) || is_reason && gives_reason(above);
        let is_comment = path.ends_with(".rs") && line.trim_start().starts_with("//");
        if !is_comment && !has_reason && has_sleep(line, is_virtual) {
            findings.push(format!("{path}:{}: {ADVICE}", at + 1));
        }
    }
    findings
}

/// Returns the index of the first line of test code, or the number of lines if there is none.
fn first_test_line(path: &str, lines: &[&str]) -> usize {
    let in_slash = format!("/{path}");
    let is_test = in_slash.contains("/tests/") || in_slash.ends_with("/tests.rs");
    if is_test || TEST_CRATES.iter().any(|prefix| path.starts_with(prefix)) {
        return 0;
    }
    lines.iter().position(|line| line.trim() == "#[cfg(test)]").unwrap_or(lines.len())
}

/// True if every asynchronous test of the file has a paused clock.
fn has_virtual_clock(text: &str) -> bool {
    let mut tests = text.lines().filter(|line| line.trim_start().starts_with("#[tokio::test")).peekable();
    tests.peek().is_some() && tests.all(|line| line.contains("start_paused = true"))
}

fn gives_reason(line: &str) -> bool {
    ["// sleep: ", "# sleep: "]
        .iter()
        .any(|sign| line.split_once(sign).is_some_and(|(_, reason)| reason.chars().any(char::is_alphabetic)))
}

fn has_sleep(line: &str, is_virtual: bool) -> bool {
    let blocks = calls_function(line, "thread::sleep")
        || calls_function(line, "time.sleep")
        || calls_function(line, "setTimeout");
    let awaits = calls_function(line, "sleep") || calls_function(line, "sleep_until");
    blocks || (awaits && !is_virtual) || runs_sleep(line)
}

/// True if the line calls a function of this name.
fn calls_function(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        let is_whole = before.is_none_or(|char| !char.is_alphanumeric() && char != '_');
        let called = line.get(at + name.len()..).is_some_and(|rest| rest.starts_with('('));
        is_whole && called && !line.trim_start().starts_with("fn ")
    })
}

/// True if the line contains a shell command that sleeps for a time shorter than a test's deadline.
fn runs_sleep(line: &str) -> bool {
    line.match_indices("sleep ").any(|(at, command)| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        let is_whole = before.is_none_or(|char| !char.is_alphanumeric() && !"_-`".contains(char));
        let rest = line.get(at + command.len()..).unwrap_or_default();
        let number: String = rest.chars().take_while(|char| char.is_ascii_digit() || *char == '.').collect();
        let stays = number.parse().is_ok_and(|seconds: f64| seconds >= f64::from(STAYS));
        let is_time = !number.is_empty() || rest.starts_with(['$', '{']);
        is_whole && is_time && !stays
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expect: &[usize]) {
        let found = check_file(&RepoFile { path: path.to_owned(), text: text.to_owned() });
        let lines: Vec<usize> =
            found.iter().map(|finding| finding.split(':').nth(1).unwrap().parse().unwrap()).collect();
        assert_eq!(lines, expect, "{path}: {text}: {found:?}");
    }

    const TEST: &str = "crates/host/tests/it/reload.rs";

    #[test]
    fn finds_sleeps_without_reason_only_in_test_code() {
        check(TEST, "let x = 1;\nsleep(SHORT).await;", &[2]);
        check(TEST, "std::thread::sleep(SHORT);", &[1]);
        check(TEST, "tokio::time::sleep_until(then).await;", &[1]);
        check("crates/host/src/actor.rs", "sleep(PAUSE).await;\n#[cfg(test)]\nsleep(PAUSE).await;", &[3]);
        check("crates/host/src/hook/tests.rs", "sleep(PAUSE).await;", &[1]);
        check("crates/test-support/src/pty.rs", "sleep(PAUSE);", &[1]);
        check("crates/host/tests/testing.md", "sleep(PAUSE);", &[]);
        check("xtask/src/tests.rs", "sleep(PAUSE);", &[]);
        check(TEST, "fn asleep() {}\nprogram.asleep();\nsleeper(1);\n// sleep(PAUSE)", &[]);
    }

    #[test]
    fn accepts_reason_on_the_line_or_above() {
        check(TEST, "sleep(POLL).await; // sleep: looks again", &[]);
        check(TEST, "// sleep: looks again\nsleep(POLL).await;", &[]);
        check(TEST, "// sleep: \nsleep(POLL).await;", &[2]);
        check(TEST, "// sleep: looks again\nlet x = 1;\nsleep(POLL).await;", &[3]);
        check(TEST, "# sleep: looks again\ntime.sleep(0.1)", &[]);
    }

    #[test]
    fn finds_sleeps_in_scripts() {
        check(TEST, "while :; do sleep 0.05; done\ntime.sleep(3)\nsetTimeout(end, 50)", &[1, 2, 3]);
        check(TEST, "(sleep {seconds}\nsleep $SHORT", &[1, 2]);
        check(TEST, "sleep 600 & echo $!", &[]);
        check("examples/hooks/tests/hook.py", "time.sleep(1)", &[1]);
    }

    #[test]
    fn paused_clock_needs_no_reason() {
        let paused = "#[tokio::test(start_paused = true)]\nsleep(HOUR).await;\n";
        check(TEST, paused, &[]);
        check(TEST, &format!("{paused}std::thread::sleep(SHORT);"), &[3]);
        check(TEST, &format!("{paused}#[tokio::test]\n"), &[2]);
    }
}
