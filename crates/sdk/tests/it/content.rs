//! Extensions that change what the model reads and writes.

use haft_sdk::protocol::content::ContentBlock;
use haft_sdk::protocol::ext::{AskCall, CompactEntry, ConfirmCall};
use haft_sdk::protocol::ext::{InterceptToolResult, ResultBlock};
use haft_sdk::protocol::ids::ToolCallId;
use haft_sdk::protocol::message::{AssistantBlock, Message, Rfc3339Time, StopCause, TokenUsage};
use haft_sdk::protocol::thinking::ThinkingLevel;
use haft_sdk::testing::Harness;
use haft_sdk::{
    ApproveDecision, BeforeForkDecision, BeforeProviderRequestDecision, BeforeSettleDecision,
    BeforeSwitchDecision, BeforeTreeDecision, ContextChange, ContextDecision, Extension, HostError,
    InputDecision, InterceptBeforeTree, InterceptContext, InterceptMessageEnd, MessageEndDecision,
    ProjectTrustDecision, RawJson, RequestOptions, RequestTool, ResourcesDecision, ResourcesReason,
    SwitchReason, ToolCallDecision, ToolResultChange, ToolResultDecision, TurnStop, UiAnswer,
    UserBashDecision,
};
use serde_json::json;

/// Returns the question about a result with this text.
pub(crate) fn finished_call(text: &str) -> InterceptToolResult {
    InterceptToolResult {
        tool_id: ToolCallId::new("call-1"),
        tool_name: "bash".into(),
        tool_args: json!({"command": "env"}).into(),
        content: vec![ResultBlock::Text { text: text.into() }],
        details: None,
        is_error: false,
        display: None,
        handled: false,
        duration_ms: 7,
    }
}

