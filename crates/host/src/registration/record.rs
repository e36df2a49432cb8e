//! What is written down of one extension: one line of JSON, behind the number by which it is found.

use std::path::PathBuf;

use haft_protocol::ids::ExtensionName;
use serde::{Deserialize, Serialize};

use super::stamp::Stamp;
use crate::session::offers::Offers;

/// See the module.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Record {
    /// Whose it is. A newer line of the same owner takes its place.
    pub(super) owner: Owner,
    /// What its files looked like.
    pub(super) stamp: Stamp,
    /// Why it is started at once all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mark: Option<Mark>,
    pub(super) offers: Offers,
}

/// Which extension, and where.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Owner {
    pub(super) name: ExtensionName,
    pub(super) dir: PathBuf,
    /// Where the agent works, if that counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cwd: Option<PathBuf>,
}

/// Why an extension is started at once, though nothing that it registered says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mark {
    /// Its start takes so long that nobody should wait for it.
    Slow,
    /// It registers more after it has said that it is ready.
    Late,
}
