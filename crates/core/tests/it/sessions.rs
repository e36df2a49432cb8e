//! Tests of an agent with its session: entries in the log at each event, and logs that were cut off.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use haft_core::error::TurnErrorKind;
use haft_core::model::{ModelEvent, ModelId, ThinkingLevel};
use haft_core::session::entry::{Compaction, EntryBody, SessionEntry};
use haft_core::session::{Durability, INTERRUPTED, NOT_RUN, Session};
use haft_core::tool::{Tool, ToolConcurrency, ToolContext, ToolOutput, ToolSpec};
use haft_core::{Agent, ContextUsage, Prompt};
use haft_protocol::content::{ContentBlock, Image, ToolCall};
use haft_protocol::event::AgentEvent;
use haft_protocol::message::{Message, StopCause};

use crate::fake::{Answer, Script, call, calls, line, run, says, spec, tool, transcript};

fn memory() -> Session {
    Session::in_memory(Path::new("/work"))
}

/// Returns the entries of a session as short lines.
fn log(session: &Session) -> Vec<String> {
    session.branch().iter().map(|entry| short(entry)).collect()
}

fn short(entry: &SessionEntry) -> String {
    match &entry.body {
        EntryBody::MessageEntry(said) => {
            let stop = said.answer.iter().map(|answer| format!(" {:?}", answer.stop)).collect::<String>();
            match &said.message {
                Message::User { .. } => "user".into(),
                Message::Assistant(_) => format!("answer{stop}"),
                Message::Tool(result) => format!("result {}", result.call_id),
            }
        }
        EntryBody::ToolStart(start) => format!("start {}", start.call_id),
        other => other.kind().to_owned(),
    }
}

#[tokio::test]
async fn log_is_written_before_events_are_sent() {
    let session = memory();
    let script = Script::new(vec![calls(vec![call("t1", "echo", "{}")]), says("ok")]);
    let seen = session.clone();
    let agent = script
        .agent()
        .session(session.clone())
        .tool(tool("echo", move |_| {
            assert_eq!(log(&seen).last().unwrap(), "start t1");
            ToolOutput::text("x")
        }))
        .build()
        .unwrap();
    let seen = session.clone();
    let mut work = agent.prompt("go");
    while let Some(event) = work.next().await {
        let entry = match &event {
            AgentEvent::UserMessage { .. } => "user",
            AgentEvent::ToolResult { .. } => "result t1",
            AgentEvent::AssistantMessage { .. } => "answer",
            _ => continue,
        };
        assert!(log(&seen).iter().any(|line| line.starts_with(entry)), "{}", line(&event));
    }
    let all = ["model_change", "user", "answer ToolUse", "start t1", "result t1", "answer End"];
    assert_eq!(log(&session), all);
    assert_eq!(*agent.messages(), session.context().messages);
}

#[tokio::test]
async fn changed_settings_apply_from_the_next_step_and_are_recorded() {
    let session = memory();
    let two = || calls(vec![call("t1", "echo", "{}")]);
    let (first, second) =
        (Script::new(vec![two()]), Script::new(vec![says("ok"), says("ok")]).named("second"));
    let slot: Arc<std::sync::OnceLock<Agent>> = Arc::default();
    let (inside, next) = (slot.clone(), second.clone());
    let echo = tool("echo", move |_| {
        let agent: &Agent = inside.get().unwrap();
        agent.set_model(Arc::new(next.clone()));
        agent.set_thinking(ThinkingLevel::High);
        agent.set_active_tools(Some(vec!["later".into(), "other".into()]));
        ToolOutput::text("changed")
    });
    let agent = first
        .agent()
        .session(session.clone())
        .tool(echo)
        .tool(tool("other", |_| ToolOutput::text("")))
        .build()
        .unwrap();
    slot.set(agent.clone()).unwrap();
    run(&agent).await.1.unwrap();
    let request = second.requests.lock().unwrap()[0].clone();
    let names: Vec<_> = request.tools.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!((request.thinking, names), (ThinkingLevel::High, vec!["other"]));
    assert!(!request.system.contains("echo"), "{}", request.system);
    assert_eq!(
        log(&session)[4..],
        ["result t1", "model_change", "thinking_change", "tools_change", "answer End"]
    );
    // No entry is written twice, and a new process finds it.
    run(&agent).await.1.unwrap();
    assert_eq!(log(&session)[9..], ["user", "answer End"]);
    let resumed =
        second.agent().session(session).tool(tool("other", |_| ToolOutput::text(""))).build().unwrap();
    assert_eq!((resumed.thinking(), resumed.tools().len()), (ThinkingLevel::High, 1));
    assert_eq!(resumed.model(), ModelId { provider: "script".into(), model: "second".into() });
}

