//! Messages to the agent, and the messages of the conversation.

use std::sync::Arc;

use futures::FutureExt as _;
use haft_core::hooks::UserInput;
use haft_core::session::build_context;
use haft_core::session::entry::{CustomMessage, EntryBody, SessionEntry};
use haft_core::{AddMessageError, Agent, MessageDelivery, Prompt, QueueDelivery, QueueError, image};
use haft_protocol::content::{ContentBlock, Image};
use haft_protocol::event::AgentEvent;
use haft_protocol::message::Message;
use haft_protocol::rpc::{
    CommandFailure, DeliveryTime, ErrorCode, InterruptCommand, InterruptData, MessagesData, QueueData,
    QueuedData, SendMessage, SentData,
};

use tokio_util::sync::CancellationToken;

use super::outcome::{CommandExecution, ReplyResult, reply_data};
use super::record::client_owner;
use super::session::session_failure;
use crate::session_provider::OpenedSession;

/// Checks that models can read an image, and sets its MIME type from its content.
pub(super) fn normalize_image(image: &mut Image) -> Result<(), CommandFailure> {
    let bad = |error| CommandFailure::new(ErrorCode::BadImage, format!("cannot send an image: {error}"));
    *image = image::from_base64(image.data.clone()).map_err(bad)?;
    Ok(())
}

pub(super) fn steer(
    session: &Arc<OpenedSession>,
    closing: CancellationToken,
    input: UserInput,
) -> CommandExecution {
    queue_input(session, closing, input, |agent, prompt| agent.steer(prompt))
}

pub(super) fn follow_up(
    session: &Arc<OpenedSession>,
    closing: CancellationToken,
    input: UserInput,
) -> CommandExecution {
    queue_input(session, closing, input, |agent, prompt| agent.follow_up(prompt))
}

/// Queues a message after the hooks reviewed it. Messages keep their order.
fn queue_input(
    session: &Arc<OpenedSession>,
    closing: CancellationToken,
    input: UserInput,
    push: fn(&Agent, Prompt) -> Result<QueueDelivery, QueueError>,
) -> CommandExecution {
    if !session.agent.reviews_input() {
        return CommandExecution::Now(queue_outcome(session, push(&session.agent, input.into())));
    }
    let session = Arc::clone(session);
    let mut place = Box::pin(Arc::clone(&session.input_order).lock_owned());
    // The first poll takes a place in the order.
    let taken = (&mut place).now_or_never();
    CommandExecution::until_cancelled(closing.clone(), async move {
        let _place = match taken {
            Some(place) => place,
            None => place.await,
        };
        match session.agent.review_input(&closing, input).await {
            Some(input) => queue_outcome(&session, push(&session.agent, input.into())),
            None => {
                // The client may already show the message as queued.
                send_queue_update(&session);
                reply_data(QueuedData { running: session.agent.takes_queued(), handled: true })
            }
        }
    })
}

fn queue_outcome(session: &OpenedSession, outcome: Result<QueueDelivery, QueueError>) -> ReplyResult {
    let running = match outcome {
        Ok(QueueDelivery::Running) => true,
        Ok(QueueDelivery::Idle) => {
            // A run sends its own update.
            send_queue_update(session);
            false
        }
        Err(error) => return Err(queue_failure(error)),
    };
    reply_data(QueuedData { running, handled: false })
}

fn queue_failure(error: QueueError) -> CommandFailure {
    let code = match error {
        QueueError::Full { .. } => ErrorCode::QueueFull,
        QueueError::Empty => ErrorCode::EmptyMessage,
        QueueError::NotUnderWay | _ => ErrorCode::Failed,
    };
    CommandFailure::new(code, error.to_string())
}

/// A message that was sent.
pub(super) struct SentMessage {
    pub(super) reply: SentData,
    /// True if no run takes the message and one should.
    pub(super) needs_run: bool,
}

/// Adds a message of a program to the conversation, or to a queue.
pub(super) fn send_message(
    session: &OpenedSession,
    wish: SendMessage,
) -> Result<SentMessage, CommandFailure> {
    let SendMessage { kind, content, images, display, details, when, turn, owner } = wish;
    if turn && when == DeliveryTime::NextTurn {
        let error =
            "a message for the next prompt cannot start a run; leave out `turn`, or send it at another time";
        return Err(CommandFailure::new(ErrorCode::BadRequest, error));
    }
    let text = Some(content).filter(|text| !text.is_empty()).map(ContentBlock::text);
    let content = text.into_iter().chain(images.into_iter().map(ContentBlock::Image)).collect();
    let message =
        CustomMessage::new(client_owner(owner)?, kind, content).with_display(display).with_details(details);
    let agent = &session.agent;
    let delivered = match when {
        DeliveryTime::Now => match agent.add_message(message) {
            Ok(MessageDelivery::Added { entry, event }) => {
                session.screen.event(*event);
                let entry = Some(entry.to_string());
                return Ok(SentMessage { reply: SentData { entry, running: turn }, needs_run: turn });
            }
            Ok(MessageDelivery::Queued(queued)) => Ok(queued),
            Err(AddMessageError::Queue(error)) => Err(error),
            Err(AddMessageError::Session(error)) => return Err(session_failure(&error)),
        },
        DeliveryTime::Steer => agent.steer(message),
        DeliveryTime::FollowUp => agent.follow_up(message),
        DeliveryTime::NextTurn => agent.next_turn(message),
    };
    let waits_for_prompt = when == DeliveryTime::NextTurn;
    let running = delivered.map_err(queue_failure)? == QueueDelivery::Running && !waits_for_prompt;
    Ok(SentMessage { reply: SentData { entry: None, running: running || turn }, needs_run: turn && !running })
}

pub(super) fn interrupt(session: &OpenedSession, wish: InterruptCommand) -> ReplyResult {
    reply_data(InterruptData { interrupted: session.agent.interrupt(wish.hint) })
}

pub(super) fn messages(session: &OpenedSession) -> ReplyResult {
    reply_data(MessagesData::from_messages(shown_messages(&session.agent).iter()))
}

/// Returns the conversation without the messages of programs that people do not see.
fn shown_messages(agent: &Agent) -> Arc<Vec<Message>> {
    let is_hidden = |entry: &Arc<SessionEntry>| matches!(&entry.body, EntryBody::CustomMessage(message) if !message.display);
    let mut branch = agent.session().branch();
    let entries = branch.len();
    branch.retain(|entry| !is_hidden(entry));
    match branch.len() == entries {
        true => agent.messages(),
        false => Arc::new(build_context(&branch).messages),
    }
}

pub(super) fn take_queued(session: &OpenedSession) -> ReplyResult {
    let taken = session.agent.take_queued();
    // A run sends its own update.
    if !taken.is_empty() && !session.agent.takes_queued() {
        send_queue_update(session);
    }
    reply_data(QueueData::from(&taken))
}

fn send_queue_update(session: &OpenedSession) {
    let QueueData { steering, follow_up, next_turn } = queue(session);
    session.screen.event(AgentEvent::QueueUpdate { steering, follow_up, next_turn });
}

pub(super) fn queue(session: &OpenedSession) -> QueueData {
    QueueData::from(&session.agent.queued_messages().user_messages())
}
