//! The table of the built-in commands, for completion, `/help` and the documentation.

pub(super) mod login;
pub(super) mod sessions;
pub(super) mod setup;
pub(super) mod show;

use std::fmt::Write as _;

use super::completion_catalog::{CommandArgumentKind, CompletableCommand};
use super::state::AppState;

/// A built-in command.
#[derive(Debug, Clone, Copy)]
pub struct BuiltInCommand {
    /// The name without the slash.
    pub name: &'static str,
    /// Alternative names.
    pub aliases: &'static [&'static str],
    /// The arguments as `/help` shows them; empty for a command without arguments.
    pub hint: &'static str,
    /// The description: an imperative without a full stop.
    pub help: &'static str,
    pub(super) completes: Option<CommandArgumentKind>,
    pub(super) run: fn(&mut AppState, &str),
}

macro_rules! commands {
    ($($name:literal $([$($alias:literal),+])? $hint:literal $($completes:ident)? => $run:path, $help:literal;)*) => {
        /// All built-in commands, in the order of the documentation.
        pub const COMMANDS: &[BuiltInCommand] = &[$(BuiltInCommand {
            name: $name,
            aliases: &[$($($alias),+)?],
            hint: $hint,
            help: $help,
            completes: commands!(@completes $($completes)?),
            run: $run,
        },)*];
    };
    (@completes) => { None };
    (@completes $completes:ident) => { Some(CommandArgumentKind::$completes) };
}

commands! {
    "help" "" => show::help, "Show the keys and the commands";
    "model" "[model]" Models => setup::model, "Switch model";
    "thinking" "[level]" Levels => setup::thinking, "Set the thinking level";
    "login" "[provider]" Providers => login::login, "Save a provider's API key";
    "logout" "[provider]" Providers => login::logout, "Remove a provider's API key";
    "new" "" => sessions::new, "Start a new session";
    "resume" "[session]" Sessions => sessions::resume, "Continue another session";
    "tree" "" => sessions::tree, "Jump back to an earlier point";
    "fork" "[entry]" => sessions::fork, "Copy the conversation into a new session, up to an entry";
    "name" "[text]" => sessions::name, "Rename the session, or remove its name";
    "compact" "[instructions]" => sessions::compact, "Summarize the conversation to free context";
    "export" "[file]" => sessions::export, "Write the session to a file: `.html` or JSON lines";
    "copy" "" => show::copy, "Copy the last answer";
    "reload-ext" "[extension]" Extensions => setup::reload, "Reload all extensions, or restart one";
    "ext" "[extension]" Extensions => setup::extensions, "Show the extensions and their states";
    "trust" "" => login::trust, "Review and trust this project's extensions and settings";
    "jobs" "" => setup::list_jobs, "List the background commands, and stop one";
    "tools" "[tool]" Tools => setup::tools, "Select the tools that the model is offered";
    "skills" "" => setup::skills, "Show the skills";
    "settings" "[setting]" Settings => setup::settings, "Show and change settings";
    "theme" "[theme]" Themes => setup::theme, "Select a color theme";
    "status" "" => show::status, "Show the session, the model, the limits and the extensions";
    "diff" "" => show::request_diff, "Show the files changed since the session began";
    "context" "" => show::request_context, "Show what fills the context window";
    "cost" "" => show::cost, "Show the session's tokens and cost";
    "usage" "" => show::request_usage, "Show tokens and cost by day, model and project";
    "clear" "" => sessions::clear, "Clear the conversation; the session file keeps it";
    "quit" ["exit", "q"] "" => show::quit, "Quit";
}

impl BuiltInCommand {
    /// Returns the command with a name or an alias, ignoring case.
    pub fn find_by_name(name: &str) -> Option<&'static Self> {
        let matches = |known: &str| known.eq_ignore_ascii_case(name);
        COMMANDS
            .iter()
            .find(|command| matches(command.name) || command.aliases.iter().any(|alias| matches(alias)))
    }
}

/// Returns the built-in commands for completion.
pub(super) fn completable_commands() -> Vec<CompletableCommand> {
    let own = |command: &BuiltInCommand| {
        let BuiltInCommand { name, aliases, hint, help, completes, .. } = *command;
        CompletableCommand { name, aliases, hint, help, completes }
    };
    COMMANDS.iter().map(own).collect()
}

pub(super) fn run(state: &mut AppState, name: &str, args: &str) {
    if let Some(command) = BuiltInCommand::find_by_name(name) {
        (command.run)(state, args.trim());
    }
}

/// True if a text may contain an API key and must not be stored in the history.
pub(super) fn contains_secret(text: &str) -> bool {
    let (command, rest) = text.split_at_checked("/login".len()).unwrap_or_default();
    let is_login = command.eq_ignore_ascii_case("/login");
    is_login && rest.starts_with(char::is_whitespace) && !rest.trim().is_empty()
}

/// Returns the table as Markdown.
pub fn markdown() -> String {
    let mut out = "| command | action |\n|---|---|\n".to_owned();
    for BuiltInCommand { name, aliases, hint, help, .. } in COMMANDS {
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
    fn names_are_unique() {
        let mut names: Vec<&str> = COMMANDS
            .iter()
            .flat_map(|command| command.aliases.iter().copied().chain([command.name]))
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(markdown().contains("| `/quit`, `/exit`, `/q` | Quit |"));
    }

    #[test]
    fn descriptions_are_short_and_imperative() {
        for BuiltInCommand { name, help, .. } in COMMANDS {
            let verb = help.split(' ').next().unwrap_or_default();
            assert!(
                help.chars().count() <= 60 && !help.ends_with('.') && !help.contains('|'),
                "/{name}: {help}"
            );
            assert!(verb.starts_with(char::is_uppercase) && !verb.ends_with('s'), "/{name}: {help}");
        }
    }

    #[test]
    fn argument_of_login_is_a_secret() {
        assert!(
            ["/login openai sk-1", "/login sk-1", "/login\nsk-1", "/Login sk-1", "/LOGIN a sk-1"]
                .into_iter()
                .all(contains_secret)
        );
        assert!(!["/login", "/login ", "/logins sk-1", "see /login x"].into_iter().any(contains_secret));
    }
}