#[tokio::test]
async fn offering_all_tools_includes_later_ones() {
    let session = memory();
    let script = Script::new(vec![says("ok"), says("ok"), says("ok")]);
    let agent =
        script.agent().session(session.clone()).tool(tool("echo", |_| ToolOutput::text(""))).build().unwrap();
    agent.set_active_tools(Some(Vec::new()));
    run(&agent).await.1.unwrap();
    agent.set_active_tools(None);
    run(&agent).await.1.unwrap();
    let later = tool("later", |_| ToolOutput::text(""));
    let resumed = script.agent().session(session).tool(later).build().unwrap();
    run(&resumed).await.1.unwrap();
    let offered: Vec<usize> =
        script.requests.lock().unwrap().iter().map(|request| request.tools.len()).collect();
    assert_eq!(offered, [0, 1, 1]);
}

#[tokio::test]
async fn tool_that_is_not_offered_does_not_run() {
    let script = Script::new(vec![calls(vec![call("t1", "echo", "{}")]), says("ok")]);
    let agent = script.agent().tool(tool("echo", |_| panic!("must not run"))).build().unwrap();
    agent.set_active_tools(Some(Vec::new()));
    run(&agent).await.1.unwrap();
    assert_eq!(transcript(&agent)[2], "tool t1 error unknown tool \"echo\"; available tools: ");
}

/// Never returns.
struct Stuck(Arc<AtomicBool>);

#[async_trait]
impl Tool for Stuck {
    fn spec(&self) -> Arc<ToolSpec> {
        spec("stuck", ToolConcurrency::Exclusive)
    }

    async fn execute(&self, _: ToolContext, _: ToolCall) -> ToolOutput {
        assert!(!self.0.swap(true, Ordering::SeqCst), "ran a second time");
        std::future::pending().await
    }
}

/// The program died while one tool ran and another one waited.
#[tokio::test]
async fn interrupted_session_resumes_with_placeholder_results() {
    let dir = tempfile::tempdir().unwrap();
    let session = Session::create(dir.path(), Path::new("/work"));
    let path = session.path().unwrap();
    let two = vec![call("t1", "stuck", "{}"), call("t2", "stuck", "{}")];
    let script = Script::new(vec![calls(two)]);
    let agent = script.agent().session(session.clone()).tool(Stuck(Arc::default())).build().unwrap();
    let mut work = agent.prompt("go");
    while !log(&session).iter().any(|line| line == "start t1") {
        let _ = futures::poll!(work.next());
        tokio::task::yield_now().await;
    }
    let torn = std::fs::read(&path).unwrap();
    drop((work, agent, session));
    // A crash leaves a log without the entries of the end of the run.
    std::fs::write(&path, torn).unwrap();

    let ran = Arc::new(AtomicBool::new(true));
    let script = Script::new(vec![says("ok")]);
    let session = Session::open(&path).unwrap();
    let agent = script.agent().session(session.clone()).tool(Stuck(ran)).build().unwrap();
    assert_eq!(agent.messages().len(), 4);
    agent.resume().finish().await.unwrap();
    let results = [format!("tool t1 error {INTERRUPTED}"), format!("tool t2 error {NOT_RUN}")];
    assert_eq!(transcript(&agent)[2..4], results);
    assert_eq!(
        log(&session),
        ["model_change", "user", "answer ToolUse", "start t1", "result t1", "result t2", "answer End"]
    );
    drop((agent, session));
    let context = Session::open(&path).unwrap().context();
    assert_eq!(context.closed, [], "they are in the log now");
}

