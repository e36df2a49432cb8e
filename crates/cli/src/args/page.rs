//! The reference page of commands and flags, `docs/cli.md`, rendered from the definition of the command line.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, Command};

use crate::pages::listed_subcommands;

const INTRODUCTION: &str = "\
# Commands and flags

`haft --help` and `haft COMMAND --help` print this reference in the terminal; `haft man` prints a manual page, and
`haft completions SHELL` a completion script. [Exit codes](exit-codes.md) and [configuration](config.md) have pages of
their own.

<!-- Generated from the definition of the command line by `HAFT_UPDATE_FIXTURES=1 cargo test -p haft cli_page`. -->
";

#[test]
fn cli_page_is_current() {
    let mut command = super::command();
    command.build();
    let mut page = INTRODUCTION.to_owned();
    render_command(&mut page, "haft", &mut command);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    if std::env::var_os("HAFT_UPDATE_FIXTURES").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == page,
        "docs/cli.md is out of date: run `HAFT_UPDATE_FIXTURES=1 cargo test -p haft cli_page`"
    );
}

/// Renders a command, then the commands below it.
fn render_command(page: &mut String, name: &str, command: &mut Command) {
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").lines().map(str::trim).collect::<Vec<_>>().join("\n");
    // Writing to a string does not fail.
    let _ = write!(page, "\n## {name}\n\n{}\n\n```text\n{usage}\n```\n", end_sentence(about.trim()));
    render_arguments(page, command);
    for sub in listed_subcommands(command) {
        render_command(page, &format!("{name} {}", sub.get_name()), &mut sub.clone());
    }
}

/// Renders a table for each group of arguments, in the order in which `--help` has the groups.
fn render_arguments(page: &mut String, command: &Command) {
    let is_listed = |arg: &&Arg| !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str());
    let mut groups: Vec<(&str, Vec<&Arg>)> = Vec::new();
    for arg in command.get_arguments().filter(is_listed) {
        let heading = arg.get_help_heading().unwrap_or_default();
        match groups.iter_mut().find(|(group, _)| *group == heading) {
            Some((_, args)) => args.push(arg),
            None => groups.push((heading, vec![arg])),
        }
    }
    for (heading, args) in groups {
        let heading = if heading.is_empty() { "argument" } else { heading };
        let _ = write!(page, "\n| {heading} | meaning |\n|---|---|\n");
        for arg in args {
            let _ = writeln!(page, "| {} | {} |", render_names(arg).replace('|', "\\|"), render_meaning(arg));
        }
    }
}

fn render_names(arg: &Arg) -> String {
    let values: Vec<&str> =
        arg.get_value_names().unwrap_or_default().iter().map(clap::builder::Str::as_str).collect();
    let values = if arg.get_action().takes_values() { values.join(" ") } else { String::new() };
    let short = arg.get_short().map(|short| format!("`-{short}`"));
    let long = arg.get_long().map(|long| match values.as_str() {
        "" => format!("`--{long}`"),
        values => format!("`--{long} {values}`"),
    });
    match (short, long) {
        (None, None) => format!("`{values}`"),
        (short, long) => short.into_iter().chain(long).collect::<Vec<_>>().join(", "),
    }
}

fn render_meaning(arg: &Arg) -> String {
    let text = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let paragraphs = text.split("\n\n").map(|paragraph| end_sentence(&paragraph.replace('\n', " ")));
    let mut meaning = paragraphs.collect::<Vec<_>>().join(" ");
    let possible: Vec<String> =
        arg.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
    if !possible.is_empty() && arg.get_action().takes_values() {
        let _ = write!(meaning, " One of {}.", possible.join(", "));
    }
    meaning.replace('|', "\\|").replace('<', "&lt;")
}

/// The first lines of help texts have no full stop.
fn end_sentence(text: &str) -> String {
    if text.is_empty() || text.ends_with(['.', ':', '!']) { text.to_owned() } else { format!("{text}.") }
}
