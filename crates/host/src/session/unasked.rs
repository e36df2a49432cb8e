//! What an extension says that nobody asked for, within its limits; and whether it says anything at all.

use std::time::Instant;

use haft_protocol::ext::{ExtensionFrame, HostFrame, Notify, PanelClose, PanelRender, Ping, Pong, SetStatus};

use super::rates::Unasked;
use super::{Alert, Output, Phase, Session, Ui};
use crate::wire::decode::excerpt;
use crate::wire::fault::FaultCode;

impl<T> Session<T> {
    /// Whether nothing shall be read at this moment. What the extension writes waits in its pipe, and in the end the
    /// extension with it.
    pub(crate) fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// A read is dealt with. It ended `unfinished` bytes into a line; `lines` were complete.
    pub(crate) fn handle_read(&mut self, lines: usize, unfinished: usize, now: Instant) {
        self.watch.heard(!self.pending.is_empty(), now);
        // While it is paused, what is left over are lines that nobody has looked at.
        let unfinished = if self.is_paused() { 0 } else { unfinished };
        self.watch.unfinished(unfinished, lines > 0, now);
    }

    /// Blank lines came. They mean nothing.
    pub(crate) fn handle_blank(&mut self, lines: usize, now: Instant) {
        if lines == 0 {
            return;
        }
        let unasked = self.rates.blank(lines, now);
        self.keep_to_rate(unasked, now);
    }

    /// Counts a line that answers nothing.
    pub(super) fn count(&mut self, bytes: usize, now: Instant) {
        let unasked = self.rates.line(bytes, now);
        self.keep_to_rate(unasked, now);
    }

    /// Calls to the host are counted where it is seen what becomes of them. Answers cost nothing where they answer
    /// something, which is seen later. Nor do registrations before `ready`: the time for them is limited, and a generated
    /// extension may have many.
    pub(super) fn is_unasked(&self, frame: &ExtensionFrame) -> bool {
        match frame {
            ExtensionFrame::ToolResult(_)
            | ExtensionFrame::EventInterceptResponse(_)
            | ExtensionFrame::CommandResponse(_)
            | ExtensionFrame::CommandCompletionsResponse(_)
            | ExtensionFrame::HostCall(_)
            | ExtensionFrame::HostCallCancel(_)
            | ExtensionFrame::Pong(_) => false,
            ExtensionFrame::Hello(_) => !matches!(self.phase, Phase::AwaitHello { .. }),
            ExtensionFrame::RegisterCommand(_)
            | ExtensionFrame::RegisterTool(_)
            | ExtensionFrame::Subscribe(_)
            | ExtensionFrame::Ready(_) => !matches!(self.phase, Phase::Registering { .. }),
            ExtensionFrame::PanelRender(_)
            | ExtensionFrame::PanelClose(_)
            | ExtensionFrame::Notify(_)
            | ExtensionFrame::ClearNotes(_)
            | ExtensionFrame::SetStatus(_)
            | ExtensionFrame::ShutdownAck(_) => true,
        }
    }

    /// Counts a call that the host makes.
    pub(super) fn count_call(&mut self, bytes: usize, now: Instant) {
        let Some(until) = self.rates.call(bytes, now) else { return };
        self.paused = self.paused.max(Some(until));
        if self.rates.begins(now) {
            let rate = self.facts.limits.frames_per_second;
            let text = format!("makes more than {rate} calls to the host a second: it is read slowly");
            self.report(FaultCode::RateLimited, text);
        }
    }

    fn keep_to_rate(&mut self, unasked: Unasked, now: Instant) {
        let Unasked::Over { until, since } = unasked else { return };
        self.paused = Some(until);
        let (rate, after) = (self.facts.limits.frames_per_second, self.facts.timeouts.overrun);
        if now > since + after && self.is_in_use() {
            let after = after.as_secs_f64();
            let text = format!("sent more than {rate} lines a second that nobody asked for, for {after} s");
            return self.fail(FaultCode::RateLimited, text);
        }
        if self.rates.begins(now) {
            let text =
                format!("sends more than {rate} lines a second that nobody asked for: it is read slowly");
            self.report(FaultCode::RateLimited, text);
        }
    }

