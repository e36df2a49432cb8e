//! The recorded frames of an extension, from which all other state is derived.

use std::collections::BTreeMap;

use haft_protocol::codec::{self, DecodedFrame};
use haft_protocol::event::NoteLevel;
use haft_protocol::ext::{
    CommandAction, EmitCall, ExtensionFrame, HostCall, HostCallKind, Panel, PanelRender, QueryResponse,
    RegisterCommand, RegisterTool, ResultBlock, ShowCall,
};
use haft_protocol::ids::RequestId;
use haft_protocol::limits::MAX_RESULT_LINE;
use tokio::io::AsyncRead;
use tokio::sync::watch;

use super::HANDLED;
use crate::serve::lines::LineReader;

/// The beginning of the line with the facts about the session, which may follow `ready`.
const HELLO_ACK: &str = "→ {\"type\":\"hello_ack\"";

/// The lines of the connection so far.
#[derive(Debug)]
pub(super) struct ExtensionRecord {
    data_dir: Option<String>,
    lines: Vec<String>,
    frames: Vec<ExtensionFrame>,
    /// The number of lines up to `ready`.
    opening: usize,
    pub(super) handled: u64,
    /// The outcome, after the end.
    pub(super) outcome: Option<Result<(), String>>,
}

/// Records the frames of the extension until it closes its output.
pub(super) async fn watch_frames<R: AsyncRead + Unpin>(reader: R, seen: &watch::Sender<ExtensionRecord>) {
    let mut lines = LineReader::new(reader, MAX_RESULT_LINE);
    while let Ok(Some(line)) = lines.next().await {
        seen.send_modify(|seen| seen.record_received(line));
    }
}

impl ExtensionRecord {
    pub(super) fn new(data_dir: Option<String>) -> Self {
        Self { data_dir, lines: Vec::new(), frames: Vec::new(), opening: 0, handled: 0, outcome: None }
    }

    pub(super) fn record_sent(&mut self, line: &str) {
        self.lines.push(format!("→ {line}"));
    }

    pub(super) fn has_hello(&self) -> bool {
        self.frames.iter().any(|frame| matches!(frame, ExtensionFrame::Hello(_)))
    }

    pub(super) fn has_ready(&self) -> bool {
        self.frames.iter().any(|frame| matches!(frame, ExtensionFrame::Ready(_)))
    }

    pub(super) fn find_response(&self, id: &RequestId) -> Option<QueryResponse> {
        self.frames.iter().filter_map(response_of).find(|response| response.id() == id)
    }

    /// True if this tool call has shown this text as its progress.
    pub(super) fn has_progress(&self, id: &RequestId, text: &str) -> bool {
        let content = Some(vec![ResultBlock::Text { text: text.to_owned() }]);
        self.frames.iter().any(|frame| {
            if let ExtensionFrame::Progress(progress) = frame {
                progress.id == *id && progress.content == content
            } else {
                false
            }
        })
    }

    pub(super) fn commands(&self) -> Vec<RegisterCommand> {
        let commands = self.frames.iter().filter_map(|frame| {
            if let ExtensionFrame::RegisterCommand(command) = frame { Some(command.clone()) } else { None }
        });
        commands.collect()
    }

    pub(super) fn tools(&self) -> Vec<RegisterTool> {
        let tools = self.frames.iter().filter_map(|frame| {
            if let ExtensionFrame::RegisterTool(tool) = frame { Some(tool.clone()) } else { None }
        });
        tools.collect()
    }

    pub(super) fn notes(&self) -> Vec<(NoteLevel, String)> {
        let cleared = self.frames.iter().rposition(|frame| matches!(frame, ExtensionFrame::ClearNotes(_)));
        let since = self.frames.iter().skip(cleared.map_or(0, |at| at + 1));
        let notes = since.filter_map(|frame| {
            if let ExtensionFrame::Notify(note) = frame {
                Some((note.level, note.message.clone()))
            } else {
                None
            }
        });
        notes.collect()
    }

    pub(super) fn status(&self) -> Vec<(String, String)> {
        let mut now = BTreeMap::new();
        for frame in &self.frames {
            if let ExtensionFrame::SetStatus(status) = frame {
                now.insert(status.key.clone(), status.text.clone());
            }
        }
        now.into_iter().filter(|(_, text)| !text.is_empty()).collect()
    }

