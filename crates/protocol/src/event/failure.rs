//! Kinds of failure, and reasons for a retry.

use serde::{Deserialize, Serialize};

use crate::named_enum::named_enum;

named_enum! {
    /// The reason of a retry.
    #[non_exhaustive]
    pub enum RetryReason {
        /// Too many requests.
        RateLimited = "rate_limited",
        /// The provider is overloaded, or failed.
        Unavailable = "unavailable",
        /// The connection failed or broke.
        Connection = "connection",
    }
}

named_enum! {
    /// The next step after a failure. Each program offers it in its own way: with a flag, a command or a button.
    #[non_exhaustive]
    pub enum Advice {
        /// Set or correct the API key of the provider.
        ApiKey = "api_key",
        /// Check the address of the model's server.
        BaseUrl = "base_url",
        /// Choose a provider and its model.
        Provider = "provider",
        /// Choose another model, or correct its name.
        Model = "model",
        /// Raise the step limit.
        MaxSteps = "max_steps",
        /// Work without a session file.
        Session = "session",
        /// Read the log of the extension.
        ExtensionLog = "extension_log",
    }
}

/// The part of a run that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorStage {
    /// The model.
    Model,
    /// Saving the session.
    Session,
}
