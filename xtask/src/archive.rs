//! The archive of a release for this Linux machine, with the contents that `dist-workspace.toml` declares.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{ci, repo};

/// The files and folders of an archive: two programs, papers of the repository, and the folders of [`write_pages`].
pub(crate) const CONTENTS: [&str; 8] = [
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "completions",
    "haft",
    "haft-launcher",
    "man",
];

/// The shells with completions, each with the file name that it expects.
const COMPLETIONS: [(&str, &str); 5] = [
    ("bash", "haft.bash"),
    ("elvish", "haft.elv"),
    ("fish", "haft.fish"),
    ("powershell", "_haft.ps1"),
    ("zsh", "_haft"),
];

/// The last sentence of `haft demo`.
const DEMO_END: &str = "The guard refused to delete the build directory";

/// Builds the programs, writes the archive, and runs `haft demo` from it in an empty root.
///
/// # Errors
/// If the programs do not build, or the demo does not play to its end.
pub(crate) fn run() -> Result<()> {
    let Some(target) = find_target()? else { return Ok(()) };
    build_programs(&target)?;
    let built = repo::target_dir()?.join(&target).join("dist");
    write_pages(&built.join("haft"))?;
    let folder = empty_folder(&repo::target_dir()?.join("archive"))?;
    let archive = pack_archive(&folder, &built, &format!("haft-{target}"))?;
    let size = fs::metadata(&archive).context("read the archive")?.len();
    println!("{}: {size} bytes", archive.display());
    play_demo(&archive, &empty_folder(&folder.join("root"))?)
}

/// Builds haft for this machine and writes the man page and the completions to `target/pages`, for `dist`.
///
/// # Errors
/// If haft does not build, or a page cannot be written.
pub(crate) fn run_pages() -> Result<()> {
    ci::cargo_run(&["build", "--package", "haft", "--bin", "haft"])?;
    write_pages(&repo::built_binary("debug", "haft")?)
}

/// Returns the target whose programs need no shared library, if it is installed.
fn find_target() -> Result<Option<String>> {
    if std::env::consts::OS != "linux" {
        println!("SKIP archive: only on Linux");
        return Ok(None);
    }
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    if !repo::has_target(&target)? {
        println!("SKIP archive: run `rustup target add {target}`");
        return Ok(None);
    }
    Ok(Some(target))
}

fn build_programs(target: &str) -> Result<()> {
    let args = ["build", "--locked", "--profile", "dist", "--package", "haft", "--target", target];
    let mut cargo = repo::cargo();
    if !repo::has_program("musl-gcc") {
        // The C code of the dependencies needs no header of a C library.
        cargo.env(format!("CC_{}", target.replace('-', "_")), "cc");
    }
    ci::finish(cargo.args(args), &args.join(" "))
}

/// Writes what `haft man` and `haft completions` print.
fn write_pages(haft: &Path) -> Result<()> {
    let pages = empty_folder(&repo::target_dir()?.join("pages"))?;
    let write = |file: &Path, args: &[&str]| {
        let output = repo::command(&haft.to_string_lossy()).args(args).output();
        let output = output.with_context(|| format!("run {}", haft.display()))?;
        if !output.status.success() || output.stdout.is_empty() {
            bail!("haft {}: {}", args.join(" "), output.status);
        }
        fs::write(file, output.stdout).with_context(|| format!("write {}", file.display()))
    };
    let [completions, man] = ["completions", "man"].map(|name| pages.join(name));
    for folder in [&completions, &man] {
        fs::create_dir(folder).with_context(|| format!("create {}", folder.display()))?;
    }
    write(&man.join("haft.1"), &["man"])?;
    COMPLETIONS.iter().try_for_each(|(shell, file)| write(&completions.join(file), &["completions", shell]))
}

/// Packs the programs, papers and pages below a folder `name`, and returns the archive.
fn pack_archive(folder: &Path, built: &Path, name: &str) -> Result<PathBuf> {
    let staged = folder.join(name);
    fs::create_dir(&staged).with_context(|| format!("create {}", staged.display()))?;
    let pages = repo::target_dir()?.join("pages");
    let contents = CONTENTS.iter().map(|name| match *name {
        "haft" | "haft-launcher" => built.join(name),
        "completions" | "man" => pages.join(name),
        _ => repo::root().join(name),
    });
    run_tool(repo::command("cp").arg("-r").args(contents).arg(&staged))?;
    let archive = folder.join(format!("{name}.tar.gz"));
    run_tool(repo::command("tar").arg("-czf").arg(&archive).arg("-C").arg(folder).arg(name))?;
    Ok(archive)
}

/// Unpacks the archive into the empty folder `root`, and plays the demo with this folder as the root of all files.
fn play_demo(archive: &Path, root: &Path) -> Result<()> {
    run_tool(repo::command("tar").arg("-xzf").arg(archive).arg("-C").arg(root).arg("--strip-components=1"))?;
    // The kernel fills two of them; a program may need the third.
    for folder in ["dev", "proc", "tmp"] {
        fs::create_dir(root.join(folder)).with_context(|| format!("create {folder}"))?;
    }
    let Some(mut demo) = command_in_root(root, &["/haft", "demo"]) else {
        println!("SKIP archive: an empty root needs bwrap, or namespaces for users");
        return Ok(());
    };
    let output = demo.output().context("start the demo")?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || !text.contains(DEMO_END) {
        bail!("haft demo: {}\n{text}{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    println!("haft demo ran in an empty root");
    Ok(())
}

/// Returns a command that runs in a root with no other files than those of `root`, and without a network.
fn command_in_root(root: &Path, args: &[&str]) -> Option<Command> {
    const MOUNT: &str = "mount -t proc proc \"$0/proc\" && mount --rbind /dev \"$0/dev\"";
    if repo::has_program("bwrap") {
        let mut bwrap = bare_command("bwrap");
        bwrap.arg("--bind").arg(root).args(["/", "--proc", "/proc", "--dev", "/dev", "--unshare-all"]);
        bwrap.args(["--die-with-parent", "--"]).args(args);
        return Some(bwrap);
    }
    let unshare = |script: &str| {
        let mut unshare = bare_command("unshare");
        unshare.args(["--map-root-user", "--mount", "--net", "--pid", "--fork", "--kill-child"]);
        unshare.args(["sh", "-c", script]).arg(root);
        unshare
    };
    let can_mount = unshare(MOUNT).stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    let mut command = unshare(&format!("{MOUNT} && exec chroot \"$0\" \"$@\""));
    can_mount.then(|| {
        command.args(args);
        command
    })
}

/// Returns a command without the variables of this process, except the one that finds the command.
fn bare_command(program: &str) -> Command {
    let mut command = repo::command(program);
    command.env_clear().stdin(Stdio::null());
    command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command
}

fn run_tool(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("start {command:?}"))?;
    if !status.success() {
        bail!("{command:?}: {status}");
    }
    Ok(())
}

/// Replaces the folder by an empty one.
fn empty_folder(folder: &Path) -> Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    Ok(folder.to_owned())
}
