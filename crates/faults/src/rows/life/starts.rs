//! Duplicate names, threads that end, and programs that cannot be started.

use std::fs::{self, OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use haft_core::tool::ToolOwner;
use haft_host::ExtensionState;
use haft_launch::{EnvPolicy, GroupChild, SpawnOptions, StderrMode, StdioMode, find_program};
use haft_packages::ExtensionOrigin;

use crate::defense::{Defense, take_down};
use crate::misbehavior::{extension_spec, misbehaving_spec};
use crate::row::{CASE, ExpectedFaults, FaultCase, FaultRow, skip};
use crate::world::{World, WorldSetup, sibling_binary};

/// The number of the canary's round trips after which processes bound to a thread would have ended.
const THREADS_END: usize = 60;

/// The time to observe a process that must not end.
const LOOK: Duration = Duration::from_millis(1);

const NONE_STARTS: ExpectedFaults = &[
    ("missing", "spawn_failed"),
    ("not-executable", "spawn_failed"),
    ("other-machine", "spawn_failed"),
    ("no-interpreter", "spawn_failed"),
    ("being-written", "spawn_failed"),
];

/// The system's message for each program.
const WHY: &[(&str, &str)] = &[
    ("missing", "No such file or directory"),
    ("not-executable", "Permission denied"),
    ("other-machine", "Exec format error"),
    ("no-interpreter", "No such file or directory"),
    ("being-written", "Text file busy"),
];

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "L-14",
        title: "two extensions use the same name, tool and command",
        cases: &[FaultCase {
            expect: &[
                ("project", "register_rejected"),
                ("project", "register_rejected"),
                ("user", "register_rejected"),
            ],
            setup: add_duplicates,
            play: |world| Box::pin(user_extension_wins(world)),
            ..CASE
        }],
        undefend: Some(|setup| setup.specs.iter_mut().for_each(|spec| spec.origin = ExtensionOrigin::Global)),
    },
    FaultRow {
        id: "L-15",
        title: "is started from a thread that ends",
        cases: &[FaultCase { play: |world| Box::pin(outlives_its_thread(world)), ..CASE }],
        undefend: Some(|_| {}),
    },
    FaultRow {
        id: "L-16",
        title: "the program cannot be started",
        cases: &[
            FaultCase {
                expect: NONE_STARTS,
                setup: broken_programs,
                play: |world| Box::pin(reports_cause(world)),
                ..CASE
            },
            FaultCase {
                expect: NONE_STARTS,
                setup: |setup| {
                    broken_programs(setup);
                    setup.config.launcher = None;
                },
                play: |world| Box::pin(reports_cause(world)),
                ..CASE
            },
        ],
        undefend: Some(|_| take_down(Defense::FaultReports)),
    },
];

/// The project's extension is found first, and `user` twice.
fn add_duplicates(setup: &mut WorldSetup) {
    for (name, origin) in [
        ("project", ExtensionOrigin::Project),
        ("user", ExtensionOrigin::Global),
        ("user", ExtensionOrigin::Project),
    ] {
        let mut spec = misbehaving_spec(setup, "good", name);
        spec.origin = origin;
        setup.add(spec);
    }
}

async fn user_extension_wins(world: &mut World) -> Result<()> {
    world.mark("names")?;
    let tools = world.host.tools();
    let owner =
        tools.iter().find(|tool| tool.spec().name == "evil_tool").map(|tool| tool.spec().owner.clone());
    ensure!(owner == Some(ToolOwner::Extension("user".into())), "the owner of the tool is {owner:?}");
    let commands = world.host.commands();
    ensure!(commands.len() == 1, "the commands are {commands:?}");
    ensure!(
        commands.iter().all(|command| command.extension.as_str() == "user"),
        "the commands are {commands:?}"
    );
    world.wait_for_expected().await?;
    let messages: Vec<String> = world.events.faults().into_iter().map(|fault| fault.message).collect();
    for text in [
        "tool evil_tool: the name belongs to extension user",
        "command /evil: the name belongs to extension user",
        "not started from",
    ] {
        ensure!(
            messages.iter().any(|message| message.contains(text)),
            "no message contains {text:?}: {messages:?}"
        );
    }
    // Each conflict is reported once, however often the names are resolved.
    world.expect_answer("ok").await
}

