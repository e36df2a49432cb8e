//! Tests of compaction: its triggers, the source of the summary, and failures.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::FutureExt;
use haft_core::compact::{CompactError, CompactReason, CompactSettings, PendingCompaction};
use haft_core::error::TurnErrorKind;
use haft_core::hooks::{
    BeforeCompact, BeforeProviderRequest, CancellationToken, CompactDecision, Observer, ProviderRequest,
    ProviderRequestDecision,
};
use haft_core::model::{ModelError, ModelErrorKind, ModelEvent};
use haft_core::session::EntryId;
use haft_core::session::entry::{Compaction, EntryBody};
use haft_core::tool::ToolOutput;
use haft_core::{Agent, AgentBuilder};
use haft_protocol::RawJson;
use haft_protocol::content::ContentBlock;
use haft_protocol::event::AgentEvent;
use haft_protocol::message::{AssistantBlock, AssistantMessage, Message, Rfc3339Time, StopCause};

use crate::fake::{Answer, Script, answer, call, calls, line, run, says, tool, transcript};

const WINDOW: u64 = 8_000;

fn user(text: &str) -> Message {
    Message::User { content: vec![ContentBlock::text(text)], time: Rfc3339Time("T".into()) }
}

fn said(text: &str) -> Message {
    let content = vec![AssistantBlock::Text { text: text.to_owned() }];
    Message::Assistant(AssistantMessage::new(content, Rfc3339Time("T".into())))
}

/// Creates this many tokens of old conversation, in messages of a hundred.
fn old(tokens: usize) -> Vec<Message> {
    let text = |at: usize| format!("{at:04}{}", "x".repeat(4 * 92));
    (0..tokens / 100).map(|at| if at % 2 == 0 { user(&text(at)) } else { said(&text(at)) }).collect()
}

fn fails(kind: ModelErrorKind) -> Answer {
    Answer { items: vec![Err(ModelError::new(kind, format!("{kind:?}")))], hangs: false }
}

fn script(answers: Vec<Answer>) -> Script {
    let mut script = Script::new(answers);
    script.window = Some(WINDOW);
    script
}

fn agent(script: &Script, old: Vec<Message>) -> AgentBuilder {
    script.agent().messages(old)
}

fn compactions(agent: &Agent) -> Vec<Compaction> {
    let branch = agent.session().branch();
    let found = branch.iter().filter_map(|entry| {
        if let EntryBody::Compaction(found) = &entry.body { Some(found.clone()) } else { None }
    });
    found.collect()
}

/// Returns the text of the only message of a request for a summary.
fn asked(script: &Script, at: usize) -> String {
    let request = &script.requests.lock().unwrap()[at];
    assert!(request.tools.is_empty());
    let [Message::User { content, .. }] = request.messages.as_slice() else { panic!("not one question") };
    haft_protocol::content::joined_text(content)
}

