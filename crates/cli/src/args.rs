//! The command line.

mod ext;
mod help;
mod misplaced;
mod rpc;
mod session;
mod trust;

use std::ffi::{OsStr, OsString};
use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueHint};
use haft_config::{ConfigFile, Layer, Place, SecretString};
use haft_core::model::Thinking;
use haft_core::sanitize::sanitize;
use haft_providers::PRESETS;

use crate::console;
use crate::exit::Exit;

pub(crate) use ext::{ExtArgs, ExtCommand, ListArgs, Program, Scope, Which};
pub(crate) use rpc::{Mode, ModeArgs, RpcArgs};
pub(crate) use session::{
    CompactArgs, ExportArgs, ImportArgs, SessionArgs, SessionCommand, SessionCommands, WhichSession,
};
pub(crate) use trust::{TrustArgs, TrustProject};

/// A coding agent whose every point of customisation is an extension, in any language.
#[derive(Debug, Parser)]
#[command(name = "haft", version, args_conflicts_with_subcommands = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// What else haft does than working on a prompt.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Install, list, switch and remove extensions
    Ext(ExtArgs),
    /// Be driven by another program, by lines of JSON on standard input and output
    Rpc(Box<RpcArgs>),
    /// List, show, copy, name, sum up, export, import and delete sessions
    Session(SessionCommands),
    /// Show the settings, and where each comes from
    Config(ConfigArgs),
    /// List skills
    Skill(SkillArgs),
    /// Show what the project here would run and have obeyed, and allow it
    Trust(TrustArgs),
    /// Look at everything, and tell what is wrong and the next step; changes nothing
    Doctor(DoctorArgs),
    /// Store a provider's key in auth.json, once the provider has taken it
    Login(LoginArgs),
    /// Remove a stored key
    Logout(LogoutArgs),
    /// Show a whole turn with two real extensions, without a key or a network
    Demo,
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
    /// Serve one of the demo's extensions on standard input and output
    #[command(name = "__extension", hide = true)]
    Extension {
        /// Its name
        name: String,
    },
}

/// `haft login …`.
#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// Whose key it is: anthropic, openai, …, or a provider of models.json. On a terminal haft asks
    #[arg(value_name = "PROVIDER", value_parser = Provider, hide_possible_values = true)]
    pub(crate) provider: Option<String>,
    /// Store the key without asking the provider whether it takes it
    #[arg(long)]
    pub(crate) no_probe: bool,
}

/// `haft logout …`.
#[derive(Debug, Args)]
pub(crate) struct LogoutArgs {
    /// Whose key; it may be left out when only one is stored
    #[arg(value_name = "PROVIDER", value_parser = Provider, hide_possible_values = true)]
    pub(crate) provider: Option<String>,
}

/// Flags of a run.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RunArgs {
    /// What to do; several words are joined by spaces. Piped standard input is appended. On a terminal the interactive mode
    /// opens, with it or without; with -p, --json or -v, and where there is no terminal, haft works on it and ends
    #[arg(value_name = "PROMPT", value_hint = ValueHint::Other)]
    pub(crate) prompt: Vec<String>,
    /// Print the final answer only, and end
    #[arg(short, long)]
    pub(crate) print: bool,
    /// Print every event as a line of JSON, instead of -p
    #[arg(long, conflicts_with = "print")]
    pub(crate) json: bool,
    /// Tell on standard error what happens, as on a terminal, and at the end what it cost
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) verbose: bool,
    /// In the interactive mode, print lines and draw nothing: for screen readers. It is so without this where the terminal
    /// can do nothing else (TERM is dumb or not set), and with tui.screen = "linear" in config.toml
    #[arg(long, conflicts_with_all = ["print", "json", "verbose"])]
    pub(crate) linear: bool,
    /// In the interactive mode, print the conversation below what the terminal shows, where it stays and the terminal scrolls
    /// it. It is so without this with tui.screen = "inline" in config.toml
    #[arg(long, conflicts_with_all = ["print", "json", "verbose", "linear"])]
    pub(crate) inline: bool,
    /// Print the models of servers on this machine, of models.json and all known ones, and end: those whose name holds
    /// PATTERN, or of one --provider. With --json a line of JSON for each
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

/// Which model is asked, and how.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// The provider: anthropic, openai, … Without it haft takes the one it finds a key for, then a local server
    #[arg(long, value_name = "NAME", value_parser = Provider, hide_possible_values = true)]
    pub(crate) provider: Option<String>,
    /// The model's id at that provider, or PROVIDER/ID
    #[arg(long, value_name = "ID", value_hint = ValueHint::Other)]
    pub(crate) model: Option<String>,
    /// The provider's key. Other users can see it in the list of processes; a variable or auth.json is safer
    #[arg(long, value_name = "KEY", value_hint = ValueHint::Other)]
    pub(crate) api_key: Option<SecretString>,
    /// Where the provider is reached, for compatible servers
    #[arg(long, value_name = "URL", value_hint = ValueHint::Other)]
    pub(crate) base_url: Option<String>,
    /// How much to think before answering; a level the model does not have becomes its nearest
    #[arg(
        long,
        alias = "reasoning",
        value_name = "LEVEL",
        value_parser = PossibleValuesParser::new(Thinking::NAMES).try_map(|name| name.parse::<Thinking>()),
    )]
    pub(crate) thinking: Option<Thinking>,
    /// Models to ask while the first is at its limit, down, or refuses its key; separated by commas
    #[arg(long, value_name = "PROVIDER/MODEL", value_delimiter = ',', value_hint = ValueHint::Other)]
    pub(crate) fallback: Option<Vec<String>>,
}

