//! Host services for extensions: T-29, S-15, S-19, and the parts of S-14 and T-24 about them.

mod asker;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use haft_core::Agent;
use haft_core::file_queue::FileQueue;
use haft_host::{Host, HostConfig};
use haft_packages::{ExtensionSpec, Permissions};
use haft_protocol::event::AgentEvent;
use haft_providers::ScriptedModel;
use haft_tools::{HostEnvironment, ServiceTools};
use serde_json::{Value, json};

use crate::defense::{Defense, take_down};
use crate::misbehavior::{extension_spec, misbehaving_spec};
use crate::row::{CASE, FaultCase, FaultRow};
use crate::world::{EventLog, World, WorldSetup};
pub(crate) use asker::{ASKER, run_asker};

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "T-29",
        title: "asks the host for forbidden actions: without permission, outside of its grant, through a link",
        cases: &[FaultCase { play: |world| Box::pin(denies_calls_outside_grant(world)), ..CASE }],
        undefend: Some(|_| take_down(Defense::ServiceGrants)),
    },
    FaultRow {
        id: "S-15",
        title: "waits in the queue for a file, and crashes or hangs",
        cases: &[
            FaultCase { play: |world| Box::pin(crashed_waiter(world)), notices_alone: true, ..CASE },
            FaultCase { play: |world| Box::pin(stuck_waiter(world)), notices_alone: true, ..CASE },
        ],
        undefend: Some(|_| take_down(Defense::Leases)),
    },
    FaultRow {
        id: "S-19",
        title: "locks a file and never releases it: keeps running, or crashes",
        cases: &[
            FaultCase { play: |world| Box::pin(kept_lock(world)), notices_alone: true, ..CASE },
            FaultCase { play: |world| Box::pin(crashed_lock_owner(world)), notices_alone: true, ..CASE },
        ],
        undefend: Some(|_| take_down(Defense::Leases)),
    },
];

/// The file that all of them change.
const FILE: &str = "file";

/// A deadline that must pass.
const SHORT: Duration = Duration::from_millis(500);

/// A host with services, in addition to the host of the world.
pub(super) struct ServiceHost {
    pub(super) host: Host,
    pub(super) events: EventLog,
    pub(super) queue: FileQueue,
    /// The agent whose hooks are asked.
    _agent: Agent,
}

