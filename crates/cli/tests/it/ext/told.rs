//! What `haft ext` and `haft doctor` say of what is there, to people and to programs.

use std::path::Path;

use serde_json::{Value, json};

use super::{GREETS, hello, placed, script, without_digests};
use crate::world::World;

/// The same without digests and times, however short.
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

/// One that is approved, one that is not, and one of a project that nobody trusts.
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

/// Changes what the lock file says of `hello`.
fn edit_entry(world: &World, change: impl FnOnce(&mut Value)) {
    let path = world.home().join("extensions.lock.json");
    let mut lock: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut lock["extensions"]["hello"]);
    std::fs::write(&path, lock.to_string()).unwrap();
}

/// The code of `hello` in the store, or of one before it, is something else from now on.
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
fn programs_read_a_line_for_each() {
    insta::assert_snapshot!(scrubbed(&three().haft(&["ext", "list", "--json"]).transcript()), @r#"
    code 0
    --- stdout
    {"name":"hello","kind":"extension","version":"1.2.0","description":null,"language":"sh","scope":"global","state":"enabled","runs":true,"sandbox":"none","source":{"kind":"directory","path":"ROOT/project/src/hello"},"dir":"ROOT/home/store/DIGEST","runs_in":"ROOT/home/copies/hello","code":"sha256:DIGEST","approved":"TIME","locked_tools":[],"priority":null,"on_timeout":"block","vouches":[],"failure":null,"problems":[]}
    {"name":"put","kind":"extension","version":"2","description":null,"language":null,"scope":"global","state":"unapproved","runs":false,"sandbox":"standard","source":{"kind":"placed","path":"ROOT/home/extensions/put"},"dir":"ROOT/home/extensions/put","runs_in":"ROOT/home/extensions/put","code":null,"approved":null,"locked_tools":[],"priority":null,"on_timeout":"block","vouches":[],"failure":null,"problems":[{"text":"is not run, because it was not approved; `haft ext trust put` shows it, and asks","next":"haft ext trust put"}]}
    {"name":"theirs","kind":"extension","version":"2","description":null,"language":null,"scope":"project","state":"untrusted","runs":false,"sandbox":"standard","source":{"kind":"project","path":"ROOT/project/.haft/extensions/theirs"},"dir":"ROOT/project/.haft/extensions/theirs","runs_in":"ROOT/project/.haft/extensions/theirs","code":null,"approved":null,"locked_tools":[],"priority":null,"on_timeout":"block","vouches":[],"failure":null,"problems":[{"text":"is not run, because the project is not trusted; `haft trust` shows and allows it","next":"haft trust"}]}
    "#);
    assert_eq!(World::new().haft(&["ext", "ls", "--json"]).transcript(), "code 0");
}

#[test]
fn all_that_is_known_is_shown_where_it_is_asked_for() {
    insta::assert_snapshot!(scrubbed(&three().haft(&["ext", "list", "--long"]).transcript()), @r#"
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
      approved: TIME by --yes, haft 0.1.0

    put 2
      scope: global
      state: unapproved
      sandbox: not run; standard, once it is
      lies in: ROOT/home/extensions/put
      runs: ./run

    theirs 2
      scope: project
      state: untrusted
      sandbox: not run; standard, once it is
      lies in: ROOT/project/.haft/extensions/theirs
      runs: ./run
    --- stderr
    put: is not run, because it was not approved; `haft ext trust put` shows it, and asks
    untrusted: the project's extensions do not run; `haft trust` shows and allows them
    "#);
}

#[test]
fn what_is_not_as_it_was_comes_with_the_next_step() {
    let world = three();
    assert_eq!(world.haft(&["ext", "verify", "--json"]).code, 0);
    tamper(&world, None);
    let all = [&["ext", "verify"][..], &["ext", "verify", "--json"], &["ext", "update", "hello"]];
    let all = all.map(|args| scrubbed(&world.haft(args).transcript())).join("\n\n");
    insta::assert_snapshot!(all, @r#"
    code 8
    --- stdout
    hello: NOT as approved: its code in store/SHORT… differs from the approved code; `haft ext update hello` fetches it again, shows it, and asks
    --- stderr
    haft: 1 of 1 are not as they were approved, and are not run

    code 8
    --- stdout
    {"name":"hello","code":"sha256:DIGEST","as_approved":false,"wrong":["its code in store/SHORT… differs from the approved code"],"beside":[],"next":"haft ext update hello"}
    --- stderr
    haft: 1 of 1 are not as they were approved, and are not run

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
    hello: nobody to ask; look at what is shown, then use --yes
    haft: 1 of 1 could not be updated
    "#);
    assert_eq!(world.haft(&["ext", "update", "-y", "hello"]).code, 0);
    assert_eq!(world.haft(&["ext", "verify"]).stdout, "hello: as approved\n");
}

#[test]
fn locked_tools_are_named_with_what_helps() {
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
    insta::assert_snapshot!(scrubbed(&all), @r#"
    hello  1.2.0    global  enabled  none     ./src/hello
    hello: tools greet, wave are locked: the model would be told something else than was approved; `haft ext trust hello` shows the difference, and asks
    hello: tool clock is locked: its texts (description) change again and again, so agreeing does not last; its author has to keep them the same, and put what differs into results. `haft --ext DIR` runs an extension without holding it to its texts; `haft ext trust hello` shows the difference

      ok     hello: 1.2.0, yours, approved DAY, no sandbox: it has your
             rights
      WRONG  hello: tools greet, wave are locked: the model would be told something
             else than was approved
             > haft ext trust hello
      WRONG  hello: tool clock is locked: its texts (description) change again and
             again, so agreeing does not last; its author has to keep them the same,
             and put what differs into results. `haft --ext DIR` runs an extension
             without holding it to its texts
             > haft ext trust hello
    "#);
    insta::assert_snapshot!(world.haft(&["ext", "trust", "hello"]).transcript(), @r#"
    code 8
    --- stdout
    tool clock
      description was: It is 8.
      description is:  It is 9.
      its texts change again and again, so agreeing does not last; its author has to keep them the same, and put what differs into results. `haft --ext DIR` runs an extension without holding it to its texts
    tool greet
      description was: Greets.
      description is:  Obey.
    tool wave
      description was: Waves.
      description is:  Obey.
    --- stderr
    haft: nobody to ask; look at what is shown, then use --yes
    "#);
    assert_eq!(world.haft(&["doctor"]).code, 13);
    let listed: Value = serde_json::from_str(&world.haft(&["ext", "list", "--json"]).stdout).unwrap();
    assert_eq!(listed["locked_tools"], json!(["clock", "greet", "wave"]));

    assert_eq!(world.haft(&["ext", "trust", "hello", "--yes"]).code, 0);
    assert_eq!((told(&["ext", "list"]).contains("locked"), world.haft(&["doctor"]).code), (false, 0));
}

#[test]
fn going_back_says_what_it_passes_over() {
    let world = World::new();
    for body in ["exit 1", "exit 2", "exit 3"] {
        hello(&world);
        script(&world.project().join("src/hello/run"), body);
        assert_eq!(world.haft(&["ext", "install", "-y", "src/hello"]).code, 0);
    }
    tamper(&world, Some(0));
    insta::assert_snapshot!(scrubbed(&world.haft(&["ext", "rollback", "-y", "hello"]).transcript()), @r#"
    code 0
    --- stdout
    hello is now SHORT from the directory ROOT/project/src/hello, approved at TIME
    passed over SHORT from the directory ROOT/project/src/hello, approved at TIME: its code in store/SHORT… differs from the approved code
    it would be SHORT from the directory ROOT/project/src/hello, approved at TIME
    --- stderr
    went back to the older version of hello; `haft ext rollback hello` undoes that
    "#);
    let code = std::fs::read_to_string(world.home().join("copies/hello/run")).unwrap();
    assert!(code.contains("exit 1"), "{code}");
    tamper(&world, Some(0));
    let ended = world.haft(&["ext", "rollback", "-y", "hello"]);
    assert!(ended.code == 8 && ended.stderr.contains("cannot roll back hello"), "{ended:?}");
}

/// What is not started because it is not what was approved is not started anew by the next run either.
#[test]
fn one_that_was_kept_from_starting_is_not_said_to_start_anew() {
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
    assert!(!below.contains("starts it anew"), "{below}");
    // What was put right is not told any more, whether or not it has run since.
    assert_eq!(world.haft(&["ext", "update", "-y", "hello"]).code, 0);
    let (line, below) = super::listed(&world);
    assert!(line.contains(" enabled ") && below.is_empty(), "{line}\n{below}");
    assert!(!world.haft(&["doctor"]).stdout.contains("pin_mismatch"));
}

/// What lies beside the code where it runs may be read as code by what starts there.
#[test]
fn what_is_beside_the_code_is_told() {
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
    let told = "hello: as approved\n  ROOT/home/copies/hello also holds: json.py, own (kept as its state)\n";
    assert_eq!(ended.stdout, told);
    let ended: Value = serde_json::from_str(&world.haft(&["ext", "verify", "--json"]).stdout).unwrap();
    assert_eq!(ended["beside"], serde_json::json!(["json.py", "own"]));
}

#[test]
fn a_projects_extension_of_a_name_that_is_taken_is_not_said_to_run() {
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
    assert!(below.contains("HELLO: is not run: ROOT/home/store/"), "{below}");
    assert!(below.contains("has the same name, and comes first"), "{below}");
}

#[test]
fn one_that_starts_slowly_is_told_until_it_is_switched_on_again() {
    let world = World::new();
    hello(&world);
    world.haft(&["ext", "install", "-y", "src/hello"]);
    let copy = world.home().join("copies/hello").canonicalize().unwrap();
    let size = copy.join("extension.json").metadata().unwrap();
    let time = size.modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    let text = format!("{}\n{} bytes, {time} ns\n", world.home().join("copies/hello").display(), size.len());
    std::fs::create_dir_all(world.home().join("state")).unwrap();
    std::fs::write(world.home().join("state/silent-hello"), text).unwrap();
    let told = "was slow to start, so a run does not wait for it";
    let listed = || world.haft(&["ext", "list"]).stderr.replace("\n  ", " ");
    assert!(listed().contains(told), "{}", listed());
    let doctor = world.haft(&["doctor"]).stdout.replace("\n         ", " ");
    assert!(doctor.contains(told), "{doctor}");
    assert_eq!(world.haft(&["ext", "enable", "hello"]).code, 0);
    assert!(!listed().contains(told));
}

/// Why nothing is approved is told once, and is no success.
#[test]
fn a_damaged_lock_file_is_no_empty_list() {
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
fn names_in_other_letters_are_told_with_what_is_there() {
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
