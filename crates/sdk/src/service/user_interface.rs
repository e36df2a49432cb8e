//! Questions of an extension to the person.

use std::time::Duration;

use haft_protocol::RawJson;
use haft_protocol::ext::{
    AskAnswer, AskCall, ConfirmCall, EditorCall, HostCallKind, InputCall, InsertCall, Panel, SelectCall,
    SetEditorCall, SetTitleCall, SetWorkingCall, ShowCall, UiAnswer,
};
use serde::Serialize;

use super::HostError;
use crate::host::Host;

/// The person at the host. Questions show the name of the extension.
///
/// While a question is open, the deadline of the request that the handler answers does not run.
/// Without a person, for example in `haft -p`, a question ends at once without an answer. Dropping a
/// question withdraws it.
///
/// ```
/// use haft_sdk::{Extension, GateDecision, Host, InterceptToolCall};
///
/// let guard = Extension::new("guard", "1.0.0").gate(["bash"], |call: InterceptToolCall, host: Host| async move {
///     match host.ui().confirm("Run this command?", call.tool_args.to_string()).await {
///         Ok(true) => GateDecision::allow(),
///         Ok(false) => GateDecision::block("the user said no"),
///         Err(error) => GateDecision::block(error.to_string()),
///     }
/// });
/// ```
#[derive(Debug, Clone, Copy)]
pub struct UserInterface<'a> {
    host: &'a Host,
    timeout_ms: Option<u64>,
}

impl<'a> UserInterface<'a> {
    pub(crate) fn new(host: &'a Host) -> Self {
        Self { host, timeout_ms: None }
    }

    /// Limits the time for an answer.
    #[must_use]
    pub fn with_time_limit(self, time: Duration) -> Self {
        let timeout_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self { timeout_ms: Some(timeout_ms), ..self }
    }

    /// Asks a question with the answer yes or no. Without an answer, it is no.
    ///
    /// # Errors
    /// [`HostError`], for example if the permission `ui` is not granted.
    pub async fn confirm(
        &self,
        title: impl Into<String>,
        message: impl Into<String>,
    ) -> Result<bool, HostError> {
        let (title, message, timeout_ms) = (title.into(), message.into(), self.timeout_ms);
        let answer = self.ask_person(&AskCall::Confirm(ConfirmCall { title, message, timeout_ms })).await?;
        Ok(answer.answer == UiAnswer::Confirmed(true))
    }

    /// Asks the person to choose one of these texts. `None` without an answer.
    ///
    /// # Errors
    /// As [`confirm`](Self::confirm).
    pub async fn select<T: Into<String>>(
        &self,
        title: impl Into<String>,
        options: impl IntoIterator<Item = T>,
    ) -> Result<Option<String>, HostError> {
        let options = options.into_iter().map(Into::into).collect();
        let (title, message, timeout_ms) = (title.into(), String::new(), self.timeout_ms);
        self.text(AskCall::Select(SelectCall { title, message, options, timeout_ms })).await
    }

    /// Asks for a text of one line. `None` without an answer.
    ///
    /// # Errors
    /// As [`confirm`](Self::confirm).
    pub async fn input(&self, title: impl Into<String>) -> Result<Option<String>, HostError> {
        let title = title.into();
        self.text(AskCall::Input(InputCall { title, timeout_ms: self.timeout_ms, ..InputCall::default() }))
            .await
    }

    /// Asks the person to change a text of any number of lines. `None` without an answer.
    ///
    /// # Errors
    /// As [`confirm`](Self::confirm).
    pub async fn editor(
        &self,
        title: impl Into<String>,
        prefill: impl Into<String>,
    ) -> Result<Option<String>, HostError> {
        let (title, prefill) = (title.into(), Some(prefill.into()));
        self.text(AskCall::Editor(EditorCall { title, prefill, timeout_ms: self.timeout_ms })).await
    }

    /// Asks any question, and returns the answer with the reason why the question ended.
    ///
    /// # Errors
    /// As [`confirm`](Self::confirm).
    pub async fn ask_person(&self, ask: &AskCall) -> Result<AskAnswer, HostError> {
        match ask {
            AskCall::Confirm(args) => self.send(HostCallKind::Confirm, args).await,
            AskCall::Select(args) => self.send(HostCallKind::Select, args).await,
            AskCall::Input(args) => self.send(HostCallKind::Input, args).await,
            AskCall::Editor(args) => self.send(HostCallKind::Editor, args).await,
        }
    }

    /// Sets the title of the terminal window; empty for haft's own. Hosts without a screen ignore it, as
    /// they ignore the other changes of the screen. So does a host without the permission `ui`, and reports
    /// it.
    pub fn set_title(&self, text: impl Into<String>) {
        self.show(&ShowCall::SetTitle(SetTitleCall { text: text.into() }));
    }

    /// Changes the line that shows that the agent works. [`SetWorkingCall::reset`] restores haft's own.
    pub fn set_working(&self, working: SetWorkingCall) {
        self.show(&ShowCall::SetWorking(working));
    }

    /// Replaces the text in the input field. The user can undo that.
    #[doc(alias = "set_editor")]
    pub fn set_editor_text(&self, text: impl Into<String>) {
        self.show(&ShowCall::SetEditor(SetEditorCall { text: text.into() }));
    }

    /// Inserts text into the input field, at the cursor.
    #[doc(alias = "insert")]
    pub fn insert_text(&self, text: impl Into<String>) {
        self.show(&ShowCall::Insert(InsertCall { text: text.into() }));
    }

    /// Opens a panel at any time; [`Response::open_panel`](crate::Response::open_panel) opens one for a
    /// command. It replaces the open panel. The person closes it with `esc`.
    pub fn open_panel(&self, panel: Panel) {
        self.show(&ShowCall::OpenPanel(panel));
    }

    fn show(&self, show: &ShowCall) {
        let args = match show {
            ShowCall::SetTitle(args) => RawJson::from_value(args),
            ShowCall::SetWorking(args) => RawJson::from_value(args),
            ShowCall::SetEditor(args) => RawJson::from_value(args),
            ShowCall::Insert(args) => RawJson::from_value(args),
            ShowCall::OpenPanel(panel) => RawJson::from_value(panel),
        };
        // The arguments always have a JSON form.
        if let Ok(args) = args {
            self.host.send_show(show.kind(), args);
        }
    }

    async fn text(&self, ask: AskCall) -> Result<Option<String>, HostError> {
        Ok(match self.ask_person(&ask).await?.answer {
            UiAnswer::Value(text) => Some(text),
            UiAnswer::Confirmed(_) | UiAnswer::Cancelled => None,
        })
    }

    async fn send(&self, kind: HostCallKind, args: &(impl Serialize + Sync)) -> Result<AskAnswer, HostError> {
        let args = RawJson::from_value(args);
        let args = args.map_err(|error| HostError::Failed { reason: error.to_string() })?;
        self.host.send_ask(kind, args).await
    }
}
