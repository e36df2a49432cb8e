//! The tools in a sandbox: what they may do by themselves, and what needs an approval.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::{Arc, Mutex};

use haft_core::jobs::BackgroundJobs;
use haft_core::tool::{ApprovalRequest, ToolContext, ToolFailureKind, ToolOutput};
use haft_launch::Launcher;
use haft_launch::sandbox::detect_support;
use haft_protocol::RawJson;
use haft_protocol::content::{ToolCall, joined_text};
use haft_protocol::ids::ToolCallId;
use haft_tools::{Environment as _, HostEnvironment, ToolSandbox};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::ground::Ground;

/// A workspace in a home directory with secrets, and haft's own directory.
fn ground() -> Ground {
    ground_with(|_, _| {})
}

/// The same with changes of the sandbox, which get the directory above the workspace.
fn ground_with(change: impl FnOnce(&mut ToolSandbox, &Path)) -> Ground {
    build_ground(change, |environment| environment)
}

fn build_ground(
    change: impl FnOnce(&mut ToolSandbox, &Path),
    finish: impl FnOnce(HostEnvironment) -> HostEnvironment,
) -> Ground {
    Ground::with(|environment| {
        let base = environment.cwd().parent().unwrap().to_owned();
        for dir in ["place/.git/hooks", "place/sub/repo/.git/shared", "home/.ssh", "haft/results"] {
            fs::create_dir_all(base.join(dir)).unwrap();
        }
        for file in
            ["place/.git/config", "place/file", "home/.ssh/id", "home/notes", "haft/auth", "haft/results/1"]
        {
            fs::write(base.join(file), "original\n").unwrap();
        }
        symlink(base.join("home"), base.join("place/link")).unwrap();
        symlink("shared", base.join("place/sub/repo/.git/hooks")).unwrap();
        fs::write(base.join("place/sub/repo/.git/HEAD"), "").unwrap();
        let launcher = Launcher { program: haft_test_support::launcher_path(), args: Vec::new() };
        let place = base.join("place");
        let mut sandbox = ToolSandbox {
            protect: vec![place.join("file")],
            write: vec![place.join("sub2"), place],
            hide: vec![base.join("home/.ssh"), base.join("home/.aws")],
            never: vec![base.join("haft")],
            read: vec![base.join("haft/results")],
            network: false,
            read_only: false,
        };
        change(&mut sandbox, &base);
        finish(environment.with_launcher(launcher).with_sandbox(sandbox).unwrap())
    })
}

/// True if this machine can run commands in the complete sandbox.
#[expect(clippy::print_stderr, reason = "a test that cannot run says so")]
fn has_sandbox() -> bool {
    let support = detect_support().isolated;
    if let Err(reason) = &support {
        eprintln!("SKIP sandbox: {reason}");
    }
    support.is_ok()
}

async fn request(ground: &Ground, tool: &str, args: &Value) -> Option<ApprovalRequest> {
    let args = RawJson::from_value(args).unwrap();
    let call = ToolCall { id: ToolCallId::new("1"), name: tool.to_owned(), args };
    ground.tool(tool).approval_request(&call).await
}

/// Calls a tool after a person approved its request.
async fn approved(ground: &Ground, tool: &str, args: Value) -> ToolOutput {
    let mut context = ToolContext::new(CancellationToken::new(), drop);
    context.approved = request(ground, tool, &args).await;
    assert!(context.approved.is_some(), "{tool} {args}");
    ground.call_with(context, tool, args).await
}

fn bash(command: &str) -> Value {
    json!({"command": command})
}

#[tokio::test]
async fn commands_work_in_the_workspace() {
    if !has_sandbox() {
        return;
    }
    let ground = ground();
    for command in [
        "echo x >new && rm new && mkdir dir && echo x >.git/index",
        "echo x >$TMPDIR/x && cat $TMPDIR/x",
        "cat ../home/notes ../haft/results/1",
        "printf '#!/bin/sh\\nexit 0\\n' >tool && chmod +x tool && ./tool",
    ] {
        ground.ok("bash", bash(command)).await;
    }
}

