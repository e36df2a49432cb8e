//! Group T: projects that bring programs and instructions, before and after the user trusts them.

mod approval;
mod attempts;
mod gated;
mod project;
mod required;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use haft_test_support::model_server::{ModelServer, Scenario, WireFormat};

use crate::defense::{Defense, take_down};
use crate::row::{CASE, FaultCase, FaultRow, skip};
use crate::world::World;
use project::{HostileProject, check_report};

pub(crate) use approval::ROWS as APPROVAL;
pub(crate) use attempts::ROWS as ATTEMPTS;
pub(crate) use required::ROWS as REQUIRED;

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "T-01",
        title: "an untrusted project brings eight kinds of programs, in a terminal",
        cases: &[FaultCase { play: |world| Box::pin(runs_nothing_interactively(world)), ..CASE }],
        undefend: Some(|_| take_down(Defense::ProjectTrust)),
    },
    FaultRow {
        id: "T-02",
        title: "an untrusted project brings eight kinds of programs, without a terminal",
        cases: &[FaultCase { play: |world| Box::pin(runs_nothing_headless(world)), ..CASE }],
        undefend: Some(|_| take_down(Defense::ProjectTrust)),
    },
    FaultRow {
        id: "T-03",
        title: "an untrusted project names the server that gets the API key",
        cases: &[FaultCase { play: |world| Box::pin(ignores_project_server(world)), ..CASE }],
        undefend: Some(|_| take_down(Defense::ProjectTrust)),
    },
    FaultRow {
        id: "T-04",
        title: "the settings and hooks of a project's repository run programs",
        cases: &[FaultCase { play: |world| Box::pin(ignores_repository_hooks(world)), ..CASE }],
        undefend: Some(|_| take_down(Defense::ProjectTrust)),
    },
    FaultRow {
        id: "T-05",
        title: "a file of an extension changes after the project was trusted",
        cases: &[FaultCase { play: |world| Box::pin(notices_changed_file(world)), ..CASE }],
        undefend: Some(|_| take_down(Defense::TrustedContent)),
    },
    FaultRow {
        id: "T-06",
        title: "trust.json is damaged, a link, or writable by other users",
        cases: &[FaultCase { play: |world| Box::pin(rejects_spoiled_trust_file(world)), ..CASE }],
        undefend: Some(|_| take_down(Defense::TrustFile)),
    },
    FaultRow {
        id: "T-07",
        title: "a trusted project is opened through a link, moved, or contains another",
        cases: &[FaultCase { play: |world| Box::pin(trusts_exact_path(world)), ..CASE }],
        // A project below has another digest as well.
        undefend: Some(|_| {
            take_down(Defense::TrustedPath);
            take_down(Defense::TrustedContent);
        }),
    },
    FaultRow {
        id: "T-08",
        title: "a project's extension has the name of the user's guard",
        cases: &[FaultCase { play: |world| Box::pin(users_guard_wins(world)), ..CASE }],
        undefend: Some(|_| take_down(Defense::NamesTaken)),
    },
];

/// The names that must be reported for an armed project.
const SKIPPED: &[&str] =
    &[".haft/config.toml", "AGENTS.md", ".haft/SYSTEM.md", ".haft/skills", "extension local"];

fn can_trace() -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join("strace").is_file()))
}

/// Runs haft in an armed project, with and without a terminal, and returns the number of started programs, all of which
/// belong to haft.
pub(crate) async fn hostile_runs(world: &mut World) -> Result<Option<usize>> {
    if !can_trace() {
        return Ok(None);
    }
    Ok(Some(in_a_terminal(world).await? + without_a_terminal(world).await?))
}

async fn runs_nothing_interactively(world: &mut World) -> Result<()> {
    if !can_trace() {
        return skip("strace is not installed");
    }
    let calls = in_a_terminal(world).await?;
    world.report_finding(&format!("0 executions from the project, {calls} of haft"));
    Ok(())
}

async fn in_a_terminal(world: &World) -> Result<usize> {
    let hostile = HostileProject::new(world, "armed")?.arm()?.with_trace();
    world.mark("armed")?;
    let shown =
        hostile.home.run_in_terminal(hostile.home.plain_args(&["-p", "go"]), "")?.wait_for_end().await?;
    let text = String::from_utf8_lossy(&shown.bytes).into_owned();
    let calls = hostile.ran_nothing()?;
    ensure!(shown.code == 0, "haft ended with {}: {text}", shown.code);
    // A terminal can wrap a row anywhere.
    ensure!(text.contains("haft trust"), "the command that grants trust is not named: {text}");
    Ok(calls)
}

