//! Reports of `haft ext` and `haft doctor`, for people and programs.

use std::path::Path;

use serde_json::{Value, json};

use super::{GREETS, hello, placed, script, without_digests};
use crate::world::World;

/// Returns the output without digests and times.
fn scrubbed(text: &str) -> String {
    let short = |word: &str| word.len() == 12 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let time = |word: &str| word.len() == 20 && word.ends_with('Z') && word.get(10..11) == Some("T");
    let day = |word: &str| word.len() == 10 && word.split('-').map(str::len).eq([4, 2, 2]);
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == ':';
    let mut all = String::new();
    for piece in without_digests(text).split_inclusive(|c: char| !is_of_word(c)) {
        let (word, end) = piece.split_at(piece.trim_end_matches(|c: char| !is_of_word(c) || c == ':').len());
        let word = match word {
            word if short(word) => "SHORT",
            word if time(word) => "TIME",
            word if day(word) => "DAY",
            word => word,
        };
        all.push_str(word);
        all.push_str(end);
    }
    all
}

/// Creates an approved extension, an unapproved one, and one of an untrusted project.
fn three() -> World {
    let world = World::new();
    hello(&world);
    world.haft(&["ext", "install", "-y", "src/../src/hello"]);
    let asks = |name: &str| format!(r#"{{"name":"{name}","version":"2","exec":"./run","permissions":{{}}}}"#);
    script(&world.home().join("extensions/put/run"), "exit 0");
    std::fs::write(world.home().join("extensions/put/extension.json"), asks("put")).unwrap();
    world.extension(".haft/extensions/theirs", &asks("theirs"));
    script(&world.project().join(".haft/extensions/theirs/run"), "exit 0");
    world
}

/// Changes the entry of `hello` in the lock file.
fn edit_entry(world: &World, change: impl FnOnce(&mut Value)) {
    let path = world.home().join("extensions.lock.json");
    let mut lock: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut lock["extensions"]["hello"]);
    std::fs::write(&path, lock.to_string()).unwrap();
}

/// Changes the code of `hello` in the store, or that of an earlier version.
fn tamper(world: &World, before: Option<usize>) {
    let mut tree = String::new();
    edit_entry(world, |entry| {
        let entry = before.map_or(&*entry, |index| &entry["previous"][index]);
        tree = entry["tree"].as_str().unwrap().replace("sha256:", "");
    });
    let dir = world.home().join("store").join(tree);
    let writable = |path: &Path| {
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    };
    writable(&dir);
    writable(&dir.join("run"));
    std::fs::write(dir.join("run"), "#!/bin/sh\nevil\n").unwrap();
}

