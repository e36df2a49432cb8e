//! The machine on which a model is chosen.

use async_trait::async_trait;
use haft_providers::{EnvironmentProbe, ModelConfig, SystemProbe};
use secrecy::SecretString;

use crate::auth::AuthFile;

/// The machine, with the keys of `auth.json` as a fallback for environment variables.
#[derive(Debug)]
pub struct MachineWithKeys<'a> {
    machine: SystemProbe,
    auth: &'a AuthFile,
}

impl<'a> MachineWithKeys<'a> {
    /// Creates the machine with the keys of this file.
    pub fn new(auth: &'a AuthFile) -> Self {
        Self { machine: SystemProbe::default(), auth }
    }
}

#[async_trait]
impl EnvironmentProbe for MachineWithKeys<'_> {
    fn var(&self, name: &str) -> Option<String> {
        self.machine.var(name)
    }

    fn key(&self, provider: &str) -> Option<SecretString> {
        self.auth.key(provider).cloned()
    }

    async fn is_listening(&self, port: u16) -> bool {
        self.machine.is_listening(port).await
    }

    async fn list_models(&self, server: &ModelConfig) -> Vec<String> {
        self.machine.list_models(server).await
    }
}
