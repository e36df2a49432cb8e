//! `bash` with real processes.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc;

use haft_core::jobs::BackgroundJobs;
use haft_core::tool::ToolContext;
use haft_core::truncate::{MAX_BYTES, MAX_LINES};
use haft_protocol::content::joined_text;
use serde_json::json;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::ground::{Ground, PATIENCE};

#[tokio::test]
async fn returns_both_streams_in_order_and_runs_in_the_directory() {
    let ground = Ground::new();
    let text = ground.ok("bash", json!({"command": "echo 1; echo 2 >&2; echo 3; pwd; cat"})).await;
    assert_eq!(text, format!("1\n2\n3\n{}\n", ground.path("").display().to_string().trim_end_matches('/')));
    assert_eq!(ground.ok("bash", json!({"command": "true"})).await, "[no output]");
    assert_eq!(
        ground.ok("bash", json!({"command": "-v 2>/dev/null || echo no option"})).await,
        "no option\n"
    );
}

#[tokio::test]
async fn reports_exit_code_and_signal() {
    let ground = Ground::new();
    assert_eq!(ground.error("bash", json!({"command": "echo x; exit 3"})).await, "x\n[exit code 3]");
    assert_eq!(
        ground.error("bash", json!({"command": "printf x; kill -9 $$"})).await,
        "x\n[killed by signal 9]"
    );
    assert_eq!(ground.error("bash", json!({"command": " "})).await, "the command is empty");
}

#[tokio::test]
async fn keeps_end_of_long_output_and_writes_all_to_a_file() {
    let ground = Ground::new();
    let exact = ground.ok("bash", json!({"command": format!("seq {MAX_LINES}")})).await;
    assert!(exact.starts_with("1\n") && exact.ends_with("2000\n"));
    assert_eq!(std::fs::read_dir(ground.base().join("scratch")).unwrap().count(), 0);
    let text = ground.ok("bash", json!({"command": format!("seq {}", MAX_LINES + 1)})).await;
    assert!(text.starts_with("2\n3\n"), "{}", &text[..10]);
    let (_, note) = text.split_once("2001\n").unwrap();
    let path = note.strip_prefix("[showing the last 2000 of 2001 lines; complete output: ").unwrap();
    let path = path.strip_suffix(']').unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap().lines().count(), 2001);
    assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(ground.ok("read", json!({"path": path, "limit": 1})).await.lines().next(), Some("1"));
    let text = ground.ok("bash", json!({"command": "head -c 60000 /dev/zero | tr '\\0' x"})).await;
    assert!(text.starts_with(&"x".repeat(MAX_BYTES)));
    assert!(
        text.contains("\n[showing the last 50 KB of 60000 bytes; complete output: "),
        "{}",
        &text[MAX_BYTES..]
    );
}

fn context_of(jobs: &BackgroundJobs) -> ToolContext {
    let mut context = ToolContext::new(CancellationToken::new(), drop);
    context.jobs = Some(jobs.clone());
    context
}

/// Calls a tool with the background jobs of an agent; returns its text.
async fn with_jobs(ground: &Ground, jobs: &BackgroundJobs, tool: &str, args: serde_json::Value) -> String {
    joined_text(&ground.call_with(context_of(jobs), tool, args).await.content)
}

