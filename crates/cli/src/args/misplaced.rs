//! Words that clap takes for a prompt and that somebody meant as a command.

use std::ffi::OsString;

use clap::Command;
use clap::error::ErrorKind;

use super::RunArgs;

/// A command behind a flag, and one that is spelt almost right, are no prompt for an agent that runs what it thinks of.
/// Whoever means them as one says so: by `-p`, `--json`, quotes or `--`.
///
/// # Errors
/// What to write instead.
pub(super) fn reject_misplaced_command(
    definition: &mut Command,
    run: &RunArgs,
    args: &[OsString],
) -> Result<(), clap::Error> {
    let words = run.prompt.as_slice();
    // Behind `--` nothing but the prompt stands.
    let behind = args.iter().position(|arg| arg == "--").map(|at| args.len() - at - 1);
    if run.print || run.json || behind == Some(words.len()) {
        return Ok(());
    }
    let Some(wrong) =
        find_misplaced_command(definition, words).or_else(|| find_misspelled_command(definition, words))
    else {
        return Ok(());
    };
    let said = "to say it to the model, give -p, or put -- before the prompt";
    Err(definition.error(ErrorKind::ArgumentConflict, format!("{wrong}; {said}")))
}

/// A command's name with flags before it.
fn find_misplaced_command(definition: &Command, words: &[String]) -> Option<String> {
    let first = words.first()?;
    let known = first == "help" || definition.get_subcommands().any(|command| has_name(command, first));
    known.then(|| {
        format!("`{first}` is a command, which comes first, and its flags behind it: haft {first} …")
    })
}

fn find_misspelled_command(definition: &Command, words: &[String]) -> Option<String> {
    /// A name that is shorter is like too many words.
    const SHORTEST: usize = 4;
    let [first, second, ..] = words else { return None };
    let like = |command: &&Command| {
        let name = command.get_name();
        name.len() >= SHORTEST
            && strsim::osa_distance(name, first) == 1
            && command.get_subcommands().any(|below| has_name(below, second))
    };
    let meant = definition.get_subcommands().find(like)?.get_name();
    Some(format!("there is no command `{first}`; did you mean haft {meant} {second}?"))
}

fn has_name(command: &Command, name: &str) -> bool {
    !command.is_hide_set()
        && (command.get_name() == name || command.get_all_aliases().any(|alias| alias == name))
}

#[cfg(test)]
mod tests {
    use crate::args::parse_from;

    /// What is said of a command line; nothing where it is one.
    fn said(line: &str) -> String {
        let args = line.split(' ').map(Into::into).collect();
        parse_from(args).map_or_else(|error| error.to_string(), |_| String::new())
    }

    #[test]
    fn a_command_behind_a_flag_is_no_prompt() {
        for line in [
            "haft --cwd /tmp session list",
            "haft -v demo",
            "haft --no-ext ext list",
            "haft --trust-project config show",
            "haft -c session list",
            "haft --model m help me",
        ] {
            let error = said(line);
            assert!(error.contains("is a command, which comes first"), "{line}: {error}");
            assert!(error.contains("give -p, or put -- before"), "{line}: {error}");
        }
        for line in [
            "haft -p demo",
            "haft --json demo",
            "haft -v -- session list",
            "haft -v fix session list",
            "haft demo",
        ] {
            assert_eq!(said(line), "", "{line}");
        }
    }

    #[test]
    fn a_command_that_is_spelt_almost_right_is_no_prompt() {
        for (line, meant) in [
            ("haft sesion list", "session list"),
            ("haft sessions ls", "session ls"),
            ("haft -v confg show", "config show"),
        ] {
            let error = said(line);
            assert!(error.contains(&format!("did you mean haft {meant}?")), "{line}: {error}");
        }
        for line in ["haft sesion lost", "haft -p sesion list", "haft text list", "haft sesion"] {
            assert_eq!(said(line), "", "{line}");
        }
    }
}
