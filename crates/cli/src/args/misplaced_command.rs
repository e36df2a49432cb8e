//! Rejects prompts that are probably misplaced or misspelled commands.

use std::ffi::OsString;

use clap::Command;
use clap::error::ErrorKind;

use super::RunArgs;

/// Rejects a prompt whose first words are a command after a flag, or a misspelled command.
///
/// The agent would act on such a prompt. With `-p`, `--json`, quotes or `--`, the words are a prompt.
///
/// # Errors
/// The correct command line.
pub(super) fn reject_misplaced_command(
    definition: &mut Command,
    run: &RunArgs,
    args: &[OsString],
) -> Result<(), clap::Error> {
    let words = run.prompt.as_slice();
    // Only the prompt can follow `--`.
    let behind = args.iter().position(|arg| arg == "--").map(|at| args.len() - at - 1);
    if run.print || run.json || behind == Some(words.len()) {
        return Ok(());
    }
    let Some(wrong) =
        find_misplaced_command(definition, words).or_else(|| find_misspelled_command(definition, words))
    else {
        return Ok(());
    };
    let error_of = "to send it to the model as a prompt, add -p, or put -- before it";
    Err(definition.error(ErrorKind::ArgumentConflict, format!("{wrong}; {error_of}")))
}

/// Returns a hint if the prompt begins with a command's name, after flags.
fn find_misplaced_command(definition: &Command, words: &[String]) -> Option<String> {
    let first = words.first()?;
    let known = first == "help" || definition.get_subcommands().any(|command| has_name(command, first));
    known.then(|| format!("`{first}` is a command and must precede all flags; run haft {first} …"))
}

fn find_misspelled_command(definition: &Command, words: &[String]) -> Option<String> {
    /// Shorter names resemble too many words.
    const SHORTEST: usize = 4;
    let [first, second, ..] = words else { return None };
    let like = |command: &&Command| {
        let name = command.get_name();
        name.len() >= SHORTEST
            && strsim::osa_distance(name, first) == 1
            && command.get_subcommands().any(|below| has_name(below, second))
    };
    let meant = definition.get_subcommands().find(like)?.get_name();
    Some(format!("unknown command `{first}`; did you mean haft {meant} {second}?"))
}

fn has_name(command: &Command, name: &str) -> bool {
    !command.is_hide_set()
        && (command.get_name() == name || command.get_all_aliases().any(|alias| alias == name))
}

#[cfg(test)]
mod tests {
    use crate::args::parse_from;

    /// Returns the error for a command line; the empty text if it is valid.
    fn error_of(line: &str) -> String {
        let args = line.split(' ').map(Into::into).collect();
        parse_from(args).map_or_else(|error| error.to_string(), |_| String::new())
    }

    #[test]
    fn rejects_command_after_flag() {
        for line in [
            "haft --cwd /tmp session list",
            "haft -v demo",
            "haft --no-ext ext list",
            "haft --trust-project config show",
            "haft -c session list",
            "haft --model m help me",
        ] {
            let error = error_of(line);
            assert!(error.contains("is a command and must precede all flags"), "{line}: {error}");
            assert!(error.contains("add -p, or put -- before it"), "{line}: {error}");
        }
        for line in [
            "haft -p demo",
            "haft --json demo",
            "haft -v -- session list",
            "haft -v fix session list",
            "haft demo",
        ] {
            assert_eq!(error_of(line), "", "{line}");
        }
    }

    #[test]
    fn rejects_misspelled_command() {
        for (line, meant) in [
            ("haft sesion list", "session list"),
            ("haft sessions ls", "session ls"),
            ("haft -v confg show", "config show"),
        ] {
            let error = error_of(line);
            assert!(error.contains(&format!("did you mean haft {meant}?")), "{line}: {error}");
        }
        for line in ["haft sesion lost", "haft -p sesion list", "haft text list", "haft sesion"] {
            assert_eq!(error_of(line), "", "{line}");
        }
    }
}
