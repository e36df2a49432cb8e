//! Tests of every `--help` text: short lines, imperative mood, standard words.

use clap::Command;
use clap::builder::StyledStr;
use xtask::words::find_replaced;

use crate::pages::listed_subcommands;

/// The longest first line of a text, in characters.
const MAX_LINE: usize = 60;

/// The text of a command or an argument.
struct HelpText {
    /// The command, and the argument if it is one.
    name: String,
    /// The text of `-h`.
    short: String,
    /// The text of `--help`.
    long: String,
}

fn all_texts() -> Vec<HelpText> {
    let mut command = super::command();
    command.build();
    let mut texts = Vec::new();
    collect_texts("haft", &command, &mut texts);
    texts
}

fn collect_texts(name: &str, command: &Command, texts: &mut Vec<HelpText>) {
    let mut add = |name: String, short: Option<&StyledStr>, long: Option<&StyledStr>| {
        let text = |text: Option<&StyledStr>| text.map(ToString::to_string).unwrap_or_default();
        texts.push(HelpText { name, short: text(short), long: text(long.or(short)) });
    };
    // The program's own line says what it is.
    if name != "haft" {
        add(name.to_owned(), command.get_about(), command.get_long_about());
    }
    for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
        add(format!("{name} {}", arg.get_id()), arg.get_help(), arg.get_long_help());
    }
    for sub in listed_subcommands(command) {
        collect_texts(&format!("{name} {}", sub.get_name()), sub, texts);
    }
}

#[test]
fn first_lines_are_short_imperatives() {
    for HelpText { name, short, .. } in all_texts() {
        let verb = short.split([' ', ',']).next().unwrap_or_default();
        let is_imperative =
            verb.starts_with(char::is_uppercase) && !verb.ends_with('s') && !verb.ends_with("ing");
        assert!(short.chars().count() <= MAX_LINE, "{name}: {short}");
        assert!(is_imperative && !short.ends_with('.'), "{name}: {short}");
    }
}

#[test]
fn texts_use_standard_words() {
    for HelpText { name, long, .. } in all_texts() {
        assert_eq!(find_replaced(&long), None, "{name}: {long}");
    }
    for text in [super::long_help(), super::help::RPC.to_owned()] {
        assert_eq!(find_replaced(&text), None, "{text}");
    }
}

#[test]
fn slash_commands_use_standard_words() {
    for command in haft_tui::app::commands::COMMANDS {
        assert_eq!(find_replaced(command.help), None, "/{}: {}", command.name, command.help);
    }
}
