//! Events and panel events: handled one at a time, in the order of arrival, without a response.

use std::sync::Arc;

use haft_protocol::event::NoteLevel;
use haft_protocol::ext::{EventFrame, RegisterRejected};
use haft_protocol::ids::PanelId;
use tokio::sync::mpsc;

use crate::extension::{EventHandler, Extension};
use crate::handler::HandlerFailure;
use crate::host::Host;
use crate::outbox::FrameOutbox;
use crate::panel::PanelEvent;

/// A notification of the host.
#[derive(Debug)]
pub(crate) enum OneWay {
    Event(EventFrame),
    Gap(u64),
    Rejected(RegisterRejected),
    Panel(PanelId, PanelEvent),
}

/// Handles queued notifications until the connection ends. The queue has no limit: a dropped event
/// would leave a gap in an audit log, and waiting here would delay hooks.
pub(crate) async fn run(
    extension: Arc<Extension>,
    host: Host,
    mut queue: mpsc::UnboundedReceiver<OneWay>,
    outbox: FrameOutbox,
    handled: Option<&'static str>,
) {
    while let Some(one_way) = queue.recv().await {
        match one_way {
            OneWay::Event(event) => handle_event(&extension, &host, event).await,
            OneWay::Gap(lost) => handle_gap(&extension, &host, lost).await,
            OneWay::Rejected(rejected) => handle_rejected(&extension, &host, rejected).await,
            OneWay::Panel(id, event) => handle_panel(&extension, &host, &id, event).await,
        }
        if let Some(line) = handled {
            outbox.send_marker(line);
        }
    }
}

async fn handle_event(extension: &Extension, host: &Host, event: EventFrame) {
    // A session event for handlers of the other form, and the tool of a `tool_call`.
    let lifecycle = match &event {
        EventFrame::Lifecycle(event) => Some(event.clone()),
        EventFrame::Session(event) => event.to_lifecycle(),
    };
    let tool = lifecycle.as_ref().and_then(|event| event.tool_name.as_deref()).unwrap_or_default();
    for handler in extension.events.find_handlers(event.name(), tool) {
        let outcome = match (handler, &event, &lifecycle) {
            (EventHandler::Lifecycle(handler), _, Some(event)) => {
                handler.call(event.clone(), host.clone()).await
            }
            (EventHandler::Session(handler), EventFrame::Session(event), _) => {
                handler.call(event.clone(), host.clone()).await
            }
            (EventHandler::Lifecycle(_), _, None) | (EventHandler::Session(_), _, _) => continue,
        };
        report(host, event.name(), outcome);
    }
}

async fn handle_gap(extension: &Extension, host: &Host, lost: u64) {
    match &extension.event_gap {
        Some(handler) => report(host, "event_gap", handler.call(lost, host.clone()).await),
        None => host.log(format_args!("{lost} events were lost: they are not read fast enough")),
    }
}

async fn handle_rejected(extension: &Extension, host: &Host, rejected: RegisterRejected) {
    match &extension.rejected {
        Some(handler) => {
            report(host, "register_rejected", handler.call(rejected, host.clone()).await);
        }
        None => host.log(rejected.reason),
    }
}

async fn handle_panel(extension: &Extension, host: &Host, id: &PanelId, event: PanelEvent) {
    for (_, handler) in extension.panels.iter().filter(|(panel, _)| panel == id) {
        let outcome = handler.call(event.clone(), host.clone()).await;
        report(host, id.as_str(), outcome);
    }
}

/// Reports a failure to the user and the log, because no caller waits for a response.
fn report(host: &Host, what: &str, outcome: Result<(), HandlerFailure>) {
    if let Err(HandlerFailure(reason)) = outcome {
        host.log(format_args!("{what}: {reason}"));
        host.notify(NoteLevel::Error, format!("handler of {what} failed: {reason}"));
    }
}
