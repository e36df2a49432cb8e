//! The Chat Completions API of a server that does not have the Responses API.
//!
//! Most servers with an API like that of OpenAI have Chat Completions only. If the user gives an address for the
//! provider `openai`, the server is asked with the Responses API first. If it has no such path, it is asked with Chat
//! Completions, and this is remembered until the process ends.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use futures::{StreamExt, stream};
use haft_core::model::{ModelError, ModelEvent, ModelRequest, ModelStream};
use tokio_util::sync::CancellationToken;

use super::HttpSetup;
use super::run::RequestDriver;

/// The addresses of servers that answered with Chat Completions and do not have the Responses API.
static CHAT_ONLY: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The same model as [`HttpSetup`], asked with Chat Completions.
pub(super) struct ChatFallback {
    pub(super) setup: Arc<HttpSetup>,
}

impl ChatFallback {
    /// True if the server is known to have Chat Completions only.
    pub(super) fn is_in_use(&self) -> bool {
        CHAT_ONLY.lock().unwrap_or_else(PoisonError::into_inner).contains(&self.chat_address())
    }

    fn remember_server(&self) {
        if CHAT_ONLY.lock().unwrap_or_else(PoisonError::into_inner).insert(self.chat_address()) {
            let address = &self.setup.reporter.address;
            tracing::info!(address, "the server has no Responses API; Chat Completions is used");
        }
    }

    fn chat_address(&self) -> String {
        self.setup.endpoint.request_url().to_string()
    }
}

/// A request that is sent with Chat Completions if the server has no path for the Responses API.
pub(super) struct FallbackRun {
    pub(super) responses: RequestDriver,
    pub(super) chat: Option<RequestDriver>,
    pub(super) fallback: Arc<ChatFallback>,
    pub(super) request: ModelRequest,
    pub(super) cancel: CancellationToken,
    /// True after an error that ends the stream.
    pub(super) is_over: bool,
}

impl FallbackRun {
    pub(super) fn into_stream(self) -> ModelStream {
        stream::unfold(self, |mut run| async move {
            let item = run.next().await?;
            Some((item, run))
        })
        .boxed()
    }

    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        if self.is_over {
            return None;
        }
        if self.chat.is_none() {
            let item = self.responses.next().await;
            if !self.responses.lacks_path() {
                return item;
            }
            match RequestDriver::prepare_request(&self.fallback.setup, &self.cancel, &self.request).await {
                Ok(chat) => self.chat = Some(chat),
                Err(error) => {
                    self.is_over = true;
                    return Some(Err(error));
                }
            }
        }
        let item = self.chat.as_mut()?.next().await;
        if matches!(&item, Some(Ok(event)) if !matches!(event, ModelEvent::Retry { .. })) {
            self.fallback.remember_server();
        }
        item
    }
}
