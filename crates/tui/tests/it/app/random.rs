//! Random events: no panic, no control characters in frames or requests.

use haft_protocol::RawJson;
use haft_protocol::content::ContentBlock;
use haft_protocol::event::{AgentEvent, NoteLevel};
use haft_protocol::ext::{SetWorkingCall, StyledSpan};
use haft_protocol::ids::{PanelId, ToolCallId};
use haft_protocol::message::{AssistantBlock, StopCause};
use haft_protocol::rpc::{ClientEvent as SessionEvent, PanelContent, RpcEvent, UiAnswer, UiKind, UiRequest};
use haft_tui::app::{BackendReply, MouseAction, MouseKind, UiEvent};
use haft_tui::keys::ACTIONS;
use proptest::prelude::*;

use super::fake::{Fake, extension, image, time};

#[derive(Debug, Clone)]
enum Step {
    Key(String),
    Type(String),
    Command(usize, String),
    Paste(String),
    Mouse(MouseKind, u16, u16),
    Resize(u16, u16),
    Session(Box<SessionEvent>),
    Image,
    Shell(u64, String, bool),
    Wait(f32),
    Disconnect,
}

fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z ]{0,12}",
        Just("\u{1b}[2J\u{1b}]0;x\u{7}".to_owned()),
        Just("\u{9b}31m\u{202e}".to_owned()),
        Just("日本語 e\u{301} 👩\u{200d}🔬".to_owned()),
        Just("\n\t\r".to_owned()),
        "\\PC{0,6}",
    ];
    proptest::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

fn agent_event() -> impl Strategy<Value = AgentEvent> {
    let call = || ToolCallId::new("t1");
    prop_oneof![
        hostile().prop_map(|text| AgentEvent::UserMessage {
            content: vec![ContentBlock::text(text)],
            time: time(),
            entry: None
        }),
        Just(AgentEvent::TurnStart { step: 1 }),
        hostile().prop_map(|delta| AgentEvent::TextDelta { delta }),
        hostile().prop_map(|delta| AgentEvent::ThinkingDelta { delta }),
        hostile().prop_map(|text| AgentEvent::AssistantMessage {
            content: vec![AssistantBlock::Text { text }],
            time: time(),
            entry: None
        }),
        hostile().prop_map(move |name| AgentEvent::ToolCall {
            id: call(),
            name,
            args: RawJson::empty_object()
        }),
        (hostile(), any::<bool>()).prop_map(move |(text, replaces)| AgentEvent::ToolProgress {
            id: call(),
            text,
            replaces,
            details: None,
        }),
        hostile().prop_map(move |text| AgentEvent::ToolResult {
            id: call(),
            name: text.clone(),
            is_error: true,
            content: vec![ContentBlock::text(text), ContentBlock::Image(image())],
            extension: None,
            synthetic_by: None,
            details: None,
            entry: None
        }),
        Just(AgentEvent::TurnEnd { stop: StopCause::End, error: None }),
        hostile().prop_map(|message| AgentEvent::Error { message, stage: None, advice: None }),
        Just(AgentEvent::Done),
        hostile().prop_map(|text| AgentEvent::QueueUpdate {
            steering: vec![text.clone(), text],
            follow_up: vec![],
            next_turn: vec![]
        }),
        (hostile(), hostile()).prop_map(|(name, message)| AgentEvent::ExtNotify {
            extension: extension(&name),
            level: NoteLevel::Warn,
            message
        }),
        hostile().prop_map(|text| AgentEvent::ExtDisplay { extension: extension("todo"), text }),
    ]
}

