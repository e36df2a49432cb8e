//! The real surroundings: this process's environment, this machine's ports.

use async_trait::async_trait;
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tokio::net::TcpStream;

use super::Surroundings;
use crate::http::{build_client, is_loopback};
use crate::timeouts::Timeouts;

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

    async fn listed(&self, base_url: &str, key: Option<&SecretString>) -> Option<Vec<String>> {
        #[derive(Deserialize)]
        struct List {
            data: Vec<Entry>,
        }
        #[derive(Deserialize)]
        struct Entry {
            id: String,
        }
        let mut url = Url::parse(base_url).ok()?;
        if url.path() == "/" {
            url.set_path("/v1");
        }
        url.path_segments_mut().ok()?.pop_if_empty().push("models");
        let client = build_client(is_loopback(&url), &self.timeouts).ok()?;
        let mut request = client.get(url).timeout(self.timeouts.probe_models);
        if let Some(key) = key {
            request = request.bearer_auth(key.expose_secret());
        }
        let response = request.send().await.ok()?.error_for_status().ok()?;
        let list: List = response.json().await.ok()?;
        Some(list.data.into_iter().map(|entry| entry.id).collect())
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

    async fn models(&self, base_url: &str, key: Option<&SecretString>) -> Vec<String> {
        self.listed(base_url, key).await.unwrap_or_default()
    }
}
