//! The parts of the host's tasks. Every dialect is spoken by the same one: a second loop, a second map of open
//! questions or a task of a dialect's own would be a second place where an extension can hang, and a second set of
//! rules.

use crate::repo::RepoFile;

const HOST: &str = "crates/host/src/";

/// A file of the host, how often something may stand in it, and why.
type PartAllowance = (&'static str, usize, &'static str);

/// The counted parts, and the places where they may be.
const PARTS: &[(&str, &[PartAllowance])] = &[
    (
        "select!",
        &[
            ("extension/actor.rs", 1, "the loop behind an extension"),
            ("extension/actor/sources.rs", 1, "what that rarely waits for"),
            ("supervision/keeper.rs", 1, "an order beside whatever is waited for"),
        ],
    ),
    (
        "spawn(",
        &[
            ("extension/actor.rs", 1, "the actor"),
            ("extension/actor/calls.rs", 1, "what is done for an extension"),
            ("process/connection.rs", 1, "standard error"),
            ("extension/send_queue.rs", 1, "the writer of lines that wait"),
            ("extension/send_queue/pump.rs", 1, "the writer of events"),
            ("host/start.rs", 1, "the keeper"),
            ("process.rs", 1, "the process"),
        ],
    ),
    ("struct Pending<", &[("session/pending.rs", 1, "the open questions of a connection")]),
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

/// Returns the parts that one file of the host has too many of.
fn check_file(path: &str, text: &str) -> Vec<String> {
    let too_many = |(part, places): &(&str, &[PartAllowance])| {
        let may = places.iter().find(|(place, ..)| *place == path).map_or(0, |(_, count, _)| *count);
        let has: usize = product_lines(text).map(|line| line.matches(part).count()).sum();
        (has != may).then(|| {
            format!(
                "{HOST}{path}: has `{part}` {has} times, and may {may}: every dialect runs on the shared actor; see PARTS \
                 in xtask/src/tidy/tasks.rs"
            )
        })
    };
    PARTS.iter().filter_map(too_many).collect()
}

/// The lines that end up in the product: no comments, and no tests below them.
fn product_lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().take_while(|line| *line != "mod tests {");
    lines.filter(|line| !line.trim_start().starts_with("//"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_loop_task_or_map_is_a_finding() {
        let check =
            |path, text, expect: usize| assert_eq!(check_file(path, text).len(), expect, "{path}: {text}");
        check("hook/tool.rs", "tokio::select! {", 1);
        check("hook/tool.rs", "tokio::spawn(async move {})", 1);
        check("hook/tool.rs", "struct Pending<T> {", 1);
        check("hook/tool.rs", "spawn_blocking(|| ())\n// tokio::select!\nmod tests {\ntokio::spawn(x)", 0);
        check("supervision/keeper.rs", "tokio::select! {", 0);
        check("supervision/keeper.rs", "tokio::select! {}\ntokio::select! {}", 1);
        check("supervision/keeper.rs", "", 1);
    }
}
