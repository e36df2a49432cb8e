//! A client in the same process.

use std::sync::Arc;
use std::time::Duration;

use haft_core::hooks::CancellationToken;
use haft_protocol::content::ContentBlock;
use haft_protocol::event::AgentEvent;
use haft_protocol::rpc::{
    AuthToken, ClientEvent, Command, CommandFailure, ErrorCode, EventLine, PingCommand, PromptCommand,
    RpcEvent, RpcRequest, RpcResponse, RunCommand, ServerLine, SwitchSession,
};
use haft_rpc::{EndReason, ServeError, ServeOptions, serve_local, timeouts};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{self, Receiver, UnboundedSender};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::{end, extensions, prompts, queue, sessions, steering};
use crate::client::{Client, narrow};
use crate::played::Answer;
use crate::program::Program;

/// A client in the same process, with its server.
struct Local {
    says: UnboundedSender<RpcRequest>,
    lines: Receiver<ServerLine>,
    cancel: CancellationToken,
    served: JoinHandle<Result<EndReason, ServeError<CommandFailure>>>,
}

impl Local {
    fn with(program: Program, room: usize, set: impl FnOnce(&mut ServeOptions)) -> Self {
        let (says, requests) = mpsc::unbounded_channel();
        let (told, lines) = mpsc::channel(room);
        let cancel = CancellationToken::new();
        let mut options = ServeOptions::new("1.0.0");
        set(&mut options);
        let served = {
            let cancel = cancel.clone();
            tokio::spawn(
                async move { serve_local(&cancel, Arc::new(program), requests, told, options).await },
            )
        };
        Self { says, lines, cancel, served }
    }

    fn of(program: Program) -> Self {
        Self::with(program, 64, |_| {})
    }

    fn say(&self, command: impl Into<Command>) {
        self.says.send(RpcRequest::new(command)).expect("it listens");
    }

    fn prompt(&self, message: &str) {
        self.say(PromptCommand { message: message.into(), images: Vec::new(), plain: None });
    }

    /// Returns the next reply.
    async fn reply(&mut self) -> RpcResponse {
        loop {
            match self.lines.recv().await.expect("it answers") {
                ServerLine::Reply(reply) => return reply,
                ServerLine::Event(_) => {}
            }
        }
    }

    /// Returns all lines until the end.
    async fn rest(&mut self) -> Vec<ServerLine> {
        let mut rest = Vec::new();
        while let Some(line) = self.lines.recv().await {
            rest.push(line);
        }
        rest
    }
}

/// Checks that a conversation has the same bytes over both connections.
macro_rules! same {
    ($($name:ident: $conversation:path,)*) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $name() {
                assert_eq!($conversation(Client::local).await, $conversation(Client::of).await);
            }
        )*
    };
}

same! {
    prompt_runs_a_tool: prompts::with_a_tool,
    valid_images_are_sent_and_invalid_ones_rejected: prompts::with_images,
    steering_arrives_between_steps_and_at_the_end: steering::steered,
    taken_messages_are_not_delivered: steering::with_taken_messages,
    two_sessions_work_in_parallel: sessions::two_at_work,
    idle_session_moves_to_any_entry: queue::moved,
    panels_open_redraw_and_close: extensions::with_panels,
    shutdown_stops_all_work: end::shut_down,
}

#[tokio::test(start_paused = true)]
async fn images_keep_their_data() {
    let mut local = Local::of(Program::new([Answer::Say("A pixel.")]));
    local.say(PromptCommand { message: String::new(), images: vec![prompts::pixel()], plain: None });
    drop(local.says);
    let mut told = Vec::new();
    while let Some(line) = local.lines.recv().await {
        if let ServerLine::Event(EventLine {
            event: ClientEvent::Agent(AgentEvent::UserMessage { content, .. }),
            ..
        }) = line
        {
            told.push(content);
        }
    }
    assert_eq!(told, [vec![ContentBlock::Image(prompts::pixel())]]);
}

