//! The command line of `haft session compact`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use haft_config::SecretString;

use super::{AgentArgs, ExtensionArgs, ModelArgs, RunArgs, WhichSession, values};
use crate::run::Wish;

/// `haft session compact …`.
#[derive(Debug, Args)]
pub(crate) struct CompactArgs {
    #[command(flatten)]
    pub(crate) which: WhichSession,
    /// What the summary shall heed; several words are joined by spaces
    #[arg(value_name = "INSTRUCTIONS", value_hint = ValueHint::Other)]
    instructions: Vec<String>,
    /// Print every event as a line of JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Where to work: the `--cwd` of all that `haft session` does.
    #[arg(skip)]
    pub(crate) cwd: Option<PathBuf>,
    #[command(flatten)]
    model: Summariser,
    #[command(flatten)]
    ext: ExtensionArgs,
}

/// Which model writes the summary.
#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
struct Summariser {
    /// The provider of the model that writes the summary; without it the session's model does, which it keeps
    #[arg(long, value_name = "NAME", value_parser = values::Provider, hide_possible_values = true)]
    provider: Option<String>,
    /// The model's id at that provider, or PROVIDER/ID
    #[arg(long, value_name = "ID", value_hint = ValueHint::Other)]
    model: Option<String>,
    /// The provider's key. Other users can see it in the list of processes; a variable or auth.json is safer
    #[arg(long, value_name = "KEY", value_hint = ValueHint::Other)]
    api_key: Option<SecretString>,
    /// Where the provider is reached, for compatible servers
    #[arg(long, value_name = "URL", value_hint = ValueHint::Other)]
    base_url: Option<String>,
    /// Models to ask while the first is at its limit, down, or refuses its key; separated by commas
    #[arg(long, value_name = "PROVIDER/MODEL", value_delimiter = ',', value_hint = ValueHint::Other)]
    fallback: Option<Vec<String>>,
}

impl CompactArgs {
    /// What is wanted of the summary.
    pub(crate) fn wish(&self) -> Wish {
        let instructions = self.instructions.join(" ");
        Wish { instructions: (!instructions.trim().is_empty()).then_some(instructions), json: self.json }
    }
}

/// The same for what sets up a run.
impl From<CompactArgs> for RunArgs {
    fn from(args: CompactArgs) -> Self {
        let Summariser { provider, model, api_key, base_url, fallback } = args.model;
        Self {
            json: args.json,
            model: ModelArgs { provider, model, api_key, base_url, fallback, ..ModelArgs::default() },
            agent: AgentArgs { cwd: args.cwd, ..AgentArgs::default() },
            ext: args.ext,
            ..Self::default()
        }
    }
}