#[tokio::test]
async fn note_names_what_the_sandbox_blocked() {
    if !has_sandbox() {
        return;
    }
    let ground = ground();
    let write = "blocked by the sandbox: write outside of the workspace, or to a protected path; commands can write \
                 to BASE/place/sub2, BASE/place and $TMPDIR; to ask the user for this command, pass outside_sandbox";
    for command in [
        "echo x >../home/notes",
        "echo x >.git/hooks/pre-commit",
        "echo x >>.git/config",
        "echo x >../haft/auth",
        "rm ../haft/results/1",
    ] {
        let text = ground.error("bash", bash(command)).await;
        assert!(text.contains(write), "{command}: {text}");
    }
    let text = ground
        .error("bash", bash("python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 9))'"))
        .await;
    assert!(text.contains("blocked by the sandbox: use of the network"), "{text}");
    let text = ground.error("bash", bash("echo x >/run/x")).await;
    assert!(text.contains("blocked by the sandbox: "), "{text}");
    // A failure for another reason has no note, and a terminal is never available.
    for command in ["echo original; grep nothing file", "read x </dev/tty", "echo x >/dev/tty"] {
        let text = ground.error("bash", bash(command)).await;
        assert!(!text.contains("sandbox"), "{command}: {text}");
    }
    let _ = fs::remove_dir_all(ground.path(".git"));
    let setup = json!({"command": "git init -q .", "outside_sandbox": "setup"});
    approved(&ground, "bash", setup).await;
    let text = ground.error("bash", bash("git config user.name x")).await;
    assert!(text.contains("blocked by the sandbox: write to a protected path"), "{text}");
    assert_eq!(fs::read_to_string(ground.base().join("home/notes")).unwrap(), "original\n");
}

/// A background command has the sandbox and the approvals of `bash`.
#[tokio::test]
async fn background_commands_run_in_the_sandbox() {
    if !has_sandbox() {
        return;
    }
    let (ground, jobs) = (ground(), BackgroundJobs::default());
    let write = |outside: Option<&str>| match outside {
        None => json!({"command": "echo x >../home/notes", "background": true}),
        Some(reason) => {
            json!({"command": "echo x >../home/notes", "background": true, "outside_sandbox": reason})
        }
    };
    let run = async |args: Value, approved: Option<ApprovalRequest>| {
        let mut context = ToolContext::new(CancellationToken::new(), drop);
        (context.jobs, context.approved) = (Some(jobs.clone()), approved);
        ground.call_with(context, "bash", args).await.is_error
    };
    assert!(!run(write(None), None).await);
    let job = jobs.find(1).unwrap();
    job.wait_for_end().await;
    assert_eq!(job.status().end.as_deref(), Some("exit code 1"));
    assert!(job.take_output().notes.iter().any(|note| note.contains("blocked by the sandbox")));
    assert!(run(write(Some("setup")), None).await, "it ran without an approval");
    let approval = request(&ground, "bash", &write(Some("setup"))).await;
    assert!(!run(write(Some("setup")), approval).await);
    jobs.find(2).unwrap().wait_for_end().await;
    assert_eq!(fs::read_to_string(ground.base().join("home/notes")).unwrap(), "x\n");
}

#[tokio::test]
async fn commands_cannot_change_repositories_below_the_workspace() {
    if !has_sandbox() {
        return;
    }
    let ground = ground();
    for command in [
        "echo x >sub/repo/.git/hooks/pre-commit",
        "echo x >sub/repo/.git/shared/pre-commit",
        "rm sub/repo/.git/hooks",
        "mv sub other",
        "mv sub/repo/.git sub/repo/old",
        "echo x >file",
    ] {
        ground.error("bash", bash(command)).await;
    }
    assert_eq!(fs::read_dir(ground.path("sub/repo/.git/shared")).unwrap().count(), 0);
    assert_eq!(fs::read_link(ground.path("sub/repo/.git/hooks")).unwrap().as_os_str(), "shared");
    ground.ok("bash", bash("echo x >sub/repo/.git/index && mkdir sub/repo/src")).await;
}

/// A name that does not exist cannot be protected.
#[tokio::test]
async fn result_names_new_paths_from_which_code_runs() {
    if !has_sandbox() {
        return;
    }
    let notices = Arc::new(Mutex::new(Vec::new()));
    let shown = Arc::clone(&notices);
    let ground = build_ground(
        |_, _| {},
        move |environment| environment.with_notices(move |text| shown.lock().unwrap().push(text.to_owned())),
    );
    let text = ground.ok("bash", bash("echo ../evil >.git/commondir; echo x >.envrc; mkdir .vscode")).await;
    let base = ground.base().display().to_string();
    let told = notices.lock().unwrap().iter().map(|text| format!("\n[{text}]")).collect::<String>();
    assert_eq!(text, format!("[no output]{told}"));
    assert_eq!(
        text.replace(&base, "BASE"),
        "[no output]\n[new: BASE/place/.envrc, BASE/place/.vscode; programs outside of the sandbox can run code from \
         there, so check it]\n[removed BASE/place/.git/commondir: git would run code that it names]"
    );
    assert!(!ground.path(".git/commondir").exists());
    assert_eq!(ground.ok("bash", bash("true")).await, "[no output]");
    ground.error("bash", bash("echo y >.envrc")).await;
    let text = ground.ok("bash", bash("echo x >sub/repo/.git/commondir")).await;
    assert!(text.contains("[removed ") && !ground.path("sub/repo/.git/commondir").exists(), "{text}");
}

