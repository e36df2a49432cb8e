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
    /// The extension failed.
    #[error("extension {extension} failed to run the shortcut {key}: {detail}")]
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
    let unknown = || ShortcutError::Unknown { extension: extension.clone(), key: key.to_owned() };
    let find = || inner.find_extension(extension).filter(|entry| entry.has_shortcut(key));
    let mut found = find();
    if found.is_none() {
        // A cancelled caller has no use for the result.
        _ = cancel.run_until_cancelled(inner.wait_until_settled()).await;
        found = find();
    }
    let entry = found.ok_or_else(unknown)?;
    let deadline = Deadline::after(entry.timeouts.command);
    let running = entry.acquire_handle(cancel, &deadline).await.map_err(|error| failed(error.to_string()))?;
    // The process may be a new one, which registered other keys.
    if !entry.current().has_shortcut(key) {
        return Err(unknown());
    }
    let session = inner.shared.pump.session();
    let session = (!session.is_empty()).then(|| session.to_string());
    let question = PressShortcut { name: key.to_owned(), session };
    let what = format!("shortcut {key}").into();
    let answer = running.query_or_report(cancel, question, what, deadline, FaultCode::FrameInvalid).await;
    answer.map_err(|error| failed(error.to_string()))?.map_err(failed)
}
