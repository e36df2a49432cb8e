//! `move_to`: continues the session from another entry, on any branch.

use std::sync::Arc;

use haft_core::compact::CompactError;
use haft_core::hooks::{HookSummary, PendingMove, SessionChangeError};
use haft_core::session::entry::{BranchSummary, EntryBody, Label, SessionEntry};
use haft_core::session::{Durability, EntryId, left_branch};
use haft_protocol::content::written_text;
use haft_protocol::ids::ExtensionName;
use haft_protocol::message::Message;
use haft_protocol::rpc::{CommandFailure, ErrorCode, MoveTo, MovedData};
use tokio_util::sync::CancellationToken;

use super::outcome::{CommandExecution, reply_data, run_blocking};
use super::session::{change_failure, find_entry, session_failure, switch_branch};
use crate::session_provider::OpenedSession;

/// Moves the session to another entry. The scheduler ensures that no job runs meanwhile. `stop` cancels the command
/// until the session moves.
pub(super) fn move_to(
    session: &Arc<OpenedSession>,
    stop: CancellationToken,
    caller: Option<ExtensionName>,
    wish: MoveTo,
) -> CommandExecution {
    let session = Arc::clone(session);
    CommandExecution::from_future(async move {
        let (reader, label) = (Arc::clone(&session), wish.label.clone());
        let (pending, text) = run_blocking(move || plan_move(&reader, wish, caller)).await?;
        let written = session.agent.review_move(&stop, &pending).await.map_err(change_failure)?;
        let summary = find_summary(&session, &stop, &pending, written).await?;
        let to = pending.entry;
        if label.is_some() && summary.is_none() && to.is_none() {
            let error = "nothing to label: the session moves to its beginning, without a summary";
            return Err(CommandFailure::new(ErrorCode::BadRequest, error));
        }
        let mover = Arc::clone(&session);
        run_blocking(move || switch_branch(&mover, |log| log.move_to(to))).await?;
        let summary = append_records(&session, to, summary, label).await?;
        reply_data(MovedData { entry: to.map(|entry| entry.to_string()), text, summary })
    })
}

/// Returns the move that the command means, and the user's text in the named entry if the session continues before it.
/// Reads the entries of all branches.
fn plan_move(
    session: &OpenedSession,
    wish: MoveTo,
    caller: Option<ExtensionName>,
) -> Result<(PendingMove, Option<String>), CommandFailure> {
    let log = session.agent.session();
    let entries = log.entries().map_err(|error| session_failure(&error))?;
    let named = wish.entry.map(|named| find_entry(&entries, &named)).transpose()?;
    let (entry, text) = match (named, wish.before) {
        (Some(named), Some(true)) => entry_before(&entries, named),
        (named, _) => (named, None),
    };
    let leaf = log.leaf();
    let mut pending = PendingMove::new(left_branch(&entries, leaf, entry))
        .with_entry(entry)
        .with_leaf(leaf)
        .with_summarize(wish.summarize == Some(true))
        .with_caller(caller);
    pending.instructions = wish.instructions;
    Ok((pending, text))
}

/// Returns the entry before `id`, and the user's text in it.
fn entry_before(entries: &[Arc<SessionEntry>], id: EntryId) -> (Option<EntryId>, Option<String>) {
    let entry = entries.iter().find(|entry| entry.id == id);
    let text = entry.and_then(|entry| {
        let EntryBody::MessageEntry(said) = &entry.body else { return None };
        let Message::User { content, .. } = &said.message else { return None };
        Some(written_text(content))
    });
    (entry.and_then(|entry| entry.parent), text)
}

/// Returns the summary of the branch that the session leaves: that of a hook, or else of the model if the command
/// requests one. A session that leaves no conversation has no summary.
async fn find_summary(
    session: &OpenedSession,
    stop: &CancellationToken,
    pending: &PendingMove,
    written: Option<HookSummary>,
) -> Result<Option<BranchSummary>, CommandFailure> {
    let Some(last) = pending.left.last() else { return Ok(None) };
    if let Some(HookSummary { by, text: summary, .. }) = written {
        return Ok(Some(BranchSummary::new(summary, last.id).with_by(by)));
    }
    if !pending.summarize {
        return Ok(None);
    }
    let asked = session.agent.summarize_branch(stop.clone(), &pending.left, pending.instructions.clone());
    match asked.await {
        Ok(summary) => Ok(Some(summary)),
        Err(CompactError::Nothing) => Ok(None),
        Err(CompactError::Aborted) => Err(change_failure(SessionChangeError::Aborted)),
        Err(CompactError::Busy) => Err(CommandFailure::new(ErrorCode::Busy, CompactError::Busy.to_string())),
        Err(error) => Err(CommandFailure::other(error)),
    }
}

/// Writes the summary and the label, and returns the entry of the summary.
async fn append_records(
    session: &OpenedSession,
    to: Option<EntryId>,
    summary: Option<BranchSummary>,
    label: Option<String>,
) -> Result<Option<String>, CommandFailure> {
    let log = session.agent.session();
    let failure = |error| session_failure(&error);
    let written = match summary {
        Some(summary) => Some(log.append(summary, Durability::Now).await.map_err(failure)?),
        None => None,
    };
    if let (Some(target), Some(label)) = (written.or(to), label) {
        log.append(Label { target, label: Some(label) }, Durability::Now).await.map_err(failure)?;
    }
    if written.is_some() {
        session.agent.reload().map_err(CommandFailure::other)?;
    }
    Ok(written.map(|entry| entry.to_string()))
}
