//! Waiting contents of panels: only the last one is sent. A state machine without IO.

use haft_protocol::ext::PanelRender;
use haft_protocol::ids::PanelId;
use tokio::time::{Duration, Instant};

use crate::timeouts::PANEL_INTERVAL;

/// The panels that were drawn within the last interval.
#[derive(Debug, Default)]
pub(super) struct PanelThrottle {
    turns: Vec<PanelSlot>,
}

#[derive(Debug)]
struct PanelSlot {
    id: PanelId,
    /// The time at which the next content may be sent.
    at: Instant,
    waiting: Option<PanelRender>,
}

impl PanelThrottle {
    /// Adds a content. Returns it if it must be sent at once.
    pub(super) fn render(&mut self, mut panel: PanelRender, now: Instant) -> Option<PanelRender> {
        let next = now + self.interval();
        let Some(turn) = self.turns.iter_mut().find(|turn| turn.id == panel.panel_id) else {
            self.turns.retain(|turn| turn.at > now || turn.waiting.is_some());
            self.turns.push(PanelSlot { id: panel.panel_id.clone(), at: next, waiting: None });
            return Some(panel);
        };
        let earlier = turn.waiting.take();
        if panel.title.is_empty() {
            // An empty title keeps the previous one, which was never sent.
            panel.title = earlier.map(|earlier| earlier.title).unwrap_or_default();
        }
        if turn.at <= now {
            turn.at = next;
            return Some(panel);
        }
        turn.waiting = Some(panel);
        None
    }

    /// Removes a closed panel and its waiting content.
    pub(super) fn forget(&mut self, panel: &PanelId) {
        self.turns.retain(|turn| turn.id != *panel);
    }

    /// Returns all waiting contents, because the next frame must not be shown before them.
    pub(super) fn flush(&mut self, now: Instant) -> Vec<PanelRender> {
        self.take(now, |_| true)
    }

    pub(super) fn take_due(&mut self, now: Instant) -> Vec<PanelRender> {
        self.take(now, |turn| turn.at <= now)
    }

    /// Returns the time at which [`take_due`](Self::take_due) has contents.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.turns.iter().filter(|turn| turn.waiting.is_some()).map(|turn| turn.at).min()
    }

    /// Returns the interval between contents. It grows with the number of drawn panels, because the
    /// host has one rate for all of them.
    fn interval(&self) -> Duration {
        PANEL_INTERVAL * u32::try_from(self.turns.len().max(1)).unwrap_or(u32::MAX)
    }

    fn take(&mut self, now: Instant, which: impl Fn(&PanelSlot) -> bool) -> Vec<PanelRender> {
        let next = now + self.interval();
        let chosen = self.turns.iter_mut().filter(|turn| which(turn));
        let sent = chosen.filter_map(|turn| {
            let panel = turn.waiting.take()?;
            turn.at = next;
            Some(panel)
        });
        sent.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(id: &str, title: &str, line: &str) -> PanelRender {
        PanelRender {
            panel_id: PanelId::new(id),
            title: title.into(),
            lines: vec![line.into()],
            footer: String::new(),
        }
    }

    #[test]
    fn last_content_is_sent_when_due() {
        let (start, mut panels) = (Instant::now(), PanelThrottle::default());
        assert_eq!(panels.render(panel("a", "one", "1"), start), Some(panel("a", "one", "1")));
        assert_eq!(panels.deadline(), None, "a sent content does not wait");
        assert_eq!(panels.render(panel("a", "two", "2"), start), None);
        assert_eq!(panels.render(panel("a", "", "3"), start), None);
        let at = start + PANEL_INTERVAL;
        assert_eq!(panels.deadline(), Some(at));
        assert_eq!(panels.take_due(at - PANEL_INTERVAL / 2), []);
        assert_eq!(panels.take_due(at), [panel("a", "two", "3")], "no title is lost");
        assert_eq!((panels.take_due(at), panels.deadline()), (vec![], None));
        assert_eq!(panels.render(panel("a", "", "4"), at), None, "every write starts a new interval");
        let late = at + PANEL_INTERVAL * 2;
        assert_eq!(panels.render(panel("a", "", "5"), late), Some(panel("a", "", "5")));
        assert_eq!(panels.deadline(), None, "a sent content replaces the waiting one");
    }

    #[test]
    fn panels_are_independent_and_closed_ones_are_dropped() {
        let (start, mut panels) = (Instant::now(), PanelThrottle::default());
        for id in ["a", "b", "c"] {
            assert!(panels.render(panel(id, "", "1"), start).is_some());
            assert!(panels.render(panel(id, "", "2"), start).is_none());
        }
        panels.forget(&PanelId::new("b"));
        assert!(panels.render(panel("b", "", "3"), start).is_some(), "the panel is new");
        assert_eq!(panels.flush(start), [panel("a", "", "2"), panel("c", "", "2")]);
        assert_eq!(panels.flush(start), []);
    }

    #[test]
    fn all_panels_share_one_rate() {
        let (start, mut panels) = (Instant::now(), PanelThrottle::default());
        let mut sent = 0;
        for millisecond in 0..1000 {
            let now = start + Duration::from_millis(millisecond);
            for id in ["a", "b", "c", "d", "e", "f", "g", "h"] {
                sent += usize::from(panels.render(panel(id, "", ""), now).is_some());
            }
        }
        assert!((50..=80).contains(&sent), "{sent}");
    }

    #[test]
    fn idle_panels_are_removed() {
        let (start, mut panels) = (Instant::now(), PanelThrottle::default());
        for number in 0..1000_u32 {
            panels.render(panel(&number.to_string(), "", ""), start + PANEL_INTERVAL * number);
        }
        assert_eq!(panels.turns.len(), 1);
    }
}
