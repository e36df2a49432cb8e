//! Group T, as far as it is about sandboxes: what an extension tries, confined and free.

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use haft_host::ExtensionState;
use haft_launch::sandbox::{Level, available};
use haft_packages::{GrantedPath, SandboxGrant};
use haft_protocol::ids::ExtensionName;
use haft_test_support::sandbox::{Column, Expect, PROBES, Scene, Verdict};
use serde_json::json;

use crate::evil::extension;
use crate::row::{CASE, Case, EVIL, Faults, Row};
use crate::rows::gates::calls;
use crate::world::{Home, Setup, World, beside};

/// An extension whose tool runs `sandbox-probe`, its first argument, with what is in the file of the second.
const SCRIPT: &str = include_str!("../scripts/confined.sh");

const REFUSED: Faults = &[(EVIL, "sandbox_unavailable")];

pub(crate) const ROWS: &[Row] = &[
    Row {
        id: "T-20",
        title: "reads keys, other programs' memory and environment",
        cases: &[
            free(|world| Box::pin(tries(world, Column::Free, READS))),
            standard(|world| Box::pin(tries(world, Column::Standard, READS))),
            strict(|world| Box::pin(tries(world, Column::Strict, READS))),
        ],
        undefend: Some(without_sandbox),
    },
    Row {
        id: "T-21",
        title: "writes beyond what it is granted",
        cases: &[
            free(|world| Box::pin(tries(world, Column::Free, WRITES))),
            standard(|world| Box::pin(tries(world, Column::Standard, WRITES))),
            strict(|world| Box::pin(tries(world, Column::Strict, WRITES))),
        ],
        undefend: Some(without_sandbox),
    },
    Row {
        id: "T-22",
        title: "talks to the network and to other programs' sockets",
        cases: &[
            free(|world| Box::pin(tries(world, Column::Free, SOCKETS))),
            standard(|world| Box::pin(tries(world, Column::Standard, SOCKETS))),
            strict(|world| Box::pin(tries(world, Column::Strict, SOCKETS))),
        ],
        undefend: Some(without_sandbox),
    },
    Row {
        id: "T-23",
        title: "signals the host and other programs",
        cases: &[
            free(|world| Box::pin(tries(world, Column::Free, SIGNALS))),
            standard(|world| Box::pin(tries(world, Column::Standard, SIGNALS))),
            strict(|world| Box::pin(tries(world, Column::Strict, SIGNALS))),
        ],
        undefend: Some(without_sandbox),
    },
    Row {
        id: "T-28",
        title: "is to run in a sandbox that cannot be had",
        cases: &[
            Case {
                expect: REFUSED,
                setup: |setup| {
                    confined(setup, Some(Level::Standard));
                    setup.config.launcher = None;
                },
                play: |world| Box::pin(is_not_started(world)),
                notices_alone: true,
                ..CASE
            },
            Case { play: |world| Box::pin(older_kernels(world)), notices_alone: true, ..CASE },
        ],
        undefend: Some(without_sandbox),
    },
];

const READS: &[&str] = &[
    "read-own-data",
    "read-granted",
    "read-data-of-other",
    "read-secret",
    "read-secret-by-link",
    "list-home",
    "environ-of-host",
    "command-line-of-host",
    "memory-of-host",
    "read-memory-by-call",
    "trace-host",
];

const WRITES: &[&str] = &[
    "write-own-data",
    "rename-in-own-data",
    "write-granted-to-read",
    "write-data-of-other",
    "write-workspace",
    "write-git-hook",
    "truncate-secret",
    "open-secret-to-truncate",
    "remove-secret",
    "rename-out",
    "link-in",
];

const SOCKETS: &[&str] = &[
    "stream-pair",
    "tcp",
    "tcp-listen",
    "udp",
    "raw-socket",
    "unix-by-path",
    "unix-by-name",
    "unix-by-pair",
];

const SIGNALS: &[&str] = &["signal-own-child", "signal-host", "signal-other", "signal-other-by-descriptor"];

const fn free(play: crate::row::Play) -> Case {
    Case { setup: |setup| confined(setup, None), play, ..CASE }
}

const fn standard(play: crate::row::Play) -> Case {
    Case { setup: |setup| confined(setup, Some(Level::Standard)), play, notices_alone: true, ..CASE }
}

const fn strict(play: crate::row::Play) -> Case {
    Case { setup: |setup| confined(setup, Some(Level::Strict)), play, notices_alone: true, ..CASE }
}

fn without_sandbox(setup: &mut Setup) {
    setup.config.sandbox.clear();
}

