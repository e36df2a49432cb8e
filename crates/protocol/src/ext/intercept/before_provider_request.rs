//! `before_provider_request`: an extension changes the body of a request to a provider.
//!
//! ```json
//! {"type":"event_intercept","id":"11","event":"before_provider_request","provider":"openai","model":"gpt-5","payload":{"model":"gpt-5","input":[]}}
//! {"type":"event_intercept_response","id":"11","payload":{"model":"gpt-5","input":[],"service_tier":"flex"},"headers":{"x-team":"compilers"}}
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{EventInterceptResponse, InterceptHook, InterceptKind};
use crate::ext::answer_error::AnswerError;
use crate::ids::RequestId;
use crate::json::{RawJson, object};

/// Before an encoded request is sent to a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterceptBeforeProviderRequest {
    /// The provider.
    pub provider: String,
    /// The model's id at the provider.
    pub model: String,
    /// The current body, in the format of the provider's API. It does not contain the key.
    #[serde(deserialize_with = "object")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::json::object_schema"))]
    pub payload: RawJson,
}

/// The decision about an encoded request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BeforeProviderRequestDecision {
    /// The request is sent as it is.
    Unchanged,
    /// The request changes; `None` keeps the body.
    Change {
        /// The new body: an object.
        payload: Option<RawJson>,
        /// The headers to add. Headers with the key, and those that describe the body or the
        /// connection, cannot be set.
        headers: BTreeMap<String, String>,
    },
}

impl InterceptHook for InterceptBeforeProviderRequest {
    type Decision = BeforeProviderRequestDecision;

    const KIND: InterceptKind = InterceptKind::BeforeProviderRequest;

    fn read(response: EventInterceptResponse) -> Result<BeforeProviderRequestDecision, AnswerError> {
        if response.is_blocking() {
            return Err(AnswerError::new(
                "before_provider_request cannot block; intercept turn_start for that",
            ));
        }
        let headers = response.headers.map(|headers| *headers).unwrap_or_default();
        Ok(match response.payload {
            None if headers.is_empty() => BeforeProviderRequestDecision::Unchanged,
            payload => BeforeProviderRequestDecision::Change { payload, headers },
        })
    }

    fn respond(decision: BeforeProviderRequestDecision, id: RequestId) -> EventInterceptResponse {
        let mut response = EventInterceptResponse::pass_through(id);
        if let BeforeProviderRequestDecision::Change { payload, headers } = decision {
            response.payload = payload;
            response.headers = (!headers.is_empty()).then(|| headers.into());
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(fields: &str, expect: Result<BeforeProviderRequestDecision, &str>) {
        let response = serde_json::from_str(&format!(r#"{{"id":"1"{fields}}}"#)).unwrap();
        let got = InterceptBeforeProviderRequest::read(response);
        assert_eq!(got.map_err(|error| error.to_string()), expect.map_err(str::to_owned), "{fields}");
    }

    #[test]
    fn reads_payload_and_headers() {
        let change = |payload: Option<&str>, headers: &[(&str, &str)]| {
            let payload = payload.map(|text| RawJson::parse(text).unwrap());
            let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            Ok(BeforeProviderRequestDecision::Change { payload, headers: headers.collect() })
        };
        check("", Ok(BeforeProviderRequestDecision::Unchanged));
        check(r#","payload":null,"headers":{}"#, Ok(BeforeProviderRequestDecision::Unchanged));
        check(r#","payload":{"a":1.0}"#, change(Some(r#"{"a":1.0}"#), &[]));
        check(r#","headers":{"x-a":"1"}"#, change(None, &[("x-a", "1")]));
        let blocks = "before_provider_request cannot block; intercept turn_start for that";
        check(r#","block":true"#, Err(blocks));
    }
}
