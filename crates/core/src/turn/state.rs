//! Where a prompt stands. Pure: the driver asks, this decides what comes next.

use haft_protocol::content::ToolCall;
use haft_protocol::message::{Stop, tool_calls_of};

use crate::error::{TurnError, TurnErrorKind};
use crate::hooks::{Refusal, RefusalScope};
use crate::model::{ModelError, ModelResponse};

/// Where a prompt stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum State {
    /// Hooks decide whether the step may begin; `last` when no other may follow.
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
        held: Held,
    },
    /// Tools run; `cut` when the answer was cut, so that no call can be trusted to be whole.
    Executing {
        step: u32,
        calls: Vec<ToolCall>,
        cut: bool,
    },
    Ended {
        step: u32,
        stop: Stop,
        error: Option<String>,
        then: Then,
    },
    /// The user may have said more; `stopping` when nothing else is left to do.
    Between {
        step: u32,
        stopping: bool,
    },
    Done(Result<(), TurnError>),
}

/// The parts of an answer that the user is not told while it comes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Held {
    /// Everything, until hooks have decided about the answer.
    pub(super) deltas: bool,
    /// The thinking, for good, and the words until hooks have decided about them: hooks are asked about the words alone.
    pub(super) thinking: bool,
}

impl Held {
    /// True if the words and the thinking are held.
    pub(super) fn words(self) -> bool {
        self.deltas || self.thinking
    }
}

/// The continuation of a step.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Then {
    Step,
    /// The user's messages meanwhile, if the step was good; otherwise none.
    Finish(Result<(), TurnErrorKind>),
    /// Nothing, whatever the user has said meanwhile.
    Stop,
    /// Nothing; what was said since the user's last message is left.
    Discard {
        by: String,
        reason: String,
    },
}

/// The result of the driver's last action.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Input {
    Allowed,
    /// A hook ended the turn, or more.
    Refused(Refusal),
    Answered {
        response: ModelResponse,
        held: Held,
    },
    Failed(ModelError),
    Shown,
    /// All tool calls have results; `handled` when the user has all of them already.
    Executed {
        handled: bool,
    },
    Noted,
    /// The user's messages are in the transcript; `any` when there were some.
    Taken {
        any: bool,
    },
    /// The user wants an end; what the model is told is in the transcript.
    Interrupted,
    /// The session could not be written.
    Unsaved(TurnErrorKind),
    Cancelled,
}

impl State {
    /// Where every prompt begins.
    pub(super) fn first() -> Self {
        Self::Starting { step: 1, last: false }
    }

