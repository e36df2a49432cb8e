//! Group L: the life cycle of extensions and of the host.

pub(super) mod crashes;
pub(super) mod host_end;
pub(super) mod reloads;
pub(super) mod starts;
