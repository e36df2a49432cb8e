//! `SessionScreen`: the client as front end of a session. It receives the output of extensions and
//! asks the person questions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use haft_core::AgentBuilder;
use haft_core::hooks::{ApproveTool, ApproverDecision, Observer, PendingCall};
use haft_core::session::Session;
use haft_core::tool::ApprovalRequest;
use haft_host::{EventSink, FailingGate, Frontend, GateChoice};
use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::{
    AskAnswer, AskCall, AskEnd, ConfirmCall, EditorCall, InputCall, InsertCall, Panel, PanelRender,
    SelectCall, SetEditorCall, SetTitleCall, SetWorkingCall, ShowCall, StatusText,
};
use haft_protocol::ids::{ExtensionName, PanelId};
use haft_protocol::rpc::{
    ClientEvent, CommandFailure, PanelContent, ReplyPayload, RpcEvent, RpcRequest, SessionEnd, UiAnswer,
    UiEnd, UiKind,
};
use tokio_util::sync::CancellationToken;

use crate::client_sink::ClientSink;
use crate::dialogs::{ClosedDialog, UserQuestion};
use crate::extension_commands::ExtensionCommandSender;
use crate::question_broker::{QuestionBroker, is_confirmed};

/// The answers to the question about a failing gate, with their meanings.
const CHOICES: [(&str, GateChoice); 3] = [
    ("restart", GateChoice::Restart),
    ("continue_without", GateChoice::ContinueWithout),
    ("stop", GateChoice::Stop),
];

/// Creates the screen of a session that is being opened.
#[derive(Debug)]
pub struct ScreenFactory {
    client_sink: ClientSink,
    questions: QuestionBroker,
    /// True if the client gets `session_opened` events.
    announces_sessions: bool,
    extension_commands: ExtensionCommandSender,
    begun: Mutex<Vec<String>>,
}

impl ScreenFactory {
    pub(crate) fn new(
        outlet: ClientSink,
        questions: QuestionBroker,
        extension_commands: ExtensionCommandSender,
        tells: bool,
    ) -> Self {
        Self {
            client_sink: outlet,
            questions,
            announces_sessions: tells,
            extension_commands,
            begun: Mutex::default(),
        }
    }

    /// Creates the screen of a session. The client gets the event that the session is open before
    /// any other event of it.
    pub fn open_screen(&self, session: &Session) -> Arc<SessionScreen> {
        let id = session.id().to_string();
        let path = session.path().map(|path| path.to_string_lossy().into_owned());
        lock(&self.begun).push(id.clone());
        if self.announces_sessions {
            self.client_sink.event(Some(&id), RpcEvent::SessionOpened { ephemeral: path.is_none(), path });
        }
        Arc::new(SessionScreen {
            session: id,
            client_sink: self.client_sink.clone(),
            questions: self.questions.clone(),
            extension_commands: self.extension_commands.clone(),
            panels: Mutex::default(),
            decorated: Mutex::default(),
            compacting: AtomicBool::new(false),
        })
    }

    /// Reports that the session was not opened.
    pub(crate) fn report_open_failed(&self) {
        for id in std::mem::take(&mut *lock(&self.begun)).iter().filter(|_| self.announces_sessions) {
            self.client_sink.event(Some(id), RpcEvent::SessionClosed { reason: SessionEnd::Failed });
        }
    }
}

/// The client as front end of a session, for its extensions and its agent.
#[derive(Debug)]
pub struct SessionScreen {
    /// The id of the session when it was opened, by which the client knows it.
    session: String,
    client_sink: ClientSink,
    questions: QuestionBroker,
    extension_commands: ExtensionCommandSender,
    panels: Mutex<BTreeMap<ExtensionName, PanelId>>,
    /// The extensions that have set the title or the line of work.
    decorated: Mutex<BTreeSet<ExtensionName>>,
    /// True during a compaction outside of a run.
    compacting: AtomicBool,
}

impl SessionScreen {
    /// Returns the sink for events of the session's extension host.
    pub fn events(self: &Arc<Self>) -> EventSink {
        let screen = Arc::clone(self);
        Arc::new(move |event| screen.event(event))
    }

    /// Adds the hooks of the client to the agent's builder: approval of tool calls, and events of
    /// compactions that the client requested.
    pub fn attach_to(self: &Arc<Self>, builder: AgentBuilder) -> AgentBuilder {
        self.attach_observer(builder.approve_tool(ScreenHooks(Arc::clone(self))))
    }

    /// Adds only the observer of changes and compactions outside of runs, for a program that decides about
    /// approvals by itself.
    pub fn attach_observer(self: &Arc<Self>, builder: AgentBuilder) -> AgentBuilder {
        builder.observer(ScreenHooks(Arc::clone(self)))
    }

    /// Returns the id by which the client knows the session.
    pub fn session(&self) -> &str {
        &self.session
    }

    pub(crate) fn event(&self, event: impl Into<ClientEvent>) {
        self.client_sink.event(Some(&self.session), event);
    }

