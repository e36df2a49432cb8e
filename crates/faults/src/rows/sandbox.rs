//! Group T, sandboxes: actions of an extension with and without a sandbox.

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use haft_host::ExtensionState;
use haft_launch::sandbox::{ConfinementLevel, detect_support};
use haft_packages::{GrantedPath, SandboxGrant};
use haft_protocol::ids::ExtensionName;
use haft_test_support::sandbox::{PROBES, ProbeConfinement, ProbeOutcome, ProbeVerdict, SandboxScene};
use serde_json::json;

use crate::misbehavior::extension_spec;
use crate::row::{CASE, EVIL, ExpectedFaults, FaultCase, FaultRow};
use crate::rows::gates::call_steps;
use crate::world::{HaftHome, World, WorldSetup, sibling_binary};

/// An extension whose tool runs the program of its first argument, `sandbox-probe`, with the content of the file of its
/// second argument.
const SCRIPT: &str = include_str!("../scripts/confined.sh");

const REFUSED: ExpectedFaults = &[(EVIL, "sandbox_unavailable")];

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "T-20",
        title: "reads keys, other programs' memory and environment",
        cases: &[
            free_case(|world| Box::pin(check_attempts(world, ProbeConfinement::Free, READS))),
            standard_case(|world| Box::pin(check_attempts(world, ProbeConfinement::Standard, READS))),
            strict_case(|world| Box::pin(check_attempts(world, ProbeConfinement::Strict, READS))),
        ],
        undefend: Some(without_sandbox),
    },
    FaultRow {
        id: "T-21",
        title: "writes outside of its grant",
        cases: &[
            free_case(|world| Box::pin(check_attempts(world, ProbeConfinement::Free, WRITES))),
            standard_case(|world| Box::pin(check_attempts(world, ProbeConfinement::Standard, WRITES))),
            strict_case(|world| Box::pin(check_attempts(world, ProbeConfinement::Strict, WRITES))),
        ],
        undefend: Some(without_sandbox),
    },
    FaultRow {
        id: "T-22",
        title: "connects to the network and to other programs' sockets",
        cases: &[
            free_case(|world| Box::pin(check_attempts(world, ProbeConfinement::Free, SOCKETS))),
            standard_case(|world| Box::pin(check_attempts(world, ProbeConfinement::Standard, SOCKETS))),
            strict_case(|world| Box::pin(check_attempts(world, ProbeConfinement::Strict, SOCKETS))),
        ],
        undefend: Some(without_sandbox),
    },
    FaultRow {
        id: "T-23",
        title: "signals the host and other programs",
        cases: &[
            free_case(|world| Box::pin(check_attempts(world, ProbeConfinement::Free, SIGNALS))),
            standard_case(|world| Box::pin(check_attempts(world, ProbeConfinement::Standard, SIGNALS))),
            strict_case(|world| Box::pin(check_attempts(world, ProbeConfinement::Strict, SIGNALS))),
        ],
        undefend: Some(without_sandbox),
    },
    FaultRow {
        id: "T-28",
        title: "must run in a sandbox that is not available",
        cases: &[
            FaultCase {
                expect: REFUSED,
                setup: |setup| {
                    add_confined(setup, Some(ConfinementLevel::Standard));
                    setup.config.launcher = None;
                },
                play: |world| Box::pin(is_not_started(world)),
                notices_alone: true,
                ..CASE
            },
            FaultCase { play: |world| Box::pin(older_kernels(world)), notices_alone: true, ..CASE },
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

const fn free_case(play: crate::row::CaseScript) -> FaultCase {
    FaultCase { setup: |setup| add_confined(setup, None), play, ..CASE }
}

const fn standard_case(play: crate::row::CaseScript) -> FaultCase {
    FaultCase {
        setup: |setup| add_confined(setup, Some(ConfinementLevel::Standard)),
        play,
        notices_alone: true,
        ..CASE
    }
}

const fn strict_case(play: crate::row::CaseScript) -> FaultCase {
    FaultCase {
        setup: |setup| add_confined(setup, Some(ConfinementLevel::Strict)),
        play,
        notices_alone: true,
        ..CASE
    }
}

fn without_sandbox(setup: &mut WorldSetup) {
    setup.config.sandbox.clear();
}

/// Adds the extension with its grant: the files that the scene allows to read and write, and the probe program.
fn add_confined(setup: &mut WorldSetup, level: Option<ConfinementLevel>) {
    let (dir, scene) = (setup.dir.join("confined"), setup.dir.join("scene"));
    // If this fails, the extension cannot start, and the row fails.
    let made = [&dir, &scene.join("data"), &scene.join("granted")].map(fs::create_dir_all);
    drop((made, fs::write(dir.join("confined.sh"), SCRIPT)));
    let facts = scene.join("granted/facts");
    let args = ["confined.sh".to_owned(), path_text(&sibling_binary("sandbox-probe")), path_text(&facts)];
    let mut spec = extension_spec(setup, EVIL, "/bin/sh".into(), args.into());
    spec.dir = dir;
    setup.add(spec);
    let Some(level) = level else { return };
    let paths = |path: &std::path::Path| GrantedPath::parse(&path_text(path), None).into_iter().collect();
    let mut grant = SandboxGrant::new(level);
    grant.write = paths(&scene.join("data"));
    grant.read = paths(&scene.join("granted"));
    grant.exec = paths(&sibling_binary("sandbox-probe"));
    setup.config.sandbox.insert(ExtensionName::new(EVIL), Some(grant));
}

fn path_text(path: &std::path::Path) -> String {
    path.display().to_string()
}

/// Checks the outcomes of its attempts, or that the extension was not started because the level is unavailable.
async fn check_attempts(world: &mut World, column: ProbeConfinement, probes: &[&str]) -> Result<()> {
    let support = detect_support();
    let missing = match column {
        ProbeConfinement::Standard => support.standard.err(),
        ProbeConfinement::Strict => support.strict.err(),
        ProbeConfinement::Free
        | ProbeConfinement::StandardAll
        | ProbeConfinement::StrictLoopback
        | ProbeConfinement::StrictAll => None,
    };
    if let Some(why) = missing {
        world.also.push((EVIL.to_owned(), "sandbox_unavailable"));
        world.report_finding(&format!("SKIP {column:?}: not available, and the start was rejected: {why}"));
        return is_not_started(world).await;
    }
    let scene = SandboxScene::new(&world.dir.join("scene")).context("create the scene")?;
    fs::write(scene.granted_dir().join("facts"), scene.facts()).context("write the facts")?;
    let asked = world.call(json!({})).await?;
    world.mark("tried")?;
    ensure!(!asked.is_error, "the probes failed: {}", asked.text);
    let output = asked.text.replace(';', "\n");
    let verdicts = SandboxScene::judge_output(&output, |probe| probe.expected(column));
    let chosen: Vec<&ProbeVerdict> =
        verdicts.iter().filter(|verdict| probes.contains(&verdict.name)).collect();
    ensure!(chosen.len() == probes.len(), "a probe of {probes:?} does not exist");
    let wrong: Vec<String> = chosen
        .iter()
        .filter_map(|verdict| Some(format!("{}: {}", verdict.name, verdict.wrong.as_ref()?)))
        .collect();
    ensure!(wrong.is_empty(), "{column:?}: {}", wrong.join("; "));
    let kept =
        chosen.iter().filter(|verdict| verdict.skipped.is_none() && is_prevented(verdict.name, column));
    world.report_finding(&format!("{column:?}: {} tried, {} prevented", chosen.len(), kept.count()));
    Ok(())
}

fn is_prevented(name: &str, column: ProbeConfinement) -> bool {
    let probe = PROBES.iter().find(|probe| probe.name == name);
    probe.is_some_and(|probe| matches!(probe.expected(column), ProbeOutcome::Refused | ProbeOutcome::Absent))
}

async fn is_not_started(world: &mut World) -> Result<()> {
    world.mark("tried")?;
    world.wait_for_fault("sandbox_unavailable").await?;
    let ExtensionState::Failed { code, message } = world.state(EVIL)? else {
        bail!("the extension is {:?}", world.state(EVIL)?)
    };
    ensure!(code.as_str() == "sandbox_unavailable", "the extension failed with {code}");
    ensure!(
        message.contains("was not started") && message.contains("no other level"),
        "the message is {message:?}"
    );
    Ok(())
}

/// Runs the whole program on a simulated kernel without the parts that a sandbox needs.
async fn older_kernels(world: &mut World) -> Result<()> {
    let steps = call_steps(&[("bash", json!({"command": "touch ran"}))]);
    let level = if world.mode.undefended { "none" } else { "standard" };
    // The launcher detects that filters exist but cannot be installed, and then starts nothing.
    for lacking in ["landlock", "seccomp", "new filters"] {
        let probe = path_text(&sibling_binary("sandbox-probe"));
        let home = HaftHome::new(world, lacking, "good", &steps)?.with_wrapper(&[
            &probe,
            "--without",
            lacking,
            "--",
        ]);
        let home = home.with_grants(&format!("sandbox = \"{level}\""))?;
        let ended = home.run_piped(home.prompt_args(&["--json", "go"])).await?;
        let said = String::from_utf8_lossy(&ended.stdout).into_owned();
        ensure!(
            said.contains("sandbox_unavailable"),
            "without {lacking}, the missing sandbox is not reported: {said}"
        );
        ensure!(world.marks().is_empty(), "without {lacking}, the extension ran: {:?}", world.marks());
    }
    world.mark("tried")?;
    Ok(())
}