#[tokio::test]
async fn dropped_run_keeps_partial_answer_and_started_calls() {
    let items = vec![Ok(ModelEvent::Text("half an ans".into()))];
    let stuck = calls(vec![call("t1", "stuck", "{}"), call("t2", "stuck", "{}")]);
    let script = Script::new(vec![Answer { items, hangs: true }, stuck]);
    let session = memory();
    let agent = script.agent().session(session.clone()).tool(Stuck(Arc::default())).build().unwrap();
    let mut work = agent.prompt("go");
    while !matches!(work.next().await, Some(AgentEvent::TextDelta { .. })) {}
    drop(work);
    let mut work = agent.prompt("go");
    while !matches!(work.next().await, Some(AgentEvent::ToolCall { .. })) {}
    let _ = futures::poll!(work.next());
    drop(work);
    assert_eq!(
        transcript(&agent),
        [
            "user go".to_owned(),
            "assistant half an ans ".to_owned(),
            "user go".to_owned(),
            "assistant  stuck{} stuck{}".to_owned(),
            format!("tool t1 error {INTERRUPTED}"),
            format!("tool t2 error {NOT_RUN}"),
        ]
    );
    assert_eq!(*agent.messages(), session.context().messages);
    let aborted = session.branch().into_iter().find_map(|entry| match &entry.body {
        EntryBody::MessageEntry(said) => said.answer.clone(),
        _ => None,
    });
    assert_eq!(aborted.unwrap().stop, StopCause::Aborted);
}

#[tokio::test]
async fn unwritable_session_ends_the_turn_without_loss() {
    let dir = tempfile::tempdir().unwrap();
    let session = Session::create(&dir.path().join("sessions"), Path::new("/work"));
    // A file at the path of the directory.
    std::fs::write(dir.path().join("sessions"), "").unwrap();
    let script = Script::new(vec![says("ok")]);
    let agent = script.agent().session(session.clone()).build().unwrap();
    let (events, outcome) = run(&agent).await;
    let TurnErrorKind::Session { reason } = outcome.unwrap_err().kind else { panic!("another error") };
    assert!(reason.contains("sessions"), "{reason}");
    assert!(events[0].starts_with("error stopped: cannot "), "{events:?}");
    assert_eq!((events.len(), agent.messages().len()), (2, 0), "no event reports an unsaved message");
    // The directory can be created again.
    std::fs::remove_file(dir.path().join("sessions")).unwrap();
    run(&agent).await.1.unwrap();
    drop(agent);
    let path = session.path().unwrap();
    drop(session);
    assert_eq!(Session::open(&path).unwrap().context().messages.len(), 2);
}

#[tokio::test]
async fn unsaved_answer_is_written_later() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = dir.path().join("sessions");
    let session = Session::create(&sessions, Path::new("/work"));
    let script = Script::new(vec![says("first"), calls(vec![call("t1", "break", "{}")]), says("third")]);
    let away = dir.path().join("away");
    let (from, to) = (sessions.clone(), away.clone());
    let breaks = tool("break", move |_| {
        std::fs::rename(&from, &to).unwrap();
        std::fs::write(&from, "").unwrap();
        ToolOutput::text("the disk is gone")
    });
    let agent = script.agent().session(session).tool(breaks).build().unwrap();
    run(&agent).await.1.unwrap();
    let (_, outcome) = run(&agent).await;
    assert!(matches!(outcome.unwrap_err().kind, TurnErrorKind::Session { .. }));
    assert!(matches!(run(&agent).await.1.unwrap_err().kind, TurnErrorKind::Session { .. }), "still gone");
    std::fs::remove_file(&sessions).unwrap();
    std::fs::rename(&away, &sessions).unwrap();
    agent.resume().finish().await.unwrap();
    let all = transcript(&agent);
    assert_eq!(all[4..], ["tool t1 the disk is gone", "assistant third "]);
    assert_eq!(*agent.messages(), agent.session().context().messages);
}

