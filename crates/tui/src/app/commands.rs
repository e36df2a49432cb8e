//! haft's own commands, as one table: what completion, `/help` and the documentation know, and what is done.

mod login;
pub(super) mod sessions;
pub(super) mod setup;
mod show;

use std::fmt::Write as _;

use super::known::{Completes, OwnCommand};
use super::state::State;

/// A command of haft's own.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// Without the slash.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// The arguments; empty when there are none.
    pub hint: &'static str,
    /// The description, as a sentence.
    pub help: &'static str,
    pub(super) completes: Option<Completes>,
    pub(super) run: fn(&mut State, &str),
}

macro_rules! commands {
    ($($name:literal $([$($alias:literal),+])? $hint:literal $($completes:ident)? => $run:path, $help:literal;)*) => {
        /// Every command of haft's own, in the order of the documentation.
        pub const COMMANDS: &[Command] = &[$(Command {
            name: $name,
            aliases: &[$($($alias),+)?],
            hint: $hint,
            help: $help,
            completes: commands!(@completes $($completes)?),
            run: $run,
        },)*];
    };
    (@completes) => { None };
    (@completes $completes:ident) => { Some(Completes::$completes) };
}

commands! {
    "help" "" => show::help, "Shows the keys and the commands.";
    "model" "[model]" Models => setup::model, "Has another model answer from the next step on.";
    "thinking" "[level]" Levels => setup::thinking, "Has the model think more or less from the next step on.";
    "login" "[provider]" Providers => login::login, "Stores a provider's key.";
    "logout" "[provider]" Providers => login::logout, "Removes a provider's stored key.";
    "new" "" => sessions::new, "Begins a new session.";
    "resume" "[session]" Sessions => sessions::resume, "Goes on with another session.";
    "tree" "" => sessions::tree, "Goes on from another place of this session.";
    "fork" "[entry]" => sessions::fork, "Goes on in a new session with the same conversation, up to an entry if one is named.";
    "name" "[text]" => sessions::name, "Gives the session a name; without one, takes it away.";
    "compact" "[instructions]" => sessions::compact, "Sums up the conversation, so that the context has room again.";
    "export" "[file]" => sessions::export, "Writes the session into a file: a page for `.html`, lines for anything else.";
    "copy" "" => show::copy, "Copies the last answer.";
    "reload-ext" "[extension]" Extensions => setup::reload, "Looks for extensions again, or starts one again.";
    "ext" "[extension]" Extensions => setup::extensions, "Shows the extensions and how they are.";
    "trust" "" => login::trust, "Shows what the project brings, and asks whether it is trusted.";
    "tools" "[tool]" Tools => setup::tools, "Says which tools the model is offered.";
    "skills" "" => setup::skills, "Shows the skills, to use one.";
    "settings" "[setting]" Settings => setup::settings, "Shows and changes settings.";
    "theme" "[theme]" Themes => setup::theme, "Shows the interface in other colours.";
    "cost" "" => show::cost, "Shows what the session used.";
    "clear" "" => sessions::clear, "Forgets the conversation; on the disk it stays.";
    "quit" ["exit", "q"] "" => show::quit, "Quits.";
}

impl Command {
    /// The command of that name, in small letters or in large ones.
    pub fn named(name: &str) -> Option<&'static Self> {
        let is_it = |known: &str| known.eq_ignore_ascii_case(name);
        COMMANDS
            .iter()
            .find(|command| is_it(command.name) || command.aliases.iter().any(|alias| is_it(alias)))
    }
}

/// The commands, as completion knows them.
pub(super) fn own() -> Vec<OwnCommand> {
    let own = |command: &Command| {
        let Command { name, aliases, hint, help, completes, .. } = *command;
        OwnCommand { name, aliases, hint, help, completes }
    };
    COMMANDS.iter().map(own).collect()
}

pub(super) fn run(state: &mut State, name: &str, args: &str) {
    if let Some(command) = Command::named(name) {
        (command.run)(state, args.trim());
    }
}

/// True if a text may have a key in it, so that nobody keeps it.
pub(super) fn is_secret(text: &str) -> bool {
    let (command, rest) = text.split_at_checked("/login".len()).unwrap_or_default();
    let is_login = command.eq_ignore_ascii_case("/login");
    is_login && rest.starts_with(char::is_whitespace) && !rest.trim().is_empty()
}

/// The table as Markdown.
pub fn markdown() -> String {
    let mut out = "| command | does |\n|---|---|\n".to_owned();
    for Command { name, aliases, hint, help, .. } in COMMANDS {
        let hint = if hint.is_empty() { String::new() } else { format!(" {hint}") };
        let also = aliases.iter().map(|alias| format!(", `/{alias}`")).collect::<String>();
        // Writing to a string does not fail.
        let _ = writeln!(out, "| `/{name}{hint}`{also} | {help} |");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_there_once() {
        let mut names: Vec<&str> = COMMANDS
            .iter()
            .flat_map(|command| command.aliases.iter().copied().chain([command.name]))
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(COMMANDS.iter().all(|command| command.help.ends_with('.') && !command.help.contains('|')));
        assert!(markdown().contains("| `/quit`, `/exit`, `/q` | Quits. |"));
    }

    #[test]
    fn what_follows_login_may_be_a_key() {
        assert!(
            ["/login openai sk-1", "/login sk-1", "/login\nsk-1", "/Login sk-1", "/LOGIN a sk-1"]
                .into_iter()
                .all(is_secret)
        );
        assert!(!["/login", "/login ", "/logins sk-1", "see /login x"].into_iter().any(is_secret));
    }
}
