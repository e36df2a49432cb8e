//! Group L: the life of extensions, and that of the host.

pub(super) mod crashes;
pub(super) mod ends;
pub(super) mod reloads;
pub(super) mod starts;
