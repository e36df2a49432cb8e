//! Process hooks in PicoClaw's dialect: questions about a tool call, questions about a whole conversation, and events.
//!
//! Base: the exact lines that haft sends, recorded by a hook before, in blocking writes on a pipe to the same hook. A
//! question is also compared with a question in the native dialect, which is shorter because PicoClaw's form repeats
//! the origin of each call.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use haft_adapter_picoclaw::wire::HookSubscriptions;
use haft_core::hooks::{CancellationToken, HookKind, OutgoingRequest, RequestDecision, ToolDecision};
use haft_core::model::ModelId;
use haft_host::Host;
use haft_packages::{ExtensionDialect, ExtensionSpec, HookCommand, HookSpec};
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, ToolCall};
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::{ExtensionName, ToolCallId};
use haft_protocol::message::{AssistantBlock, AssistantMessage, Message, Rfc3339Time, ToolMessage};
use tokio::runtime::Runtime;

use crate::children::{ChildProgram, PipedChild};
use crate::extension_query::{HostCandidate, PipeBase, bench_host_config, runtime, write_call};
use crate::method::{RepetitionPlan, compare};
use crate::peers;
use crate::report::{LineGoal, Report, Unit};

/// The size of a call's arguments, given as the length of the native frame, and the round trips of a block.
const SIZES: [(&str, usize, usize, RepetitionPlan); 2] = [
    ("200 B", 200, 20, RepetitionPlan { repetitions: 5, pairs: 100 }),
    ("64 KB", 1 << 16, 5, RepetitionPlan { repetitions: 5, pairs: 40 }),
];

const CONVERSATION: RepetitionPlan = RepetitionPlan { repetitions: 5, pairs: 20 };

/// The number of messages in the conversation, and the bytes of each.
const MESSAGES: usize = 200;
const MESSAGE: usize = 5 * 1024;

/// The number of events in a block. After each batch the hook gets a question, which it answers after all earlier
/// events, because haft drops events if a hook is too far behind.
const EVENTS: usize = 2_000;
const EVENTS_F: f64 = 2_000.0;
const BATCH: usize = 200;

const TOLD: RepetitionPlan = RepetitionPlan { repetitions: 5, pairs: 20 };

/// The limit compared with a question in the native dialect.
const NATIVE: LineGoal = LineGoal::without_gate(1.15);

/// The limit for encoding and writing the conversation; row `results` does the same for a model. The hook returns no
/// content.
const SENT: LineGoal = LineGoal::without_gate(4.0);

/// The limit for one event in seconds. A turn has eight events, and four more for each further tool call.
const EVENT: LineGoal = LineGoal::without_gate(10e-6);

pub(super) fn measure(report: &mut Report) -> Result<()> {
    for size in &SIZES {
        measure_questions(report, size)?;
    }
    measure_conversation(report, "request of 1 MB", peers::HOOK, Some(SENT))?;
    measure_conversation(report, "the same, sent back", peers::HOOK_ECHO, None)?;
    measure_events(report)
}

fn measure_questions(
    report: &mut Report,
    &(name, bytes, block, plan): &(&str, usize, usize, RepetitionPlan),
) -> Result<()> {
    let (plan, asked_about) = (report.plan_for_effort(plan), write_call(bytes)?);
    let line = record_line("hook.before_tool", |hooked| hooked.query_tool_call(&asked_about))?;
    let hook = ChildProgram::in_role(peers::HOOK)?;
    let mut base = PipeBase::from_ready_peer(PipedChild::start(&hook)?, &line, block);
    let mut twin = PipeBase::from_ready_peer(PipedChild::start(&hook)?, &line, block);
    let [found] = compare(plan, || base.block(), || twin.block())?;
    let sound = report.add_control(&format!("control, {name}"), Unit::Seconds, found);
    let mut hooked =
        HostCandidate::from_spec(hook_spec(&hook, &["before_tool"], &[])?, asked_about.clone(), block)?;
    let [found] = compare(plan, || base.block(), || hooked.block())?;
    report.add_comparison(&format!("hook, Rust, {name}"), Unit::Seconds, found, None, sound);
    let mut native = HostCandidate::start(&ChildProgram::in_role(peers::LEAST)?, asked_about.clone(), block)?;
    let [found] = compare(plan, || native.block(), || hooked.block())?;
    let what = format!("hook by extension, {name}");
    report.add_comparison(&what, Unit::Seconds, found, (bytes == 200).then_some(NATIVE), sound);
    native.end();
    hooked.end();
    let Ok(path) = haft_launch::find_program("python3") else {
        report.skip("python3 is not installed");
        return Ok(());
    };
    let python = ChildProgram { path, args: peers::PYTHON_HOOK.iter().map(|&arg| arg.to_owned()).collect() };
    let mut base = PipeBase::from_ready_peer(PipedChild::start(&python)?, &line, block);
    let mut hooked =
        HostCandidate::from_spec(hook_spec(&python, &["before_tool"], &[])?, asked_about, block)?;
    let [found] = compare(plan, || base.block(), || hooked.block())?;
    report.add_comparison(&format!("hook, python3, {name}"), Unit::Seconds, found, None, sound);
    hooked.end();
    Ok(())
}

