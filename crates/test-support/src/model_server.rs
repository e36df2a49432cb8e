//! A model provider on loopback: five streaming dialects, cut where it hurts, with faults on demand.
//!
//! It speaks HTTP over a raw socket, because the tests need what HTTP libraries hide: a body cut every few bytes
//! (inside a UTF-8 character, inside an SSE frame), a reset in mid-stream, a well-formed end that lacks the final
//! event, and the moment the client hangs up.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use haft_test_support::model_server::{ModelServer, Scenario, WireFormat};
//!
//! let server = ModelServer::start(WireFormat::Anthropic, vec![
//!     Scenario::new().tool("toolu_1", "weather", r#"{"city":"Zürich"}"#),
//!     Scenario::text("It is sunny."),
//! ]).await;
//! // … point a client at `server.base_url()`, then look at what it sent:
//! assert!(server.requests().is_empty());
//! # });
//! ```

mod connection;
mod scenario;
mod sse;
mod strict;
mod window;

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

pub use scenario::{AnswerBlock, AnswerFault, Scenario, TokenCounts};

/// Which provider's streaming format a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WireFormat {
    /// Anthropic Messages: `POST /v1/messages`.
    Anthropic,
    /// OpenAI Chat Completions: `POST /v1/chat/completions`.
    OpenAiChat,
    /// OpenAI Responses: `POST /v1/responses`.
    OpenAiResponses,
    /// Gemini: `POST /v1beta/models/MODEL:streamGenerateContent`.
    Gemini,
    /// Ollama's own: `POST /api/chat`, a line of JSON each.
    Ollama,
}

/// One request as the server got it.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    /// `POST`, `GET`.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// Names in lower case, in the order they came.
    pub headers: Vec<(String, String)>,
    /// The body as JSON; [`Value::Null`] when it is empty or no JSON.
    pub body: Value,
}

impl RecordedRequest {
    /// The value of a header, by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// A running server. Dropping it closes the listener and every connection.
#[derive(Debug)]
pub struct ModelServer {
    address: std::net::SocketAddr,
    wire: WireFormat,
    shared: Arc<SharedServer>,
    _stop: DropGuard,
}

#[derive(Debug)]
pub(crate) struct SharedServer {
    pub(crate) wire: WireFormat,
    state: Mutex<ServerState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
pub(crate) struct ServerState {
    pub(crate) scenarios: std::collections::VecDeque<Scenario>,
    pub(crate) requests: Vec<RecordedRequest>,
    pub(crate) disconnects: usize,
    pub(crate) violations: Vec<String>,
    pub(crate) answers: window::AnswerSource,
    pub(crate) window: Option<u64>,
    pub(crate) overflows: usize,
}

impl SharedServer {
    pub(crate) fn lock(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut ServerState)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }
}

impl ModelServer {
    /// Starts a server on the current runtime. Each `POST` takes the next scenario; one more is answered by a 400
    /// that says so, and so is one whose transcript a provider would refuse, see [`violations`](Self::violations).
    ///
    /// # Panics
    /// When no loopback port can be bound.
    pub async fn start(wire: WireFormat, scenarios: Vec<Scenario>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("binds a loopback port");
        let (server, serve) = Self::prepare(wire, scenarios, listener).expect("knows its own address");
        tokio::spawn(serve);
        server
    }

