//! A question as the agent's side asks it.

use std::path::Path;
use std::time::Duration;

use haft_protocol::rpc::{UiAnswer, UiKind, UiRequest};

use super::choices::STOP;
use super::{AnswerKind, Question, call, preview};
use crate::clean::CleanLine;

/// The label of a negative answer.
const NO: &str = "no";

/// The rows of the arguments of a call that its summary contains.
const SUMMARY: usize = 4;

impl Question {
    /// Makes a question of haft itself, which grants nothing.
    pub(crate) fn from_haft(wanted: AnswerKind, title: String, message: String) -> Self {
        Self {
            owner: None,
            wanted,
            title,
            message,
            call: None,
            preview: None,
            grants: false,
            placeholder: None,
            within: None,
            default: None,
        }
    }

    /// Makes a question from a request of the agent's side.
    pub fn from_request(request: &UiRequest) -> Self {
        let options = || request.options.clone();
        let (wanted, grants) = match request.kind {
            UiKind::Confirm => (AnswerKind::Confirm, false),
            UiKind::Approve => (AnswerKind::Confirm, true),
            UiKind::Select => (AnswerKind::Select(options()), false),
            UiKind::Input => (AnswerKind::Input { secret: false }, false),
            UiKind::Editor => (AnswerKind::Editor(request.prefill.clone().unwrap_or_default()), false),
            UiKind::GateFailing => (AnswerKind::Gate(options()), true),
        };
        // For a gate, the extension is the subject of the question, and the title names it.
        let owner = request.extension.as_ref().filter(|_| request.kind != UiKind::GateFailing);
        Self {
            owner: owner.map(ToString::to_string),
            wanted,
            title: request.title.clone(),
            message: request.message.clone(),
            call: request.call.clone(),
            preview: request.preview.as_deref().cloned(),
            grants,
            placeholder: request.placeholder.clone(),
            within: request.timeout_ms.map(Duration::from_millis),
            default: default_label(&request.default),
        }
    }

    /// True if a yes runs a call of a tool.
    pub(super) fn is_approval(&self) -> bool {
        self.grants && self.call.is_some() && self.wanted == AnswerKind::Confirm
    }

    /// Returns a line that names the asker, the question, and the call if there is one.
    pub fn summary_line(&self) -> CleanLine {
        let owner = self.owner.as_ref().map_or_else(String::new, |owner| format!("[{owner}] "));
        let detail = match (self.whole_diff(), &self.call) {
            (Some(diff), _) => preview::diff_title(diff),
            (None, Some(call)) if self.message.is_empty() => {
                let rows = call::argument_rows(call);
                rows.iter().take(SUMMARY).map(|row| row.text.as_str()).collect::<Vec<_>>().join(" ")
            }
            (None, _) => self.message.lines().next().unwrap_or_default().to_owned(),
        };
        let between = if detail.is_empty() { "" } else { " · " };
        CleanLine::new(&format!("{owner}{}{between}{detail}", self.title.lines().next().unwrap_or_default()))
    }

    /// Uses the path of the file as the message of a question about a file, relative to the directory of the session. A
    /// diff names its file itself.
    #[must_use]
    pub fn in_directory(mut self, cwd: &str) -> Self {
        let place = self.call.as_ref().and_then(|granted| call::target_path(granted, Path::new(cwd)));
        if let Some(place) = place.filter(|_| self.message.is_empty() && self.whole_diff().is_none()) {
            self.message = place;
        }
        self
    }

    /// Describes what happens if the person does not answer within `time`.
    pub(super) fn countdown_text(&self, time: &str) -> String {
        match (&self.default, &self.wanted) {
            (Some(default), AnswerKind::Confirm) if self.grants && default == NO => {
                format!("denied automatically in {time}")
            }
            (Some(default), AnswerKind::Gate(_)) if default == STOP => {
                format!("stops automatically in {time}")
            }
            (Some(default), _) => format!("answered automatically in {time}: {default}"),
            (None, _) => format!("closes in {time}"),
        }
    }
}

fn default_label(answer: &UiAnswer) -> Option<String> {
    match answer {
        UiAnswer::Confirmed(true) => Some("yes".to_owned()),
        UiAnswer::Confirmed(false) => Some(NO.to_owned()),
        UiAnswer::Value(value) => Some(value.clone()),
        UiAnswer::Cancelled => None,
    }
}
