//! The meaning of a reply to any question: actions, decisions, and what is said of a reply that makes no sense.
//!
//! A reply is read in the light of its question. What it leaves out stays as it was asked; `continue`, no action and
//! `modify` are one and the same, so that a payload counts under each of them.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::action::HookAction;
use super::fold::{self, ObjectFields};
use super::method::Method;
use super::outline::json_outline;
use crate::json::RawJson;

/// A call that is answered: the params of a request.
pub trait HookQuestion: Serialize {
    /// The decision of the hook.
    type Decision;

    /// Which method asks it.
    const METHOD: Method;

    /// The form of the result, in one line.
    const SHAPE: &'static str;

    /// Reads the result as an answer to this question; `{}` where the hook gave none.
    ///
    /// # Errors
    /// [`Malformed`], which says what was there and what should be. What follows from it is the caller's policy.
    fn decide(&self, result: &RawJson) -> Result<ParsedDecision<Self::Decision>, MalformedReply>;
}

/// The decision of a hook, and the parts of its reply that did not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedDecision<D> {
    /// The decision.
    pub decision: D,
    /// Requests that are not carried out, for the user; the first eight.
    pub reports: Vec<String>,
    /// Parts that were ignored without harm, for the log; the first eight.
    pub notes: Vec<String>,
}

impl<D> ParsedDecision<D> {
    /// A decision in which everything counts.
    pub const fn from_decision(decision: D) -> Self {
        Self { decision, reports: Vec::new(), notes: Vec::new() }
    }

    /// The decision, and what is to be reported beside it.
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

/// Remarks of one kind about one reply; a reply can have a hundred thousand faults.
const MOST_REMARKS: usize = 8;

/// A result that does not fit its question.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the reply to {} cannot be used: {detail}; it was {found}, expected {shape}", .method.name())]
pub struct MalformedReply {
    /// The method of the question.
    pub method: Method,
    /// The mistake.
    pub detail: String,
    /// The names and kinds of what was there; no texts, which may be secret.
    pub found: String,
    /// The expected form.
    pub shape: &'static str,
}

/// Characters of an unknown action that are shown.
const LONGEST_ACTION: usize = 32;

/// A result of one of the four interceptors, its payloads not looked at.
#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "an object")]
pub(super) struct ReplyHead {
    pub(super) action: Option<String>,
    pub(super) reason: String,
    pub(super) request: Option<RawJson>,
    pub(super) response: Option<RawJson>,
    pub(super) call: Option<RawJson>,
    pub(super) result: Option<RawJson>,
    /// A remark about the rest of the reply, to be reported.
    #[serde(skip)]
    pub(super) remark: Option<String>,
}

/// The use of the payload.
pub(super) enum ReplyVerb {
    /// Apply it, if there is one.
    Proceed,
    /// Take it for the result of the tool.
    Respond,
    DenyTool,
    AbortTurn,
    HardAbort,
}

/// A result on its way to a decision about one question.
pub(super) struct ReplyReader<'a, Q> {
    question: &'a Q,
    result: &'a RawJson,
}

