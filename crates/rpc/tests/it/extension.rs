//! A scripted extension: its first frames, and its responses.

use haft_test_support::FakePeer;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// Starts the extension with these frames between its `hello` and `ready`.
pub(crate) async fn begins(peer: &mut FakePeer, name: &str, frames: impl IntoIterator<Item = Value>) {
    let capabilities = ["commands", "tools", "panels", "panel_resize", "events", "host_services"];
    peer.send(json!({"type": "hello", "name": name, "version": "1.0.0", "capabilities": capabilities})).await;
    peer.expect("hello_ack").await;
    for frame in frames {
        peer.send(frame).await;
    }
    peer.send(json!({"type": "ready"})).await;
}

/// Answers requests until `shutdown`. Returns the requests.
pub(crate) fn answers(
    mut peer: FakePeer,
    answer: impl Fn(&Value) -> Vec<Value> + Send + 'static,
) -> JoinHandle<Vec<Value>> {
    tokio::spawn(async move {
        let mut asked = Vec::new();
        while let Some(frame) = peer.next().await {
            if frame["type"] == "shutdown" {
                peer.send(json!({"type": "shutdown_ack"})).await;
                break;
            }
            for mut said in answer(&frame) {
                if said["id"] == "its" {
                    said["id"] = frame["id"].clone();
                }
                peer.send(said).await;
            }
            asked.push(frame);
        }
        asked
    })
}

/// Creates the response of a hook.
pub(crate) fn decides(mut fields: Value) -> Vec<Value> {
    fields["type"] = "event_intercept_response".into();
    fields["id"] = "its".into();
    vec![fields]
}
