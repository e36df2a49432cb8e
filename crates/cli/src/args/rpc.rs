//! The command line of `haft rpc` and its alias `haft --mode rpc`.

use clap::{Args, ValueEnum};

use super::{AgentArgs, ExtensionArgs, ModelArgs, RunArgs, SessionArgs, help};

/// `haft rpc …`.
#[derive(Debug, Args)]
#[command(
    after_long_help = help::RPC,
    // A client cannot choose from a list, and sessions are not recorded by default.
    mut_arg("resume", |arg| arg.num_args(1).help("Continue the session whose id begins with ID")),
    mut_arg("no_session", |arg| arg.hide(true)),
)]
pub(crate) struct RpcArgs {
    /// Record new sessions
    ///
    /// By default, haft records only sessions that --continue, --resume, --session or the client names.
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

/// The kind of client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ServerMode {
    /// Another program.
    Rpc,
}

/// `--mode`: the flag with which programs written for zot start a server.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ModeArgs {
    /// Run as a JSON-lines server, the same as haft rpc
    #[arg(
        long,
        group = "server",
        value_name = "MODE",
        hide_possible_values = true,
        conflicts_with_all = ["prompt", "print", "json", "verbose", "list_models"],
    )]
    pub(crate) mode: Option<ServerMode>,
    /// The same as --mode rpc; a flag of zot
    #[arg(
        long,
        group = "server",
        hide = true,
        conflicts_with_all = ["prompt", "print", "json", "verbose", "list_models"],
    )]
    rpc: bool,
    /// Record new sessions, as in haft rpc
    #[arg(long, hide = true, requires = "server", conflicts_with = "no_session")]
    record: bool,
}

impl ModeArgs {
    /// True if the command line starts a server.
    pub(crate) fn is_server(&self) -> bool {
        self.rpc || self.mode == Some(ServerMode::Rpc)
    }
}

impl RpcArgs {
    pub(crate) fn records_sessions(&self) -> bool {
        self.record
    }
}

/// Converts the arguments of `haft --mode rpc`.
impl From<RunArgs> for RpcArgs {
    fn from(args: RunArgs) -> Self {
        let RunArgs { model, agent, session, ext, mode, .. } = args;
        Self { record: mode.record, model, agent, session, ext }
    }
}

/// Converts the arguments that set up the first session.
impl From<RpcArgs> for RunArgs {
    fn from(args: RpcArgs) -> Self {
        let RpcArgs { record, model, agent, session, ext } = args;
        let names_one = session.go_on || session.resume.is_some() || session.session.is_some();
        let session = SessionArgs { no_session: !record && !names_one, ..session };
        // Programs read events.
        Self { json: true, model, agent, session, ext, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use crate::args::{CliCommand, parse_from};

    use super::*;

    /// Returns true if a command line records sessions, and its run arguments.
    fn read(line: &str) -> Result<(bool, RunArgs), String> {
        let args = line.split(' ').map(Into::into).collect();
        let cli = parse_from(args).map_err(|error| error.to_string())?;
        let args = match cli.command {
            Some(CliCommand::Rpc(args)) => *args,
            Some(_) => return Err("another command".to_owned()),
            None if cli.run.mode.is_server() => cli.run.into(),
            None => return Err("a run".to_owned()),
        };
        Ok((args.records_sessions(), args.into()))
    }

    #[test]
    fn records_only_on_request() {
        for name in ["rpc", "--mode rpc", "--rpc"] {
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
    fn parses_run_flags() {
        let (_, args) = read("haft rpc --model m --no-tools -e x --thinking high").unwrap();
        assert_eq!(
            (args.model.model.as_deref(), args.agent.no_tools, args.ext.ext.len()),
            (Some("m"), true, 1)
        );
        assert!(args.json);
    }

    #[test]
    fn rejects_incompatible_arguments() {
        for (line, expect) in [
            ("haft rpc hello", "unexpected argument 'hello'"),
            ("haft rpc -p", "unexpected argument '-p'"),
            ("haft rpc -r", "a value is required for '--resume <ID>'"),
            ("haft rpc --json", "unexpected argument '--json'"),
            ("haft rpc --record --no-session", "cannot be used with"),
            ("haft --mode rpc hello", "cannot be used with"),
            ("haft --mode rpc -p", "cannot be used with"),
            ("haft --rpc -p", "cannot be used with"),
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
