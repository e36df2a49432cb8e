//! `RequestReview`: hooks that see an encoded request before the provider gets it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use async_trait::async_trait;
use futures::FutureExt;
use haft_protocol::RawJson;
use tokio_util::sync::CancellationToken;

use super::ModelId;

/// Hook before an encoded request is sent to a provider: each request to a model, also those for summaries, and those to
/// fallback models. A request that is sent again after a temporary failure is not reviewed again. A panic changes
/// nothing.
///
/// ```
/// use async_trait::async_trait;
/// use haft_core::hooks::{
///     BeforeProviderRequest, CancellationToken, ProviderRequest, ProviderRequestDecision,
/// };
///
/// /// Names the team that pays.
/// struct Billing;
///
/// #[async_trait]
/// impl BeforeProviderRequest for Billing {
///     async fn before_provider_request(
///         &self,
///         _: &CancellationToken,
///         _: &ProviderRequest,
///     ) -> ProviderRequestDecision {
///         ProviderRequestDecision::Change {
///             payload: None,
///             headers: vec![("x-team".to_owned(), "compilers".to_owned())],
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait BeforeProviderRequest: Send + Sync {
    /// Decides about the request. Later hooks see the changed payload.
    async fn before_provider_request(
        &self,
        cancel: &CancellationToken,
        request: &ProviderRequest,
    ) -> ProviderRequestDecision;

    /// Returns the name of the hook, see [`hooks`](crate::hooks#names).
    fn name(&self) -> &str {
        UNNAMED_HOOK
    }
}

/// The name of hooks without one.
pub(crate) const UNNAMED_HOOK: &str = "a hook";

/// The input of [`BeforeProviderRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderRequest {
    /// The model that gets the request.
    pub model: ModelId,
    /// The body of the request: an object in the format of the provider's API.
    pub payload: RawJson,
}

impl ProviderRequest {
    /// Creates the input of a hook.
    pub fn new(model: ModelId, payload: RawJson) -> Self {
        Self { model, payload }
    }
}

/// The decision about an encoded request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderRequestDecision {
    /// The request is sent as it is.
    Send,
    /// The request is changed.
    Change {
        /// The new body: an object of at most [`MAX_PAYLOAD`] bytes, or no longer than the old one. Any other value is
        /// ignored.
        payload: Option<RawJson>,
        /// Headers that are added to the request. Headers that [`check_header`] rejects are ignored.
        headers: Vec<(String, String)>,
    },
}

/// The maximum length of a payload that a hook makes longer.
pub const MAX_PAYLOAD: usize = 8 * 1024 * 1024;

/// The maximum number of headers that hooks add to a request.
pub const MAX_HEADERS: usize = 32;

/// The maximum length of the value of a header.
const MAX_HEADER_VALUE: usize = 4096;

/// The headers that hooks cannot set: those that carry a key, and those that describe the body or the connection.
const RESERVED_HEADERS: &[&str] = &[
    "accept",
    "accept-encoding",
    "api-key",
    "authorization",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-api-key",
    "x-goog-api-key",
];

/// Checks that a hook can set this header.
///
/// # Errors
/// The reason, as a text fragment that begins with the name.
pub fn check_header(name: &str, value: &str) -> Result<(), String> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if name.is_empty() || name.len() > 128 || !name.bytes().all(is_token) {
        return Err(format!("{:?} is not the name of a header", name.chars().take(64).collect::<String>()));
    }
    if RESERVED_HEADERS.iter().any(|reserved| reserved.eq_ignore_ascii_case(name)) {
        return Err(format!("{name} cannot be set by a hook"));
    }
    if value.len() > MAX_HEADER_VALUE || !value.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Err(format!("{name} has a value that is not printable ASCII or longer than 4 KiB"));
    }
    Ok(())
}

/// The hooks that review a request after a [`Model`](super::Model) has encoded it. A model without an encoded form
/// ignores them. The default has no hooks.
#[derive(Clone, Default)]
pub struct RequestReview {
    hooks: Arc<[Arc<dyn BeforeProviderRequest>]>,
}

/// A request after its review.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReviewedRequest {
    /// The body; `None` if no hook changed it.
    pub payload: Option<RawJson>,
    /// The headers that hooks added, each with a valid name that is not reserved.
    pub headers: Vec<(String, String)>,
}

impl RequestReview {
    /// Creates a review by these hooks, in order.
    pub fn new(hooks: Vec<Arc<dyn BeforeProviderRequest>>) -> Self {
        Self { hooks: hooks.into() }
    }