#[tokio::test]
async fn results_are_kept_replaced_or_marked() {
    let hush = Extension::new("hush", "1").intercept_tool_result(|result, _host| async move {
        match &result.content[..] {
            [ResultBlock::Text { text }] if text.contains("SECRET") => {
                ToolResultDecision::replace(text.replace("SECRET", "[hidden]"))
            }
            [] => ToolResultChange { is_error: Some(true), ..ToolResultChange::default() }.into(),
            _ => ToolResultDecision::Unchanged,
        }
    });
    let harness = Harness::start(hush).await;
    assert_eq!(harness.tool_result(finished_call("x")).await, ToolResultDecision::Unchanged);
    let replaced = harness.tool_result(finished_call("KEY=SECRET")).await;
    assert_eq!(replaced, ToolResultDecision::replace("KEY=[hidden]"));
    let empty = InterceptToolResult { content: Vec::new(), ..finished_call("") };
    let marked = ToolResultChange { is_error: Some(true), ..ToolResultChange::default() };
    assert_eq!(harness.tool_result(empty).await, marked.into());
    let transcript = harness.shutdown().await;
    assert!(transcript.contains(r#""capabilities":["events","tool_result","#), "{transcript}");
    assert!(transcript.contains(r#""intercept":["tool_result"]"#), "{transcript}");
}

#[tokio::test]
async fn inputs_are_kept_replaced_or_handled() {
    let quick = Extension::new("quick", "1").intercept_input(|input, _host| async move {
        match input.text.strip_prefix("?quick ") {
            Some(rest) => InputDecision::replace(format!("Answer briefly: {rest}")),
            None if input.text == "ping" => InputDecision::Handled,
            None => InputDecision::Unchanged,
        }
    });
    let harness = Harness::start(quick).await;
    assert_eq!(harness.review_input("hi").await, InputDecision::Unchanged);
    assert_eq!(harness.review_input("?quick haft").await, InputDecision::replace("Answer briefly: haft"));
    assert_eq!(harness.review_input("ping").await, InputDecision::Handled);
}

#[tokio::test]
async fn runs_settle_or_go_on() {
    let again = Extension::new("again", "1").before_settle(|run, _host| async move {
        match run.continued {
            0 => BeforeSettleDecision::go_on(format!("You said {:?}. Test it.", run.text)),
            _ => BeforeSettleDecision::Settle,
        }
    });
    let harness = Harness::start(again).await;
    let first = harness.before_settle("Done.", 0).await;
    assert_eq!(first, BeforeSettleDecision::go_on("You said \"Done.\". Test it."));
    assert_eq!(harness.before_settle("Done.", 1).await, BeforeSettleDecision::Settle);
}

#[tokio::test]
async fn messages_are_kept_or_replaced() {
    let brief = Extension::new("brief", "1").intercept_context(|context, _host| async move {
        match context.messages.len() {
            0 | 1 => ContextDecision::Unchanged,
            count => ContextDecision::replace(context.messages[count - 1..].to_vec()),
        }
    });
    let harness = Harness::start(brief).await;
    let message = |text: &str| {
        let (content, time) = (vec![ContentBlock::text(text)], Rfc3339Time("2026-01-01T00:00:00Z".into()));
        Message::User { content, time }
    };
    assert_eq!(harness.context_messages(vec![message("one")]).await, ContextDecision::Unchanged);
    let replaced = harness.context_messages(vec![message("one"), message("two")]).await;
    assert_eq!(replaced, ContextDecision::replace(vec![message("two")]));
}

#[tokio::test]
async fn requests_get_another_model_and_more_tools() {
    let look = || {
        let (name, description) = ("look".to_owned(), "Looks.".to_owned());
        RequestTool { name, description, schema: json!({"type": "object"}).into() }
    };
    let change = move |request: &InterceptContext| ContextChange {
        model: (request.model == "big").then(|| "small".to_owned()),
        thinking: Some(ThinkingLevel::Off),
        options: Some(RequestOptions::default().with_max_tokens(100).with_temperature(0.5)),
        tools: vec![look()],
        messages: None,
    };
    let router = Extension::new("router", "1").intercept_context(move |request, _host| async move {
        match request.last {
            true => ContextDecision::Unchanged,
            false => change(&request).into(),
        }
    });
    let harness = Harness::start(router).await;
    let request =
        InterceptContext { model: "big".into(), tools: vec![look()], ..InterceptContext::default() };
    let decision = harness.context_request(request.clone()).await;
    assert_eq!(decision, ContextDecision::Change(change(&request).into()));
    let last = InterceptContext { last: true, ..request };
    assert_eq!(harness.context_request(last).await, ContextDecision::Unchanged);
}

#[tokio::test]
async fn answers_are_kept_or_replaced() {
    let hush = Extension::new("hush", "1").intercept_message_end(|answer, _host| async move {
        let mut content = answer.content.clone();
        for block in &mut content {
            if let AssistantBlock::Text { text } = block {
                *text = text.replace("SECRET", "[hidden]");
            }
        }
        match content == answer.content {
            true => MessageEndDecision::Unchanged,
            false => MessageEndDecision::replace(content),
        }
    });
    let harness = Harness::start(hush).await;
    let text = |text: &str| vec![AssistantBlock::Text { text: text.into() }];
    assert_eq!(harness.message_end(text("hi"), StopCause::End).await, MessageEndDecision::Unchanged);
    let replaced = harness.message_end(text("a SECRET"), StopCause::Length).await;
    assert_eq!(replaced, MessageEndDecision::replace(text("a [hidden]")));
    let budget = Extension::new("budget", "1").intercept_message_end(|answer, _host| async move {
        match (answer.model.as_str(), answer.usage.output) {
            ("large", 1000..) => MessageEndDecision::Stop(TurnStop::end_turn("too expensive")),
            _ => MessageEndDecision::Unchanged,
        }
    });
    let harness = Harness::start(budget).await;
    let answer = InterceptMessageEnd {
        step: 1,
        provider: "lab".into(),
        model: "large".into(),
        content: text("hi"),
        stop: StopCause::End,
        usage: TokenUsage::default().with_output(2000),
    };
    let stopped = MessageEndDecision::Stop(TurnStop::end_turn("too expensive"));
    assert_eq!(harness.received_message(answer).await, stopped);
}

#[tokio::test]
async fn requests_are_kept_or_changed() {
    let tier = Extension::new("tier", "1").before_provider_request(|request, _host| async move {
        let mut payload: serde_json::Value = request.payload.read().unwrap();
        match request.provider.as_str() {
            "openai" => {
                payload["service_tier"] = json!("flex");
                BeforeProviderRequestDecision::replace(payload).with_header("x-team", "compilers")
            }
            _ => BeforeProviderRequestDecision::Unchanged,
        }
    });
    let harness = Harness::start(tier).await;
    let other = harness.before_provider_request("gemini", "g", json!({"a": 1})).await;
    assert_eq!(other, BeforeProviderRequestDecision::Unchanged);
    let changed = harness.before_provider_request("openai", "gpt", json!({"a": 1})).await;
    let expect = BeforeProviderRequestDecision::replace(json!({"a": 1, "service_tier": "flex"}));
    assert_eq!(changed, expect.with_header("x-team", "compilers"));
}

#[tokio::test]
async fn commands_run_change_are_answered_or_blocked() {
    let remote = Extension::new("remote", "1").intercept_user_bash(|bash, _host| async move {
        match bash.command.as_str() {
            "ls" if bash.excluded => UserBashDecision::replace("ls -1"),
            "ping" => UserBashDecision::answer("pong\n", 0),
            "git push" => UserBashDecision::block("frozen"),
            _ => UserBashDecision::Run,
        }
    });
    let harness = Harness::start(remote).await;
    assert_eq!(harness.user_bash("ls", false).await, UserBashDecision::Run);
    assert_eq!(harness.user_bash("ls", true).await, UserBashDecision::replace("ls -1"));
    assert_eq!(harness.user_bash("ping", true).await, UserBashDecision::answer("pong\n", 0));
    assert_eq!(harness.user_bash("git push", true).await, UserBashDecision::block("frozen"));
}

#[tokio::test]
async fn calls_are_answered_and_turns_end() {
    let ender = Extension::new("ender", "1")
        .intercept_tool_call(|call, _host| async move {
            match call.tool_name.as_str() {
                "read" => ToolCallDecision::answer("cached"),
                "find" => ToolCallDecision::redirect_to("grep", json!({"pattern": "x"})),
                _ => ToolCallDecision::Stop(TurnStop::end_turn("the budget is spent")),
            }
        })
        .intercept_tool_result(|_, _host| async {
            ToolResultDecision::Stop(TurnStop::discard_turn("not now"))
        });
    let harness = Harness::start(ender).await;
    let answered = harness.intercept_tool_call("read", json!({})).await;
    assert_eq!(answered, ToolCallDecision::answer("cached"));
    let redirected = harness.intercept_tool_call("find", json!({})).await;
    assert_eq!(redirected, ToolCallDecision::redirect_to("grep", json!({"pattern": "x"})));
    let ended = harness.intercept_tool_call("bash", json!({})).await;
    assert_eq!(ended, ToolCallDecision::Stop(TurnStop::end_turn("the budget is spent")));
    let discarded = ToolResultDecision::Stop(TurnStop::discard_turn("not now"));
    assert_eq!(harness.tool_result(finished_call("x")).await, discarded);
    let transcript = harness.shutdown().await;
    assert!(transcript.contains(r#""hooks_2""#), "{transcript}");
    // Hosts without the capability block the calls.
    assert_eq!(transcript.matches(r#""block":true"#).count(), 3, "{transcript}");
}

#[tokio::test]
async fn calls_are_approved_by_a_person() {
    let desk = Extension::new("desk", "1").approve_calls(|call, host| async move {
        Ok::<_, HostError>(match call.tool_name.as_str() {
            "read" => ApproveDecision::Approve,
            tool if host.ui().confirm("Approve", format!("Run {tool}?")).await? => ApproveDecision::Approve,
            _ => ApproveDecision::block("denied by the person"),
        })
    });
    let says_yes_to = |question: &AskCall| {
        let write = ConfirmCall { title: "Approve".into(), message: "Run write?".into(), timeout_ms: None };
        UiAnswer::Confirmed(*question == AskCall::Confirm(write))
    };
    let harness = Harness::start_with_person(desk, says_yes_to).await;
    assert_eq!(harness.approve_call("read", json!({})).await, ApproveDecision::Approve);
    assert_eq!(harness.approve_call("write", json!({})).await, ApproveDecision::Approve);
    assert_eq!(harness.approve_call("bash", json!({})).await, ApproveDecision::block("denied by the person"));
    let transcript = harness.shutdown().await;
    assert!(transcript.contains(r#""intercept":["approve"]"#), "{transcript}");
}

/// A result may have 8 MiB, although other lines of an extension may have 1 MiB only.
#[tokio::test]
async fn long_results_are_answered() {
    let long = "x".repeat(2 * 1024 * 1024);
    let details = RawJson::from_value(&json!({"n": 1})).unwrap();
    let echo = Extension::new("echo", "1").intercept_tool_result(move |result, _host| {
        let details = Some(details.clone());
        async move {
            let content = Some(result.content);
            ToolResultDecision::Change(ToolResultChange { content, details, ..ToolResultChange::default() })
        }
    });
    let harness = Harness::start(echo).await;
    let question = finished_call(&long);
    let answer = harness.tool_result(question.clone()).await;
    let ToolResultDecision::Change(ToolResultChange { content: Some(content), .. }) = answer else {
        panic!()
    };
    assert!(content == question.content);
}

/// Returns a question about a move that leaves this number of messages.
pub(crate) fn left_branch(messages: usize) -> InterceptBeforeTree {
    let text = "[user]\ntry".to_owned();
    let entry = CompactEntry { id: "0b".to_owned(), text, may_begin: false };
    InterceptBeforeTree {
        entry: None,
        leaf: None,
        summarize: false,
        instructions: None,
        caller: None,
        entries: vec![entry; messages],
    }
}

#[tokio::test]
async fn changes_of_the_session_are_blocked_or_summarized() {
    let desk = Extension::new("desk", "1")
        .before_switch(|switch, _host| async move {
            match switch.session.as_deref() {
                Some("0199") => BeforeSwitchDecision::Continue,
                _ => BeforeSwitchDecision::block("later"),
            }
        })
        .before_fork(|fork, _host| async move {
            BeforeForkDecision::block(format!("{} is not committed", fork.entry.unwrap_or_default()))
        })
        .before_tree(|branch, _host| async move {
            match branch.entries.len() {
                0 => BeforeTreeDecision::block("nothing to leave"),
                count => BeforeTreeDecision::with_summary(format!("{count} left")),
            }
        });
    let harness = Harness::start(desk).await;
    let resume = harness.before_switch(SwitchReason::Resume, Some("0199")).await;
    assert_eq!(resume, BeforeSwitchDecision::Continue);
    let new = harness.before_switch(SwitchReason::New, None).await;
    assert_eq!(new, BeforeSwitchDecision::block("later"));
    assert_eq!(harness.before_fork("0a").await, BeforeForkDecision::block("0a is not committed"));
    let summary = harness.before_tree(left_branch(2)).await;
    assert_eq!(summary, BeforeTreeDecision::with_summary("2 left"));
    assert_eq!(harness.before_tree(left_branch(0)).await, BeforeTreeDecision::block("nothing to leave"));
}

#[tokio::test]
async fn skills_and_templates_depend_on_the_question() {
    let house = Extension::new("house", "1").intercept_resources(|question, _host| async move {
        let own = ResourcesDecision::default().with_skills("skills");
        match question.reason {
            ResourcesReason::Startup => own,
            ResourcesReason::Reload => own.with_templates(question.cwd.replace('/', "prompts-")),
        }
    });
    let harness = Harness::start(house).await;
    let own = || ResourcesDecision::default().with_skills("skills");
    assert_eq!(harness.find_resources(ResourcesReason::Startup).await, own());
    let more = own().with_templates("prompts-work");
    assert_eq!(harness.find_resources(ResourcesReason::Reload).await, more);
}

#[tokio::test]
async fn trust_depends_on_the_parts_of_a_project() {
    let policy = Extension::new("policy", "1").intercept_project_trust(|project, _host| async move {
        match project.items.iter().any(|item| item.starts_with('!')) {
            true => ProjectTrustDecision::Distrust,
            false => ProjectTrustDecision::Trust { remember: true },
        }
    });
    let harness = Harness::start(policy).await;
    let instructions = "instructions: AGENTS.md";
    assert_eq!(
        harness.ask_about_trust(&[instructions]).await,
        ProjectTrustDecision::Trust { remember: true }
    );
    assert_eq!(
        harness.ask_about_trust(&["! hook: lint", instructions]).await,
        ProjectTrustDecision::Distrust
    );
}
