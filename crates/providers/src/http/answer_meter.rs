//! Meters an answer before any parser of the wire library sees it: bytes, depth, counts.

use haft_protocol::defense::{Defense, is_up};
use rig_core::error::ProviderError;
use serde_json::Value;

use super::argument_meter::{ArgumentMeter, JsonScan};
use crate::limits::{
    BLOCK_COST, ENVELOPE_TEXT, ENVELOPE_VALUES, MAX_CONTENT, MAX_EVENT, MAX_EVENT_DEPTH, MAX_EVENT_VALUES,
    MAX_EVENTS, VALUE_COST,
};

/// The meter of one answer, for all dialects.
#[derive(Debug, Default)]
pub(super) struct AnswerMeter {
    events: usize,
    content: usize,
    arguments: ArgumentMeter,
    /// The call of the last event; [`None`] if the next piece of arguments may begin another call.
    last_call: Option<CallPlace>,
}

/// The fields by which the wire library assigns a piece of arguments to a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct CallPlace {
    index: Option<Value>,
    id: Option<Value>,
}

impl CallPlace {
    /// True if a piece with these fields belongs to the same call as the piece before.
    fn continues_call(&self, last: &Self) -> bool {
        self.index == last.index && (self.id.is_none() || self.id == last.id)
    }
}

/// A piece of the arguments of a call.
struct ArgumentPiece {
    place: CallPlace,
    text: String,
}

impl AnswerMeter {
    /// Checks the length of an event that has not arrived completely.
    ///
    /// # Errors
    /// An error for the user if the event is too long.
    pub(super) fn check_length(bytes: usize) -> Result<(), ProviderError> {
        if bytes > MAX_EVENT && is_up(Defense::AnswerBudget) {
            return Err(limit_error(format_args!(
                "an event is longer than {} MiB",
                MAX_EVENT / (1024 * 1024)
            )));
        }
        Ok(())
    }

    /// Counts an event and returns its value; [`Value::Null`] for an event that is no JSON.
    ///
    /// # Errors
    /// An error for the user if the event or the answer is too large, or if the event is not JSON.
    pub(super) fn count_event(&mut self, event: &str) -> Result<Value, ProviderError> {
        if !is_up(Defense::AnswerBudget) {
            return Ok(serde_json::from_str(event).unwrap_or_default());
        }
        Self::check_length(event.len())?;
        self.events += 1;
        if self.events > MAX_EVENTS {
            return Err(limit_error(format_args!("the answer has more than {MAX_EVENTS} events")));
        }
        if event.trim() == END_MARK {
            return Ok(Value::Null);
        }
        let mut scan = JsonScan::default();
        scan.scan(event, 0);
        if scan.deepest > MAX_EVENT_DEPTH {
            return Err(limit_error(format_args!(
                "an event is nested more than {MAX_EVENT_DEPTH} levels deep"
            )));
        }
        if scan.values > MAX_EVENT_VALUES {
            return Err(limit_error(format_args!("an event has more than {MAX_EVENT_VALUES} values")));
        }
        let value: Value = serde_json::from_str(event)?;
        self.content += scan.values.saturating_sub(ENVELOPE_VALUES) * VALUE_COST;
        self.count_arguments(&value)?;
        self.content += content_bytes("", &value);
        if self.content > MAX_CONTENT {
            let most = MAX_CONTENT / (1024 * 1024);
            return Err(limit_error(format_args!("the answer has more than {most} MiB of content")));
        }
        Ok(value)
    }

    fn count_arguments(&mut self, event: &Value) -> Result<(), ProviderError> {
        let mut pieces = Vec::new();
        find_arguments(event, &CallPlace::default(), &mut pieces);
        let kind = event.get("type").and_then(Value::as_str);
        if pieces.is_empty() && kind == Some("ping") {
            return Ok(());
        }
        let is_delta = kind.is_none_or(|kind| kind.ends_with("delta"));
        if !is_delta {
            self.content += BLOCK_COST;
        }
        // Any other event may end the current call.
        let is_piece = pieces.len() == 1 && is_delta && !ends_answer(event);
        if !is_piece {
            self.last_call = None;
        }
        for ArgumentPiece { place, text } in pieces {
            let continues = self.last_call.as_ref().is_some_and(|last| place.continues_call(last));
            if !continues {
                self.content += BLOCK_COST;
            }
            self.arguments.add_piece(&text, continues).map_err(|depth| {
                limit_error(format_args!("the arguments of a tool are nested too deeply ({depth} levels)"))
            })?;
            let id = if continues { self.last_call.take().and_then(|last| last.id) } else { place.id };
            self.last_call = is_piece.then_some(CallPlace { index: place.index, id });
        }
        Ok(())
    }
}

