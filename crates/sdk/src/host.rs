//! Requests of a handler to the host.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use haft_protocol::RawJson;
use haft_protocol::event::NoteLevel;
use haft_protocol::ext::{
    ClearNotes, HelloAck, Notify, Panel, PanelClose, PanelRender, RegistrationKind, ResultBlock, SetStatus,
    StyledSpan, Subscribe, ToolCallProgress, UnregisterFrame, capability,
};
use haft_protocol::ids::{PanelId, RequestId, ToolCallId};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::watch;

use crate::config::ConfigError;
use crate::logging;
use crate::mirror::SessionMirror;
use crate::open_requests::{HandledRequest, HandledToolCall, OpenRequests, RequestGuard};
use crate::outbox::FrameOutbox;
use crate::pending_calls::PendingCalls;

/// The host, as a handler sees it. Cheap to clone; background tasks may keep it. After the end of
/// the connection, frames are discarded.
#[derive(Debug, Clone)]
pub struct Host {
    shared: Arc<HostShared>,
    /// The request that the handler answers; `None` in handlers of events.
    request: Option<Arc<HandledRequest>>,
}

#[derive(Debug)]
struct HostShared {
    outbox: FrameOutbox,
    calls: PendingCalls,
    requests: Arc<OpenRequests>,
    mirror: SessionMirror,
    ack: watch::Receiver<Option<Arc<HelloAck>>>,
}

impl Host {
    pub(crate) fn new(outbox: FrameOutbox, ack: watch::Receiver<Option<Arc<HelloAck>>>) -> Self {
        let (calls, requests, mirror) = (PendingCalls::default(), Arc::default(), SessionMirror::default());
        Self { shared: Arc::new(HostShared { outbox, calls, requests, mirror, ack }), request: None }
    }

    /// Returns the host for the handler of this request, which is open until the guard is dropped.
    pub(crate) fn for_request(
        &self,
        id: &RequestId,
        tool_call: Option<HandledToolCall>,
    ) -> (Self, RequestGuard) {
        let request = HandledRequest::new(id.clone(), tool_call);
        self.open_requests().begin(Arc::clone(&request));
        let host = Self { shared: Arc::clone(&self.shared), request: Some(Arc::clone(&request)) };
        (host, RequestGuard { requests: Arc::clone(&self.shared.requests), request })
    }

    pub(crate) fn open_requests(&self) -> &OpenRequests {
        &self.shared.requests
    }

    /// Returns the id of the request that the handler answers.
    pub(crate) fn request_id(&self) -> Option<&RequestId> {
        self.request.as_deref().map(|request| &request.id)
    }

    pub(crate) fn outbox(&self) -> &FrameOutbox {
        &self.shared.outbox
    }

    pub(crate) fn calls(&self) -> &PendingCalls {
        &self.shared.calls
    }

    /// Returns the copy of the session; see [`Extension::mirror_session`](crate::Extension::mirror_session).
    pub fn session_mirror(&self) -> &SessionMirror {
        &self.shared.mirror
    }

    /// Shows a note to the user, with the extension's name. It disappears when the user sends the
    /// next prompt.
    pub fn notify(&self, level: NoteLevel, text: impl Into<String>) {
        self.shared.outbox.push(Notify { level, message: text.into() });
    }

    /// Removes all notes of this extension.
    pub fn clear_notes(&self) {
        self.shared.outbox.push(ClearNotes {});
    }

    /// Subscribes to further events and hooks, or replaces all earlier subscriptions, also those of
    /// the registered handlers. Handlers without a subscription are not called any more. Ignored
    /// unless host and extension have the capability `events_2`: the extension has it if it
    /// [handles a session event](crate::Extension::on_session_event).
    pub fn subscribe(&self, subscribe: Subscribe) {
        if self.has_capability(capability::EVENTS_2) {
            self.shared.outbox.push(subscribe);
        }
    }

    /// Removes a registration of this extension by its kind and name. Ignored by hosts without
    /// `unregister`.
    #[doc(alias = "unregister")]
    pub fn remove_registration(&self, kind: RegistrationKind, name: impl Into<String>) {
        if self.has_capability(capability::CALLS) {
            self.shared.outbox.push(UnregisterFrame { kind: kind.name().to_owned(), name: name.into() });
        }
    }

    /// Sets a text in the status line, shown with the extension's name: one short line. `key` is
    /// chosen by the extension (letters, digits, `_`, `-`). A new text under the same key replaces
    /// the old one; an empty text removes it. All texts disappear when the extension ends. Hosts
    /// without a status line ignore it.
    pub fn set_status(&self, key: impl Into<String>, text: impl Into<String>) {
        self.push_status(SetStatus { key: key.into(), text: text.into(), styled: Vec::new() });
    }

    /// Sets a text in the status line as [`set_status`](Self::set_status), in parts with colors of the
    /// user's theme, at most 16. Hosts without colors show the same text.
    pub fn set_styled_status(&self, key: impl Into<String>, parts: impl IntoIterator<Item = StyledSpan>) {
        let styled: Vec<StyledSpan> = parts.into_iter().collect();
        let text = styled.iter().map(|part| part.text.as_str()).collect();
        self.push_status(SetStatus { key: key.into(), text, styled });
    }

    fn push_status(&self, status: SetStatus) {
        if self.has_capability(capability::STATUS) {
            self.shared.outbox.push(status);
        }
    }

