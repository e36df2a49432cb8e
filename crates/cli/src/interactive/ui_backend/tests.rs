//! Tests of requests and their replies.

use std::fs;

use haft_core::session::Durability;
use haft_core::session::entry::Name;
use haft_protocol::rpc::ErrorCode;
use haft_tui::app::ShellRequest;
use tempfile::TempDir;

use super::*;
use crate::session::SessionFinder;

struct World {
    dir: TempDir,
    desk: UiBackend,
}

impl World {
    fn new() -> Self {
        Self::with_args(RunArgs::default())
    }

    fn with_args(args: RunArgs) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let cwd = dir.path().join("project");
        fs::create_dir(&cwd).unwrap();
        let context = UiContext {
            home: Home::at(dir.path().join("home")),
            cwd: cwd.canonicalize().unwrap(),
            args: Arc::new(args),
            tools: ToolSettings::default(),
            secrets: ProviderSecrets::default(),
            open: Arc::default(),
            start: SessionStart::default(),
        };
        let desk =
            UiBackend { runtime: Handle::current(), context: Arc::new(context), shells: Arc::default() };
        Self { dir, desk }
    }

    /// Sends a request and returns all replies.
    async fn ask(&self, ask: Request) -> Vec<Reply> {
        let (answers, mut replies) = mpsc::channel(64);
        self.desk.answer(ask, answers).await;
        std::iter::from_fn(|| replies.try_recv().ok()).collect()
    }

    /// Returns the debug text of the only reply, without the directory of the test.
    async fn shown(&self, ask: Request) -> String {
        let answers = self.ask(ask).await;
        assert_eq!(answers.len(), 1, "{answers:?}");
        let real = self.dir.path().canonicalize().unwrap();
        format!("{:?}", answers[0]).replace(&real.display().to_string(), "DIR")
    }

    async fn session(&self) -> haft_core::session::Session {
        let session = SessionFinder::new(&self.desk.context.home, &self.desk.context.cwd).create();
        session.append(Name { name: "tidy".into() }, Durability::Now).await.unwrap();
        session
    }
}

fn shell_request(number: u64, command: &str) -> Request {
    Request::Shell { number, shell: ShellRequest { command: command.to_owned(), excluded: false } }
}

#[tokio::test]
async fn streams_shell_output_and_returns_all_at_end() {
    let world = World::new();
    let answers = world.ask(shell_request(7, "echo out; echo err >&2; exit 3")).await;
    let (end, pieces) = answers.split_last().unwrap();
    assert!(matches!(end, Reply::ShellEnd(7, Ok((text, Some(3)))) if text == "out\nerr\n"), "{end:?}");
    assert!(pieces.iter().all(|piece| matches!(piece, Reply::ShellOutput(7, _))), "{pieces:?}");
}

#[tokio::test]
async fn stops_shell_command() {
    let world = World::new();
    let (answers, mut replies) = mpsc::channel(64);
    let asked = world.desk.answer(shell_request(1, "echo begun; sleep 600"), answers);
    let stopping = async {
        let begun = replies.recv().await;
        assert!(matches!(&begun, Some(Reply::ShellOutput(1, text)) if text == "begun\n"), "{begun:?}");
        assert_eq!(world.ask(Request::StopShell { number: 1 }).await.len(), 0);
        replies.recv().await
    };
    let ((), end) = futures::join!(asked, stopping);
    assert!(
        matches!(&end, Some(Reply::ShellEnd(1, Ok((text, None)))) if text == "begun\n[stopped]"),
        "{end:?}"
    );
}

#[tokio::test]
async fn answers_requests_whose_work_panics() {
    let desk = World::new().desk;
    let lost: Vec<String> = desk.read_off_thread(|_| panic!("a mistake of haft's own")).await;
    assert_eq!(lost, Vec::<String>::new());
    let lost: Result<(), CommandFailure> = desk.try_off_thread(|_| panic!("a mistake of haft's own")).await;
    assert!(lost.unwrap_err().error.starts_with("internal error"));
    let lost: Result<(), CommandFailure> = desk.spawn_task(async { panic!("a mistake of haft's own") }).await;
    assert!(lost.unwrap_err().error.starts_with("internal error"));
}