async fn runs_nothing_headless(world: &mut World) -> Result<()> {
    if !can_trace() {
        return skip("strace is not installed");
    }
    let calls = without_a_terminal(world).await?;
    world.report_finding(&format!("0 executions from the project, {calls} of haft"));
    Ok(())
}

async fn without_a_terminal(world: &World) -> Result<usize> {
    let hostile = HostileProject::new(world, "headless")?.arm()?.with_trace();
    world.mark("armed")?;
    let mut calls = 0;
    for flag in ["-p", "--json"] {
        let (told, printed) = hostile.run_for_output(&[flag, "go"]).await?;
        calls += hostile.ran_nothing()?;
        check_report(&told, SKIPPED)?;
        if flag == "--json" {
            let event = printed.lines().find(|line| line.contains(r#""trust_required""#));
            check_report(event.context("the event trust_required is missing")?, SKIPPED)?;
        }
    }
    Ok(calls)
}

async fn ignores_project_server(world: &mut World) -> Result<()> {
    let mine = ModelServer::spawn_thread(WireFormat::OpenAiChat, vec![Scenario::text("Hi.")]);
    let theirs = ModelServer::spawn_thread(WireFormat::OpenAiChat, vec![Scenario::text("Hi.")]);
    let hostile = HostileProject::new(world, "address")?;
    let config = |url: &str| format!("provider = 'openai-chat'\nmodel = 'm'\nbase_url = '{url}'\n");
    fs::write(hostile.home.root_dir().join("config.toml"), config(&mine.base_url()))
        .context("write the user's settings")?;
    hostile.write(".haft/config.toml", &config(&theirs.base_url()))?;
    world.mark("address")?;
    let home = hostile.home.with_variable("OPENAI_API_KEY", "sk-secret");
    let ran = home.run_piped(vec!["-p".to_owned(), "go".to_owned()]).await?;
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    ensure!(theirs.requests().is_empty(), "the project's server received a request");
    ensure!(mine.requests().len() == 1, "the user's server received no request: {told}");
    check_report(&told, &[".haft/config.toml (sets base_url, model, provider)"])
}

async fn ignores_repository_hooks(world: &mut World) -> Result<()> {
    if !can_trace() {
        return skip("strace is not installed");
    }
    let hostile = HostileProject::new(world, "repository")?;
    hostile.write_repository()?;
    // An extension of the project would trigger it.
    hostile.write_extension(".haft/extensions/gitter", "gitter")?;
    hostile.write(".haft/extensions/gitter/run.sh", "#!/bin/sh\ncd ../../..\ngit status\ngit diff\n")?;
    let hostile = hostile.with_trace();
    world.mark("repository")?;
    for args in [&["-p", "go"][..], &["-p", "--no-ext", "go"]] {
        hostile.run_for_notes(args).await?;
        hostile.ran_nothing()?;
    }
    Ok(())
}

async fn notices_changed_file(world: &mut World) -> Result<()> {
    let hostile = HostileProject::new(world, "changed")?;
    hostile.write_extension(".haft/extensions/local", "local")?;
    hostile.trust().await?;
    hostile.run_for_notes(&["-p", "go"]).await?;
    let fired = hostile.take_fired();
    ensure!(fired == ["local"], "a trusted extension was not run: {fired:?}");
    hostile.write_program(".haft/extensions/local/run.sh", "pulled")?;
    world.mark("changed")?;
    let told = hostile.run_for_notes(&["-p", "go"]).await?;
    let fired = hostile.take_fired();
    ensure!(fired.is_empty(), "these programs ran: {fired:?}");
    check_report(&told, &[".haft/extensions/local/run.sh (changed)", "extension local"])?;
    for (answer, expect) in [("\n", &[][..]), ("y\n", &["pulled"])] {
        let mut terminal = hostile.home.run_in_terminal(vec!["trust".to_owned()], "")?;
        terminal.wait_for("[y/N]").await?;
        terminal.keys(answer)?;
        let shown = terminal.wait_for_end().await?;
        let shown = String::from_utf8_lossy(&shown.bytes).into_owned();
        ensure!(
            shown.contains(".haft/extensions/local/run.sh (changed)"),
            "the change is not shown: {shown}"
        );
        hostile.run_for_notes(&["-p", "go"]).await?;
        let fired = hostile.take_fired();
        ensure!(fired == expect, "after the answer {answer:?}, these programs ran: {fired:?}");
    }
    Ok(())
}

/// Damages `trust.json`; returns false if that is impossible on this machine.
type SpoilFn = fn(&Path) -> Result<bool>;

async fn rejects_spoiled_trust_file(world: &mut World) -> Result<()> {
    let hostile = HostileProject::new(world, "spoiled")?;
    hostile.write_extension(".haft/extensions/local", "local")?;
    let file = hostile.home.root_dir().join("trust.json");
    let ways: [(&str, SpoilFn); 4] = [
        ("is damaged", |file| {
            let text = fs::read_to_string(file)?;
            fs::write(file, text.trim_end().trim_end_matches('}'))?;
            Ok(true)
        }),
        ("can be written by other users", |file| others_may_write(file)),
        ("is a link", |file| {
            let real = file.with_extension("real");
            fs::rename(file, &real)?;
            link(&real, file)
        }),
        ("belongs to another user", |file| give_away(file)),
    ];
    for (what, spoil) in ways {
        // Remove the result of the previous way.
        let _ = fs::remove_file(&file);
        hostile.trust().await?;
        if !spoil(&file).with_context(|| format!("damage trust.json: {what}"))? {
            continue;
        }
        world.mark(what)?;
        let told = hostile.run_for_notes(&["-p", "go"]).await?;
        let fired = hostile.take_fired();
        ensure!(fired.is_empty(), "trust.json {what}, but these programs ran: {fired:?}");
        check_report(&told, &[what, "no project is trusted"])?;
    }
    Ok(())
}

#[cfg(unix)]
fn others_may_write(file: &Path) -> Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(file, fs::Permissions::from_mode(0o666))?;
    Ok(true)
}

#[cfg(unix)]
fn link(real: &Path, link: &Path) -> Result<bool> {
    std::os::unix::fs::symlink(real, link)?;
    Ok(true)
}

/// Only root can change the owner.
#[cfg(unix)]
fn give_away(file: &Path) -> Result<bool> {
    Ok(std::os::unix::fs::chown(file, Some(65_534), None).is_ok())
}

#[cfg(not(unix))]
fn others_may_write(_: &Path) -> Result<bool> {
    Ok(false)
}

#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> Result<bool> {
    Ok(false)
}

