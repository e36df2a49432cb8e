//! Tests of every `--help` text: short lines, imperative mood, standard words.

use clap::Command;
use clap::builder::StyledStr;
use xtask::words::find_replaced;

/// The longest first line of a text, in characters.
const MAX_LINE: usize = 60;

/// Calls `check` with the name of each command and argument, the first line of its text, and all of the text.
fn for_each_text(name: &str, command: &Command, check: &mut dyn FnMut(&str, &str, &str)) {
    let text = |short: Option<&StyledStr>, long: Option<&StyledStr>| {
        (
            short.map(ToString::to_string).unwrap_or_default(),
            long.or(short).map(ToString::to_string).unwrap_or_default(),
        )
    };
    let (about, long_about) = text(command.get_about(), command.get_long_about());
    // The program's own line says what it is.
    if name != "haft" {
        check(name, &about, &long_about);
    }
    for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
        let (help, long_help) = text(arg.get_help(), arg.get_long_help());
        check(&format!("{name} {}", arg.get_id()), &help, &long_help);
    }
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
        for_each_text(&format!("{name} {}", sub.get_name()), sub, check);
    }
}

#[test]
fn first_lines_are_short_imperatives() {
    let mut problems = Vec::new();
    let mut command = super::command();
    command.build();
    for_each_text("haft", &command, &mut |name, line, _| {
        let verb = line.split([' ', ',']).next().unwrap_or_default();
        let is_imperative =
            verb.starts_with(char::is_uppercase) && !verb.ends_with('s') && !verb.ends_with("ing");
        if line.chars().count() > MAX_LINE || line.ends_with('.') || !is_imperative {
            problems.push(format!("{name}: {line}"));
        }
    });
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn texts_use_standard_words() {
    let mut problems = Vec::new();
    let mut command = super::command();
    command.build();
    for_each_text("haft", &command, &mut |name, _, text| {
        problems.extend(find_replaced(text).map(|(word, by)| format!("{name}: {word} (write: {by})")));
    });
    for text in [super::long_help(), super::help::RPC.to_owned()] {
        problems.extend(find_replaced(&text).map(|(word, by)| format!("{word} (write: {by})")));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn slash_commands_use_standard_words() {
    for command in haft_tui::app::commands::COMMANDS {
        assert_eq!(find_replaced(command.help), None, "/{}: {}", command.name, command.help);
    }
}