    /// Starts a server on a thread and runtime of its own, for a synchronous test that runs a real process.
    ///
    /// # Panics
    /// When no thread, runtime or loopback port can be had.
    pub fn spawn_thread(wire: WireFormat, scenarios: Vec<Scenario>) -> Self {
        let (sender, receiver) = std::sync::mpsc::channel();
        let body = move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("binds a loopback port");
                let (server, serve) =
                    Self::prepare(wire, scenarios, listener).expect("knows its own address");
                sender.send(server).expect("the starter waits");
                serve.await;
            });
        };
        std::thread::Builder::new().name("model-server".into()).spawn(body).expect("a thread");
        receiver.recv().expect("the server starts")
    }

    fn prepare(
        wire: WireFormat,
        scenarios: Vec<Scenario>,
        listener: TcpListener,
    ) -> io::Result<(Self, impl Future<Output = ()> + Send + 'static)> {
        let address = listener.local_addr()?;
        let state = ServerState { scenarios: scenarios.into(), ..ServerState::default() };
        let shared = Arc::new(SharedServer { wire, state: Mutex::new(state), changed: Condvar::new() });
        let stop = CancellationToken::new();
        let serve = accept_connections(listener, shared.clone(), stop.clone());
        Ok((Self { address, wire, shared, _stop: stop.drop_guard() }, serve))
    }

    /// Returns the base URL for a client: with `/v1` for the two OpenAI dialects, without for the others.
    pub fn base_url(&self) -> String {
        match self.wire {
            WireFormat::Anthropic | WireFormat::Gemini | WireFormat::Ollama => {
                format!("http://{}", self.address)
            }
            WireFormat::OpenAiChat | WireFormat::OpenAiResponses => format!("http://{}/v1", self.address),
        }
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Adds a scenario behind those that are left.
    pub fn push(&self, scenario: Scenario) {
        self.shared.update(|state| state.scenarios.push_back(scenario));
    }

    /// Answers every further `POST` by this, when no scenario is left.
    pub fn answer_with(&self, answer: impl FnMut(&RecordedRequest) -> Scenario + Send + 'static) {
        self.shared.update(|state| state.answers = window::AnswerSource::new(answer));
    }

    /// Gives the model a window of so many tokens. From here on requests are counted, a little more than a token for
    /// four bytes: one that is too long is refused in the words of the provider, before a scenario is taken, and the
    /// usage of an answer is what was counted.
    pub fn set_window(&self, tokens: u64) {
        self.shared.update(|state| state.window = Some(tokens));
    }

    /// The number of requests that were too long for the window.
    pub fn overflows(&self) -> usize {
        self.shared.lock().overflows
    }

    /// Every `GET` so far, oldest first. Each is answered with a list of models, or with a 401 when its key contains
    /// `refused`.
    pub fn get_requests(&self) -> Vec<RecordedRequest> {
        self.shared.lock().requests.iter().filter(|request| request.method == "GET").cloned().collect()
    }

    /// Every `POST` so far, oldest first.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.lock().requests.iter().filter(|request| request.method == "POST").cloned().collect()
    }

    /// The number of scenarios that no test asked for yet: 0 shows that each fault was really met.
    pub fn scenarios_left(&self) -> usize {
        self.shared.lock().scenarios.len()
    }

    /// Returns the mistakes in the received transcripts, oldest first. Such a request is answered by a 400 that says
    /// so.
    pub fn violations(&self) -> Vec<String> {
        self.shared.lock().violations.clone()
    }

    /// The number of clients that hung up before their answer was complete.
    pub fn disconnects(&self) -> usize {
        self.shared.lock().disconnects
    }

    /// Waits (blocking the thread) until `requests` requests came, at most `limit`; tells whether they did.
    pub fn wait_for_requests(&self, requests: usize, limit: Duration) -> bool {
        self.wait(limit, |state| state.requests.len() >= requests)
    }

    /// Waits (blocking the thread) until a client hung up, at most `limit`; tells whether one did.
    pub fn wait_for_disconnect(&self, limit: Duration) -> bool {
        self.wait(limit, |state| state.disconnects > 0)
    }

    fn wait(&self, limit: Duration, done: impl Fn(&ServerState) -> bool) -> bool {
        let end = Instant::now() + limit;
        let mut state = self.shared.lock();
        while !done(&state) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

async fn accept_connections(listener: TcpListener, shared: Arc<SharedServer>, stop: CancellationToken) {
    let mut connections = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => { connections.spawn(connection::serve(stream, shared.clone())); }
                Err(_) => return,
            },
        }
    }
}
