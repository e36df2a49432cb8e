//! One value of every frame, as code with these types builds it.

use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, Image, InputSource, ResolvedPath, ToolCall};
use haft_protocol::event::{AgentEvent, CompactReason, NoteLevel};
use haft_protocol::ext::*;
use haft_protocol::ids::{ExtensionName, PanelId, RequestId, ToolCallId};
use haft_protocol::message::{
    AssistantBlock, AssistantMessage, Message, Rfc3339Time, StopCause, TokenUsage, ToolMessage,
};
use haft_protocol::thinking::ThinkingLevel;

pub(crate) fn json(text: &str) -> RawJson {
    RawJson::parse(text).unwrap()
}

/// The text `3 open` in two parts.
pub(crate) fn styled_text() -> Vec<StyledSpan> {
    vec![StyledSpan::new("3").with_color(SpanColor::Warning).with_bold(), StyledSpan::new(" open")]
}

fn resumed_session() -> InterceptBeforeSwitch {
    let (session, caller) = (Some("0199".into()), Some(ExtensionName::new("notes")));
    InterceptBeforeSwitch { reason: SwitchReason::Resume, session, caller }
}

fn left_branch() -> InterceptBeforeTree {
    let entry = CompactEntry { id: "0b".into(), text: "[user]\nuse a lock".into(), may_begin: false };
    InterceptBeforeTree {
        entry: Some("0a".into()),
        leaf: Some("0b".into()),
        summarize: true,
        instructions: Some("mind the tests".into()),
        caller: None,
        entries: vec![entry],
    }
}

fn id(text: &str) -> RequestId {
    RequestId::new(text)
}

fn resolved_path() -> ResolvedPath {
    ResolvedPath::new("path", "/srv/ada/x").with_exists(true).with_link(true)
}

fn panel() -> PanelId {
    PanelId::new("todos")
}

fn tool_end() -> AgentEvent {
    AgentEvent::ToolEnd { id: ToolCallId::new("toolu_1"), name: "bash".into(), duration_ms: 12 }
}

/// The questions of the role `wait`.
fn waits() -> Vec<HostFrame> {
    vec![
        InterceptSessionStart {
            session_id: "0199".into(),
            session_path: Some("/s/0199.jsonl".into()),
            reason: SessionStartReason::Resume,
            previous_path: Some("/s/0198.jsonl".into()),
        }
        .into_frame(id("11")),
        InterceptSessionShutdown { reason: SessionShutdownReason::Quit }.into_frame(id("12")),
        InterceptAgentStart {}.into_frame(id("13")),
        InterceptAgentEnd { error: Some("refused".into()) }.into_frame(id("14")),
        InterceptTurnEnd { stop: StopCause::End, error: None }.into_frame(id("15")),
        InterceptMessageStart { role: MessageRole::Assistant }.into_frame(id("16")),
        InterceptToolEnd { tool_id: ToolCallId::new("toolu_1"), tool_name: "bash".into(), duration_ms: 12 }
            .into_frame(id("17")),
    ]
}

