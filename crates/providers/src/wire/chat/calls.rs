//! Assembles the tool calls of an answer from their pieces.
//!
//! Servers differ in the fields by which a piece names its call: some send no index, some the index 0 for every call,
//! some no id, and some repeat id and name in every piece.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::{read_lenient, text_of};
use super::native::RawFields;
use crate::limits::MAX_BLOCKS;
use crate::wire::events::limit_error;
use crate::wire::json::JsonText;
use crate::wire::{AnswerBuilder, AnswerError};

/// The calls of one answer.
#[derive(Debug, Default)]
pub(super) struct CallAssembler {
    calls: Vec<PendingCall>,
    /// Additional fields of calls, by the position of the call.
    pub(super) extras: BTreeMap<usize, RawFields>,
    /// The calls that have begun.
    begun: usize,
}

#[derive(Debug, Default)]
struct PendingCall {
    key: u64,
    index: Option<u64>,
    id: Option<String>,
    /// True if the name has arrived.
    begun: bool,
    /// The arguments before the name.
    held: String,
    scan: ObjectScan,
}

/// A piece of a call.
#[derive(Deserialize)]
struct CallPiece<'a> {
    #[serde(borrow)]
    index: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    function: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct FunctionPiece<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl CallAssembler {
    /// Reads a piece. `position` is the index if the piece has none.
    ///
    /// # Errors
    /// If the answer is too large.
    pub(super) fn read_piece(
        &mut self,
        piece: &RawValue,
        position: Option<u64>,
        answer: &mut AnswerBuilder,
    ) -> Result<(), AnswerError> {
        let Some(CallPiece { index, id, function }) = read_lenient(Some(piece)) else { return Ok(()) };
        let function: Option<FunctionPiece<'_>> = read_lenient(function);
        let (name, arguments) = function.map_or((None, None), |piece| (piece.name, piece.arguments));
        let name: Option<JsonText<'_>> = read_lenient(name);
        let name = name.as_ref().map(JsonText::as_str).filter(|name| !name.is_empty());
        let arguments = arguments.and_then(text_of);
        let arguments = arguments.as_deref().unwrap_or_default();
        let id = id.and_then(text_of).filter(|id| !id.is_empty() && id != "null");
        let index = read_lenient(index).or(position);
        let at = match self.find(index, id.as_deref(), name, arguments) {
            Some(at) => at,
            None if name.is_none() && arguments.is_empty() && id.is_none() => return Ok(()),
            None => self.add(index)?,
        };
        let Some(call) = self.calls.get_mut(at) else { return Ok(()) };
        if call.id.is_none() {
            call.id = id.map(std::borrow::Cow::into_owned);
        }
        call.scan.read(arguments);
        match name {
            Some(name) if !call.begun => {
                call.begun = true;
                let (key, held) = (call.key, std::mem::take(&mut call.held));
                self.begin(at, name, piece, answer)?;
                answer.add_arguments(key, &held)?;
                answer.add_arguments(key, arguments)
            }
            _ if call.begun => answer.add_arguments(call.key, arguments),
            _ => {
                answer.count_bytes(arguments.len())?;
                call.held.push_str(arguments);
                Ok(())
            }
        }
    }

    /// Returns the call that a piece continues.
    fn find(
        &self,
        index: Option<u64>,
        id: Option<&str>,
        name: Option<&str>,
        arguments: &str,
    ) -> Option<usize> {
        let last_where = |matches: &dyn Fn(&PendingCall) -> bool| self.calls.iter().rposition(matches);
        let Some(index) = index else {
            return match id {
                Some(id) => last_where(&|call| call.id.as_deref() == Some(id)),
                None => last_where(&|_| true).filter(|at| {
                    let complete = self.calls.get(*at).is_some_and(|call| call.scan.is_complete());
                    !complete || (name.is_none() && arguments.is_empty())
                }),
            };
        };
        last_where(&|call| call.index == Some(index)).filter(|at| {
            let Some(call) = self.calls.get(*at) else { return false };
            let begins = name.is_some() && call.begun;
            let other_id = id.is_some() && call.id.is_some() && call.id.as_deref() != id;
            let next_without_id = id.is_none() && call.scan.is_complete() && !arguments.is_empty();
            !begins || !(other_id || next_without_id)
        })
    }

    fn add(&mut self, index: Option<u64>) -> Result<usize, AnswerError> {
        let at = self.calls.len();
        if at >= MAX_BLOCKS {
            return Err(limit_error(format_args!(
                "the answer has more than {MAX_BLOCKS} texts and tool calls"
            )));
        }
        self.calls.push(PendingCall { key: at as u64, index, ..PendingCall::default() });
        Ok(at)
    }

    fn begin(
        &mut self,
        at: usize,
        name: &str,
        piece: &RawValue,
        answer: &mut AnswerBuilder,
    ) -> Result<(), AnswerError> {
        let Some(call) = self.calls.get(at) else { return Ok(()) };
        let id = call.id.as_deref();
        // A result could not be assigned to one of two calls with the same id.
        let used = self.calls.iter().enumerate().any(|(other, call)| other != at && call.id.as_deref() == id);
        answer.begin_call(call.key, id.filter(|_| !used), name)?;
        let mut extras: RawFields = read_lenient(Some(piece)).unwrap_or_default();
        extras.retain(|name, value| {
            !matches!(name.as_str(), "index" | "id" | "type" | "function") && value.get() != "null"
        });
        if !extras.is_empty() {
            answer.count_bytes(extras.iter().map(|(name, value)| name.len() + value.get().len()).sum())?;
            self.extras.insert(self.begun, extras);
        }
        self.begun += 1;
        Ok(())
    }
}

/// Detects the end of a JSON object that arrives in pieces.
#[derive(Debug, Default)]
struct ObjectScan {
    depth: usize,
    begun: bool,
    in_string: bool,
    escaped: bool,
}

impl ObjectScan {
    fn read(&mut self, piece: &str) {
        for byte in piece.bytes() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => {
                    self.begun = true;
                    self.depth += 1;
                }
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    fn is_complete(&self) -> bool {
        self.begun && self.depth == 0 && !self.in_string
    }
}
