//! Help, version, completions and manual page.

use crate::world::World;

#[test]
fn prints_long_help() {
    let ended = World::new().haft(&["--help"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    insta::assert_snapshot!(ended.stdout);
}

#[test]
fn prints_help_of_ext() {
    let ended = World::new().haft(&["ext", "--help"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    insta::assert_snapshot!(ended.stdout);
}

#[test]
fn prints_help_of_rpc() {
    let ended = World::new().haft(&["rpc", "--help"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    insta::assert_snapshot!(ended.stdout);
}

#[test]
fn prints_version() {
    let expect = format!("haft {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(World::new().haft(&["--version"]).stdout, expect);
}

#[test]
fn completions_contain_flags() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ended = World::new().haft(&["completions", shell]);
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
        assert!(ended.stdout.contains("append-system-prompt"), "{shell}");
    }
}

#[test]
fn manual_page_contains_examples_variables_and_exit_codes() {
    let ended = World::new().haft(&["man"]);
    assert_eq!(ended.code, 0);
    for part in [".TH haft 1", "HAFT_HOME", ".SH \"EXIT CODES\"\n.nf", "haft demo", "haft ext install"] {
        assert!(ended.stdout.contains(part), "{part} is missing");
    }
    assert!(!ended.stdout.contains("(1)"), "there are no other pages");
    assert!(ended.stdout.contains("\n  5    the model"), "tables keep their lines");
}

#[test]
fn completions_offer_values_instead_of_files() {
    let script = World::new().haft(&["completions", "bash"]).stdout;
    for values in ["anthropic openai", "default off minimal low medium high xhigh"] {
        assert!(script.contains(&format!("compgen -W \"{values}")), "{values} is missing");
    }
}

#[test]
fn version_is_printed_as_json() {
    for args in [["--version", "--json"], ["--json", "-V"]] {
        let printed = World::new().haft(&args);
        let version: serde_json::Value = serde_json::from_str(&printed.stdout).unwrap();
        assert_eq!(
            (&version["name"], &version["version"]),
            (&"haft".into(), &env!("CARGO_PKG_VERSION").into())
        );
        let target = version["target"].as_str().unwrap();
        assert!(target.starts_with(std::env::consts::ARCH) && printed.stdout.ends_with("}\n"), "{printed:?}");
    }
}
