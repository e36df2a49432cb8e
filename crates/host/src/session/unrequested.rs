//! The unrequested frames of an extension, within their rates. Notes, panels and status items are shown as
//! often as useful, and an extension that sends too much is read more slowly.

use std::sync::Arc;
use std::time::Instant;

use haft_protocol::defense::{Defense, is_up};
use haft_protocol::ext::{ClearNotes, Limits, Notify, PanelClose, PanelRender, SetStatus};

use super::output::OutputQueue;
use super::panels::PanelQueue;
use super::rates::{LOOPING_PER_SECOND, LoopCheck, LoopingCall, RateCheck, RateLimiter};
use super::status::StatusItemQueue;
use super::{SessionConfig, UiUpdate};
use crate::timeouts::Timeouts;
use crate::wire::fault::FaultCode;

/// The rates of one connection, and the contents that wait for their turn.
#[derive(Debug)]
pub(super) struct UnrequestedFrames {
    limits: Arc<Limits>,
    timeouts: Arc<Timeouts>,
    rates: RateLimiter,
    panels: PanelQueue,
    status: StatusItemQueue,
    /// The end of the reading pause of an extension that sent too much.
    paused: Option<Instant>,
}

/// The failure of an extension that sends too much for too long.
#[derive(Debug)]
#[must_use = "the failure ends the connection"]
pub(super) struct RateOverrun(pub(super) String);

impl UnrequestedFrames {
    pub(super) fn new(facts: &SessionConfig) -> Self {
        let limits = Arc::clone(&facts.limits);
        Self {
            timeouts: Arc::clone(&facts.timeouts),
            rates: RateLimiter::new(&limits),
            panels: PanelQueue::new(&limits),
            status: StatusItemQueue::new(&limits),
            limits,
            paused: None,
        }
    }

    /// True while reading is paused. The extension's output then waits in its pipe until the extension
    /// blocks.
    pub(super) fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// Returns the time at which [`process_due`](Self::process_due) has work.
    pub(super) fn deadline(&self) -> Option<Instant> {
        [self.paused, self.panels.deadline(), self.status.deadline()].into_iter().flatten().min()
    }

    /// Shows the contents whose time has come, and ends a pause that is over.
    pub(super) fn process_due<T>(&mut self, now: Instant, out: &mut OutputQueue<T>) {
        self.paused = self.paused.filter(|until| *until > now);
        while let Some(panel) = self.panels.take_due(now) {
            out.show(UiUpdate::PanelRender(panel));
        }
        while let Some(status) = self.status.take_due(now) {
            out.show(UiUpdate::Status(status));
        }
    }

    pub(super) fn count<T>(
        &mut self,
        bytes: usize,
        now: Instant,
        out: &mut OutputQueue<T>,
    ) -> Result<(), RateOverrun> {
        let unasked = self.rates.count_line(bytes, now);
        self.keep_to_rate(unasked, now, out)
    }

    pub(super) fn count_blank<T>(
        &mut self,
        lines: usize,
        now: Instant,
        out: &mut OutputQueue<T>,
    ) -> Result<(), RateOverrun> {
        let unasked = self.rates.count_blank(lines, now);
        self.keep_to_rate(unasked, now, out)
    }

    pub(super) fn count_call<T>(&mut self, bytes: usize, now: Instant, out: &mut OutputQueue<T>) {
        let Some(until) = self.rates.count_call(bytes, now) else { return };
        self.paused = self.paused.max(Some(until));
        if self.rates.is_new_excess(now) {
            let rate = self.limits.frames_per_second;
            let text = format!(
                "makes more than {rate} calls to the host per second; haft reads its output more slowly"
            );
            out.report(FaultCode::RateLimited, text);
        }
    }