    pub(super) fn panel(&self, id: &str) -> Option<Panel> {
        self.frames.iter().fold(None, |shown, frame| next_panel(shown, frame, id))
    }

    pub(super) fn host_calls(&self) -> impl Iterator<Item = &HostCall> {
        self.frames
            .iter()
            .filter_map(|frame| if let ExtensionFrame::HostCall(call) = frame { Some(call) } else { None })
    }

    pub(super) fn screen_changes(&self) -> Vec<ShowCall> {
        let shows = self
            .host_calls()
            .filter_map(|call| ShowCall::read(HostCallKind::from_name(&call.call)?, &call.args)?.ok());
        shows.collect()
    }

    pub(super) fn emitted_messages(&self) -> Vec<EmitCall> {
        let emitted = self
            .host_calls()
            .filter_map(|call| EmitCall::read(HostCallKind::from_name(&call.call)?, &call.args)?.ok());
        emitted.collect()
    }

    pub(super) fn transcript(&self) -> String {
        self.hide_data_dir(self.lines.join("\n"))
    }

    pub(super) fn transcript_since_ready(&self) -> String {
        let lines = self.lines.iter().skip(self.opening);
        let lines = lines.filter(|line| !line.starts_with(HELLO_ACK)).map(String::as_str);
        self.hide_data_dir(lines.collect::<Vec<_>>().join("\n"))
    }

    fn hide_data_dir(&self, text: String) -> String {
        match &self.data_dir {
            Some(dir) => text.replace(dir, "[data_dir]"),
            None => text,
        }
    }

    fn record_received(&mut self, line: &[u8]) {
        if line == HANDLED.trim_end().as_bytes() {
            self.handled += 1;
            return;
        }
        self.lines.push(format!("← {}", String::from_utf8_lossy(line)));
        if let Ok(DecodedFrame::Known(frame)) = codec::decode_with_limit(line, MAX_RESULT_LINE) {
            if matches!(frame, ExtensionFrame::Ready(_)) && !self.has_ready() {
                self.opening = self.lines.len();
            }
            self.frames.push(frame);
        }
    }
}

fn response_of(frame: &ExtensionFrame) -> Option<QueryResponse> {
    if let ExtensionFrame::CommandResponse(response) = frame {
        Some(QueryResponse::Command(response.clone()))
    } else if let ExtensionFrame::CommandCompletionsResponse(response) = frame {
        Some(QueryResponse::Completions(response.clone()))
    } else if let ExtensionFrame::ToolResult(result) = frame {
        Some(QueryResponse::Tool(result.clone()))
    } else if let ExtensionFrame::EventInterceptResponse(response) = frame {
        Some(QueryResponse::Intercept(response.clone()))
    } else if let ExtensionFrame::ExtResult(result) = frame {
        Some(QueryResponse::Call(result.clone()))
    } else {
        None
    }
}

/// Returns the content of a panel after one more frame.
fn next_panel(shown: Option<Panel>, frame: &ExtensionFrame, id: &str) -> Option<Panel> {
    match (shown, frame) {
        (_, ExtensionFrame::CommandResponse(response)) if opens_panel(response.clone().try_into(), id) => {
            response.open_panel.clone()
        }
        (shown, ExtensionFrame::HostCall(call)) if call.call == HostCallKind::OpenPanel.name() => {
            call.args.read::<Panel>().ok().filter(|panel| panel.id.as_str() == id).or(shown)
        }
        (Some(shown), ExtensionFrame::PanelRender(render)) if render.panel_id.as_str() == id => {
            Some(redraw_panel(shown, render.clone()))
        }
        (_, ExtensionFrame::PanelClose(close)) if close.panel_id.as_str() == id => None,
        (shown, _) => shown,
    }
}

fn opens_panel<E>(action: Result<CommandAction, E>, id: &str) -> bool {
    matches!(action, Ok(CommandAction::OpenPanel(panel)) if panel.id.as_str() == id)
}

fn redraw_panel(shown: Panel, render: PanelRender) -> Panel {
    let title = if render.title.is_empty() { shown.title } else { render.title };
    Panel { id: shown.id, title, lines: render.lines, footer: render.footer }
}
