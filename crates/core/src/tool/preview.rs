//! Previews: the effects of calls, for the persons who approve them.

use std::fmt;
use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use haft_protocol::content::{CallPreview, ToolCall};
use tokio::sync::OnceCell;

use super::{Tool, ToolContext};
use crate::timeouts;

/// The effect that a call would have.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolPreview {
    /// The effect, for the person.
    pub shown: CallPreview,
    /// A digest of the state on which the effect is based, such as the old content of a file. An approved call receives
    /// it as [`ToolContext::previewed_state`]. `None` if the effect is the same in every state.
    pub state: Option<u64>,
}

impl ToolPreview {
    /// Creates a preview that does not depend on a state.
    pub fn new(shown: CallPreview) -> Self {
        Self { shown, state: None }
    }

    /// Creates a preview with the reason why the effect is not known.
    pub fn error(reason: impl Into<String>) -> Self {
        Self { shown: CallPreview::Error(reason.into()), state: None }
    }

    /// Sets [`state`](Self::state).
    #[must_use]
    pub fn with_state(self, state: impl Into<Option<u64>>) -> Self {
        Self { state: state.into(), ..self }
    }
}

/// The preview of a call, computed at the first request for it.
pub(crate) struct LazyPreview<'a> {
    tool: &'a dyn Tool,
    call: &'a ToolCall,
    context: ToolContext,
    computed: OnceCell<Option<ToolPreview>>,
}

impl<'a> LazyPreview<'a> {
    pub(crate) fn new(tool: &'a dyn Tool, call: &'a ToolCall, context: ToolContext) -> Self {
        Self { tool, call, context, computed: OnceCell::new() }
    }

    pub(crate) async fn get(&self) -> Option<&CallPreview> {
        let preview = self.computed.get_or_init(|| self.compute_preview()).await;
        preview.as_ref().map(|preview| &preview.shown)
    }

    /// Returns the state on which the preview is based. `None` if the preview was not requested.
    pub(crate) fn computed_state(&self) -> Option<u64> {
        self.computed.get()?.as_ref()?.state
    }

    async fn compute_preview(&self) -> Option<ToolPreview> {
        let name = &self.call.name;
        let work = AssertUnwindSafe(self.tool.preview(&self.context, self.call)).catch_unwind();
        match tokio::time::timeout(timeouts::PREVIEW, work).await {
            Ok(Ok(preview)) => preview,
            Ok(Err(_)) => Some(ToolPreview::error(format!("{name} panicked when it computed the change"))),
            Err(_) => {
                let seconds = timeouts::PREVIEW.as_secs();
                Some(ToolPreview::error(format!("{name} did not compute the change within {seconds} s")))
            }
        }
    }
}

impl fmt::Debug for LazyPreview<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyPreview").field("computed", &self.computed).finish_non_exhaustive()
    }
}
