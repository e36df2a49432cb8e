//! The commonest plays of a case, in one word each.

use anyhow::{Result, bail, ensure};
use serde_json::json;

use super::World;
use crate::row::EVIL;

impl World {
    /// The guard that misbehaves blocks a call, and the reason contains this.
    pub(crate) async fn blocks(&self, reason: &str) -> Result<()> {
        let gated = self.gate(json!({})).await?;
        ensure!(gated.ran_with.is_none(), "the tool ran all the same, with {:?}", gated.ran_with);
        let Some((by, why)) = gated.blocked else { bail!("nobody blocked it: {}", gated.result) };
        ensure!(by == EVIL, "{by} blocked it: {why}");
        ensure!(why.contains(reason), "blocked for another reason than {reason:?}: {why}");
        self.settle().await
    }

    /// As [`blocks`](Self::blocks), without waiting for any deadline.
    pub(crate) async fn blocks_at_once(&self, reason: &str) -> Result<()> {
        let start = std::time::Instant::now();
        self.blocks(reason).await?;
        self.at_once("it", start.elapsed())
    }

    /// The guard that misbehaves lets a call pass.
    pub(crate) async fn allows(&self) -> Result<()> {
        let gated = self.gate(json!({})).await?;
        ensure!(gated.ran_with.is_some(), "the tool did not run: {:?} {}", gated.blocked, gated.result);
        self.settle().await
    }

    /// The tool of the extension that misbehaves answers with this.
    pub(crate) async fn answers(&self, text: &str) -> Result<()> {
        let asked = self.call(json!({})).await?;
        ensure!(!asked.is_error, "the tool failed: {}", asked.text);
        ensure!(asked.text.contains(text), "the tool says {:?}", asked.text);
        self.settle().await
    }

    /// The tool of the extension that misbehaves fails at once, and says this.
    pub(crate) async fn fails(&self, text: &str) -> Result<()> {
        let asked = self.call(json!({})).await?;
        ensure!(asked.is_error, "the tool did not fail: {}", asked.text);
        ensure!(asked.text.contains(text), "the tool fails with {:?}", asked.text);
        self.at_once("it", asked.took)?;
        self.settle().await
    }

    /// After whatever was reported it works as if nothing had been.
    pub(crate) async fn goes_on(&self) -> Result<()> {
        self.until_expected().await?;
        self.answers("ok").await?;
        self.allows().await
    }

    /// A fault of this code is reported, and its message contains this.
    pub(crate) async fn reports(&self, code: &str, text: &str) -> Result<()> {
        let message = self.until_fault(code).await?;
        ensure!(message.contains(text), "{code} says {message:?}");
        self.settle().await
    }

    /// Gives whatever must not happen the time to happen.
    pub(crate) async fn settle(&self) -> Result<()> {
        self.until_expected().await
    }
}