/// Measures a `before_llm` question about a long conversation with a hook in this role.
fn measure_conversation(report: &mut Report, what: &str, role: &str, goal: Option<LineGoal>) -> Result<()> {
    let (plan, request) = (report.plan_for_effort(CONVERSATION), request());
    let line = record_line("hook.before_llm", |hooked| hooked.query_request(&request))?;
    let hook = ChildProgram::in_role(role)?;
    let (mut base, mut twin) = (PipedChild::start(&hook)?, PipedChild::start(&hook)?);
    let [found] =
        compare(plan, || time_discarded_reply(&mut base, &line), || time_discarded_reply(&mut twin, &line))?;
    let sound = report.add_control(&format!("control, {what}"), Unit::Seconds, found);
    let hooked = HookHost::start(hook_spec(&hook, &["before_llm"], &[])?)?;
    let candidate = || {
        let start = Instant::now();
        hooked.query_request(&request)?;
        Ok([start.elapsed().as_secs_f64()])
    };
    let [found] = compare(plan, || time_discarded_reply(&mut base, &line), candidate)?;
    report.add_comparison(what, Unit::Seconds, found, goal, sound);
    hooked.end();
    Ok(())
}

fn time_discarded_reply(peer: &mut PipedChild, line: &[u8]) -> Result<[f64; 1]> {
    let start = Instant::now();
    peer.write_and_discard_reply(line)?;
    Ok([start.elapsed().as_secs_f64()])
}

fn measure_events(report: &mut Report) -> Result<()> {
    let (plan, asked_about) = (report.plan_for_effort(TOLD), write_call(200)?);
    let watching = |program| hook_spec(program, &["before_tool"], &["llm_response"]);
    let event = record_line("hook.runtime_event", |hooked| {
        hooked.send_model_responses(1);
        hooked.query_tool_call(&asked_about)
    })?;
    let question = record_line("hook.before_tool", |hooked| hooked.query_tool_call(&asked_about))?;
    let batch = [event.repeat(BATCH), question].concat();
    let hook = ChildProgram::in_role(peers::HOOK)?;
    let (mut base, mut twin) = (PipedChild::start(&hook)?, PipedChild::start(&hook)?);
    let [found] = compare(plan, || time_batches(&mut base, &batch), || time_batches(&mut twin, &batch))?;
    let sound = report.add_control("control, 2,000 events", Unit::Seconds, found);
    let hooked = HookHost::start(watching(&hook)?)?;
    let candidate = || {
        let start = Instant::now();
        for _ in 0..EVENTS / BATCH {
            hooked.send_model_responses(BATCH);
            hooked.query_tool_call(&asked_about)?;
        }
        Ok([start.elapsed().as_secs_f64()])
    };
    let [found] = compare(plan, || time_batches(&mut base, &batch), candidate)?;
    report.add_comparison("2,000 events", Unit::Seconds, found, None, sound);
    report.add_figure("each event", Unit::Seconds, found.candidate / EVENTS_F, Some(EVENT));
    let dropped: usize = hooked.host.statuses().iter().map(|status| status.events_dropped).sum();
    ensure!(dropped == 0, "{dropped} events were dropped, so the measurement is invalid");
    hooked.end();
    Ok(())
}

fn time_batches(peer: &mut PipedChild, batch: &[u8]) -> Result<[f64; 1]> {
    let start = Instant::now();
    for _ in 0..EVENTS / BATCH {
        peer.round_trip(batch)?;
    }
    Ok([start.elapsed().as_secs_f64()])
}

/// A host with one hook.
struct HookHost {
    runtime: Runtime,
    host: Host,
}

impl HookHost {
    fn start(spec: ExtensionSpec) -> Result<Self> {
        let runtime = runtime()?;
        let host = runtime.block_on(Host::builder(bench_host_config()).specs(vec![spec]).start());
        let hooked = Self { runtime, host };
        // The hook receives only events that belong to a turn.
        let (content, time) =
            (vec![ContentBlock::text("go")], Rfc3339Time("2026-01-01T00:00:00.000Z".to_owned()));
        hooked.send_event(&AgentEvent::UserMessage { content, time, entry: None });
        Ok(hooked)
    }

    fn send_event(&self, event: &AgentEvent) {
        self.host.hook_source().hooks().observers.iter().for_each(|observer| observer.observe(event));
    }