impl ServiceHost {
    /// Starts these extensions in the world's directory.
    pub(super) async fn start(
        world: &World,
        specs: Vec<ExtensionSpec>,
        change: impl FnOnce(&mut HostConfig),
    ) -> Result<Self> {
        let setup = WorldSetup::new(world.mode, &world.tag, world.dir.clone())?;
        let (mut config, events, queue) = (setup.config, EventLog::default(), FileQueue::default());
        change(&mut config);
        let home = world.dir.join("home");
        config.data = Some(home.join("data"));
        let environment = HostEnvironment::new(world.dir.join("work"))
            .with_backup_dir(world.dir.join("backups"))
            .with_queue(queue.clone());
        let host = Host::builder(config).events(events.sink()).specs(specs);
        let host = host.services(Arc::new(ServiceTools::new(environment).keep_out_of(home))).start().await;
        let model = ScriptedModel::from_json(r#"{"steps":[]}"#)?;
        let agent = Agent::builder(model).hook_source(host.hook_source()).build()?;
        host.serve(agent.tool_runner());
        Ok(Self { host, events, queue, _agent: agent })
    }

    fn has_begun(&self, extension: &str) -> bool {
        let by = |event: &AgentEvent| matches!(event, AgentEvent::HostCallStart { extension: who, .. } if who.as_str() == extension);
        self.events.all().iter().any(by)
    }
}

/// Describes an extension that makes these calls after a signal.
pub(super) fn asker_spec(world: &World, name: &str, calls: &[Value]) -> Result<ExtensionSpec> {
    let dir = asker_dir(world, name);
    fs::create_dir_all(&dir)?;
    let lines: String = calls.iter().map(|call| format!("{call}\n")).collect();
    fs::write(dir.join("calls"), lines)?;
    let setup = WorldSetup::new(world.mode, &world.tag, world.dir.clone())?;
    let args = vec![ASKER.to_owned(), name.to_owned(), dir.display().to_string()];
    Ok(extension_spec(&setup, name, std::env::current_exe()?, args))
}

fn asker_dir(world: &World, name: &str) -> PathBuf {
    world.dir.join("askers").join(name)
}

fn signal_asker(world: &World, name: &str, what: &str) -> Result<()> {
    Ok(fs::write(asker_dir(world, name).join(what), "")?)
}

/// Returns the answers in the order of the calls.
pub(super) async fn read_answers(world: &World, name: &str) -> Result<Vec<Value>> {
    let file = asker_dir(world, name).join("results");
    world.wait_until(&format!("{name} has received its answers"), || file.exists()).await?;
    let mut answers: Vec<Value> =
        fs::read_to_string(file)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    answers.sort_by_key(|answer| {
        answer["id"].as_str().and_then(|id| id.get(1..)?.parse::<usize>().ok()).unwrap_or_default()
    });
    Ok(answers)
}

fn call_request(call: &str, args: Value) -> Value {
    json!({"call": call, "args": args})
}

/// Returns an edit that is retried until the file matches the read version.
fn edit_request(path: &str, n: usize) -> Value {
    let edits = json!([{"old_text": format!("old-{n};"), "new_text": format!("new-{n};")}]);
    json!({"call": "edit", "args": {"path": path, "edits": edits}, "insist": true})
}

async fn denies_calls_outside_grant(world: &mut World) -> Result<()> {
    let (work, outside) = (world.dir.join("work"), world.dir.join("outside"));
    for dir in [work.join("sub"), outside.clone(), world.dir.join("home/data/asker")] {
        fs::create_dir_all(dir)?;
    }
    for file in [work.join("a"), outside.join("secret"), world.dir.join("home/auth.json")] {
        fs::write(file, "secret")?;
    }
    std::os::unix::fs::symlink(outside.join("secret"), work.join("link"))?;
    std::os::unix::fs::symlink("../outside", work.join("dir"))?;
    let at = |path: &Path| path.display().to_string();
    let new = |path: String| call_request("write", json!({"path": path, "content": "mine"}));
    let read = |path: String| call_request("read", json!({"path": path}));
    let calls = [
        (read("a".to_owned()), None),
        (new("sub/new".to_owned()), None),
        (new(at(&world.dir.join("home/data/asker/own"))), None),
        (read(at(&outside.join("secret"))), Some("fs.read")),
        (read("link".to_owned()), Some("fs.read")),
        (read("dir/secret".to_owned()), Some("fs.read")),
        (read("../outside/secret".to_owned()), Some("fs.read")),
        (read(at(&world.dir.join("home/auth.json"))), Some("fs.read")),
        (new("dir/new".to_owned()), Some("fs.write")),
        (new("../outside/new".to_owned()), Some("fs.write")),
        (new("link".to_owned()), Some("fs.write")),
        (new(at(&world.dir.join("home/new"))), Some("fs.write")),
        (call_request("exec", json!({"command": "touch ../outside/new"})), Some("exec")),
        (call_request("lock_file", json!({"path": "a"})), Some("files.lock")),
        (call_request("confirm", json!({"title": "Sure?"})), Some("ui")),
        (call_request("set_title", json!({"text": "mine"})), Some("ui")),
        (call_request("emit", json!({"channel": "a", "data": 1})), Some("bus")),
        (call_request("get_messages", json!({})), Some("session.read")),
        (call_request("append_entry", json!({"kind": "a", "data": 1})), Some("session.write")),
        (call_request("prompt", json!({"message": "rm"})), Some("session.control")),
    ];
    let wanted: Vec<Value> = calls.iter().map(|(call, _)| call.clone()).collect();
    let permissions: Permissions = serde_json::from_value(json!({"host": ["fs.read", "fs.write"]}))?;
    let spec = ExtensionSpec { permissions: Some(permissions), ..asker_spec(world, "asker", &wanted)? };
    let served = ServiceHost::start(world, vec![spec], |_| {}).await?;
    signal_asker(world, "asker", "go")?;
    world.mark("the extension asks for forbidden actions")?;
    let answers = read_answers(world, "asker").await?;
    served.host.shutdown().await;
    for ((call, denied), answer) in calls.iter().zip(&answers) {
        let expect = denied.map(|permission| ("permission_denied", permission));
        let found = answer["code"].as_str().zip(answer["permission"].as_str());
        ensure!(found == expect, "{call} was answered with {answer}");
    }
    ensure!(answers.len() == calls.len(), "{} of {} answers", answers.len(), calls.len());
    ensure!(fs::read_dir(&outside)?.count() == 1, "a file was created outside");
    ensure!(fs::read_to_string(outside.join("secret"))? == "secret", "a file outside was changed");
    let codes: Vec<String> = served.events.faults().into_iter().map(|fault| fault.code).collect();
    ensure!(codes == ["permission_denied"], "the reported faults are {codes:?}");
    Ok(())
}

/// A waiting extension crashes: it leaves the queue, and its edit is not made.
async fn crashed_waiter(world: &mut World) -> Result<()> {
    let file = world.dir.join("work").join(FILE);
    fs::write(&file, "old-1;\nold-2;\n")?;
    let specs = vec![
        asker_spec(world, "crashes", &[call_request("read", json!({"path": FILE})), edit_request(FILE, 1)])?,
        asker_spec(world, "next", &[edit_request(FILE, 2)])?,
    ];
    // The extension must not restart and ask again.
    let once = |config: &mut HostConfig| config.timeouts.restarts.first_pause = Duration::from_secs(600);
    let served = ServiceHost::start(world, specs, once).await?;
    let guard = served.queue.lock(&file).await?;
    signal_asker(world, "crashes", "go")?;
    world.wait_until("the first extension waits for the file", || served.has_begun("crashes")).await?;
    signal_asker(world, "next", "go")?;
    world.wait_until("the second extension waits, too", || served.has_begun("next")).await?;
    world.mark("the waiting extension crashes")?;
    signal_asker(world, "crashes", "crash")?;
    let exited = || served.events.faults().iter().any(|fault| fault.code == "exited");
    world.wait_until("the crash is reported", exited).await?;
    drop(guard);
    let answers = read_answers(world, "next").await?;
    served.host.shutdown().await;
    ensure!(answers.iter().all(|answer| answer.get("code").is_none()), "{answers:?}");
    let found = fs::read_to_string(&file)?;
    ensure!(found == "old-1;\nnew-2;\n", "the file contains {found:?}");
    Ok(())
}

/// An extension that waits too long leaves the queue.
async fn stuck_waiter(world: &mut World) -> Result<()> {
    let file = world.dir.join("work").join(FILE);
    fs::write(&file, "old-1;\n")?;
    let specs = vec![asker_spec(world, "waits", &[edit_request(FILE, 1)])?];
    let served = ServiceHost::start(world, specs, |config| config.timeouts.host_call = SHORT).await?;
    let guard = served.queue.lock(&file).await?;
    signal_asker(world, "waits", "go")?;
    world.mark("the extension waits for a locked file")?;
    let answers = read_answers(world, "waits").await?;
    drop(guard);
    served.host.shutdown().await;
    let code = answers.first().context("the extension received no answer")?["code"].clone();
    ensure!(code == "timed_out", "the answer is {code}");
    ensure!(fs::read_to_string(&file)? == "old-1;\n", "the file was changed");
    Ok(())
}

/// Starts an extension that locks the file and one that changes it, and waits for the lock.
async fn start_lock(world: &World, longest: Duration) -> Result<ServiceHost> {
    fs::write(world.dir.join("work").join(FILE), "old-1;\n")?;
    let specs = vec![
        asker_spec(world, "locks", &[call_request("lock_file", json!({"path": FILE}))])?,
        asker_spec(world, "next", &[edit_request(FILE, 1)])?,
    ];
    let served = ServiceHost::start(world, specs, |config| {
        config.timeouts.file_lock = longest;
        // The extension must not restart and lock again.
        config.timeouts.restarts.first_pause = Duration::from_secs(600);
    })
    .await?;
    signal_asker(world, "locks", "go")?;
    let locked = read_answers(world, "locks").await?;
    ensure!(locked.first().is_some_and(|answer| answer["value"]["lease"].is_string()), "{locked:?}");
    signal_asker(world, "next", "go")?;
    world.wait_until("the other extension waits for the file", || served.has_begun("next")).await?;
    Ok(served)
}

/// Checks that the other extension changed the file, and returns the reported faults.
async fn end_lock(world: &World, served: &ServiceHost) -> Result<Vec<String>> {
    let answers = read_answers(world, "next").await?;
    served.host.shutdown().await;
    ensure!(answers.iter().all(|answer| answer.get("code").is_none()), "{answers:?}");
    let found = fs::read_to_string(world.dir.join("work").join(FILE))?;
    ensure!(found == "new-1;\n", "the file contains {found:?}");
    Ok(served.events.faults().into_iter().map(|fault| fault.code).collect())
}

/// A lock that is never released ends after its longest time.
async fn kept_lock(world: &mut World) -> Result<()> {
    let served = start_lock(world, SHORT).await?;
    world.mark("the extension keeps its lock")?;
    let codes = end_lock(world, &served).await?;
    ensure!(codes == ["lock_expired"], "the reported faults are {codes:?}");
    Ok(())
}

/// The lock of an extension that crashes ends with its process.
async fn crashed_lock_owner(world: &mut World) -> Result<()> {
    let served = start_lock(world, Duration::from_secs(180)).await?;
    world.mark("the owner of the lock crashes")?;
    signal_asker(world, "locks", "crash")?;
    let codes = end_lock(world, &served).await?;
    ensure!(codes == ["exited"], "the reported faults are {codes:?}");
    Ok(())
}

/// Three extensions and the built-in tools change one file at the same time, each under another name.
pub(super) async fn many_edits(
    world: &mut World,
    built_in: impl AsyncFnOnce(&ServiceHost, std::ops::Range<usize>) -> Result<()>,
) -> Result<()> {
    let each = world.amount(16, 2_500);
    let work = world.dir.join("work");
    let lines: String = (0..4 * each).map(|n| format!("old-{n};\n")).collect();
    fs::write(work.join(FILE), lines)?;
    std::os::unix::fs::symlink(work.join(FILE), work.join("link"))?;
    fs::hard_link(work.join(FILE), work.join("other"))?;
    let mut specs = Vec::new();
    for (index, (name, path)) in WRITERS.iter().enumerate() {
        let own = each * (index + 1)..each * (index + 2);
        specs.push(asker_spec(world, name, &own.map(|n| edit_request(path, n)).collect::<Vec<_>>())?);
    }
    let served = ServiceHost::start(world, specs, |_| {}).await?;
    for (name, _) in WRITERS {
        signal_asker(world, name, "go")?;
    }
    world.mark("concurrent edits")?;
    built_in(&served, 0..each).await?;
    for (name, _) in WRITERS {
        let answers = read_answers(world, name).await?;
        let failed = answers.iter().find(|answer| answer.get("code").is_some());
        ensure!(failed.is_none() && answers.len() == each, "{name} received {failed:?}");
    }
    served.host.shutdown().await;
    let expect: String = (0..4 * each).map(|n| format!("new-{n};\n")).collect();
    let found = fs::read_to_string(work.join(FILE))?;
    let lost = expect.lines().zip(found.lines()).filter(|(expect, found)| expect != found).count();
    ensure!(found == expect, "{lost} of {} edits are lost", 4 * each);
    Ok(())
}

/// The writers in addition to the built-in tools, with the name of the file that each uses.
const WRITERS: [(&str, &str); 3] = [("by-path", FILE), ("by-link", "link"), ("by-hard-link", "other")];

/// Checks that a guard blocks an extension's calls like those of the model.
pub(super) async fn guard_applies_to_services(world: &mut World) -> Result<()> {
    let command = |text: &str| call_request("exec", json!({"command": text}));
    let mut specs = vec![asker_spec(world, "asker", &[command("echo DENIED > made"), command("echo fine")])?];
    if world.state("guard").is_ok() {
        let setup = WorldSetup::new(world.mode, &world.tag, world.dir.clone())?;
        specs.push(misbehaving_spec(&setup, "guard", "guard"));
    }
    let served = ServiceHost::start(world, specs, |_| {}).await?;
    signal_asker(world, "asker", "go")?;
    world.mark("the extension asks for a blocked command")?;
    let answers = read_answers(world, "asker").await?;
    served.host.shutdown().await;
    let codes: Vec<&str> = answers.iter().map(|answer| answer["code"].as_str().unwrap_or("done")).collect();
    ensure!(codes == ["blocked", "done"], "the extension received {codes:?}");
    ensure!(answers.first().is_some_and(|answer| answer["by"] == "guard"), "{answers:?}");
    ensure!(!world.dir.join("work/made").exists(), "the blocked command ran");
    Ok(())
}