fn rpc_event() -> impl Strategy<Value = RpcEvent> {
    let content = |title: String| PanelContent {
        panel_id: PanelId::new("p1"),
        lines: vec![title.clone(), title.clone()],
        footer: title.clone(),
        title,
    };
    let kinds = vec![UiKind::Confirm, UiKind::Approve, UiKind::Select, UiKind::Input, UiKind::GateFailing];
    prop_oneof![
        hostile()
            .prop_map(move |text| RpcEvent::PanelOpen { extension: extension("todo"), panel: content(text) }),
        hostile().prop_map(move |text| RpcEvent::PanelRender {
            extension: extension("todo"),
            panel: content(text)
        }),
        Just(RpcEvent::PanelClose { extension: extension("todo"), panel_id: PanelId::new("p1") }),
        (hostile(), hostile(), proptest::option::of(hostile()), any::<bool>()).prop_map(
            |(name, key, text, is_styled)| {
                let part = StyledSpan::new(text.clone().unwrap_or_default()).with_bold();
                let styled = if is_styled { vec![part.clone(), part] } else { Vec::new() };
                RpcEvent::ExtStatus { extension: extension(&name), key, text, styled }
            }
        ),
        hostile().prop_map(|text| RpcEvent::Insert { extension: extension("todo"), text }),
        hostile().prop_map(|text| RpcEvent::SetEditor { extension: extension("todo"), text }),
        hostile().prop_map(|text| RpcEvent::SetTitle { extension: extension("todo"), text }),
        (hostile(), any::<Option<bool>>(), any::<Option<u64>>()).prop_map(|(text, visible, interval_ms)| {
            let frames = Some(vec![text.clone(), text.clone()]);
            let working = SetWorkingCall {
                text: Some(text.clone()),
                visible,
                frames,
                interval_ms,
                thinking: Some(text),
            };
            RpcEvent::SetWorking { extension: extension("todo"), working }
        }),
        (proptest::sample::select(kinds), hostile()).prop_map(|(kind, text)| RpcEvent::UiRequest(Box::new(
            UiRequest {
                id: "q1".to_owned(),
                extension: Some(extension(&text)),
                kind,
                title: text.clone(),
                message: text.clone(),
                options: vec![text],
                call: None,
                preview: None,
                placeholder: None,
                prefill: None,
                timeout_ms: Some(1000),
                default: UiAnswer::Cancelled,
            }
        ))),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let keys: Vec<String> = ACTIONS.iter().flat_map(|entry| entry.keys).map(|&key| key.to_owned()).collect();
    let mice =
        vec![MouseKind::Press, MouseKind::Drag, MouseKind::Release, MouseKind::WheelUp, MouseKind::WheelDown];
    prop_oneof![
        8 => proptest::sample::select(keys).prop_map(Step::Key),
        4 => "[a-z@/! ]{1,6}".prop_map(Step::Type),
        4 => (0..haft_tui::app::commands::COMMANDS.len(), "[a-z]{0,4}").prop_map(|(at, args)| Step::Command(at, args)),
        1 => hostile().prop_map(Step::Paste),
        1 => Just(Step::Paste("/a/b.png".to_owned())),
        1 => (proptest::sample::select(mice), 0..120_u16, 0..50_u16).prop_map(|(kind, x, y)| Step::Mouse(kind, x, y)),
        1 => (1..100_u16, 1..40_u16).prop_map(|(columns, rows)| Step::Resize(columns, rows)),
        8 => agent_event().prop_map(|event| Step::Session(Box::new(event.into()))),
        4 => rpc_event().prop_map(|event| Step::Session(Box::new(event.into()))),
        1 => Just(Step::Image),
        1 => (1..4_u64, hostile(), any::<bool>()).prop_map(|(number, text, ends)| Step::Shell(number, text, ends)),
        1 => (0.0..4.0_f32).prop_map(Step::Wait),
        1 => Just(Step::Disconnect),
    ]
}

fn run_step(fake: &mut Fake, step: Step) {
    match step {
        Step::Key(key) => fake.keys(&key),
        Step::Type(text) => fake.type_text(&text),
        Step::Command(at, args) => {
            let name = haft_tui::app::commands::COMMANDS[at].name;
            fake.keys("ctrl+c");
            fake.type_text(&format!("/{name} {args}"));
            fake.keys("enter");
        }
        Step::Paste(text) => fake.tell(UiEvent::Paste(text)),
        Step::Mouse(kind, column, row) => fake.tell(UiEvent::Mouse(MouseAction { kind, column, row })),
        Step::Resize(columns, rows) => fake.resize(columns, rows),
        Step::Session(event) => fake.event(*event),
        Step::Image => {
            for number in 1..4 {
                fake.tell(UiEvent::Answer(BackendReply::Image(number, Ok(image()))));
            }
        }
        Step::Shell(number, text, false) => {
            fake.tell(UiEvent::Answer(BackendReply::ShellOutput(number, text)))
        }
        Step::Shell(number, text, true) => {
            fake.tell(UiEvent::Answer(BackendReply::ShellEnd(number, Ok((text, Some(1))))));
        }
        Step::Wait(seconds) => fake.later(seconds),
        Step::Disconnect => fake.tell(UiEvent::Disconnected),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_events_keep_frames_and_requests_clean(steps in proptest::collection::vec(step(), 1..40)) {
        let mut fake = Fake::new();
        for step in steps {
            run_step(&mut fake, step);
            let (buffer, cursor) = fake.drawn();
            for cell in &buffer.content {
                prop_assert!(!cell.symbol().chars().any(char::is_control), "{:?}", cell.symbol());
            }
            if let Some((x, y)) = cursor {
                prop_assert!(x < buffer.area.width && y < buffer.area.height, "{x},{y} of {}", buffer.area);
            }
            let wakes = fake.state.wakes_at(fake.now);
            prop_assert!(wakes.is_none_or(|at| at > fake.now), "the interface would wake at once, again and again");
            let clean = fake.log.iter().all(|line| !line.contains('\u{1b}'));
            prop_assert!(clean);
        }
    }
}
