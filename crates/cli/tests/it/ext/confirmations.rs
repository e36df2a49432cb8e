//! Questions on a terminal that are not answered yet.

use std::io::{Read, Write};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use super::{hello, script};
use crate::world::World;

/// `haft` on a terminal of 80 columns that shows a question.
struct PendingQuestion {
    child: Box<dyn Child + Send + Sync>,
    reader: Box<dyn Read + Send>,
    writer: Box<dyn Write + Send>,
    shown: Vec<u8>,
    _terminal: Box<dyn MasterPty + Send>,
}

impl PendingQuestion {
    fn new(world: &World, args: &[&str]) -> Self {
        let pair = native_pty_system().openpty(PtySize { rows: 24, cols: 80, ..PtySize::default() }).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_haft"));
        command.args(args);
        command.env_clear();
        command.env("HAFT_HOME", world.home());
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command.cwd(world.project());
        let child = pair.slave.spawn_command(command).unwrap();
        let (reader, writer) = (pair.master.try_clone_reader().unwrap(), pair.master.take_writer().unwrap());
        let mut asked = Self { child, reader, writer, shown: Vec::new(), _terminal: pair.master };
        drop(pair.slave);
        asked.read_until(Some("[y/N] "));
        asked
    }

    /// Answers, and returns the exit code and the output.
    fn answer(mut self, line: &str) -> (u32, String) {
        self.writer.write_all(format!("{line}\n").as_bytes()).unwrap();
        self.read_until(None);
        (self.child.wait().unwrap().exit_code(), String::from_utf8_lossy(&self.shown).into_owned())
    }

    /// Reading from a terminal whose program has ended is an error.
    fn read_until(&mut self, text: Option<&str>) {
        let mut piece = [0; 1024];
        while let Ok(length @ 1..) = self.reader.read(&mut piece) {
            self.shown.extend_from_slice(&piece[..length]);
            if text.is_some_and(|text| String::from_utf8_lossy(&self.shown).contains(text)) {
                return;
            }
        }
    }
}

#[test]
fn question_does_not_block_other_terminal() {
    let world = World::new();
    hello(&world);
    let other = world.extension("src/other", r#"{"name":"other","exec":"./run"}"#);
    script(&other.join("run"), "exit 0");
    let asked = PendingQuestion::new(&world, &["ext", "install", "src/hello"]);
    for command in [&["ext", "install", "-y", "src/other"][..], &["ext", "remove", "-y", "other"]] {
        let ended = world.haft(command);
        assert_eq!(ended.code, 0, "{ended:?}");
    }
    let (code, shown) = asked.answer("y");
    assert_eq!(code, 0, "{shown}");
    assert_eq!(world.haft(&["ext", "verify"]).stdout, "hello: unchanged\n");
}

#[test]
fn outdated_approval_changes_nothing() {
    let world = World::new();
    let version = |body: &str| {
        hello(&world);
        script(&world.project().join("src/hello/run"), body);
    };
    let now = |args: &[&str]| assert_eq!(world.haft(args).code, 0);
    let code = || std::fs::read_to_string(world.home().join("copies/hello/run")).unwrap();
    version("exit 1");
    now(&["ext", "install", "-y", "src/hello"]);
    version("exit 2");
    let update = PendingQuestion::new(&world, &["ext", "update", "hello"]);
    version("exit 3");
    now(&["ext", "install", "-y", "src/hello"]);
    let back = PendingQuestion::new(&world, &["ext", "rollback", "hello"]);
    let (ended, shown) = update.answer("y");
    assert!(ended == 8 && shown.contains("changed while haft waited for your answer"), "{shown}");
    assert!(code().contains("exit 3"));
    version("exit 4");
    now(&["ext", "install", "-y", "src/hello"]);
    let (ended, shown) = back.answer("y");
    assert!(ended == 8 && shown.contains("changed while haft waited for your answer"), "{shown}");
    assert!(code().contains("exit 4"));
}

#[test]
fn removal_applies_to_shown_version() {
    let world = World::new();
    hello(&world);
    assert_eq!(world.haft(&["ext", "install", "-y", "src/hello"]).code, 0);
    let removal = PendingQuestion::new(&world, &["ext", "remove", "hello"]);
    script(&world.project().join("src/hello/run"), "exit 2");
    assert_eq!(world.haft(&["ext", "update", "-y", "hello"]).code, 0);
    let (ended, shown) = removal.answer("y");
    assert!(ended == 8 && shown.contains("changed while haft waited for your answer"), "{shown}");
    assert!(!shown.contains("removed hello"), "{shown}");
    assert_eq!(world.haft(&["ext", "verify"]).stdout, "hello: unchanged\n");
}
