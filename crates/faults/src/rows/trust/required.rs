//! Required gates: lost approvals, added modules, and commands of a tool that would switch a gate off.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use haft_packages::{ExtensionOrigin, GuardRoles};

use super::gated::GatedHome;
use crate::defense::{Defense, take_down};
use crate::misbehavior::misbehaving_spec;
use crate::row::{CASE, EVIL, FaultCase, FaultRow};
use crate::world::{World, WorldSetup, sibling_binary};

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "T-31",
        title: "the lock file, the entry or the directory of a required gate is removed",
        cases: &[FaultCase { play: |world| Box::pin(missing_gate_blocks(world)), ..CASE }],
        undefend: Some(|_| take_down(Defense::RequiredRecord)),
    },
    FaultRow {
        id: "T-32",
        title: "a reload does not find a required gate, or finds other code of a gate",
        cases: &[
            FaultCase {
                expect: &[(EVIL, "required_missing")],
                setup: add_required_gate,
                play: |world| Box::pin(reload_keeps_gate(world)),
                notices_alone: true,
                ..CASE
            },
            FaultCase {
                expect: &[(EVIL, "pin_mismatch")],
                setup: add_required_gate,
                play: |world| Box::pin(reload_refuses_other_code(world)),
                notices_alone: true,
                ..CASE
            },
        ],
        undefend: Some(|_| take_down(Defense::RequiredGates)),
    },
    FaultRow {
        id: "T-33",
        title: "a module is added beside the code of an approved gate",
        cases: &[FaultCase { play: |world| Box::pin(added_module_never_runs(world)), ..CASE }],
        undefend: Some(|_| take_down(Defense::SealedGates)),
    },
    FaultRow {
        id: "T-34",
        title: "a command of the model disables a gate with `haft ext disable`",
        cases: &[FaultCase { play: |world| Box::pin(tool_cannot_disable_gate(world)), ..CASE }],
        undefend: Some(|_| take_down(Defense::PersonOnly)),
    },
];

async fn missing_gate_blocks(world: &mut World) -> Result<()> {
    let gated = GatedHome::with_command(world, "lost", "touch ran")?.approve_gate()?;
    let lock = gated.home.root_dir().join("extensions.lock.json");
    gated.expect_run().await?;
    world.mark("lost")?;
    let good = fs::read_to_string(&lock).context("read the lock file")?;
    fs::remove_file(&lock).context("remove the lock file")?;
    gated.expect_stop("no lock file").await?;
    write_private(&lock, r#"{"version":1,"extensions":{}}"#)?;
    gated.expect_stop("no entry").await?;
    write_private(&lock, &good.replace(r#""enabled": true"#, r#""enabled": false"#))?;
    gated.expect_stop("disabled by another program").await?;
    write_private(&lock, &good)?;
    gated.expect_run().await?;
    // The command of the user counts.
    let disable = ["ext", "disable", EVIL].map(str::to_owned).into();
    let ended = gated.home.run_piped(disable).await?;
    ensure!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    gated.expect_run().await
}

fn write_private(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).context("write the lock file")?;
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).context("protect it")?;
    Ok(())
}

/// Adds a required gate that runs from a directory of the user, as with `--ext`.
fn add_required_gate(setup: &mut WorldSetup) {
    let mut spec = misbehaving_spec(setup, "good", EVIL);
    spec.dir = setup.dir.join("gate");
    // If this fails, the extension does not start, and the row fails.
    let _ = fs::create_dir_all(&spec.dir);
    spec.origin = ExtensionOrigin::Explicit;
    spec.roles = GuardRoles { required: true, ..GuardRoles::default() };
    setup.specs.push(spec);
}

async fn reload_keeps_gate(world: &mut World) -> Result<()> {
    world.mark("reload")?;
    world.find(|found| found.specs.retain(|spec| spec.name.as_str() != EVIL));
    let stats = world.host.reload().await;
    ensure!(stats.kept == 1, "the reload reports {stats:?}");
    world.expect_answer("ok").await?;
    world.expect_allow().await
}

async fn reload_refuses_other_code(world: &mut World) -> Result<()> {
    world.mark("changed")?;
    fs::write(world.dir.join("gate/json.py"), "").context("add a module")?;
    let stats = world.host.reload().await;
    ensure!(stats.kept == 1, "the reload reports {stats:?}");
    let told = world.wait_for_fault("pin_mismatch").await?;
    ensure!(told.contains("json.py"), "the message is {told:?}");
    world.expect_answer("ok").await?;
    world.expect_allow().await
}

async fn added_module_never_runs(world: &mut World) -> Result<()> {
    let gated = GatedHome::with_command(world, "module", "touch ran")?.approve_gate()?;
    gated.expect_run().await?;
    world.mark("added")?;
    #[cfg(unix)]
    fs::set_permissions(&gated.runs_in, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .context("make the directory writable")?;
    let fired = world.dir.join("fired");
    fs::write(gated.runs_in.join("json.sh"), format!("echo fired >> '{}'\n", fired.display()))
        .context("add a module")?;
    let (code, text) = gated.run().await?;
    ensure!(!fired.exists(), "the added module ran: {text}");
    ensure!(code == Some(3) && text.contains("was not started"), "haft ended with {code:?}: {text}");
    ensure!(!gated.has_run(), "a tool ran without its gate: {text}");
    Ok(())
}

async fn tool_cannot_disable_gate(world: &mut World) -> Result<()> {
    let haft = sibling_binary("haft").display().to_string();
    // The second call removes the variable, and the third one leaves the session and the process group.
    let command = format!(
        "for way in env 'env -u HAFT_TOOL' 'env -u HAFT_TOOL setsid --wait'; do $way '{haft}' ext disable {EVIL}; \
         echo $? >> codes; done; touch ran"
    );
    let gated = GatedHome::with_command(world, "disable", &command)?.approve_gate()?;
    world.mark("disable")?;
    gated.expect_run().await?;
    let codes = fs::read_to_string(gated.home.work_dir().join("codes")).context("read the exit codes")?;
    ensure!(codes == "14\n14\n14\n", "the commands ended with {codes:?}");
    let file = gated.home.store().approved.load().context("read the lock file")?;
    let enabled = file.find(EVIL).is_some_and(|(_, entry)| entry.enabled);
    ensure!(enabled, "the gate is disabled");
    Ok(())
}
