//! Commands of extensions, on their way from a session's host to the server, and their replies.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_protocol::defense::{Defense, is_up};
use haft_protocol::ids::ExtensionName;
use haft_protocol::rpc::{
    Command, CommandFailure, CommandKind, DeliveryTime, ErrorCode, ReplyPayload, RpcRequest, SendMessage,
};
use tokio::sync::{mpsc, oneshot};

/// The maximum number of commands of extensions that make the model work or open a session, in the whole
/// process, between two messages of the client. Without a limit, extensions could make the model work
/// forever by answering each other.
pub const MOST_EXTENSION_PROMPTS: u32 = 50;

/// The number of a command of an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ExtensionCommandId(pub(crate) u64);

type ReplySender = oneshot::Sender<Result<ReplyPayload, CommandFailure>>;

/// A command of an extension, or the end of the interest in its reply.
#[derive(Debug)]
pub(crate) enum ExtensionRequest {
    Execute {
        id: ExtensionCommandId,
        extension: ExtensionName,
        request: RpcRequest,
        reply: ReplySender,
    },
    /// The extension does not wait any more. A command that has not started does not start.
    Withdraw(ExtensionCommandId),
}

/// Sends commands of extensions to the server.
#[derive(Debug, Clone)]
pub(crate) struct ExtensionCommandSender {
    /// Unbounded: the host limits the open commands of each extension.
    requests: mpsc::UnboundedSender<ExtensionRequest>,
    last_id: Arc<AtomicU64>,
}

impl ExtensionCommandSender {
    /// Sends a command on the first poll and waits for its reply. Dropping the future withdraws the
    /// command.
    pub(crate) async fn execute_command(
        &self,
        extension: &ExtensionName,
        request: RpcRequest,
    ) -> Result<ReplyPayload, CommandFailure> {
        let id = ExtensionCommandId(self.last_id.fetch_add(1, Ordering::Relaxed));
        let (reply, replied) = oneshot::channel();
        let ended = |_| CommandFailure::new(ErrorCode::Shutdown, "haft is ending");
        let execute = ExtensionRequest::Execute { id, extension: extension.clone(), request, reply };
        self.requests.send(execute).map_err(|_| ended(()))?;
        let mut withdrawal = WithdrawCommandOnDrop { requests: Some(&self.requests), id };
        let outcome = replied.await;
        withdrawal.requests = None;
        outcome.map_err(|_| ended(()))?
    }
}

/// Withdraws a command when it is dropped.
struct WithdrawCommandOnDrop<'a> {
    requests: Option<&'a mpsc::UnboundedSender<ExtensionRequest>>,
    id: ExtensionCommandId,
}

impl Drop for WithdrawCommandOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(requests) = self.requests {
            // A server that has ended runs no commands.
            _ = requests.send(ExtensionRequest::Withdraw(self.id));
        }
    }
}

/// An extension that waits for a reply.
#[derive(Debug)]
struct WaitingCaller {
    extension: ExtensionName,
    reply: ReplySender,
}

/// The server's end: the commands of extensions, and the extensions that wait for replies.
#[derive(Debug)]
pub(crate) struct ExtensionCommandQueue {
    sender: ExtensionCommandSender,
    requests: mpsc::UnboundedReceiver<ExtensionRequest>,
    waiting: HashMap<ExtensionCommandId, WaitingCaller>,
}

impl ExtensionCommandQueue {
    pub(crate) fn new() -> Self {
        let (requests, received) = mpsc::unbounded_channel();
        let sender = ExtensionCommandSender { requests, last_id: Arc::default() };
        Self { sender, requests: received, waiting: HashMap::new() }
    }

    pub(crate) fn command_sender(&self) -> ExtensionCommandSender {
        self.sender.clone()
    }

    /// Waits for the next request. Dropping the future loses nothing.
    pub(crate) async fn next_request(&mut self) -> Option<ExtensionRequest> {
        self.requests.recv().await
    }

    pub(crate) fn expect_reply(
        &mut self,
        id: ExtensionCommandId,
        extension: ExtensionName,
        reply: ReplySender,
    ) {
        self.waiting.insert(id, WaitingCaller { extension, reply });
    }

    /// Returns the extension that waits for the reply to a command.
    pub(crate) fn find_caller(&self, id: ExtensionCommandId) -> Option<ExtensionName> {
        self.waiting.get(&id).map(|caller| caller.extension.clone())
    }

    /// Sends the reply. Each command has at most one.
    pub(crate) fn reply(&mut self, id: ExtensionCommandId, outcome: Result<ReplyPayload, CommandFailure>) {
        if let Some(WaitingCaller { reply, .. }) = self.waiting.remove(&id) {
            // The extension may have ended.
            _ = reply.send(outcome);
        }
    }

    /// Drops the interest in a reply. Returns false if the command has its reply.
    pub(crate) fn forget_reply(&mut self, id: ExtensionCommandId) -> bool {
        self.waiting.remove(&id).is_some()
    }
}

/// True for commands that make the model work, at the latest with the next prompt, or open a session in which
/// it may work. `busy` is true if the session works, so that it also works on a message that is sent now.
fn makes_model_work(command: &Command, busy: bool) -> bool {
    if let Command::SendMessage(SendMessage { when, turn, .. }) = command {
        return match when {
            DeliveryTime::Now => *turn || busy,
            DeliveryTime::Steer | DeliveryTime::FollowUp | DeliveryTime::NextTurn => true,
        };
    }
    matches!(
        command.kind(),
        CommandKind::Prompt
            | CommandKind::Steer
            | CommandKind::FollowUp
            | CommandKind::RunCommand
            | CommandKind::Compact
            | CommandKind::NewSession
            | CommandKind::Fork
    )
}

/// The number of such commands since the last message of the client.
#[derive(Debug, Default)]
pub(crate) struct ExtensionPromptCount(u32);

impl ExtensionPromptCount {
    /// Counts a command of the client, which allows extensions new ones.
    pub(crate) fn count_client(&mut self, command: &Command) {
        if makes_model_work(command, true) {
            self.0 = 0;
        }
    }

    /// Counts a command of an extension.
    ///
    /// # Errors
    /// [`CommandFailure`] beyond [`MOST_EXTENSION_PROMPTS`].
    pub(crate) fn count_extension(&mut self, command: &Command, busy: bool) -> Result<(), CommandFailure> {
        if !makes_model_work(command, busy) {
            return Ok(());
        }
        if self.0 >= MOST_EXTENSION_PROMPTS && is_up(Defense::ExtensionPrompts) {
            return Err(too_many_prompts_failure());
        }
        self.0 = self.0.saturating_add(1);
        Ok(())
    }
}

/// Returns the reply to a command beyond [`MOST_EXTENSION_PROMPTS`].
fn too_many_prompts_failure() -> CommandFailure {
    let error = format!(
        "extensions have sent {MOST_EXTENSION_PROMPTS} messages since the last message of the person, \
         which is the limit; the next message of the person allows more"
    );
    CommandFailure::new(ErrorCode::QueueFull, error)
}
