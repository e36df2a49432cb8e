//! Messages to the agent, and those of the conversation.

use haft_core::{Prompt, QueueError, Queued, Waiting, image};
use haft_protocol::content::Image;
use haft_protocol::event::AgentEvent;
use haft_protocol::rpc::{
    ErrorCode, Failure, FollowUp, Interrupt, InterruptData, MessagesData, QueueData, QueuedData, Steer,
};

use super::outcome::{Outcome, data};
use super::work::content;
use crate::sessions::Opened;

/// Makes sure that an image is one that models read, and calls it what its bytes are.
pub(super) fn checked(image: &mut Image) -> Result<(), Failure> {
    let bad = |error| Failure::new(ErrorCode::BadImage, format!("an image cannot be sent: {error}"));
    *image = image::from_base64(image.data.clone()).map_err(bad)?;
    Ok(())
}

pub(super) fn steer(session: &Opened, said: Steer) -> Outcome {
    queued(session, session.agent.steer(content(said.message, said.images)))
}

pub(super) fn follow_up(session: &Opened, said: FollowUp) -> Outcome {
    queued(session, session.agent.follow_up(content(said.message, said.images)))
}

fn queued(session: &Opened, outcome: Result<Queued, QueueError>) -> Outcome {
    let running = match outcome {
        Ok(Queued::Running) => true,
        Ok(Queued::Idle) => {
            // A run tells by itself.
            tell_queue(session);
            false
        }
        Err(error) => {
            let code = match error {
                QueueError::Full { .. } => ErrorCode::QueueFull,
                QueueError::Empty => ErrorCode::EmptyMessage,
                QueueError::NotUnderWay | _ => ErrorCode::Failed,
            };
            return Err(Failure::new(code, error.to_string()));
        }
    };
    data(QueuedData { running })
}

pub(super) fn interrupt(session: &Opened, wish: Interrupt) -> Outcome {
    data(InterruptData { interrupted: session.agent.interrupt(wish.hint) })
}

pub(super) fn messages(session: &Opened) -> Outcome {
    data(MessagesData::of(session.agent.messages().iter()))
}

pub(super) fn take_queued(session: &Opened) -> Outcome {
    let taken = session.agent.take_queued();
    // A run tells by itself.
    if !taken.is_empty() && !session.agent.takes_queued() {
        tell_queue(session);
    }
    data(as_text(&taken))
}

fn tell_queue(session: &Opened) {
    let QueueData { steering, follow_up, next_turn } = queue(session);
    session.screen.event(AgentEvent::QueueUpdate { steering, follow_up, next_turn });
}

pub(super) fn queue(session: &Opened) -> QueueData {
    as_text(&session.agent.queued())
}

fn as_text(waiting: &Waiting) -> QueueData {
    let texts = |prompts: &[Prompt]| prompts.iter().map(Prompt::summary).collect();
    QueueData {
        steering: texts(&waiting.steering),
        follow_up: texts(&waiting.follow_up),
        next_turn: texts(&waiting.next_turn),
    }
}