    /// The state after `input`. Inputs that do not belong to a state leave it as it is.
    pub(super) fn next(self, input: Input, max_steps: Option<u32>) -> Self {
        match (self, input) {
            (Self::Ended { step, then, .. }, Input::Noted) => after(step, then, max_steps),
            (Self::Between { step, stopping }, Input::Taken { any }) => taken(step, stopping, any),
            (Self::Between { step, stopping }, Input::Interrupted) => {
                Self::Starting { step: if stopping { 1 } else { step + 1 }, last: true }
            }
            (Self::Done(outcome), _) => Self::Done(outcome),
            // Its end is reported already, unless there was none.
            (Self::Ended { step, .. } | Self::Between { step, .. }, Input::Unsaved(kind)) => {
                Self::Done(Err(TurnError { step, kind }))
            }
            (Self::Between { step, .. }, Input::Cancelled) => {
                Self::Done(Err(TurnError { step, kind: TurnErrorKind::Aborted }))
            }
            (state, Input::Unsaved(kind)) => state.end(Stop::Error, kind),
            (state, Input::Cancelled) => state.end(Stop::Aborted, TurnErrorKind::Aborted),
            (state, Input::Refused(refusal)) => state.refused(refusal),
            (state, Input::Failed(error)) => state.end(Stop::Error, TurnErrorKind::Model(error)),
            (Self::Starting { step, last }, Input::Allowed) => Self::Asking { step, last },
            (Self::Asking { step, last }, Input::Answered { response, held }) => {
                Self::Showing { step, last, response, held }
            }
            (Self::Showing { step, last, response, .. }, Input::Shown) => shown(step, last, response),
            (Self::Executing { step, .. }, Input::Executed { handled }) => {
                let then = if handled { Then::Finish(Ok(())) } else { Then::Step };
                Self::Ended { step, stop: Stop::ToolUse, error: None, then }
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

    fn refused(self, Refusal { by, reason, scope }: Refusal) -> Self {
        match scope {
            RefusalScope::Call | RefusalScope::Turn => {
                self.end(Stop::Error, TurnErrorKind::Blocked { by, reason })
            }
            RefusalScope::Run => self.end(Stop::Error, TurnErrorKind::Stopped { by, reason }),
            RefusalScope::DiscardedTurn => {
                let (step, then) = (self.step(), Then::Discard { by, reason });
                Self::Ended { step, stop: Stop::Aborted, error: None, then }
            }
        }
    }

    fn end(self, stop: Stop, kind: TurnErrorKind) -> Self {
        Self::Ended { step: self.step(), stop, error: Some(kind.to_string()), then: Then::Finish(Err(kind)) }
    }
}

fn shown(step: u32, last: bool, response: ModelResponse) -> State {
    let calls: Vec<ToolCall> = tool_calls_of(&response.content).cloned().collect();
    // What the last answer calls for, though no tool was offered, does not run.
    let then = match (last, calls.is_empty()) {
        (false, false) => return State::Executing { step, calls, cut: response.stop == Stop::Length },
        (false, true) => Then::Finish(Ok(())),
        (true, _) => Then::Stop,
    };
    State::Ended { step, stop: response.stop, error: None, then }
}

fn after(step: u32, then: Then, max_steps: Option<u32>) -> State {
    match (then, max_steps) {
        (Then::Finish(Ok(())), _) => State::Between { step, stopping: true },
        (Then::Finish(Err(kind)), _) => State::Done(Err(TurnError { step, kind })),
        (Then::Stop | Then::Discard { .. }, _) => State::Done(Ok(())),
        (Then::Step, Some(limit)) if step >= limit => {
            State::Done(Err(TurnError { step, kind: TurnErrorKind::MaxSteps { limit } }))
        }
        (Then::Step, _) => State::Between { step, stopping: false },
    }
}

/// Handles a message that came when the agent would stop like a prompt of its own: steps are counted anew.
fn taken(step: u32, stopping: bool, any: bool) -> State {
    match (stopping, any) {
        (false, _) => State::Starting { step: step + 1, last: false },
        (true, true) => State::first(),
        (true, false) => State::Done(Ok(())),
    }
}

#[cfg(test)]
mod tests {
    use haft_protocol::RawJson;
    use haft_protocol::ids::ToolCallId;
    use haft_protocol::message::{AssistantBlock, Usage};

    use super::*;

    fn answer(stop: Stop, calls: usize) -> ModelResponse {
        let call = |index| ToolCall {
            id: ToolCallId::new(format!("t{index}")),
            name: "read".into(),
            args: RawJson::empty_object(),
        };
        let content = (0..calls).map(|index| AssistantBlock::ToolCall(call(index))).collect();
        ModelResponse { content, stop, usage: Usage::default(), native: None }
    }

    fn ended(stop: Stop, then: Then) -> State {
        let error = match &then {
            Then::Finish(Err(kind)) => Some(kind.to_string()),
            Then::Finish(Ok(())) | Then::Step | Then::Stop | Then::Discard { .. } => None,
        };
        State::Ended { step: 2, stop, error, then }
    }

    #[track_caller]
    fn check(state: State, input: Input, expect: State) {
        assert_eq!(state.next(input, Some(2)), expect);
    }

    #[test]
    fn a_step_goes_from_starting_to_asking_to_showing() {
        let response = answer(Stop::End, 0);
        check(
            State::Starting { step: 2, last: false },
            Input::Allowed,
            State::Asking { step: 2, last: false },
        );
        check(
            State::Asking { step: 2, last: false },
            Input::Answered { response: response.clone(), held: Held { deltas: false, thinking: true } },
            State::Showing { step: 2, last: false, response, held: Held { deltas: false, thinking: true } },
        );
    }

    #[test]
    fn an_answer_without_calls_ends_the_prompt() {
        let showing =
            State::Showing { step: 2, last: false, response: answer(Stop::Length, 0), held: Held::default() };
        check(showing, Input::Shown, ended(Stop::Length, Then::Finish(Ok(()))));
        let between = State::Between { step: 2, stopping: true };
        check(ended(Stop::End, Then::Finish(Ok(()))), Input::Noted, between.clone());
        check(between, Input::Taken { any: false }, State::Done(Ok(())));
    }

    #[test]
    fn calls_run_and_lead_to_the_next_step_within_the_limit() {
        let response = answer(Stop::ToolUse, 1);
        let calls = tool_calls_of(&response.content).cloned().collect();
        let showing = State::Showing { step: 2, last: false, response, held: Held::default() };
        let executing = State::Executing { step: 2, calls, cut: false };
        check(showing, Input::Shown, executing.clone());
        check(executing, Input::Executed { handled: false }, ended(Stop::ToolUse, Then::Step));
        let kind = TurnErrorKind::MaxSteps { limit: 2 };
        check(ended(Stop::ToolUse, Then::Step), Input::Noted, State::Done(Err(TurnError { step: 2, kind })));
        let between = State::Between { step: 2, stopping: false };
        assert_eq!(ended(Stop::ToolUse, Then::Step).next(Input::Noted, None), between);
        for any in [true, false] {
            check(between.clone(), Input::Taken { any }, State::Starting { step: 3, last: false });
        }
    }

    #[test]
    fn what_is_said_instead_of_stopping_begins_a_new_count() {
        let between = State::Between { step: 2, stopping: true };
        check(between, Input::Taken { any: true }, State::first());
    }

    #[test]
    fn a_session_that_cannot_be_written_ends_the_prompt_and_reports_the_end_once() {
        let kind = TurnErrorKind::Session { reason: "full".into() };
        let done = State::Done(Err(TurnError { step: 2, kind: kind.clone() }));
        let unsaved = || Input::Unsaved(kind.clone());
        check(
            State::Asking { step: 2, last: false },
            unsaved(),
            ended(Stop::Error, Then::Finish(Err(kind.clone()))),
        );
        check(ended(Stop::ToolUse, Then::Step), unsaved(), done.clone());
        check(State::Between { step: 2, stopping: true }, unsaved(), done);
    }

    #[test]
    fn results_that_the_user_has_end_the_prompt_unless_more_was_said() {
        let executing = State::Executing { step: 2, calls: Vec::new(), cut: false };
        let handled = ended(Stop::ToolUse, Then::Finish(Ok(())));
        check(executing, Input::Executed { handled: true }, handled.clone());
        // Not even the limit of steps counts: the model is not asked again.
        check(handled, Input::Noted, State::Between { step: 2, stopping: true });
    }

    #[test]
    fn an_interrupt_leads_to_one_last_step_and_then_the_end() {
        let between = |stopping| State::Between { step: 2, stopping };
        check(between(false), Input::Interrupted, State::Starting { step: 3, last: true });
        check(between(true), Input::Interrupted, State::Starting { step: 1, last: true });
        check(State::Starting { step: 3, last: true }, Input::Allowed, State::Asking { step: 3, last: true });
        let response = || answer(Stop::ToolUse, 1);
        let showing = State::Showing {
            step: 2,
            last: true,
            response: response(),
            held: Held { deltas: true, thinking: false },
        };
        let asking = State::Asking { step: 2, last: true };
        check(
            asking,
            Input::Answered { response: response(), held: Held { deltas: true, thinking: false } },
            showing.clone(),
        );
        // Its calls do not run, and what waits waits on.
        check(showing, Input::Shown, ended(Stop::ToolUse, Then::Stop));
        check(ended(Stop::ToolUse, Then::Stop), Input::Noted, State::Done(Ok(())));
    }

    #[test]
    fn a_discarded_turn_ends_without_an_error_wherever_it_stands() {
        let (by, reason) = (|| "d".to_owned(), || "undo".to_owned());
        let input = || Input::Refused(Refusal::discarding(by(), reason()));
        let over = || ended(Stop::Aborted, Then::Discard { by: by(), reason: reason() });
        for state in [
            State::Starting { step: 2, last: false },
            State::Asking { step: 2, last: true },
            State::Showing { step: 2, last: false, response: answer(Stop::End, 0), held: Held::default() },
            State::Executing { step: 2, calls: Vec::new(), cut: false },
        ] {
            check(state, input(), over());
        }
        check(over(), Input::Noted, State::Done(Ok(())));
        let kind = TurnErrorKind::Session { reason: "full".into() };
        check(over(), Input::Unsaved(kind.clone()), State::Done(Err(TurnError { step: 2, kind })));
    }

    #[test]
    fn a_cut_answer_marks_its_calls() {
        let showing =
            State::Showing { step: 2, last: false, response: answer(Stop::Length, 1), held: Held::default() };
        assert!(matches!(showing.next(Input::Shown, None), State::Executing { cut: true, .. }));
    }

    #[test]
    fn whatever_goes_wrong_ends_the_step_and_then_the_prompt() {
        let blocked = TurnErrorKind::Blocked { by: "g".into(), reason: "late".into() };
        let input = Input::Refused(Refusal::of_turn("g", "late"));
        check(
            State::Starting { step: 2, last: false },
            input,
            ended(Stop::Error, Then::Finish(Err(blocked.clone()))),
        );
        check(
            ended(Stop::Error, Then::Finish(Err(blocked.clone()))),
            Input::Noted,
            State::Done(Err(TurnError { step: 2, kind: blocked })),
        );
        for state in [State::Starting { step: 2, last: false }, State::Asking { step: 2, last: false }] {
            check(state, Input::Cancelled, ended(Stop::Aborted, Then::Finish(Err(TurnErrorKind::Aborted))));
        }
        let done = State::Done(Err(TurnError { step: 2, kind: TurnErrorKind::Aborted }));
        check(State::Between { step: 2, stopping: true }, Input::Cancelled, done);
    }
}
