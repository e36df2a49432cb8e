//! Archives, which haft never unpacks.

use anyhow::Result;

use super::{Attack, ExpectedOutcome, Scene};

const fn rejected_attack(name: &'static str, make: fn(&mut Scene) -> Result<String>) -> Attack {
    Attack { name, make, expect: ExpectedOutcome::Rejected("does not unpack archives") }
}

pub(crate) const ATTACKS: &[Attack] = &[
    rejected_attack("a small archive that unpacks to a large one", |scene| {
        make_archive(
            scene,
            "bomb.tar.gz",
            "head -c 64M /dev/zero > zeroes; tar czf \"$out\" zeroes; rm zeroes",
        )
    }),
    rejected_attack("an archive with absolute paths", |scene| {
        make_archive(scene, "gift.tar", "tar cPf \"$out\" \"$1\"")
    }),
    rejected_attack("an archive with paths that lead up", |scene| {
        make_archive(scene, "gift.tgz", "tar czf \"$out\" --transform 's,^,../../,' extension.json")
    }),
    rejected_attack("an archive with a link and a file below the link", |scene| {
        make_archive(
            scene,
            "gift.tar.xz",
            "ln -s / a; tar cf \"$out\" a extension.json --transform 's,^e,a/e,'",
        )
    }),
    // The next two entries are recognized by their names alone.
    rejected_attack("a zip by its name", |scene| {
        scene.write("work/gift.ZIP", "PK\u{3}\u{4}")?;
        Ok("gift.ZIP".into())
    }),
    rejected_attack("a missing archive", |_| Ok("gift.tar.zst".into())),
    rejected_attack("an archive by its address", |_| {
        Ok("https://127.0.0.1:9/gift/archive/main.tar.gz?download=1".into())
    }),
];

/// Creates an archive in the working directory with a shell script, which writes it to `$out`.
fn make_archive(scene: &mut Scene, name: &str, script: &str) -> Result<String> {
    let tree = scene.tree()?;
    scene.shell(&tree, &format!("set -e; out=$(cd ../work && pwd)/{name}; {script}"))?;
    Ok(name.to_owned())
}
