//! An agent for each chat, with its events sent to the browser: the routes of
//! `haft-example-server`.
//!
//! A chat stores all its events, so a page that connects late, reconnects, or shares the chat reads
//! all of them. Calls of tools wait for a person, who decides on one of the pages.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures::{Stream, stream};
use haft_core::hooks::{ApproverDecision, allow, deny};
use haft_core::protocol::content::ToolCall;
use haft_core::session::SessionId;
use haft_core::{Agent, AgentBuilder, QueueError, Run, RunHandle};
use tokio::sync::{oneshot, watch};

/// The complete page, which loads nothing else.
pub const PAGE: &str = include_str!("../static/index.html");

/// The maximum number of chats. A server for more people would end idle chats.
const MAX_CHATS: usize = 100;

/// Creates the builder of the agent of a new chat.
type MakeAgent = Box<dyn Fn() -> Result<AgentBuilder, String> + Send + Sync>;

/// True for the calls that a person must allow.
type NeedsPerson = fn(&ToolCall) -> bool;

struct Chats {
    make_agent: MakeAgent,
    needs_person: NeedsPerson,
    open: Mutex<HashMap<String, Arc<Chat>>>,
}

struct Chat {
    agent: Agent,
    /// The latest run.
    run: Mutex<Option<RunHandle>>,
    pages: Arc<Pages>,
}

/// The pages of a chat.
#[derive(Default)]
struct Pages {
    /// All events so far, as JSON.
    told: watch::Sender<Vec<Arc<str>>>,
    /// The calls that wait for a person, by their ids.
    questions: Mutex<HashMap<String, oneshot::Sender<bool>>>,
}

#[derive(serde::Deserialize)]
struct SentMessage {
    text: String,
}

/// The decision of a person about a call.
#[derive(serde::Deserialize)]
struct Decision {
    id: String,
    allowed: bool,
}

/// Creates the routes. An agent can act on this machine, so requests that pages of other sites send
/// are rejected.
pub fn app(
    make_agent: impl Fn() -> Result<AgentBuilder, String> + Send + Sync + 'static,
    needs_person: NeedsPerson,
) -> Router {
    let chats = Chats { make_agent: Box::new(make_agent), needs_person, open: Mutex::default() };
    Router::new()
        .route("/", get(|| async { ([(header::CONTENT_SECURITY_POLICY, POLICY)], Html(PAGE)) }))
        .route("/chats", post(begin))
        .route("/chats/{id}/events", get(events))
        .route("/chats/{id}/say", post(say))
        .route("/chats/{id}/decide", post(decide))
        .route("/chats/{id}/abort", post(abort))
        .layer(middleware::from_fn(only_from_here))
        .with_state(Arc::new(chats))
}

/// The page needs its own script and style, and this server.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Starts a chat: `{"id": …}`. The id is random, so only clients that received it can use the chat.
async fn begin(State(chats): State<Arc<Chats>>) -> Result<Json<serde_json::Value>, Problem> {
    let mut open = lock(&chats.open);
    if open.len() >= MAX_CHATS {
        return Err((StatusCode::SERVICE_UNAVAILABLE, "too many chats".to_owned()));
    }
    let failed = |error: String| (StatusCode::INTERNAL_SERVER_ERROR, error);
    let pages = Arc::<Pages>::default();
    let approver = Arc::clone(&pages);
    let builder = (chats.make_agent)().map_err(failed)?;
    let needs_person = chats.needs_person;
    let agent = builder.approve(move |_, call| Arc::clone(&approver).approve(call, needs_person)).build();
    let agent = agent.map_err(|error| failed(error.to_string()))?;
    let id = SessionId::new().to_string();
    open.insert(id.clone(), Arc::new(Chat { agent, run: Mutex::default(), pages }));
    Ok(Json(serde_json::json!({ "id": id })))
}