#[tokio::test]
async fn background_command_returns_at_once_and_its_output_is_read_by_job() {
    let (ground, jobs) = (Ground::new(), BackgroundJobs::default());
    // sleep: looks for the file again
    let command = "echo begin; while [ ! -e go ]; do sleep 0.01; done; echo end; exit 3";
    let text = with_jobs(&ground, &jobs, "bash", json!({"command": command, "background": true})).await;
    assert_eq!(text, "[job 1 has started; the tool job with id 1 returns its output or stops it]");
    while !with_jobs(&ground, &jobs, "job", json!({"id": 1}))
        .await
        .starts_with("begin\n[job 1 has been running")
    {
        tokio::task::yield_now().await;
    }
    std::fs::write(ground.path("go"), "").unwrap();
    let text = with_jobs(&ground, &jobs, "job", json!({"id": 1, "wait": 600})).await;
    assert!(text.starts_with("end\n[job 1 has ended after ") && text.ends_with(" s: exit code 3]"), "{text}");
    let text = with_jobs(&ground, &jobs, "job", json!({"id": 1})).await;
    assert!(text.starts_with("[no new output]\n[job 1 has ended"), "{text}");
    let text = with_jobs(&ground, &jobs, "job", json!({"id": 2})).await;
    assert_eq!(text, "no job 2; known jobs: 1");
    assert_eq!(ground.error("job", json!({"id": 1})).await, "no job 1; known jobs: none");
}

#[tokio::test]
async fn end_of_a_job_is_noted_once_and_long_output_is_stored() {
    let (ground, jobs) = (Ground::new(), BackgroundJobs::default());
    let seq = json!({"command": "seq 100000", "background": true});
    with_jobs(&ground, &jobs, "bash", seq).await;
    jobs.find(1).unwrap().wait_for_end().await;
    let text = with_jobs(&ground, &jobs, "bash", json!({"command": "echo x"})).await;
    assert_eq!(text, "x\n[job 1 has ended: exit code 0]");
    let text = with_jobs(&ground, &jobs, "bash", json!({"command": "echo x"})).await;
    assert_eq!(text, "x\n");
    let text = with_jobs(&ground, &jobs, "job", json!({"id": 1})).await;
    assert!(
        text.starts_with("98001\n") && text.contains("\n100000\n[showing the last 2000 of"),
        "{text:.200}"
    );
    assert!(text.contains("complete output: "), "{text}");
}

#[tokio::test]
async fn background_command_needs_an_agent() {
    let ground = Ground::new();
    let text = ground.error("bash", json!({"command": "touch ran", "background": true})).await;
    assert_eq!(text, "background commands are only for the model; run the command without background");
    assert!(!ground.path("ran").exists());
}

#[tokio::test]
async fn stop_and_the_end_of_the_agent_kill_the_whole_process_tree_of_a_job() {
    for stops in [true, false] {
        let (ground, jobs) = (Ground::new(), BackgroundJobs::default());
        let mut grandchild = Grandchild::watch(&ground).await;
        let args = json!({"command": WITH_GRANDCHILD, "background": true});
        with_jobs(&ground, &jobs, "bash", args).await;
        (&mut grandchild.born).await.unwrap();
        if stops {
            let text = with_jobs(&ground, &jobs, "job", json!({"id": 1, "stop": true})).await;
            assert!(text.starts_with("[no new output]\n[job 1 has ended"), "{text}");
            assert!(text.ends_with(": stopped]"), "{text}");
        } else {
            drop(jobs);
        }
        grandchild.assert_dead().await;
    }
}

/// A command whose grandchild ignores SIGTERM and keeps the pipe `alive` open while it lives.
const WITH_GRANDCHILD: &str = "(trap '' TERM; exec 3>alive; sleep 600) & wait; sleep 600";

/// Watches the grandchild through the pipe.
struct Grandchild {
    born: oneshot::Receiver<()>,
    dead: oneshot::Receiver<()>,
}

impl Grandchild {
    async fn watch(ground: &Ground) -> Self {
        ground.ok("bash", json!({"command": "mkfifo alive"})).await;
        let path = ground.path("alive");
        let (is_born, born) = oneshot::channel();
        let (is_dead, dead) = oneshot::channel();
        // On a thread of its own: opening waits for a writer, reading for the end of all writers.
        std::thread::spawn(move || {
            let mut pipe = std::fs::File::open(path).unwrap();
            is_born.send(()).unwrap();
            pipe.read_to_end(&mut Vec::new()).unwrap();
            is_dead.send(()).unwrap();
        });
        Self { born, dead }
    }

