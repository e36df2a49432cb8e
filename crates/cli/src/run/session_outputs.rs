//! `SessionOutputs`: the outputs of a session's extensions, and its front end.

use std::sync::Arc;

use async_trait::async_trait;
use haft_core::AgentBuilder;
use haft_core::hooks::{ApproveTool, ApproverDecision, CancellationToken, Observer};
use haft_host::{EventSink, Frontend};
use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::Panel;
use haft_protocol::ids::ExtensionName;
use haft_protocol::names::{HAFT, lists_tool};
use haft_protocol::rpc::{CommandFailure, ReplyPayload, RpcRequest};
use haft_rpc::SessionScreen;

/// The outputs of a session: those of a printed run, or those of a session that a client drives.
pub(crate) struct SessionOutputs {
    pub(crate) events: EventSink,
    /// The front end for panels and dialogs of extensions.
    pub(crate) frontend: Arc<dyn Frontend>,
    pub(crate) attach: Box<dyn FnOnce(AgentBuilder) -> AgentBuilder + Send>,
}

impl SessionOutputs {
    /// Returns the outputs of a printed run, whose events wait at the screen. `observed` selects agent events that wait
    /// there too; `None` if a run reports them. Calls of the tools in `approve` are denied, because no person can answer.
    pub(crate) fn for_printing(
        screen: &Arc<SessionScreen>,
        observed: Option<fn(&AgentEvent) -> bool>,
        approve: Vec<String>,
    ) -> Self {
        let (events, observer) = (screen.events(), Arc::clone(screen));
        Self {
            events: screen.events(),
            frontend: Arc::new(PrintingFrontend::new(screen)),
            attach: Box::new(move |builder| {
                let builder = builder.approve_tool(DenyWithoutPerson { tools: approve });
                match observed {
                    Some(wanted) => builder.observer(EventForwarder { events, wanted }),
                    None => observer.attach_observer(builder),
                }
            }),
        }
    }

    pub(crate) fn for_screen(screen: &Arc<SessionScreen>) -> Self {
        let joined = Arc::clone(screen);
        Self {
            events: screen.events(),
            frontend: Arc::clone(screen) as Arc<dyn Frontend>,
            attach: Box::new(move |builder| joined.attach_to(builder)),
        }
    }
}

/// Approver of a run without a person: denies all calls of these tools.
struct DenyWithoutPerson {
    tools: Vec<String>,
}

#[async_trait]
impl ApproveTool for DenyWithoutPerson {
    async fn approve_tool(&self, _cancel: &CancellationToken, call: &ToolCall) -> ApproverDecision {
        if !lists_tool(&self.tools, &call.name) {
            return ApproverDecision::Approve;
        }
        let reason = "`tools.approve` requires a person's approval, and this run cannot ask a person; run haft in a terminal, \
                      or pass `--approve none`";
        ApproverDecision::Deny { reason: reason.to_owned() }
    }

    fn name(&self) -> &str {
        HAFT
    }
}

/// Forwards the agent's events.
struct EventForwarder {
    events: EventSink,
    wanted: fn(&AgentEvent) -> bool,
}

impl Observer for EventForwarder {
    fn observe(&self, event: &AgentEvent) {
        if (self.wanted)(event) {
            (self.events)(event.clone());
        }
    }
}

/// Converts panels and insertions into displayed text, and passes commands to the owner of the session.
pub(crate) struct PrintingFrontend {
    screen: Arc<SessionScreen>,
    events: EventSink,
}

impl PrintingFrontend {
    /// Creates an output whose texts wait at this screen, like the extensions' notes.
    pub(crate) fn new(screen: &Arc<SessionScreen>) -> Self {
        Self { screen: Arc::clone(screen), events: screen.events() }
    }

    fn display_text(&self, extension: &ExtensionName, text: String) {
        (self.events)(AgentEvent::ExtDisplay { extension: extension.clone(), text });
    }
}

#[async_trait]
impl Frontend for PrintingFrontend {
    fn open_panel(&self, extension: &ExtensionName, panel: &Panel) {
        let title = if panel.title.is_empty() { extension.as_str() } else { &panel.title };
        let rows = std::iter::once(title).chain(panel.lines.iter().map(String::as_str));
        self.display_text(extension, rows.collect::<Vec<_>>().join("\n"));
    }

    fn insert(&self, extension: &ExtensionName, text: &str) {
        self.display_text(extension, text.to_owned());
    }

    async fn execute_command(
        &self,
        extension: &ExtensionName,
        request: RpcRequest,
    ) -> Result<ReplyPayload, CommandFailure> {
        self.screen.execute_command(extension, request).await
    }
}

#[cfg(test)]
mod tests {
    use haft_core::session::Session;
    use haft_protocol::ids::PanelId;
    use haft_rpc::SessionOwner;

    use super::*;

    #[test]
    fn shows_panel_as_title_and_rows() {
        let owner = SessionOwner::new();
        let screen = owner.open_screen(&Session::in_memory("/".as_ref()));
        let todo = ExtensionName::new("todo");
        let panel = Panel {
            id: PanelId::new("p"),
            title: String::new(),
            lines: vec!["one".into(), "two".into()],
            footer: "esc close".into(),
        };
        PrintingFrontend::new(&screen).open_panel(&todo, &panel);
        let text = "todo\none\ntwo".to_owned();
        assert_eq!(owner.events().try_recv(), Some(AgentEvent::ExtDisplay { extension: todo, text }));
    }
}
