//! Group B: back-pressure and resources.

pub(super) mod floods;
pub(super) mod loops;
pub(super) mod pipes;
pub(super) mod resources;
