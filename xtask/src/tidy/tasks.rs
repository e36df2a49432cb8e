//! Limits the tasks and loops of the host. All dialects share one task. A second loop, a second map of pending
//! requests or a separate task for a dialect would be another place where an extension can hang, with its own rules.

use crate::repo::RepoFile;

const HOST: &str = "crates/host/src/";

/// A file of the host, the maximum number of occurrences of a part, and the reason.
type PartAllowance = (&'static str, usize, &'static str);

/// The counted parts, with the files that may contain them.
const PARTS: &[(&str, &[PartAllowance])] = &[
    (
        "select!",
        &[
            ("extension/actor.rs", 1, "the loop behind an extension"),
            ("extension/actor/sources.rs", 1, "the rare events of the loop"),
            ("supervision/process_supervisor.rs", 1, "an order while another event is awaited"),
        ],
    ),
    (
        "spawn(",
        &[
            ("extension/actor.rs", 1, "the actor"),
            ("extension/actor/calls.rs", 1, "calls of an extension"),
            ("extension/services/file_locks.rs", 1, "the time limit of a lock"),
            ("process/connection.rs", 1, "standard error"),
            ("extension/send_queue.rs", 1, "the writer of queued lines"),
            ("extension/send_queue/pump.rs", 1, "the writer of events"),
            ("host/start.rs", 1, "the keeper"),
            ("host/start_agent.rs", 1, "the tools of an agent"),
            ("process.rs", 1, "the process"),
            ("supervision/session_start.rs", 1, "the question about the start of a session"),
        ],
    ),
    ("struct PendingQuestions<", &[("session/pending.rs", 1, "the pending requests of a connection")]),
];

pub(super) fn check(files: &[RepoFile]) -> Vec<String> {
    let sources = files.iter().filter_map(|file| Some((file.path.strip_prefix(HOST)?, file)));
    sources
        .filter(|(path, _)| is_product(path))
        .flat_map(|(path, file)| check_file(path, &file.text))
        .collect()
}

fn is_product(path: &str) -> bool {
    path.ends_with(".rs") && !path.ends_with("tests.rs") && !path.contains("/tests/")
}

/// Returns the parts that occur too often in a file of the host.
fn check_file(path: &str, text: &str) -> Vec<String> {
    let too_many = |(part, places): &(&str, &[PartAllowance])| {
        let may = places.iter().find(|(place, ..)| *place == path).map_or(0, |(_, count, _)| *count);
        let has: usize = product_lines(text).map(|line| line.matches(part).count()).sum();
        (has != may).then(|| {
            format!(
                "{HOST}{path}: has `{part}` {has} times, at most {may} allowed: every dialect runs on the \
                shared actor; see PARTS in xtask/src/tidy/tasks.rs"
            )
        })
    };
    PARTS.iter().filter_map(too_many).collect()
}

/// Returns the lines of product code, without comments and tests.
fn product_lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().take_while(|line| *line != "mod tests {");
    lines.filter(|line| !line.trim_start().starts_with("//"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_another_loop_task_or_map() {
        let check =
            |path, text, expect: usize| assert_eq!(check_file(path, text).len(), expect, "{path}: {text}");
        check("hook/tool.rs", "tokio::select! {", 1);
        check("hook/tool.rs", "tokio::spawn(async move {})", 1);
        check("hook/tool.rs", "struct PendingQuestions<T> {", 1);
        check("hook/tool.rs", "spawn_blocking(|| ())\n// tokio::select!\nmod tests {\ntokio::spawn(x)", 0);
        check("supervision/process_supervisor.rs", "tokio::select! {", 0);
        check("supervision/process_supervisor.rs", "tokio::select! {}\ntokio::select! {}", 1);
        check("supervision/process_supervisor.rs", "", 1);
    }
}
