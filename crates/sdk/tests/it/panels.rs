//! Panels that are redrawn very often.

use std::time::Duration;

use haft_sdk::testing::Harness;
use haft_sdk::{Extension, Host, LifecycleEvent, NoArgs, NoteLevel, Panel, Response, ToolResult};
use serde_json::json;
use tokio::time::sleep;

/// Longer than the interval between two contents.
const A_WHILE: Duration = Duration::from_millis(100);

fn panel(line: &str) -> Panel {
    Panel::new("p").lines([line])
}

/// Draws a hundred contents at once, with several continuations.
fn busy() -> Extension {
    fn draw(host: &Host) {
        (1..=100).for_each(|number| host.render_panel(panel(&number.to_string())));
    }
    Extension::new("busy", "1.0.0")
        .command("background", "", |_, host: Host| async move {
            tokio::spawn(async move {
                // sleep: virtual time
                sleep(A_WHILE).await;
                draw(&host);
                host.notify(NoteLevel::Info, "drawn");
            });
            Response::noop()
        })
        .command("open", "", |_, host: Host| async move {
            draw(&host);
            Response::open_panel(panel("opened"))
        })
        .command("close", "", |_, host: Host| async move {
            draw(&host);
            host.close_panel("p");
            Response::noop()
        })
        .tool("draw", "", |_: NoArgs, host: Host| async move {
            draw(&host);
            ToolResult::text("drawn")
        })
        .on_event("turn_start", |_, host: Host| async move { draw(&host) })
}

/// Returns the frames after `ready`, by type and first line.
async fn frames(harness: &Harness) -> Vec<String> {
    let transcript = harness.shutdown().await;
    let lines = transcript.lines().filter_map(|line| line.strip_prefix("← "));
    let frames = lines.map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let after = frames.skip_while(|frame| frame["type"] != "ready").skip(1);
    let said = after.map(|frame| {
        let line = frame["lines"][0].as_str().or(frame["open_panel"]["lines"][0].as_str());
        [frame["type"].as_str(), line].into_iter().flatten().collect::<Vec<_>>().join(" ")
    });
    said.collect()
}

#[tokio::test(start_paused = true)]
async fn first_and_last_content_are_sent() {
    let harness = Harness::start(busy()).await;
    harness.command("background", "").await;
    // sleep: virtual time
    sleep(A_WHILE * 2).await;
    let expect = ["command_response", "panel_render 1", "notify", "panel_render 100", "shutdown_ack"];
    assert_eq!(frames(&harness).await, expect);
}

#[tokio::test]
async fn panel_content_precedes_a_later_response() {
    let harness = Harness::start(busy()).await;
    harness.tool("draw", json!({})).await;
    harness.event(LifecycleEvent::turn_start(1)).await;
    harness.command("open", "").await;
    let frames = frames(&harness).await;
    let [answer, open] = ["tool_result", "command_response opened"]
        .map(|wanted| frames.iter().position(|frame| frame == wanted).unwrap());
    assert_eq!(frames[answer - 1], "panel_render 100");
    assert_eq!(frames[open - 1], "panel_render 100");
    assert_eq!(frames[open + 1..], ["shutdown_ack"], "nothing older comes after the answer that opens it");
}

#[tokio::test]
async fn closed_panel_is_not_drawn() {
    let harness = Harness::start(busy()).await;
    harness.command("close", "").await;
    let expect = ["panel_render 1", "panel_close", "command_response", "shutdown_ack"];
    assert_eq!(frames(&harness).await, expect);
}
