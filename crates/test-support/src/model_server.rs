//! A model provider on loopback: five streaming formats, with adjustable chunk boundaries and injected faults.
//!
//! The server speaks HTTP over a raw socket, because the tests need what HTTP libraries hide: a body cut every few
//! bytes (inside a UTF-8 character, inside an SSE frame), a reset in mid-stream, a well-formed end without the final
//! event, and the moment at which the client disconnects.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use haft_test_support::model_server::{ModelServer, Scenario, WireFormat};
//!
//! let server = ModelServer::start(WireFormat::Anthropic, vec![
//!     Scenario::new().tool("toolu_1", "weather", r#"{"city":"Zürich"}"#),
//!     Scenario::text("It is sunny."),
//! ]).await;
//! // … point a client at `server.base_url()`, then check its requests:
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

/// The provider whose streaming format a server uses.
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
    /// Ollama's own format: `POST /api/chat`, one line of JSON each.
    Ollama,
}

/// One request as received.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    /// The method, for example `POST`.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers in the received order, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as JSON; [`Value::Null`] if the body is empty or not JSON.
    pub body: Value,
}

impl RecordedRequest {
    /// Returns the value of a header by its lower-case name.
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
    /// Starts a server on the current runtime. Each `POST` takes the next scenario; a `POST` without a scenario is
    /// answered with a 400. So is a transcript that a provider would reject, see [`violations`](Self::violations).
    /// A server with one API of OpenAI answers a request of the other one with a 404.
    ///
    /// # Panics
    /// Panics if no loopback port can be bound.
    pub async fn start(wire: WireFormat, scenarios: Vec<Scenario>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("cannot bind a loopback port");
        let (server, serve) = Self::prepare(wire, scenarios, listener).expect("the listener has no address");
        tokio::spawn(serve);
        server
    }

    /// Starts a server on its own thread and runtime, for a synchronous test that runs a real process.
    ///
    /// # Panics
    /// Panics if no thread, runtime or loopback port is available.
    pub fn spawn_thread(wire: WireFormat, scenarios: Vec<Scenario>) -> Self {
        let (sender, receiver) = std::sync::mpsc::channel();
        let body = move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("cannot create a runtime");
            runtime.block_on(async move {
                let listener =
                    TcpListener::bind(("127.0.0.1", 0)).await.expect("cannot bind a loopback port");
                let (server, serve) =
                    Self::prepare(wire, scenarios, listener).expect("the listener has no address");
                sender.send(server).expect("the starting thread has ended");
                serve.await;
            });
        };
        std::thread::Builder::new().name("model-server".into()).spawn(body).expect("cannot start a thread");
        receiver.recv().expect("the server thread has ended")
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

    /// Returns the base URL for a client: with `/v1` for the two OpenAI formats, without for the others.
    pub fn base_url(&self) -> String {
        match self.wire {
            WireFormat::Anthropic | WireFormat::Gemini | WireFormat::Ollama => {
                format!("http://{}", self.address)
            }
            WireFormat::OpenAiChat | WireFormat::OpenAiResponses => format!("http://{}/v1", self.address),
        }
    }

    /// Returns the port of the server.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Adds a scenario after the remaining ones.
    pub fn push(&self, scenario: Scenario) {
        self.shared.update(|state| state.scenarios.push_back(scenario));
    }

    /// Answers every later `POST` with the result of `answer` when no scenario is left.
    pub fn answer_with(&self, answer: impl FnMut(&RecordedRequest) -> Scenario + Send + 'static) {
        self.shared.update(|state| state.answers = window::AnswerSource::new(answer));
    }

    /// Sets the size of the model's context window in tokens. Later requests are counted with a little more than one
    /// token for four bytes. A request that is too long is rejected with the provider's message, without taking a
    /// scenario. Answers report the counted tokens as their usage.
    pub fn set_window(&self, tokens: u64) {
        self.shared.update(|state| state.window = Some(tokens));
    }

    /// Returns the number of requests that were too long for the window.
    pub fn overflows(&self) -> usize {
        self.shared.lock().overflows
    }

    /// Returns every `GET` so far, oldest first. Each is answered with a list of models, or with a 401 if its key
    /// contains `refused`.
    pub fn get_requests(&self) -> Vec<RecordedRequest> {
        self.shared.lock().requests.iter().filter(|request| request.method == "GET").cloned().collect()
    }

    /// Returns every `POST` so far, oldest first.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.lock().requests.iter().filter(|request| request.method == "POST").cloned().collect()
    }

    /// Returns the number of unused scenarios; 0 shows that each fault really happened.
    pub fn scenarios_left(&self) -> usize {
        self.shared.lock().scenarios.len()
    }

    /// Returns the mistakes in the received transcripts, oldest first. Each such request was answered with a 400 that
    /// names the mistake.
    pub fn violations(&self) -> Vec<String> {
        self.shared.lock().violations.clone()
    }

    /// Returns the number of clients that disconnected before their answer was complete.
    pub fn disconnects(&self) -> usize {
        self.shared.lock().disconnects
    }

    /// Blocks the thread until `requests` requests have arrived, at most `limit`. Returns true if they arrived.
    pub fn wait_for_requests(&self, requests: usize, limit: Duration) -> bool {
        self.wait(limit, |state| state.requests.len() >= requests)
    }

    /// Blocks the thread until a client disconnects, at most `limit`. Returns true if a client disconnected.
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