/// The data of the last event of some dialects.
const END_MARK: &str = "[DONE]";

fn limit_error(limit: std::fmt::Arguments<'_>) -> ProviderError {
    ProviderError::Response(format!("{limit}; send the prompt again, or choose another model"))
}

/// True if the event may end all calls.
fn ends_answer(event: &Value) -> bool {
    let choices = event.get("choices").and_then(Value::as_array).into_iter().flatten();
    choices.filter_map(|choice| choice.get("finish_reason")).any(|reason| !reason.is_null())
}

/// Adds every field that the wire library may read as arguments, in any dialect.
fn find_arguments(value: &Value, outer: &CallPlace, pieces: &mut Vec<ArgumentPiece>) {
    let Value::Object(fields) = value else {
        value.as_array().into_iter().flatten().for_each(|value| find_arguments(value, outer, pieces));
        return;
    };
    let any =
        |names: &[&str]| names.iter().find_map(|name| fields.get(*name)).filter(|value| !value.is_null());
    let index = any(&["index", "output_index"]).or(outer.index.as_ref()).cloned();
    let id = any(&["call_id", "item_id", "id"]).or(outer.id.as_ref()).cloned();
    let place = CallPlace { index, id };
    let is_text = any(&["type"]).and_then(Value::as_str).is_some_and(|kind| TEXT_DELTAS.contains(&kind));
    for (name, value) in fields {
        match (name.as_str(), value) {
            ("delta", Value::String(_)) if is_text => {}
            ("delta", Value::String(text))
            | ("partial_json" | "arguments" | "args" | "input", Value::String(text)) => {
                pieces.push(ArgumentPiece { place: place.clone(), text: text.clone() });
            }
            ("partial_json" | "arguments", value) if !value.is_null() => {
                pieces.push(ArgumentPiece { place: place.clone(), text: value.to_string() });
            }
            ("tool_calls", Value::Array(calls)) => {
                calls.iter().for_each(|call| find_call(call, &place, pieces))
            }
            (_, value) => find_arguments(value, &place, pieces),
        }
    }
}

/// Adds the arguments of a call, or an empty piece, because a call can begin without arguments.
fn find_call(call: &Value, outer: &CallPlace, pieces: &mut Vec<ArgumentPiece>) {
    let before = pieces.len();
    find_arguments(call, outer, pieces);
    if pieces.len() == before {
        let field = |name: &str| call.get(name).filter(|value| !value.is_null()).cloned();
        let place = CallPlace { index: field("index").or(outer.index.clone()), id: field("id") };
        pieces.push(ArgumentPiece { place, text: String::new() });
    }
}

/// The events of OpenAI Responses whose `delta` is text.
const TEXT_DELTAS: &[&str] = &[
    "response.output_text.delta",
    "response.refusal.delta",
    "response.reasoning_text.delta",
    "response.reasoning_summary_text.delta",
];

/// Returns the bytes of the texts in a value that a parser may keep.
fn content_bytes(name: &str, value: &Value) -> usize {
    match value {
        Value::String(text) if ENVELOPE_FIELDS.contains(&name) && text.len() <= ENVELOPE_TEXT => 0,
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(|value| content_bytes(name, value)).sum(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| name.len().saturating_sub(ENVELOPE_TEXT) + content_bytes(name, value))
            .sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// The texts that providers repeat in every event.
const ENVELOPE_FIELDS: &[&str] = &[
    "created_at",
    "id",
    "item_id",
    "model",
    "modelVersion",
    "obfuscation",
    "object",
    "provider",
    "responseId",
    "role",
    "service_tier",
    "system_fingerprint",
    "type",
];
