//! The command line.

mod ext;
mod help;
#[cfg(test)]
mod help_texts;
mod misplaced_command;
#[cfg(test)]
mod page;
mod rpc;
mod session;
mod trust;

use std::ffi::{OsStr, OsString};
use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueHint};
use haft_config::{ConfigFile, ConfigLayer, LayerSource, SecretString, ToolSandboxLevel, Tools, list_items};
use haft_core::model::ThinkingLevel;
use haft_core::sanitize::sanitize;
use haft_providers::PRESETS;

use crate::console;
use crate::exit::Exit;

pub(crate) use ext::{ExtArgs, ExtCommand, ExtensionScope, ExtensionSelector, ImportSource, ListArgs};
pub(crate) use rpc::{ModeArgs, RpcArgs};
pub(crate) use session::{
    CompactArgs, ExportArgs, ImportArgs, SessionArgs, SessionCommand, SessionCommandArgs, SessionSelector,
};
pub(crate) use trust::{TrustArgs, TrustProjectArgs};

/// A coding agent in which every customization is an extension, in any language.
#[derive(Debug, Parser)]
#[command(name = "haft", version, args_conflicts_with_subcommands = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// The commands of haft.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Install, list, update and remove extensions
    Ext(ExtArgs),
    /// Run as a JSON-lines server for editors and scripts
    Rpc(Box<RpcArgs>),
    /// List, show, fork, name, compact, export and delete sessions
    Session(SessionCommandArgs),
    /// Show tokens and cost by day, model and project
    Usage(UsageArgs),
    /// Show the settings and the source of each
    Config(ConfigArgs),
    /// List skills
    Skill(SkillArgs),
    /// Review and trust this project's extensions and settings
    Trust(TrustArgs),
    /// Check the installation and suggest fixes (read-only)
    Doctor(DoctorArgs),
    /// Verify an API key with the provider and save it
    Login(LoginArgs),
    /// Remove a saved API key
    Logout(LogoutArgs),
    /// Play a turn with two extensions, without a key or network
    Demo,
    /// Print a completion script for a shell
    Completions {
        /// Select the shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
    /// Serve an extension of the demo on standard input and output
    #[command(name = "__extension", hide = true)]
    Extension {
        /// Name the extension
        name: String,
    },
}

/// `haft login …`.
#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// Name the provider, such as anthropic or openai
    ///
    /// Without a name, haft asks for one. Providers of models.json are accepted too.
    #[arg(value_name = "PROVIDER", value_parser = ProviderValueParser, hide_possible_values = true)]
    pub(crate) provider: Option<String>,
    /// Save the key without verifying it
    #[arg(long)]
    pub(crate) no_probe: bool,
}

/// `haft logout …`.
#[derive(Debug, Args)]
pub(crate) struct LogoutArgs {
    /// Name the provider; optional if only one key is saved
    #[arg(value_name = "PROVIDER", value_parser = ProviderValueParser, hide_possible_values = true)]
    pub(crate) provider: Option<String>,
}

/// Flags of a run.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RunArgs {
    /// Start with this prompt; words are joined by spaces
    ///
    /// Piped standard input is appended. On a terminal, haft opens the interactive mode. With -p, --json or -v, or
    /// without a terminal, haft answers the prompt and exits.
    #[arg(value_name = "PROMPT", value_hint = ValueHint::Other)]
    pub(crate) prompt: Vec<String>,
    /// Print the final answer only and exit
    #[arg(short, long)]
    pub(crate) print: bool,
    /// Print every event as a line of JSON and exit
    #[arg(long)]
    pub(crate) json: bool,
    /// Report progress and cost on standard error
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) verbose: bool,
    /// Print plain lines, for screen readers
    ///
    /// The interactive mode then prints lines and never redraws the screen. This is the default on a terminal without
    /// cursor control (TERM is dumb or not set) and with tui.screen = "linear" in config.toml.
    #[arg(long, conflicts_with_all = ["print", "json", "verbose"])]
    pub(crate) linear: bool,
    /// Keep the conversation in the terminal's own scrollback
    ///
    /// This is the default with tui.screen = "inline" in config.toml.
    #[arg(long, conflicts_with_all = ["print", "json", "verbose", "linear"])]
    pub(crate) inline: bool,
    /// List models whose name contains PATTERN and exit
    ///
    /// The list contains the models of servers on this machine, those of models.json, and all known ones. With
    /// --provider, it contains the models of that provider. With --json, each model is a line of JSON.
    #[arg(long, value_name = "PATTERN", num_args = 0..=1, conflicts_with = "print", value_hint = ValueHint::Other)]
    pub(crate) list_models: Option<Option<String>>,
    #[command(flatten)]
    pub(crate) mode: ModeArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    #[command(flatten)]
    pub(crate) ext: ExtensionArgs,
}

