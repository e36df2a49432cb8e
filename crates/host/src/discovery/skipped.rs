//! What is said of an extension that was not run.

use std::fmt;

use super::{SkipReason, Skipped};

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "extension {} in {} is not run: {}", self.name, self.dir.display(), self.reason)
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disabled => f.write_str("it is disabled; run `haft ext enable`"),
            Self::Untrusted => f.write_str("the project is not trusted; `haft trust` shows and allows it"),
            Self::NameTaken { by } => write!(f, "{} has the same name and comes first", by.display()),
        }
    }
}
