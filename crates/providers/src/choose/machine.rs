//! The real environment: this process's variables and this machine's ports.

use async_trait::async_trait;
use reqwest::Url;
use secrecy::SecretString;
use tokio::net::TcpStream;

use super::{EnvironmentProbe, listing};
use crate::config::ModelConfig;
use crate::http::{RequestLimits, send_get};
use crate::timeouts::HttpTimeouts;

/// The maximum bytes of a list of models: 4 MiB.
const LIST_LIMIT: usize = 4 * 1024 * 1024;

/// This machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemProbe {
    timeouts: HttpTimeouts,
}

impl SystemProbe {
    /// Creates a probe with other timeouts.
    pub fn with_timeouts(timeouts: HttpTimeouts) -> Self {
        Self { timeouts }
    }

    /// Fetches the list of models; `None` if it is incomplete.
    async fn fetch_list(&self, server: &ModelConfig) -> Option<Vec<String>> {
        let bounds = RequestLimits { wait: self.timeouts.probe_models, body: LIST_LIMIT };
        let address = |base: &Url| listing::list_address(server.dialect, base, 1_000);
        let answer = send_get(server, &self.timeouts, bounds, address).await.ok()?;
        (answer.status == 200).then(|| listing::model_ids(server.dialect, &answer.body))
    }
}

#[async_trait]
impl EnvironmentProbe for SystemProbe {
    fn var(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn key(&self, _provider: &str) -> Option<SecretString> {
        None
    }

    async fn is_listening(&self, port: u16) -> bool {
        let connecting = TcpStream::connect(("127.0.0.1", port));
        matches!(tokio::time::timeout(self.timeouts.probe, connecting).await, Ok(Ok(_)))
    }

    async fn list_models(&self, server: &ModelConfig) -> Vec<String> {
        self.fetch_list(server).await.unwrap_or_default()
    }
}
