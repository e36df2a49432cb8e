//! Panel contents that wait for their turn: only the last content of each panel is shown. Pure.

use std::collections::VecDeque;
use std::time::Instant;

use haft_protocol::ext::{Limits, PanelRender};
use haft_protocol::ids::PanelId;

use super::rates::TokenBucket;

/// The maximum number of panels with a waiting content; beyond it, the oldest is dropped. One panel is open
/// at a time.
const MAX_WAITING: usize = 4;

/// The waiting contents of one extension's panels.
#[derive(Debug)]
pub(super) struct PanelQueue {
    bucket: TokenBucket,
    waiting: VecDeque<PanelRender>,
    at: Option<Instant>,
}

impl PanelQueue {
    pub(super) fn new(limits: &Limits) -> Self {
        Self { bucket: TokenBucket::new(limits.panels_per_second, 1), waiting: VecDeque::new(), at: None }
    }

    /// Accepts a content. Returns it if it must be shown immediately.
    pub(super) fn render(&mut self, panel: PanelRender, now: Instant) -> Option<PanelRender> {
        if self.waiting.is_empty() {
            match self.bucket.take(now) {
                Ok(()) => return Some(panel),
                Err(at) => self.at = Some(at),
            }
        }
        if let Some(waiting) = self.waiting.iter_mut().find(|waiting| waiting.panel_id == panel.panel_id) {
            let title = std::mem::take(&mut waiting.title);
            *waiting = panel;
            if waiting.title.is_empty() {
                // An empty title keeps the previous title, which was never shown.
                waiting.title = title;
            }
            return None;
        }
        if self.waiting.len() == MAX_WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back(panel);
        None
    }

    /// Drops the waiting content of a closed panel.
    pub(super) fn remove(&mut self, panel: &PanelId) {
        self.waiting.retain(|waiting| waiting.panel_id != *panel);
        if self.waiting.is_empty() {
            self.at = None;
        }
    }

    /// Takes all waiting contents, because the next output must not precede them.
    pub(super) fn flush(&mut self) -> impl Iterator<Item = PanelRender> + use<> {
        self.at = None;
        std::mem::take(&mut self.waiting).into_iter()
    }

    /// Returns the time at which [`take_due`](Self::take_due) returns a content.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.at
    }

    /// Takes a content whose time has come.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<PanelRender> {
        self.at.filter(|at| *at <= now)?;
        match self.bucket.take(now) {
            Ok(()) => {
                let panel = self.waiting.pop_front();
                self.at = (!self.waiting.is_empty()).then_some(now);
                panel
            }
            Err(at) => {
                self.at = Some(at);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn panel(id: &str, title: &str, line: &str) -> PanelRender {
        PanelRender {
            panel_id: PanelId::new(id),
            title: title.into(),
            lines: vec![line.into()],
            footer: String::new(),
        }
    }

    #[test]
    fn shows_last_content_at_deadline() {
        let start = Instant::now();
        let mut panels = PanelQueue::new(&Limits { panels_per_second: 10, ..Limits::default() });
        assert!(panels.render(panel("a", "one", "1"), start).is_some());
        assert_eq!(panels.render(panel("a", "two", "2"), start), None);
        assert_eq!(panels.render(panel("a", "", "3"), start), None);
        let at = start + Duration::from_millis(100);
        assert_eq!(panels.deadline(), Some(at));
        assert_eq!(panels.take_due(at - Duration::from_millis(1)), None);
        assert_eq!(panels.take_due(at), Some(panel("a", "two", "3")), "no title that was given is lost");
        assert_eq!((panels.take_due(at), panels.deadline()), (None, None));
    }

    #[test]
    fn panels_alternate_and_closed_panel_is_dropped() {
        let start = Instant::now();
        let mut panels = PanelQueue::new(&Limits { panels_per_second: 10, ..Limits::default() });
        assert!(panels.render(panel("a", "", "1"), start).is_some());
        for id in ["b", "c", "d", "e", "f"] {
            assert_eq!(panels.render(panel(id, "", ""), start), None);
        }
        panels.remove(&PanelId::new("c"));
        let mut shown = Vec::new();
        for tenth in 1..10 {
            shown.extend(panels.take_due(start + Duration::from_millis(100 * tenth)));
        }
        let shown: Vec<_> = shown.iter().map(|panel| panel.panel_id.as_str()).collect();
        assert_eq!(shown, ["d", "e", "f"]);
    }
}