/// The model and its settings.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// Select the provider: anthropic, openai, …
    ///
    /// By default, haft selects the provider for which it finds a key, then a local server.
    #[arg(long, value_name = "NAME", value_parser = ProviderValueParser, hide_possible_values = true)]
    pub(crate) provider: Option<String>,
    /// Select the model by its id, or as PROVIDER/ID
    #[arg(long, value_name = "ID", value_hint = ValueHint::Other)]
    pub(crate) model: Option<String>,
    /// Use this API key; a variable or `haft login` is safer
    ///
    /// Other users of this machine can see it in the process list.
    #[arg(long, value_name = "KEY", value_hint = ValueHint::Other)]
    pub(crate) api_key: Option<SecretString>,
    /// Use the provider at this address
    #[arg(long, value_name = "URL", value_hint = ValueHint::Other)]
    pub(crate) base_url: Option<String>,
    /// Set the thinking level, or the nearest supported one
    #[arg(
        long,
        value_name = "LEVEL",
        value_parser = PossibleValuesParser::new(ThinkingLevel::NAMES).try_map(|name| name.parse::<ThinkingLevel>()),
    )]
    pub(crate) thinking: Option<ThinkingLevel>,
    /// Set the thinking level; the former name of --thinking
    #[arg(
        long,
        hide = true,
        value_name = "LEVEL",
        conflicts_with = "thinking",
        value_parser = PossibleValuesParser::new(ThinkingLevel::NAMES).try_map(|name| name.parse::<ThinkingLevel>()),
    )]
    pub(crate) reasoning: Option<ThinkingLevel>,
    /// Fall back to these models in order; comma-separated
    ///
    /// haft asks them while the first model is at its rate limit or down, or rejects the key.
    #[arg(long, value_name = "PROVIDER/MODEL", value_delimiter = ',', value_hint = ValueHint::Other)]
    pub(crate) fallback: Option<Vec<String>>,
}

/// The flags of the agent.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Agent")]
pub(crate) struct AgentArgs {
    /// Replace haft's system prompt
    #[arg(long, value_name = "TEXT", value_hint = ValueHint::Other)]
    pub(crate) system_prompt: Option<String>,
    /// Add to the system prompt; may be repeated
    #[arg(long, value_name = "TEXT", value_hint = ValueHint::Other)]
    pub(crate) append_system_prompt: Vec<String>,
    /// Ignore AGENTS.md files
    #[arg(long)]
    pub(crate) no_context_files: bool,
    /// Offer the model no skills
    #[arg(long, alias = "no-skill")]
    pub(crate) no_skills: bool,
    /// Does nothing: skills are offered by default; a flag of zot
    #[arg(long, hide = true, conflicts_with = "no_skills")]
    pub(crate) with_skills: bool,
    /// Ask before each tool call, the same as --approve '*'; a flag of zot
    #[arg(long, hide = true, conflicts_with = "approve")]
    pub(crate) no_yolo: bool,
    /// Work in this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
    /// Offer the model only these tools; comma-separated
    ///
    /// The names can include tools of extensions.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_hint = ValueHint::Other)]
    pub(crate) tools: Option<Vec<String>>,
    /// Offer the model no tools
    #[arg(long, conflicts_with = "tools")]
    pub(crate) no_tools: bool,
    /// Limit the tools: read-only, workspace (default), or full
    ///
    /// read-only: the tools read files, except secrets. workspace: they also change files in the working directory.
    /// Other calls need your approval, or fail without a person. full: the tools may do what you may do.
    #[arg(long, value_name = "LEVEL", value_parser = PossibleValuesParser::new(ToolSandboxLevel::NAMES).try_map(|name| sandbox_level(&name)))]
    pub(crate) sandbox: Option<ToolSandboxLevel>,
    /// Ask before calls of these tools; comma-separated
    ///
    /// `*` means all tools, `none` means none. A run without a person, such as `haft -p`, denies these calls.
    #[arg(long, value_name = "NAMES", value_hint = ValueHint::Other)]
    pub(crate) approve: Option<String>,
    /// Stop after this many steps
    #[arg(long, value_name = "N", value_hint = ValueHint::Other)]
    pub(crate) max_steps: Option<NonZeroU32>,
}

