//! The frames that an extension sends unasked, within their rates: notes, panels and status items are shown as often as is
//! useful, and an extension that sends too much is read slowly.

use std::sync::Arc;
use std::time::Instant;

use haft_protocol::ext::{ClearNotes, Limits, Notify, PanelClose, PanelRender, SetStatus};

use super::output::OutputQueue;
use super::panels::Panels;
use super::rates::{Rates, Unasked};
use super::status::Status;
use super::{Facts, Ui};
use crate::timeouts::Timeouts;
use crate::wire::fault::FaultCode;

/// The rates of one connection, and the contents that wait for their turn.
#[derive(Debug)]
pub(super) struct UnaskedFrames {
    limits: Arc<Limits>,
    timeouts: Arc<Timeouts>,
    rates: Rates,
    panels: Panels,
    status: Status,
    /// The extension said too much: nothing is read until then.
    paused: Option<Instant>,
}

/// The failure of an extension that sends too much for too long.
#[derive(Debug)]
#[must_use = "it ends the connection"]
pub(super) struct Overrun(pub(super) String);

impl UnaskedFrames {
    pub(super) fn new(facts: &Facts) -> Self {
        let limits = Arc::clone(&facts.limits);
        Self {
            timeouts: Arc::clone(&facts.timeouts),
            rates: Rates::new(&limits),
            panels: Panels::new(&limits),
            status: Status::new(&limits),
            limits,
            paused: None,
        }
    }

    /// True while nothing is read. The lines of the extension wait in its pipe, and in the end the extension with them.
    pub(super) fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// When [`due`](Self::due) has something to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        [self.paused, self.panels.deadline(), self.status.deadline()].into_iter().flatten().min()
    }

    /// Shows the contents whose turn it is, and ends a pause that is over.
    pub(super) fn due<T>(&mut self, now: Instant, out: &mut OutputQueue<T>) {
        self.paused = self.paused.filter(|until| *until > now);
        while let Some(panel) = self.panels.due(now) {
            out.show(Ui::PanelRender(panel));
        }
        while let Some(status) = self.status.due(now) {
            out.show(Ui::Status(status));
        }
    }

    pub(super) fn count<T>(
        &mut self,
        bytes: usize,
        now: Instant,
        out: &mut OutputQueue<T>,
    ) -> Result<(), Overrun> {
        let unasked = self.rates.line(bytes, now);
        self.keep_to_rate(unasked, now, out)
    }

    pub(super) fn count_blank<T>(
        &mut self,
        lines: usize,
        now: Instant,
        out: &mut OutputQueue<T>,
    ) -> Result<(), Overrun> {
        let unasked = self.rates.blank(lines, now);
        self.keep_to_rate(unasked, now, out)
    }

    pub(super) fn count_call<T>(&mut self, bytes: usize, now: Instant, out: &mut OutputQueue<T>) {
        let Some(until) = self.rates.call(bytes, now) else { return };
        self.paused = self.paused.max(Some(until));
        if self.rates.begins(now) {
            let rate = self.limits.frames_per_second;
            let text = format!("makes more than {rate} calls to the host a second: it is read slowly");
            out.report(FaultCode::RateLimited, text);
        }
    }

    /// Counts a line that is not text. True if it is one too many.
    pub(super) fn count_garbled(&mut self, now: Instant) -> bool {
        self.rates.garbled(now)
    }

    fn keep_to_rate<T>(
        &mut self,
        unasked: Unasked,
        now: Instant,
        out: &mut OutputQueue<T>,
    ) -> Result<(), Overrun> {
        let Unasked::Over { until, since } = unasked else { return Ok(()) };
        self.paused = Some(until);
        let (rate, after) = (self.limits.frames_per_second, self.timeouts.overrun);
        if now > since + after && !out.is_quiet() {
            let after = after.as_secs_f64();
            let text = format!("sent more than {rate} lines a second that nobody asked for, for {after} s");
            return Err(Overrun(text));
        }
        if self.rates.begins(now) {
            let text =
                format!("sends more than {rate} lines a second that nobody asked for: it is read slowly");
            out.report(FaultCode::RateLimited, text);
        }
        Ok(())
    }

    pub(super) fn on_note<T>(&mut self, note: Notify, now: Instant, out: &mut OutputQueue<T>) {
        if self.rates.note(now) {
            self.log_dropped_notes(out);
            out.reports.note();
            out.show(Ui::Notify(note));
        } else if self.rates.begins(now) {
            let rate = self.limits.notes_per_second;
            let text = format!("shows more than {rate} notes a second: the rest is dropped");
            out.report(FaultCode::RateLimited, text);
        }
    }

    pub(super) fn on_clear_notes<T>(clear: ClearNotes, out: &mut OutputQueue<T>) {
        if out.reports.take_notes() {
            out.show(Ui::ClearNotes(clear));
        }
    }

    /// Logs the number of dropped notes once, when the flood is over.
    fn log_dropped_notes<T>(&mut self, out: &mut OutputQueue<T>) {
        match self.rates.take_dropped_notes() {
            0 => {}
            dropped => out.log(format!("notes_dropped: {dropped}")),
        }
    }

    pub(super) fn on_panel_render<T>(&mut self, panel: PanelRender, now: Instant, out: &mut OutputQueue<T>) {
        if let Some(panel) = self.panels.render(panel, now) {
            out.show(Ui::PanelRender(panel));
        }
    }

    pub(super) fn on_panel_close<T>(&mut self, panel: PanelClose, out: &mut OutputQueue<T>) {
        self.panels.forget(&panel.panel_id);
        out.show(Ui::PanelClose(panel));
    }

    /// Shows the panels that wait: the answer of a command may open a panel, and nothing older must come after it.
    pub(super) fn flush_panels<T>(&mut self, out: &mut OutputQueue<T>) {
        self.panels.flush().for_each(|panel| out.show(Ui::PanelRender(panel)));
    }

    pub(super) fn on_status<T>(&mut self, status: SetStatus, now: Instant, out: &mut OutputQueue<T>) {
        match self.status.set(status, &self.limits, now) {
            Ok(Some(status)) => out.show(Ui::Status(status)),
            Ok(None) => {}
            Err(text) => out.report(FaultCode::RegisterRejected, text),
        }
    }

    /// Ends with the connection: shows nothing more, and logs the number of notes that were dropped.
    pub(super) fn end<T>(&mut self, out: &mut OutputQueue<T>) {
        self.paused = None;
        self.panels.flush().for_each(drop);
        self.status = Status::new(&self.limits);
        self.log_dropped_notes(out);
    }
}
