//! Converts failures to messages for people, and decides whether a retry may succeed.

use std::time::{Duration, SystemTime};

use haft_core::model::{Advice, ModelError, ModelErrorKind as Kind};
use reqwest::header::RETRY_AFTER;
use serde_json::Value;

use crate::redact::SecretRedactor;
use crate::retry::retry_after;
use crate::wire::{AnswerError, ConnectionFailure, ConnectionStage, ErrorResponse};

/// The source of a failure, and the details that a message can mention.
#[derive(Debug)]
pub(super) struct FailureReporter {
    pub(super) provider: String,
    pub(super) address: String,
    pub(super) key_env: Option<String>,
    pub(super) key_sent: bool,
    pub(super) redactor: SecretRedactor,
}

/// A failed attempt.
#[derive(Debug)]
pub(super) struct AttemptFailure {
    pub(super) error: ModelError,
    pub(super) passes: bool,
    /// True if the server has no such path; false if it has the path and does not know the model.
    pub(super) lacks_path: bool,
}

/// The maximum length of a quotation from a provider.
const QUOTE: usize = 600;

/// The maximum length of an error code. Real codes have at most 40 characters.
const CODE: usize = 80;

impl FailureReporter {
    /// Converts a failed attempt. `begun`: a piece of the answer has arrived.
    pub(super) fn to_failure(&self, error: &AnswerError, begun: bool, now: SystemTime) -> AttemptFailure {
        let mut failure = match error {
            AnswerError::Connection(failure) => self.connection_failure(failure, begun),
            AnswerError::Unreachable(reason) => {
                self.permanent_failure(Kind::Connection, format!("cannot be reached: {}", quote_text(reason)))
            }
            AnswerError::Response(response) => self.response_failure(response, now),
            AnswerError::Truncated => {
                let message = "ended its answer without the final event; send the prompt again";
                self.permanent_failure(Kind::Truncated, message.to_owned())
            }
            AnswerError::Invalid(reason) => self
                .permanent_failure(Kind::Rejected, format!("sent an invalid answer: {}", quote_text(reason))),
            AnswerError::Refused(reason) => self.permanent_failure(
                Kind::Rejected,
                format!("did not finish its answer: {}", quote_text(reason)),
            ),
        };
        failure.error.message = self.redactor.apply(&failure.error.message);
        failure
    }

    /// Returns the failure of a request that was not complete after `limit`.
    pub(super) fn late_answer(&self, limit: Duration) -> AttemptFailure {
        let limit = match limit.as_secs() {
            seconds @ 0..120 => format!("{seconds} seconds"),
            seconds => format!("{} minutes", seconds / 60),
        };
        let message = format!(
            "at {} did not complete its answer within {limit}; send the prompt again, or choose another model",
            self.address
        );
        self.permanent_failure(Kind::Connection, message)
    }

    fn connection_failure(&self, failure: &ConnectionFailure, begun: bool) -> AttemptFailure {
        let cause = &failure.cause;
        let message = match failure.stage {
            ConnectionStage::Connect => {
                let message = format!(
                    "cannot be reached at {}: {cause}; check the address and the network",
                    self.address
                );
                let failure = self.permanent_failure(Kind::Connection, message);
                return AttemptFailure { passes: true, ..failure }.with_advice(Some(Advice::BaseUrl));
            }
            ConnectionStage::Wait => {
                // The user has already waited for the full timeout, so the request is not retried.
                let message = format!("at {} did not respond in time: {cause}", self.address);
                return self.permanent_failure(Kind::Connection, message);
            }
            ConnectionStage::Transfer if begun => format!("closed the connection during its answer: {cause}"),
            ConnectionStage::Transfer => format!("closed the connection before it answered: {cause}"),
        };
        AttemptFailure { passes: true, ..self.permanent_failure(Kind::Connection, message) }
    }

    /// Returns the failure for an HTTP status, or for an error event in an answer.
    fn response_failure(&self, response: &ErrorResponse, now: SystemTime) -> AttemptFailure {
        let status = response.status.filter(|status| *status >= 300);
        let words = ProviderErrorBody::read(response);
        let (kind, passes) = match words.too_long(status) {
            true => (Kind::Overflow, false),
            false => classify_status(status, &words.codes),
        };
        let said = words.summary(status);
        let mut advice = None;
        let message = match kind {
            Kind::Auth => {
                advice = Some(Advice::ApiKey);
                format!("refused the key ({said}); {}", self.key_hint())
            }
            Kind::RateLimited if !passes => {
                format!("reports that the account has no credit left ({said}); check its billing")
            }
            Kind::RateLimited => {
                format!("received too many requests ({said}); wait, or choose another model")
            }
            Kind::Unavailable => format!("is overloaded or failing ({said}); try again later"),
            Kind::Overflow => {
                format!(
                    "rejected the request because the conversation exceeds the model's context window ({said}); compact the conversation or choose a model with a larger window"
                )
            }
            Kind::Rejected | Kind::Connection | Kind::Truncated | Kind::Cancelled | _ => match status {
                None if words.codes.is_empty() && !words.is_error => {
                    advice = Some(Advice::BaseUrl);
                    format!(
                        "at {} did not answer with an event stream ({said}); check the address",
                        self.address
                    )
                }
                Some(404) => {
                    advice = Some(Advice::Model);
                    format!("has no such model or path ({said}); check the model's name and the address")
                }
                _ => format!("refused the request ({said})"),
            },
        };
        let header = response.headers.get(RETRY_AFTER);
        let retry_after = header.and_then(|value| retry_after(value.to_str().ok()?, now));
        let lacks_path =
            matches!(status, Some(404 | 405)) && !words.codes.iter().any(|code| code.contains("model"));
        let mut failure = self.permanent_failure(kind, message).with_advice(advice);
        failure.error.status = status;
        failure.error.retry_after = retry_after;
        AttemptFailure { passes, lacks_path, ..failure }
    }