    /// True if no hook reviews requests, so that the model need not make a JSON value of its request.
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    /// Asks the hooks, one after the other.
    pub async fn ask_hooks(
        &self,
        cancel: &CancellationToken,
        mut request: ProviderRequest,
    ) -> ReviewedRequest {
        let longest = request.payload.as_str().len().max(MAX_PAYLOAD);
        let mut reviewed = ReviewedRequest { payload: None, headers: Vec::new() };
        for hook in self.hooks.iter() {
            let asked = AssertUnwindSafe(hook.before_provider_request(cancel, &request)).catch_unwind();
            let Some(Ok(ProviderRequestDecision::Change { payload, headers })) =
                cancel.run_until_cancelled(asked).await
            else {
                continue;
            };
            if let Some(payload) =
                payload.filter(|payload| payload.is_object() && payload.as_str().len() <= longest)
            {
                request.payload = payload.clone();
                reviewed.payload = Some(payload);
            }
            for (name, value) in headers {
                reviewed.headers.retain(|(earlier, _)| !earlier.eq_ignore_ascii_case(&name));
                if reviewed.headers.len() < MAX_HEADERS && check_header(&name, &value).is_ok() {
                    reviewed.headers.push((name, value));
                }
            }
        }
        reviewed
    }
}

impl std::fmt::Debug for RequestReview {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestReview").field("hooks", &self.hooks.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, value: &str, expect: Result<(), &str>) {
        assert_eq!(check_header(name, value), expect.map_err(str::to_owned));
    }

    #[test]
    fn headers_of_the_key_and_the_connection_are_reserved() {
        check("x-team", "compilers", Ok(()));
        check("Authorization", "Bearer x", Err("Authorization cannot be set by a hook"));
        check("X-API-Key", "x", Err("X-API-Key cannot be set by a hook"));
        check("content-length", "5", Err("content-length cannot be set by a hook"));
        check("x\r\ny", "5", Err("\"x\\r\\ny\" is not the name of a header"));
        check("", "5", Err("\"\" is not the name of a header"));
        check("x", "a\nb", Err("x has a value that is not printable ASCII or longer than 4 KiB"));
        check("x", &"a".repeat(5000), Err("x has a value that is not printable ASCII or longer than 4 KiB"));
    }

    /// Answers with a fixed decision, or panics.
    struct Fixed(Option<ProviderRequestDecision>);

    #[async_trait]
    impl BeforeProviderRequest for Fixed {
        async fn before_provider_request(
            &self,
            _: &CancellationToken,
            request: &ProviderRequest,
        ) -> ProviderRequestDecision {
            match self.0.clone().expect("on purpose") {
                // Shows that later hooks see the changes of earlier ones.
                ProviderRequestDecision::Change { payload: Some(payload), headers } => {
                    let list = format!("[{},{payload}]", request.payload);
                    let payload = if payload.is_object() { format!(r#"{{"seen":{list}}}"#) } else { list };
                    ProviderRequestDecision::Change { payload: RawJson::parse(&payload).ok(), headers }
                }
                unchanged @ (ProviderRequestDecision::Send | ProviderRequestDecision::Change { .. }) => {
                    unchanged
                }
            }
        }
    }

    fn change(payload: &str, headers: &[(&str, &str)]) -> Arc<dyn BeforeProviderRequest> {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let payload = RawJson::parse(payload).ok();
        Arc::new(Fixed(Some(ProviderRequestDecision::Change { payload, headers: headers.collect() })))
    }

    async fn review(hooks: Vec<Arc<dyn BeforeProviderRequest>>) -> ReviewedRequest {
        let model = ModelId { provider: "p".into(), model: "m".into() };
        let request = ProviderRequest { model, payload: RawJson::parse("{}").unwrap() };
        RequestReview::new(hooks).ask_hooks(&CancellationToken::new(), request).await
    }

    #[tokio::test]
    async fn changes_chain_and_invalid_ones_are_ignored() {
        let unchanged = ReviewedRequest { payload: None, headers: Vec::new() };
        let send = || Arc::new(Fixed(Some(ProviderRequestDecision::Send))) as Arc<dyn BeforeProviderRequest>;
        assert_eq!(review(vec![send(), Arc::new(Fixed(None))]).await, unchanged);
        assert_eq!(review(vec![change("[]", &[("cookie", "x"), ("a b", "x")])]).await, unchanged);
        let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(MAX_PAYLOAD));
        assert_eq!(review(vec![change(&long, &[])]).await, unchanged);
        let both = review(vec![
            change(r#"{"a":1}"#, &[("x-a", "1"), ("x-b", "1")]),
            change(r#"{"b":2}"#, &[("X-A", "2")]),
        ])
        .await;
        let headers = [("x-b", "1"), ("X-A", "2")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let payload = RawJson::parse(r#"{"seen":[{"seen":[{},{"a":1}]},{"b":2}]}"#).unwrap();
        assert_eq!(both, ReviewedRequest { payload: Some(payload), headers: headers.into() });
    }
}
