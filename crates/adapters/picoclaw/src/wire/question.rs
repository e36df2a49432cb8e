//! Decodes a reply to any request of a hook into a decision, and describes mistakes.
//!
//! A reply is decoded with its request. Omitted fields keep the original values. `continue`, no
//! action and `modify` mean the same, so a payload applies with each of them.

use std::cell::LazyCell;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::action::HookAction;
use super::fold::{self, ObjectFields};
use super::method::Method;
use super::outline::json_outline;
use haft_protocol::RawJson;

/// A call with a reply: the params of a request.
pub trait HookQuestion: Serialize {
    /// The decision of the hook.
    type Decision;

    /// The method of the request.
    const METHOD: Method;

    /// The shape of the result, in one line.
    const SHAPE: &'static str;

    /// Reads the result as a decision about this request; `{}` if the hook sent no result.
    ///
    /// # Errors
    /// [`MalformedReply`], which describes the actual and the expected result. The caller's policy
    /// decides what follows.
    fn decide(&self, result: &RawJson) -> Result<ParsedDecision<Self::Decision>, MalformedReply>;
}

/// The decision of a hook, and the ignored parts of its reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedDecision<D> {
    /// The decision.
    pub decision: D,
    /// Requests that haft ignores, for the user; the first eight.
    pub reports: Vec<String>,
    /// Parts that were ignored without harm, for the log; the first eight.
    pub notes: Vec<String>,
}

impl<D> ParsedDecision<D> {
    /// Creates a decision without ignored parts.
    pub const fn from_decision(decision: D) -> Self {
        Self { decision, reports: Vec::new(), notes: Vec::new() }
    }

    /// Adds a remark to the reports.
    pub(super) fn with_remark(mut self, remark: Option<String>) -> Self {
        remark.into_iter().for_each(|text| self.add_report(text));
        self
    }

    pub(super) fn add_report(&mut self, text: String) {
        if self.reports.len() < MOST_REMARKS {
            self.reports.push(text);
        }
    }

    pub(super) fn add_note(&mut self, text: String) {
        if self.notes.len() < MOST_REMARKS {
            self.notes.push(text);
        }
    }
}

/// The maximum number of remarks of one kind; a reply can contain a hundred thousand mistakes.
const MOST_REMARKS: usize = 8;

/// A result that does not fit its request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the reply to {} is invalid: {detail}; got {found}, expected {shape}", .method.name())]
pub struct MalformedReply {
    /// The method of the request.
    pub method: Method,
    /// The mistake.
    pub detail: String,
    /// The names and kinds of the actual result, without texts, which may be secret.
    pub found: String,
    /// The expected form.
    pub shape: &'static str,
}

/// The maximum length of an unknown action in a message, in characters.
const LONGEST_ACTION: usize = 32;

/// The result of one of the four interceptors, with undecoded payloads.
#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "an object")]
pub(super) struct ReplyHead {
    pub(super) action: Option<String>,
    pub(super) reason: String,
    pub(super) request: Option<RawJson>,
    pub(super) response: Option<RawJson>,
    pub(super) call: Option<RawJson>,
    pub(super) result: Option<RawJson>,
    /// A remark about the rest of the reply, for the reports.
    #[serde(skip)]
    pub(super) remark: Option<String>,
}

/// The use of the payload.
pub(super) enum ReplyVerb {
    /// Applies the payload, if there is one.
    Proceed,
    /// Uses the payload as the result of the tool.
    Respond,
    DenyTool,
    AbortTurn,
    HardAbort,
}

/// The state while a result is decoded into a decision about one request.
pub(super) struct ReplyReader<'a, Q> {
    question: &'a Q,
    result: &'a RawJson,
}

/// The fields of a payload.
pub(super) struct PayloadShape {
    /// The field of the result that holds the payload.
    pub(super) name: &'static str,
    pub(super) fields: &'static [&'static str],
    /// Common wrong names, with the right name.
    pub(super) misnamed: &'static [(&'static str, &'static str)],
}

impl<'a, Q: HookQuestion> ReplyReader<'a, Q> {
    pub(super) fn new(question: &'a Q, result: &'a RawJson) -> Self {
        Self { question, result }
    }

    pub(super) fn malformed_reply(&self, detail: impl Into<String>) -> MalformedReply {
        let found = json_outline(self.result.as_str());
        MalformedReply { method: Q::METHOD, detail: detail.into(), found, shape: Q::SHAPE }
    }

    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, MalformedReply> {
        fold::read(self.result).map_err(|detail| self.malformed_reply(detail))
    }