fn told(events: &[String]) -> String {
    let measures = |line: &&String| line.contains(r#""type":"usage"#) || line.contains(r#""type":"model_"#);
    let lines = events.iter().filter(|line| !measures(line));
    lines.cloned().collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn compacts_nearly_full_context_before_the_request() {
    let script = script(vec![says("what was done"), says("ok")]);
    let agent = agent(&script, old(7_000)).build().unwrap();
    let (events, outcome) = run(&agent).await;
    assert_eq!(outcome, Ok(()));
    insta::assert_snapshot!(told(&events), @r#"
    user go
    {"type":"turn_start","step":1}
    {"type":"compaction_start","reason":"threshold"}
    {"type":"compaction_end","summary":"what was done","tokens_before":6842,"tokens_after":2309,"messages_summed_up":47,"messages_kept":24}
    {"type":"assistant_start"}
    delta ok
    assistant ok
    end End
    {"type":"done"}
    "#);
    let question = asked(&script, 0);
    assert!(question.contains("[user]\n0000xxx") && !question.contains("0069"), "{question}");
    let lines = transcript(&agent);
    assert_eq!(
        lines[0],
        "user The conversation so far was summed up as follows:\n\n<summary>\nwhat was done\n</summary>"
    );
    assert_eq!(lines[lines.len() - 2..], ["user go", "assistant ok "]);
    // Both answers count, and the usage of the summary is in the log.
    assert_eq!(agent.usage().input, 20);
    let [compaction] = &compactions(&agent)[..] else { panic!("one compaction") };
    assert_eq!(compaction.used.unwrap().input, 10);
    assert!(compaction.tokens_before > 6_800, "{compaction:?}");
}

#[tokio::test]
async fn uses_the_token_count_of_the_provider() {
    // The conversation is short, but the provider counted many tokens.
    let mut first = says("long");
    let Some(Ok(ModelEvent::Done(done))) = first.items.last_mut() else { panic!() };
    (done.usage.input, done.usage.cache_read, done.usage.output) = (2_000, 4_000, 1_000);
    let script = script(vec![first, says("notes")]);
    let agent = agent(&script, old(3_000)).build().unwrap();
    let (events, outcome) = run(&agent).await;
    assert_eq!(outcome, Ok(()));
    // Compaction runs at the end of the turn, so that the next prompt does not wait for it.
    let position = |what: &str| events.iter().position(|line| line.contains(what)).unwrap();
    assert!(position("compaction_start") > position("end End"));
    let end = &events[position("compaction_end")];
    assert!(end.contains(r#""tokens_before":7000"#), "{end}");
    assert_eq!(compactions(&agent).len(), 1);
    let context = agent.stats().context;
    assert!(context.tokens < 4_000 && context.tokens == context.estimated, "{context:?}");
}

#[tokio::test]
async fn second_summary_builds_on_the_first() {
    let script = script(vec![says("first notes"), says("ok"), says("second notes"), says("ok")]);
    let agent = agent(&script, old(7_000)).build().unwrap();
    run(&agent).await.1.unwrap();
    let more = "y".repeat(4 * 7_000);
    agent.prompt(more.as_str()).finish().await.unwrap();
    let question = asked(&script, 2);
    assert!(question.contains("<earlier-notes>\nfirst notes\n</earlier-notes>"), "{question}");
    // The part that the first summary replaced is not sent again.
    assert!(!question.contains("0000xxx"), "{question}");
    let lines = transcript(&agent);
    assert!(lines[0].contains("second notes") && !lines.concat().contains("first notes"));
    assert_eq!(agent.usage().input, 40);
    // A later process has the same count.
    let stats = Agent::builder(script).session(agent.session().clone()).build().unwrap().stats();
    assert_eq!(stats.usage.input, 40);
}

#[tokio::test]
async fn keeps_files_over_two_compactions() {
    let step = |id: &str, name: &str, path: &str| {
        calls(vec![call(id, name, &format!(r#"{{"n":1,"path":"{path}"}}"#))])
    };
    let script = script(vec![
        step("1", "read", "a.rs"),
        step("2", "edit", "b.rs"),
        says("one"),
        says("notes"),
        step("3", "write", "c.rs"),
        says(&"two".repeat(500)),
        says("more notes"),
    ]);
    let schema = |name| tool(name, |_| ToolOutput::text("x".repeat(400)));
    let agent = agent(&script, Vec::new());
    let agent = agent.tool(Open(schema("read"))).tool(Open(schema("edit"))).tool(Open(schema("write")));
    let agent = agent.build().unwrap();
    run(&agent).await.1.unwrap();
    agent.compact(CancellationToken::new(), None).await.unwrap();
    run(&agent).await.1.unwrap();
    agent.compact(CancellationToken::new(), Some("the tests".into())).await.unwrap();
    assert!(asked(&script, 6).ends_with("heed this above all:\nthe tests"));
    let last = compactions(&agent).pop().unwrap();
    assert_eq!(
        (last.files_read, last.files_modified),
        (vec!["a.rs".to_owned()], vec!["b.rs".to_owned(), "c.rs".to_owned()])
    );
    let first = &transcript(&agent)[0];
    assert!(first.ends_with(
        "</summary>\n\n<files_read>\na.rs\n</files_read>\n\n<files_modified>\nb.rs\nc.rs\n</files_modified>"
    ), "{first}");
}

/// A tool that takes any arguments.
struct Open<T>(T);

#[async_trait]
impl<T: haft_core::tool::Tool> haft_core::tool::Tool for Open<T> {
    fn spec(&self) -> Arc<haft_core::tool::ToolSpec> {
        let spec = self.0.spec();
        let schema = RawJson::parse(r#"{"type":"object"}"#).unwrap();
        Arc::new((*spec).clone().with_schema(schema))
    }

    async fn execute(
        &self,
        context: haft_core::tool::ToolContext,
        call: haft_protocol::content::ToolCall,
    ) -> ToolOutput {
        self.0.execute(context, call).await
    }
}

#[tokio::test]
async fn retries_once_after_an_overflow() {
    let answers = vec![fails(ModelErrorKind::Overflow), says("notes"), says("ok")];
    // The window is unknown.
    let script = Script::new(answers);
    let agent = agent(&script, old(3_000)).build().unwrap();
    let (events, outcome) = run(&agent).await;
    assert_eq!(outcome, Ok(()));
    assert!(told(&events).contains(r#"{"type":"compaction_start","reason":"overflow"}"#));
    assert_eq!(transcript(&agent).last().unwrap(), "assistant ok ");

    let overflow = || fails(ModelErrorKind::Overflow);
    let script = Script::new(vec![overflow(), says("notes"), overflow()]);
    let (_, outcome) = run(&agent_of(&script)).await;
    let kind = outcome.unwrap_err().kind;
    assert_eq!(kind, TurnErrorKind::Model(ModelError::new(ModelErrorKind::Overflow, "Overflow")));
}

fn agent_of(script: &Script) -> Agent {
    agent(script, old(3_000)).build().unwrap()
}

#[tokio::test]
async fn failed_summary_does_not_end_a_turn_that_fits() {
    let script = script(vec![fails(ModelErrorKind::Unavailable), says("ok"), says("notes")]);
    let agent = agent(&script, old(7_000)).build().unwrap();
    let (events, outcome) = run(&agent).await;
    assert_eq!(outcome, Ok(()));
    let end = events.iter().find(|line| line.contains("compaction_end")).unwrap();
    assert!(end.contains(r#""error":"the model could not summarize the conversation: Unavailable"#), "{end}");
    assert_eq!(transcript(&agent).len(), 72);

    // The request does not fit: both errors are reported, and the model is not asked for a summary twice.
    let script = self::script(vec![fails(ModelErrorKind::Unavailable), fails(ModelErrorKind::Overflow)]);
    let agent = self::agent(&script, old(7_000)).build().unwrap();
    let message = run(&agent).await.1.unwrap_err().to_string();
    assert_eq!(message, "Overflow; the model could not summarize the conversation: Unavailable");
}

#[tokio::test]
async fn refused_summary_leaves_the_conversation_unchanged() {
    let long = "and so on ".repeat(200);
    let refused = [
        (answer(Some("## Goal\nThe user"), vec![], StopCause::Length), CompactError::CutOff),
        (says("  \n"), CompactError::Empty),
        (says(&long), CompactError::NotShorter { summary: 518, replaced: 485 }),
    ];
    for (summary, expected) in refused {
        let script = script(vec![summary, says("ok")]);
        let agent = agent(&script, old(1_000)).build().unwrap();
        let before = (agent.messages(), agent.stats().context);
        assert_eq!(agent.compact(CancellationToken::new(), None).await, Err(expected));
        assert_eq!((agent.messages(), agent.stats().context), before);
        assert_eq!(compactions(&agent), []);
    }
}

#[tokio::test]
async fn hook_cannot_make_the_context_larger() {
    let script = script(vec![]);
    let longer = Hook("notes", RecordedCompactions::default(), |_: &PendingCompaction| {
        CompactDecision::Replace { summary: "and so on ".repeat(200), first_kept: None }
    });
    let agent = agent(&script, old(1_000)).before_compact(longer).build().unwrap();
    let refused = agent.compact(CancellationToken::new(), None).await.unwrap_err();
    assert!(matches!(refused, CompactError::NotShorter { .. }), "{refused:?}");
    assert_eq!(transcript(&agent).len(), 10);
}

#[tokio::test]
async fn asks_for_one_summary_per_run_if_it_is_refused() {
    let cut = answer(Some("## Goal"), vec![], StopCause::Length);
    // The context stays nearly full.
    let full = |mut answer: Answer| {
        let Some(Ok(ModelEvent::Done(done))) = answer.items.last_mut() else { panic!() };
        done.usage.input = 7_000;
        answer
    };
    let step = |id: &str| full(calls(vec![call(id, "look", r#"{"n":1}"#)]));
    let script = script(vec![cut.clone(), step("1"), step("2"), full(says("ok")), cut, says("ok")]);
    let look = tool("look", |_| ToolOutput::text("seen"));
    let agent = agent(&script, old(7_000)).tool(look).build().unwrap();
    let (events, outcome) = run(&agent).await;
    assert_eq!(outcome, Ok(()));
    let ends: Vec<&String> = events.iter().filter(|line| line.contains("compaction_end")).collect();
    let [end] = &ends[..] else { panic!("not one compaction: {ends:?}") };
    assert!(end.contains("the summary was cut off at the model's output limit"), "{end}");
    // The next run tries again.
    let (events, _) = run(&agent).await;
    assert!(told(&events).contains("compaction_end"), "{events:?}");
}

#[tokio::test]
async fn statistics_and_events_have_the_same_numbers() {
    let watch = Watch::default();
    let script = script(vec![says("notes")]);
    let agent = agent(&script, old(1_000)).observer(watch.clone()).build().unwrap();
    let before = agent.stats().context.tokens;
    let done = agent.compact(CancellationToken::new(), None).await.unwrap();
    let after = agent.stats().context.tokens;
    assert_eq!((done.tokens_before, done.tokens_after), (before, after));
    let numbers = format!(r#""tokens_before":{before},"tokens_after":{after},"#);
    assert!(watch.0.lock().unwrap().iter().any(|line| line.contains(&numbers)), "{numbers}");
    // A later process has the same number.
    let resumed = Agent::builder(script).session(agent.session().clone()).build().unwrap();
    assert_eq!(resumed.stats().context.tokens, after);
}

#[tokio::test]
async fn shortens_summary_request_that_is_too_long() {
    let script = script(vec![
        fails(ModelErrorKind::Overflow),
        fails(ModelErrorKind::Overflow),
        says("notes"),
        says("ok"),
    ]);
    let agent = agent(&script, old(7_000)).build().unwrap();
    run(&agent).await.1.unwrap();
    let lengths: Vec<usize> = (0..3).map(|at| asked(&script, at).len()).collect();
    assert!(lengths[0] > lengths[1] && lengths[1] > lengths[2], "{lengths:?}");
}

type RecordedCompactions = Arc<Mutex<Vec<PendingCompaction>>>;

/// Decides by a closure, and records its queries.
struct Hook<F>(&'static str, RecordedCompactions, F);

#[async_trait]
impl<F: Fn(&PendingCompaction) -> CompactDecision + Send + Sync> BeforeCompact for Hook<F> {
    async fn before_compact(&self, _: &CancellationToken, compacting: &PendingCompaction) -> CompactDecision {
        self.1.lock().unwrap().push(compacting.clone());
        (self.2)(compacting)
    }

    fn name(&self) -> &str {
        self.0
    }
}

fn replaces(by: &'static str, first_kept: Option<EntryId>) -> impl BeforeCompact {
    Hook(by, RecordedCompactions::default(), move |_: &PendingCompaction| CompactDecision::Replace {
        summary: format!("by {by}"),
        first_kept,
    })
}

#[tokio::test]
async fn hook_replaces_summary_and_kept_part() {
    let seen = RecordedCompactions::default();
    let script = script(vec![]);
    let keeps_more = Hook("notes", seen.clone(), |asked: &PendingCompaction| CompactDecision::Replace {
        summary: "mine".into(),
        first_kept: asked.cut_points().nth(2),
    });
    let builder = agent(&script, old(1_000)).before_compact(keeps_more);
    let agent = builder.before_compact(replaces("other", None)).build().unwrap();
    let done = agent.compact(CancellationToken::new(), Some("mind".into())).await.unwrap();
    assert_eq!((done.summary.as_str(), done.by.as_deref()), ("mine", Some("notes")));
    let [asked] = &seen.lock().unwrap()[..] else { panic!("asked once") };
    assert_eq!(asked.reason, CompactReason::Manual);
    assert_eq!(asked.instructions.as_deref(), Some("mind"));
    assert_eq!(asked.summarized_entries().len(), 5);
    let lines = transcript(&agent);
    assert_eq!(lines.len(), 1 + 8);
    assert!(lines[0].contains("mine") && lines[1].starts_with("user 0002"));
    assert_eq!(compactions(&agent)[0].by.as_deref(), Some("notes"));
}

#[tokio::test]
async fn ignores_invalid_kept_part() {
    let script = script(vec![]);
    let builder = agent(&script, old(1_000)).before_compact(replaces("first", Some(EntryId::from(7))));
    let agent = builder.before_compact(replaces("second", None)).build().unwrap();
    let done = agent.compact(CancellationToken::new(), None).await.unwrap();
    assert_eq!(done.by.as_deref(), Some("second"));
}

#[tokio::test]
async fn any_refusal_counts_and_a_panic_is_ignored() {
    let refuses = || {
        Hook("archive", RecordedCompactions::default(), |_: &PendingCompaction| CompactDecision::Cancel {
            reason: "not yet".into(),
        })
    };
    let script = script(vec![says("ok")]);
    let builder = agent(&script, old(7_000)).before_compact(replaces("first", None));
    let agent = builder.before_compact(refuses()).build().unwrap();
    let (events, outcome) = run(&agent).await;
    assert_eq!(outcome, Ok(()));
    let ends: Vec<&String> = events.iter().filter(|line| line.contains("compaction_end")).collect();
    assert!(
        ends[0].contains(r#""by":"archive","error":"compaction refused by archive: not yet"#),
        "{ends:?}"
    );
    assert_eq!(compactions(&agent).len(), 0);

    let script = self::script(vec![says("notes")]);
    let panics = Hook("notes", RecordedCompactions::default(), |_: &PendingCompaction| panic!("no"));
    let agent = self::agent(&script, old(1_000)).before_compact(panics).build().unwrap();
    assert_eq!(agent.compact(CancellationToken::new(), None).await.unwrap().summary, "notes");
}

#[tokio::test]
async fn manual_compaction_needs_content_and_an_idle_agent() {
    let script = script(vec![Answer { hangs: true, items: vec![] }]);
    let agent = agent(&script, Vec::new()).build().unwrap();
    let compact = || agent.compact(CancellationToken::new(), None);
    assert_eq!(compact().await, Err(CompactError::Nothing));
    let mut run = agent.prompt("go");
    let _ = run.next().await;
    assert_eq!(compact().await, Err(CompactError::Busy));
    drop(run);
    // The hook also sees that a prompt is rejected during the compaction.
    let slot: Arc<std::sync::OnceLock<Agent>> = Arc::default();
    let inside = slot.clone();
    let script = self::script(vec![says("ok")]);
    let busy = Hook("notes", RecordedCompactions::default(), move |_: &PendingCompaction| {
        let agent = inside.get().unwrap();
        assert_eq!(agent.steer("later").unwrap(), haft_core::QueueDelivery::Idle);
        let outcome = agent.prompt("go").finish().now_or_never().unwrap();
        assert_eq!(outcome.unwrap_err().kind, TurnErrorKind::Busy);
        CompactDecision::Replace { summary: "s".into(), first_kept: None }
    });
    let agent = self::agent(&script, old(1_000)).before_compact(busy).build().unwrap();
    slot.set(agent.clone()).unwrap();
    agent.compact(CancellationToken::new(), None).await.unwrap();
    agent.resume().finish().await.unwrap();
    assert_eq!(transcript(&agent)[6..], ["user later", "assistant ok "]);
}

#[derive(Clone, Default)]
struct Watch(Arc<Mutex<Vec<String>>>);

impl Observer for Watch {
    fn observe(&self, event: &AgentEvent) {
        self.0.lock().unwrap().push(line(event));
    }
}

#[tokio::test]
async fn cancelled_compaction_changes_nothing() {
    let watch = Watch::default();
    let script = script(vec![Answer { hangs: true, items: vec![] }]);
    let agent = agent(&script, old(1_000)).observer(watch.clone()).build().unwrap();
    let cancel = CancellationToken::new();
    let stop = async {
        while script.requests.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (outcome, ()) = futures::future::join(agent.compact(cancel.clone(), None), stop).await;
    assert_eq!(outcome, Err(CompactError::Aborted));
    assert_eq!(transcript(&agent).len(), 10);
    assert_eq!(
        watch.0.lock().unwrap().join("\n"),
        "{\"type\":\"compaction_start\",\"reason\":\"manual\"}\n\
         {\"type\":\"compaction_end\",\"tokens_before\":1017,\"error\":\"aborted\"}"
    );
}

#[tokio::test]
async fn does_not_compact_automatically_when_disabled() {
    let script = script(vec![fails(ModelErrorKind::Overflow)]);
    let off = CompactSettings::default().with_auto(false);
    let agent = agent(&script, old(7_000)).compaction(off).build().unwrap();
    let (events, outcome) = run(&agent).await;
    assert_eq!(outcome.unwrap_err().to_string(), "Overflow");
    assert!(!told(&events).contains("compaction"));
}

/// Adds a header.
struct Header;

#[async_trait]
impl BeforeProviderRequest for Header {
    async fn before_provider_request(
        &self,
        _: &CancellationToken,
        _: &ProviderRequest,
    ) -> ProviderRequestDecision {
        ProviderRequestDecision::Change { payload: None, headers: vec![("x-a".into(), "1".into())] }
    }
}

#[tokio::test]
async fn hooks_review_requests_of_steps_and_for_summaries() {
    let script = script(vec![says("a summary"), says("ok")]);
    let agent = agent(&script, old(1_000)).before_provider_request(Header).build().unwrap();
    agent.compact(CancellationToken::new(), None).await.unwrap();
    agent.prompt("go").finish().await.unwrap();
    let requests = script.requests.lock().unwrap().clone();
    assert_eq!(requests.len(), 2);
    for request in requests {
        let encoded = ProviderRequest::new(agent.model(), RawJson::empty_object());
        let reviewed = request.review.ask_hooks(&CancellationToken::new(), encoded).await;
        assert_eq!(reviewed.headers, [("x-a".to_owned(), "1".to_owned())]);
    }
}