    pub(super) fn on_note(&mut self, note: Notify, now: Instant) {
        if self.rates.note(now) {
            self.report_dropped_notes();
            self.reports.note();
            self.out.push_back(Output::Ui(Ui::Notify(note)));
        } else if self.rates.begins(now) {
            let rate = self.facts.limits.notes_per_second;
            let text = format!("shows more than {rate} notes a second: the rest is dropped");
            self.report(FaultCode::RateLimited, text);
        }
    }

    /// The log says once how many there were, when the flood is over.
    pub(super) fn report_dropped_notes(&mut self) {
        match self.rates.take_dropped_notes() {
            0 => {}
            dropped => self.log(format!("notes_dropped: {dropped}")),
        }
    }

    pub(super) fn on_panel_render(&mut self, panel: PanelRender, now: Instant) {
        let shown = self.panels.render(panel, now);
        self.out.extend(shown.map(|panel| Output::Ui(Ui::PanelRender(panel))));
    }

    pub(super) fn on_panel_close(&mut self, panel: PanelClose) {
        self.panels.forget(&panel.panel_id);
        self.out.push_back(Output::Ui(Ui::PanelClose(panel)));
    }

    /// Shows what waits: a command's answer may open a panel, and nothing older must come after it.
    pub(super) fn flush_panels(&mut self) {
        let shown = self.panels.flush().map(|panel| Output::Ui(Ui::PanelRender(panel)));
        self.out.extend(shown);
    }

    pub(super) fn on_status(&mut self, status: SetStatus, now: Instant) {
        match self.status.set(status, &self.facts.limits, now) {
            Ok(shown) => self.out.extend(shown.map(|status| Output::Ui(Ui::Status(status)))),
            Err(text) => self.report(FaultCode::RegisterRejected, text),
        }
    }

    pub(super) fn on_pong(&mut self, pong: &Pong, now: Instant) {
        if !self.watch.answers(&pong.id) {
            self.count(0, now);
            let id = excerpt(pong.id.as_str().as_bytes());
            self.report(FaultCode::UnknownId, format!("sent a pong for {id}, which nobody asked"));
        }
    }

    /// How many registrations were too many, in one report: at `ready`, or when the first one comes after it.
    pub(super) fn report_surplus(&mut self) {
        if matches!(self.phase, Phase::Registering { .. }) {
            return;
        }
        let Some(surplus) = self.reports.take_surplus() else { return };
        let (tools, commands) = (self.facts.limits.max_tools, self.facts.limits.max_commands);
        let text = format!(
            "registered {surplus} more than it may: the first {tools} tools and {commands} commands are kept"
        );
        self.report(FaultCode::RegisterRejected, text);
    }

    /// What the rates and the watch want at this time.
    pub(super) fn flow_deadline(&mut self, flushed: u64, now: Instant) {
        self.paused = self.paused.filter(|until| *until > now);
        while let Some(panel) = self.panels.due(now) {
            self.out.push_back(Output::Ui(Ui::PanelRender(panel)));
        }
        while let Some(status) = self.status.due(now) {
            self.out.push_back(Output::Ui(Ui::Status(status)));
        }
        if !self.is_in_use() {
            return;
        }
        match self.watch.due(&self.facts.timeouts, self.lines, flushed, now) {
            None => {}
            Some(Alert::Ping(id)) => match self.encode(HostFrame::Ping(Ping { id })) {
                Ok(line) => self.write(line, false),
                Err(detail) => self.log(detail),
            },
            Some(Alert::Silent) => {
                let after = (self.facts.timeouts.ping + self.facts.timeouts.pong).as_secs_f64();
                let text = format!("was silent for {after} s and did not answer a ping");
                self.fail(FaultCode::Unresponsive, text);
            }
            Some(Alert::Unfinished(bytes)) => {
                let after = self.facts.timeouts.partial_line.as_secs_f64();
                let text = format!("began a line, and after {after} s and {bytes} bytes it has no end");
                self.fail(FaultCode::Unresponsive, text);
            }
        }
    }
}
