//! Tests of random events in any order.

use haft_protocol::content::{ContentBlock, ToolCall};
use haft_protocol::event::{AgentEvent as E, CompactReason};
use haft_protocol::ids::ExtensionName;
use haft_protocol::message::{AssistantBlock, AssistantMessage, Message, StopCause, ToolMessage};
use haft_tui::app::MouseKind;
use haft_tui::draw_context::DrawContext;
use haft_tui::keys::{Browse, Scroll};
use haft_tui::transcript::LocalMessage;
use proptest::prelude::*;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::{Shown, block, id, json, time};

/// Applies a change other than an event.
fn aside(shown: &mut Shown, what: u8, which: u8, text: &str) {
    let (now, text) = (shown.now, text.to_owned());
    let transcript = &mut shown.transcript;
    if what == 29 {
        transcript.start_shell(u64::from(which), &text, which.is_multiple_of(2), now);
        transcript.shell_output(u64::from(which / 2), &text);
        transcript.finish_shell(u64::from(which / 3), Err(text), now);
    } else {
        transcript.push_local(LocalMessage::Page(text.clone(), text.clone()));
        transcript.push_local(LocalMessage::Error(text));
    }
}

/// Applies a random change, chosen by numbers and a text.
fn happen(shown: &mut Shown, what: u8, which: u8, text: &str) {
    let call = id(&(which % 3).to_string());
    let name = ["bash", "edit", "todo"][usize::from(which) % 3].to_owned();
    let extension = ExtensionName::new(text);
    let args = json(&serde_json::json!({"command": text, "path": text}).to_string());
    let content = vec![ContentBlock::text(text)];
    let is_error = which.is_multiple_of(2);
    let details = serde_json::json!({"diff": {"path": text, "unified": text, "added": 1, "removed": 1}});
    let details = Some(json(&details.to_string()));
    let blocks = vec![
        block(text),
        AssistantBlock::Thinking { text: text.into() },
        AssistantBlock::ToolCall(ToolCall { id: call.clone(), name: name.clone(), args: args.clone() }),
    ];
    let some = usize::from(which) % 4;
    let (by, text) = (text.to_owned(), text.to_owned());
    shown.event(&match what {
        0 => E::UserMessage { content, time: time(), entry: None },
        1 => E::AssistantStart,
        2..=4 => E::TextDelta { delta: text },
        5 => E::ThinkingDelta { delta: text },
        6 => E::ToolUseStart { id: call, name },
        7 => E::AssistantMessage {
            content: blocks.into_iter().take(some).collect(),
            time: time(),
            entry: None,
        },
        8 => E::ToolCall { id: call, name, args },
        9 => E::ToolStart { id: call, name, args, label: None },
        10 => E::ToolProgress { id: call, text, replaces: false, details: None },
        11 => E::ToolEnd { id: call, name, duration_ms: u64::from(which) * 1_000 },
        12 => {
            let (extension, synthetic_by) = (Some(extension), Some(by));
            E::ToolResult { id: call, name, is_error, content, extension, synthetic_by, details, entry: None }
        }
        13 => E::HostCallStart { id: call, extension, name, args },
        14 => E::HostCallEnd { id: call, extension, name, is_error, code: None, content, details },
        15 => E::ToolRewritten { id: call, by, tool: Some(text.clone()), args, changed: vec![text] },
        16 => E::ToolBlocked { id: call, by, reason: text },
        17 => E::ToolSkipped { id: call, name, reason: text },
        18 => E::Retry { attempt: 2, delay_ms: 1, message: text, max_attempts: None, reason: None },
        19 => E::TurnEnd { stop: StopCause::End, error: Some(text) },
        20 => E::Error { message: text, stage: None, advice: None },
        21 => E::CompactionStart { reason: CompactReason::Manual },
        22 => E::CompactionEnd {
            summary: Some(text),
            tokens_before: 1,
            tokens_after: None,
            messages_summed_up: None,
            messages_kept: None,
            by: Some(by),
            error: None,
        },
        23 => E::ExtDisplay { extension, text },
        24 => E::TrustRequired { project: text.clone(), skipped: vec![text.clone()], message: text },
        25 => E::ModelResponse { text_bytes: 3, tool_calls: 0, thinking: false },
        26 => E::EventGap { lost: 2 },
        27 => E::ToolRewriteConflict { id: call, path: text.clone(), by: [by, text] },
        28 => E::TurnEnd { stop: StopCause::ToolUse, error: None },
        _ => E::Done,
    });
}

