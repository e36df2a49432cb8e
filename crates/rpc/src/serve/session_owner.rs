//! `SessionOwner`: the owner of a session without a client, for a program that drives a run of its own.

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;

use haft_core::session::Session;
use haft_protocol::event::AgentEvent;
use haft_protocol::rpc::{ClientEvent, EventLine, ServerLine};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::jobs::OwnRun;
use super::server::RpcServer;
use super::{EndReason, ServeOptions};
use crate::client_sink::ClientSink;
use crate::extension_commands::ExtensionCommandQueue;
use crate::outbox::{LineEncoding, OutboxLimits};
use crate::question_broker::QuestionBroker;
use crate::screen::{ScreenFactory, SessionScreen};
use crate::session_provider::{OpenedSession, SessionProvider};

/// The owner of one session of a program that drives a run of its own, such as `haft -p`. There is no
/// client: the owner carries out the commands of extensions, and begins the runs that they ask for after the
/// program's own.
#[derive(Debug)]
pub struct SessionOwner {
    client_sink: ClientSink,
    questions: QuestionBroker,
    extension_commands: ExtensionCommandQueue,
}

impl SessionOwner {
    /// Creates an owner whose session is not open yet. Commands of extensions wait until
    /// [`serve`](Self::serve), or fail if the owner is dropped.
    pub fn new() -> Self {
        let client_sink = ClientSink::new(OutboxLimits::default(), LineEncoding::Typed, false);
        let questions = QuestionBroker::new(client_sink.clone(), Vec::new());
        Self { client_sink, questions, extension_commands: ExtensionCommandQueue::new() }
    }

    /// Creates the screen of the session.
    pub fn open_screen(&self, session: &Session) -> Arc<SessionScreen> {
        let sender = self.extension_commands.command_sender();
        ScreenFactory::new(self.client_sink.clone(), self.questions.clone(), sender, false)
            .open_screen(session)
    }

    /// Returns the events that the screen receives.
    pub fn events(&self) -> SessionEvents {
        SessionEvents(self.client_sink.clone())
    }

    /// Begins the program's own run. The future carries out the commands of extensions. After the run it
    /// begins the runs that extensions asked for, then closes the session: its extensions have ended and its
    /// file is written. `cancel` stops the current run and closes the session.
    pub fn serve<S: SessionProvider>(
        self,
        cancel: CancellationToken,
        sessions: Arc<S>,
        opened: OpenedSession,
        version: &str,
    ) -> (OwnRun, impl Future<Output = EndReason> + Send + 'static) {
        let Self { client_sink, questions, extension_commands } = self;
        let options = ServeOptions::new(version);
        let mut server =
            RpcServer::new(sessions, opened, client_sink.clone(), extension_commands, questions, options);
        let own = server.begin_own_run();
        let served = async move {
            let (_, mut no_client) = mpsc::unbounded_channel();
            // The program takes the events out by itself.
            let end = server.run(&cancel, &mut no_client, pin!(pending())).await;
            client_sink.close();
            end.unwrap_or(EndReason::Gone)
        };
        (own, served)
    }
}

impl Default for SessionOwner {
    fn default() -> Self {
        Self::new()
    }
}

/// The events of a session that no run reports: those of its extensions, and of changes between runs.
#[derive(Debug, Clone)]
pub struct SessionEvents(ClientSink);

impl SessionEvents {
    /// Waits for the next event; `None` after the last event of a closed session. Dropping the future loses
    /// nothing.
    pub async fn recv(&self) -> Option<AgentEvent> {
        while let Some(line) = self.0.next_line().await {
            if let Some(event) = agent_event(line) {
                return Some(event);
            }
        }
        None
    }

    /// Takes the next event, if one waits.
    pub fn try_recv(&self) -> Option<AgentEvent> {
        std::iter::from_fn(|| self.0.take_line()).find_map(agent_event)
    }
}

/// Returns the event of a line, unless it is about a client.
fn agent_event(line: ServerLine) -> Option<AgentEvent> {
    match line {
        ServerLine::Event(EventLine { event: ClientEvent::Agent(event), .. }) => Some(event),
        ServerLine::Event(EventLine { event: ClientEvent::Rpc(_) | ClientEvent::Unknown { .. }, .. })
        | ServerLine::Reply(_) => None,
    }
}
