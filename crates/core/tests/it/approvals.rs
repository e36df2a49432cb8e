//! Tests of `ApproveTool`: the order, input and time of approvals, and the effect of a denial.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use haft_core::error::TurnErrorKind;
use haft_core::hooks::{
    AfterBlock, ApproveTool, ApproverDecision, CancellationToken, HookRole, PendingCall, ToolDecision,
};
use haft_core::session::entry::EntryBody;
use haft_core::session::intervention::{HookIntervention, InterventionAction};
use haft_core::tool::{ApprovalRequest, Tool, ToolContext, ToolOutput, ToolPreview, ToolSpec};
use haft_core::{AgentBuilder, CallableTool, ExtensionToolCall};
use haft_protocol::RawJson;
use haft_protocol::content::{CallPreview, ToolCall};
use haft_protocol::ids::{ExtensionName, ToolCallId};

use crate::fake::{Script, call, calls, run, says, tool, transcript};
use crate::renames::{Gate, rename, respond};

/// Denies calls of some tools; records its queries.
#[derive(Clone, Default)]
struct Approver {
    name: &'static str,
    denies: Option<&'static str>,
    asked: Arc<Mutex<Vec<String>>>,
    takes: Duration,
    stops: bool,
}

impl Approver {
    fn new(name: &'static str, denies: Option<&'static str>) -> Self {
        Self { name, denies, ..Self::default() }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl ApproveTool for Approver {
    async fn approve_tool(&self, _: &CancellationToken, call: &ToolCall) -> ApproverDecision {
        self.asked.lock().unwrap().push(format!("{}{}", call.name, call.args));
        // sleep: virtual time
        tokio::time::sleep(self.takes).await;
        match self.denies == Some(call.name.as_str()) {
            true => ApproverDecision::Deny { reason: format!("denied by {}", self.name) },
            false => ApproverDecision::Approve,
        }
    }

    fn belongs_to(&self, extension: &ExtensionName) -> bool {
        extension.as_str() == self.name
    }

    async fn after_denial(&self, _: &CancellationToken, _: &ToolCall) -> AfterBlock {
        match self.stops {
            true => AfterBlock::AbortAgent { reason: "broken".into() },
            false => AfterBlock::GoOn,
        }
    }

    fn name(&self) -> &str {
        self.name
    }
}

fn script(name: &str) -> Script {
    Script::new(vec![calls(vec![call("t1", name, r#"{"n":1}"#)]), says("ok")])
}

fn agent(script: &Script) -> AgentBuilder {
    script
        .agent()
        .tool(tool("old", |_| ToolOutput::text("old ran")))
        .tool(tool("new", |_| ToolOutput::text("new ran")))
}

#[tokio::test]
async fn approvers_are_asked_in_order_and_first_denial_decides() {
    let [first, second, third] = [("a", None), ("b", Some("old")), ("c", Some("old"))]
        .map(|(name, denies)| Approver::new(name, denies));
    let script = script("old");
    let agent = agent(&script)
        .approve_tool(first.clone())
        .approve_tool(second.clone())
        .approve_tool(third.clone())
        .build()
        .unwrap();
    let (events, outcome) = run(&agent).await;
    assert_eq!(outcome, Ok(()));
    assert!(events.contains(&"blocked t1 by b: denied by b".to_owned()), "{events:#?}");
    assert_eq!(transcript(&agent)[2], "tool t1 error denied by b");
    assert_eq!([first.asked().len(), second.asked().len(), third.asked().len()], [1, 1, 0]);
    let branch = agent.session().branch();
    let noted = branch.iter().find_map(|entry| match &entry.body {
        EntryBody::Custom(custom) => HookIntervention::from_custom(custom),
        _ => None,
    });
    let noted = noted.unwrap();
    assert_eq!((noted.action, noted.by), (InterventionAction::Blocked, vec!["b".to_owned()]));
}

#[tokio::test]
async fn approvers_see_the_final_call() {
    let names = Gate::new([("old", HookRole::Ordered)], vec![rename("new", r#"{"n":2}"#)]);
    let approver = Approver::new("a", None);
    let script = script("old");
    let agent = agent(&script).before_tool_execute(names).approve_tool(approver.clone()).build().unwrap();
    run(&agent).await.1.unwrap();
    assert_eq!(approver.asked(), [r#"new{"n":2}"#]);
    assert_eq!(transcript(&agent)[2], "tool t1 new ran");
}

#[tokio::test]
async fn approvers_are_not_asked_about_blocked_calls() {
    let block = ToolDecision::block("no");
    let approver = Approver::new("a", None);
    let script = script("old");
    let agent = agent(&script)
        .before_tool_execute(Gate::new([("old", HookRole::Gate)], vec![block]))
        .approve_tool(approver.clone())
        .build()
        .unwrap();
    run(&agent).await.1.unwrap();
    assert_eq!(approver.asked(), Vec::<String>::new());
}

/// Checks whether approvers are asked about a hook's result in place of a tool, and the model's result after a denial.
async fn check_answered(name: &'static str, vouches: bool, asked: bool) {
    let plugin = Gate {
        takes_unknown: true,
        vouches: vouches.then_some(name),
        ..Gate::new([("old", HookRole::Ordered), ("plugin_tool", HookRole::Ordered)], vec![respond("cached")])
    };
    let approver = Approver::new("a", Some(name));
    let script = script(name);
    let agent = agent(&script).before_tool_execute(plugin).approve_tool(approver.clone()).build().unwrap();
    run(&agent).await.1.unwrap();
    assert_eq!(approver.asked().len(), usize::from(asked), "{name} {vouches}");
    let told = if asked { "tool t1 error denied by a" } else { "tool t1 cached" };
    assert_eq!(transcript(&agent)[2], told, "{name} {vouches}");
}

#[tokio::test]
async fn hook_response_needs_approval_unless_only_hooks_know_the_tool() {
    check_answered("old", false, true).await;
    check_answered("old", true, false).await;
    check_answered("plugin_tool", false, false).await;
    check_answered("plugin_tool", true, false).await;
}

/// Checks the approvers' queries when a hook answers a call of `name` and a later hook selects the tool `new`.
async fn check_renamed(name: &'static str, vouches: &'static str, asked: &[&str]) {
    let roles = || [(name, HookRole::Ordered), ("new", HookRole::Ordered)];
    let plugin =
        Gate { takes_unknown: true, vouches: Some(vouches), ..Gate::new(roles(), vec![respond("cached")]) };
    let names = Gate { takes_unknown: true, ..Gate::new(roles(), vec![rename("new", r#"{"n":2}"#)]) };
    let approver = Approver::new("a", Some(name));
    let script = script(name);
    let agent = agent(&script).before_tool_execute(plugin).before_tool_execute(names);
    let agent = agent.approve_tool(approver.clone()).build().unwrap();
    run(&agent).await.1.unwrap();
    assert_eq!(approver.asked(), asked, "{name} {vouches}");
    let told = if asked.is_empty() { "tool t1 cached" } else { "tool t1 error denied by a" };
    assert_eq!(transcript(&agent)[2], told, "{name} {vouches}");
}

#[tokio::test]
async fn hook_response_needs_approval_for_the_answered_call() {
    check_renamed("old", "new", &[r#"old{"n":1}"#]).await;
    check_renamed("old", "old", &[]).await;
    check_renamed("plugin_tool", "nothing", &[]).await;
}

#[tokio::test(start_paused = true)]
async fn approval_time_is_not_part_of_the_budget() {
    let approver = Approver { takes: Duration::from_secs(50), ..Approver::new("a", None) };
    let script = script("old");
    let agent = agent(&script).gate_budget(Duration::from_secs(1)).approve_tool(approver).build().unwrap();
    run(&agent).await.1.unwrap();
    assert_eq!(transcript(&agent)[2], "tool t1 old ran");
}

#[tokio::test]
async fn denial_can_end_the_run() {
    let approver = Approver { stops: true, ..Approver::new("a", Some("old")) };
    let script = script("old");
    let agent = agent(&script).approve_tool(approver).build().unwrap();
    let kind = TurnErrorKind::Stopped { by: "a".into(), reason: "broken".into() };
    assert_eq!(run(&agent).await.1.unwrap_err().kind, kind);
}

struct Panics;

#[async_trait]
impl ApproveTool for Panics {
    async fn approve_tool(&self, _: &CancellationToken, _: &ToolCall) -> ApproverDecision {
        panic!("boom")
    }

    fn name(&self) -> &str {
        "p"
    }
}

#[tokio::test]
async fn panicking_approver_denies() {
    let script = script("old");
    let agent = agent(&script).approve_tool(Panics).build().unwrap();
    let (events, _) = run(&agent).await;
    assert!(events.contains(&"blocked t1 by p: the hook panicked".to_owned()), "{events:#?}");
    assert_eq!(transcript(&agent)[2], "tool t1 error the hook panicked");
}

#[tokio::test]
async fn cancelling_during_approval_runs_no_tool() {
    let approver = Approver { takes: Duration::from_secs(600), ..Approver::new("a", None) };
    let script = Script::new(vec![calls(vec![call("t1", "old", "{}")])]);
    let agent = script
        .agent()
        .tool(tool("old", |_| panic!("it must not run")))
        .approve_tool(approver.clone())
        .build()
        .unwrap();
    let mut run = agent.prompt("go");
    let cancel = run.cancellation_token();
    while let Some(event) = run.next().await {
        if let haft_protocol::event::AgentEvent::ToolCall { .. } = event {
            cancel.cancel();
        }
    }
    assert_eq!(run.finish().await.unwrap_err().kind, TurnErrorKind::Aborted);
}

/// Makes a call as an extension.
async fn called_by(extension: &str, approver: &Approver) -> (bool, Option<String>) {
    let script = Script::new(vec![]);
    let agent = agent(&script).approve_tool(approver.clone()).build().unwrap();
    let ran: Arc<dyn Tool> = Arc::new(tool("old", |_| ToolOutput::text("old ran")));
    let callable = CallableTool::new(ran);
    let call = ExtensionToolCall::new(
        ExtensionName::new(extension),
        ToolCallId::new("host-1"),
        &callable,
        RawJson::empty_object(),
    );
    let called = agent.tool_runner().call(&CancellationToken::new(), call, Arc::new(|_| {})).await;
    (called.output.is_error, called.by)
}

#[tokio::test]
async fn extension_calls_need_approval_of_other_approvers() {
    let approver = Approver::new("a", Some("old"));
    assert_eq!(called_by("b", &approver).await, (true, Some("a".to_owned())));
    assert_eq!(called_by("a", &approver).await, (false, None));
    assert_eq!(approver.asked(), ["old{}"]);
}

/// A tool whose calls need the approval of a person; its result is the request that was approved.
struct Guarded;

#[async_trait]
impl Tool for Guarded {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::new(ToolSpec::new("guarded", "").with_schema(RawJson::empty_object_schema()))
    }

    async fn execute(&self, context: ToolContext, _: ToolCall) -> ToolOutput {
        ToolOutput::text(context.approved.map_or("no approval".to_owned(), |approved| approved.reason))
    }

    async fn approval_request(&self, call: &ToolCall) -> Option<ApprovalRequest> {
        let reason = format!("use {}", call.args);
        Some(ApprovalRequest::new(reason).with_permitted_by("--sandbox full"))
    }
}

/// A person who answers yes or no.
struct Person(bool);

#[async_trait]
impl ApproveTool for Person {
    async fn approve_tool(&self, _: &CancellationToken, _: &ToolCall) -> ApproverDecision {
        panic!("asked about the call instead of the request")
    }

    async fn ask_person(
        &self,
        _: &CancellationToken,
        _: &PendingCall<'_>,
        request: &ApprovalRequest,
    ) -> Option<ApproverDecision> {
        Some(match self.0 {
            true => ApproverDecision::Approve,
            false => ApproverDecision::Deny { reason: format!("no: {}", request.reason) },
        })
    }
}

/// Runs a call of the guarded tool; returns its result.
async fn result_of_guarded_call(agent: impl FnOnce(AgentBuilder) -> AgentBuilder) -> String {
    let script = Script::new(vec![calls(vec![call("t1", "guarded", "{}")]), says("ok")]);
    let agent = agent(script.agent().tool(Guarded)).build().unwrap();
    run(&agent).await.1.unwrap();
    transcript(&agent)[2].clone()
}

#[tokio::test]
async fn request_of_a_tool_needs_a_person() {
    let denied = "tool t1 error use {}: this needs the approval of a person, and no person can be asked; \
                  --sandbox full permits it";
    assert_eq!(result_of_guarded_call(|agent| agent).await, denied);
    // An approver that is not a person is asked too, and cannot approve the request.
    let hook = Approver::new("a", None);
    assert_eq!(result_of_guarded_call(|agent| agent.approve_tool(hook.clone())).await, denied);
    assert_eq!(hook.asked(), ["guarded{}"]);
    assert_eq!(result_of_guarded_call(|agent| agent.approve_tool(Person(true))).await, "tool t1 use {}");
    let both = |agent: AgentBuilder| {
        agent.approve_tool(Person(true)).approve_tool(Approver::new("a", Some("guarded")))
    };
    assert_eq!(result_of_guarded_call(both).await, "tool t1 error denied by a");
    assert_eq!(
        result_of_guarded_call(|agent| agent.approve_tool(Person(false))).await,
        "tool t1 error no: use {}"
    );
}

/// A hook selects a tool whose calls need an approval.
#[tokio::test]
async fn request_of_a_selected_tool_needs_a_person() {
    let script = script("old");
    let names = Gate::new([("old", HookRole::Ordered)], vec![rename("guarded", "{}")]);
    let agent = agent(&script).tool(Guarded).before_tool_execute(names).build().unwrap();
    run(&agent).await.1.unwrap();
    assert!(transcript(&agent)[2].contains("needs the approval of a person"), "{:?}", transcript(&agent));
}

/// A tool with a preview; its result is the state of the preview that a person saw.
#[derive(Default)]
struct Previews {
    asked: Arc<Mutex<usize>>,
    panics: bool,
    takes: Duration,
}

#[async_trait]
impl Tool for Previews {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::new(ToolSpec::new("old", "").with_schema(RawJson::empty_object_schema()))
    }

    async fn execute(&self, context: ToolContext, _: ToolCall) -> ToolOutput {
        ToolOutput::text(format!("{:?}", context.previewed_state))
    }

    async fn preview(&self, _: &ToolContext, call: &ToolCall) -> Option<ToolPreview> {
        *self.asked.lock().unwrap() += 1;
        // sleep: virtual time
        tokio::time::sleep(self.takes).await;
        assert!(!self.panics, "boom");
        Some(ToolPreview::error(format!("changes {}", call.args)).with_state(7))
    }
}

/// A person who sees previews and approves.
#[derive(Clone, Default)]
struct Reader {
    looks: bool,
    saw: Arc<Mutex<Vec<Option<CallPreview>>>>,
}

#[async_trait]
impl ApproveTool for Reader {
    async fn approve_tool(&self, _: &CancellationToken, _: &ToolCall) -> ApproverDecision {
        panic!("asked without the preview")
    }

    async fn approve_call(&self, _: &CancellationToken, pending: &PendingCall<'_>) -> ApproverDecision {
        if self.looks {
            let preview = pending.request_preview().await;
            self.saw.lock().unwrap().push(preview.cloned());
        }
        ApproverDecision::Approve
    }
}

fn reader() -> Reader {
    Reader { looks: true, ..Reader::default() }
}

#[tokio::test]
async fn preview_is_computed_once_when_a_person_is_asked() {
    for (readers, previews, result) in
        [(vec![Reader::default()], 0, "None"), (vec![reader(), reader()], 1, "Some(7)")]
    {
        let (script, tool) = (script("old"), Previews::default());
        let asked = Arc::clone(&tool.asked);
        let saw: Vec<_> = readers.iter().map(|reader| Arc::clone(&reader.saw)).collect();
        let agent = script.agent().tool(tool);
        let agent = readers.into_iter().fold(agent, AgentBuilder::approve_tool).build().unwrap();
        run(&agent).await.1.unwrap();
        assert_eq!(transcript(&agent)[2], format!("tool t1 {result}"));
        assert_eq!(*asked.lock().unwrap(), previews);
        let shown = CallPreview::Error(r#"changes {"n":1}"#.to_owned());
        for saw in saw {
            let expect = if previews == 0 { vec![] } else { vec![Some(shown.clone())] };
            assert_eq!(*saw.lock().unwrap(), expect);
        }
    }
}

#[tokio::test]
async fn hooks_and_answered_calls_have_no_preview() {
    let call = ToolCall { id: ToolCallId::new("t1"), name: "old".to_owned(), args: RawJson::empty_object() };
    assert_eq!(PendingCall::new(&call).request_preview().await, None);
    // A hook returns the result, so the tool would change nothing.
    let (script, reader, tool) = (script("old"), reader(), Previews::default());
    let asked = Arc::clone(&tool.asked);
    let answers = Gate::new([("old", HookRole::Ordered)], vec![respond("cached")]);
    let agent = script.agent().tool(tool).before_tool_execute(answers).approve_tool(reader.clone());
    run(&agent.build().unwrap()).await.1.unwrap();
    assert_eq!((reader.saw.lock().unwrap().as_slice(), *asked.lock().unwrap()), ([None].as_slice(), 0));
}

/// Runs a call whose preview fails; returns what the person saw.
async fn failed_preview(tool: Previews) -> String {
    let (script, reader) = (script("old"), reader());
    let agent = script.agent().tool(tool).approve_tool(reader.clone()).build().unwrap();
    run(&agent).await.1.unwrap();
    assert_eq!(transcript(&agent)[2], "tool t1 None");
    match reader.saw.lock().unwrap().as_slice() {
        [Some(CallPreview::Error(reason))] => reason.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn failed_preview_gives_the_reason() {
    let panics = Previews { panics: true, ..Previews::default() };
    assert_eq!(failed_preview(panics).await, "old panicked when it computed the change");
    let hangs = Previews { takes: Duration::from_secs(600), ..Previews::default() };
    assert_eq!(failed_preview(hangs).await, "old did not compute the change within 5 s");
}