/// A command could replace a part of the path with a link between two commands.
#[tokio::test]
async fn commands_cannot_widen_the_writable_directories() {
    if !has_sandbox() {
        return;
    }
    let ground = ground();
    ground.ok("bash", bash("rm -rf sub2; ln -s ../home sub2")).await;
    ground.error("bash", bash("echo x >sub2/notes")).await;
    assert_eq!(fs::read_to_string(ground.base().join("home/notes")).unwrap(), "original\n");
}

#[tokio::test]
async fn commands_do_not_see_secrets() {
    if !has_sandbox() {
        return;
    }
    let ground = ground();
    let text = ground.error("bash", bash("cat ../home/.ssh/id ../haft/auth link/.ssh/id")).await;
    assert!(!text.contains("original"), "{text}");
    ground.ok("bash", bash("env | grep -c SECRET_FOR_TEST || true")).await;
}

#[tokio::test]
async fn command_outside_of_the_sandbox_needs_an_approval() {
    let ground = ground();
    let args = json!({"command": "echo x >../home/notes", "outside_sandbox": "the notes are there"});
    let asked = request(&ground, "bash", &args).await.unwrap();
    assert_eq!(asked.reason, "run outside of the sandbox");
    assert_eq!(asked.model_reason.as_deref(), Some("the notes are there"));
    assert_eq!(asked.permitted_by.as_deref(), Some("--sandbox full"));
    for reason in ["", " \n"] {
        let unexplained = json!({"command": "true", "outside_sandbox": reason});
        assert_eq!(
            request(&ground, "bash", &unexplained).await.map(|asked| asked.reason),
            request(&ground, "bash", &bash("true")).await.map(|asked| asked.reason)
        );
    }
    let text = ground.error("bash", args.clone()).await;
    assert_eq!(text, "not run without an approval: run outside of the sandbox");
    let output = approved(&ground, "bash", args).await;
    assert!(!output.is_error, "{output:?}");
    assert_eq!(fs::read_to_string(ground.base().join("home/notes")).unwrap(), "x\n");
}

#[tokio::test]
async fn file_tools_need_an_approval_outside_of_the_workspace() {
    let ground = ground();
    for (args, reason) in [
        (
            json!({"path": "../home/new", "content": "x"}),
            "write outside of the workspace: BASE/home/new (through BASE/place/../home/new)",
        ),
        (
            json!({"path": "link/new", "content": "x"}),
            "write outside of the workspace: BASE/home/new (through BASE/place/link/new)",
        ),
        (
            json!({"path": "link/dir/new", "content": "x"}),
            "write outside of the workspace: BASE/home/dir/new (through BASE/place/link/dir/new)",
        ),
        (
            json!({"path": ".git/hooks/pre-commit", "content": "x"}),
            "write to a protected path, which makes code run later: BASE/place/.git/hooks/pre-commit",
        ),
        (
            json!({"path": ".haft/config.toml", "content": "x"}),
            "write to a protected path, which makes code run later: BASE/place/.haft/config.toml",
        ),
    ] {
        let asked = request(&ground, "write", &args).await.unwrap();
        assert_eq!(asked.reason.replace(&ground.base().display().to_string(), "BASE"), reason);
        let text = ground.error("write", args.clone()).await;
        assert_eq!(text, format!("not run without an approval: {reason}"));
        assert!(!ground.base().join("home/new").exists());
        let output = approved(&ground, "write", args).await;
        assert!(!output.is_error, "{output:?}");
        let _ = fs::remove_file(ground.base().join("home/new"));
    }
    assert_eq!(request(&ground, "write", &json!({"path": "new", "content": "x"})).await, None);
    ground.ok("write", json!({"path": "new", "content": "x"})).await;
}

