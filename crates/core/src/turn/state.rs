//! The state machine of a prompt. It has no side effects: the driver acts, and this module decides the next action.

use haft_protocol::content::ToolCall;
use haft_protocol::message::{StopCause, tool_calls_of};

use crate::error::{TurnError, TurnErrorKind};
use crate::hooks::{AttributedRefusal, RefusalScope};
use crate::model::{ModelError, ModelResponse};

/// The phase of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TurnPhase {
    /// Hooks decide whether the step can start; `last` if no other step can follow.
    Starting {
        step: u32,
        last: bool,
    },
    Asking {
        step: u32,
        last: bool,
    },
    Showing {
        step: u32,
        last: bool,
        response: ModelResponse,
        held: SuppressedDeltas,
    },
    /// Tools run; `cut` if the answer was truncated, so that its calls may be incomplete.
    Executing {
        step: u32,
        calls: Vec<ToolCall>,
        cut: bool,
    },
    Ended {
        step: u32,
        stop: StopCause,
        error: Option<String>,
        then: StepContinuation,
    },
    /// Takes queued user messages; `stopping` if there is no other work.
    Between {
        step: u32,
        stopping: bool,
    },
    Done(Result<(), TurnError>),
}

/// The parts of an answer that are held back while it arrives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SuppressedDeltas {
    /// True to hold back all deltas until hooks have decided about the answer.
    pub(super) deltas: bool,
    /// True to drop thinking and hold back text until hooks have decided, because hooks see only text.
    pub(super) thinking: bool,
}

impl SuppressedDeltas {
    /// True if text and thinking are held back.
    pub(super) fn suppresses_text(self) -> bool {
        self.deltas || self.thinking
    }
}

/// The continuation after a step.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum StepContinuation {
    Step,
    /// Takes queued user messages if the step succeeded; otherwise ends the run.
    Finish(Result<(), TurnErrorKind>),
    /// Ends the run and leaves user messages in the queue.
    Stop,
    /// Ends the run and discards everything since the last user message.
    Discard {
        by: String,
        reason: String,
    },
}

/// The result of the driver's last action.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TurnInput {
    Allowed,
    /// A hook ended the turn or the run.
    Refused(AttributedRefusal),
    Answered {
        response: ModelResponse,
        held: SuppressedDeltas,
    },
    Failed(ModelError),
    Shown,
    /// All tool calls have results. `is_last` if the model need not see them: the user already has all of them, or one
    /// of them ends the run.
    Executed {
        is_last: bool,
    },
    EndReported,
    /// The user's messages are in the transcript; `any` if there were some.
    Taken {
        any: bool,
    },
    /// A message asks the model to correct its answer. Unlike a prompt, it does not restart the count of steps.
    Corrected,
    /// The user interrupted the run; the last message for the model is in the transcript.
    Interrupted,
    /// The session could not be written.
    Unsaved(TurnErrorKind),
    Cancelled,
}

impl TurnPhase {
    /// Returns the initial phase of a prompt.
    pub(super) fn initial() -> Self {
        Self::Starting { step: 1, last: false }
    }

    /// Returns the phase after `input`. An input that does not apply to a phase has no effect.
    pub(super) fn next(self, input: TurnInput, max_steps: Option<u32>) -> Self {
        match (self, input) {
            (Self::Ended { step, then, .. }, TurnInput::EndReported) => after_step(step, then, max_steps),
            (Self::Between { step, stopping }, TurnInput::Taken { any }) => after_queue(step, stopping, any),
            (Self::Between { step, .. }, TurnInput::Corrected) => {
                Self::Starting { step: step + 1, last: false }
            }
            (Self::Between { step, stopping }, TurnInput::Interrupted) => {
                Self::Starting { step: if stopping { 1 } else { step + 1 }, last: true }
            }
            (Self::Done(outcome), _) => Self::Done(outcome),
            // The end of the step is already reported, unless there was none.
            (Self::Ended { step, .. } | Self::Between { step, .. }, TurnInput::Unsaved(kind)) => {
                Self::Done(Err(TurnError { step, kind }))
            }
            (Self::Between { step, .. }, TurnInput::Cancelled) => {
                Self::Done(Err(TurnError { step, kind: TurnErrorKind::Aborted }))
            }
            (state, TurnInput::Unsaved(kind)) => state.end(StopCause::Error, kind),
            (state, TurnInput::Cancelled) => state.end(StopCause::Aborted, TurnErrorKind::Aborted),
            (state, TurnInput::Refused(refusal)) => state.after_refusal(refusal),
            (state, TurnInput::Failed(error)) => state.end(StopCause::Error, TurnErrorKind::Model(error)),
            (Self::Starting { step, last }, TurnInput::Allowed) => Self::Asking { step, last },
            (Self::Asking { step, last }, TurnInput::Answered { response, held }) => {
                Self::Showing { step, last, response, held }
            }
            (Self::Showing { step, last, response, .. }, TurnInput::Shown) => {
                after_display(step, last, response)
            }
            (Self::Executing { step, .. }, TurnInput::Executed { is_last }) => {
                let then = if is_last { StepContinuation::Finish(Ok(())) } else { StepContinuation::Step };
                Self::Ended { step, stop: StopCause::ToolUse, error: None, then }
            }
            (state, _) => state,
        }
    }

