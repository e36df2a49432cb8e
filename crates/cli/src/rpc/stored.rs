//! The sessions on the disk, as clients are told of them.

use haft_protocol::rpc::SessionInfo;
use haft_rpc::stored_info;

use crate::session::Sessions;

/// Those of the directory, the latest first. One that cannot be read is left out.
pub(super) fn here(sessions: &Sessions) -> anyhow::Result<Vec<SessionInfo>> {
    let told = sessions.here()?.into_iter().filter_map(|found| match found.summary() {
        Ok(summary) => Some(stored_info(&found, summary)),
        Err(error) => {
            tracing::warn!(%error, path = %found.path.display(), "a session is not listed");
            None
        }
    });
    Ok(told.collect())
}

#[cfg(test)]
mod tests {
    use haft_config::Home;
    use haft_core::session::Durability;
    use haft_core::session::entry::Name;

    use super::*;

    #[test]
    fn a_session_is_told_as_its_file_says() {
        let dir = tempfile::tempdir().unwrap();
        let sessions = Sessions::new(&Home::at(dir.path()), dir.path());
        assert_eq!(here(&sessions).unwrap(), []);
        let session = sessions.create();
        let named = session.append(Name { name: "tidy".into() }, Durability::Now);
        futures::executor::block_on(named).unwrap();
        let told = here(&sessions).unwrap();
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].session, session.id().to_string());
        assert_eq!((told[0].name.as_deref(), told[0].messages), (Some("tidy"), 0));
        assert!(!told[0].open && !told[0].current && !told[0].busy);
        assert_eq!(told[0].path.as_deref(), session.path().unwrap().to_str());
    }
}