/// The extensions of a run.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Extensions")]
pub(crate) struct ExtensionArgs {
    /// Also run the extension in this directory; repeatable
    ///
    /// It precedes all other extensions.
    #[arg(short = 'e', long = "ext", value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub(crate) ext: Vec<PathBuf>,
    /// Also run the hooks of this PicoClaw config.json; repeatable
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) hooks_config: Vec<PathBuf>,
    /// Run only extensions of --ext and hooks of --hooks-config
    #[arg(long, alias = "no-extensions")]
    pub(crate) no_ext: bool,
    #[command(flatten)]
    pub(crate) trust: TrustProjectArgs,
}

impl AgentArgs {
    fn tools_to_approve(&self) -> Option<Vec<String>> {
        let names = if self.no_yolo { Some("*") } else { self.approve.as_deref() };
        names.map(|names| list_items(names).map(str::to_owned).collect())
    }
}

impl ModelArgs {
    pub(crate) fn layer(&self, agent: &AgentArgs) -> ConfigLayer {
        let values = ConfigFile {
            provider: self.provider.clone(),
            model: self.model.clone(),
            base_url: self.base_url.clone(),
            thinking: self.thinking.or(self.reasoning),
            fallback: self.fallback.clone(),
            max_steps: agent.max_steps,
            context_files: agent.no_context_files.then_some(false),
            tools: Tools { sandbox: agent.sandbox, approve: agent.tools_to_approve(), ..Tools::default() },
            ..ConfigFile::default()
        };
        let layer = ConfigLayer::new(LayerSource::Flags, values);
        match self.reasoning {
            Some(_) => layer.with_former_flag("thinking", "--reasoning"),
            None => layer,
        }
    }
}

pub(crate) fn command() -> clap::Command {
    Cli::command().after_help(help::SHORT).after_long_help(help::render_long_help())
}

/// The tables below `haft --help`.
pub(crate) fn long_help() -> String {
    help::render_long_help()
}

pub(crate) fn parse() -> Result<Cli, clap::Error> {
    parse_from(std::env::args_os().collect())
}

/// Parses these arguments; the first is the program's name.
fn parse_from(mut args: Vec<OsString>) -> Result<Cli, clap::Error> {
    // As in zot. A run needs a prompt, so that `-v` alone does not ask for progress.
    if args.len() == 2
        && let Some(flag) = args.get_mut(1).filter(|flag| *flag == "-v")
    {
        *flag = "--version".into();
    }
    let mut definition = command();
    let matches = definition.try_get_matches_from_mut(&args)?;
    let cli = Cli::from_arg_matches(&matches)?;
    if cli.command.is_none() {
        misplaced_command::reject_misplaced_command(&mut definition, &cli.run, &args)?;
    }
    Ok(cli)
}

/// Prints the help text or error that [`parse`] returned.
pub(crate) fn print_clap_error(help: &clap::Error) -> Exit {
    if help.kind() == ErrorKind::DisplayVersion && std::env::args_os().any(|arg| arg == "--json") {
        return console::print(&version_json()).map_or(Exit::Aborted, |()| Exit::Ok);
    }
    match sanitized_error_text(help) {
        // A closed output does not change the exit code.
        None => _ = help.print(),
        Some(text) => console::note(text.trim_end()),
    }
    if help.use_stderr() { Exit::Usage } else { Exit::Ok }
}

/// Returns the version as JSON. The commit and the compiler are those that the build named.
fn version_json() -> String {
    let (arch, env) = (std::env::consts::ARCH, if cfg!(target_env = "musl") { "musl" } else { "gnu" });
    let target = match std::env::consts::OS {
        "linux" => format!("{arch}-unknown-linux-{env}"),
        "macos" => format!("{arch}-apple-darwin"),
        "windows" => format!("{arch}-pc-windows-{}", if cfg!(target_env = "msvc") { "msvc" } else { env }),
        other => format!("{arch}-{other}"),
    };
    let version = serde_json::json!({"name": "haft", "version": env!("CARGO_PKG_VERSION"), "target": target});
    let named = [("commit", option_env!("HAFT_COMMIT")), ("rustc", option_env!("HAFT_RUSTC"))];
    let named = named.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.into())));
    let fields = version.as_object().cloned().unwrap_or_default().into_iter().chain(named);
    serde_json::Value::Object(fields.collect()).to_string()
}