const SCROLLS: &[Scroll] = &[
    Scroll::PageUp,
    Scroll::PageDown,
    Scroll::LineUp,
    Scroll::MessageUp,
    Scroll::MessageDown,
    Scroll::Top,
    Scroll::Bottom,
];

const KEYS: &[Browse] = &[
    Browse::Up,
    Browse::Down,
    Browse::Left,
    Browse::Right,
    Browse::LineStart,
    Browse::LineEnd,
    Browse::Mark,
    Browse::MarkLines,
    Browse::Copy,
    Browse::NextMatch,
    Browse::PreviousMatch,
    Browse::Expand,
    Browse::Close,
];

const MICE: &[MouseKind] =
    &[MouseKind::Press, MouseKind::Drag, MouseKind::Release, MouseKind::WheelUp, MouseKind::WheelDown];

/// Applies a random action of the person.
fn act(shown: &mut Shown, what: u8, which: u8, text: &str) {
    let at = usize::from(which);
    let transcript = &mut shown.transcript;
    match what {
        40..=43 => transcript.scroll(SCROLLS[at % SCROLLS.len()]),
        44 => transcript.scroll_lines(i32::from(which) - 128),
        45 => transcript.toggle_calls(),
        46 => transcript.toggle_thinking(),
        47 => drop(transcript.search(&text.chars().take(2).collect::<String>())),
        48 => drop(transcript.next_match(which.is_multiple_of(2))),
        49 => transcript.start_browsing(),
        50..=55 => drop(transcript.handle_browse(KEYS[at % KEYS.len()])),
        56..=58 => {
            drop(transcript.handle_mouse(MICE[at % MICE.len()], u16::from(which) % 40, u16::from(which / 8)))
        }
        59 => transcript.leave_search(),
        60 => shown.size = (u16::from(which % 50), u16::from(which / 16)),
        61 => {
            transcript.last_rows(u16::from(which), at, &shown.theme);
        }
        62 => {
            let look = DrawContext { theme: shown.theme.clone(), now: shown.now, images: None };
            transcript.take_settled_rows(shown.size.0, at % 16, &look);
            let mut buffer = Buffer::empty(Rect::new(0, 0, shown.size.0, u16::from(which) / 16));
            transcript.draw_live(buffer.area, &mut buffer, &look);
            if which == 255 {
                transcript.take_remaining_rows(shown.size.0, &look);
            }
        }
        _ => shown.pass(u64::from(which) * 10),
    }
}

/// Checks that no cell of the buffer contains a control sequence.
fn harmless(shown: &mut Shown) {
    shown.draw();
    for cell in shown.buffer.content() {
        assert!(!cell.symbol().contains(char::is_control), "{:?}", cell.symbol());
    }
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "[-*_`#>|a-c \\n]{0,30}",
        ".{0,20}",
        "[a\u{1b}\u{9b}\u{7}\r\t\\[2J日👩\u{200d}🔬\u{202e}é\n]{0,20}",
        "@@ -1,2 \\+1,2 @@\n[-+ a\u{1b}\n]{0,20}",
    ]
}