    fn key_hint(&self) -> String {
        let sent = if self.key_sent { "check" } else { "no key was sent: set" };
        match &self.key_env {
            Some(variable) => format!("{sent} {variable}"),
            None => format!("{sent} the API key"),
        }
    }

    fn permanent_failure(&self, kind: Kind, message: String) -> AttemptFailure {
        let message = format!("{} {message}", self.provider);
        AttemptFailure { error: ModelError::new(kind, message), passes: false, lacks_path: false }
    }
}

impl AttemptFailure {
    fn with_advice(mut self, advice: Option<Advice>) -> Self {
        self.error.advice = advice;
        self
    }
}

/// The error in a provider's response.
struct ProviderErrorBody {
    /// The error codes: `type` and `code`, in lower case.
    codes: Vec<String>,
    message: String,
    /// True if the body contains an error object, in addition to the status.
    is_error: bool,
}

impl ProviderErrorBody {
    fn read(response: &ErrorResponse) -> Self {
        let body: Value = serde_json::from_str(&response.body).unwrap_or_default();
        let nested = body.pointer("/response/error").or_else(|| body.get("error"));
        let error = nested.filter(|error| error.is_object()).unwrap_or(&body);
        let field = |name: &str| error.get(name).and_then(Value::as_str);
        let given = [response.code.as_deref(), field("code"), field("type"), field("status")];
        let given = given.into_iter().flatten().filter(|code| *code != "error");
        let mut codes: Vec<String> = given.map(|code| quote_start(code, CODE).to_lowercase()).collect();
        codes.dedup();
        // Gemini reports an invalid argument and gives the actual reason only in the details.
        if response.body.contains("API_KEY_INVALID") {
            codes.push("api_key_invalid".to_owned());
        }
        let message = field("message").or_else(|| nested.and_then(Value::as_str));
        let message = quote_text(message.unwrap_or(&response.body));
        // Anthropic reports an invalid request and gives the actual reason only in the message.
        if message.to_lowercase().contains("credit balance is too low") {
            codes.push("insufficient_quota".to_owned());
        }
        Self { codes, message, is_error: nested.is_some() }
    }

    /// True if the request was longer than the model's window. There is no common code for all providers, and some have
    /// none, so their messages are searched.
    fn too_long(&self, status: Option<u16>) -> bool {
        // A limit of tokens per minute, or of an account, does not depend on the model's window.
        if matches!(status, Some(401 | 403 | 429))
            || self.codes.iter().any(|code| code.contains("rate_limit"))
        {
            return false;
        }
        let message = self.message.to_lowercase();
        status == Some(413)
            || self.codes.iter().any(|code| OVERFLOW_CODES.iter().any(|part| code.contains(part)))
            || OVERFLOW_WORDS.iter().any(|part| message.contains(part))
    }

    fn summary(&self, status: Option<u16>) -> String {
        let status = status.map(|status| status.to_string());
        let head: Vec<&str> =
            status.as_deref().into_iter().chain(self.codes.first().map(String::as_str)).collect();
        match (head.join(" "), self.message.as_str()) {
            (head, "") => head,
            (head, message) if head.is_empty() => message.to_owned(),
            (head, message) => format!("{head}: {message}"),
        }
    }
}

/// Codes of OpenAI and of llama.cpp.
const OVERFLOW_CODES: &[&str] = &["context_length_exceeded", "exceed_context_size", "request_too_large"];

/// Phrases in the messages of providers, in lower case.
const OVERFLOW_WORDS: &[&str] = &[
    // Anthropic.
    "prompt is too long",
    "exceed context limit",
    // OpenAI, and after it OpenRouter, vLLM, DeepSeek, Mistral.
    "exceeds the context window",
    "maximum context length",
    // Gemini.
    "exceeds the maximum number of tokens",
    // Ollama, llama.cpp, LM Studio.
    "exceed context",
    "exceeds the available context size",
    "exceeds context size",
    "exceeds the context length",
    "greater than the context length",
    // Groq, xAI.
    "reduce the length of the messages",
    "maximum prompt length",
];