/// A denial proposes the smallest setting that permits the call.
#[tokio::test]
async fn request_names_the_smallest_right() {
    let with = |change: fn(&mut ToolSandbox, &Path)| ground_with(change);
    let workspace = with(|_, _| {});
    let read_only = with(|sandbox, _| {
        sandbox.write.clear();
        sandbox.read_only = true;
    });
    let home = Ground::with(|environment| {
        let launcher = Launcher { program: haft_test_support::launcher_path(), args: Vec::new() };
        let user_home = environment.cwd().join("user");
        environment.with_home(user_home).with_launcher(launcher).with_sandbox(ToolSandbox::default()).unwrap()
    });
    for (ground, tool, path, reason, permitted_by) in [
        (&home, "write", "a", "write in a working directory that contains the home directory", "tools.write"),
        (&workspace, "write", "../home/new", "write outside of the workspace", "tools.write"),
        (
            &workspace,
            "write",
            ".git/hooks/x",
            "write to a protected path, which makes code run later",
            "--sandbox full",
        ),
        (&workspace, "write", "../home/.ssh/x", "write to a path with secrets", "--sandbox full"),
        (&workspace, "read", "../home/.ssh/id", "read a path with secrets", "--sandbox full"),
        (
            &read_only,
            "write",
            "sub/file",
            "write in the working directory at the sandbox level read-only",
            "--sandbox workspace",
        ),
        (
            &read_only,
            "write",
            "../home/new",
            "write outside of the workspace",
            "--sandbox workspace with tools.write",
        ),
        (
            &read_only,
            "write",
            ".git/hooks/x",
            "write to a protected path, which makes code run later",
            "--sandbox full",
        ),
    ] {
        let args = match tool {
            "read" => json!({"path": path}),
            _ => json!({"path": path, "content": "x"}),
        };
        let asked = request(ground, tool, &args).await.unwrap();
        assert!(asked.reason.starts_with(&format!("{reason}: ")), "{path}: {}", asked.reason);
        assert_eq!(asked.permitted_by.as_deref(), Some(permitted_by), "{path}");
    }
}

/// The name of a file is the model's text.
#[tokio::test]
async fn request_is_one_line() {
    let ground = ground();
    let args = json!({"path": "../home/x\n\nhaft has verified this", "content": "x"});
    let asked = request(&ground, "write", &args).await.unwrap();
    assert!(!asked.reason.contains('\n') && asked.reason.contains("x  haft has verified"), "{asked:?}");
}

/// A link that is replaced after the approval leads to another place.
#[tokio::test]
async fn approval_holds_for_one_place() {
    let ground = ground();
    let args = json!({"path": "link/new", "content": "x"});
    let mut context = ToolContext::new(CancellationToken::new(), drop);
    context.approved = request(&ground, "write", &args).await;
    fs::remove_file(ground.path("link")).unwrap();
    symlink(ground.base().join("home/.ssh"), ground.path("link")).unwrap();
    let output = ground.call_with(context, "write", args).await;
    assert_eq!(output.failure, Some(ToolFailureKind::OutOfReach), "{output:?}");
    assert!(!ground.base().join("home/.ssh/new").exists());
}

#[tokio::test]
async fn file_tools_do_not_read_secrets() {
    let ground = ground();
    for (tool, args) in [
        ("read", json!({"path": "../home/.ssh/id"})),
        ("read", json!({"path": "link/.ssh/id"})),
        ("ls", json!({"path": "../home/.ssh"})),
        ("grep", json!({"path": "link/.ssh", "pattern": "original"})),
        ("find", json!({"path": "../home/.ssh", "glob": "*"})),
    ] {
        let text = ground.error(tool, args.clone()).await;
        assert!(
            text.starts_with("not run without an approval: read a path with secrets: BASE/home/.ssh"),
            "{text}"
        );
        let output = approved(&ground, tool, args).await;
        assert!(!output.is_error, "{tool}: {output:?}");
    }
    let text = ground.ok("grep", json!({"path": "../home", "pattern": "original"})).await;
    assert!(text.contains("notes") && !text.contains(".ssh"), "{text}");
    let text = ground.ok("find", json!({"path": "..", "glob": "*"})).await;
    assert!(text.contains("home/notes") && !text.contains(".ssh/"), "{text}");
}

/// A link that a command creates does not make haft's own files writable.
#[tokio::test]
async fn link_to_own_files_is_not_writable() {
    if !has_sandbox() {
        return;
    }
    let ground = ground_with(|sandbox, base| sandbox.write.push(base.join("place/cache")));
    ground.ok("bash", bash("ln -s ../haft cache")).await;
    let text = ground.error("bash", bash("cat cache/auth || echo x >cache/auth")).await;
    assert!(!text.contains("original"), "{text}");
    assert_eq!(fs::read_to_string(ground.base().join("haft/auth")).unwrap(), "original\n");
}

