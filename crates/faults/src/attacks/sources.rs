//! Sources that git, ssh or curl would interpret as something other than an address.

use anyhow::Result;

use super::{Attack, ExpectedOutcome, Scene};

const fn rejected_attack(
    name: &'static str,
    make: fn(&mut Scene) -> Result<String>,
    why: &'static str,
) -> Attack {
    Attack { name, make, expect: ExpectedOutcome::Rejected(why) }
}

pub(crate) const ATTACKS: &[Attack] = &[
    rejected_attack(
        "a helper program as the address",
        |scene| {
            // The user's own repositories may need this protocol.
            scene.write_git_settings("[protocol \"ext\"]\n\tallow = always\n")?;
            Ok(format!("ext::{}", scene.payload()))
        },
        "names a program",
    ),
    rejected_attack("a test helper as the address", |_| Ok("testgit::/x".into()), "names a program"),
    rejected_attack("a setting as the address", setting, "use a directory"),
    rejected_attack(
        "an option as the address",
        |scene| Ok(format!("--upload-pack={}", scene.payload())),
        "use a directory",
    ),
    rejected_attack(
        "a short option as the address",
        |scene| Ok(format!("-u{}", scene.payload())),
        "use a directory",
    ),
    rejected_attack(
        "a template as the address",
        |scene| {
            scene.write_hook("template/hooks/post-checkout")?;
            Ok(format!("--template={}", scene.dir().join("template").display()))
        },
        "use a directory",
    ),
    rejected_attack("a repository by its file address", by_file, "write the directory itself"),
    rejected_attack("a bare repository by its path", bare_repository, "it is a bare repository"),
    rejected_attack(
        "an option of ssh as the host",
        |scene| Ok(format!("ssh://-oProxyCommand={}/x", scene.payload().replace('/', "%2f"))),
        "begins with `-`",
    ),
    rejected_attack(
        "an option of ssh after a user",
        |_| Ok("ssh://git@-oProxyCommand=x/y".into()),
        "begins with `-`",
    ),
    rejected_attack(
        "an option of ssh in the short form",
        |_| Ok("git@-oProxyCommand=x:y".into()),
        "begins with `-`",
    ),
    rejected_attack(
        "an option as the path",
        |_| Ok("git@localhost:--upload-pack=x".into()),
        "begins with `-`",
    ),
    rejected_attack("an address without encryption", |_| Ok("http://127.0.0.1:9/x".into()), "write https://"),
    rejected_attack("git's own protocol", |_| Ok("git://127.0.0.1:9/x".into()), "write https://"),
    rejected_attack(
        "a user with control characters",
        |_| Ok("https://a\u{1b}b@127.0.0.1:9/x".into()),
        "control characters",
    ),
    rejected_attack(
        "a second line in the address",
        |_| Ok("https://127.0.0.1:9/x\n-cx".into()),
        "control characters",
    ),
    rejected_attack(
        "an encoded second line",
        |_| Ok("https://127.0.0.1:9/x%0ahost=y".into()),
        "does not begin a valid escape",
    ),
    rejected_attack(
        "a password in the address",
        |_| Ok("https://a:b@127.0.0.1:9/x".into()),
        "contains a password",
    ),
    rejected_attack(
        "letters that look like others",
        |_| Ok("https://ex\u{430}mple.com/x".into()),
        "Punycode",
    ),
    rejected_attack(
        "a backslash before the host",
        |_| Ok("https://a.example\\@127.0.0.1:9/x".into()),
        "not allowed",
    ),
];

/// `git clone --depth 1 -ccore.sshCommand=… ssh://…` would run the command; here the option replaces the address.
fn setting(scene: &mut Scene) -> Result<String> {
    Ok(format!("-ccore.sshCommand={}", scene.payload()))
}

fn by_file(scene: &mut Scene) -> Result<String> {
    scene.make_repository("true")?;
    Ok(format!("file://{}", scene.dir().join("tree").display()))
}

fn bare_repository(scene: &mut Scene) -> Result<String> {
    scene.make_repository("git clone -q --bare . ../bare.git")?;
    Ok(scene.dir().join("bare.git").display().to_string())
}