/// What the agent is and may do.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Agent")]
pub(crate) struct AgentArgs {
    /// Replace haft's system prompt
    #[arg(long, value_name = "TEXT", value_hint = ValueHint::Other)]
    pub(crate) system_prompt: Option<String>,
    /// Add to the system prompt; may be repeated
    #[arg(long, value_name = "TEXT", value_hint = ValueHint::Other)]
    pub(crate) append_system_prompt: Vec<String>,
    /// Read no AGENTS.md files
    #[arg(long)]
    pub(crate) no_context_files: bool,
    /// Work in this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
    /// Offer the model only these tools, extensions' tools included; separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_hint = ValueHint::Other)]
    pub(crate) tools: Option<Vec<String>>,
    /// Offer the model no tools at all
    #[arg(long, conflicts_with = "tools")]
    pub(crate) no_tools: bool,
    /// Stop after this many steps
    #[arg(long, value_name = "N", value_hint = ValueHint::Other)]
    pub(crate) max_steps: Option<NonZeroU32>,
}

/// Which extensions run.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Extensions")]
pub(crate) struct ExtensionArgs {
    /// Run the extension in this directory too, before all others; may be repeated
    #[arg(short = 'e', long = "ext", value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub(crate) ext: Vec<PathBuf>,
    /// Run the process hooks of this PicoClaw config.json too; may be repeated
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) hooks_config: Vec<PathBuf>,
    /// Run no installed extensions and no configured hooks, only those named by --ext and --hooks-config
    #[arg(long)]
    pub(crate) no_ext: bool,
    #[command(flatten)]
    pub(crate) trust: TrustProject,
}

impl ModelArgs {
    pub(crate) fn layer(&self, agent: &AgentArgs) -> Layer {
        let values = ConfigFile {
            provider: self.provider.clone(),
            model: self.model.clone(),
            base_url: self.base_url.clone(),
            thinking: self.thinking,
            fallback: self.fallback.clone(),
            max_steps: agent.max_steps,
            context_files: agent.no_context_files.then_some(false),
            ..ConfigFile::default()
        };
        Layer::new(Place::Flags, values)
    }
}

pub(crate) fn command() -> clap::Command {
    Cli::command().after_help(help::SHORT).after_long_help(help::long())
}

/// The tables below `haft --help`.
pub(crate) fn long_help() -> String {
    help::long()
}

pub(crate) fn parse() -> Result<Cli, clap::Error> {
    parse_from(std::env::args_os().collect())
}

/// Reads these words, the program's name first.
fn parse_from(args: Vec<OsString>) -> Result<Cli, clap::Error> {
    let mut definition = command();
    let matches = definition.try_get_matches_from_mut(&args)?;
    let cli = Cli::from_arg_matches(&matches)?;
    if cli.command.is_none() {
        misplaced::check(&mut definition, &cli.run, &args)?;
    }
    Ok(cli)
}

/// Shows what [`parse`] returned instead of arguments.
pub(crate) fn show(help: &clap::Error) -> Exit {
    match quoted_safely(help) {
        // Nobody to read it is no reason to end otherwise.
        None => _ = help.print(),
        Some(text) => console::note(text.trim_end()),
    }
    if help.use_stderr() { Exit::Usage } else { Exit::Ok }
}

/// The text of an error that quotes what a terminal would obey; none for all others, which have colours of their own.
pub(crate) fn quoted_safely(help: &clap::Error) -> Option<String> {
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

/// What can be done with the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every setting that holds here
    Show(ShowArgs),
}

/// What `haft config show` prints.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Say where each value is set
    #[arg(long)]
    pub(crate) origin: bool,
    /// List what the model is told: system prompt, context files, skills, templates
    #[arg(long, conflicts_with = "json")]
    pub(crate) context: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// As seen from this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) trust: TrustProject,
}

/// `haft doctor …`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// As seen from this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
}

/// `haft skill …`.
#[derive(Debug, Args)]
pub(crate) struct SkillArgs {
    #[command(subcommand)]
    pub(crate) command: SkillCommand,
}

/// What can be done with skills.
#[derive(Debug, Subcommand)]
pub(crate) enum SkillCommand {
    /// List the skills that the model can load here
    #[command(visible_alias = "ls")]
    List {
        /// As seen from this directory
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        cwd: Option<PathBuf>,
        #[command(flatten)]
        trust: TrustProject,
    },
}

/// A provider: any name, since `--base-url` makes a provider of any; completions offer those that haft knows.
#[derive(Debug, Clone)]
struct Provider;

impl TypedValueParser for Provider {
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
    fn a_prompt_may_be_a_commands_name_behind_a_flag() {
        assert_eq!(parse(&["-p", "demo"]).run.prompt, ["demo"]);
        assert!(matches!(parse(&["demo"]).command, Some(Command::Demo)));
    }

    #[test]
    fn flags_are_read() {
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
            (Some(Thinking::High), NonZeroU32::new(3))
        );
        assert!(!format!("{run:?}").contains("sk-1"), "the key is not shown");
    }
}
