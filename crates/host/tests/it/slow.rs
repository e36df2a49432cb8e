//! Slow extensions: their tools are waited for when needed, and the silent record is cleared.

use std::fs;
use std::path::Path;
use std::time::Duration;

use haft_host::{Host, starts_slowly};
use haft_packages::{ExtensionOrigin, ExtensionSpec, LaunchPlan};
use tokio_util::sync::CancellationToken;

use crate::support::{brisk, config, program, spec};

/// Waits for a file, and then works normally.
const LATE: &str = r#"
# sleep: looks again
until [ -e go ]; do sleep 0.02; done
echo '{"type":"hello","name":"late","version":"1"}'
echo '{"type":"register_tool","name":"shoe_size","description":"x","schema":{"type":"object"}}'
echo '{"type":"ready"}'
cat >/dev/null
"#;

/// Sends hello after the shutdown request.
const LAST: &str = r#"
cat >/dev/null
echo '{"type":"hello","name":"late","version":"1"}'
"#;

fn late(dir: &Path, text: &str) -> ExtensionSpec {
    let args = vec!["-c".to_owned(), text.to_owned()];
    let spec = spec("late", dir, LaunchPlan::Process { program: program(&["sh"]), args });
    ExtensionSpec { origin: ExtensionOrigin::Global, ..spec }
}

async fn host(root: &Path, text: &str) -> Host {
    let mut config = config();
    config.timeouts = brisk();
    config.timeouts.start_patience = Duration::ZERO;
    config.state = Some(root.join("state"));
    Host::builder(config).specs(vec![late(root, text)]).start().await
}

#[tokio::test]
async fn waits_for_tool_while_extensions_start() {
    let root = tempfile::tempdir().unwrap();
    let host = host(root.path(), LATE).await;
    assert!(host.tools().is_empty());
    let cancel = CancellationToken::new();
    let source = host.hook_source();
    let go = async { fs::write(root.path().join("go"), "").unwrap() };
    let (tool, ()) = tokio::join!(source.late_tool(&cancel, "shoe_size"), go);
    assert_eq!(tool.unwrap().spec().name, "shoe_size");
    assert!(source.late_tool(&cancel, "hat_size").await.is_none(), "no extension is starting");
    host.shutdown().await;
}

#[tokio::test]
async fn cancelled_caller_does_not_wait_for_tool() {
    let root = tempfile::tempdir().unwrap();
    let host = host(root.path(), LATE).await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    assert!(host.hook_source().late_tool(&cancel, "shoe_size").await.is_none());
    fs::write(root.path().join("go"), "").unwrap();
    host.shutdown().await;
}

#[tokio::test]
async fn late_hello_clears_silent_record() {
    let root = tempfile::tempdir().unwrap();
    let host = host(root.path(), LAST).await;
    let (state, spec) = (root.path().join("state"), late(root.path(), LAST));
    assert!(starts_slowly(&state, &spec.name, &spec.dir));
    host.shutdown().await;
    assert!(!starts_slowly(&state, &spec.name, &spec.dir));
}
