//! The real surroundings: this process's environment, this machine's ports.

use async_trait::async_trait;
use reqwest::Url;
use secrecy::SecretString;
use tokio::net::TcpStream;

use super::{Surroundings, listing};
use crate::config::ModelConfig;
use crate::http::{Bounds, ask_plainly};
use crate::timeouts::Timeouts;

/// The longest list of models that is read, in bytes: 4 MiB.
const LIST_LIMIT: usize = 4 * 1024 * 1024;

/// This machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Machine {
    timeouts: Timeouts,
}

impl Machine {
    /// With other waits.
    pub fn with_timeouts(timeouts: Timeouts) -> Self {
        Self { timeouts }
    }

    /// None where there is no whole list.
    async fn listed(&self, server: &ModelConfig) -> Option<Vec<String>> {
        let bounds = Bounds { wait: self.timeouts.probe_models, body: LIST_LIMIT };
        let address = |base: &Url| listing::address(server.dialect, base, 1_000);
        let answer = ask_plainly(server, &self.timeouts, bounds, address).await.ok()?;
        (answer.status == 200).then(|| listing::ids(server.dialect, &answer.body))
    }
}

#[async_trait]
impl Surroundings for Machine {
    fn var(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn key(&self, _provider: &str) -> Option<SecretString> {
        None
    }

    async fn listens(&self, port: u16) -> bool {
        let connecting = TcpStream::connect(("127.0.0.1", port));
        matches!(tokio::time::timeout(self.timeouts.probe, connecting).await, Ok(Ok(_)))
    }

    async fn models(&self, server: &ModelConfig) -> Vec<String> {
        self.listed(server).await.unwrap_or_default()
    }
}
