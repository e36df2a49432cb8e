//! All calls, hooks and events of the protocol, used by extensions in Python in a run of the program. What an extension
//! uses here, `docs/coverage.md` lists.

mod calls;
mod events;
mod greeting;
mod hooks;
mod mirror;
mod mixed;
mod sessions;
mod trust;