/// Streams a chat to its page: one JSON object per event. A browser that reconnects sends the id of
/// its last event.
async fn events(
    State(chats): State<Arc<Chats>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let told = chats.find(&id)?.pages.told.subscribe();
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse::<usize>().ok());
    let next = last.map_or(0, |last| last.saturating_add(1));
    let events = stream::unfold((told, next), async |(mut told, next)| {
        let event = told.wait_for(|told| told.len() > next).await.ok()?.get(next)?.clone();
        Some((Ok(Event::default().id(next.to_string()).data(event)), (told, next.saturating_add(1))))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// Sends a message to a working agent, or starts a new prompt.
async fn say(
    State(chats): State<Arc<Chats>>,
    Path(id): Path<String>,
    Json(SentMessage { text }): Json<SentMessage>,
) -> Result<StatusCode, Problem> {
    let chat = chats.find(&id)?;
    let mut running = lock(&chat.run);
    let said = running.as_ref().map_or(Err(QueueError::NotUnderWay), |run| run.steer(text.as_str()));
    if said == Err(QueueError::NotUnderWay) {
        let run = chat.agent.prompt(text);
        *running = Some(run.handle());
        // The run continues even if no browser listens.
        tokio::spawn(show(chat.clone(), run));
        return Ok(StatusCode::ACCEPTED);
    }
    said.map(|()| StatusCode::ACCEPTED).map_err(|error| (StatusCode::UNPROCESSABLE_ENTITY, error.to_string()))
}

/// Decides about a call that waits.
async fn decide(
    State(chats): State<Arc<Chats>>,
    Path(id): Path<String>,
    Json(Decision { id: call, allowed }): Json<Decision>,
) -> Result<StatusCode, Problem> {
    let waiting = lock(&chats.find(&id)?.pages.questions).remove(&call);
    // Fails if another page has decided, or the run was aborted.
    let decided = waiting.is_some_and(|waiting| waiting.send(allowed).is_ok());
    decided.then_some(StatusCode::NO_CONTENT).ok_or((StatusCode::GONE, "the call no longer waits".to_owned()))
}

/// Aborts the agent's work.
async fn abort(State(chats): State<Arc<Chats>>, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    lock(&chats.find(&id)?.run).iter().for_each(RunHandle::abort);
    Ok(StatusCode::NO_CONTENT)
}

/// Runs a prompt and sends its events.
async fn show(chat: Arc<Chat>, mut run: Run) {
    while let Some(event) = run.next().await {
        chat.pages.tell(&event);
    }
}

impl Pages {
    fn tell(&self, event: &impl serde::Serialize) {
        if let Ok(json) = serde_json::to_string(event) {
            self.told.send_modify(|told| told.push(json.into()));
        }
    }

    /// Shows a question on all pages, and waits for the decision on one of them. An aborted run drops the wait.
    async fn approve(self: Arc<Self>, call: ToolCall, needs_person: NeedsPerson) -> ApproverDecision {
        if !needs_person(&call) {
            return allow();
        }
        let (answer, answered) = oneshot::channel();
        lock(&self.questions).insert(call.id.to_string(), answer);
        self.tell(
            &serde_json::json!({ "type": "question", "id": call.id, "name": call.name, "args": call.args }),
        );
        let allowed = answered.await.unwrap_or(false);
        self.tell(&serde_json::json!({ "type": "decision", "id": call.id, "allowed": allowed }));
        if allowed { allow() } else { deny("the person denied the call") }
    }
}

/// A status and a message for people.
type Problem = (StatusCode, String);

impl Chats {
    fn find(&self, id: &str) -> Result<Arc<Chat>, Problem> {
        let chat = lock(&self.open).get(id).cloned();
        chat.ok_or_else(|| (StatusCode::NOT_FOUND, "there is no such chat".to_owned()))
    }
}

/// Rejects requests from pages of other sites. Such requests contain that site's name as `Host` (a
/// name that resolves to this address) or as `Origin`. A server for other people needs a login here
/// instead.
async fn only_from_here(request: Request, next: Next) -> Response {
    match is_from_here(request.headers()) {
        true => next.run(request).await,
        false => (StatusCode::FORBIDDEN, "open this page as http://localhost").into_response(),
    }
}

fn is_from_here(headers: &HeaderMap) -> bool {
    let local = |name: &str| {
        let host = name.rsplit_once(':').map_or(name, |(host, _port)| host);
        matches!(host, "localhost" | "127.0.0.1" | "[::1]")
    };
    let named = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let (host, origin) = (named(header::HOST), named(header::ORIGIN));
    // Another program on this machine may also serve pages, on another port.
    host.is_some_and(local) && origin.is_none_or(|origin| origin.strip_prefix("http://") == host)
}

/// Locks a mutex. Each change is one step, so a poisoned lock is harmless.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