/// Without the defense the process ends with its thread, as if it were bound to the thread that started it.
async fn outlives_its_thread(world: &mut World) -> Result<()> {
    world.mark("threads")?;
    let tied = if world.mode.undefended {
        Some(find_program("setpriv").or_else(|_| skip("setpriv"))?)
    } else {
        None
    };
    let many = world.amount(20, 200);
    let mut children = Vec::new();
    for _ in 0..many {
        children.push(from_a_thread(world, tied.as_deref())?);
    }
    world.wait_for_trips(THREADS_END).await?;
    let mut gone = 0;
    for child in &mut children {
        gone += usize::from(tokio::time::timeout(LOOK, child.wait()).await.is_ok());
    }
    for child in &mut children {
        child.kill().context("kill the started process")?;
        child.wait().await.context("wait for the started process")?;
    }
    ensure!(gone == 0, "{gone} of {many} processes ended with their thread");
    Ok(())
}

fn from_a_thread(world: &World, tied: Option<&Path>) -> Result<GroupChild> {
    let misbehave = sibling_binary("misbehave");
    let args = ["silent".to_owned(), "threaded".to_owned()];
    let mut spawn = match tied {
        None => SpawnOptions::new(misbehave, &world.dir).args(args),
        Some(setpriv) => {
            let options = ["--pdeathsig", "KILL"].map(str::to_owned).into_iter();
            SpawnOptions::new(setpriv, &world.dir)
                .args(options.chain([misbehave.display().to_string()]).chain(args))
        }
    };
    if tied.is_none() {
        spawn.launcher =
            Some(haft_launch::Launcher { program: sibling_binary("haft-launcher"), args: Vec::new() });
    }
    spawn.env = EnvPolicy::Only([("HAFT_FAULT_TAG".into(), world.tag.clone().into())].into());
    (spawn.stdin, spawn.stdout, spawn.stderr) =
        (StdioMode::Piped, StdioMode::Piped, StderrMode::Own(StdioMode::Piped));
    let runtime = tokio::runtime::Handle::current();
    let thread = std::thread::spawn(move || {
        let _inside = runtime.enter();
        GroupChild::spawn(spawn)
    });
    match thread.join() {
        Ok(child) => child.context("start the extension"),
        Err(_) => bail!("the thread panicked"),
    }
}

/// Adds five programs that no system can start.
fn broken_programs(setup: &mut WorldSetup) {
    let dir = setup.dir.clone();
    let made = [
        write_file(&dir, "not-executable", b"#!/bin/sh\n", 0o644),
        write_file(&dir, "other-machine", &other_machine(), 0o755),
        write_file(&dir, "no-interpreter", b"#!/none/such/interpreter\n", 0o755),
        fs::copy(sibling_binary("misbehave"), dir.join("being-written")).map(|_| ()),
    ];
    for (name, _) in WHY {
        setup.add(extension_spec(setup, name, dir.join(name), Vec::new()));
    }
    // A program that is open for writing cannot be started; this process keeps it open.
    let writer = OpenOptions::new().append(true).open(dir.join("being-written"));
    std::mem::forget(writer);
    // A program that could not be created fails with another error.
    drop(made);
}

fn write_file(dir: &Path, name: &str, bytes: &[u8], mode: u32) -> std::io::Result<()> {
    let path = dir.join(name);
    fs::write(&path, bytes)?;
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Returns an ELF header for a machine that does not exist.
fn other_machine() -> Vec<u8> {
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(64, 0);
    bytes.splice(16..20, [2, 0, 0xfe, 0xfe]);
    bytes
}

async fn reports_cause(world: &mut World) -> Result<()> {
    world.mark("spawn")?;
    world.wait_for_expected().await?;
    for (name, why) in WHY {
        let ExtensionState::Failed { code, message } = world.state(name)? else {
            bail!("{name} is {:?}", world.state(name)?)
        };
        let path = world.dir.join(name).display().to_string();
        ensure!(code.as_str() == "spawn_failed", "{name} failed with {code}");
        ensure!(message.contains(why) && message.contains(&path), "{name} reports {message:?}");
    }
    Ok(())
}
