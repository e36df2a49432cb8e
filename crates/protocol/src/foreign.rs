//! The parts of this crate's reader that adapters of foreign dialects share with it, so that lines of all dialects have
//! the same limits and the same mistakes. For haft's own crates only: these items may change in any version.

pub use crate::compact::escape_line_ends;
pub use crate::error::without_position;
pub use crate::json::{object_schema, optional_object};
pub use crate::named_enum::named_enum;
pub use crate::object_line::{ObjectLine, RejectedLine, read_object_line};
pub use crate::reader::{JsonReader, keeps_text};
