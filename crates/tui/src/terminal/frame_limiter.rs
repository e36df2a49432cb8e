//! `FrameLimiter`: decides when the next frame is drawn.

use std::time::Instant;

use crate::timeouts;

/// Decides when the next frame is drawn: at once after a key, otherwise some time after the last frame, and never
/// without a change.
///
/// The time counts from the end of a frame. So a slow terminal leaves time for other events.
#[derive(Debug, Default)]
pub(super) struct FrameLimiter {
    ended_at: Option<Instant>,
    due_at: Option<Instant>,
}

impl FrameLimiter {
    pub(super) fn request_frame(&mut self, now: Instant) {
        let free = self.ended_at.map_or(now, |ended| (ended + timeouts::FRAME).max(now));
        self.due_at = Some(self.due_at.map_or(free, |due| due.min(free)));
    }

    pub(super) fn request_frame_now(&mut self, now: Instant) {
        self.due_at = Some(self.due_at.map_or(now, |due| due.min(now)));
    }

    pub(super) fn due_at(&self) -> Option<Instant> {
        self.due_at
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.due_at.is_some_and(|due| due <= now)
    }

    pub(super) fn finish_frame(&mut self, now: Instant) {
        *self = Self { ended_at: Some(now), due_at: None };
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn draws_no_frame_without_change() {
        let mut pace = FrameLimiter::default();
        assert_eq!(pace.due_at(), None);
        pace.finish_frame(Instant::now());
        assert_eq!(pace.due_at(), None);
    }

    #[test]
    fn limits_frame_rate_except_for_keys() {
        let (start, mut pace) = (Instant::now(), FrameLimiter::default());
        pace.request_frame(start);
        assert!(pace.is_due(start));
        pace.finish_frame(start + 5 * MS);
        pace.request_frame(start + 6 * MS);
        pace.request_frame(start + 9 * MS);
        assert_eq!(pace.due_at(), Some(start + 5 * MS + timeouts::FRAME));
        assert!(!pace.is_due(start + 20 * MS));
        assert!(pace.is_due(start + 21 * MS));
        pace.request_frame_now(start + 10 * MS);
        assert!(pace.is_due(start + 10 * MS));
        pace.finish_frame(start + 11 * MS);
        pace.request_frame(start + 500 * MS);
        assert!(pace.is_due(start + 500 * MS));
    }

    #[test]
    fn many_changes_draw_sixty_frames_per_second() {
        let (start, mut pace) = (Instant::now(), FrameLimiter::default());
        let mut frames = 0;
        for at in (0..1000).map(|at| start + at * MS) {
            pace.request_frame(at);
            if pace.is_due(at) {
                frames += 1;
                pace.finish_frame(at);
            }
        }
        assert_eq!(frames, 63);
    }
}