/// The content of a payload, by the names of its fields.
pub(super) struct PayloadShape {
    /// The field of the result that it is.
    pub(super) name: &'static str,
    pub(super) fields: &'static [&'static str],
    /// Names that are used by mistake, and what is meant.
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

    /// Reads the action and finds the payloads. `has_payload` says whether the one is there that the action applies;
    /// `strays` are names that stand beside the action where its payload should be.
    pub(super) fn read_head(
        &self,
        payload: impl Fn(&ReplyHead) -> bool,
        payload_name: &str,
        strays: &[&str],
    ) -> Result<(ReplyVerb, ReplyHead), MalformedReply> {
        let mut head: ReplyHead = self.read()?;
        if head.action.is_none() && self.is_echo() {
            return Ok((ReplyVerb::Proceed, ReplyHead::default()));
        }
        let action = head.action.as_deref().map(|name| {
            if name.is_empty() {
                return Ok(HookAction::Continue);
            }
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

    /// True if it is the params again, as they were.
    fn is_echo(&self) -> bool {
        let Ok(fields) = ObjectFields::parse(self.result.as_str()) else { return false };
        fields.has("meta")
            && serde_json::to_value(self.question).is_ok_and(|params| {
                fields
                    .iter()
                    .all(|(name, value)| serde_json::from_str(value).ok().as_ref() == params.get(name))
            })
    }

    pub(super) fn unexpected_action(&self, action: HookAction) -> MalformedReply {
        self.malformed_reply(format!("the action {:?} means nothing here", action.name()))
    }

    /// A word for a verdict beside a payload that counts without an action.
    fn stray_verdict(&self) -> Option<String> {
        let fields = ObjectFields::parse(self.result.as_str()).ok()?;
        let mut names = fields.iter().map(|(name, value)| (name.to_ascii_lowercase(), value));
        let (name, _) = names.find(|(name, value)| is_verdict(name, value))?;
        Some(missing_action_message(&name))
    }

    /// The word, if there is one, that says something else than that a tool may run.
    pub(super) fn dissenting_field(&self) -> Option<String> {
        let fields = ObjectFields::parse(self.result.as_str()).ok()?;
        let mut names = fields.iter().map(|(name, value)| (name.to_ascii_lowercase(), value));
        names.find(|(name, value)| is_dissent(name, value)).map(|(name, _)| name)
    }

    /// Somebody who says neither action nor payload, and yet something: a wrong word for one of them is not "go on".
    fn reject_stray_fields(&self, payload: &str, strays: &[&str]) -> Result<(), MalformedReply> {
        let Ok(fields) = ObjectFields::parse(self.result.as_str()) else { return Ok(()) };
        for (name, value) in fields.iter() {
            let name = name.to_ascii_lowercase();
            if is_verdict(&name, value) {
                return Err(self.malformed_reply(missing_action_message(&name)));
            }
            if strays.contains(&&*name) {
                return Err(self.malformed_reply(format!("{name:?} stands beside {payload:?}, not in it")));
            }
        }
        Ok(())
    }

    /// Reads a payload, unless nothing in it has a name that it should have.
    pub(super) fn read_payload<T: DeserializeOwned>(
        &self,
        json: &RawJson,
        known: &PayloadShape,
    ) -> Result<T, MalformedReply> {
        let PayloadShape { name, fields: names, misnamed } = known;
        let fields = ObjectFields::parse(json.as_str())
            .map_err(|_| self.malformed_reply(format!("{name:?} is no object")))?;
        for (wrong, right) in *misnamed {
            if fields.has(wrong) && !fields.has(right) {
                return Err(self.malformed_reply(format!("{name:?} has {wrong:?} and no {right:?}")));
            }
        }
        if fields.names().next().is_some() && !names.iter().any(|known| fields.has(known)) {
            return Err(self.malformed_reply(format!("nothing in {name:?} has a name that counts")));
        }
        fold::read_field(name, json.as_str()).map_err(|detail| self.malformed_reply(detail))
    }
}

/// Words for a verdict that are not PicoClaw's, and the values that agree with "go on".
const VERDICTS: &[(&str, &[&str])] = &[
    ("allow", &["true", "null"]),
    ("allowed", &["true", "null"]),
    ("approve", &["true", "null"]),
    ("approved", &["true", "null"]),
    ("block", &["false", "null"]),
    ("blocked", &["false", "null"]),
    ("decision", &[]),
    ("denied", &["false", "null"]),
    ("deny", &["false", "null"]),
    ("hookspecificoutput", &[]),
    ("permissiondecision", &[]),
    ("verdict", &[]),
];

/// Words that agree with "go on" where a verdict is told in words.
const AGREEING: &[&str] = &["", "allow", "allowed", "approve", "approved", "continue", "modify"];

/// True if a field is a verdict in words that are not PicoClaw's, and says more than "go on".
fn is_verdict(name: &str, value: &str) -> bool {
    VERDICTS.iter().any(|(verdict, harmless)| *verdict == name && !harmless.contains(&value))
}

/// True if a field of an approval says something else than that.
fn is_dissent(name: &str, value: &str) -> bool {
    match name {
        "action" | "decision" | "permissiondecision" | "verdict" => {
            let word = serde_json::from_str::<Option<String>>(value).map(Option::unwrap_or_default);
            !word.is_ok_and(|word| AGREEING.contains(&&*word.to_ascii_lowercase()))
        }
        "hookspecificoutput" if value.starts_with('{') => ObjectFields::parse(value).is_ok_and(|fields| {
            fields.iter().any(|(name, value)| is_dissent(&name.to_ascii_lowercase(), value))
        }),
        _ => is_verdict(name, value),
    }
}

fn missing_action_message(name: &str) -> String {
    format!("it says {name:?} and no \"action\"")
}