    /// Counts a call that may be part of a loop. Returns false if the call is dropped.
    pub(super) fn count_looping<T>(
        &mut self,
        call: LoopingCall,
        now: Instant,
        out: &mut OutputQueue<T>,
    ) -> bool {
        match self.rates.count_looping(call, now) {
            LoopCheck::Within => true,
            LoopCheck::FirstOver if is_up(Defense::LoopRate) => {
                let what = call.plural_name();
                let text = format!(
                    "makes more than {LOOPING_PER_SECOND} {what} per second, as in a loop with another \
                     extension; haft drops them until it has made none for a second"
                );
                out.report(FaultCode::RateLimited, text);
                false
            }
            LoopCheck::FirstOver | LoopCheck::Over => !is_up(Defense::LoopRate),
        }
    }

    /// Counts a line that is not text. Returns true if the limit is exceeded.
    pub(super) fn count_garbled(&mut self, now: Instant) -> bool {
        self.rates.count_garbled(now)
    }

    fn keep_to_rate<T>(
        &mut self,
        unasked: RateCheck,
        now: Instant,
        out: &mut OutputQueue<T>,
    ) -> Result<(), RateOverrun> {
        let RateCheck::Over { until, since } = unasked else { return Ok(()) };
        self.paused = Some(until);
        let (rate, after) = (self.limits.frames_per_second, self.timeouts.overrun);
        if now > since + after && !out.is_quiet() {
            let after = after.as_secs_f64();
            let text = format!("sent more than {rate} unrequested lines per second for {after} s");
            return Err(RateOverrun(text));
        }
        if self.rates.is_new_excess(now) {
            let text = format!(
                "sends more than {rate} unrequested lines per second; haft reads its output more slowly"
            );
            out.report(FaultCode::RateLimited, text);
        }
        Ok(())
    }

    pub(super) fn on_note<T>(&mut self, note: Notify, now: Instant, out: &mut OutputQueue<T>) {
        if self.rates.count_note(now) {
            self.log_dropped_notes(out);
            out.reports.mark_noted();
            out.show(UiUpdate::Notify(note));
        } else if self.rates.is_new_excess(now) {
            let rate = self.limits.notes_per_second;
            let text = format!("shows more than {rate} notes per second; the rest are dropped");
            out.report(FaultCode::RateLimited, text);
        }
    }

    pub(super) fn on_clear_notes<T>(clear: ClearNotes, out: &mut OutputQueue<T>) {
        if out.reports.take_notes() {
            out.show(UiUpdate::ClearNotes(clear));
        }
    }

    /// Logs the number of dropped notes once, after the flood.
    fn log_dropped_notes<T>(&mut self, out: &mut OutputQueue<T>) {
        match self.rates.take_dropped_notes() {
            0 => {}
            dropped => out.log(format!("notes_dropped: {dropped}")),
        }
    }

    pub(super) fn on_panel_render<T>(&mut self, panel: PanelRender, now: Instant, out: &mut OutputQueue<T>) {
        if let Some(panel) = self.panels.render(panel, now) {
            out.show(UiUpdate::PanelRender(panel));
        }
    }

    pub(super) fn on_panel_close<T>(&mut self, panel: PanelClose, out: &mut OutputQueue<T>) {
        self.panels.remove(&panel.panel_id);
        out.show(UiUpdate::PanelClose(panel));
    }

    /// Shows the waiting panels: the answer of a command may open a panel, and older contents must come
    /// first.
    pub(super) fn flush_panels<T>(&mut self, out: &mut OutputQueue<T>) {
        self.panels.flush().for_each(|panel| out.show(UiUpdate::PanelRender(panel)));
    }

    pub(super) fn on_status<T>(&mut self, status: SetStatus, now: Instant, out: &mut OutputQueue<T>) {
        match self.status.set(status, &self.limits, now) {
            Ok(Some(status)) => out.show(UiUpdate::Status(status)),
            Ok(None) => {}
            Err(text) => out.report(FaultCode::RegisterRejected, text),
        }
    }

    /// Ends with the connection: shows nothing more, and logs the number of dropped notes.
    pub(super) fn end<T>(&mut self, out: &mut OutputQueue<T>) {
        self.paused = None;
        self.panels.flush().for_each(drop);
        self.status = StatusItemQueue::new(&self.limits);
        self.log_dropped_notes(out);
    }
}
