//! Finds text that source files must not contain: processes started in the wrong place, durations outside of
//! `timeouts.rs`, paths of a machine, flags that disable defenses.

use crate::repo::RepoFile;

/// The places where processes may be started, each with the reason.
const SPAWNS: &[(&str, &str)] = &[
    ("crates/launch/src/", "the launcher"),
    ("crates/host/src/process.rs", "extension processes"),
    ("crates/packages/src/install/git.rs", "`git clone` of `haft ext install`"),
    ("crates/tools/src/environment", "commands of the bash tool"),
    ("crates/cli/src/interactive/ui_backend/clipboard.rs", "the programs of the desktop's clipboard"),
    ("crates/cli/src/interactive/ui_backend/shell.rs", "the user's editor, which takes the terminal"),
    ("crates/test-support/", "peers of tests"),
    ("crates/bench/", "benchmarks"),
    ("crates/faults/", "the rows of the fault matrix, each in its own process"),
    ("xtask/", "development tasks"),
];

/// The places besides `timeouts.rs` where durations may be written, each with the reason.
const DURATIONS: &[(&str, &str)] = &[
    ("crates/test-support/", "deadlines of tests"),
    ("crates/bench/", "benchmarks"),
    ("crates/faults/", "deadlines of the fault matrix"),
];

/// The compiler flag of builds whose defenses can be disabled.
const UNDEFENDED: &str = "haft_undefended";

/// The files and folders that may use the flag.
const KNOWS_UNDEFENDED: &[&str] = &["crates/protocol/src/defense.rs", "crates/faults/", "xtask/"];

/// The only file of the terminal interface that creates spans: from sanitized text.
const SPANS: &str = "crates/tui/src/clean.rs";

/// Other ways to create spans and lines of text, and to draw them.
const MAKES_SPANS: &[&str] = &[
    "Span {",
    "Span::from(",
    "Span::raw(",
    "Span::styled(",
    "Line::from(\"",
    "Line::from(format!",
    "Line::raw(",
    "Line::styled(",
    "Text::from(",
    "Text::raw(",
    "Text::styled(",
    "Stylize",
    ".to_span()",
    ".to_line()",
    ".set_string(",
    ".set_stringn(",
    ".set_symbol(",
];

