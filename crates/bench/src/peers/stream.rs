//! Extensions that draw a panel 20,000 times a second: with the SDK, and over a bare pipe.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use haft_protocol::codec;
use haft_protocol::ext::{CommandAction, ExtensionFrame, Panel, PanelRender};
use haft_protocol::ids::RequestId;
use haft_sdk::{Extension, Host, Response};

/// The command that starts the drawing. Its answer opens the panel.
pub(crate) const COMMAND: &str = "stream";

/// The number of times that the panel is drawn after it was opened.
pub(crate) const FRAMES: u32 = 20_000;

/// The time from the first content to the last.
pub(crate) const DURATION: Duration = Duration::from_secs(1);

/// The sleep between two batches of drawing.
const TICK: Duration = Duration::from_millis(1);

/// The first lines of the extension without the SDK.
const OPENING: &str = concat!(
    r#"{"type":"hello","name":"flood","version":"1.0.0","capabilities":["commands","panels"]}"#,
    "\n",
    r#"{"type":"register_command","name":"stream","description":"draw"}"#,
    "\n",
    r#"{"type":"ready"}"#,
    "\n"
);

/// Runs the extension with the SDK, as users write it.
pub(crate) fn run_sdk() -> ExitCode {
    Extension::new("stream", "1.0.0")
        .command(COMMAND, "draw", |_, host: Host| async move {
            // The first content may precede or follow the answer, because it is not the last content.
            let render = move |panel| {
                host.render_panel(panel);
                Ok(())
            };
            thread::spawn(move || draw(render));
            Response::open_panel(content(0))
        })
        .run()
}

/// Runs the extension without the SDK: every content is one line and one write.
pub(crate) fn run_bare() -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(OPENING.as_bytes())?;
    for line in io::stdin().lock().lines() {
        let frame: serde_json::Value = serde_json::from_str(&line?)?;
        match frame["type"].as_str() {
            Some("command_invoked") => {
                let id = RequestId::new(frame["id"].as_str().unwrap_or_default());
                let answer = CommandAction::OpenPanel(content(0)).into_response(id);
                output.write_all(line_of(answer.into())?.as_bytes())?;
                draw(|panel| output.write_all(line_of(PanelRender::from(panel).into())?.as_bytes()))?;
            }
            Some("shutdown") => return output.write_all(b"{\"type\":\"shutdown_ack\"}\n"),
            _ => {}
        }
    }
    Ok(())
}

/// Returns the number of a content.
pub(crate) fn frame_number(lines: &[String]) -> Option<u32> {
    lines.first()?.strip_prefix("frame ")?.parse().ok()
}

/// Draws at the specified rate, or more slowly if the output blocks.
fn draw(mut render: impl FnMut(Panel) -> io::Result<()>) -> io::Result<()> {
    let start = Instant::now();
    for frame in 1..=FRAMES {
        let due = DURATION * frame / FRAMES;
        while start.elapsed() < due {
            thread::sleep(TICK);
        }
        render(content(frame))?;
    }
    Ok(())
}

fn content(frame: u32) -> Panel {
    Panel::new("stream").title("Stream").lines([format!("frame {frame}"), "x".repeat(60)])
}

fn line_of(frame: ExtensionFrame) -> io::Result<String> {
    codec::encode(&frame).map_err(io::Error::other)
}
