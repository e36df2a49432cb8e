//! A line of everything that both sides say, as code that speaks the protocol would build it.

mod events;
mod replies;

use haft_protocol::content::Image;
use haft_protocol::ids::{ExtensionName, PanelId};
use haft_protocol::rpc::*;
use haft_protocol::thinking::Thinking;

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

/// A command or more of each kind, with the ids that the replies have.
pub(crate) fn requests() -> Vec<Request> {
    let mut commands = conversation();
    commands.extend(sessions());
    commands.extend(extensions());
    commands.push(Ping {}.into());
    commands.push(Shutdown {}.into());
    let numbered = commands.into_iter().enumerate().map(|(at, command)| {
        let session = named(&command).then(|| "0199".to_owned());
        Request { id: Some((at + 1).to_string()), command, session }
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
    let client = Client { name: "my-editor".into(), version: Some("1.2".into()) };
    vec![
        Hello { token: Some(Token("s3cret".into())), client: Some(client), ui: Some(true), approve: None }
            .into(),
        Hello { approve: Some(vec!["bash".into(), "edit".into()]), ..Hello::default() }.into(),
        Hello { approve: Some(Vec::new()), ..Hello::default() }.into(),
        Hello::default().into(),
        Prompt { message: "hi".into(), images: Vec::new(), plain: None }.into(),
        Prompt { message: "/usr".into(), images: Vec::new(), plain: Some(true) }.into(),
        Prompt { message: "what\u{2028}is it?".into(), images: vec![image()], plain: None }.into(),
        Abort { queued: None }.into(),
        Abort { queued: Some(true) }.into(),
        Steer { message: "not in src/".into(), images: vec![image()] }.into(),
        FollowUp { message: "then run the tests".into(), images: Vec::new() }.into(),
        Interrupt { hint: "what is left?".into() }.into(),
        Interrupt::default().into(),
        TakeQueued {}.into(),
        Compact { instructions: Some("mind the tests".into()) }.into(),
        Compact::default().into(),
        GetState {}.into(),
        GetMessages {}.into(),
        Clear {}.into(),
        SetModel { model: "anthropic/claude".into() }.into(),
        GetModels {}.into(),
        SetThinking { level: Thinking::High }.into(),
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
        Fork { entry: Some("3f2a".into()) }.into(),
        Fork::default().into(),
        Tree {}.into(),
        MoveTo { entry: Some("3f2a".into()), before: Some(true) }.into(),
        MoveTo::default().into(),
        SetName { name: "tidy".into() }.into(),
        SetName::default().into(),
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
        ReloadExt::default().into(),
        ReloadExt { name: Some(todo()) }.into(),
        PanelKey { extension: todo(), panel_id: panel(), key: "rune".into(), text: Some("x".into()) }.into(),
        PanelKey { extension: todo(), panel_id: panel(), key: "enter".into(), text: None }.into(),
        PanelResize { extension: todo(), panel_id: panel(), width: 80, height: 24 }.into(),
        PanelClose { extension: todo(), panel_id: panel() }.into(),
        response(UiAnswer::Confirmed(true)).into(),
        response(UiAnswer::Value("restart".into())).into(),
        response(UiAnswer::Cancelled).into(),
    ]
}
