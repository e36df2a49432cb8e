//! A compaction that is canceled, or has a summary of its own.

use haft_sdk::{BeforeCompactDecision, Extension, InterceptBeforeCompact};

pub(crate) fn build() -> Extension {
    Extension::new("compaction", "1.0.0").before_compact(
        |compact: InterceptBeforeCompact, _host| async move {
            if compact.instructions.as_deref() == Some("keep everything") {
                return BeforeCompactDecision::Cancel { reason: "Everything is kept".to_owned() };
            }
            let summary = format!("{} entries about rain", compact.entries.len());
            BeforeCompactDecision::Replace { summary, first_kept: compact.first_kept }
        },
    )
}