#[tokio::test]
async fn shows_exports_and_deletes_session() {
    let world = World::new();
    let session = world.session().await;
    let id = session.id().to_string();
    let gone = world.ask(Request::Conversation { session: id.clone() }).await;
    let is_not_open = |answer: &Reply| matches!(answer, Reply::Conversation(_, Err(failure)) if failure.code == ErrorCode::SessionNotFound);
    assert!(is_not_open(&gone[0]), "{gone:?}");
    world.desk.context.open.add(&session);
    let shown = world.shown(Request::Conversation { session: id.clone() }).await;
    assert!(shown.ends_with("Ok([]))"), "{shown}");
    let written = world.shown(Request::Export { session: id.clone(), to: Some("x.jsonl".into()) }).await;
    assert_eq!(written, "Export(Ok(\"DIR/project/x.jsonl\"))");
    let text = fs::read_to_string(world.desk.context.cwd.join("x.jsonl")).unwrap();
    assert!(text.starts_with('{'), "{text}");
    let again = world.shown(Request::Export { session: id.clone(), to: Some("x.jsonl".into()) }).await;
    assert!(again.contains("cannot create DIR/project/x.jsonl; choose another file"), "{again}");
    let page = world.shown(Request::Export { session: id.clone(), to: None }).await;
    assert_eq!(page, format!("Export(Ok(\"DIR/project/haft-{}.html\"))", &id[..8]));
    let open = world.shown(Request::Delete { session: id.clone() }).await;
    assert!(open.contains("it is open here"), "{open}");
    // The user switches to another session.
    let other = world.session().await;
    world.desk.context.open.add(&other);
    world.shown(Request::Conversation { session: other.id().to_string() }).await;
    let path = session.path().unwrap();
    drop(session);
    let renamed = world.shown(Request::Rename { session: id.clone(), name: "other".into() }).await;
    assert_eq!(renamed, format!("Rename(Ok((\"{id}\", Some(\"other\"))))"));
    assert!(fs::read_to_string(&path).unwrap().contains("\"name\":\"other\""));
    let deleted = world.shown(Request::Delete { session: id.clone() }).await;
    assert_eq!((deleted, path.exists()), (format!("Delete(Ok(\"{id}\"))"), false));
}

#[tokio::test]
async fn trusts_exactly_the_shown_files() {
    let world = World::new();
    let settings = world.desk.context.cwd.join(".haft/config.toml");
    fs::create_dir(settings.parent().unwrap()).unwrap();
    fs::write(&settings, "base_url = 'http://evil'\n").unwrap();
    let shown = || async {
        match world.ask(Request::Trust).await.pop() {
            Some(Reply::Trust(Ok(trusted))) => trusted,
            other => panic!("{other:?}"),
        }
    };
    let first = shown().await;
    assert!(
        !first.granted && first.items[0].starts_with("! settings: .haft/config.toml:1: base_url"),
        "{first:?}"
    );
    fs::write(&settings, "base_url = 'http://other'\n").unwrap();
    let grant = |digest: String| world.shown(Request::Grant { digest });
    let refused = grant(first.digest).await;
    assert!(refused.contains("changed since it was shown, so it was not trusted"), "{refused}");
    let granted = grant(shown().await.digest).await;
    assert!(granted.contains("Ok(\"trusted DIR/project until it changes; "), "{granted}");
    assert!(shown().await.granted);
}

#[tokio::test]
async fn writes_setting_and_returns_effective_value() {
    let world = World::new();
    let set = |name: &str, value: &str| {
        world.shown(Request::Set { name: name.to_owned(), value: value.to_owned() })
    };
    let row = set("tools.approve", "bash, edit").await;
    assert!(row.contains("value: \"bash, edit\", origin: \"DIR/home/config.toml:2\""), "{row}");
    assert!(set("tui.screen", "big").await.contains("must be `alternate`, `inline` or `linear`"));
    assert!(set("grant.x.net", "all").await.contains("cannot set `grant.x.net` here"));
    assert!(set("tools.hide", "~/keys, .env").await.contains("\\\".env\\\" is not absolute"));
    let Some(Reply::Settings(rows)) = world.ask(Request::Settings).await.pop() else { panic!("no settings") };
    let screen = rows.iter().find(|row| row.name == "tui.screen").unwrap();
    assert_eq!((screen.value.as_str(), screen.choices.len()), ("alternate", 3));
}

#[tokio::test]
async fn reports_that_a_flag_overrides_the_saved_value() {
    let mut args = RunArgs::default();
    args.model.provider = Some("scripted".into());
    let world = World::with_args(args);
    let row = world.shown(Request::Set { name: "provider".into(), value: "ollama".into() }).await;
    assert!(row.contains("value: \"scripted\", origin: \"--provider overrides the saved value\""), "{row}");
}

#[tokio::test]
async fn rejects_malformed_key_without_request() {
    let world = World::new();
    let login =
        |key: &str| world.shown(Request::Login { provider: "anthropic".into(), key: key.to_owned().into() });
    assert!(login("a b").await.contains("the key contains spaces or control characters; nothing was saved"));
    assert!(login(" ").await.contains("no key given"));
    let removed = world.shown(Request::Logout { provider: "anthropic".into() }).await;
    assert!(removed.contains("no key of anthropic is saved in "), "{removed}");
    let Some(Reply::Providers(providers)) = world.ask(Request::Providers).await.pop() else { panic!("none") };
    assert!(providers.iter().any(|provider| provider.name == "anthropic" && !provider.stored));
}

/// Runs a shell command of the user, which must succeed.
async fn run(world: &World, command: &str) -> String {
    let end = world.ask(shell_request(1, command)).await.pop().unwrap();
    let Reply::ShellEnd(_, Ok((output, Some(0)))) = end else { panic!("{command}: {end:?}") };
    output
}

/// Opens a session, and returns when the files at its start are recorded.
async fn open_session(world: &World) {
    let session = world.session().await;
    world.desk.context.open.add(&session);
    world.ask(Request::Conversation { session: session.id().to_string() }).await;
    let unchanged = world.ask(Request::Diff).await;
    assert!(matches!(&unchanged[..], [Reply::Diff(Ok(diff))] if diff.text.is_empty()), "{unchanged:?}");
}

