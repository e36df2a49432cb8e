//! Export of sessions as portable files and HTML pages, and import.
//!
//! Used by `haft session export` and `import`, and by programs that do the same.
//!
//! Guarantees: the functions run no code, open no connection and write no file; an exported page never executes content
//! of the session.
//!
//! Out of scope: the location of sessions, and the terminal.
//!
//! * [`export_portable`]: exports a session without its sender's paths, in the same format;
//! * [`render_page`]: renders a session as one self-contained HTML file;
//! * [`import_session`]: converts sessions of haft, zot and pi to entries of haft.

mod html;
mod import;
mod portable;
mod select;

pub use html::render_page;
pub use import::{ImportError, ImportLimits, ImportProblem, ImportedSession, SessionFormat, import_session};
pub use portable::{PortableError, SenderDirectories, export_portable};
pub use select::{EntrySelection, NoSuchEntry};