/// Returns the sanitized text of an error if the error quotes control sequences; `None` for all other errors, which
/// keep their colors.
pub(crate) fn sanitized_error_text(help: &clap::Error) -> Option<String> {
    let plain = help.render().to_string();
    let safe = sanitize(&plain);
    (help.use_stderr() && safe != plain).then_some(safe)
}

/// `haft config …`.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

/// The commands of `haft config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every setting in effect here
    Show(ShowArgs),
}

/// The flags of `haft config show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Print the source of each value
    #[arg(long)]
    pub(crate) origin: bool,
    /// List the system prompt, context files, skills and templates
    #[arg(long, conflicts_with = "json")]
    pub(crate) context: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Use this directory as the current one
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) trust: TrustProjectArgs,
}

/// `haft usage …`.
#[derive(Debug, Args)]
pub(crate) struct UsageArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// `haft doctor …`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Use this directory as the current one
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
}

/// `haft skill …`.
#[derive(Debug, Args)]
pub(crate) struct SkillArgs {
    #[command(subcommand)]
    pub(crate) command: SkillCommand,
}

/// The commands of `haft skill`.
#[derive(Debug, Subcommand)]
pub(crate) enum SkillCommand {
    /// List the skills that the model can load here
    #[command(visible_alias = "ls")]
    List {
        /// Use this directory as the current one
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        cwd: Option<PathBuf>,
        #[command(flatten)]
        trust: TrustProjectArgs,
    },
}

/// Parses the level of the tools' sandbox.
fn sandbox_level(name: &str) -> Result<ToolSandboxLevel, String> {
    let levels = [ToolSandboxLevel::ReadOnly, ToolSandboxLevel::Workspace, ToolSandboxLevel::Full];
    levels.into_iter().find(|level| level.name() == name).ok_or_else(|| "unknown level".to_owned())
}

/// Parses a provider. Any name is valid, because `--base-url` works with any; completions offer the known providers.
#[derive(Debug, Clone)]
struct ProviderValueParser;

impl TypedValueParser for ProviderValueParser {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let known = PRESETS.iter().map(|preset| preset.name).chain(["scripted"]);
        Some(Box::new(known.map(PossibleValue::new)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Cli {
        let words = ["haft"].iter().chain(words);
        Cli::from_arg_matches(&command().try_get_matches_from(words).unwrap()).unwrap()
    }

    #[test]
    fn the_definition_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn accepts_command_name_as_prompt_after_flag() {
        assert_eq!(parse(&["-p", "demo"]).run.prompt, ["demo"]);
        assert!(matches!(parse(&["demo"]).command, Some(CliCommand::Demo)));
    }

    #[test]
    fn accepts_flags_of_zot() {
        let run = parse(&["--no-yolo", "--no-extensions", "--no-skill", "--json", "-p", "hi"]).run;
        assert!(run.ext.no_ext && run.agent.no_skills && run.json && run.print);
        let layer = run.model.layer(&run.agent);
        assert_eq!(layer.values.tools.approve, Some(vec!["*".to_owned()]));
        assert!(parse(&["--with-skills", "-p", "hi"]).run.agent.with_skills);
        let version = parse_from(vec!["haft".into(), "-v".into()]).unwrap_err();
        assert_eq!(version.kind(), ErrorKind::DisplayVersion);
    }

    #[test]
    fn parses_run_flags() {
        let run = parse(&[
            "--json",
            "--provider",
            "openai",
            "--model",
            "m",
            "--api-key",
            "sk-1",
            "--base-url",
            "http://x",
            "--thinking",
            "high",
            "--system-prompt",
            "s",
            "--append-system-prompt",
            "a",
            "--append-system-prompt",
            "b",
            "--cwd",
            "d",
            "--tools",
            "read,bash",
            "--max-steps",
            "3",
            "-e",
            "x",
            "--ext",
            "y",
            "--no-ext",
            "--trust-project",
            "--no-session",
            "say",
            "hello",
        ])
        .run;
        assert_eq!(run.prompt, ["say", "hello"]);
        assert_eq!(run.agent.tools.as_deref(), Some(["read".to_owned(), "bash".to_owned()].as_slice()));
        assert_eq!(run.agent.append_system_prompt, ["a", "b"]);
        assert_eq!(run.ext.ext, [PathBuf::from("x"), PathBuf::from("y")]);
        let layer = run.model.layer(&run.agent);
        assert_eq!(
            (layer.values.thinking, layer.values.max_steps),
            (Some(ThinkingLevel::High), NonZeroU32::new(3))
        );
        assert!(!format!("{run:?}").contains("sk-1"), "the key is not shown");
    }
}
