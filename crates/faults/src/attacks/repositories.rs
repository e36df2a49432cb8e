//! Repositories, settings and variables that make git run programs or write outside of the target directory.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::{Attack, ExpectedOutcome, Scene};

const fn harmless_attack(name: &'static str, make: fn(&mut Scene) -> Result<String>) -> Attack {
    Attack { name, make, expect: ExpectedOutcome::Harmless(plain_files) }
}

const fn refused_attack(name: &'static str, make: fn(&mut Scene) -> Result<String>) -> Attack {
    Attack { name, make, expect: ExpectedOutcome::NotCloned }
}

pub(crate) const ATTACKS: &[Attack] = &[
    harmless_attack("a hook in the user's template", |scene| {
        scene.write_hook("template/hooks/post-checkout")?;
        scene.write_git_settings(&format!(
            "[init]\n\ttemplateDir = {}\n",
            scene.dir().join("template").display()
        ))?;
        scene.make_repository("true")
    }),
    harmless_attack("a hook in a template of the environment", |scene| {
        scene.write_hook("template/hooks/post-checkout")?;
        let dir = scene.dir().join("template").display().to_string();
        scene.set("GIT_TEMPLATE_DIR", &dir);
        scene.make_repository("true")
    }),
    harmless_attack("hooks of the user", |scene| {
        scene.write_hook("hooks/post-checkout")?;
        scene.write_git_settings(&format!(
            "[core]\n\thooksPath = {}\n",
            scene.dir().join("hooks").display()
        ))?;
        scene.make_repository("true")
    }),
    harmless_attack("hooks by settings in the environment", |scene| {
        scene.write_hook("hooks/post-checkout")?;
        let hooks = scene.dir().join("hooks").display().to_string();
        let settings = [
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "core.hooksPath"),
            ("GIT_CONFIG_VALUE_0", &hooks),
        ];
        settings.iter().for_each(|(name, value)| scene.set(name, value));
        scene.make_repository("true")
    }),
    harmless_attack("a filter that the repository asks for", |scene| {
        let payload = scene.payload();
        scene.write_git_settings(&format!(
            "[filter \"gift\"]\n\tsmudge = {payload}\n\tprocess = {payload}\n"
        ))?;
        scene.make_repository("echo '* filter=gift' > .gitattributes")
    }),
    harmless_attack("a monitor of the file system", |scene| {
        scene.write_git_settings(&format!("[core]\n\tfsmonitor = {}\n", scene.payload()))?;
        scene.make_repository("true")
    }),
    harmless_attack("an address that the user's settings rewrite", |scene| {
        let payload = scene.payload();
        scene.write_git_settings(&format!(
            "[protocol \"ext\"]\n\tallow = always\n[url \"ext::{payload} \"]\n\tinsteadOf = ssh://\n"
        ))?;
        scene.make_repository("true")
    }),
    harmless_attack("a program that packs objects", |scene| {
        scene.write_git_settings(&format!("[uploadpack]\n\tpackObjectsHook = {}\n", scene.payload()))?;
        scene.make_repository("true")
    }),
    harmless_attack("a submodule that is a helper program", |scene| {
        scene.write_git_settings(
            "[protocol \"ext\"]\n\tallow = always\n[submodule]\n\trecurse = true\n\tactive = .\n",
        )?;
        scene.make_repository(
            "printf '[submodule \"s\"]\\n\\tpath = s\\n\\turl = ext::%s\\n' \"$1\" > .gitmodules; git add .gitmodules; \
             git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),s; git commit -m s; mkdir s",
        )
    }),
    harmless_attack("git's own programs from another directory", |scene| {
        for name in ["git-upload-pack", "git-index-pack", "git-checkout", "git-remote-https"] {
            scene.write_hook(&format!("programs/{name}"))?;
        }
        let dir = scene.dir().join("programs").display().to_string();
        scene.set("GIT_EXEC_PATH", &dir);
        scene.make_repository("true")
    }),
    harmless_attack("a git of the current directory", |scene| {
        for name in ["git", "ssh", "sh", "git-upload-pack"] {
            scene.write_hook(&format!("work/{name}"))?;
        }
        let url = scene.make_repository("true")?;
        scene.search_first(".");
        Ok(url)
    }),
    harmless_attack("hooks of the repository itself", |scene| {
        let url = scene.make_repository("true")?;
        for name in ["post-checkout", "pre-receive", "post-upload-pack", "fsmonitor-watchman"] {
            scene.write_hook(&format!("tree/.git/hooks/{name}"))?;
        }
        let config = format!(
            "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {0}\n[uploadpack]\n\tpackObjectsHook = {0}\n",
            scene.payload()
        );
        scene.write("tree/.git/config", &config)?;
        Ok(url)
    }),
    harmless_attack("links out of the repository", |scene| {
        scene
            .make_repository("ln -s /etc/passwd out; ln -s / root; ln -s ../../.. up; ln -s .git/hooks hooks")
    }),
    Attack {
        name: "a link and files below a name that differs in case",
        make: behind_a_link,
        expect: ExpectedOutcome::Rejected("only in case"),
    },
    refused_attack("a tree with a hook in .git", |scene| tree_named(scene, ".git")),
    refused_attack("a tree with a hook in .GIT", |scene| tree_named(scene, ".GIT")),
    refused_attack("a tree with a path that leads up", |scene| tree_named(scene, "..")),
    refused_attack("a command for ssh in the environment", |scene| {
        let payload = scene.payload();
        scene.set("GIT_SSH_COMMAND", &payload);
        scene.set("GIT_SSH", &payload);
        Ok("ssh://git@127.0.0.1:9/x".into())
    }),
    refused_attack("a command for ssh in the user's settings", |scene| {
        scene.write_git_settings(&format!("[core]\n\tsshCommand = {}\n", scene.payload()))?;
        Ok("git@localhost:x/y".into())
    }),
    refused_attack("a proxy program", |scene| {
        let payload = scene.payload();
        scene.set("GIT_PROXY_COMMAND", &payload);
        scene.write_git_settings(&format!(
            "[core]\n\tgitProxy = {payload}\n[credential]\n\thelper = {payload}\n"
        ))?;
        Ok("https://127.0.0.1:9/x".into())
    }),
    refused_attack("a repository without a commit", |scene| {
        let url = scene.make_repository("true")?;
        scene.shell(&scene.dir().join("tree"), "rm -rf .git; git init -q -b main .")?;
        Ok(url)
    }),
];

