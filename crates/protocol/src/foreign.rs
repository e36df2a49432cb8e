//! For adapters of foreign dialects: the port that an adapter implements, and the parts of this crate's reader that
//! it shares. Lines of all dialects then have the same limits and the same mistakes. For haft's own crates only: these
//! items may change in any version.

mod translator;

pub use crate::compact::escape_line_ends;
pub use crate::error::without_position;
#[cfg(feature = "schema")]
pub use crate::json::object_schema;
pub use crate::json::optional_object;
pub use crate::named_enum::named_enum;
pub use crate::object_line::{ObjectLine, RejectedLine, read_object_line};
pub use crate::reader::{JsonReader, keeps_text};
pub use translator::{
    BadAnswer, DecisionFailure, FIRST_REQUEST, ForeignAnswer, ForeignDialect, ForeignPeer, LineTranslator,
    PeerSetup, TranslatedPart,
};