    /// Reads the action and finds the payloads. `has_payload` is true if the payload of the action
    /// exists; `strays` are names that stand beside the action instead of in its payload.
    pub(super) fn read_head(
        &self,
        payload: impl Fn(&ReplyHead) -> bool,
        payload_name: &str,
        strays: &[&str],
    ) -> Result<(ReplyVerb, ReplyHead), MalformedReply> {
        let mut head: ReplyHead = self.read()?;
        head.action = head.action.filter(|action| !action.is_empty());
        if head.action.is_none() && self.is_echo() {
            return Ok((ReplyVerb::Proceed, ReplyHead::default()));
        }
        let action = head.action.as_deref().map(|name| {
            let short: String = name.chars().take(LONGEST_ACTION).collect();
            HookAction::from_name(name)
                .ok_or_else(|| self.malformed_reply(format!("unknown action {short:?}")))
        });
        let verb = match action.transpose()? {
            Some(HookAction::Modify) if !payload(&head) => {
                return Err(self.malformed_reply(format!("modify without {payload_name:?}")));
            }
            None if !payload(&head) => {
                self.reject_stray_fields(payload_name, strays)?;
                ReplyVerb::Proceed
            }
            None => {
                head.remark = self.stray_verdict();
                ReplyVerb::Proceed
            }
            Some(HookAction::Continue | HookAction::Modify) => ReplyVerb::Proceed,
            Some(HookAction::Respond) => ReplyVerb::Respond,
            Some(HookAction::DenyTool) => ReplyVerb::DenyTool,
            Some(HookAction::AbortTurn) => ReplyVerb::AbortTurn,
            Some(HookAction::HardAbort) => ReplyVerb::HardAbort,
        };
        Ok((verb, head))
    }

    /// True if the payload is the params, unchanged.
    fn is_echo(&self) -> bool {
        let Ok(fields) = ObjectFields::parse(self.result.as_str()) else { return false };
        fields.has("meta")
            && serde_json::to_value(self.question).is_ok_and(|params| {
                fields
                    .iter()
                    .all(|(name, value)| serde_json::from_str(value).ok().as_ref() == params.get(name))
            })
    }

    /// Rejects a reply that would let a tool run without a plain answer. With an action, the reply
    /// may only have the payload, repeat params, approve like a reply to `approve_tool`, and have
    /// empty fields. Without an action, it may only be empty, have the payload, be that approval, or
    /// repeat the params.
    pub(super) fn require_plain_answer(
        &self,
        action: Option<&str>,
        payload: &PayloadShape,
    ) -> Result<(), MalformedReply> {
        if let Some(action) = action {
            return self.reject_fields_beside(action, payload);
        }
        let fields = ObjectFields::parse(self.result.as_str())
            .map_err(|error| self.malformed_reply(error.to_string()))?;
        let has_payload = fields.get(payload.name).is_ok_and(|value| value.is_some());
        let is_approval = |name: &str, value: &str| name == "approved" && value == "true";
        let is_plain = has_payload || fields.get("approved").is_ok_and(|value| value == Some("true"));
        let is_expected = |name: &str, value: &str| {
            name == payload.name
                || is_empty(value)
                || is_approval(name, value)
                || is_plain && name == "reason"
                || has_payload && payload.fields.contains(&name)
        };
        let mut names = fields.iter().map(|(name, value)| (name.to_ascii_lowercase(), value));
        match names.find(|(name, value)| !is_expected(name, value)) {
            Some((name, _)) if !self.is_echo() => Err(self.malformed_reply(missing_action_message(&name))),
            _ => Ok(()),
        }
    }

    /// Rejects fields beside an action that lets a tool run, unless they are empty, documented for
    /// this action, or repeat the params. Any other field may be a refusal in other words.
    fn reject_fields_beside(&self, action: &str, payload: &PayloadShape) -> Result<(), MalformedReply> {
        if let Some(word) = self.dissenting_field() {
            return Err(self.malformed_reply(format!("{word:?} contradicts the action {action:?}")));
        }
        let fields = ObjectFields::parse(self.result.as_str())
            .map_err(|error| self.malformed_reply(error.to_string()))?;
        let is_approved = fields.get("approved").is_ok_and(|value| value == Some("true"));
        // A reason explains a change or an approval. Beside `continue`, it explains a refusal.
        let explains = is_approved || HookAction::from_name(action) == Some(HookAction::Modify);
        // Most replies have no such field, and the params may be long.
        let params = LazyCell::new(|| serde_json::to_value(self.question).unwrap_or_default());
        let is_repeated =
            |name: &str, value: &str| serde_json::from_str(value).ok().as_ref() == params.get(name);
        let is_expected = |name: &str, value: &str| {
            name == "action"
                || name == payload.name
                || is_empty(value)
                || name == "approved" && is_approved
                || name == "reason" && explains
                || is_repeated(name, value)
        };
        let mut names = fields.iter().map(|(name, value)| (name.to_ascii_lowercase(), value));
        match names.find(|(name, value)| !is_expected(name, value)) {
            Some((name, _)) => {
                Err(self.malformed_reply(format!("{name:?} is not valid with the action {action:?}")))
            }
            None => Ok(()),
        }
    }

    pub(super) fn unexpected_action(&self, action: HookAction) -> MalformedReply {
        self.malformed_reply(format!("the action {:?} is not valid for this method", action.name()))
    }