pub(super) fn conversation() -> impl Strategy<Value = Vec<Message>> {
    let step = (texts(), texts(), texts(), any::<bool>(), texts());
    let steps = prop::collection::vec(step, 0..4);
    steps.prop_map(|steps| {
        let mut messages = Vec::new();
        for (number, (asked, thought, said, calls, output)) in steps.into_iter().enumerate() {
            messages.push(Message::User { content: vec![ContentBlock::text(asked)], time: time() });
            let mut content = vec![AssistantBlock::Thinking { text: thought }, block(&said)];
            let call_id = id(&number.to_string());
            let args = json(&serde_json::json!({ "command": said }).to_string());
            let call = ToolCall { id: call_id.clone(), name: "bash".into(), args };
            if calls {
                content.push(AssistantBlock::ToolCall(call));
            }
            messages.push(Message::Assistant(AssistantMessage::new(content, time())));
            if calls {
                let (name, content) = ("bash".to_owned(), vec![ContentBlock::text(output)]);
                let (is_error, extension) = (number.is_multiple_of(2), None);
                let message = ToolMessage::new(call_id, name, content, time())
                    .with_is_error(is_error)
                    .with_extension(extension);
                messages.push(Message::Tool(message));
            }
        }
        messages
    })
}

/// Returns the events that would have reported a message.
pub(super) fn told(message: &Message) -> Vec<E> {
    match message {
        Message::User { content, time } => {
            vec![E::UserMessage { content: content.clone(), time: time.clone(), entry: None }]
        }
        Message::Assistant(message) => {
            let mut events = vec![E::AssistantStart];
            for block in &message.content {
                match block {
                    AssistantBlock::Text { text } => {
                        events.extend(text.chars().map(|c| E::TextDelta { delta: c.to_string() }));
                    }
                    AssistantBlock::Thinking { text } => {
                        events.push(E::ThinkingDelta { delta: text.clone() })
                    }
                    AssistantBlock::ToolCall(call) => {
                        events.push(E::ToolUseStart { id: call.id.clone(), name: call.name.clone() });
                    }
                }
            }
            events.push(E::AssistantMessage {
                content: message.content.clone(),
                time: message.time.clone(),
                entry: None,
            });
            events.extend(message.tool_calls().flat_map(|call| {
                let ToolCall { id, name, args } = call.clone();
                [
                    E::ToolCall { id: id.clone(), name: name.clone(), args: args.clone() },
                    E::ToolStart { id: id.clone(), name: name.clone(), args, label: None },
                    E::ToolProgress { id: id.clone(), text: "some".into(), replaces: false, details: None },
                    E::ToolEnd { id, name, duration_ms: 0 },
                ]
            }));
            events
        }
        Message::Tool(message) => {
            let ToolMessage { call_id, name, content, is_error, .. } = message.clone();
            let (extension, synthetic_by, details) = (None, None, None);
            vec![E::ToolResult {
                id: call_id,
                name,
                is_error,
                content,
                extension,
                synthetic_by,
                details,
                entry: None,
            }]
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: (ProptestConfig::default().cases / 8).clamp(1, 96), ..ProptestConfig::default() })]

    #[test]
    fn random_events_do_not_panic_or_emit_controls(
        steps in prop::collection::vec((0_u8..64, any::<u8>(), texts()), 1..60),
        width in 1_u16..60,
        height in 0_u16..20,
    ) {
        let mut shown = Shown::new(width, height);
        for (what, which, text) in steps {
            if what == 29 || what == 30 {
                aside(&mut shown, what, which, &text);
            } else if what < 40 {
                happen(&mut shown, what, which, &text);
            } else {
                act(&mut shown, what, which, &text);
            }
            if which % 3 != 0 {
                harmless(&mut shown);
            }
            shown.transcript.wakes_at(shown.now);
            shown.transcript.last_answer();
        }
        harmless(&mut shown);
    }

    #[test]
    fn restored_conversation_looks_the_same(
        messages in conversation(),
        width in 1_u16..60,
        open in any::<bool>(),
    ) {
        let mut live = Shown::new(width, 60);
        let mut restored = Shown::new(width, 60);
        restored.transcript.restore(&messages);
        for event in messages.iter().flat_map(told) {
            live.event(&event);
            live.draw();
        }
        live.event(&E::Done);
        if open {
            for shown in [&mut live, &mut restored] {
                shown.transcript.toggle_calls();
                shown.transcript.toggle_thinking();
            }
        }
        prop_assert_eq!(live.draw(), restored.draw());
        prop_assert_eq!(&live.buffer, &restored.buffer);
    }
}
