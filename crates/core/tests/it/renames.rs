//! Tests of hooks that select another tool or answer calls of unregistered tools.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use haft_core::AgentBuilder;
use haft_core::hooks::{
    AfterToolExecute, BeforeToolExecute, CancellationToken, FinishedCall, HookRole, ResultDecision,
    ToolDecision,
};
use haft_core::session::entry::EntryBody;
use haft_core::session::intervention::{HookIntervention, InterventionAction};
use haft_core::tool::ToolOutput;
use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;

use crate::fake::{Script, call, calls, run, says, tool, transcript};

/// A hook with a role in calls of some tools; records its queries and rejected rewrites.
#[derive(Clone, Default)]
pub(crate) struct Gate {
    pub(crate) name: &'static str,
    pub(crate) roles: HashMap<&'static str, HookRole>,
    pub(crate) decisions: Arc<Mutex<VecDeque<ToolDecision>>>,
    pub(crate) asked: Arc<Mutex<Vec<String>>>,
    pub(crate) refused: Arc<Mutex<Vec<String>>>,
    pub(crate) takes_unknown: bool,
    /// The tool for which its results need no approval.
    pub(crate) vouches: Option<&'static str>,
}

impl Gate {
    pub(crate) fn new<const N: usize>(
        roles: [(&'static str, HookRole); N],
        decisions: Vec<ToolDecision>,
    ) -> Self {
        let decisions = Arc::new(Mutex::new(decisions.into()));
        Self { roles: roles.into(), decisions, ..Self::default() }
    }

    fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl BeforeToolExecute for Gate {
    async fn before_tool_execute(&self, _: &CancellationToken, call: &ToolCall) -> ToolDecision {
        self.asked.lock().unwrap().push(format!("{}{}", call.name, call.args));
        self.decisions.lock().unwrap().pop_front().unwrap_or(ToolDecision::Allow)
    }

    fn role(&self, tool: &str) -> Option<HookRole> {
        self.roles.get(tool).copied()
    }

    fn handles_unknown_tools(&self) -> bool {
        self.takes_unknown
    }

    fn bypasses_approval(&self, tool: &str) -> bool {
        self.vouches == Some(tool)
    }

    fn rewrite_refused(&self, call: &ToolCall, detail: &str) {
        self.refused.lock().unwrap().push(format!("{}: {detail}", call.name));
    }

    fn name(&self) -> &str {
        self.name
    }
}

pub(crate) fn rename(tool: &str, args: &str) -> ToolDecision {
    ToolDecision::Rewrite { tool: Some(tool.into()), args: RawJson::parse(args).unwrap() }
}

pub(crate) fn respond(text: &str) -> ToolDecision {
    ToolDecision::Respond { output: ToolOutput::text(text) }
}

fn block() -> ToolDecision {
    ToolDecision::block("no")
}

fn agent(script: &Script) -> AgentBuilder {
    script
        .agent()
        .tool(tool("old", |_| panic!("it must not run")))
        .tool(tool("new", |args| ToolOutput::text(format!("new got {args}"))))
        .tool(tool("off", |_| panic!("it must not run")))
}

fn script(name: &str) -> Script {
    Script::new(vec![calls(vec![call("t1", name, r#"{"n":1}"#)]), says("ok")])
}

/// Records the events that it receives.
#[derive(Clone, Default)]
struct Watches(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl AfterToolExecute for Watches {
    async fn after_tool_execute(
        &self,
        _: &CancellationToken,
        finished: &FinishedCall,
        output: ToolOutput,
    ) -> ResultDecision {
        self.0.lock().unwrap().push(format!("{}{}", finished.call.name, finished.call.args));
        output.into()
    }
}

#[tokio::test]
async fn runs_selected_tool_and_transcript_keeps_the_models_call() {
    let script = script("old");
    let names = Gate::new([("old", HookRole::Ordered)], vec![rename("new", r#"{"n":2}"#)]).named("names");
    let (guard, watches) = (Gate::new([("new", HookRole::Gate)], vec![]), Watches::default());
    let agent = agent(&script)
        .before_tool_execute(guard.clone())
        .before_tool_execute(names)
        .after_tool_execute(watches.clone())
        .build()
        .unwrap();
    let (events, outcome) = run(&agent).await;
    assert_eq!(outcome, Ok(()));
    assert_eq!(guard.asked(), [r#"new{"n":2}"#]);
    assert_eq!(*watches.0.lock().unwrap(), [r#"new{"n":2}"#]);
    let told: Vec<_> = events.iter().filter(|line| line.contains("t1")).collect();
    assert_eq!(
        told,
        [r#"call t1 old {"n":1}"#, r#"rewritten t1 by names new {"n":2}"#, r#"result t1 new got {"n":2}"#]
    );
    let lines = transcript(&agent);
    assert_eq!(lines[1..3], [r#"assistant  old{"n":1}"#, r#"tool t1 new got {"n":2}"#]);
    let branch = agent.session().branch();
    let started = branch.iter().find_map(|entry| match &entry.body {
        EntryBody::ToolStart(start) => Some(format!("{}{}", start.name, start.args)),
        _ => None,
    });
    assert_eq!(started.unwrap(), r#"new{"n":2}"#);
    let noted = branch.iter().find_map(|entry| match &entry.body {
        EntryBody::Custom(custom) => HookIntervention::from_custom(custom),
        _ => None,
    });
    assert_eq!(noted.unwrap().action, InterventionAction::Rewritten);
}

#[tokio::test]
async fn a_gate_of_the_new_tool_can_refuse_it() {
    let script = script("old");
    let names = Gate::new([("old", HookRole::Ordered)], vec![rename("new", "{}")]);
    let guard = Gate::new([("new", HookRole::Gate)], vec![block()]).named("guard");
    let agent = agent(&script).before_tool_execute(guard).before_tool_execute(names).build().unwrap();
    let (events, _) = run(&agent).await;
    assert!(events.contains(&"blocked t1 by guard: no".to_owned()), "{events:#?}");
    assert_eq!(transcript(&agent)[2], "tool t1 error no");
}

/// Checks the reason why a hook's selection of another tool is rejected.
async fn check_refused(tool: &str, args: &str, refused: &str, told: &str) {
    let script = script("old");
    let names = Gate::new([("old", HookRole::Ordered)], vec![rename(tool, args)]).named("names");
    let agent = agent(&script).before_tool_execute(names.clone()).build().unwrap();
    agent.set_active_tools(Some(vec!["old".to_owned(), "new".to_owned()]));
    run(&agent).await.1.unwrap();
    assert_eq!(*names.refused.lock().unwrap(), [refused]);
    assert_eq!(transcript(&agent)[2], format!("tool t1 error {told}"));
}

#[tokio::test]
async fn hook_cannot_select_a_tool_that_is_not_offered() {
    check_refused(
        "nobody",
        "{}",
        r#"nobody: "nobody": the tool is not offered to the model"#,
        r#"names changed the call to a tool that cannot run: "nobody": the tool is not offered to the model"#,
    )
    .await;
    check_refused(
        "off",
        "{}",
        r#"off: "off": the tool is not offered to the model"#,
        r#"names changed the call to a tool that cannot run: "off": the tool is not offered to the model"#,
    )
    .await;
    let unfit = r#"arguments are not valid: at /n: "x" is not of type "integer""#;
    let script = script("old");
    let names = Gate::new([("old", HookRole::Ordered)], vec![rename("new", r#"{"n":"x"}"#)]);
    let agent = agent(&script).before_tool_execute(names.clone()).build().unwrap();
    run(&agent).await.1.unwrap();
    let refused = names.refused.lock().unwrap().clone();
    assert!(refused[0].starts_with("new: ") && refused[0].contains("/n"), "{refused:?} {unfit}");
}

#[tokio::test]
async fn hook_answers_call_of_unregistered_tool() {
    let script = script("plugin_tool");
    let plugin = Gate {
        name: "plugin",
        takes_unknown: true,
        ..Gate::new([("plugin_tool", HookRole::Ordered)], vec![respond("from the plugin")])
    };
    let guard = Gate::new([("plugin_tool", HookRole::Gate)], vec![]);
    let agent =
        agent(&script).before_tool_execute(plugin).before_tool_execute(guard.clone()).build().unwrap();
    let (events, outcome) = run(&agent).await;
    assert_eq!(outcome, Ok(()));
    assert!(events.contains(&"result t1 (by plugin) from the plugin".to_owned()), "{events:#?}");
    assert_eq!(guard.asked(), [r#"plugin_tool{"n":1}"#]);
}

#[tokio::test]
async fn a_gate_decides_about_unknown_tools_too() {
    let script = script("plugin_tool");
    let plugin = Gate {
        takes_unknown: true,
        ..Gate::new([("plugin_tool", HookRole::Ordered)], vec![respond("from the plugin")])
    };
    let guard = Gate::new([("plugin_tool", HookRole::Gate)], vec![block()]);
    let agent = agent(&script).before_tool_execute(plugin).before_tool_execute(guard).build().unwrap();
    run(&agent).await.1.unwrap();
    assert_eq!(transcript(&agent)[2], "tool t1 error no");
}

#[tokio::test]
async fn hook_can_map_unknown_tool_to_a_known_one() {
    let script = script("exec");
    let names = Gate {
        takes_unknown: true,
        ..Gate::new([("exec", HookRole::Ordered)], vec![rename("new", r#"{"n":1}"#)])
    };
    let agent = agent(&script).before_tool_execute(names).build().unwrap();
    run(&agent).await.1.unwrap();
    assert_eq!(transcript(&agent)[2], r#"tool t1 new got {"n":1}"#);
}

#[tokio::test]
async fn unknown_tool_without_a_responding_hook_is_an_error() {
    const UNKNOWN: &str = r#"tool t1 error unknown tool "plugin_tool"; available tools: old, new, off"#;
    for takes_unknown in [false, true] {
        let script = script("plugin_tool");
        let hook = Gate { takes_unknown, ..Gate::new([("plugin_tool", HookRole::Ordered)], vec![]) };
        let agent = agent(&script).before_tool_execute(hook.clone()).build().unwrap();
        run(&agent).await.1.unwrap();
        assert_eq!(transcript(&agent)[2], UNKNOWN);
        assert_eq!(hook.asked().len(), usize::from(takes_unknown));
    }
}

/// The agent's selection of tools takes precedence over hooks.
#[tokio::test]
async fn hooks_are_not_asked_about_excluded_tools() {
    for name in ["off", "plugin_tool"] {
        let script = script(name);
        let hook = Gate {
            takes_unknown: true,
            ..Gate::new(
                [("off", HookRole::Ordered), ("plugin_tool", HookRole::Ordered)],
                vec![respond("all the same")],
            )
        };
        let agent = agent(&script).before_tool_execute(hook.clone()).build().unwrap();
        agent.set_active_tools(Some(vec!["new".to_owned()]));
        run(&agent).await.1.unwrap();
        let unknown = format!("tool t1 error unknown tool {name:?}; available tools: new");
        assert_eq!((transcript(&agent)[2].clone(), hook.asked()), (unknown, Vec::new()));
    }
}

#[tokio::test]
async fn broken_arguments_of_an_unknown_tool_reach_no_hook() {
    let script = Script::new(vec![calls(vec![call("t1", "plugin_tool", r#""{n:""#)]), says("ok")]);
    let hook = Gate {
        takes_unknown: true,
        ..Gate::new([("plugin_tool", HookRole::Ordered)], vec![respond("all the same")])
    };
    let agent = agent(&script).before_tool_execute(hook.clone()).build().unwrap();
    run(&agent).await.1.unwrap();
    assert!(transcript(&agent)[2].starts_with("tool t1 error unknown tool"));
    assert_eq!(hook.asked(), Vec::<String>::new());
}
