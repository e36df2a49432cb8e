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
use haft_rpc::SessionScreen;

use super::queue::{self, EventQueueReceiver, EventQueueSender};

/// The outputs of a session: those of a printed run, or those of a session that a client drives.
pub(crate) struct SessionOutputs {
    pub(crate) events: EventSink,
    /// The front end for panels and dialogs of extensions.
    pub(crate) frontend: Arc<dyn Frontend>,
    pub(crate) attach: Box<dyn FnOnce(AgentBuilder) -> AgentBuilder + Send>,
}

impl SessionOutputs {
    /// Returns the outputs of a printed run, whose notes wait in a queue. `observed` selects agent events that are
    /// queued too; `None` if a run reports them. Calls of the tools in `approve` are denied, because nobody can answer.
    pub(crate) fn for_printing(
        observed: Option<fn(&AgentEvent) -> bool>,
        approve: Vec<String>,
    ) -> (Self, EventQueueReceiver) {
        let (sender, events) = queue::event_queue();
        let (told, heard) = (sender.clone(), sender.clone());
        let ends = Self {
            events: Arc::new(move |event| told.send(event)),
            frontend: Arc::new(PrintingFrontend::new(sender)),
            attach: Box::new(move |builder| {
                let builder = builder.approve_tool(DenyWithoutPerson { tools: approve });
                match observed {
                    Some(wanted) => builder.observer(EventForwarder { events: heard, wanted }),
                    None => builder,
                }
            }),
        };
        (ends, events)
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
        ApproverDecision::Deny { by: HAFT.to_owned(), reason: reason.to_owned() }
    }

    fn name(&self) -> &str {
        HAFT
    }
}

/// Forwards the agent's events.
struct EventForwarder {
    events: EventQueueSender,
    wanted: fn(&AgentEvent) -> bool,
}

impl Observer for EventForwarder {
    fn observe(&self, event: &AgentEvent) {
        if (self.wanted)(event) {
            self.events.send(event.clone());
        }
    }
}

/// Converts panels and insertions into displayed text.
pub(crate) struct PrintingFrontend {
    events: EventQueueSender,
}

impl PrintingFrontend {
    /// Creates an output that sends to `events`, like the extensions' notes.
    pub(crate) fn new(events: EventQueueSender) -> Self {
        Self { events }
    }

    fn display_text(&self, extension: &ExtensionName, text: String) {
        self.events.send(AgentEvent::ExtDisplay { extension: extension.clone(), text });
    }
}

impl Frontend for PrintingFrontend {
    fn open_panel(&self, extension: &ExtensionName, panel: &Panel) {
        let title = if panel.title.is_empty() { extension.as_str() } else { &panel.title };
        let rows = std::iter::once(title).chain(panel.lines.iter().map(String::as_str));
        self.display_text(extension, rows.collect::<Vec<_>>().join("\n"));
    }

    fn insert(&self, extension: &ExtensionName, text: &str) {
        self.display_text(extension, text.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use haft_protocol::ids::PanelId;

    use super::*;
    use crate::run::queue::event_queue;

    #[test]
    fn shows_panel_as_title_and_rows() {
        let (sender, mut events) = event_queue();
        let todo = ExtensionName::new("todo");
        let panel = Panel {
            id: PanelId::new("p"),
            title: String::new(),
            lines: vec!["one".into(), "two".into()],
            footer: "esc close".into(),
        };
        PrintingFrontend::new(sender).open_panel(&todo, &panel);
        let text = "todo\none\ntwo".to_owned();
        assert_eq!(events.try_recv(), Some(AgentEvent::ExtDisplay { extension: todo, text }));
    }
}