    /// Returns a word for a verdict beside a payload that applies without an action.
    fn stray_verdict(&self) -> Option<String> {
        let fields = ObjectFields::parse(self.result.as_str()).ok()?;
        let mut names = fields.iter().map(|(name, value)| (name.to_ascii_lowercase(), value));
        let (name, _) = names.find(|(name, value)| is_verdict(name, value))?;
        Some(missing_action_message(&name))
    }

    /// Returns the first word that contradicts the approval of a tool.
    pub(super) fn dissenting_field(&self) -> Option<String> {
        let fields = ObjectFields::parse(self.result.as_str()).ok()?;
        let mut names = fields.iter().map(|(name, value)| (name.to_ascii_lowercase(), value));
        names.find(|(name, value)| is_dissent(name, value)).map(|(name, _)| name)
    }

    /// Rejects a reply with neither action nor payload but with other fields: a misspelled field
    /// must not mean "continue".
    fn reject_stray_fields(&self, payload: &str, strays: &[&str]) -> Result<(), MalformedReply> {
        let Ok(fields) = ObjectFields::parse(self.result.as_str()) else { return Ok(()) };
        for (name, value) in fields.iter() {
            let name = name.to_ascii_lowercase();
            if is_verdict(&name, value) {
                return Err(self.malformed_reply(missing_action_message(&name)));
            }
            if strays.contains(&&*name) {
                return Err(self.malformed_reply(format!("{name:?} must be inside {payload:?}")));
            }
        }
        Ok(())
    }

    /// Reads a payload, unless none of its fields has an expected name.
    pub(super) fn read_payload<T: DeserializeOwned>(
        &self,
        json: &RawJson,
        known: &PayloadShape,
    ) -> Result<T, MalformedReply> {
        let PayloadShape { name, fields: names, misnamed } = known;
        let fields = ObjectFields::parse(json.as_str())
            .map_err(|_| self.malformed_reply(format!("{name:?} is not an object")))?;
        for (wrong, right) in *misnamed {
            if fields.has(wrong) && !fields.has(right) {
                return Err(self.malformed_reply(format!("{name:?} has {wrong:?} instead of {right:?}")));
            }
        }
        if fields.names().next().is_some() && !names.iter().any(|known| fields.has(known)) {
            return Err(self.malformed_reply(format!("{name:?} has no known field")));
        }
        fold::read_field(name, json.as_str()).map_err(|detail| self.malformed_reply(detail))
    }
}

/// Words for a verdict that are not PicoClaw's, and the values that mean "continue".
const VERDICTS: &[(&str, &[&str])] = &[
    ("abort", &["false", "null"]),
    ("allow", &["true", "null"]),
    ("allowed", &["true", "null"]),
    ("approve", &["true", "null"]),
    ("approved", &["true", "null"]),
    ("behavior", &[]),
    ("block", &["false", "null"]),
    ("blocked", &["false", "null"]),
    ("cancel", &["false", "null"]),
    ("continue", &["true", "null"]),
    ("decision", &[]),
    ("denied", &["false", "null"]),
    ("deny", &["false", "null"]),
    ("forbidden", &["false", "null"]),
    ("hookspecificoutput", &[]),
    ("ok", &["true", "null"]),
    ("permission", &[]),
    ("permissiondecision", &[]),
    ("permitted", &["true", "null"]),
    ("proceed", &["true", "null"]),
    ("refuse", &["false", "null"]),
    ("refused", &["false", "null"]),
    ("reject", &["false", "null"]),
    ("rejected", &["false", "null"]),
    ("stop", &["false", "null"]),
    ("verdict", &[]),
];

/// Words that mean "continue" in a verdict.
const AGREEING: &[&str] = &["", "allow", "allowed", "approve", "approved", "continue", "modify"];

/// True if a field is a verdict that is not PicoClaw's and does not mean "continue".
fn is_verdict(name: &str, value: &str) -> bool {
    VERDICTS.iter().any(|(verdict, harmless)| *verdict == name && !harmless.contains(&value))
}

/// True if a field contradicts an approval.
fn is_dissent(name: &str, value: &str) -> bool {
    match name {
        "action" | "behavior" | "decision" | "permission" | "permissiondecision" | "verdict" => {
            let word = serde_json::from_str::<Option<String>>(value).map(Option::unwrap_or_default);
            !word.is_ok_and(|word| AGREEING.contains(&&*word.to_ascii_lowercase()))
        }
        "hookspecificoutput" if value.starts_with('{') => ObjectFields::parse(value).is_ok_and(|fields| {
            fields.iter().any(|(name, value)| is_dissent(&name.to_ascii_lowercase(), value))
        }),
        _ => is_verdict(name, value),
    }
}

/// True if a JSON text has no content.
fn is_empty(value: &str) -> bool {
    matches!(value, "null" | "\"\"" | "{}")
}

fn missing_action_message(name: &str) -> String {
    format!("{name:?} without \"action\"")
}
