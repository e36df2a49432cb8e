//! Messages of the host for the front end: events that anybody may print, and requests that need a screen.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use haft_protocol::defence::{Defence, is_up};
use haft_protocol::event::{AgentEvent, ExtensionFault};
use haft_protocol::ext::{Panel, PanelRender};
use haft_protocol::ids::{ExtensionName, PanelId};
use tokio_util::sync::CancellationToken;

use crate::wire::fault::FaultCode;

/// Where notes and faults go. Called from the extensions' tasks, in order for each extension; must not block.
pub type EventSink = Arc<dyn Fn(AgentEvent) + Send + Sync>;

/// A screen that extensions may draw on, and a person behind it. Notes and texts are not here: they are events.
///
/// Every method has an inert default, so that no extension can hang or fail where there is no screen.
#[async_trait]
pub trait Frontend: Send + Sync {
    /// A command opens a panel; it replaces an open one.
    fn open_panel(&self, _extension: &ExtensionName, _panel: &Panel) {}

    /// An extension draws a panel. Counts only for the panel that is open.
    fn render_panel(&self, _extension: &ExtensionName, _panel: &PanelRender) {}

    /// An extension closes its panel.
    fn close_panel(&self, _extension: &ExtensionName, _panel: &PanelId) {}

    /// An extension's item in the status line says something else, or is gone.
    fn set_status(&self, _extension: &ExtensionName, _key: &str, _text: Option<&str>) {}

    /// A command puts text into the editor at the cursor.
    fn insert(&self, _extension: &ExtensionName, _text: &str) {}

    /// A gate keeps failing, so that what it guards cannot happen: asks the person what to do about it. Asked once for
    /// an extension and a session. Returns soon after `cancel`; what it then says counts for nothing. Where nobody can
    /// be asked, everything stops.
    async fn ask_about_failing_gate(
        &self,
        _cancel: &CancellationToken,
        _failing: &FailingGate,
    ) -> GateChoice {
        GateChoice::Stop
    }

    /// An extension is gone; its panel is of no more use.
    fn extension_gone(&self, _extension: &ExtensionName) {}
}

/// A gate that keeps failing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailingGate {
    /// The extension with the gate.
    pub extension: ExtensionName,
    /// The last failure, for people.
    pub reason: String,
    /// The number of failures in a row.
    pub failures: u32,
}

/// The choice about a gate that keeps failing. The call that it was asked about stays blocked in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GateChoice {
    /// Start its extension again.
    Restart,
    /// Go on without it until the session ends: the extension is not asked about anything any more.
    ContinueWithout,
    /// End the run, and with it the program.
    Stop,
}

/// A front end without a screen.
#[derive(Debug, Clone, Copy, Default)]
pub struct HeadlessFrontend;

impl Frontend for HeadlessFrontend {}

/// Reports the faults of one extension: one event, one line in its log.
#[derive(Clone)]
pub(crate) struct FaultReporter {
    pub(crate) name: ExtensionName,
    pub(crate) events: EventSink,
}

impl FaultReporter {
    /// Reports one failure, once.
    pub(crate) fn report_fault(&self, code: FaultCode, message: impl Into<String>) {
        let message = message.into();
        tracing::warn!(extension = %self.name, code = code.as_str(), message, "extension fault");
        let (extension, code) = (self.name.clone(), code.as_str().to_owned());
        if is_up(Defence::FaultReports) {
            self.emit(AgentEvent::ExtensionError(ExtensionFault { extension, code, message }));
        }
    }

    /// Reports that a text for the model had this many characters in it that nobody can see; nothing when there
    /// were none.
    pub(crate) fn report_hidden_text(&self, count: usize, of: &str) {
        if count > 0 {
            let text = format!("{of} had {count} characters in it that nobody can see; they were left out");
            self.report_fault(FaultCode::HiddenText, text);
        }
    }

    pub(crate) fn emit(&self, event: AgentEvent) {
        (self.events)(event);
    }
}

impl fmt::Debug for FaultReporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reporter").field("name", &self.name).finish_non_exhaustive()
    }
}
