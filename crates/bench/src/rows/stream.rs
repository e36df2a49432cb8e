//! A panel that is drawn 20,000 times a second: the wake-ups of the host, and the contents that it shows.
//!
//! There is no base, because wake-ups are counted. The last drawn content must be the last shown content.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use haft_host::{Frontend, Host};
use haft_protocol::ext::PanelRender;
use haft_protocol::ids::ExtensionName;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::children::ChildProgram;
use crate::extension_query::{bench_host_config, extension_spec, runtime};
use crate::peers;
use crate::peers::stream::{COMMAND, DURATION, FRAMES, frame_number};
use crate::platform;
use crate::report::{LineGoal, Report, Unit};

/// The limit for wake-ups of the host per drawn content.
const WAKES: LineGoal = LineGoal { goal: 0.05, gate: 0.2 };

/// A limit far above the time until the last content is shown.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn measure(report: &mut Report) -> Result<()> {
    measure_gated(report)?;
    let bare = run_stream(peers::FLOOD, StreamEnd::TimeIsUp)?;
    report.add_figure("bare, frames taken", Unit::Count, f64::from(bare.last), None);
    report.add_figure("bare, frames shown", Unit::Count, f64::from(bare.shown), None);
    report.add_figure(
        "bare, wakes by frame taken",
        Unit::Count,
        bare.wakes / f64::from(bare.last.max(1)),
        None,
    );
    report.add_figure("bare, host's CPU", Unit::Seconds, bare.cpu, None);
    Ok(())
}

/// Measures a counter of an SDK extension, which is steady.
pub(super) fn measure_gated(report: &mut Report) -> Result<()> {
    let sdk = run_stream(peers::STREAM, StreamEnd::LastFrame)?;
    ensure!(sdk.last == FRAMES, "the last shown content is {} of {FRAMES}", sdk.last);
    report
        .add_figure("SDK, wakes by frame drawn", Unit::Count, sdk.wakes / f64::from(FRAMES), Some(WAKES))
        .make_gated();
    report.add_figure("SDK, frames shown", Unit::Count, f64::from(sdk.shown), None);
    report.add_figure("SDK, host's CPU", Unit::Seconds, sdk.cpu, None);
    Ok(())
}

/// The condition that ends the measurement of a stream.
#[derive(Debug, Clone, Copy)]
enum StreamEnd {
    /// The last content is shown.
    LastFrame,
    /// The expected duration has passed. A stream that is held back never shows its last content.
    TimeIsUp,
}

/// The result of a stream.
#[derive(Debug)]
struct StreamResult {
    /// The number of times that a thread of this process slept and was woken.
    wakes: f64,
    /// The CPU seconds of this process.
    cpu: f64,
    shown: u32,
    /// The number of the content that was shown last.
    last: u32,
}

fn run_stream(role: &str, until: StreamEnd) -> Result<StreamResult> {
    let screen = Arc::new(CountingFrontend::default());
    let specs = vec![extension_spec(role, &ChildProgram::in_role(role)?)];
    runtime()?.block_on(async {
        let host =
            Host::builder(bench_host_config()).specs(specs).frontend(Arc::clone(&screen) as _).start().await;
        let (wakes, cpu) = (platform::wake_up_count()?, platform::cpu_time());
        host.run_command(&CancellationToken::new(), COMMAND, "").await.context("start the stream")?;
        match until {
            StreamEnd::LastFrame => {
                timeout(PATIENCE, screen.complete.notified()).await.context("wait for the last content")?;
            }
            StreamEnd::TimeIsUp => sleep(DURATION).await,
        }
        let (wakes, cpu) = (platform::wake_up_count()? - wakes, platform::cpu_time() - cpu);
        let (shown, last) = *screen.seen.lock().unwrap_or_else(PoisonError::into_inner);
        host.shutdown().await;
        Ok(StreamResult { wakes, cpu, shown, last })
    })
}

/// A front end that counts panel contents.
#[derive(Debug, Default)]
struct CountingFrontend {
    /// The number of shown contents, and the number of the last one.
    seen: Mutex<(u32, u32)>,
    complete: Notify,
}

impl Frontend for CountingFrontend {
    fn render_panel(&self, _extension: &ExtensionName, panel: &PanelRender) {
        let last = frame_number(&panel.lines).unwrap_or_default();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = (seen.0 + 1, last);
        if last == FRAMES {
            self.complete.notify_one();
        }
    }
}
