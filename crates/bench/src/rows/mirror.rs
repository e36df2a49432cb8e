//! Copies of a session in extensions, until each extension has the last entry.
//!
//! Base: a host with one copy and the same session file. The entries come in groups of a hundred, as fast as they can
//! be appended: between two groups, the host may send what is new. The figures are wall time and the CPU time of this
//! process.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use haft_core::session::entry::Name;
use haft_core::session::{Durability, Session};
use haft_host::{ExtensionState, Host};
use haft_protocol::event::AgentEvent;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use super::fanout::{FanoutTimer, wait_for_note, watcher_host_config};
use crate::children::ChildProgram;
use crate::extension_query::{extension_spec, runtime};
use crate::method::{RepetitionPlan, compare};
use crate::peers;
use crate::peers::mirror::LAST_NAME;
use crate::report::{LineGoal, Report, Unit};

const PLAN: RepetitionPlan = RepetitionPlan { repetitions: 5, pairs: 8 };

/// The number of extensions with a copy.
const MIRRORS: usize = 64;

/// The number of entries in one block, without the last one.
const ENTRIES: usize = 10_000;

/// The number of entries that are appended without a pause.
const GROUP: usize = 100;

const SHARED: LineGoal = LineGoal::without_gate(2.0);

pub(super) fn measure_copies(report: &mut Report) -> Result<()> {
    let plan = report.plan_for_effort(PLAN);
    let dir = tempfile::tempdir().context("create a directory")?;
    let mut one = MirroredSession::start(dir.path(), 1)?;
    let mut twin = MirroredSession::start(dir.path(), 1)?;
    let [wall, cpu] = compare(plan, || one.block(), || twin.block())?;
    let wall_sound = report.add_control("control, wall", Unit::Seconds, wall);
    let cpu_sound = report.add_control("control, own CPU", Unit::Seconds, cpu);
    twin.end();
    let mut all = MirroredSession::start(dir.path(), MIRRORS)?;
    let [wall, cpu] = compare(plan, || one.block(), || all.block())?;
    report.add_comparison("64 copies, wall", Unit::Seconds, wall, None, wall_sound);
    report.add_comparison("64 copies, own CPU", Unit::Seconds, cpu, Some(SHARED), cpu_sound);
    one.end();
    all.end();
    Ok(())
}

/// A session with a host whose extensions have copies of it.
struct MirroredSession {
    runtime: Runtime,
    host: Host,
    session: Session,
    notes: mpsc::UnboundedReceiver<String>,
    mirrors: usize,
}

impl MirroredSession {
    fn start(dir: &Path, mirrors: usize) -> Result<Self> {
        let runtime = runtime()?;
        let (words, notes) = mpsc::unbounded_channel();
        let said = move |event| {
            if let AgentEvent::ExtNotify { message, .. } = event {
                // The receiver may be closed.
                _ = words.send(message);
            }
        };
        let program = ChildProgram::in_role(peers::MIRROR)?;
        let specs = (0..mirrors).map(|number| extension_spec(&format!("mirror-{number}"), &program));
        let builder = Host::builder(watcher_host_config()).specs(specs.collect()).events(Arc::new(said));
        let host = runtime.block_on(builder.start());
        let ready = host.statuses().iter().filter(|status| status.state == ExtensionState::Ready).count();
        ensure!(ready == mirrors, "{ready} of {mirrors} extensions started");
        let session = Session::create(dir, dir);
        runtime.block_on(async { host.session_start(Some(&session)) });
        Ok(Self { runtime, host, session, notes, mirrors })
    }

    fn block(&mut self) -> Result<[f64; 2]> {
        let (session, notes, mirrors) = (&self.session, &mut self.notes, self.mirrors);
        let clock = FanoutTimer::start();
        self.runtime.block_on(async {
            for number in 0..ENTRIES {
                append(session, &format!("entry {number}")).await?;
                if number % GROUP == 0 {
                    tokio::task::yield_now().await;
                }
            }
            append(session, LAST_NAME).await?;
            wait_for_note(notes, "end", mirrors).await
        })?;
        Ok(clock.stop())
    }

    fn end(self) {
        self.runtime.block_on(self.host.shutdown());
    }
}

async fn append(session: &Session, name: &str) -> Result<()> {
    session
        .append(Name { name: name.to_owned() }, Durability::Soon)
        .await
        .map(drop)
        .context("append an entry")
}
