//! Shortcuts of extensions.

use haft_protocol::ext::PressShortcut;
use haft_protocol::ids::ExtensionName;
use tokio_util::sync::CancellationToken;

use super::host_state::HostState;
use crate::extension::Deadline;
use crate::wire::fault::FaultCode;

/// The reason why a shortcut did not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShortcutError {
    /// The extension does not exist, or has no such shortcut.
    #[error("extension {extension} has no shortcut {key}")]
    Unknown {
        /// The extension.
        extension: ExtensionName,
        /// The key.
        key: String,
    },
    /// The extension failed; the failure was reported.
    #[error("extension {extension}/{key} failed: {detail}")]
    Failed {
        /// The extension.
        extension: ExtensionName,
        /// The key.
        key: String,
        /// The error.
        detail: String,
    },
}

pub(super) async fn press_shortcut(
    inner: &HostState,
    cancel: &CancellationToken,
    extension: &ExtensionName,
    key: &str,
) -> Result<(), ShortcutError> {
    let failed =
        |detail: String| ShortcutError::Failed { extension: extension.clone(), key: key.to_owned(), detail };
    let entry = inner
        .find_extension(extension)
        .filter(|entry| entry.offers().shortcuts.iter().any(|shortcut| shortcut.name == key))
        .ok_or_else(|| ShortcutError::Unknown { extension: extension.clone(), key: key.to_owned() })?;
    let deadline = Deadline::after(entry.timeouts.command);
    let running = entry.acquire_handle(cancel, &deadline).await.map_err(|error| failed(error.to_string()))?;
    let question = PressShortcut { name: key.to_owned() };
    let what = format!("shortcut {key}").into();
    let answer = running.query_or_report(cancel, question, what, deadline, FaultCode::FrameInvalid).await;
    answer.map_err(|error| failed(error.to_string()))?.map_err(failed)
}