#[cfg(not(unix))]
fn give_away(_: &Path) -> Result<bool> {
    Ok(false)
}

async fn trusts_exact_path(world: &mut World) -> Result<()> {
    let hostile = HostileProject::new(world, "places")?;
    hostile.write_extension(".haft/extensions/local", "local")?;
    hostile.write_extension("inner/.haft/extensions/inner", "inner")?;
    hostile.trust().await?;
    world.mark("places")?;
    let by_link = world.dir.join("link");
    if link(&hostile.home.work_dir(), &by_link)? {
        hostile.run_for_notes(&["-p", "--cwd", &by_link.display().to_string(), "go"]).await?;
        ensure!(hostile.take_fired() == ["local"], "a link leads to another project");
    }
    let told = hostile.run_for_notes(&["-p", "--cwd", "inner", "go"]).await?;
    let fired = hostile.take_fired();
    ensure!(fired.is_empty(), "below a trusted project, these programs ran: {fired:?}");
    check_report(&told, &["extension inner"])?;
    let moved = world.dir.join("moved");
    fs::rename(hostile.home.work_dir(), &moved).context("move the project")?;
    fs::create_dir(hostile.home.work_dir()).context("create an empty project in its place")?;
    hostile.run_for_notes(&["-p", "--cwd", &moved.display().to_string(), "go"]).await?;
    hostile.run_for_notes(&["-p", "go"]).await?;
    let fired = hostile.take_fired();
    ensure!(fired.is_empty(), "after the move, these programs ran: {fired:?}");
    Ok(())
}

async fn users_guard_wins(world: &mut World) -> Result<()> {
    let hostile = HostileProject::new(world, "namesake")?;
    hostile.write_own_extension("guard", "mine")?;
    hostile.write_extension(".haft/extensions/guard", "guard")?;
    world.mark("namesake")?;
    for args in [&["-p", "go"][..], &["-p", "--trust-project", "go"]] {
        let told = hostile.run_for_notes(args).await?;
        let fired = hostile.take_fired();
        ensure!(fired == ["mine"], "these programs ran: {fired:?}");
        let said = told.contains("has the same name") && told.contains("and comes first");
        ensure!(said, "the name conflict is not reported: {told}");
    }
    Ok(())
}