async fn diff(world: &World) -> String {
    match world.ask(Request::Diff).await.pop() {
        Some(Reply::Diff(Ok(diff))) => diff.text,
        other => panic!("{other:?}"),
    }
}

const COMMIT: &str = "git -c user.name=n -c user.email=e commit -qam";

#[tokio::test]
async fn diff_shows_changes_since_session_start() {
    let world = World::new();
    let begin = "git init -q . && echo first >a && echo keep >b && echo 'x.log' >.gitignore && git add .";
    run(&world, &format!("{begin} && {COMMIT} one && echo second >a && echo old >new.txt")).await;
    open_session(&world).await;
    // The session's own commit is a change, too.
    let change = "echo third >a && rm b && echo more >>new.txt && echo made >'c d' && echo no >x.log";
    run(&world, &format!("{change} && {COMMIT} two")).await;
    let before = run(&world, "git status --porcelain; find .git -type f | sort | xargs cksum").await;
    let text = diff(&world).await;
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with("index ")).collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    diff --git a/a b/a
    --- a/a
    +++ b/a
    @@ -1 +1 @@
    -second
    +third
    diff --git a/b b/b
    deleted file mode 100644
    --- a/b
    +++ /dev/null
    @@ -1 +0,0 @@
    -keep
    diff --git a/c d b/c d
    new file mode 100644
    --- /dev/null
    +++ b/c d	
    @@ -0,0 +1 @@
    +made
    diff --git a/new.txt b/new.txt
    --- a/new.txt
    +++ b/new.txt
    @@ -1 +1,2 @@
     old
    +more
    ");
    assert_eq!(run(&world, "git status --porcelain; find .git -type f | sort | xargs cksum").await, before);
}

#[tokio::test]
async fn diff_runs_no_program_of_the_repository() {
    let world = World::new();
    let program = "printf '#!/bin/sh\\ntouch \"%s/ran\"\\ncat\\n' \"$PWD\" >run && chmod +x run";
    let configure =
        ["core.fsmonitor", "filter.f.clean", "filter.f.process", "diff.external", "diff.d.textconv"]
            .map(|name| format!("git config {name} \"$PWD/run\""))
            .join(" && ");
    let attributes =
        "printf '* filter=f diff=d\\n' >.git/info/attributes && git config filter.f.required true";
    run(&world, &format!("{program} && git init -q . && mkdir -p .git/info && {configure} && {attributes}"))
        .await;
    run(&world, "echo one >a").await;
    open_session(&world).await;
    // Of another length: git may miss a change of the same length in the same second.
    run(&world, "echo three >a").await;
    let text = diff(&world).await;
    assert!(text.contains("-one\n+three\n"), "{text}");
    assert!(!world.desk.context.cwd.join("ran").exists());
}

#[tokio::test]
async fn diff_needs_repository() {
    let world = World::new();
    let session = world.session().await;
    world.desk.context.open.add(&session);
    let answers = world.ask(Request::Diff).await;
    let [Reply::Diff(Err(failure))] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!(failure.error, "/diff needs a git repository; run `!git init` and /new to use it");
}

#[tokio::test]
async fn diff_needs_trusted_project() {
    let world = World::new();
    run(&world, "git init -q . && echo Be kind. >AGENTS.md").await;
    let session = world.session().await;
    world.desk.context.open.add(&session);
    let answers = world.ask(Request::Diff).await;
    let [Reply::Diff(Err(failure))] = &answers[..] else { panic!("{answers:?}") };
    assert!(failure.error.starts_with("haft runs git only in a trusted project"), "{failure:?}");
}

#[tokio::test]
async fn long_diff_is_cut_at_a_line() {
    let world = World::new();
    run(&world, "git init -q . && echo one >a").await;
    open_session(&world).await;
    run(&world, "seq 1 300000 >a").await;
    let answers = world.ask(Request::Diff).await;
    let [Reply::Diff(Ok(diff))] = &answers[..] else { panic!("{answers:?}") };
    assert!(diff.is_cut && diff.text.len() <= 1024 * 1024 && diff.text.len() > 1024 * 1024 - 64);
    assert!(diff.text.starts_with("diff --git a/a b/a\n") && diff.text.ends_with('\n'));
}

#[tokio::test]
async fn command_with_editor_is_offered_the_terminal() {
    let world = World::new();
    let commit = "git init -q . && git -c user.name=n -c user.email=e commit --allow-empty -q";
    let answers = world.ask(shell_request(3, commit)).await;
    let [.., needed, end] = &answers[..] else { panic!("{answers:?}") };
    assert!(matches!(needed, Reply::TerminalNeeded(3, command) if command == commit), "{answers:?}");
    assert!(matches!(end, Reply::ShellEnd(3, Ok((_, Some(1))))), "{answers:?}");
    let answers = world.ask(shell_request(4, "echo no editor is available")).await;
    assert!(!answers.iter().any(|answer| matches!(answer, Reply::TerminalNeeded(..))), "{answers:?}");
}