    fn step(&self) -> u32 {
        match self {
            Self::Starting { step, .. }
            | Self::Asking { step, .. }
            | Self::Showing { step, .. }
            | Self::Executing { step, .. }
            | Self::Ended { step, .. }
            | Self::Between { step, .. } => *step,
            Self::Done(_) => 0,
        }
    }

    fn after_refusal(self, AttributedRefusal { by, reason, scope }: AttributedRefusal) -> Self {
        match scope {
            RefusalScope::Call | RefusalScope::Turn => {
                self.end(StopCause::Error, TurnErrorKind::Blocked { by, reason })
            }
            RefusalScope::Run => self.end(StopCause::Error, TurnErrorKind::Stopped { by, reason }),
            RefusalScope::DiscardedTurn => {
                let (step, then) = (self.step(), StepContinuation::Discard { by, reason });
                Self::Ended { step, stop: StopCause::Aborted, error: None, then }
            }
        }
    }

    fn end(self, stop: StopCause, kind: TurnErrorKind) -> Self {
        Self::Ended {
            step: self.step(),
            stop,
            error: Some(kind.to_string()),
            then: StepContinuation::Finish(Err(kind)),
        }
    }
}

fn after_display(step: u32, last: bool, response: ModelResponse) -> TurnPhase {
    let calls: Vec<ToolCall> = tool_calls_of(&response.content).cloned().collect();
    // Calls of the last answer do not run, because no tool was offered.
    let then = match (last, calls.is_empty()) {
        (false, false) => {
            return TurnPhase::Executing { step, calls, cut: response.stop == StopCause::Length };
        }
        (false, true) => StepContinuation::Finish(Ok(())),
        (true, _) => StepContinuation::Stop,
    };
    TurnPhase::Ended { step, stop: response.stop, error: None, then }
}

fn after_step(step: u32, then: StepContinuation, max_steps: Option<u32>) -> TurnPhase {
    match (then, max_steps) {
        (StepContinuation::Finish(Ok(())), _) => TurnPhase::Between { step, stopping: true },
        (StepContinuation::Finish(Err(kind)), _) => TurnPhase::Done(Err(TurnError { step, kind })),
        (StepContinuation::Stop | StepContinuation::Discard { .. }, _) => TurnPhase::Done(Ok(())),
        (StepContinuation::Step, Some(limit)) if step >= limit => {
            TurnPhase::Done(Err(TurnError { step, kind: TurnErrorKind::MaxSteps { limit } }))
        }
        (StepContinuation::Step, _) => TurnPhase::Between { step, stopping: false },
    }
}

/// Handles a message that arrived when the agent would stop like a new prompt: steps count from 1 again.
fn after_queue(step: u32, stopping: bool, any: bool) -> TurnPhase {
    match (stopping, any) {
        (false, _) => TurnPhase::Starting { step: step + 1, last: false },
        (true, true) => TurnPhase::initial(),
        (true, false) => TurnPhase::Done(Ok(())),
    }
}

#[cfg(test)]
mod tests {
    use haft_protocol::RawJson;
    use haft_protocol::ids::ToolCallId;
    use haft_protocol::message::{AssistantBlock, TokenUsage};

    use super::*;
    use crate::hooks::Refusal;

    fn answer(stop: StopCause, calls: usize) -> ModelResponse {
        let call = |index| ToolCall {
            id: ToolCallId::new(format!("t{index}")),
            name: "read".into(),
            args: RawJson::empty_object(),
        };
        let content = (0..calls).map(|index| AssistantBlock::ToolCall(call(index))).collect();
        ModelResponse { content, stop, usage: TokenUsage::default(), native: None }
    }

