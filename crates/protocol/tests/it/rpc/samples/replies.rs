//! A reply to every command of the samples, and every kind of failure.

use haft_protocol::content::{ContentBlock, Image, ToolCall};
use haft_protocol::event::ExtensionFault;
use haft_protocol::ext::CompletionItem;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{
    AssistantBlock, AssistantMessage, Message, Rfc3339Time, TokenUsage, ToolMessage,
};
use haft_protocol::rpc::*;
use haft_protocol::thinking::ThinkingLevel;

use super::{requests, todo};
use crate::samples::{json, styled_text};

pub(crate) fn replies() -> Vec<RpcResponse> {
    let done = requests().into_iter().map(|RpcRequest { id, command, .. }| success(id, &command));
    let failed = ErrorCode::ALL.iter().map(|code| {
        let failure = CommandFailure::new(*code, "no disk; free some");
        RpcResponse::failure(Some("99".into()), CommandKind::Prompt, failure)
    });
    let unread = UnreadableRequest {
        id: None,
        command: String::new(),
        failure: CommandFailure::new(ErrorCode::Malformed, "malformed json: line is not UTF-8"),
    };
    done.chain(failed).chain([unread.into_response()]).collect()
}

fn moved(wish: &MoveTo) -> MovedData {
    let text = wish.before.map(|_| "hi".to_owned());
    MovedData { entry: None, text, summary: wish.summarize.map(|_| "4e1b".to_owned()) }
}

fn success(id: Option<String>, command: &Command) -> RpcResponse {
    let no = NoData {};
    let reply = match command {
        Command::Hello(_) => RpcResponse::success::<HelloCommand>(id, &hello()),
        Command::Prompt(_) => RpcResponse::success::<PromptCommand>(id, &StartedData { started: true }),
        Command::Abort(_) => RpcResponse::success::<AbortCommand>(id, &no),
        Command::Steer(_) => {
            RpcResponse::success::<SteerCommand>(id, &QueuedData { running: true, handled: false })
        }
        Command::FollowUp(_) => {
            RpcResponse::success::<FollowUp>(id, &QueuedData { running: false, handled: false })
        }
        Command::Interrupt(_) => {
            RpcResponse::success::<InterruptCommand>(id, &InterruptData { interrupted: true })
        }
        Command::TakeQueued(_) => RpcResponse::success::<TakeQueued>(id, &queue()),
        Command::Compact(_) => RpcResponse::success::<CompactCommand>(id, &StartedData { started: true }),
        Command::WaitIdle(_) => RpcResponse::success::<WaitIdle>(id, &no),
        Command::GetState(_) => RpcResponse::success::<GetState>(id, &state()),
        Command::GetMessages(_) => {
            RpcResponse::success::<GetMessages>(id, &MessagesData::from_messages(&messages()))
        }
        Command::Clear(_) => RpcResponse::success::<ClearCommand>(id, &no),
        Command::SetModel(_) => RpcResponse::success::<SetModel>(id, &model()),
        Command::GetModels(_) => RpcResponse::success::<GetModels>(id, &models()),
        Command::SetThinking(_) => {
            RpcResponse::success::<SetThinking>(id, &ThinkingData { level: ThinkingLevel::High })
        }
        Command::GetTools(_) => RpcResponse::success::<GetTools>(id, &tools()),
        Command::SetTools(_) => {
            RpcResponse::success::<SetTools>(id, &ToolsSet { active: vec!["read".into()] })
        }
        Command::NewSession(_) => RpcResponse::success::<NewSession>(id, &ephemeral()),
        Command::SwitchSession(_) => RpcResponse::success::<SwitchSession>(id, &kept()),
        Command::CloseSession(_) => RpcResponse::success::<CloseSession>(id, &no),
        Command::ListSessions(_) => RpcResponse::success::<ListSessions>(id, &sessions()),
        Command::FindSessions(_) => RpcResponse::success::<FindSessions>(id, &sessions()),
        Command::Fork(_) => RpcResponse::success::<ForkCommand>(id, &kept()),
        Command::Tree(_) => RpcResponse::success::<TreeCommand>(id, &tree()),
        Command::MoveTo(wish) => RpcResponse::success::<MoveTo>(id, &moved(wish)),
        Command::SetName(_) => RpcResponse::success::<SetName>(id, &no),
        Command::AppendEntry(AppendEntry { entry, .. }) => appended(id, entry.as_deref()),
        Command::SendMessage(SendMessage { when, .. }) => sent(id, *when),
        Command::SetLabel(_) => RpcResponse::success::<SetLabel>(id, &no),
        Command::SetTags(_) => RpcResponse::success::<SetTags>(id, &no),
        Command::ListCommands(_) => RpcResponse::success::<ListCommands>(id, &commands()),
        Command::RunCommand(_) => RpcResponse::success::<RunCommand>(id, &ran()),
        Command::CompleteCommand(_) => RpcResponse::success::<CompleteCommand>(id, &completions()),
        Command::ListExtensions(_) => RpcResponse::success::<ListExtensions>(id, &extensions()),
        Command::ListJobs(_) => RpcResponse::success::<ListJobs>(id, &jobs()),
        Command::StopJob(_) => RpcResponse::success::<StopJob>(id, &no),
        Command::ReloadExt(_) => RpcResponse::success::<ReloadExt>(id, &reloaded()),
        Command::RunShortcut(_) => RpcResponse::success::<RunShortcut>(id, &no),
        Command::PanelKey(_) => RpcResponse::success::<PanelKeyCommand>(id, &no),
        Command::PanelResize(_) => RpcResponse::success::<PanelResizeCommand>(id, &no),
        Command::PanelClose(_) => RpcResponse::success::<PanelCloseCommand>(id, &no),
        Command::UiResponse(_) => RpcResponse::success::<UiResponse>(id, &no),
        Command::Ping(_) => RpcResponse::success::<PingCommand>(id, &PongData { pong: true }),
        Command::Shutdown(_) => RpcResponse::success::<ShutdownCommand>(id, &no),
    };
    reply.unwrap()
}

