//! Sessions for others: as a portable file, as a page, and back again.
//!
//! For whom: `haft session export` and `import`, and programs that do the same. The promise: nothing here runs anything,
//! reaches the network or writes a file; whatever a session says, a page obeys none of it. Never in here: where sessions
//! lie, the terminal.
//!
//! * [`export_portable`]: a session without its sender's paths, in the same format;
//! * [`render_page`]: a session as one HTML file that needs nothing else;
//! * [`read`]: the sessions of haft, zot and pi as entries of haft.

mod html;
mod import;
mod portable;
mod select;

pub use html::render_page;
pub use import::{ImportError, ImportLimits, ImportProblem, ImportedSession, SessionFormat, import_session};
pub use portable::{PortableError, SenderDirectories, export_portable};
pub use select::{EntrySelection, NoSuchEntry};
