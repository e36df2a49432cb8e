//! Messages to the agent, and the messages of the conversation.

use std::sync::Arc;

use futures::FutureExt as _;
use haft_core::hooks::UserInput;
use haft_core::{Agent, Prompt, QueueDelivery, QueueError, QueuedMessages, image};
use haft_protocol::content::Image;
use haft_protocol::event::AgentEvent;
use haft_protocol::rpc::{
    CommandFailure, ErrorCode, InterruptCommand, InterruptData, MessagesData, QueueData, QueuedData,
};

use tokio_util::sync::CancellationToken;

use super::outcome::{CommandExecution, ReplyResult, reply_data};
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
        Err(error) => {
            let code = match error {
                QueueError::Full { .. } => ErrorCode::QueueFull,
                QueueError::Empty => ErrorCode::EmptyMessage,
                QueueError::NotUnderWay | _ => ErrorCode::Failed,
            };
            return Err(CommandFailure::new(code, error.to_string()));
        }
    };
    reply_data(QueuedData { running, handled: false })
}

pub(super) fn interrupt(session: &OpenedSession, wish: InterruptCommand) -> ReplyResult {
    reply_data(InterruptData { interrupted: session.agent.interrupt(wish.hint) })
}

pub(super) fn messages(session: &OpenedSession) -> ReplyResult {
    reply_data(MessagesData::from_messages(session.agent.messages().iter()))
}

pub(super) fn take_queued(session: &OpenedSession) -> ReplyResult {
    let taken = session.agent.take_queued();
    // A run sends its own update.
    if !taken.is_empty() && !session.agent.takes_queued() {
        send_queue_update(session);
    }
    reply_data(as_text(&taken))
}

fn send_queue_update(session: &OpenedSession) {
    let QueueData { steering, follow_up, next_turn } = queue(session);
    session.screen.event(AgentEvent::QueueUpdate { steering, follow_up, next_turn });
}

pub(super) fn queue(session: &OpenedSession) -> QueueData {
    as_text(&session.agent.queued_messages())
}

fn as_text(waiting: &QueuedMessages) -> QueueData {
    let texts = |prompts: &[Prompt]| prompts.iter().map(Prompt::summary).collect();
    QueueData {
        steering: texts(&waiting.steering),
        follow_up: texts(&waiting.follow_up),
        next_turn: texts(&waiting.next_turn),
    }
}
