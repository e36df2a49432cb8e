//! Commands that only a person may run: they decide what haft may run, so a tool of haft must not run them.

use haft_launch::{TOOL_VARIABLE, ToolMark, tool_mark};
use haft_protocol::defense::{Defense, is_up};

use crate::args::{CliCommand, ConfigCommand, ExtCommand};
use crate::exit::Exit;

/// Fails if a tool or an extension of haft started this process. `action` is what was asked for, as a noun phrase.
///
/// # Errors
/// [`Exit::CalledByTool`].
pub(crate) fn require_person(action: &str) -> anyhow::Result<()> {
    let Some(mark) = tool_mark().filter(|_| is_up(Defense::PersonOnly)) else { return Ok(()) };
    let why = match mark {
        ToolMark::Ancestor => "a tool or an extension of haft started this process".to_owned(),
        ToolMark::Variable => format!("a tool of haft started this process ({TOOL_VARIABLE} is set)"),
    };
    Exit::CalledByTool.fail(format!(
        "{action} was refused: {why}, and only a person may run this command; run it in a terminal that haft did not open"
    ))
}

/// Returns the text of a command that changes trust, approvals, extensions or keys; `None` for other commands.
/// Sessions are data of the agent, not its configuration.
pub(crate) fn find_person_only_action(command: &CliCommand) -> Option<&'static str> {
    match command {
        CliCommand::Ext(args) => match args.command {
            ExtCommand::Install { .. } => Some("`haft ext install`"),
            ExtCommand::Trust { .. } => Some("`haft ext trust`"),
            ExtCommand::Update { .. } => Some("`haft ext update`"),
            ExtCommand::Rollback { .. } => Some("`haft ext rollback`"),
            ExtCommand::Import { .. } => Some("`haft ext import`"),
            ExtCommand::Remove { .. } => Some("`haft ext remove`"),
            ExtCommand::Enable(_) => Some("`haft ext enable`"),
            ExtCommand::Disable(_) => Some("`haft ext disable`"),
            ExtCommand::List(_)
            | ExtCommand::Verify { .. }
            | ExtCommand::Lock { .. }
            | ExtCommand::Logs { .. } => None,
        },
        CliCommand::Trust(args) => (!args.show && !args.list).then_some("`haft trust`"),
        CliCommand::Login(_) => Some("`haft login`"),
        CliCommand::Logout(_) => Some("`haft logout`"),
        CliCommand::Config(args) => match args.command {
            ConfigCommand::Show(_) => None,
        },
        CliCommand::Rpc(_)
        | CliCommand::Session(_)
        | CliCommand::Skill(_)
        | CliCommand::Usage(_)
        | CliCommand::Doctor(_)
        | CliCommand::Demo
        | CliCommand::Completions { .. }
        | CliCommand::Man
        | CliCommand::Extension { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::Cli;

    fn action_of(line: &str) -> Option<&'static str> {
        let words = std::iter::once("haft").chain(line.split_whitespace());
        Cli::try_parse_from(words).unwrap().command.as_ref().and_then(find_person_only_action)
    }

    /// Every command is listed in [`find_person_only_action`], which has no arm for unknown commands.
    #[test]
    fn changes_need_a_person() {
        let changes = [
            "ext install x",
            "ext trust x",
            "ext update",
            "ext rollback x",
            "ext import picoclaw x",
            "ext remove x",
            "ext enable x",
            "ext disable x",
            "trust",
            "trust --revoke",
            "login",
            "logout",
        ];
        for line in changes {
            let name: Vec<_> =
                line.split(' ').filter(|word| !matches!(*word, "x" | "picoclaw" | "--revoke")).collect();
            assert_eq!(action_of(line), Some(format!("`haft {}`", name.join(" ")).as_str()), "{line}");
        }
        let reads = [
            "ext list",
            "ext verify",
            "ext lock",
            "ext logs x",
            "trust --show",
            "trust --list",
            "config show",
        ];
        for line in reads.iter().chain(&["doctor", "session list", "rpc", "skill list", "demo"]) {
            assert_eq!(action_of(line), None, "{line}");
        }
    }
}
