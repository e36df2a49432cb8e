//! Requests of a handler to the host.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use haft_protocol::RawJson;
use haft_protocol::event::NoteLevel;
use haft_protocol::ext::{
    ClearNotes, HelloAck, Notify, Panel, PanelClose, PanelRender, SetStatus, capability,
};
use haft_protocol::ids::PanelId;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use crate::calls::PendingCalls;
use crate::config::ConfigError;
use crate::logging;
use crate::outbox::FrameOutbox;

/// The host, as a handler sees it. Cheap to clone, may be kept by background tasks; once the connection is over,
/// what is sent goes nowhere.
#[derive(Debug, Clone)]
pub struct Host(Arc<HostShared>);

#[derive(Debug)]
struct HostShared {
    outbox: FrameOutbox,
    calls: PendingCalls,
    ack: watch::Receiver<Option<Arc<HelloAck>>>,
}

impl Host {
    pub(crate) fn new(outbox: FrameOutbox, ack: watch::Receiver<Option<Arc<HelloAck>>>) -> Self {
        Self(Arc::new(HostShared { outbox, calls: PendingCalls::default(), ack }))
    }

    pub(crate) fn outbox(&self) -> &FrameOutbox {
        &self.0.outbox
    }

    pub(crate) fn calls(&self) -> &PendingCalls {
        &self.0.calls
    }

    /// Shows a note to the user, with the extension's name. It goes when the user sends the next prompt.
    pub fn notify(&self, level: NoteLevel, text: impl Into<String>) {
        self.0.outbox.push(Notify { level, message: text.into() });
    }

    /// Takes back every note of this extension.
    pub fn clear_notes(&self) {
        self.0.outbox.push(ClearNotes {});
    }

    /// Keeps something in the status line, beside the extension's name: a line, as short as it can be. `key` is this
    /// extension's name for it (letters, digits, `_`, `-`); saying something else under the same key takes its place, an
    /// empty text takes it away. It is gone when the extension is. Hosts that have no status line are not told.
    pub fn set_status(&self, key: impl Into<String>, text: impl Into<String>) {
        if self.has_capability(capability::STATUS) {
            self.0.outbox.push(SetStatus { key: key.into(), text: text.into() });
        }
    }

    /// Takes away what [`set_status`](Self::set_status) keeps in the status line.
    pub fn clear_status(&self, key: impl Into<String>) {
        self.set_status(key, "");
    }

    /// True if the host has said that it knows this. Handlers are not called before it has greeted.
    fn has_capability(&self, capability: &str) -> bool {
        let ack = self.0.ack.borrow();
        ack.iter().any(|ack| ack.capabilities.iter().any(|known| known == capability))
    }

    /// Redraws an open panel. An empty title keeps the old one. May be called as often as there is something new: the
    /// first content is sent at once, and of those that follow within 16 ms (for each panel that is drawn) the last.
    pub fn render_panel(&self, panel: Panel) {
        self.0.outbox.render(PanelRender::from(panel));
    }

    /// Closes a panel. What was to be drawn in it and was not yet sent is dropped.
    pub fn close_panel(&self, id: impl Into<String>) {
        self.0.outbox.close_panel(PanelClose { panel_id: PanelId::new(id) });
    }

    /// Facts about the host: version, provider, model, working directory, capabilities. Waits for the host's
    /// greeting, which is the first thing any host sends.
    pub async fn info(&self) -> Arc<HelloAck> {
        let mut ack = self.0.ack.clone();
        let greeted = ack.wait_for(Option::is_some).await.ok().and_then(|ack| ack.clone());
        match greeted {
            Some(info) => info,
            // The connection ended without a greeting: this handler is about to be dropped.
            None => std::future::pending().await,
        }
    }

    /// Where the extension may keep its state, absolute. Waits as [`info`](Self::info) does.
    pub async fn data_dir(&self) -> PathBuf {
        let info = self.info().await;
        // Hosts older than `data_dir` start extensions in their own directory, which is what it would name.
        info.data_dir
            .as_ref()
            .or(info.extension_dir.as_ref())
            .map_or_else(|| PathBuf::from("."), PathBuf::from)
    }

    /// The level of the sandbox that the extension runs in, `standard` or `strict`; none when it runs in none. Waits as
    /// [`info`](Self::info) does.
    pub async fn sandbox(&self) -> Option<String> {
        self.info().await.sandbox.clone()
    }

    /// Returns the rights that the user granted, a JSON object in the form of `permissions` in its manifest; none when
    /// the manifest asks for none. Waits as [`info`](Self::info) does.
    pub async fn granted_permissions(&self) -> Option<RawJson> {
        self.info().await.granted.clone()
    }

    /// Returns the user's settings for this extension in `[extension.NAME]` of `config.toml`. Where nothing is set it
    /// is read from an empty object, so give the fields defaults. Waits as [`info`](Self::info) does.
    ///
    /// # Errors
    /// [`ConfigError`] when it does not have the shape of `T`; it names the setting and does not quote its value.
    pub async fn config<T: DeserializeOwned>(&self) -> Result<T, ConfigError> {
        let info = self.info().await;
        let text = info.config.as_ref().map_or("{}", |config| config.as_json().as_str());
        ConfigError::read(text)
    }

    /// Writes one line to the extension's log (stderr); the same as [`log!`](crate::log!).
    pub fn log(&self, line: impl fmt::Display) {
        logging::log(line);
    }
}
