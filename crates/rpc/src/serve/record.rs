//! Records of extensions and clients in the session: entries, labels and tags.

use std::sync::Arc;

use futures::FutureExt as _;
use haft_core::session::entry::{Custom, EntryBody, Label, Tags};
use haft_core::session::{Durability, EntryId, InvalidId, Session};
use haft_protocol::names;
use haft_protocol::rpc::{AppendEntry, AppendedData, CommandFailure, ErrorCode, SetLabel, SetTags};

use super::outcome::{CommandExecution, ReplyResult, empty_reply, reply_data, run_blocking};
use super::session::{named_entry, session_failure};
use crate::session_provider::OpenedSession;

/// The owner of the entries of a client without a name.
const CLIENT: &str = "client";

/// Returns the owner of a client's entry. The owner of an extension's entry is its name already.
///
/// # Errors
/// [`CommandFailure`] for the name that only haft uses.
pub(super) fn client_owner(owner: Option<String>) -> Result<String, CommandFailure> {
    match owner {
        Some(owner) if owner.eq_ignore_ascii_case(names::HAFT) => {
            let error = format!("only haft itself owns entries of {owner:?}; choose another `owner`");
            Err(CommandFailure::new(ErrorCode::BadRequest, error))
        }
        Some(owner) => Ok(owner),
        None => Ok(CLIENT.to_owned()),
    }
}

pub(super) fn append_entry(session: &OpenedSession, wish: AppendEntry) -> CommandExecution {
    let AppendEntry { entry, kind, data, owner } = wish;
    let log = session.agent.session().clone();
    execute_in_order(session, async move {
        let invalid = |error: InvalidId| CommandFailure::new(ErrorCode::BadRequest, error.to_string());
        let chosen: Option<EntryId> = entry.map(|entry| entry.parse()).transpose().map_err(invalid)?;
        let body = Custom::new(client_owner(owner)?, kind, data);
        let entry = match chosen {
            None => log.append(body, Durability::Soon).await,
            Some(chosen) => {
                // Reads the ids in the file at the first call.
                let append = move || Ok(log.append_with_id(chosen, body, Durability::Soon).boxed());
                run_blocking(append).await?.await.map(|()| chosen)
            }
        };
        let entry = entry.map_err(|error| session_failure(&error))?;
        reply_data(AppendedData { entry: entry.to_string() })
    })
}

pub(super) fn set_label(session: &OpenedSession, SetLabel { entry, label }: SetLabel) -> CommandExecution {
    let log = session.agent.session().clone();
    execute_in_order(session, async move {
        let reader = log.clone();
        let target = run_blocking(move || named_entry(&reader, &entry)).await?;
        append(&log, Label { target, label }).await
    })
}

pub(super) fn set_tags(session: &OpenedSession, SetTags { tags }: SetTags) -> CommandExecution {
    let log = session.agent.session().clone();
    execute_in_order(session, async move { append(&log, Tags::new(tags)).await })
}

async fn append(log: &Session, body: impl Into<EntryBody>) -> ReplyResult {
    log.append(body, Durability::Now).await.map_err(|error| session_failure(&error))?;
    empty_reply()
}

/// Executes a command after the earlier ones, so that a label finds the entry that was sent before it.
fn execute_in_order(
    session: &OpenedSession,
    work: impl Future<Output = ReplyResult> + Send + 'static,
) -> CommandExecution {
    let mut place = Box::pin(Arc::clone(&session.record_order).lock_owned());
    // The first poll takes a place in the order.
    let taken = (&mut place).now_or_never();
    CommandExecution::from_future(async move {
        let _place = match taken {
            Some(place) => place,
            None => place.await,
        };
        work.await
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_owns_its_entries_under_any_name_but_that_of_haft() {
        assert_eq!(client_owner(None), Ok("client".to_owned()));
        assert_eq!(client_owner(Some("editor".to_owned())), Ok("editor".to_owned()));
        assert_eq!(client_owner(Some("Haft".to_owned())).unwrap_err().code, ErrorCode::BadRequest);
    }
}
