//! The use of the context window, without a question to haft.

use haft_sdk::{Extension, Host, MirrorPart, Response};

pub(crate) fn build() -> Extension {
    Extension::new("context_usage", "1.0.0").mirror_session([MirrorPart::Context]).command(
        "usage",
        "Show the tokens of the conversation.",
        |_, host: Host| async move {
            let usage = host.session_mirror().state().context.unwrap_or_default();
            let advice = if usage.tokens > 100_000 { "compact soon" } else { "enough room" };
            Response::display(format!("{} tokens: {advice}", usage.tokens))
        },
    )
}