    /// Sends this many model responses to the hook.
    fn send_model_responses(&self, times: usize) {
        let event = AgentEvent::ModelResponse { text_bytes: 1_234, tool_calls: 1, thinking: false };
        let observers = self.host.hook_source().hooks().observers;
        for _ in 0..times {
            observers.iter().for_each(|observer| observer.observe(&event));
        }
    }

    /// Asks the hook about a tool call, which it allows.
    fn query_tool_call(&self, call: &ToolCall) -> Result<()> {
        let hooks = self.host.hook_source().hooks_of(HookKind::BeforeToolExecute).before_tool_execute;
        let call = call.clone();
        let asking = async move {
            for hook in hooks {
                let decision = hook.before_tool_execute(&CancellationToken::new(), &call).await;
                ensure!(decision == ToolDecision::Allow, "the hook did not allow the call: {decision:?}");
            }
            Ok(())
        };
        // The binary runs its agent as a task, too.
        self.runtime.block_on(async { tokio::spawn(asking).await }).context("run the question as a task")?
    }

    /// Asks the hook about a request, which it leaves unchanged.
    fn query_request(&self, request: &Arc<OutgoingRequest>) -> Result<()> {
        let hooks = self.host.hook_source().hooks_of(HookKind::BeforeModelRequest).before_model_request;
        let hook = hooks.into_iter().next().context("the hook did not start")?;
        let request = Arc::clone(request);
        let asking = async move { hook.before_model_request(&CancellationToken::new(), &request).await };
        let decision = self
            .runtime
            .block_on(async { tokio::spawn(asking).await })
            .context("run the question as a task")?;
        let same = match &decision {
            RequestDecision::Send => true,
            RequestDecision::Edit(edit) => edit.messages.is_none() && edit.model.is_none(),
            RequestDecision::Refuse(_) => false,
        };
        ensure!(same, "the hook changed the request");
        Ok(())
    }

    fn end(self) {
        self.runtime.block_on(self.host.shutdown());
    }
}

/// Returns the line with which a host calls this method during `act`.
fn record_line(method: &str, act: impl FnOnce(&HookHost) -> Result<()>) -> Result<Vec<u8>> {
    let file = tempfile::NamedTempFile::new().context("create a file for the recorded calls")?;
    let mut spec = hook_spec(
        &ChildProgram::in_role(peers::HOOK_RECORD)?,
        &["before_tool", "before_llm"],
        &["llm_response"],
    )?;
    if let ExtensionDialect::Hook(hook) = &mut spec.dialect {
        let path = file.path().display().to_string();
        Arc::make_mut(hook).env.insert(peers::RECORD.to_owned(), path);
    }
    let hooked = HookHost::start(spec)?;
    act(&hooked)?;
    hooked.end();
    let told = std::fs::read_to_string(file.path()).context("read the recorded calls")?;
    let method = format!(r#""method":"{method}""#);
    let line = told.split_inclusive('\n').rfind(|line| line.contains(&method));
    Ok(line.context("the hook received no such call")?.as_bytes().to_vec())
}

/// Describes a hook that runs this program.
fn hook_spec(program: &ChildProgram, intercept: &[&str], observe: &[&str]) -> Result<ExtensionSpec> {
    let hook = HookSpec::new(HookSubscriptions::parse(observe, intercept)?);
    let path = program.path.display().to_string();
    let command = HookCommand { command: [vec![path], program.args.clone()].concat(), dir: None };
    Ok(ExtensionSpec::from_hook(ExtensionName::new("hook"), hook, &command, &std::env::temp_dir()))
}

/// Returns a conversation of one megabyte, as in a turn with many tool calls, with quotes and newlines.
fn request() -> Arc<OutgoingRequest> {
    let time = Rfc3339Time("2026-01-01T00:00:00.000Z".to_owned());
    let code = "fn name(of: &str) -> String {\n    format!(\"{of}\")\n}\n".repeat(MESSAGE / 50);
    let (call_id, name) = (ToolCallId::new("call_1"), "bash".to_owned());
    let call = ToolCall { id: call_id.clone(), name: name.clone(), args: RawJson::empty_object() };
    let message = |number| match number % 3 {
        0 => Message::User { content: vec![ContentBlock::text(code.clone())], time: time.clone() },
        1 => Message::Assistant(AssistantMessage::new(
            vec![AssistantBlock::Text { text: code.clone() }, AssistantBlock::ToolCall(call.clone())],
            time.clone(),
        )),
        _ => Message::Tool(ToolMessage::new(
            call_id.clone(),
            name.clone(),
            vec![ContentBlock::text(code.clone())],
            time.clone(),
        )),
    };
    Arc::new(
        OutgoingRequest::new(
            1,
            ModelId { provider: "bench".into(), model: "none".into() },
            Arc::new((0..MESSAGES).map(message).collect()),
        )
        .with_system("Be brief."),
    )
}
