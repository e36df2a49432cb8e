//! Why there is no model to use.

use crate::models::UnsetVariable;

/// Why there is no model to use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChooseError {
    /// Nothing was asked for and nothing was found.
    #[error(
        "no model to talk to. Name one with --provider and --model, or set ANTHROPIC_API_KEY or OPENAI_API_KEY, \
         or store a key by haft login, or start a local server (Ollama, llama.cpp, vLLM or LM Studio, on its \
         default port), or see haft at work without any model: haft demo"
    )]
    Nothing,
    /// The provider is none of the presets, not in `models.json`, and no address was given.
    #[error(
        "unknown provider {name:?}; choose one of {known}, or pass --base-url for a server of your own, or name \
         it in models.json"
    )]
    UnknownProvider {
        /// What was asked for.
        name: String,
        /// The names that are known.
        known: String,
    },
    /// The provider needs a key.
    #[error("no key for {provider}; set {variable}, store one in auth.json by haft login, or pass --api-key")]
    NoKey {
        /// The provider.
        provider: String,
        /// Where its key is looked for.
        variable: String,
    },
    /// The provider is a kind of server, not one.
    #[error("no address for {provider}; pass --base-url")]
    NoBaseUrl {
        /// The provider.
        provider: String,
    },
    /// A key was given, but not whose it is.
    #[error("--api-key was given, but not whose key it is; pass --provider too")]
    KeyWithoutProvider,
    /// The provider has no default model.
    #[error("no model for {provider}; pass --model (haft --list-models shows the known ones)")]
    NoModel {
        /// The provider.
        provider: String,
    },
    /// A server was to be asked for its models, and gave none.
    #[error("no server at {address} lists a model; start it, load a model, or pass --model and --base-url")]
    NoAnswer {
        /// The address.
        address: String,
    },
    /// A header that `models.json` gives the provider cannot be made.
    #[error("models.json: the header {header:?} of {provider} cannot be made: {source}")]
    Header {
        /// The provider.
        provider: String,
        /// The header's name.
        header: String,
        /// Which variable is missing.
        source: UnsetVariable,
    },
    /// `scripted` needs the script's path.
    #[error("the scripted model needs a script; pass its path by --model")]
    NoScript,
}