/// Returns the kind of a failure, and whether a retry may succeed. The status decides; without one, the code decides.
fn classify_status(status: Option<u16>, codes: &[String]) -> (Kind, bool) {
    let says = |part: &str| codes.iter().any(|code| code.contains(part));
    let used_up = says("insufficient_quota") || says("billing");
    match status {
        Some(401 | 403) => (Kind::Auth, false),
        Some(400) if says("api_key_invalid") => (Kind::Auth, false),
        Some(402) => (Kind::RateLimited, false),
        Some(400) if used_up => (Kind::RateLimited, false),
        Some(429) => (Kind::RateLimited, !used_up),
        Some(408 | 425 | 500..=599) => (Kind::Unavailable, true),
        Some(_) => (Kind::Rejected, false),
        None if used_up => (Kind::RateLimited, false),
        None if says("rate_limit") || says("resource_exhausted") => (Kind::RateLimited, true),
        None if ["overloaded", "server_error", "api_error", "timeout", "unavailable", "internal"]
            .iter()
            .any(|part| says(part)) =>
        {
            (Kind::Unavailable, true)
        }
        None if says("authentication") || says("permission") || says("invalid_api_key") => {
            (Kind::Auth, false)
        }
        None => (Kind::Rejected, false),
    }
}

/// Quotes a provider's message on one line, truncated to a readable length.
fn quote_text(text: &str) -> String {
    quote_start(text, QUOTE)
}

/// Quotes at most `most` characters on one line.
fn quote_start(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or_default()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(status: Option<u16>, codes: &[&str], expect: (Kind, bool)) {
        let codes: Vec<String> = codes.iter().map(|code| (*code).to_owned()).collect();
        assert_eq!(classify_status(status, &codes), expect, "{status:?} {codes:?}");
    }

    #[test]
    fn status_determines_the_kind() {
        check(Some(401), &["authentication_error"], (Kind::Auth, false));
        check(Some(403), &[], (Kind::Auth, false));
        check(Some(400), &["invalid_argument", "api_key_invalid"], (Kind::Auth, false));
        check(Some(429), &["rate_limit_error"], (Kind::RateLimited, true));
        check(Some(429), &["insufficient_quota"], (Kind::RateLimited, false));
        for status in [408, 500, 502, 503, 504, 529] {
            check(Some(status), &[], (Kind::Unavailable, true));
        }
        for status in [301, 400, 404, 422] {
            check(Some(status), &["invalid_request_error"], (Kind::Rejected, false));
        }
    }

    #[test]
    fn code_determines_the_kind_without_a_status() {
        check(None, &["overloaded_error"], (Kind::Unavailable, true));
        check(None, &["server_error"], (Kind::Unavailable, true));
        check(None, &["internal_server_error"], (Kind::Unavailable, true));
        check(None, &["api_error"], (Kind::Unavailable, true));
        check(None, &["rate_limit_exceeded"], (Kind::RateLimited, true));
        check(None, &["insufficient_quota"], (Kind::RateLimited, false));
        check(None, &["authentication_error"], (Kind::Auth, false));
        check(None, &["invalid_request_error"], (Kind::Rejected, false));
        check(None, &[], (Kind::Rejected, false));
    }

    #[track_caller]
    fn overflows(status: Option<u16>, code: &str, message: &str, expect: bool) {
        let words =
            ProviderErrorBody { codes: vec![code.to_owned()], message: message.to_owned(), is_error: true };
        assert_eq!(words.too_long(status), expect, "{status:?} {code} {message}");
    }

    #[test]
    fn detects_overflow() {
        let refused = "invalid_request_error";
        overflows(Some(400), refused, "prompt is too long: 208310 tokens > 200000 maximum", true);
        overflows(Some(400), refused, "input length and `max_tokens` exceed context limit: 1 + 2 > 3", true);
        overflows(Some(400), "context_length_exceeded", "Your input is too much.", true);
        overflows(
            None,
            "context_length_exceeded",
            "Your input exceeds the context window of this model.",
            true,
        );
        overflows(Some(400), refused, "This model's maximum context length is 8192 tokens.", true);
        let gemini =
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).";
        overflows(Some(400), "invalid_argument", gemini, true);
        overflows(
            Some(400),
            "exceed_context_size_error",
            "the request exceeds the available context size",
            true,
        );
        overflows(Some(500), "", "the input exceeds context size", true);
        overflows(Some(413), "request_too_large", "Request exceeds the maximum size", true);
        overflows(Some(400), refused, "max_tokens: must be at least 1", false);
        overflows(
            Some(429),
            "rate_limit_exceeded",
            "Request too large: exceeds the maximum number of tokens",
            false,
        );
        overflows(Some(401), "authentication_error", "prompt is too long", false);
        overflows(None, "", "", false);
    }

    #[test]
    fn a_quote_is_one_short_line() {
        assert_eq!(quote_text("a\n  b\tc"), "a b c");
        assert_eq!(quote_text(&"ä".repeat(700)).chars().count(), QUOTE + 1);
        let body = format!(r#"{{"error": {{"type": "{}", "message": "bad"}}}}"#, "ä".repeat(700));
        let error = ProviderErrorBody::read(&ErrorResponse { body, ..ErrorResponse::default() });
        assert_eq!(error.codes[0].chars().count(), CODE + 1);
    }
}