#[tokio::test]
async fn statistics_match_the_session() {
    let session = memory();
    let script = Script::new(vec![says("one"), says("two")]);
    let agent = script.agent().session(session.clone()).build().unwrap();
    let empty = agent.stats();
    let ContextUsage { tokens, estimated, window, .. } = empty.context;
    assert_eq!((tokens, estimated, window), (0, 0, None));
    run(&agent).await.1.unwrap();
    let resumed = script.agent().session(session).messages(vec![]).build().unwrap();
    assert_eq!(resumed.stats(), agent.stats());
    assert_eq!((resumed.stats().usage.input, resumed.stats().context.tokens), (10, 11));
    let (events, _) = run(&resumed).await;
    assert!(events.iter().any(|line| line.contains(r#""cumulative":{"input":20"#)), "{events:#?}");
    assert_eq!(resumed.usage().output, 2);
    // A compaction removes messages, but no cost.
    let compaction = Compaction::new("We said hello.", 22);
    let session = resumed.session().clone();
    session.append(compaction, Durability::Soon).await.unwrap();
    let compacted = script.agent().session(session).build().unwrap().stats();
    assert_eq!((compacted.usage.input, compacted.context.tokens), (20, compacted.context.estimated));
    let text = "x".repeat(4_000);
    let long = Script::default().agent().messages(vec![Message::User {
        content: vec![ContentBlock::text(text)],
        time: haft_protocol::message::Rfc3339Time("T".into()),
    }]);
    let context = long.build().unwrap().stats().context;
    // The system prompt is part of the estimate.
    assert!(context.tokens > 1_004, "{context:?}");
    assert_eq!(context.tokens, context.estimated);
}

#[tokio::test]
async fn cleared_session_starts_empty_with_or_without_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut seen = Vec::new();
    for session in [memory(), Session::create(dir.path(), Path::new("/work"))] {
        let script = Script::new(vec![says("one"), says("two"), says("three")]);
        let agent = script.agent().session(session.clone()).build().unwrap();
        run(&agent).await.1.unwrap();
        run(&agent).await.1.unwrap();
        assert_eq!(agent.usage().input, 20);
        session.clear().unwrap();
        agent.reload().unwrap();
        seen.push((agent.stats(), agent.messages().len(), log(&session).len()));
        run(&agent).await.1.unwrap();
        // The settings are recorded again, because no path leads to the earlier entry.
        assert_eq!(log(&session), ["model_change", "user", "answer End"]);
        assert_eq!((agent.usage().input, transcript(&agent).len()), (10, 2));
        assert_eq!(script.requests.lock().unwrap()[2].messages.len(), 1);
    }
    let [in_memory, with_file] = seen.try_into().unwrap();
    assert_eq!(in_memory, with_file);
    assert_eq!((in_memory.0.usage, in_memory.0.context.tokens), Default::default());
}

#[test]
fn facts_describe_the_current_model() {
    let of = |window| {
        let mut script = Script::default();
        script.window = Some(window);
        script
    };
    let agent = of(1_000).agent().build().unwrap();
    assert_eq!(agent.model_facts().window, Some(1_000));
    agent.set_model(of(2_000));
    assert_eq!((agent.model_facts().window, agent.stats().context.window), (Some(2_000), Some(2_000)));
}

#[test]
fn prompt_summary_names_images() {
    let image = Image { mime_type: "image/png".into(), data: "iVBORw0KGgo=".into() };
    let prompt = Prompt::from(vec![ContentBlock::text("what\nis it?"), ContentBlock::Image(image)]);
    assert_eq!(prompt.summary(), "what\nis it?\n[image]");
}