    fn ended(stop: StopCause, then: StepContinuation) -> TurnPhase {
        let error = match &then {
            StepContinuation::Finish(Err(kind)) => Some(kind.to_string()),
            StepContinuation::Finish(Ok(()))
            | StepContinuation::Step
            | StepContinuation::Stop
            | StepContinuation::Discard { .. } => None,
        };
        TurnPhase::Ended { step: 2, stop, error, then }
    }

    #[track_caller]
    fn check(state: TurnPhase, input: TurnInput, expect: TurnPhase) {
        assert_eq!(state.next(input, Some(2)), expect);
    }

    #[test]
    fn a_step_goes_from_starting_to_asking_to_showing() {
        let response = answer(StopCause::End, 0);
        check(
            TurnPhase::Starting { step: 2, last: false },
            TurnInput::Allowed,
            TurnPhase::Asking { step: 2, last: false },
        );
        check(
            TurnPhase::Asking { step: 2, last: false },
            TurnInput::Answered {
                response: response.clone(),
                held: SuppressedDeltas { deltas: false, thinking: true },
            },
            TurnPhase::Showing {
                step: 2,
                last: false,
                response,
                held: SuppressedDeltas { deltas: false, thinking: true },
            },
        );
    }

    #[test]
    fn an_answer_without_calls_ends_the_prompt() {
        let showing = TurnPhase::Showing {
            step: 2,
            last: false,
            response: answer(StopCause::Length, 0),
            held: SuppressedDeltas::default(),
        };
        check(showing, TurnInput::Shown, ended(StopCause::Length, StepContinuation::Finish(Ok(()))));
        let between = TurnPhase::Between { step: 2, stopping: true };
        check(
            ended(StopCause::End, StepContinuation::Finish(Ok(()))),
            TurnInput::EndReported,
            between.clone(),
        );
        check(between, TurnInput::Taken { any: false }, TurnPhase::Done(Ok(())));
    }

    #[test]
    fn calls_run_and_lead_to_the_next_step_within_the_limit() {
        let response = answer(StopCause::ToolUse, 1);
        let calls = tool_calls_of(&response.content).cloned().collect();
        let showing =
            TurnPhase::Showing { step: 2, last: false, response, held: SuppressedDeltas::default() };
        let executing = TurnPhase::Executing { step: 2, calls, cut: false };
        check(showing, TurnInput::Shown, executing.clone());
        check(
            executing,
            TurnInput::Executed { is_last: false },
            ended(StopCause::ToolUse, StepContinuation::Step),
        );
        let kind = TurnErrorKind::MaxSteps { limit: 2 };
        check(
            ended(StopCause::ToolUse, StepContinuation::Step),
            TurnInput::EndReported,
            TurnPhase::Done(Err(TurnError { step: 2, kind })),
        );
        let between = TurnPhase::Between { step: 2, stopping: false };
        assert_eq!(
            ended(StopCause::ToolUse, StepContinuation::Step).next(TurnInput::EndReported, None),
            between
        );
        for any in [true, false] {
            check(between.clone(), TurnInput::Taken { any }, TurnPhase::Starting { step: 3, last: false });
        }
    }

    #[test]
    fn follow_up_restarts_the_step_count() {
        let between = TurnPhase::Between { step: 2, stopping: true };
        check(between, TurnInput::Taken { any: true }, TurnPhase::initial());
    }

    #[test]
    fn correction_is_a_further_step() {
        let between = TurnPhase::Between { step: 2, stopping: true };
        check(between, TurnInput::Corrected, TurnPhase::Starting { step: 3, last: false });
    }

    #[test]
    fn a_session_that_cannot_be_written_ends_the_prompt_and_reports_the_end_once() {
        let kind = TurnErrorKind::Session { reason: "full".into() };
        let done = TurnPhase::Done(Err(TurnError { step: 2, kind: kind.clone() }));
        let unsaved = || TurnInput::Unsaved(kind.clone());
        check(
            TurnPhase::Asking { step: 2, last: false },
            unsaved(),
            ended(StopCause::Error, StepContinuation::Finish(Err(kind.clone()))),
        );
        check(ended(StopCause::ToolUse, StepContinuation::Step), unsaved(), done.clone());
        check(TurnPhase::Between { step: 2, stopping: true }, unsaved(), done);
    }

