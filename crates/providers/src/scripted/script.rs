//! The format of scripts.

use haft_core::model::ModelErrorKind;
use haft_protocol::RawJson;
use haft_protocol::message::{StopCause, TokenUsage};
use serde::Deserialize;
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::ScriptError;

#[derive(Debug)]
pub(super) struct ModelScript {
    pub(super) model: String,
    pub(super) context_window: Option<u64>,
    pub(super) steps: Vec<ScriptStep>,
}

/// One answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptStep {
    #[serde(default)]
    pub(super) when: StepCondition,
    #[serde(default)]
    pub(super) repeat: bool,
    #[serde(default)]
    pub(super) say: Vec<ScriptBlock>,
    /// The size of a delta in characters; 0 sends the whole text.
    #[serde(default)]
    pub(super) chunk: usize,
    /// The delay before each delta, in milliseconds.
    #[serde(default)]
    pub(super) pause_ms: u64,
    #[serde(default)]
    pub(super) usage: Option<ScriptedUsage>,
    #[serde(default)]
    pub(super) stop: Option<StopWord>,
    /// The failure after the content of the step.
    #[serde(default)]
    pub(super) error: Option<ScriptedFailure>,
}

/// The conditions on the last message; a missing field matches any message.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepCondition {
    pub(super) contains: Option<String>,
    pub(super) last_role: Option<MessageRole>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MessageRole {
    User,
    Assistant,
    Tool,
}

/// One block; exactly one of the fields is present.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptBlock {
    pub(super) text: Option<String>,
    pub(super) thinking: Option<String>,
    pub(super) call: Option<ScriptCall>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptCall {
    pub(super) name: String,
    /// The arguments, byte for byte except spaces between tokens.
    #[serde(default)]
    pub(super) args: Option<RawJson>,
    #[serde(default)]
    pub(super) args_text: Option<String>,
}

/// Token counts; missing counts are 0.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ScriptedUsage {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    cost_usd: f64,
}

impl From<ScriptedUsage> for TokenUsage {
    fn from(counted: ScriptedUsage) -> Self {
        Self::default()
            .with_input(counted.input)
            .with_output(counted.output)
            .with_cache_read(counted.cache_read)
            .with_cache_write(counted.cache_write)
            .with_cost_usd(counted.cost_usd)
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StopWord {
    End,
    ToolUse,
    Length,
}

impl From<StopWord> for StopCause {
    fn from(word: StopWord) -> Self {
        match word {
            StopWord::End => Self::End,
            StopWord::ToolUse => Self::ToolUse,
            StopWord::Length => Self::Length,
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptedFailure {
    #[serde(with = "FailureKind")]
    pub(super) kind: ModelErrorKind,
    pub(super) message: String,
}

#[derive(Deserialize)]
#[serde(remote = "ModelErrorKind", rename_all = "snake_case")]
enum FailureKind {
    Auth,
    RateLimited,
    Unavailable,
    Rejected,
    Overflow,
    Connection,
    Truncated,
    #[serde(skip)]
    Cancelled,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptFile<S> {
    model: Option<String>,
    context_window: Option<u64>,
    steps: Vec<S>,
}

/// Returns the JSON error and its position in the file.
fn describe_mistake(error: &serde_json::Error) -> String {
    let place = format!("in line {}, column {}", error.line(), error.column());
    match error.classify() {
        Category::Eof => "the JSON ends too early".to_owned(),
        Category::Io | Category::Syntax => format!("invalid JSON {place}"),
        Category::Data => {
            let message = error.to_string();
            let what = message.rsplit_once(" at line ").map_or(message.as_str(), |(what, _)| what);
            format!("{what}, {place}")
        }
    }
}

impl ModelScript {
    pub(super) fn parse(text: &str) -> Result<Self, ScriptError> {
        let file: ScriptFile<&RawValue> = serde_json::from_str(text)
            .map_err(|error| ScriptError::Script { reason: describe_mistake(&error) })?;
        let steps = file.steps.iter().enumerate().map(|(index, raw)| {
            ScriptStep::parse(raw.get(), text).map_err(|reason| ScriptError::Step { step: index + 1, reason })
        });
        Ok(Self {
            model: file.model.unwrap_or_else(|| "script".to_owned()),
            context_window: file.context_window,
            steps: steps.collect::<Result<_, _>>()?,
        })
    }
}

impl ScriptStep {
    fn parse(text: &str, whole: &str) -> Result<Self, String> {
        let step: Self = serde_json::from_str(text).map_err(|error| {
            // The first error of the whole script is the same error, with the line number in the script.
            describe_mistake(&serde_json::from_str::<ScriptFile<Self>>(whole).err().unwrap_or(error))
        })?;
        if step.say.is_empty() && step.error.is_none() {
            return Err("the step has neither `say` nor `error`".to_owned());
        }
        for (index, line) in step.say.iter().enumerate() {
            line.check().map_err(|reason| format!("block {}: {reason}", index + 1))?;
        }
        Ok(step)
    }

    /// Returns the stop cause; derived from the content if the script sets none.
    pub(super) fn stop(&self) -> StopCause {
        let calls = self.say.iter().any(|line| line.call.is_some());
        self.stop.map_or(if calls { StopCause::ToolUse } else { StopCause::End }, StopCause::from)
    }
}

impl ScriptBlock {
    fn check(&self) -> Result<(), String> {
        let given = [self.text.is_some(), self.thinking.is_some(), self.call.is_some()];
        if given.iter().filter(|given| **given).count() != 1 {
            return Err("a block needs exactly one of text, thinking and call".to_owned());
        }
        let Some(call) = &self.call else { return Ok(()) };
        if call.name.is_empty() {
            return Err("the call has no tool name".to_owned());
        }
        match (&call.args, &call.args_text) {
            (Some(_), Some(_)) => Err("give args or args_text, not both".to_owned()),
            (Some(args), None) if !args.is_object() => {
                Err("args is not an object; use args_text for arguments that are not an object".to_owned())
            }
            (Some(_), None) | (None, _) => Ok(()),
        }
    }
}
