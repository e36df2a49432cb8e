//! `DialogRegistry`: the questions that wait for a person.
//!
//! A state machine without IO and without a clock. Every question ends exactly once: with a valid
//! answer, or with its default, for example if the client leaves.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use haft_protocol::content::{CallPreview, ToolCall};
use haft_protocol::ids::ExtensionName;
use haft_protocol::rpc::{CommandFailure, ErrorCode, UiAnswer, UiEnd, UiKind, UiRequest, UiResponse};

use crate::shorten_name;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserQuestion {
    pub(crate) extension: Option<ExtensionName>,
    pub(crate) kind: UiKind,
    pub(crate) title: String,
    pub(crate) message: String,
    /// The choices, if the question has any.
    pub(crate) options: Vec<String>,
    pub(crate) placeholder: Option<String>,
    pub(crate) prefill: Option<String>,
    /// The time for an answer in milliseconds; `None` if the question waits.
    pub(crate) timeout_ms: Option<u64>,
    /// The call that needs approval, for [`UiKind::Approve`].
    pub(crate) call: Option<ToolCall>,
    /// The effect of the call, if it is known.
    pub(crate) preview: Option<CallPreview>,
    /// The safe answer, used if the client gives none.
    pub(crate) default: UiAnswer,
}

impl UserQuestion {
    /// Creates a question without details.
    pub(crate) fn new(kind: UiKind, title: impl Into<String>, default: UiAnswer) -> Self {
        Self {
            extension: None,
            kind,
            title: title.into(),
            message: String::new(),
            options: Vec::new(),
            placeholder: None,
            prefill: None,
            timeout_ms: None,
            call: None,
            preview: None,
            default,
        }
    }

    fn into_request(self, id: String) -> UiRequest {
        UiRequest {
            id,
            extension: self.extension,
            kind: self.kind,
            title: self.title,
            message: self.message,
            options: self.options,
            placeholder: self.placeholder,
            prefill: self.prefill,
            call: self.call,
            preview: self.preview.map(Box::new),
            timeout_ms: self.timeout_ms,
            default: self.default,
        }
    }
}

/// A closed question, with the answer for the asker and the reason for the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClosedDialog {
    /// The `id` of the `ui_request`.
    pub(crate) id: String,
    /// The answer of the client, or the default.
    pub(crate) answer: UiAnswer,
    pub(crate) why: UiEnd,
}

/// The open questions.
#[derive(Debug, Default)]
pub(crate) struct DialogRegistry {
    answers: bool,
    asked: u64,
    open: BTreeMap<u64, OpenDialog>,
}

#[derive(Debug)]
struct OpenDialog {
    kind: UiKind,
    options: Vec<String>,
    default: UiAnswer,
}

impl DialogRegistry {
    /// Sets whether the client answers questions. Open questions stay open.
    pub(crate) fn set_answers(&mut self, answers: bool) {
        self.answers = answers;
    }

    /// True if the client answers questions.
    pub(crate) fn has_answers(&self) -> bool {
        self.answers
    }

    /// Opens a question and returns the request for the client; a [`ClosedDialog`] follows later.
    /// Returns `None` if the client answers no questions; the default then applies.
    pub(crate) fn open_question(&mut self, question: UserQuestion) -> Option<UiRequest> {
        if !self.answers {
            return None;
        }
        self.asked += 1;
        let UserQuestion { kind, options, default, .. } = &question;
        let open = OpenDialog { kind: *kind, options: options.clone(), default: default.clone() };
        self.open.insert(self.asked, open);
        Some(question.into_request(dialog_id(self.asked)))
    }

    /// Accepts the client's answer.
    ///
    /// # Errors
    /// [`CommandFailure`] if the question is not open, or if the answer does not fit; in the second
    /// case the question stays open.
    pub(crate) fn answer(&mut self, response: UiResponse) -> Result<ClosedDialog, CommandFailure> {
        let UiResponse { request, answer } = response;
        let number = self.find_number(&request).ok_or_else(|| not_open_failure(&request))?;
        let open = self.open.remove(&number).ok_or_else(|| not_open_failure(&request))?;
        match open.check_answer(&answer) {
            Ok(()) if answer == UiAnswer::Cancelled => Ok(close_with_default(number, open, UiEnd::Cancelled)),
            Ok(()) => Ok(ClosedDialog { id: request, answer, why: UiEnd::Answered }),
            Err(expected) => {
                self.open.insert(number, open);
                Err(CommandFailure::new(
                    ErrorCode::BadRequest,
                    format!("{request} is answered with {expected}"),
                ))
            }
        }
    }

    /// Closes a question without an answer. Returns `None` if it is already closed.
    pub(crate) fn close(&mut self, id: &str, why: UiEnd) -> Option<ClosedDialog> {
        let number = self.find_number(id)?;
        self.open.remove(&number).map(|open| close_with_default(number, open, why))
    }

    /// Closes all questions, because the client cannot answer any more. No later question is sent.
    pub(crate) fn end(&mut self) -> Vec<ClosedDialog> {
        self.answers = false;
        let open = std::mem::take(&mut self.open);
        open.into_iter().map(|(number, open)| close_with_default(number, open, UiEnd::Shutdown)).collect()
    }

    fn find_number(&self, id: &str) -> Option<u64> {
        self.open.keys().copied().find(|number| dialog_id(*number) == id)
    }
}

impl OpenDialog {
    /// Checks an answer; the error describes a valid one.
    fn check_answer(&self, answer: &UiAnswer) -> Result<(), String> {
        match (self.kind, answer) {
            (_, UiAnswer::Cancelled)
            | (UiKind::Confirm | UiKind::Approve, UiAnswer::Confirmed(_))
            | (UiKind::Input | UiKind::Editor, UiAnswer::Value(_)) => Ok(()),
            (UiKind::Select | UiKind::GateFailing, UiAnswer::Value(value))
                if self.options.contains(value) =>
            {
                Ok(())
            }
            (UiKind::Confirm | UiKind::Approve, UiAnswer::Value(_)) => Err("`confirmed`".to_owned()),
            (UiKind::Input | UiKind::Editor, UiAnswer::Confirmed(_)) => Err("a `value`".to_owned()),
            (UiKind::Select | UiKind::GateFailing, UiAnswer::Value(_) | UiAnswer::Confirmed(_)) => {
                Err(format!("one of these as `value`: {}", self.options.join(", ")))
            }
        }
    }
}

fn close_with_default(number: u64, open: OpenDialog, why: UiEnd) -> ClosedDialog {
    ClosedDialog { id: dialog_id(number), answer: open.default, why }
}

fn dialog_id(number: u64) -> String {
    format!("ui-{number}")
}

fn not_open_failure(id: &str) -> CommandFailure {
    let id = shorten_name(id);
    CommandFailure::new(
        ErrorCode::NotOpen,
        format!("question {id:?} is not open: it was answered or has expired"),
    )
}