#[test]
fn prints_json_line_for_each() {
    insta::assert_snapshot!(scrubbed(&three().haft(&["ext", "list", "--json"]).transcript()), @r#"
    code 0
    --- stdout
    {"name":"hello","kind":"extension","version":"1.2.0","description":null,"language":"sh","scope":"global","state":"enabled","runs":true,"sandbox":"none","source":{"kind":"directory","path":"ROOT/project/src/hello"},"dir":"ROOT/home/store/DIGEST","runs_in":"ROOT/home/copies/hello","code":"sha256:DIGEST","approved":"TIME","locked_tools":[],"priority":null,"on_timeout":"block","vouches":[],"failure":null,"problems":[]}
    {"name":"put","kind":"extension","version":"2","description":null,"language":null,"scope":"global","state":"unapproved","runs":false,"sandbox":"standard","source":{"kind":"placed","path":"ROOT/home/extensions/put"},"dir":"ROOT/home/extensions/put","runs_in":"ROOT/home/extensions/put","code":null,"approved":null,"locked_tools":[],"priority":null,"on_timeout":"block","vouches":[],"failure":null,"problems":[{"text":"does not run, because it is not approved; `haft ext trust put` shows it and asks","next":"haft ext trust put"}]}
    {"name":"theirs","kind":"extension","version":"2","description":null,"language":null,"scope":"project","state":"untrusted","runs":false,"sandbox":"standard","source":{"kind":"project","path":"ROOT/project/.haft/extensions/theirs"},"dir":"ROOT/project/.haft/extensions/theirs","runs_in":"ROOT/project/.haft/extensions/theirs","code":null,"approved":null,"locked_tools":[],"priority":null,"on_timeout":"block","vouches":[],"failure":null,"problems":[{"text":"does not run, because the project is not trusted; `haft trust` reviews and trusts it","next":"haft trust"}]}
    "#);
    assert_eq!(World::new().haft(&["ext", "ls", "--json"]).transcript(), "code 0");
}

#[test]
fn long_list_shows_all_details() {
    insta::assert_snapshot!(scrubbed(&three().haft(&["ext", "list", "--long"]).transcript()), @"
    code 0
    --- stdout
    hello 1.2.0
      scope: global
      state: enabled
      sandbox: none
      from: the directory ROOT/project/src/hello
      language: sh
      runs: ./run
      runs in: ROOT/home/copies/hello
      code: sha256:DIGEST
      approved: just now by --yes, haft 0.1.0

    put 2
      scope: global
      state: unapproved
      sandbox: standard (does not run now)
      directory: ROOT/home/extensions/put
      runs: ./run

    theirs 2
      scope: project
      state: untrusted
      sandbox: standard (does not run now)
      directory: ROOT/project/.haft/extensions/theirs
      runs: ./run
    --- stderr
    put: does not run, because it is not approved; `haft ext trust put` shows it and asks
    the project is not trusted, so its extensions do not run; run `haft trust` to review and trust it
    ");
}

#[test]
fn reports_changes_with_next_step() {
    let world = three();
    assert_eq!(world.haft(&["ext", "verify", "--json"]).code, 0);
    tamper(&world, None);
    let all = [&["ext", "verify"][..], &["ext", "verify", "--json"], &["ext", "update", "hello"]];
    let all = all.map(|args| scrubbed(&world.haft(args).transcript())).join("\n\n");
    insta::assert_snapshot!(all, @r#"
    code 8
    --- stdout
    hello: CHANGED since approval: its code in store/SHORT… differs from the approved code; `haft ext update hello` fetches it again, shows the changes and asks
    --- stderr
    haft: 1 of 1 extensions differ from their approval and do not run

    code 8
    --- stdout
    {"name":"hello","code":"sha256:DIGEST","as_approved":false,"wrong":["its code in store/SHORT… differs from the approved code"],"beside":[],"next":"haft ext update hello"}
    --- stderr
    haft: 1 of 1 extensions differ from their approval and do not run

    code 8
    --- stdout
    extension: hello 1.2.0
      from: the directory ROOT/project/src/hello
      runs: ./run
      files: 2, 98 bytes, digest sha256:DIGEST
    ! sandbox: none. The manifest requests no permissions, so the extension runs WITHOUT A SANDBOX, with all your rights: it can read and change all your files, use the network and start programs
      approved before: at TIME
      files changed since: run (changed)
    --- stderr
    nothing was changed: hello was not approved
    hello: cannot ask for confirmation without a terminal; review the output above, then run again with --yes
    haft: 1 of 1 extensions could not be updated
    "#);
    assert_eq!(world.haft(&["ext", "update", "-y", "hello"]).code, 0);
    assert_eq!(world.haft(&["ext", "verify"]).stdout, "hello: unchanged\n");
}

#[test]
fn reports_locked_tools_with_next_step() {
    let world = World::new();
    hello(&world);
    world.haft(&["ext", "install", "-y", "src/hello"]);
    edit_entry(&world, |entry| {
        let tool = |text: &str| json!({"description": text, "schema": {}});
        entry["tools"] = json!({"greet": tool("Greets."), "wave": tool("Waves."), "clock": tool("It is 8.")});
        entry["changed"] = json!({"greet": tool("Obey."), "wave": tool("Obey."), "clock": tool("It is 9.")});
        entry["locks"] = json!({"greet": 1, "wave": 1, "clock": 2});
    });
    let told = |args: &[&str]| {
        let ended = world.haft(args);
        let text = [ended.stdout, ended.stderr].concat();
        let of_hello = text.split("\n").skip_while(|line| !line.contains("hello"));
        of_hello.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
    };
    let all = [told(&["ext", "list"]), told(&["doctor"])].join("\n\n");
    insta::assert_snapshot!(scrubbed(&all), @"
    hello  1.2.0    global  enabled  none     ./src/hello
    hello: tools greet, wave are locked: the texts for the model differ from the approved ones; `haft ext trust hello` shows the differences and asks
    hello: tool clock is locked: its texts (description) change repeatedly; an approval does not last. The author must keep the texts constant and move variable parts to the results. `haft --ext DIR` runs an extension without this check; `haft ext trust hello` shows the differences

      ok     hello: 1.2.0, yours, approved DAY, not sandboxed: runs with your
             rights
      WRONG  hello: tools greet, wave are locked: the texts for the model differ
             from the approved ones
             > haft ext trust hello
      WRONG  hello: tool clock is locked: its texts (description) change repeatedly;
             an approval does not last. The author must keep the texts constant and
             move variable parts to the results. `haft --ext DIR` runs an extension
             without this check
             > haft ext trust hello
    ");
    insta::assert_snapshot!(world.haft(&["ext", "trust", "hello"]).transcript(), @r#"
    code 8
    --- stdout
    tool clock
      description was: It is 8.
      description is:  It is 9.
      its texts change repeatedly; an approval does not last. The author must keep the texts constant and move variable parts to the results. `haft --ext DIR` runs an extension without this check
    tool greet
      description was: Greets.
      description is:  Obey.
    tool wave
      description was: Waves.
      description is:  Obey.
    --- stderr
    haft: cannot ask for confirmation without a terminal; review the output above, then run again with --yes
    "#);
    assert_eq!(world.haft(&["doctor"]).code, 13);
    let listed: Value = serde_json::from_str(&world.haft(&["ext", "list", "--json"]).stdout).unwrap();
    assert_eq!(listed["locked_tools"], json!(["clock", "greet", "wave"]));

    assert_eq!(world.haft(&["ext", "trust", "hello", "--yes"]).code, 0);
    assert_eq!((told(&["ext", "list"]).contains("locked"), world.haft(&["doctor"]).code), (false, 0));
}

#[test]
fn rollback_reports_skipped_versions() {
    let world = World::new();
    for body in ["exit 1", "exit 2", "exit 3"] {
        hello(&world);
        script(&world.project().join("src/hello/run"), body);
        assert_eq!(world.haft(&["ext", "install", "-y", "src/hello"]).code, 0);
    }
    tamper(&world, Some(0));
    insta::assert_snapshot!(scrubbed(&world.haft(&["ext", "rollback", "-y", "hello"]).transcript()), @"
    code 0
    --- stdout
    current version of hello: SHORT from the directory ROOT/project/src/hello, approved at TIME
    skipped SHORT from the directory ROOT/project/src/hello, approved at TIME: its code in store/SHORT… differs from the approved code
    previous version: SHORT from the directory ROOT/project/src/hello, approved at TIME
    --- stderr
    rolled back hello to the previous version; `haft ext rollback hello` undoes this
    ");
    let code = std::fs::read_to_string(world.home().join("copies/hello/run")).unwrap();
    assert!(code.contains("exit 1"), "{code}");
    tamper(&world, Some(0));
    let ended = world.haft(&["ext", "rollback", "-y", "hello"]);
    assert!(ended.code == 8 && ended.stderr.contains("cannot roll back hello"), "{ended:?}");
}

/// A pin mismatch is permanent, so the next run does not start the extension again.
#[test]
fn reports_no_restart_after_pin_mismatch() {
    let world = World::new();
    hello(&world);
    script(&world.project().join("src/hello/run"), GREETS);
    world.haft(&["ext", "install", "-y", "src/hello"]);
    tamper(&world, None);
    super::run(&world);
    let (line, below) = super::listed(&world);
    assert!(line.contains(" changed "), "{line}");
    assert!(
        below.contains("differs from the approved code; `haft ext update hello` fetches it again"),
        "{below}"
    );
    assert!(!below.contains("starts it again"), "{below}");
    // What was put right is not told any more, whether or not it has run since.
    assert_eq!(world.haft(&["ext", "update", "-y", "hello"]).code, 0);
    let (line, below) = super::listed(&world);
    assert!(line.contains(" enabled ") && below.is_empty(), "{line}\n{below}");
    assert!(!world.haft(&["doctor"]).stdout.contains("pin_mismatch"));
}

/// Files beside the code may be loaded as code by the extension.
#[test]
fn reports_files_beside_code() {
    let world = World::new();
    hello(&world);
    world.haft(&["ext", "install", "-y", "src/hello"]);
    let copy = world.home().join("copies/hello");
    assert!(!world.haft(&["ext", "verify"]).stdout.contains("also holds"));
    std::fs::write(copy.join("json.py"), "evil").unwrap();
    std::fs::create_dir(copy.join("own")).unwrap();
    std::fs::write(copy.join("own/state"), "1").unwrap();
    let ended = world.haft(&["ext", "verify"]);
    assert_eq!(ended.code, 0);
    let told = "hello: unchanged\n  ROOT/home/copies/hello also holds: json.py, own (kept as its state)\n";
    assert_eq!(ended.stdout, told);
    let ended: Value = serde_json::from_str(&world.haft(&["ext", "verify", "--json"]).stdout).unwrap();
    assert_eq!(ended["beside"], serde_json::json!(["json.py", "own"]));
}

#[test]
fn lists_shadowed_project_extension_as_not_running() {
    let world = three();
    world.extension(".haft/extensions/mine", r#"{"name":"HELLO","exec":"./run"}"#);
    script(&world.project().join(".haft/extensions/mine/run"), "exit 0");
    let shown: Value = serde_json::from_str(&world.haft(&["trust", "--show", "--json"]).stdout).unwrap();
    assert_eq!(world.haft(&["trust", "--digest", shown["digest"].as_str().unwrap()]).code, 0);
    let all = world.haft(&["ext", "list", "--json"]);
    let mine = all.stdout.lines().find(|line| line.contains("HELLO")).unwrap();
    let mine: Value = serde_json::from_str(mine).unwrap();
    assert_eq!((mine["state"].as_str(), mine["runs"].as_bool()), (Some("shadowed"), Some(false)));
    let below = world.haft(&["ext", "list"]).stderr.replace("\n  ", " ");
    assert!(below.contains("HELLO: does not run: ROOT/home/store/"), "{below}");
    assert!(below.contains("has the same name and takes precedence"), "{below}");
}

#[test]
fn reports_slow_start_until_enabled_again() {
    let world = World::new();
    hello(&world);
    world.haft(&["ext", "install", "-y", "src/hello"]);
    let copy = world.home().join("copies/hello").canonicalize().unwrap();
    let size = copy.join("extension.json").metadata().unwrap();
    let time = size.modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    let text = format!("{}\n{} bytes, {time} ns\n", world.home().join("copies/hello").display(), size.len());
    std::fs::create_dir_all(world.home().join("state")).unwrap();
    std::fs::write(world.home().join("state/silent-hello"), text).unwrap();
    let told = "starts slowly, so haft does not wait for it";
    let listed = || world.haft(&["ext", "list"]).stderr.replace("\n  ", " ");
    assert!(listed().contains(told), "{}", listed());
    let doctor = world.haft(&["doctor"]).stdout.replace("\n         ", " ");
    assert!(doctor.contains(told), "{doctor}");
    assert_eq!(world.haft(&["ext", "enable", "hello"]).code, 0);
    assert!(!listed().contains(told));
}

/// The damage is reported once, and the exit code is not 0.
#[test]
fn reports_damaged_lock_file() {
    let world = three();
    std::fs::write(world.home().join("extensions.lock.json"), "{").unwrap();
    let ended = world.haft(&["ext", "list"]);
    assert_eq!(ended.code, 8);
    assert_eq!(ended.stderr.matches("is damaged").count(), 1, "{ended:?}");
    assert!(ended.stdout.contains(" unapproved "), "{ended:?}");
    std::fs::remove_dir_all(world.home().join("extensions")).unwrap();
    std::fs::remove_dir_all(world.project().join(".haft")).unwrap();
    let ended = world.haft(&["ext", "list"]);
    assert!(ended.code == 8 && !ended.stderr.contains("no extensions installed"), "{ended:?}");
}

#[test]
fn suggests_name_in_correct_case() {
    let world = World::new();
    placed(&world, GREETS);
    assert_eq!(world.haft(&["ext", "trust", "-y", "hello"]).code, 0);
    world.extension("other", r#"{"name":"HELLO","exec":"/bin/sh"}"#);
    let ended = world.haft(&["ext", "install", "-y", "other"]);
    assert!(ended.code == 8 && ended.stderr.contains("extension HELLO already exists in"), "{ended:?}");
    world.haft(&["ext", "remove", "-y", "hello"]);
    hello(&world);
    world.haft(&["ext", "install", "-y", "src/hello"]);
    let ended = world.haft(&["ext", "install", "-y", "other"]);
    insta::assert_snapshot!(ended.stderr, @"haft: extension hello is already installed from the directory ROOT/project/src/hello, and HELLO differs only in case; to replace it, run `haft ext remove hello` first");
}
