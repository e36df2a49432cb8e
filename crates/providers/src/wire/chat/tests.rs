//! Tests of the format: requests of a conversation with every construct, and answers event by event.

mod answers;
mod requests;

use super::{CatalogEntry, ChatCompletions};

/// Returns the format for a model that the catalog does not know.
fn format(provider: &str, model: &str) -> ChatCompletions {
    format_of(provider, model, CatalogEntry::default())
}

fn format_of(provider: &str, model: &str, entry: CatalogEntry) -> ChatCompletions {
    ChatCompletions::new(provider, "localhost", model, entry)
}