    /// Removes a text that [`set_status`](Self::set_status) has set.
    pub fn clear_status(&self, key: impl Into<String>) {
        self.set_status(key, "");
    }

    /// Returns the model's id of the tool call that this handler answers, as in events and hooks
    /// about the call. `None` in all other handlers, and if the host does not send it.
    pub fn tool_id(&self) -> Option<&str> {
        self.tool_call()?.1.id.as_ref().map(ToolCallId::as_str)
    }

    /// Shows the progress of the tool call that this handler answers, in place of the progress
    /// before. The time limit of the call begins again. The host shows at most 20 texts per second,
    /// and always the latest; it reads an extension slowly that sends more than 200. Does nothing in
    /// all other handlers, after the answer, and under a host without progress.
    pub fn show_progress(&self, text: impl Into<String>) {
        let content = vec![ResultBlock::Text { text: text.into() }];
        self.send_progress(Some(content), None);
    }

    /// Sends details of the progress like [`show_progress`](Self::show_progress): an object for people and
    /// programs, in place of the details before. The shown text stays.
    pub fn show_progress_details(&self, details: Value) {
        self.send_progress(None, Some(details.into()));
    }

    /// Completes when the host no longer waits for the answer of this handler: the user stopped the
    /// run, or the time is over. The handler should then stop. The host ignores its answer. Never
    /// completes in handlers of events, and under a host that does not report it.
    pub async fn wait_until_cancelled(&self) {
        let Some(request) = &self.request else { return std::future::pending().await };
        request.wait_until_cancelled().await;
    }

    /// True if the host no longer waits for the answer of this handler; see
    /// [`wait_until_cancelled`](Self::wait_until_cancelled).
    pub fn is_cancelled(&self) -> bool {
        self.request.as_ref().is_some_and(|request| request.is_cancelled())
    }

    fn tool_call(&self) -> Option<(&HandledRequest, &HandledToolCall)> {
        let request = self.request.as_deref()?;
        Some((request, request.tool_call.as_ref()?))
    }

    fn send_progress(&self, content: Option<Vec<ResultBlock>>, details: Option<RawJson>) {
        let Some((request, _)) = self.tool_call() else { return };
        if self.has_capability(capability::PROGRESS) && self.open_requests().contains(&request.id) {
            self.shared.outbox.push(ToolCallProgress { id: request.id.clone(), content, details });
        }
    }

    /// True if the host has announced this capability. Handlers run only after `hello_ack`.
    pub(crate) fn has_capability(&self, capability: &str) -> bool {
        let ack = self.shared.ack.borrow();
        ack.iter().any(|ack| ack.capabilities.iter().any(|known| known == capability))
    }

    /// Redraws an open panel. An empty title keeps the old one. May be called at any rate: the
    /// first content is sent at once, then at most one every 16 ms for each drawn panel, always the
    /// latest.
    pub fn render_panel(&self, panel: Panel) {
        self.shared.outbox.render(PanelRender::from(panel));
    }

    /// Closes a panel. Content that was not yet sent is dropped.
    pub fn close_panel(&self, id: impl Into<String>) {
        self.shared.outbox.close_panel(PanelClose { panel_id: PanelId::new(id) });
    }

    /// Returns information about the host: version, provider, model, working directory,
    /// capabilities. Waits for `hello_ack`, the first frame of every host.
    pub async fn info(&self) -> Arc<HelloAck> {
        let mut ack = self.shared.ack.clone();
        let greeted = ack.wait_for(Option::is_some).await.ok().and_then(|ack| ack.clone());
        match greeted {
            Some(info) => info,
            // The connection ended without `hello_ack`, so this handler is about to be dropped.
            None => std::future::pending().await,
        }
    }

    /// Returns the directory for the extension's state, absolute. Waits like [`info`](Self::info).
    pub async fn data_dir(&self) -> PathBuf {
        let info = self.info().await;
        // Hosts older than `data_dir` start extensions in that directory.
        info.data_dir
            .as_ref()
            .or(info.extension_dir.as_ref())
            .map_or_else(|| PathBuf::from("."), PathBuf::from)
    }

    /// Returns the sandbox level of the extension, `standard` or `strict`; `None` without a
    /// sandbox. Waits like [`info`](Self::info).
    pub async fn sandbox(&self) -> Option<String> {
        self.info().await.sandbox.clone()
    }

    /// Returns the permissions that the user granted, a JSON object in the form of the manifest's
    /// `permissions`; `None` if the manifest has none. Waits like [`info`](Self::info).
    pub async fn granted_permissions(&self) -> Option<RawJson> {
        self.info().await.granted.clone()
    }

    /// Returns the user's settings for this extension from `[extension.NAME]` of `config.toml`.
    /// Without settings it reads an empty object, so give the fields defaults. Waits like
    /// [`info`](Self::info).
    ///
    /// # Errors
    /// [`ConfigError`] if the settings do not have the shape of `T`. It names the setting and does
    /// not quote its value.
    pub async fn config<T: DeserializeOwned>(&self) -> Result<T, ConfigError> {
        let info = self.info().await;
        let text = info.config.as_ref().map_or("{}", |config| config.as_json().as_str());
        ConfigError::read(text)
    }

    /// Writes a line to the extension's log (stderr), like [`log!`](crate::log!).
    pub fn log(&self, line: impl fmt::Display) {
        logging::log(line);
    }
}