/// Small repositories that are large when checked out. Git has no limit for this.
pub(crate) const BOMBS: &[Attack] = &[refused_attack(
    "a repository with a hundred thousand files",
    |scene| {
        scene.make_repository(
            "t=$(git hash-object -w extension.json); k='100644 blob'; for level in 1 2 3 4 5; do \
             t=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf '%s %s\\t%s\\n' \"$k\" $t $i; done | git mktree); k='040000 tree'; \
             done; git update-ref HEAD $(git commit-tree -m x $t); git reset --mixed HEAD >/dev/null; exit 0",
        )
    },
)];

/// Checks that only the files of the commit were installed: no links, and nothing of git.
fn plain_files(dir: &Path) -> Result<()> {
    ensure!(dir.join("extension.json").is_file(), "the manifest is missing");
    for entry in fs::read_dir(dir).context("list the installed files")?.flatten() {
        let kind = entry.file_type().context("read the type of a file")?;
        ensure!(!kind.is_symlink(), "{} is a link", entry.path().display());
        ensure!(entry.file_name() != ".git", "the installed extension has a .git entry");
    }
    Ok(())
}

/// On a case-insensitive disk, git would create the link first and write the file through it.
fn behind_a_link(scene: &mut Scene) -> Result<String> {
    scene.make_repository(
        "b=$(git hash-object -w extension.json); l=$(printf .git/hooks | git hash-object -w --stdin); \
         d=$(printf '100755 blob %s\\tpost-checkout\\n' $b | git mktree); \
         t=$(printf '040000 tree %s\\tA\\n120000 blob %s\\ta\\n100644 blob %s\\textension.json\\n' $d $l $b | git mktree); \
         git update-ref HEAD $(git commit-tree -m x $t); git reset --hard HEAD",
    )
}

/// Creates a commit whose tree has a directory of this name with a hook in it; `git mktree` rejects such names.
fn tree_named(scene: &mut Scene, name: &str) -> Result<String> {
    scene.make_repository(&format!(
        "octets() {{ printf \"$(printf %s $1 | sed 's/../\\\\\\\\x&/g')\"; }}; \
         b=$(git hash-object -w \"$1\"); m=$(git rev-parse HEAD:extension.json); \
         h=$( {{ printf '100755 post-checkout\\0'; octets $b; }} | git hash-object -t tree --literally -w --stdin); \
         d=$( {{ printf '40000 hooks\\0'; octets $h; }} | git hash-object -t tree --literally -w --stdin); \
         t=$( {{ printf '40000 {name}\\0'; octets $d; printf '100644 extension.json\\0'; octets $m; }} \
              | git hash-object -t tree --literally -w --stdin); \
         git update-ref HEAD $(git commit-tree -m x $t); exit 0"
    ))
}