    /// Sets whether a compaction runs outside of a run.
    pub(crate) fn set_compacting(&self, now: bool) {
        self.compacting.store(now, Ordering::Relaxed);
    }

    /// Removes a panel that the person closed. Returns true if it was open.
    pub(crate) fn remove_panel(&self, extension: &ExtensionName, panel: &PanelId) -> bool {
        let mut panels = lock(&self.panels);
        let open = panels.get(extension) == Some(panel);
        if open {
            panels.remove(extension);
        }
        open
    }

    pub(crate) fn has_panel(&self, extension: &ExtensionName, panel: &PanelId) -> bool {
        lock(&self.panels).get(extension) == Some(panel)
    }
}

#[async_trait]
impl Frontend for SessionScreen {
    fn open_panel(&self, extension: &ExtensionName, panel: &Panel) {
        lock(&self.panels).insert(extension.clone(), panel.id.clone());
        let Panel { id, title, lines, footer } = panel.clone();
        let panel = PanelContent { panel_id: id, title, lines, footer };
        self.event(RpcEvent::PanelOpen { extension: extension.clone(), panel });
    }

    fn render_panel(&self, extension: &ExtensionName, panel: &PanelRender) {
        if !self.has_panel(extension, &panel.panel_id) {
            return;
        }
        let PanelRender { panel_id, title, lines, footer } = panel.clone();
        let panel = PanelContent { panel_id, title, lines, footer };
        self.event(RpcEvent::PanelRender { extension: extension.clone(), panel });
    }

    fn close_panel(&self, extension: &ExtensionName, panel: &PanelId) {
        if self.remove_panel(extension, panel) {
            self.event(RpcEvent::PanelClose { extension: extension.clone(), panel_id: panel.clone() });
        }
    }

    fn registrations_changed(&self, extension: &ExtensionName) {
        self.event(RpcEvent::RegistrationsChanged { extension: extension.clone() });
    }

    fn insert(&self, extension: &ExtensionName, text: &str) {
        self.event(RpcEvent::Insert { extension: extension.clone(), text: text.to_owned() });
    }

    fn show(&self, extension: &ExtensionName, show: &ShowCall) {
        let extension = extension.clone();
        self.event(match show.clone() {
            ShowCall::SetTitle(SetTitleCall { text }) => {
                lock(&self.decorated).insert(extension.clone());
                RpcEvent::SetTitle { extension, text }
            }
            ShowCall::SetWorking(working) => {
                lock(&self.decorated).insert(extension.clone());
                RpcEvent::SetWorking { extension, working }
            }
            ShowCall::SetEditor(SetEditorCall { text }) => RpcEvent::SetEditor { extension, text },
            ShowCall::Insert(InsertCall { text }) => RpcEvent::Insert { extension, text },
            ShowCall::OpenPanel(panel) => return self.open_panel(&extension, &panel),
        });
    }

    fn set_status(&self, extension: &ExtensionName, key: &str, text: Option<&StatusText>) {
        let (extension, key) = (extension.clone(), key.to_owned());
        let (text, styled) = text.cloned().map(|now| (now.text, now.styled)).unzip();
        self.event(RpcEvent::ExtStatus { extension, key, text, styled: styled.unwrap_or_default() });
    }

    async fn ask(&self, cancel: &CancellationToken, extension: &ExtensionName, ask: &AskCall) -> AskAnswer {
        match self.questions.ask_question(cancel, &self.session, extension_question(extension, ask)).await {
            Some(ClosedDialog { answer, why, .. }) => AskAnswer { answer, why: ask_end(why) },
            None if cancel.is_cancelled() => ask.without_answer(AskEnd::Cancelled),
            None => ask.without_answer(AskEnd::NoPerson),
        }
    }

    async fn execute_command(
        &self,
        extension: &ExtensionName,
        mut request: RpcRequest,
    ) -> Result<ReplyPayload, CommandFailure> {
        request.session.get_or_insert_with(|| self.session.clone());
        self.extension_commands.execute_command(extension, request).await
    }

    async fn ask_about_failing_gate(&self, cancel: &CancellationToken, failing: &FailingGate) -> GateChoice {
        let FailingGate { extension, reason, failures, .. } = failing;
        let title = format!("Extension {extension} keeps failing and blocks the agent");
        let stop = UiAnswer::Value("stop".to_owned());
        let question = UserQuestion {
            extension: Some(extension.clone()),
            message: format!("{failures} times in a row; last: {reason}"),
            options: CHOICES.map(|(word, _)| word.to_owned()).to_vec(),
            ..UserQuestion::new(UiKind::GateFailing, title, stop)
        };
        let over = self.questions.ask_question(cancel, &self.session, question).await;
        let chosen = over.and_then(|over| {
            let UiAnswer::Value(word) = over.answer else { return None };
            CHOICES.into_iter().find(|(known, _)| *known == word)
        });
        chosen.map_or(GateChoice::Stop, |(_, choice)| choice)
    }

