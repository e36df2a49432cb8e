//! An agent for each chat, with its events sent to the browser: the routes of
//! `haft-example-server`.
//!
//! A chat stores all its events, so a page that connects late, reconnects, or shares the chat reads
//! all of them.

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
use haft_core::protocol::event::AgentEvent;
use haft_core::session::SessionId;
use haft_core::{Agent, QueueError, Run, RunHandle};
use tokio::sync::watch;

/// The complete page, which loads nothing else.
pub const PAGE: &str = include_str!("../static/index.html");

/// The maximum number of chats. A server for more people would end idle chats.
const MAX_CHATS: usize = 100;

/// Creates the agent of a new chat.
type MakeAgent = Box<dyn Fn() -> Result<Agent, String> + Send + Sync>;

struct Chats {
    make_agent: MakeAgent,
    open: Mutex<HashMap<String, Arc<Chat>>>,
}

struct Chat {
    agent: Agent,
    /// The latest run.
    run: Mutex<Option<RunHandle>>,
    /// All events so far, as JSON.
    told: watch::Sender<Vec<Arc<str>>>,
}

#[derive(serde::Deserialize)]
struct SentMessage {
    text: String,
}

/// Creates the routes. An agent can act on this machine, so requests that pages of other sites send
/// are rejected.
pub fn app(make_agent: impl Fn() -> Result<Agent, String> + Send + Sync + 'static) -> Router {
    let chats = Chats { make_agent: Box::new(make_agent), open: Mutex::default() };
    Router::new()
        .route("/", get(|| async { ([(header::CONTENT_SECURITY_POLICY, POLICY)], Html(PAGE)) }))
        .route("/chats", post(begin))
        .route("/chats/{id}/events", get(events))
        .route("/chats/{id}/say", post(say))
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
    let agent = (chats.make_agent)().map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error))?;
    let id = SessionId::new().to_string();
    open.insert(id.clone(), Arc::new(Chat { agent, run: Mutex::default(), told: watch::Sender::default() }));
    Ok(Json(serde_json::json!({ "id": id })))
}

/// Streams a chat to its page: one JSON object per event. A browser that reconnects sends the id of
/// its last event.
async fn events(
    State(chats): State<Arc<Chats>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let told = chats.find(&id)?.told.subscribe();
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

/// Aborts the agent's work.
async fn abort(State(chats): State<Arc<Chats>>, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    lock(&chats.find(&id)?.run).iter().for_each(RunHandle::abort);
    Ok(StatusCode::NO_CONTENT)
}

/// Runs a prompt and sends its events.
async fn show(chat: Arc<Chat>, mut run: Run) {
    while let Some(event) = run.next().await {
        chat.tell(&event);
    }
}

impl Chat {
    fn tell(&self, event: &AgentEvent) {
        if let Ok(json) = serde_json::to_string(event) {
            self.told.send_modify(|told| told.push(json.into()));
        }
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