    #[test]
    fn handled_results_end_the_prompt_unless_a_message_waits() {
        let executing = TurnPhase::Executing { step: 2, calls: Vec::new(), cut: false };
        let handled = ended(StopCause::ToolUse, StepContinuation::Finish(Ok(())));
        check(executing, TurnInput::Executed { is_last: true }, handled.clone());
        // Even the step limit does not apply, because there is no further request.
        check(handled, TurnInput::EndReported, TurnPhase::Between { step: 2, stopping: true });
    }

    #[test]
    fn an_interrupt_leads_to_one_last_step_and_then_the_end() {
        let between = |stopping| TurnPhase::Between { step: 2, stopping };
        check(between(false), TurnInput::Interrupted, TurnPhase::Starting { step: 3, last: true });
        check(between(true), TurnInput::Interrupted, TurnPhase::Starting { step: 1, last: true });
        check(
            TurnPhase::Starting { step: 3, last: true },
            TurnInput::Allowed,
            TurnPhase::Asking { step: 3, last: true },
        );
        let response = || answer(StopCause::ToolUse, 1);
        let showing = TurnPhase::Showing {
            step: 2,
            last: true,
            response: response(),
            held: SuppressedDeltas { deltas: true, thinking: false },
        };
        let asking = TurnPhase::Asking { step: 2, last: true };
        check(
            asking,
            TurnInput::Answered {
                response: response(),
                held: SuppressedDeltas { deltas: true, thinking: false },
            },
            showing.clone(),
        );
        // The calls do not run, and queued messages stay in the queue.
        check(showing, TurnInput::Shown, ended(StopCause::ToolUse, StepContinuation::Stop));
        check(
            ended(StopCause::ToolUse, StepContinuation::Stop),
            TurnInput::EndReported,
            TurnPhase::Done(Ok(())),
        );
    }

    #[test]
    fn discarded_turn_ends_without_an_error_in_any_phase() {
        let (by, reason) = (|| "d".to_owned(), || "undo".to_owned());
        let input = || TurnInput::Refused(Refusal::for_discarded_turn(reason()).attribute_to(by()));
        let over = || ended(StopCause::Aborted, StepContinuation::Discard { by: by(), reason: reason() });
        for state in [
            TurnPhase::Starting { step: 2, last: false },
            TurnPhase::Asking { step: 2, last: true },
            TurnPhase::Showing {
                step: 2,
                last: false,
                response: answer(StopCause::End, 0),
                held: SuppressedDeltas::default(),
            },
            TurnPhase::Executing { step: 2, calls: Vec::new(), cut: false },
        ] {
            check(state, input(), over());
        }
        check(over(), TurnInput::EndReported, TurnPhase::Done(Ok(())));
        let kind = TurnErrorKind::Session { reason: "full".into() };
        check(over(), TurnInput::Unsaved(kind.clone()), TurnPhase::Done(Err(TurnError { step: 2, kind })));
    }

    #[test]
    fn a_cut_answer_marks_its_calls() {
        let showing = TurnPhase::Showing {
            step: 2,
            last: false,
            response: answer(StopCause::Length, 1),
            held: SuppressedDeltas::default(),
        };
        assert!(matches!(showing.next(TurnInput::Shown, None), TurnPhase::Executing { cut: true, .. }));
    }

    #[test]
    fn any_failure_ends_the_step_and_then_the_prompt() {
        let blocked = TurnErrorKind::Blocked { by: "g".into(), reason: "late".into() };
        let input = TurnInput::Refused(Refusal::for_turn("late").attribute_to("g"));
        check(
            TurnPhase::Starting { step: 2, last: false },
            input,
            ended(StopCause::Error, StepContinuation::Finish(Err(blocked.clone()))),
        );
        check(
            ended(StopCause::Error, StepContinuation::Finish(Err(blocked.clone()))),
            TurnInput::EndReported,
            TurnPhase::Done(Err(TurnError { step: 2, kind: blocked })),
        );
        for state in
            [TurnPhase::Starting { step: 2, last: false }, TurnPhase::Asking { step: 2, last: false }]
        {
            check(
                state,
                TurnInput::Cancelled,
                ended(StopCause::Aborted, StepContinuation::Finish(Err(TurnErrorKind::Aborted))),
            );
        }
        let done = TurnPhase::Done(Err(TurnError { step: 2, kind: TurnErrorKind::Aborted }));
        check(TurnPhase::Between { step: 2, stopping: true }, TurnInput::Cancelled, done);
    }
}
