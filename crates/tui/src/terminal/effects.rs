//! Execution of effects, for both loops.

use std::collections::VecDeque;
use std::time::Instant;

use super::TerminalError;
use crate::app::{Effect, UiEvent};

/// A loop around an interface.
pub(super) trait EffectPerformer {
    fn update_interface(&mut self, now: Instant, event: UiEvent) -> Vec<Effect>;

    /// Performs an effect. An effect that completes at once returns an event.
    async fn perform(&mut self, effect: Effect) -> Result<Option<UiEvent>, TerminalError>;

    async fn send_event_at(&mut self, now: Instant, event: UiEvent) -> Result<(), TerminalError> {
        let effects = self.update_interface(now, event);
        self.perform_all(effects).await
    }

    /// Performs all effects, and the effects of the resulting events.
    async fn perform_all(&mut self, effects: Vec<Effect>) -> Result<(), TerminalError> {
        let mut due = VecDeque::from(effects);
        while let Some(effect) = due.pop_front() {
            if let Some(event) = self.perform(effect).await? {
                due.extend(self.update_interface(Instant::now(), event));
            }
        }
        Ok(())
    }
}