fn appended(id: Option<String>, entry: Option<&str>) -> serde_json::Result<RpcResponse> {
    let entry = entry.unwrap_or("3f2a").to_owned();
    RpcResponse::success::<AppendEntry>(id, &AppendedData { entry })
}

fn sent(id: Option<String>, when: DeliveryTime) -> serde_json::Result<RpcResponse> {
    let entry = (when == DeliveryTime::Now).then(|| "3f2a".to_owned());
    let running = entry.is_none();
    RpcResponse::success::<SendMessage>(id, &SentData { entry, running })
}

fn hello() -> HelloData {
    HelloData {
        protocol_version: PROTOCOL_VERSION,
        version: "0.1.0".into(),
        provider: "anthropic".into(),
        model: "claude".into(),
        capabilities: capability::ALL.iter().map(|word| (*word).to_owned()).collect(),
        session: "0199".into(),
    }
}

fn usage() -> TokenUsage {
    TokenUsage::default().with_input(10).with_output(2).with_cache_read(4).with_cost_usd(0.25)
}

fn time() -> Rfc3339Time {
    Rfc3339Time("2026-11-21T12:00:00Z".into())
}

fn state() -> StateData {
    StateData {
        provider: "anthropic".into(),
        model: "claude".into(),
        cwd: "/src/app".into(),
        message_count: 3,
        busy: true,
        usage: usage(),
        session: "0199".into(),
        path: Some("/s/0199.jsonl".into()),
        thinking: ThinkingLevel::Default,
        context: ContextData { tokens: 4000, estimated: 20, window: Some(200_000) },
        prompts: 1,
        queue: queue(),
        name: Some("tidy".into()),
    }
}

fn queue() -> QueueData {
    QueueData { steering: vec!["not in src/".into()], ..QueueData::default() }
}