pub(crate) fn host() -> Vec<HostFrame> {
    let bash = || json(r#"{ "command": "ls" }"#);
    let mut frames = vec![
        hello_ack().into(),
        RegisterRejected {
            what: "tool".into(),
            name: "bash2".into(),
            permission: "tools.register".into(),
            reason: "not granted".into(),
        }
        .into(),
        PressShortcut { name: "ctrl+g".into(), session: None }.into_frame(id("h7")),
        PressShortcut { name: "ctrl+g".into(), session: Some("0199".into()) }.into_frame(id("h8")),
        InvokeCommand { name: "weather".into(), args: "berlin".into() }.into_frame(id("1")),
        InvokeCommand { name: "weather".into(), args: String::new() }.into_frame(id("2")),
        QueryCompletions { name: "todo".into(), prefix: "d".into() }.into_frame(id("1")),
        QueryCompletions { name: "todo".into(), prefix: String::new() }.into_frame(id("1")),
        call_weather(None).into_frame(id("3")),
        call_weather(Some(ToolCallId::new("toolu_1"))).into_frame(id("3")),
        LifecycleEvent::session_start().into(),
        LifecycleEvent::session_start_of("0199".into(), Some("/s/0199.jsonl".into())).into(),
        LifecycleEvent::turn_start(1).into(),
        LifecycleEvent::tool_call(ToolCallId::new("toolu_1"), "bash".into(), bash()).into(),
        LifecycleEvent::assistant_message("done".into()).into(),
        LifecycleEvent::assistant_message(String::new()).into(),
        LifecycleEvent::compaction_start(CompactReason::Overflow).into(),
        LifecycleEvent::compaction_end(Some("Half is done.".into()), None).into(),
        LifecycleEvent::compaction_end(None, Some("aborted".into())).into(),
        LifecycleEvent::turn_end(StopCause::End, None).into(),
        LifecycleEvent::turn_end(StopCause::Error, Some("refused".into())).into(),
        SessionEvent::new(&tool_end(), "0199").unwrap().into(),
        EventGap { lost: 12 }.into(),
        InterceptToolCall {
            tool_id: ToolCallId::new("toolu_1"),
            tool_name: "bash".into(),
            tool_args: bash(),
            caller: None,
            resolved_paths: Vec::new(),
        }
        .into_frame(id("4")),
        InterceptToolCall {
            tool_id: ToolCallId::new("host-1"),
            tool_name: "bash".into(),
            tool_args: bash(),
            caller: Some(ExtensionName::new("notes")),
            resolved_paths: vec![resolved_path()],
        }
        .into_frame(id("10")),
        InterceptTurnStart { step: 3 }.into_frame(id("5")),
        InterceptAssistantMessage { text: "one\u{2028}line".into() }.into_frame(id("6")),
        InterceptBeforeAgentStart { prompt: "rain?".into(), system_prompt: "You are haft.".into() }
            .into_frame(id("7")),
        before_compact().into_frame(id("9")),
    ];
    frames.extend(waits());
    frames.extend(changes());
    frames.extend(mirror());
    frames.extend(notifications());
    frames
}

/// The questions of hooks that change messages.
fn changes() -> Vec<HostFrame> {
    vec![
        intercepted_result().into_frame(id("11")),
        finished_answer().into_frame(id("15")),
        provider_request().into_frame(id("18")),
        InterceptUserBash { command: "ls".into(), cwd: "/w".into(), excluded: true }.into_frame(id("19")),
        InterceptBeforeSwitch { reason: SwitchReason::New, session: None, caller: None }.into_frame(id("20")),
        resumed_session().into_frame(id("20")),
        InterceptBeforeFork { entry: Some("0a".into()), caller: None }.into_frame(id("21")),
        left_branch().into_frame(id("22")),
        InterceptProjectTrust { cwd: "/w".into(), digest: "9c1f".into(), items: vec!["! hook: lint".into()] }
            .into_frame(id("24")),
        InterceptResources { cwd: "/w".into(), reason: ResourcesReason::Reload }.into_frame(id("23")),
        pending_call().into_frame(id("23")),
        outgoing_request().into_frame(id("14")),
        InterceptContext { step: 2, last: true, ..InterceptContext::default() }.into_frame(id("14")),
        InterceptBeforeSettle { text: "Done.".into(), continued: 2 }.into_frame(id("13")),
        InterceptInput { text: "hi".into(), images: Vec::new(), source: InputSource::Rpc }
            .into_frame(id("12")),
        InterceptInput { text: String::new(), images: vec![dot_image()], source: InputSource::Print }
            .into_frame(id("12")),
    ]
}

fn provider_request() -> InterceptBeforeProviderRequest {
    let payload = json(r#"{"model":"gpt","input":[],"temperature":1.0}"#);
    InterceptBeforeProviderRequest { provider: "openai".into(), model: "gpt".into(), payload }
}

/// The frames that ask nothing.
fn notifications() -> Vec<HostFrame> {
    vec![
        CancelRequest { id: id("3") }.into(),
        ToolCancel { id: id("3") }.into(),
        ToolRequestResult {
            id: id("t1"),
            name: "grep".into(),
            content: vec![ResultBlock::Text { text: "main.rs:1: TODO".into() }],
            is_error: false,
        }
        .into(),
        host_result().into(),
        ask_result().into(),
        HostCallProgress { id: id("c7"), value: json(r#"{"text":"Baking"}"#) }.into(),
        HostResult { content: Vec::new(), details: None, ..refused() }.into(),
        PanelKey { panel_id: panel(), key: "rune".into(), text: Some("x".into()) }.into(),
        PanelResize { panel_id: panel(), width: 80, height: 24 }.into(),
        PanelClose { panel_id: panel() }.into(),
        Ping { id: id("8") }.into(),
        Shutdown {}.into(),
    ]
}

fn call_weather(tool_id: Option<ToolCallId>) -> CallTool {
    CallTool { name: "weather".into(), args: json(r#"{"city": "Berlin"}"#), tool_id }
}

/// The frames of a mirror.
fn mirror() -> Vec<HostFrame> {
    let tool = ToolInfo {
        name: "bash".into(),
        description: "Runs a command.".into(),
        schema: json(r#"{"type":"object"}"#),
        active: true,
        extension: None,
        label: None,
    };
    vec![
        StateFrame {
            seq: 1,
            session: "0199".into(),
            provider: Some("anthropic".into()),
            model: Some("claude".into()),
            thinking: Some(ThinkingLevel::High),
            busy: Some(false),
            queue: Some(QueueData { steering: vec!["Not in src/".into()], ..QueueData::default() }),
            context: Some(ContextData { tokens: 1200, estimated: 200, window: Some(200_000) }),
            name: Some(String::new()),
            tags: Some([("team".to_owned(), "build".to_owned())].into()),
            tools: Some(vec![tool]),
        }
        .into(),
        StateFrame { seq: 4, session: "0199".into(), busy: Some(true), ..StateFrame::default() }.into(),
        EntriesFrame {
            seq: 1,
            session: "0199".into(),
            reset: true,
            header: Some(json(r#"{"type":"session","id":"0199","parent":null,"cwd":"/srv/app"}"#)),
            append: vec![json(r#"{"type":"name","id":"77","parent":null,"time":"T","name":"bakery"}"#)],
            leaf: None,
            more: true,
        }
        .into(),
        EntriesFrame { seq: 3, session: "0199".into(), leaf: Some("77".into()), ..EntriesFrame::default() }
            .into(),
    ]
}

fn host_result() -> HostResult {
    HostResult {
        id: id("c1"),
        content: vec![ContentBlock::text("rain\n").into()],
        is_error: false,
        code: None,
        by: None,
        permission: None,
        details: Some(json(r#"{"next_offset":2001}"#)),
        value: None,
    }
}

fn ask_result() -> HostResult {
    let answer = AskAnswer { answer: UiAnswer::Value("No".into()), why: AskEnd::Answered };
    HostResult {
        id: id("c3"),
        content: Vec::new(),
        details: None,
        value: Some(RawJson::from_value(&answer).unwrap()),
        ..host_result()
    }
}

fn refused() -> HostResult {
    HostResult {
        is_error: true,
        code: Some(HostCallError::PermissionDenied),
        by: Some("haft".into()),
        permission: Some(HostService::FsWrite.name().into()),
        ..host_result()
    }
}

fn hello_ack() -> HelloAck {
    HelloAck {
        protocol_version: PROTOCOL_VERSION,
        mode: Some(HostMode::Rpc),
        zot_version: "0.1.0".into(),
        haft_version: Some("0.1.0".into()),
        provider: "anthropic".into(),
        model: "claude".into(),
        cwd: "/src/app".into(),
        extension_dir: Some("/ext/todo".into()),
        data_dir: Some("/ext/todo".into()),
        capabilities: vec![
            capability::PANEL_RESIZE.into(),
            capability::BEFORE_AGENT_START.into(),
            capability::BEFORE_COMPACT.into(),
            capability::PING.into(),
            capability::EVENT_GAP.into(),
            capability::INTERCEPT_ROLES.into(),
            capability::HOST_SERVICES.into(),
            capability::REGISTER_REJECTED.into(),
            capability::STATUS.into(),
        ],
        limits: Some(Box::default()),
        config: ExtensionConfig::new(json(r#"{"units":"si"}"#)),
        sandbox: Some("standard".into()),
        granted: Some(json(r#"{"net":"none"}"#)),
    }
}

/// Calls of a tool, of a question, of a command, of the screen, of a lock, of the agent and of the bus.
fn host_calls() -> [HostCall; 9] {
    let call = |id: &str, call: &str, args: &str| HostCall {
        id: Some(RequestId::new(id)),
        call: call.into(),
        args: json(args),
        under: None,
        session: None,
    };
    let select = call("c3", "select", r#"{"title":"Allow?","options":["Yes","No"]}"#);
    let set_name = call("c4", "set_name", r#"{"name":"bakery"}"#);
    [
        call("c1", "read", r#"{"path":"notes.txt"}"#),
        HostCall { under: Some(id("h41")), ..select },
        HostCall { session: Some("0199".into()), ..set_name },
        HostCall { id: None, ..call("", "set_working", r#"{"text":"Baking"}"#) },
        HostCall { id: None, ..call("", "emit", r#"{"channel":"build","data":{"passed":true}}"#) },
        call("c5", "lock_file", r#"{"path":"notes.txt"}"#),
        call("c6", "call_tool", r#"{"name":"grep","args":{"pattern":"TODO"}}"#),
        call("c7", "complete", r#"{"messages":[{"role":"user","content":"Name this session."}]}"#),
        HostCall { id: None, ..call("", "unlock_file", r#"{"lease":"lock-1"}"#) },
    ]
}

pub(crate) fn extension() -> Vec<ExtensionFrame> {
    let mut frames = vec![
        hello(None).into(),
        hello(Some(json("1"))).into(),
        RegisterCommand { name: "todo".into(), description: "show the list".into(), completes: false }.into(),
        RegisterCommand { name: "todo".into(), description: String::new(), completes: true }.into(),
        register_tool().into(),
        register_bash().into(),
        RegisterFrame { kind: "shortcut".into(), name: "ctrl+g".into(), description: "Show the list".into() }
            .into(),
        UnregisterFrame { kind: "tool".into(), name: "bash2".into() }.into(),
        ExtensionCallResult { id: id("h7"), error: String::new() }.into(),
        ExtensionCallResult { id: id("h8"), error: "no list".into() }.into(),
        Subscribe { replace: false, events: vec!["turn_end".into()], intercept: vec!["tool_call".into()] }
            .into(),
        Subscribe { replace: true, events: vec!["tool_end".into()], intercept: Vec::new() }.into(),
        Subscribe {
            replace: false,
            events: vec![Subscription::new("tool_call").tools(["edit"])],
            intercept: vec![Subscription::new("tool_call").tools(["bash"]).role(InterceptRole::Gate)],
        }
        .into(),
        Ready {}.into(),
        tool_result().into(),
        final_result().into(),
        progress().into(),
        ToolCallProgress { content: None, details: None, ..progress() }.into(),
    ];
    frames.extend(decisions().map(ExtensionFrame::from));
    frames.extend(commands().map(ExtensionFrame::from));
    let item = |value: &str, label: &str, description: &str| CompletionItem {
        value: value.into(),
        label: label.into(),
        description: description.into(),
    };
    let items = vec![item("done 1", "milk", "is done"), item("drop 1", "", "")];
    frames.extend([
        CommandCompletionsResponse { id: id("1"), items }.into(),
        CommandCompletionsResponse { id: id("1"), items: Vec::new() }.into(),
    ]);
    frames.extend(host_calls().map(ExtensionFrame::from));
    frames.push(HostCallCancel { id: id("c1") }.into());
    frames.extend(calls_of_zot());
    frames.extend([
        PanelRender {
            panel_id: panel(),
            title: String::new(),
            lines: vec!["□ a".into()],
            footer: String::new(),
        }
        .into(),
        PanelClose { panel_id: panel() }.into(),
        Notify { level: NoteLevel::Warn, message: "slow".into() }.into(),
        ClearNotes {}.into(),
        SetStatus { key: "open".into(), text: "3 open".into(), styled: Vec::new() }.into(),
        SetStatus { key: "open".into(), text: "3 open".into(), styled: styled_text() }.into(),
        SetStatus { key: "open".into(), text: String::new(), styled: Vec::new() }.into(),
        Pong { id: id("8") }.into(),
        ShutdownAck {}.into(),
    ]);
    frames
}

/// The calls of newer zot versions.
fn calls_of_zot() -> Vec<ExtensionFrame> {
    vec![
        SubmitText { text: "Run the tests.".into() }.into(),
        SubmitSlash { text: "/review src".into() }.into(),
        OpenPanel { panel: Panel::new("clock").lines(["12:00"]) }.into(),
        ToolRequest {
            id: id("t1"),
            name: "grep".into(),
            args: json(r#"{"pattern":"TODO"}"#),
            parent_id: None,
        }
        .into(),
        ToolRequest { id: id("t2"), name: "ls".into(), args: json("{}"), parent_id: Some(id("1")) }.into(),
        ToolRequestCancel { id: id("t1") }.into(),
    ]
}

fn hello(protocol_version: Option<RawJson>) -> Hello {
    let capabilities = vec!["panels".into()];
    let mirror = if protocol_version.is_some() { vec!["entries".into(), "busy".into()] } else { Vec::new() };
    Hello { name: "todo".into(), version: "1.0.0".into(), capabilities, protocol_version, mirror }
}

fn register_tool() -> RegisterTool {
    RegisterTool {
        name: "weather".into(),
        description: "Current weather.".into(),
        schema: Some(json(r#"{"type": "object"}"#)),
        guidelines: vec!["Ask `weather` first.".into()],
        ..RegisterTool::default()
    }
}

fn register_bash() -> RegisterTool {
    RegisterTool {
        name: "bash".into(),
        label: "Shell".into(),
        snippet: "Runs a command in a container.".into(),
        exclusive: true,
        timeout_ms: Some(0),
        replaces: true,
        ..RegisterTool::default()
    }
}

fn tool_result() -> ToolResultFrame {
    let image = Image { mime_type: "image/png".into(), data: "iVBORw0KGgo=".into() };
    ToolResultFrame {
        id: id("3"),
        content: vec![ContentBlock::text("fog").into(), ContentBlock::Image(image).into()],
        is_error: true,
        details: None,
        terminate: false,
    }
}

fn progress() -> ToolCallProgress {
    let content = Some(vec![ContentBlock::text("50 %").into()]);
    ToolCallProgress { id: id("3"), content, details: Some(json(r#"{"done":5}"#)) }
}

fn final_result() -> ToolResultFrame {
    ToolResultFrame {
        content: vec![ContentBlock::text("fog").into()],
        is_error: false,
        details: Some(json(r#"{"degrees":16}"#)),
        terminate: true,
        ..tool_result()
    }
}

fn before_compact() -> InterceptBeforeCompact {
    let entry =
        |id: &str, text: &str, may_begin| CompactEntry { id: id.into(), text: text.into(), may_begin };
    InterceptBeforeCompact {
        reason: CompactReason::Manual,
        instructions: Some("mind the tests".into()),
        tokens_before: 7000,
        window: Some(8192),
        previous_summary: Some("A bug.".into()),
        files_read: vec!["a.rs".into()],
        files_modified: vec!["b.rs".into()],
        first_kept: Some("2".into()),
        entries: vec![entry("1", "[user]\nfix it", true), entry("2", "[result of read]\nx", false)],
    }
}

fn answer_blocks() -> Vec<AssistantBlock> {
    let call = ToolCall { id: ToolCallId::new("t"), name: "bash".into(), args: json(r#"{"command":"ls"}"#) };
    vec![AssistantBlock::Thinking { text: "hm".into() }, AssistantBlock::ToolCall(call)]
}

fn short_conversation() -> Vec<Message> {
    let time = || Rfc3339Time("2026-01-01T00:00:00Z".into());
    let content = answer_blocks();
    vec![
        Message::User { content: vec![ContentBlock::text("list")], time: time() },
        Message::Assistant(AssistantMessage::new(content, time())),
        Message::Tool(
            ToolMessage::new(ToolCallId::new("t"), "bash", vec![ContentBlock::text("a.txt")], time())
                .with_extension(ExtensionName::new("notes"))
                .with_details(json(r#"{"exit_code":0}"#)),
        ),
    ]
}

fn request_tool() -> RequestTool {
    let schema = json(r#"{"type":"object"}"#);
    RequestTool { name: "weather".into(), description: "Tells the weather.".into(), schema }
}

fn outgoing_request() -> InterceptContext {
    InterceptContext {
        step: 1,
        provider: "anthropic".into(),
        model: "claude".into(),
        thinking: ThinkingLevel::High,
        options: RequestOptions::default()
            .with_max_tokens(4096)
            .with_temperature(0.5)
            .with_top_p(0.9)
            .with_stop(vec!["END".into()])
            .with_tool_choice(ToolChoice::Tool("weather".into())),
        last: false,
        system: "You are haft.".into(),
        tools: vec![request_tool()],
        messages: short_conversation(),
    }
}

fn pending_call() -> InterceptApprove {
    InterceptApprove {
        tool_id: ToolCallId::new("toolu_1"),
        tool_name: "write".into(),
        tool_args: json(r#"{"path":"x"}"#),
        caller: Some(ExtensionName::new("notes")),
        resolved_paths: vec![resolved_path()],
    }
}

fn dot_image() -> Image {
    Image { mime_type: "image/png".into(), data: "AAAA".to_owned().into() }
}

fn intercepted_result() -> InterceptToolResult {
    InterceptToolResult {
        tool_id: ToolCallId::new("t"),
        tool_name: "bash".into(),
        tool_args: json(r#"{"command":"env"}"#),
        content: vec![ContentBlock::text("KEY=abc").into()],
        details: Some(json(r#"{"exit_code":1}"#)),
        is_error: true,
        display: Some("1 key".into()),
        handled: true,
        duration_ms: 12,
    }
}

fn finished_answer() -> InterceptMessageEnd {
    InterceptMessageEnd {
        step: 2,
        provider: "anthropic".into(),
        model: "claude".into(),
        content: answer_blocks(),
        stop: StopCause::ToolUse,
        usage: TokenUsage::default().with_input(9).with_output(3).with_cost_usd(0.5),
    }
}

fn tool_call_decisions() -> [EventInterceptResponse; 8] {
    let rewrite = ToolCallDecision::Rewrite { args: json(r#"{ "command" : "ls -1" }"#) };
    let block = ToolCallDecision::Block { reason: "no".into() };
    let stop = ToolCallDecision::Stop(TurnStop::end_turn("the budget is spent"));
    let redirect = ToolCallDecision::redirect_to("ls", json(r#"{"path":"."}"#));
    let same_args = ToolCallDecision::Redirect { tool: "ls".into(), args: None };
    let (content, display) = (vec![ContentBlock::text("a.txt").into()], Some("1 file".into()));
    let handled = ToolCallAnswer { content, display, handled: true, ..ToolCallAnswer::default() };
    let handled = ToolCallDecision::Answer(handled.into());
    let answer = ToolCallDecision::answer("a.txt");
    let decisions = [ToolCallDecision::Allow, rewrite, redirect, same_args, block, answer, handled, stop];
    decisions.map(|decision| InterceptToolCall::respond(decision, id("4")))
}

fn approvals() -> [EventInterceptResponse; 2] {
    [ApproveDecision::Approve, ApproveDecision::block("not on a Friday")]
        .map(|decision| InterceptApprove::respond(decision, id("23")))
}

fn request_decisions() -> Vec<EventInterceptResponse> {
    vec![
        InterceptContext::respond(ContextDecision::Unchanged, id("14")),
        InterceptContext::respond(ContextDecision::replace(short_conversation()), id("14")),
        InterceptContext::respond(
            ContextChange {
                messages: None,
                model: Some("anthropic/claude-mini".into()),
                thinking: Some(ThinkingLevel::Off),
                options: Some(
                    RequestOptions::default().with_max_tokens(100).with_tool_choice(ToolChoice::Required),
                ),
                tools: vec![request_tool()],
            }
            .into(),
            id("14"),
        ),
        InterceptMessageEnd::respond(MessageEndDecision::Unchanged, id("15")),
        InterceptMessageEnd::respond(MessageEndDecision::replace(answer_blocks()), id("15")),
    ]
}

/// The decisions before the agent works on a prompt.
fn start_decisions() -> [EventInterceptResponse; 4] {
    let whole = "You are haft. Be brief.".to_owned();
    let whole = BeforeAgentStartDecision { system_prompt: Some(whole), ..Default::default() };
    let details = Some(json(r#"{"hour":12}"#));
    let message = StartMessage { display: false, details, ..StartMessage::new("clock", "It is noon.") };
    [
        InterceptBeforeAgentStart::respond(BeforeAgentStartDecision::unchanged(), id("7")),
        InterceptBeforeAgentStart::respond(BeforeAgentStartDecision::append("Hi."), id("7")),
        InterceptBeforeAgentStart::respond(whole, id("7")),
        InterceptBeforeAgentStart::respond(
            BeforeAgentStartDecision::append("Hi.").with_message(message),
            id("7"),
        ),
    ]
}

fn decisions() -> impl Iterator<Item = EventInterceptResponse> {
    let others = [
        InterceptContext::respond(ContextDecision::Stop(TurnStop::discard_turn("not now")), id("14")),
        InterceptTurnStart::respond(TurnStartDecision::Allow, id("5")),
        InterceptTurnStart::respond(TurnStartDecision::Block { reason: "late".into() }, id("5")),
        InterceptAssistantMessage::respond(AssistantMessageDecision::Show, id("6")),
        InterceptAssistantMessage::respond(AssistantMessageDecision::Replace { text: "***".into() }, id("6")),
        InterceptAssistantMessage::respond(
            AssistantMessageDecision::Suppress { reason: "key".into() },
            id("6"),
        ),
        InterceptBeforeCompact::respond(BeforeCompactDecision::Default, id("9")),
        InterceptBeforeCompact::respond(BeforeCompactDecision::cancel("not yet"), id("9")),
        InterceptBeforeCompact::respond(
            BeforeCompactDecision::Replace { summary: "Half is done.".into(), first_kept: Some("1".into()) },
            id("9"),
        ),
        InterceptToolResult::respond(ToolResultDecision::Unchanged, id("11")),
        InterceptToolResult::respond(ToolResultDecision::replace("KEY=[hidden]"), id("11")),
        InterceptToolResult::respond(
            ToolResultChange {
                content: None,
                details: Some(json(r#"{"n":1}"#)),
                is_error: Some(false),
                display: Some("1 key".into()),
                handled: Some(false),
            }
            .into(),
            id("11"),
        ),
        InterceptInput::respond(InputDecision::Unchanged, id("12")),
        InterceptInput::respond(
            InputDecision::Change { text: Some("hello".into()), images: Some(vec![dot_image()]) },
            id("12"),
        ),
        InterceptInput::respond(InputDecision::Handled, id("12")),
        InterceptBeforeProviderRequest::respond(
            BeforeProviderRequestDecision::replace(json(r#"{"input":[]}"#))
                .with_header("x-team", "compilers"),
            id("18"),
        ),
        InterceptUserBash::respond(UserBashDecision::replace("ls -1"), id("19")),
        InterceptUserBash::respond(UserBashDecision::answer("a.txt\n", 0), id("19")),
        InterceptBeforeSettle::respond(BeforeSettleDecision::Settle, id("13")),
        InterceptBeforeSettle::respond(BeforeSettleDecision::go_on("Test it."), id("13")),
        EventInterceptResponse::failed(InterceptKind::ToolCall, id("8"), "no disk"),
        EventInterceptResponse::failed(InterceptKind::TurnStart, id("8"), "no disk"),
    ];
    tool_call_decisions()
        .into_iter()
        .chain(request_decisions())
        .chain(approvals())
        .chain(start_decisions())
        .chain(others)
        .chain(session_decisions())
}

/// The decisions about sessions and projects.
fn session_decisions() -> Vec<EventInterceptResponse> {
    vec![
        InterceptBeforeSwitch::respond(BeforeSwitchDecision::Continue, id("20")),
        InterceptBeforeSwitch::respond(BeforeSwitchDecision::block("later"), id("20")),
        InterceptBeforeFork::respond(BeforeForkDecision::block("later"), id("21")),
        InterceptBeforeTree::respond(BeforeTreeDecision::with_summary("A lock deadlocks."), id("22")),
        InterceptBeforeTree::respond(BeforeTreeDecision::block("later"), id("22")),
        InterceptProjectTrust::respond(ProjectTrustDecision::Trust { remember: true }, id("24")),
        InterceptProjectTrust::respond(ProjectTrustDecision::Distrust, id("24")),
        InterceptResources::respond(ResourcesDecision::default(), id("23")),
        InterceptResources::respond(
            ResourcesDecision::default().with_skills("skills").with_templates("prompts/review.md"),
            id("23"),
        ),
    ]
}

fn commands() -> impl Iterator<Item = CommandResponse> {
    let open =
        Panel { id: panel(), title: "Todos".into(), lines: vec!["□ a".into()], footer: "esc".into() };
    [
        CommandAction::Prompt("weather?".into()),
        CommandAction::Insert("/weather ".into()),
        CommandAction::Display("fog".into()),
        CommandAction::OpenPanel(open),
        CommandAction::Noop,
        CommandAction::Failed("no network".into()),
    ]
    .into_iter()
    .map(|action| action.into_response(id("1")))
}
