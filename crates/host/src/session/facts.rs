//! What a session knows from the start.

use std::sync::Arc;

use haft_packages::Permissions;
use haft_protocol::ext::Limits;
use haft_protocol::ids::ExtensionName;

use super::dialect::Speech;
use crate::timeouts::Timeouts;

/// What a session knows from the start.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub(crate) name: ExtensionName,
    pub(crate) speech: Speech,
    pub(crate) timeouts: Arc<Timeouts>,
    pub(crate) limits: Arc<Limits>,
    /// Whether the host does things for it.
    pub(crate) services: bool,
    /// What it may register; none for one that may register everything.
    pub(crate) granted: Option<Arc<Permissions>>,
}