fn messages() -> Vec<Message> {
    let image = Image { mime_type: "image/png".into(), data: "iVBORw0KGgo=".into() };
    let call = || ToolCallId::new("toolu_1");
    let read = ToolCall { id: call(), name: "read".into(), args: json(r#"{"path":"a.png"}"#) };
    let content = vec![
        AssistantBlock::Thinking { text: "hm".into() },
        AssistantBlock::Text { text: "I look.".into() },
        AssistantBlock::ToolCall(read),
    ];
    vec![
        Message::User {
            content: vec![ContentBlock::text("hi"), ContentBlock::Image(image.clone())],
            time: time(),
        },
        Message::Assistant(AssistantMessage::new(content, time())),
        Message::Tool(
            ToolMessage::new(
                call(),
                "read",
                vec![ContentBlock::text("a picture"), ContentBlock::Image(image)],
                time(),
            )
            .with_extension(todo())
            .with_details(json(r#"{"lines":3}"#)),
        ),
    ]
}

fn model() -> ModelData {
    ModelData { provider: "anthropic".into(), model: "claude".into() }
}

fn models() -> ModelsData {
    let known = ModelInfo {
        id: "claude".into(),
        provider: "anthropic".into(),
        context_window: 200_000,
        max_output: 64_000,
        reasoning: true,
        name: Some("Claude".into()),
        thinking: Some(vec![ThinkingLevel::Off, ThinkingLevel::High]),
        images: Some(true),
        prices: Some(ModelPrices { input: 3.0, output: 15.0 }),
        available: None,
    };
    let unknown = ModelInfo {
        id: "mine".into(),
        provider: "local".into(),
        context_window: 0,
        max_output: 0,
        reasoning: false,
        name: None,
        thinking: None,
        images: None,
        prices: None,
        available: Some(false),
    };
    ModelsData { models: vec![known, unknown] }
}

fn tools() -> ToolsData {
    let schema = json(r#"{"type":"object"}"#);
    let weather = ToolInfo {
        name: "weather".into(),
        description: "Current weather.".into(),
        schema,
        active: false,
        extension: Some(todo()),
        label: Some("Weather".into()),
    };
    let read =
        ToolInfo { name: "read".into(), active: true, extension: None, label: None, ..weather.clone() };
    ToolsData { tools: vec![read, weather] }
}

fn ephemeral() -> SessionData {
    SessionData { session: "01aa".into(), ephemeral: true, path: None }
}

fn kept() -> SessionData {
    SessionData { session: "0199".into(), ephemeral: false, path: Some("/s/0199.jsonl".into()) }
}

fn sessions() -> SessionsData {
    let open = SessionInfo {
        session: "0199".into(),
        open: true,
        current: true,
        busy: false,
        path: Some("/s/0199.jsonl".into()),
        cwd: "/src/app".into(),
        created: time(),
        last: Some(time()),
        name: Some("tidy".into()),
        tags: [("ticket".into(), "HA-7".into()), ("work".into(), String::new())].into(),
        first_text: Some("hi".into()),
        messages: 3,
        usage: usage(),
        forked_from: Some("0198".into()),
    };
    let new = SessionInfo {
        session: "01aa".into(),
        current: false,
        path: None,
        last: None,
        name: None,
        tags: Default::default(),
        first_text: None,
        messages: 0,
        usage: TokenUsage::default(),
        forked_from: None,
        ..open.clone()
    };
    SessionsData { sessions: vec![open, new] }
}

fn tree() -> TreeData {
    let said = |id: &str, parent: Option<&str>, role: &str, text: &str| EntryInfo {
        id: id.into(),
        parent: parent.map(str::to_owned),
        kind: "message".into(),
        role: Some(role.into()),
        text: Some(text.into()),
        label: None,
        time: time(),
    };
    let marked =
        EntryInfo { label: Some("good".into()), ..said("3f2b", Some("3f2a"), "assistant", "I look.") };
    let change = EntryInfo {
        kind: "model_change".into(),
        role: None,
        text: None,
        ..said("3f2c", Some("3f2b"), "", "")
    };
    TreeData { entries: vec![said("3f2a", None, "user", "hi"), marked, change], leaf: Some("3f2c".into()) }
}

fn commands() -> CommandsData {
    let of_extension = CommandInfo {
        name: "todo".into(),
        description: "show the list".into(),
        extension: Some(todo()),
        completes: true,
    };
    let template =
        CommandInfo { name: "review".into(), extension: None, completes: false, ..of_extension.clone() };
    CommandsData { commands: vec![of_extension, template] }
}

fn completions() -> CompletionsData {
    let (label, description) = ("milk".into(), "is done".into());
    CompletionsData { items: vec![CompletionItem { value: "done 1".into(), label, description }] }
}

fn ran() -> CommandResult {
    CommandResult { action: CommandActionKind::OpenPanel, extension: Some(todo()) }
}

fn fault() -> ExtensionFault {
    ExtensionFault::new(todo(), "exited", "ended with status 1")
}

fn extensions() -> ExtensionsData {
    let ready = ExtensionInfo {
        name: todo(),
        version: Some("1.0.0".into()),
        description: Some("a list".into()),
        state: "ready".into(),
        fault: None,
        origin: "global".into(),
        dir: "/h/extensions/todo".into(),
        required: true,
        gates_off: false,
        log: Some("/h/logs/todo.log".into()),
        commands: vec!["todo".into()],
        tools: vec!["todo_add".into()],
        shortcuts: vec![ShortcutInfo { key: "ctrl+g".into(), description: "Show the list".into() }],
        status: vec![StatusItem { key: "open".into(), text: "3 open".into(), styled: styled_text() }],
    };
    let failed = ExtensionInfo {
        version: None,
        description: None,
        state: "failed".into(),
        fault: Some(fault()),
        log: None,
        commands: Vec::new(),
        tools: Vec::new(),
        shortcuts: Vec::new(),
        status: Vec::new(),
        ..ready.clone()
    };
    ExtensionsData { extensions: vec![ready, failed] }
}

fn jobs() -> JobsData {
    let job = |job, command: &str, end: Option<&str>| JobInfo {
        job,
        command: command.to_owned(),
        took_ms: 1500,
        end: end.map(str::to_owned),
    };
    JobsData { jobs: vec![job(1, "make", Some("exit code 0")), job(2, "npm run dev", None)] }
}

fn reloaded() -> ReloadData {
    ReloadData { stopped: 1, loaded: 2, ready: 1, kept: 1, errors: vec![fault()] }
}