/// The extension, and what it is granted: what the scene lets be read and written, and the program that tries.
fn confined(setup: &mut Setup, level: Option<Level>) {
    let (dir, scene) = (setup.dir.join("confined"), setup.dir.join("scene"));
    // What cannot be made fails the row: then there is nothing to start.
    let made = [&dir, &scene.join("data"), &scene.join("granted")].map(fs::create_dir_all);
    drop((made, fs::write(dir.join("confined.sh"), SCRIPT)));
    let facts = scene.join("granted/facts");
    let args = ["confined.sh".to_owned(), shown(&beside("sandbox-probe")), shown(&facts)];
    let mut spec = extension(setup, EVIL, "/bin/sh".into(), args.into());
    spec.dir = dir;
    setup.add(spec);
    let Some(level) = level else { return };
    let paths = |path: &std::path::Path| GrantedPath::parse(&shown(path), None).into_iter().collect();
    let mut grant = SandboxGrant::new(level);
    grant.write = paths(&scene.join("data"));
    grant.read = paths(&scene.join("granted"));
    grant.exec = paths(&beside("sandbox-probe"));
    setup.config.sandbox.insert(ExtensionName::new(EVIL), Some(grant));
}

fn shown(path: &std::path::Path) -> String {
    path.display().to_string()
}

/// Checks that its attempts come out as they should, or that the level is missing and it was not started.
async fn tries(world: &mut World, column: Column, probes: &[&str]) -> Result<()> {
    let support = available();
    let missing = match column {
        Column::Standard => support.standard.err(),
        Column::Strict => support.strict.err(),
        Column::Free | Column::StandardAll | Column::StrictLoopback | Column::StrictAll => None,
    };
    if let Some(why) = missing {
        world.also.push((EVIL.to_owned(), "sandbox_unavailable"));
        world.found(&format!("SKIP {column:?}, and it was refused: {why}"));
        return is_not_started(world).await;
    }
    let scene = Scene::new(&world.dir.join("scene")).context("make the scene")?;
    fs::write(scene.granted().join("facts"), scene.facts()).context("write the facts")?;
    let asked = world.call(json!({})).await?;
    world.mark("tried")?;
    ensure!(!asked.is_error, "the probes do not run: {}", asked.text);
    let output = asked.text.replace(';', "\n");
    let verdicts = Scene::judge(&output, column);
    let chosen: Vec<&Verdict> = verdicts.iter().filter(|verdict| probes.contains(&verdict.name)).collect();
    ensure!(chosen.len() == probes.len(), "a probe of {probes:?} does not exist");
    let wrong: Vec<String> = chosen
        .iter()
        .filter_map(|verdict| Some(format!("{}: {}", verdict.name, verdict.wrong.as_ref()?)))
        .collect();
    ensure!(wrong.is_empty(), "{column:?}: {}", wrong.join("; "));
    let kept = chosen.iter().filter(|verdict| verdict.skipped.is_none() && is_kept(verdict.name, column));
    world.found(&format!("{column:?}: {} tried, {} kept away", chosen.len(), kept.count()));
    Ok(())
}

fn is_kept(name: &str, column: Column) -> bool {
    let probe = PROBES.iter().find(|probe| probe.name == name);
    probe.is_some_and(|probe| matches!(probe.expect(column), Expect::Refused | Expect::Absent))
}

async fn is_not_started(world: &mut World) -> Result<()> {
    world.mark("tried")?;
    world.until_fault("sandbox_unavailable").await?;
    let ExtensionState::Failed { code, message } = world.state(EVIL)? else {
        bail!("it is {:?}", world.state(EVIL)?)
    };
    ensure!(code.as_str() == "sandbox_unavailable", "it fails with {code}");
    ensure!(message.contains("was not started") && message.contains("No other level"), "it says {message:?}");
    Ok(())
}

/// The program itself where the kernel lacks what a sandbox rests on.
async fn older_kernels(world: &mut World) -> Result<()> {
    let steps = calls(&[("bash", json!({"command": "touch ran"}))]);
    let level = if world.mode.undefended { "none" } else { "standard" };
    // That no filter can be put on although there are filters is found out by the launcher, which starts nothing then.
    for lacking in ["landlock", "seccomp", "new filters"] {
        let probe = shown(&beside("sandbox-probe"));
        let home = Home::new(world, lacking, "good", &steps)?.below(&[&probe, "--without", lacking, "--"]);
        let home = home.granted(&format!("sandbox = \"{level}\""))?;
        let ended = home.piped(home.run(&["--json", "go"])).await?;
        let said = String::from_utf8_lossy(&ended.stdout).into_owned();
        ensure!(
            said.contains("sandbox_unavailable"),
            "without {lacking} nobody says that it cannot be had: {said}"
        );
        ensure!(world.marks().is_empty(), "without {lacking} it runs all the same: {:?}", world.marks());
    }
    world.mark("tried")?;
    Ok(())
}
