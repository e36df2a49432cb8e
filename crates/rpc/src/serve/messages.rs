//! Messages to the agent, and the messages of the conversation.

use haft_core::{Prompt, QueueDelivery, QueueError, QueuedMessages, image};
use haft_protocol::content::Image;
use haft_protocol::event::AgentEvent;
use haft_protocol::rpc::{
    CommandFailure, ErrorCode, FollowUp, InterruptCommand, InterruptData, MessagesData, QueueData,
    QueuedData, SteerCommand,
};

use super::jobs::prompt_content;
use super::outcome::{ReplyResult, reply_data};
use crate::session_provider::OpenedSession;

/// Checks that models can read an image, and sets its MIME type from its content.
pub(super) fn normalize_image(image: &mut Image) -> Result<(), CommandFailure> {
    let bad = |error| CommandFailure::new(ErrorCode::BadImage, format!("cannot send an image: {error}"));
    *image = image::from_base64(image.data.clone()).map_err(bad)?;
    Ok(())
}

pub(super) fn steer(session: &OpenedSession, said: SteerCommand) -> ReplyResult {
    queue_outcome(session, session.agent.steer(prompt_content(said.message, said.images)))
}

pub(super) fn follow_up(session: &OpenedSession, said: FollowUp) -> ReplyResult {
    queue_outcome(session, session.agent.follow_up(prompt_content(said.message, said.images)))
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
    reply_data(QueuedData { running })
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
