//! Messages of the host for the front end: events that any front end can print, and requests that need a
//! screen.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use haft_core::sanitize::strip_hidden_chars;
use haft_protocol::defense::{Defense, is_up};
use haft_protocol::event::{AgentEvent, ExtensionFault};
use haft_protocol::ext::{
    AskAnswer, AskCall, AskEnd, InterceptKind, Panel, PanelRender, ShowCall, StatusText,
};
use haft_protocol::foreign::ForeignPeer;
use haft_protocol::ids::{ExtensionName, PanelId};
use haft_protocol::rpc::{CommandFailure, ErrorCode, ReplyPayload, RpcRequest};
use tokio_util::sync::CancellationToken;

use crate::extension::intercept_label;
use crate::extension::turn_reports::TurnReports;
use crate::wire::fault::FaultCode;

/// The receiver of notes and faults. Called from the extensions' tasks, in order for each extension. Must not
/// block.
pub type EventSink = Arc<dyn Fn(AgentEvent) + Send + Sync>;

/// A screen that extensions can draw on, and the person behind it. Notes and texts are events instead.
///
/// Every method has a default without effect, so that no extension hangs or fails without a screen.
#[async_trait]
pub trait Frontend: Send + Sync {
    /// Opens a panel; replaces an open panel.
    fn open_panel(&self, _extension: &ExtensionName, _panel: &Panel) {}

    /// Draws an extension's panel. Ignored unless that panel is open.
    fn render_panel(&self, _extension: &ExtensionName, _panel: &PanelRender) {}

    /// Closes an extension's panel.
    fn close_panel(&self, _extension: &ExtensionName, _panel: &PanelId) {}

    /// Changes or removes an extension's item in the status line.
    fn set_status(&self, _extension: &ExtensionName, _key: &str, _text: Option<&StatusText>) {}

    /// Reports that an extension changed its commands, tools or shortcuts after its start.
    fn registrations_changed(&self, _extension: &ExtensionName) {}

    /// Inserts text into the editor at the cursor, for a command.
    fn insert(&self, _extension: &ExtensionName, _text: &str) {}

    /// Changes the screen for an extension. `open_panel` opens a panel, also without a screen.
    fn show(&self, extension: &ExtensionName, show: &ShowCall) {
        if let ShowCall::OpenPanel(panel) = show {
            self.open_panel(extension, panel);
        }
    }

    /// Asks the person a question of an extension. Returns soon after `cancel`; the answer is then ignored.
    /// Without a person, the question ends at once without an answer.
    async fn ask(&self, _cancel: &CancellationToken, _extension: &ExtensionName, ask: &AskCall) -> AskAnswer {
        ask.without_answer(AskEnd::NoPerson)
    }

    /// Carries out a command of an extension on the session of the request, or else on the extension's own.
    /// The command is queued on the first poll, so that commands of one extension keep their order. A
    /// command that has not begun when the future is dropped does not run.
    ///
    /// # Errors
    /// [`CommandFailure`], as for a client of the RPC protocol. Without an owner of the session that carries
    /// out commands, the error is `unsupported`.
    async fn execute_command(
        &self,
        _extension: &ExtensionName,
        request: RpcRequest,
    ) -> Result<ReplyPayload, CommandFailure> {
        let error = format!(
            "this program carries out no commands of extensions, not even {}",
            request.command.kind()
        );
        Err(CommandFailure::new(ErrorCode::Unsupported, error))
    }

    /// Asks the person about a gate that keeps failing and therefore blocks its actions. Called once for each
    /// extension and session. Returns soon after `cancel`; the answer is then ignored. Without a person, the
    /// answer is to stop.
    async fn ask_about_failing_gate(
        &self,
        _cancel: &CancellationToken,
        _failing: &FailingGate,
    ) -> GateChoice {
        GateChoice::Stop
    }

    /// Reports that an extension ended and its panel is no longer usable.
    fn extension_gone(&self, _extension: &ExtensionName) {}
}

/// A gate that keeps failing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailingGate {
    /// The extension with the gate.
    pub extension: ExtensionName,
    /// The last failure, as text for people.
    pub reason: String,
    /// The number of failures in a row.
    pub failures: u32,
}

/// The choice about a gate that keeps failing. The current call stays blocked in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GateChoice {
    /// Restart the extension.
    Restart,
    /// Continue without the extension until the session ends; no further query is sent to it.
    ContinueWithout,
    /// End the run and the program.
    Stop,
}

/// A front end without a screen.
#[derive(Debug, Clone, Copy, Default)]
pub struct HeadlessFrontend;

impl Frontend for HeadlessFrontend {}

/// A text of an extension for the model.
pub(crate) struct LabeledText {
    /// The text after its origin.
    pub(crate) text: String,
    /// The number of invisible characters that were removed.
    pub(crate) hidden: usize,
}

impl LabeledText {
    /// Adds the origin to a text, and removes invisible characters from it. `detail` follows the name of the
    /// extension.
    pub(crate) fn new(extension: &ExtensionName, detail: &str, text: &str) -> Self {
        let read = strip_hidden_chars(text);
        let origin = match is_up(Defense::CommandOrigin) {
            true => format!("[from extension {extension}{detail}]\n"),
            false => String::new(),
        };
        Self { text: origin + &read.text, hidden: read.hidden }
    }
}

/// Reports the faults of one extension: one event and one log line for each.
#[derive(Clone)]
pub(crate) struct FaultReporter {
    pub(crate) name: ExtensionName,
    pub(crate) events: EventSink,
    /// For an extension that speaks another protocol: the names of its hooks, and the mistakes of this turn.
    pub(crate) foreign: Option<(Arc<dyn ForeignPeer>, Arc<TurnReports>)>,
}

impl FaultReporter {
    /// Reports one failure once.
    pub(crate) fn report_fault(&self, code: FaultCode, message: impl Into<String>) {
        let message = message.into();
        tracing::warn!(extension = %self.name, code = code.as_str(), message, "extension fault");
        let (extension, code) = (self.name.clone(), code.as_str().to_owned());
        if is_up(Defense::FaultReports) {
            self.emit(AgentEvent::ExtensionError(ExtensionFault::new(extension, code, message)));
        }
    }

    /// Reports an invalid answer. The same mistake of an extension that speaks another protocol is reported once a turn,
    /// because such an extension was written for another program and repeats its mistakes.
    pub(crate) fn report_mistake(&self, code: FaultCode, text: String) {
        if self.is_first_mistake(&text) {
            self.report_fault(code, text);
        }
    }

    /// True unless this mistake is reported once a turn, and was; counts repetitions.
    pub(crate) fn is_first_mistake(&self, text: &str) -> bool {
        let is_first =
            self.foreign.as_ref().is_none_or(|(_, reports)| reports.count_report(&self.name, text));
        if !is_first {
            tracing::debug!(extension = %self.name, text, "repeated fault");
        }
        is_first
    }

    /// Returns the name of a hook, for people.
    pub(crate) fn hook_label(&self, hook: InterceptKind) -> &'static str {
        self.foreign.as_ref().map_or_else(|| intercept_label(hook), |(peer, _)| peer.hook_label(hook))
    }

    /// Reports the number of invisible characters in a text for the model; does nothing for zero.
    pub(crate) fn report_hidden_text(&self, count: usize, of: &str) {
        if count > 0 {
            let text = format!("removed {count} invisible characters from {of}");
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
