//! The command line of `haft rpc`, and of `haft --mode rpc`, which is the same.

use clap::{Args, ValueEnum};

use super::{AgentArgs, ExtensionArgs, ModelArgs, RunArgs, SessionArgs, help};

/// `haft rpc …`.
#[derive(Debug, Args)]
#[command(
    after_long_help = help::RPC,
    // Nobody is there to choose one, and nothing is recorded anyway.
    mut_arg("resume", |arg| arg.num_args(1).help("Go on with the session whose id begins so")),
    mut_arg("no_session", |arg| arg.hide(true)),
)]
pub(crate) struct RpcArgs {
    /// Record new sessions
    ///
    /// By default, only a session that --continue, --resume, --session or the client names is recorded.
    #[arg(long, conflicts_with = "no_session")]
    record: bool,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    agent: AgentArgs,
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    ext: ExtensionArgs,
}

/// The program that drives haft.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ServerMode {
    /// A program.
    Rpc,
}

/// `--mode`, by which programs that were written for zot start it.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ModeArgs {
    /// Run as a JSON-lines server, the same as haft rpc
    #[arg(
        long,
        value_name = "MODE",
        hide_possible_values = true,
        conflicts_with_all = ["prompt", "print", "json", "verbose", "list_models"],
    )]
    pub(crate) mode: Option<ServerMode>,
    /// Run as with haft rpc
    #[arg(long, hide = true, requires = "mode", conflicts_with = "no_session")]
    record: bool,
}

impl RpcArgs {
    pub(crate) fn records_sessions(&self) -> bool {
        self.record
    }
}

/// The same by its other name.
impl From<RunArgs> for RpcArgs {
    fn from(args: RunArgs) -> Self {
        let RunArgs { model, agent, session, ext, mode, .. } = args;
        Self { record: mode.record, model, agent, session, ext }
    }
}

/// The same for what sets up a session: the one that the process begins with.
impl From<RpcArgs> for RunArgs {
    fn from(args: RpcArgs) -> Self {
        let RpcArgs { record, model, agent, session, ext } = args;
        let names_one = session.go_on || session.resume.is_some() || session.session.is_some();
        let session = SessionArgs { no_session: !record && !names_one, ..session };
        // Programs read what happens.
        Self { json: true, model, agent, session, ext, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use crate::args::{CliCommand, parse_from};

    use super::*;

    /// What a command line comes to, by whichever name.
    fn read(line: &str) -> Result<(bool, RunArgs), String> {
        let args = line.split(' ').map(Into::into).collect();
        let cli = parse_from(args).map_err(|error| error.to_string())?;
        let args = match cli.command {
            Some(CliCommand::Rpc(args)) => *args,
            Some(_) => return Err("another command".to_owned()),
            None if cli.run.mode.mode == Some(ServerMode::Rpc) => cli.run.into(),
            None => return Err("a run".to_owned()),
        };
        Ok((args.records_sessions(), args.into()))
    }

    #[test]
    fn nothing_is_recorded_unless_it_is_asked_for() {
        for name in ["rpc", "--mode rpc"] {
            let kept = |flags: &str| {
                let (records, args) = read(&format!("haft {name}{flags}")).unwrap();
                (records, args.session.no_session)
            };
            assert_eq!(kept(""), (false, true));
            assert_eq!(kept(" --no-session"), (false, true));
            assert_eq!(kept(" --record"), (true, false));
            assert_eq!(kept(" -c"), (false, false));
            assert_eq!(kept(" --session x.jsonl"), (false, false));
            assert_eq!(kept(" -r 0a --record"), (true, false));
        }
    }

    #[test]
    fn flags_of_a_run_are_read() {
        let (_, args) = read("haft rpc --model m --no-tools -e x --thinking high").unwrap();
        assert_eq!(
            (args.model.model.as_deref(), args.agent.no_tools, args.ext.ext.len()),
            (Some("m"), true, 1)
        );
        assert!(args.json);
    }

    #[test]
    fn what_does_not_fit_is_a_mistake() {
        for (line, expect) in [
            ("haft rpc hello", "unexpected argument 'hello'"),
            ("haft rpc -p", "unexpected argument '-p'"),
            ("haft rpc -r", "a value is required for '--resume <ID>'"),
            ("haft rpc --json", "unexpected argument '--json'"),
            ("haft rpc --record --no-session", "cannot be used with"),
            ("haft --mode rpc hello", "cannot be used with"),
            ("haft --mode rpc -p", "cannot be used with"),
            ("haft --mode rpc --json", "cannot be used with"),
            ("haft --mode rpc -v", "cannot be used with"),
            ("haft --mode rpc --list-models", "cannot be used with"),
            ("haft --mode tui", "invalid value 'tui'"),
            ("haft --record", "--mode <MODE>"),
            ("haft --model m rpc", "haft rpc …"),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains(expect), "{line}: {error}");
        }
    }
}