    fn extension_gone(&self, extension: &ExtensionName) {
        let panel = lock(&self.panels).remove(extension);
        if let Some(panel_id) = panel {
            self.event(RpcEvent::PanelClose { extension: extension.clone(), panel_id });
        }
        if lock(&self.decorated).remove(extension) {
            self.event(RpcEvent::SetTitle { extension: extension.clone(), text: String::new() });
            let working = SetWorkingCall::reset();
            self.event(RpcEvent::SetWorking { extension: extension.clone(), working });
        }
    }
}

fn extension_question(extension: &ExtensionName, ask: &AskCall) -> UserQuestion {
    let question = |kind| UserQuestion {
        extension: Some(extension.clone()),
        timeout_ms: ask.timeout_ms(),
        ..UserQuestion::new(kind, ask.title(), ask.default_answer())
    };
    match ask {
        AskCall::Confirm(ConfirmCall { message, .. }) => {
            UserQuestion { message: message.clone(), ..question(UiKind::Confirm) }
        }
        AskCall::Select(SelectCall { message, options, .. }) => {
            UserQuestion { message: message.clone(), options: options.clone(), ..question(UiKind::Select) }
        }
        AskCall::Input(InputCall { message, placeholder, .. }) => UserQuestion {
            message: message.clone(),
            placeholder: placeholder.clone(),
            ..question(UiKind::Input)
        },
        AskCall::Editor(EditorCall { prefill, .. }) => {
            UserQuestion { prefill: prefill.clone(), ..question(UiKind::Editor) }
        }
    }
}

fn ask_end(why: UiEnd) -> AskEnd {
    match why {
        UiEnd::Answered => AskEnd::Answered,
        UiEnd::Timeout => AskEnd::Timeout,
        UiEnd::Cancelled => AskEnd::Cancelled,
        UiEnd::Shutdown => AskEnd::Shutdown,
    }
}

/// The screen as hooks of the agent.
struct ScreenHooks(Arc<SessionScreen>);

#[async_trait]
impl ApproveTool for ScreenHooks {
    async fn approve_tool(&self, cancel: &CancellationToken, call: &ToolCall) -> ApproverDecision {
        self.approve_call(cancel, &PendingCall::new(call)).await
    }

    async fn approve_call(&self, cancel: &CancellationToken, pending: &PendingCall<'_>) -> ApproverDecision {
        let Self(screen) = self;
        if !screen.questions.wants_approval(&pending.call.name) {
            return ApproverDecision::Approve;
        }
        self.ask_about_call(cancel, pending, String::new()).await
    }

    async fn ask_person(
        &self,
        cancel: &CancellationToken,
        pending: &PendingCall<'_>,
        request: &ApprovalRequest,
    ) -> Option<ApproverDecision> {
        let Self(screen) = self;
        if !screen.questions.has_person() {
            return None;
        }
        Some(self.ask_about_call(cancel, pending, request.question_text()).await)
    }

    fn name(&self) -> &str {
        "the user"
    }
}

impl ScreenHooks {
    /// Asks the person about a call.
    async fn ask_about_call(
        &self,
        cancel: &CancellationToken,
        pending: &PendingCall<'_>,
        message: String,
    ) -> ApproverDecision {
        let (Self(screen), call) = (self, pending.call);
        // Without a person, the question is not asked.
        let preview = if screen.questions.has_person() { pending.request_preview().await } else { None };
        let (title, no) = (format!("Run {}?", call.name), UiAnswer::Confirmed(false));
        let question = UserQuestion {
            message,
            call: Some(call.clone()),
            preview: preview.cloned(),
            ..UserQuestion::new(UiKind::Approve, title, no)
        };
        let over = screen.questions.ask_question(cancel, &screen.session, question).await;
        if is_confirmed(over.as_ref()) {
            return ApproverDecision::Approve;
        }
        let reason = match over.map(|over| over.why) {
            Some(UiEnd::Answered | UiEnd::Cancelled) => "the user denied the call",
            Some(UiEnd::Timeout | UiEnd::Shutdown) => {
                "the call needs the user's approval, and no answer arrived"
            }
            None => "the call needs the user's approval, and the client answers no questions",
        };
        ApproverDecision::Deny { reason: reason.to_owned() }
    }
}

impl Observer for ScreenHooks {
    /// Forwards changes of the model and the thinking level, and the events of compactions outside
    /// of runs. The task of a run forwards its events, and the host those of calls outside of runs.
    #[expect(clippy::wildcard_enum_match_arm, reason = "other code forwards the other events")]
    fn observe(&self, event: &AgentEvent) {
        let Self(screen) = self;
        match event {
            AgentEvent::ModelChanged { .. } | AgentEvent::ThinkingChanged { .. } => {
                screen.event(event.clone());
            }
            _ if !screen.compacting.load(Ordering::Relaxed) => {}
            AgentEvent::CompactionStart { .. }
            | AgentEvent::CompactionEnd { .. }
            | AgentEvent::Usage { .. }
            | AgentEvent::Retry { .. }
            | AgentEvent::ModelFallback { .. }
            | AgentEvent::Session { .. }
            | AgentEvent::SessionRepaired { .. } => screen.event(event.clone()),
            _ => {}
        }
    }
}

/// Locks a map or list. Each change is one call, so a poisoned lock is harmless.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
