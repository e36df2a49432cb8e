//! One line of every kind of both sides, as code with these types builds it.

mod events;
mod replies;

use haft_protocol::content::Image;
use haft_protocol::ids::{ExtensionName, PanelId};
use haft_protocol::rpc::*;
use haft_protocol::thinking::ThinkingLevel;

use crate::samples::json;

pub(crate) use events::events;
pub(crate) use replies::replies;

pub(crate) fn todo() -> ExtensionName {
    ExtensionName::new("todo")
}

pub(crate) fn panel() -> PanelId {
    PanelId::new("todos")
}

fn image() -> Image {
    Image { mime_type: "image/png".into(), data: "iVBORw0KGgo=".into() }
}

/// One or more commands of each kind, with the ids of the replies.
pub(crate) fn requests() -> Vec<RpcRequest> {
    let mut commands = conversation();
    commands.extend(sessions());
    commands.extend(extensions());
    commands.push(PingCommand {}.into());
    commands.push(ShutdownCommand {}.into());
    let numbered = commands.into_iter().enumerate().map(|(at, command)| {
        let session = named(&command).then(|| "0199".to_owned());
        RpcRequest { id: Some((at + 1).to_string()), command, session }
    });
    numbered.collect()
}

/// True if the sample names a session.
fn named(command: &Command) -> bool {
    matches!(
        command.kind(),
        CommandKind::SwitchSession | CommandKind::CloseSession | CommandKind::Fork | CommandKind::Steer
    )
}

fn conversation() -> Vec<Command> {
    let client = ClientInfo { name: "my-editor".into(), version: Some("1.2".into()) };
    vec![
        HelloCommand {
            token: Some(AuthToken("s3cret".into())),
            client: Some(client),
            ui: Some(true),
            approve: None,
        }
        .into(),
        HelloCommand { approve: Some(vec!["bash".into(), "edit".into()]), ..HelloCommand::default() }.into(),
        HelloCommand { approve: Some(Vec::new()), ..HelloCommand::default() }.into(),
        HelloCommand::default().into(),
        PromptCommand { message: "hi".into(), images: Vec::new(), plain: None }.into(),
        PromptCommand { message: "/usr".into(), images: Vec::new(), plain: Some(true) }.into(),
        PromptCommand { message: "what\u{2028}is it?".into(), images: vec![image()], plain: None }.into(),
        AbortCommand { queued: None }.into(),
        AbortCommand { queued: Some(true) }.into(),
        SteerCommand { message: "not in src/".into(), images: vec![image()] }.into(),
        FollowUp { message: "then run the tests".into(), images: Vec::new() }.into(),
        InterruptCommand { hint: "what is left?".into() }.into(),
        InterruptCommand::default().into(),
        TakeQueued {}.into(),
        WaitIdle {}.into(),
        CompactCommand { instructions: Some("mind the tests".into()) }.into(),
        CompactCommand::default().into(),
        GetState {}.into(),
        GetMessages {}.into(),
        ClearCommand {}.into(),
        SetModel { model: "anthropic/claude".into() }.into(),
        GetModels { all: Some(true) }.into(),
        SetThinking { level: ThinkingLevel::High }.into(),
        GetTools {}.into(),
        SetTools { tools: Some(vec!["read".into(), "grep".into()]) }.into(),
        SetTools { tools: None }.into(),
    ]
}

fn sessions() -> Vec<Command> {
    vec![
        NewSession { ephemeral: Some(true) }.into(),
        NewSession::default().into(),
        SwitchSession {}.into(),
        CloseSession {}.into(),
        ListSessions {}.into(),
        ForkCommand { entry: Some("3f2a".into()) }.into(),
        ForkCommand::default().into(),
        TreeCommand {}.into(),
        MoveTo {
            entry: Some("3f2a".into()),
            before: Some(true),
            summarize: Some(true),
            instructions: Some("mind the tests".into()),
            label: Some("lock".into()),
        }
        .into(),
        MoveTo::default().into(),
        SetName { name: "tidy".into() }.into(),
        SetName::default().into(),
        AppendEntry {
            entry: Some("0f3a5c7e9b1d2f4061728394a5b6c7d8".into()),
            kind: "list".into(),
            data: json(r#"{"done":1}"#),
            owner: Some("my-editor".into()),
        }
        .into(),
        AppendEntry { kind: "list".into(), data: json("null"), ..AppendEntry::default() }.into(),
        SendMessage {
            kind: "build".into(),
            content: "The build failed.".into(),
            images: vec![image()],
            display: true,
            details: Some(json(r#"{"exit":1}"#)),
            when: DeliveryTime::FollowUp,
            turn: true,
            owner: Some("my-editor".into()),
        }
        .into(),
        SendMessage { kind: "build".into(), content: "It passed.".into(), ..SendMessage::default() }.into(),
        SetLabel { entry: "3f2a".into(), label: Some("before the rewrite".into()) }.into(),
        SetLabel { entry: "3f2a".into(), label: None }.into(),
        SetTags { tags: [("ticket".into(), Some("HA-7".into())), ("old".into(), None)].into() }.into(),
        FindSessions { tags: [("ticket".into(), Some("HA-7".into())), ("done".into(), None)].into() }.into(),
    ]
}

fn extensions() -> Vec<Command> {
    let response = |answer| UiResponse { request: "ui-1".into(), answer };
    vec![
        ListCommands {}.into(),
        RunCommand { name: "todo".into(), args: "buy milk".into() }.into(),
        RunCommand { name: "todo".into(), args: String::new() }.into(),
        CompleteCommand { name: "todo".into(), prefix: "d".into() }.into(),
        CompleteCommand { name: "todo".into(), prefix: String::new() }.into(),
        ListExtensions {}.into(),
        ListJobs {}.into(),
        StopJob { job: 1 }.into(),
        ReloadExt::default().into(),
        ReloadExt { name: Some(todo()) }.into(),
        PanelKeyCommand { extension: todo(), panel_id: panel(), key: "rune".into(), text: Some("x".into()) }
            .into(),
        PanelKeyCommand { extension: todo(), panel_id: panel(), key: "enter".into(), text: None }.into(),
        RunShortcut { extension: todo(), key: "ctrl+g".into() }.into(),
        PanelResizeCommand { extension: todo(), panel_id: panel(), width: 80, height: 24 }.into(),
        PanelCloseCommand { extension: todo(), panel_id: panel() }.into(),
        response(UiAnswer::Confirmed(true)).into(),
        response(UiAnswer::Value("restart".into())).into(),
        response(UiAnswer::Cancelled).into(),
    ]
}
