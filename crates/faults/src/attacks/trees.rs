//! Directories with content that must not be in an extension.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::{Attack, ExpectedOutcome, Scene};

/// A tree that a shell modifies; the shell runs in the tree.
macro_rules! tree {
    ($name:literal, $script:literal, $expect:expr) => {
        Attack {
            name: $name,
            make: |scene: &mut Scene| {
                let tree = scene.tree()?;
                scene.shell(&tree, concat!("set -e; ", $script))?;
                Ok(tree.display().to_string())
            },
            expect: $expect,
        }
    };
}

const LINK: ExpectedOutcome = ExpectedOutcome::Rejected("leads out of the extension");
const SPECIAL: ExpectedOutcome = ExpectedOutcome::Rejected("not a regular file or a directory");
const UNSEEN: ExpectedOutcome = ExpectedOutcome::Rejected("invisible");
const NAME: ExpectedOutcome = ExpectedOutcome::Rejected("`name` must be");
const MANY: ExpectedOutcome = ExpectedOutcome::Rejected("more than 20000 files");
const LARGE: ExpectedOutcome = ExpectedOutcome::Rejected("more than 200 MiB");

pub(crate) const ATTACKS: &[Attack] = &[
    tree!("a link to a file elsewhere", "ln -s /etc/passwd link", LINK),
    tree!("a link to a directory elsewhere", "ln -s / link", LINK),
    tree!("a link with a path that leads up", "mkdir a; ln -s ../../outside a/link", LINK),
    tree!("a link that leads up below another link", "mkdir a; ln -s . a/b; ln -s a/b/../../.. link", LINK),
    tree!("a manifest that is a link", "mv extension.json ../m; ln -s ../m extension.json", LINK),
    tree!("a pipe", "mkfifo pipe", SPECIAL),
    Attack {
        name: "a manifest that is a pipe",
        make: |scene| {
            let tree = scene.tree()?;
            scene.shell(&tree, "rm extension.json; mkfifo extension.json")?;
            Ok(tree.display().to_string())
        },
        expect: ExpectedOutcome::Rejected("not a regular file"),
    },
    Attack {
        name: "a socket",
        make: tree_with_socket,
        expect: ExpectedOutcome::IfMade("not a regular file or a directory"),
    },
    Attack {
        name: "a device",
        make: tree_with_device,
        expect: ExpectedOutcome::IfMade("not a regular file or a directory"),
    },
    tree!("control characters in a name", "touch \"$(printf 'a\\033[2Jb')\"", UNSEEN),
    tree!("a second line in a name", "touch \"$(printf 'a\\nextension.json')\"", UNSEEN),
    tree!("a name that reads backwards", "touch \"$(printf 'a\\342\\200\\256gpj.sh')\"", UNSEEN),
    Attack {
        name: "a name with invalid UTF-8",
        make: |scene| {
            let tree = scene.tree()?;
            // Some disks accept only valid UTF-8.
            let made = scene.shell(&tree, "touch \"$(printf 'a\\377')\"").is_ok();
            Ok(if made { tree.display().to_string() } else { String::new() })
        },
        expect: ExpectedOutcome::IfMade("not valid Unicode"),
    },
    Attack {
        name: "names that differ in case only",
        make: tree_with_case_twins,
        expect: ExpectedOutcome::IfMade("only in case"),
    },
    tree!("too many files", "mkdir d; cd d; seq 1 20001 | xargs touch", MANY),
    tree!("a sparse file of 10 GiB", "truncate -s 10G big", LARGE),
    tree!("many sparse files", "for i in $(seq 1 21); do truncate -s 10M $i; done", LARGE),
    tree!(
        "deeply nested directories",
        "for i in $(seq 1 40); do mkdir d; cd d; done",
        ExpectedOutcome::Rejected("nested more than 32 levels")
    ),
    tree!("a file that runs as its owner", "chmod 6755 run", ExpectedOutcome::Harmless(plain_modes)),
    tree!(
        "one file under two names",
        "ln run other; ln \"$1\" payload",
        ExpectedOutcome::Harmless(own_files)
    ),
    tree!(
        "repositories with hooks",
        "mkdir -p .git/hooks lib/.GIT/hooks; cp \"$1\" .git/hooks/post-checkout; cp \"$1\" lib/.GIT/hooks/post-checkout; \
         mkdir sub; echo 'gitdir: ../../x' > sub/.git",
        ExpectedOutcome::Harmless(no_repositories)
    ),
    tree!(
        "a manifest with a name that leads up",
        "echo '{\"name\":\"../up\",\"exec\":\"./run\"}' > extension.json",
        NAME
    ),
    tree!(
        "a manifest with the name of the lock file",
        "echo '{\"name\":\".lock\",\"exec\":\"./run\"}' > extension.json",
        NAME
    ),
];

fn tree_with_socket(scene: &mut Scene) -> Result<String> {
    use std::os::fd::AsRawFd as _;
    let tree = scene.tree()?;
    // The path of a socket has a length limit.
    let dir = fs::File::open(&tree).context("open the tree")?;
    let short = format!("/proc/self/fd/{}/socket", dir.as_raw_fd());
    let made = std::os::unix::net::UnixListener::bind(short).is_ok();
    Ok(if made { tree.display().to_string() } else { String::new() })
}

/// Only root can create a device, and not on every machine.
fn tree_with_device(scene: &mut Scene) -> Result<String> {
    let tree = scene.tree()?;
    let made = scene.shell(&tree, "mknod device c 1 5 2>/dev/null").is_ok();
    Ok(if made { tree.display().to_string() } else { String::new() })
}

/// Case-insensitive disks treat both as one name.
fn tree_with_case_twins(scene: &mut Scene) -> Result<String> {
    let tree = scene.tree()?;
    scene.shell(&tree, "mkdir d; touch d/Name d/name")?;
    let count = fs::read_dir(tree.join("d")).context("list the directory")?.count();
    Ok(if count == 2 { tree.display().to_string() } else { String::new() })
}

fn plain_modes(dir: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(dir.join("run")).context("read the mode of the program")?.permissions().mode();
    ensure!(mode & 0o7111 == 0o111, "the program has the mode {mode:o}");
    Ok(())
}

fn own_files(dir: &Path) -> Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    for name in ["run", "other", "payload"] {
        let links = fs::metadata(dir.join(name)).with_context(|| name.to_owned())?.nlink();
        ensure!(links == 1, "{name} has {links} hard links");
    }
    Ok(())
}

fn no_repositories(dir: &Path) -> Result<()> {
    ensure!(dir.join("lib").is_dir(), "the extension's files are missing");
    for name in [".git", "lib/.GIT", "sub/.git"] {
        ensure!(dir.join(name).symlink_metadata().is_err(), "{name} was copied");
    }
    Ok(())
}