/// haft's own files stay out of reach, also after an approval; the results of earlier commands can be read.
#[tokio::test]
async fn own_files_are_out_of_reach() {
    let ground = ground();
    for (tool, args) in [
        ("read", json!({"path": "../haft/auth"})),
        ("write", json!({"path": "../haft/config.toml", "content": "x"})),
        ("write", json!({"path": "../haft/results/2", "content": "x"})),
        ("ls", json!({"path": "../haft"})),
        ("grep", json!({"path": "../haft", "pattern": "original"})),
    ] {
        assert_eq!(request(&ground, tool, &args).await, None, "{tool} {args}");
        let output = ground.output(tool, args.clone()).await;
        assert_eq!(output.failure, Some(ToolFailureKind::OutOfReach), "{tool} {args}: {output:?}");
        assert!(!joined_text(&output.content).contains("original"), "{output:?}");
    }
    ground.ok("read", json!({"path": "../haft/results/1"})).await;
    let text = ground.ok("grep", json!({"path": "..", "pattern": "original"})).await;
    assert!(!text.contains("auth"), "{text}");
}

/// Programs that usually wait for a person, each with a part of the result if haft explains it.
const INTERACTIVE: &[(&str, &str)] = &[
    ("git commit", "no editor is available"),
    ("git commit --amend", "no editor is available"),
    ("git rebase -i --autostash HEAD", "no editor is available"),
    ("git add -p", ""),
    ("git tag -a v1", "no editor is available"),
    ("git clone https://user@127.0.0.1:9/x", ""),
    ("git log", ""),
    ("git help commit", ""),
    ("$EDITOR file", "no editor is available"),
    ("$VISUAL file", "no editor is available"),
    ("vi file", ""),
    ("vim file", ""),
    ("nano file", ""),
    ("emacs -nw file", ""),
    ("ed file", ""),
    ("less file", ""),
    ("more file", ""),
    ("man ls", ""),
    ("top", "no terminal is available"),
    ("htop", ""),
    ("sudo true", ""),
    ("su nobody", "nobody can type a password"),
    ("passwd", "nobody can type a password"),
    ("ssh 127.0.0.1", ""),
    ("python3", "python3 read no input"),
    ("node", "node read no input"),
    ("npm init", ""),
    ("bash -i", ""),
    ("bash", "bash read no input"),
    ("perl -de 1", ""),
    ("gdb", ""),
    ("crontab -e", ""),
    ("read line", ""),
    ("cat", "cat read no input"),
    ("bc", "bc read no input"),
    ("sqlite3", "sqlite3 read no input"),
    ("psql", ""),
    ("screen", ""),
    ("tmux", ""),
    ("stty -a", ""),
    ("cat /dev/tty", ""),
    ("gpg --gen-key", ""),
];

/// The number of these programs that come with git, the shell and the basic utilities of a system.
const MOST_COMMON: usize = 16;

#[tokio::test]
async fn commands_that_want_a_terminal_end_by_themselves() {
    let ground = ground();
    let setup = "git init -q . && git config user.name a && git config user.email a@b && \
                 git commit -q --allow-empty -m one && echo x >added && git add added";
    let asked = json!({"command": setup, "outside_sandbox": "setup"});
    let _ = fs::remove_dir_all(ground.path(".git"));
    let output = approved(&ground, "bash", asked).await;
    assert!(!output.is_error, "{output:?}");
    let mut present = 0;
    for (command, expect) in INTERACTIVE {
        let name = command.split(' ').next().unwrap();
        let found = ground.output("bash", bash(&format!("type {name}"))).await;
        if found.is_error {
            continue;
        }
        present += 1;
        // A program that waits never ends, so the limit only has to be longer than the start of a program.
        let output = ground.output("bash", json!({"command": command, "timeout": 20})).await;
        assert_ne!(output.failure, Some(ToolFailureKind::TimedOut), "{command}: {output:?}");
        let text = joined_text(&output.content);
        assert!(text.contains(expect), "{command}: {text}");
    }
    assert!(present >= MOST_COMMON, "only {present} programs were found");
}

/// The check of the sandbox takes time, which must not change the order.
#[tokio::test]
async fn calls_for_one_file_run_in_order() {
    let ground = ground();
    let edit = |old: &str, new: &str| json!([{"old_text": old, "new_text": new}]);
    for round in 0..32 {
        let name = format!("new/{round}/a");
        let (_, _, _, read) = tokio::join!(
            biased;
            ground.ok("write", json!({"path": name, "content": "one"})),
            ground.ok("edit", json!({"path": name, "edits": edit("one", "two")})),
            ground.ok("edit", json!({"path": name, "edits": edit("two", "three")})),
            ground.ok("read", json!({"path": name})),
        );
        assert_eq!(read, "three");
    }
}