pub(super) fn check(files: &[RepoFile]) -> Vec<String> {
    let mut findings = Vec::new();
    for file in files {
        findings.extend(find_machine_paths(file));
        findings.extend(find_undefended(file));
        if file.path.ends_with(".rs") && !is_test(&file.path) {
            findings.extend(find_spawns(file));
            findings.extend(find_durations(file));
            findings.extend(find_spans(file));
        }
    }
    findings
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// Returns the lines of product code with their numbers: no comments, and nothing below `#[cfg(test)]`.
fn product_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
    lines
        .enumerate()
        .map(|(at, line)| (at + 1, line))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

fn find_spawns(RepoFile { path, text }: &RepoFile) -> Vec<String> {
    if SPAWNS.iter().any(|(prefix, _)| path.starts_with(prefix)) {
        return Vec::new();
    }
    let starts = |line: &str| line.contains("Command::new(") && !line.contains("clap::Command::new(");
    product_lines(text)
        .filter(|(_, line)| starts(line))
        .map(|(at, _)| format!("{path}:{at}: starts a process; see SPAWNS in xtask/src/tidy/sources.rs"))
        .collect()
}

fn find_durations(RepoFile { path, text }: &RepoFile) -> Vec<String> {
    let exempt = path.ends_with("/timeouts.rs")
        || !path.starts_with("crates/")
        || DURATIONS.iter().any(|(prefix, _)| path.starts_with(prefix));
    if exempt {
        return Vec::new();
    }
    product_lines(text)
        .filter(|(_, line)| names_a_duration(line))
        .map(|(at, _)| format!("{path}:{at}: contains a duration; move it to the crate's timeouts.rs"))
        .collect()
}

fn find_spans(RepoFile { path, text }: &RepoFile) -> Vec<String> {
    if !path.starts_with("crates/tui/src/") || path == SPANS {
        return Vec::new();
    }
    let makes = |line: &str| MAKES_SPANS.iter().any(|made| line.contains(made));
    product_lines(text)
        .filter(|(_, line)| makes(line))
        .map(|(at, _)| format!("{path}:{at}: creates a span of unchecked text; use `clean::span`, which takes only clean text"))
        .collect()
}

/// Finds code and manifests with the flag. Manifests may only declare it, for the compiler's lint of unknown flags.
fn find_undefended(RepoFile { path, text }: &RepoFile) -> Vec<String> {
    let is_code = [".rs", ".toml"].iter().any(|ending| path.ends_with(ending)) || path.starts_with(".ci/");
    if !is_code || KNOWS_UNDEFENDED.iter().any(|known| path.starts_with(known)) {
        return Vec::new();
    }
    let declares = |line: &str| path.ends_with("Cargo.toml") && line.starts_with("unexpected_cfgs = ");
    text.lines()
        .enumerate()
        .filter(|(_, line)| line.contains(UNDEFENDED) && !declares(line))
        .map(|(at, _)| {
            format!(
                "{path}:{}: only the build of `cargo xtask faults --undefended` may set this flag",
                at + 1
            )
        })
        .collect()
}

/// True for `Duration::from_secs(5)`, but not for `Duration::from_secs(seconds)`, which only converts a value.
fn names_a_duration(line: &str) -> bool {
    line.match_indices("Duration::from_").any(|(at, call)| {
        let argument =
            line.get(at + call.len()..).and_then(|rest| rest.split_once('(')).map(|(_, rest)| rest);
        argument.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    })
}

/// Finds paths that exist only on the machine of a developer.
fn find_machine_paths(RepoFile { path, text }: &RepoFile) -> Vec<String> {
    // Split, so that this file is not a finding itself.
    let roots = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];
    let names_one = |line: &str| {
        roots.iter().any(|root| {
            line.match_indices(root).any(|(at, _)| {
                let before = line.get(..at).and_then(|before| before.chars().next_back());
                // `src/wo…` and `https://host/wo…` are paths below another directory.
                before.is_none_or(|char| !char.is_alphanumeric() && !"._-~}$/".contains(char))
            })
        })
    };
    text.lines()
        .enumerate()
        .filter(|(_, line)| names_one(line))
        .map(|(at, _)| format!("{path}:{}: path of a machine", at + 1))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> RepoFile {
        RepoFile { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn finds_processes_started_in_the_wrong_place() {
        let check = |path, text, expect: usize| {
            assert_eq!(find_spawns(&file(path, text)).len(), expect, "{path}: {text}")
        };
        check("crates/core/src/turn.rs", "let child = Command::new(\"sh\");", 1);
        check("crates/host/src/process.rs", "Command::new(program)", 0);
        check("crates/host/src/supervisor.rs", "Command::new(program)", 1);
        check("crates/cli/src/args.rs", "clap::Command::new(\"haft\")", 0);
        check("crates/core/src/turn.rs", "// Command::new(\n#[cfg(test)]\nCommand::new(", 0);
    }

    #[test]
    fn finds_spans_of_unchecked_text() {
        let check = |path, text, expect: usize| {
            assert_eq!(find_spans(&file(path, text)).len(), expect, "{path}: {text}")
        };
        check("crates/tui/src/diff.rs", "let it = Span::raw(text);", 1);
        check("crates/tui/src/diff.rs", "Line::from(\"text\")", 1);
        check("crates/tui/src/diff.rs", "Line::from(vec![span(text, style)])", 0);
        check("crates/tui/src/diff.rs", "// Span::raw(text)\n#[cfg(test)]\nSpan::raw(text)", 0);
        check("crates/tui/src/clean.rs", "Span { content, style }", 0);
        check("crates/cli/src/run.rs", "Span::raw(text)", 0);
    }

    #[test]
    fn finds_durations_outside_timeouts() {
        let check = |path, text, expect: usize| {
            assert_eq!(find_durations(&file(path, text)).len(), expect, "{path}: {text}")
        };
        check("crates/host/src/actor.rs", "sleep(Duration::from_secs(5))", 1);
        check("crates/host/src/actor.rs", "Duration::from_millis(delay_ms)", 0);
        check("crates/host/src/timeouts.rs", "Duration::from_secs(5)", 0);
        check("examples/embed/src/lib.rs", "Duration::from_secs(5)", 0);
    }

    #[test]
    fn finds_undefended_flag_in_the_wrong_place() {
        let check = |path, text, expect: usize| {
            assert_eq!(find_undefended(&file(path, text)).len(), expect, "{path}: {text}")
        };
        let lint = r#"unexpected_cfgs = { level = "warn", check-cfg = ["cfg(haft_undefended)"] }"#;
        check("crates/host/src/actor.rs", "#[cfg(haft_undefended)]", 1);
        check("crates/host/build.rs", "println!(\"cargo::rustc-cfg=haft_undefended\");", 1);
        check("crates/protocol/src/defense.rs", "#[cfg(haft_undefended)]", 0);
        check("crates/faults/src/defense.rs", "#[cfg(haft_undefended)]", 0);
        check("Cargo.toml", lint, 0);
        check("crates/host/Cargo.toml", "rustflags = [\"--cfg\", \"haft_undefended\"]", 1);
        check(".cargo/config.toml", lint, 1);
        check(".ci/run", "RUSTFLAGS='--cfg haft_undefended' cargo test", 1);
        check("docs/testing.md", "`--cfg haft_undefended`", 0);
    }

    #[test]
    fn finds_paths_of_a_machine() {
        let root = concat!("/ho", "me/me/x");
        let check = |text: String, expect: usize| {
            assert_eq!(find_machine_paths(&file("a.md", &text)).len(), expect, "{text}")
        };
        check(format!("see {root}"), 1);
        check(format!("`{root}`"), 1);
        check(format!("https://example.org{root}"), 0);
        check("plain".to_owned(), 0);
    }
}