#[tokio::test(start_paused = true)]
async fn local_client_needs_no_token_but_valid_requests() {
    let set = |options: &mut ServeOptions| options.token = Some(AuthToken("secret".into()));
    let mut local = Local::with(Program::new([]), 64, set);
    local.say(PingCommand {});
    assert!(local.reply().await.outcome.is_ok());
    local.say(SwitchSession {});
    assert_eq!(local.reply().await.outcome.unwrap_err().code, ErrorCode::BadRequest);
    local.say(RunCommand { name: "a\u{1b}b".into(), args: String::new() });
    assert_eq!(local.reply().await.outcome.unwrap_err().code, ErrorCode::BadRequest);
    // An empty id means none.
    let (id, command) = (Some(String::new()), PingCommand {}.into());
    local.says.send(RpcRequest { id, command, session: Some(String::new()) }).unwrap();
    let RpcResponse { id, outcome, .. } = local.reply().await;
    assert!(id.is_none() && outcome.is_ok());
}

#[tokio::test(start_paused = true)]
async fn slow_local_client_loses_pieces() {
    const PIECES: u64 = 5_000;
    let program = Program::new([Answer::Pieces("word ", 5_000)]);
    let agents = program.agents();
    let mut local = Local::with(program, 1, narrow);
    local.prompt("talk");
    sleep(Duration::from_secs(30)).await;
    // The agent did not wait for the client.
    assert_eq!(agents.lock().unwrap()[0].messages().len(), 2);
    drop(local.says);
    let (mut heard, mut missed, mut last) = (0, 0, None);
    while let Some(line) = local.lines.recv().await {
        if let ServerLine::Event(EventLine { event, .. }) = line {
            match &event {
                ClientEvent::Agent(AgentEvent::TextDelta { .. }) => heard += 1,
                ClientEvent::Agent(AgentEvent::EventGap { lost }) => missed += lost,
                ClientEvent::Agent(_) | ClientEvent::Rpc(_) | ClientEvent::Unknown { .. } => {
                    last = Some(event)
                }
            }
        }
    }
    assert_eq!((heard + missed, heard < 200), (PIECES, true), "{heard} pieces were told");
    assert!(matches!(last, Some(ClientEvent::Rpc(RpcEvent::SessionClosed { .. }))), "{last:?}");
    assert_eq!(local.served.await.unwrap().unwrap(), EndReason::Input);
}

#[tokio::test(start_paused = true)]
async fn silent_local_client_does_not_delay_the_end() {
    let before = Handle::current().metrics().num_alive_tasks();
    let local = Local::with(Program::new([Answer::Pieces("word ", 100)]), 1, |_| {});
    local.prompt("talk");
    sleep(Duration::from_secs(30)).await;
    local.cancel.cancel();
    let (begun, end) = (Instant::now(), local.served.await.unwrap());
    assert_eq!((end.unwrap(), begun.elapsed()), (EndReason::Cancelled, timeouts::LAST_WORDS));
    assert_eq!(Handle::current().metrics().num_alive_tasks(), before);
}

#[tokio::test(start_paused = true)]
async fn lost_local_client_ends_serving() {
    let before = Handle::current().metrics().num_alive_tasks();
    let Local { says, mut lines, served, .. } = Local::of(Program::new([Answer::Call("wait", "{}")]));
    says.send(RpcRequest::new(PromptCommand { message: "wait".into(), images: Vec::new(), plain: None }))
        .unwrap();
    while !matches!(
        lines.recv().await,
        Some(ServerLine::Event(EventLine { event: ClientEvent::Agent(AgentEvent::ToolStart { .. }), .. }))
    ) {}
    // The server notices it without a line to send.
    drop(lines);
    assert_eq!(served.await.unwrap().unwrap(), EndReason::Gone);
    assert_eq!(Handle::current().metrics().num_alive_tasks(), before);
    drop(says);
}

#[tokio::test(start_paused = true)]
async fn local_client_gets_the_rest_after_closing_its_input() {
    let mut local = Local::of(Program::new([]));
    local.prompt("one");
    local.prompt("two");
    local.says = mpsc::unbounded_channel().0;
    let done = |line: &&ServerLine| {
        matches!(line, ServerLine::Event(EventLine { event: ClientEvent::Agent(AgentEvent::Done), .. }))
    };
    assert_eq!(local.rest().await.iter().filter(done).count(), 2);
    assert_eq!(local.served.await.unwrap().unwrap(), EndReason::Input);
}