    async fn assert_dead(self) {
        tokio::time::timeout(PATIENCE, self.dead).await.expect("the grandchild still runs").unwrap();
    }
}

#[tokio::test]
async fn timeout_kills_the_whole_process_tree() {
    // On a busy machine, the time may be up before the grandchild starts.
    for seconds in [1, 5, 25, 100] {
        let ground = Ground::new();
        let mut grandchild = Grandchild::watch(&ground).await;
        let text = ground.error("bash", json!({"command": WITH_GRANDCHILD, "timeout": seconds})).await;
        let note = format!("[killed after {seconds} s; pass a longer timeout, or run it in the background]");
        assert_eq!(text, format!("[no output]\n{note}"));
        if grandchild.born.try_recv().is_ok() {
            return grandchild.assert_dead().await;
        }
    }
    panic!("the grandchild never started");
}

#[tokio::test]
async fn cancellation_kills_the_whole_process_tree_and_keeps_the_output() {
    let ground = Ground::new();
    let mut grandchild = Grandchild::watch(&ground).await;
    let cancel = CancellationToken::new();
    let context = ToolContext::new(cancel.clone(), drop);
    let call =
        ground.call_with(context, "bash", json!({"command": format!("echo begun; {WITH_GRANDCHILD}")}));
    let (output, ()) = tokio::join!(call, async {
        (&mut grandchild.born).await.unwrap();
        cancel.cancel();
    });
    assert!(output.is_error);
    assert_eq!(joined_text(&output.content), "begun\n[cancelled and killed]");
    grandchild.assert_dead().await;
}

#[tokio::test]
async fn dropped_call_kills_the_whole_process_tree() {
    let ground = Ground::new();
    let mut grandchild = Grandchild::watch(&ground).await;
    tokio::select! {
        output = ground.output("bash", json!({"command": WITH_GRANDCHILD})) => panic!("{output:?}"),
        born = &mut grandchild.born => born.unwrap(),
    }
    grandchild.assert_dead().await;
}

#[tokio::test]
async fn background_process_does_not_block_the_call() {
    let ground = Ground::new();
    let text = ground.ok("bash", json!({"command": "sleep 600 & echo $!"})).await;
    let (pid, note) = text.split_once('\n').unwrap();
    assert!(note.contains("a background process still writes to the output"), "{note}");
    // It was left running on purpose. With its output in a file, there is no note.
    ground.ok("bash", json!({"command": format!("kill {pid}")})).await;
    let text = ground.ok("bash", json!({"command": "sleep 600 >log 2>&1 & echo $!"})).await;
    ground.ok("bash", json!({"command": format!("kill {}", text.trim())})).await;
}

#[tokio::test]
async fn reports_progress_while_the_command_runs() {
    let ground = Ground::new();
    let (pieces, seen) = mpsc::channel();
    let go = ground.path("go");
    let context = ToolContext::new(CancellationToken::new(), move |progress| {
        // The command waits for this file, so it ends only if the first piece came before its end.
        std::fs::write(&go, "").unwrap();
        pieces.send(progress.text).unwrap();
    });
    // sleep: looks for the file again
    let command = "echo begin; while [ ! -e go ]; do sleep 0.01; done; echo end";
    let output =
        ground.call_with(context, "bash", json!({"command": command, "timeout": PATIENCE.as_secs()})).await;
    assert!(!output.is_error, "{output:?}");
    assert_eq!(seen.iter().collect::<String>(), "begin\nend\n");
    assert_eq!(joined_text(&output.content), "begin\nend\n");
}

#[tokio::test]
async fn names_missing_working_directory() {
    let ground = Ground::new();
    std::fs::remove_dir(ground.path("")).unwrap();
    let text = ground.error("bash", json!({"command": "true"})).await;
    assert!(text.contains("cannot enter its working directory BASE/place"), "{text}");
}
