//! The conversation: messages, thinking, tool calls and reports.

pub(super) mod calls;
mod reports;

use anyhow::Result;
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, Image, ToolCall};
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{
    AssistantBlock, AssistantMessage, Message, Rfc3339Time, StopCause, ToolMessage,
};
use haft_tui::app::{BackendReply, UiEvent};

use super::stage::{HeadlessInterface, SESSION};
use super::{ScreenScene, around, scene, sink};

pub(super) const SCENES: &[ScreenScene] = &[
    scene(
        "said",
        (60, 24),
        &[
            sink("user's messages", 2, show_user_messages),
            sink("kinds of images", 1, image),
            sink("whole answer", 2, answer),
            sink("streamed answer", 1, stream_answer),
        ],
    ),
    scene("an answer that differs from the streamed text", (60, 24), &[sink("both", 2, replace_answer)]),
    scene("thinking", (60, 12), &[sink("while it streams", 1, stream_thinking)]),
    scene("thinking, shown", (60, 16), &[sink("afterwards", 2, show_thinking)]),
    scene("Markdown", (80, 50), &[sink("each kind of block", 14, markdown)]),
    scene("Markdown, streamed", (80, 50), &[sink("each kind of block", 14, markdown_streamed)]),
    scene("code", (80, 60), &[sink("languages", 6, code)]),
    scene("a restored session", (60, 24), &[sink("messages, thoughts, calls, results", 5, restore_session)]),
    ScreenScene {
        then: select_and_copy,
        ..scene("selected", (60, 24), &[sink("answer, copied", 1, answer)])
    },
    ScreenScene {
        then: |stage| {
            stage.quit();
            Ok(())
        },
        ..scene(
            "left on the normal screen",
            (60, 8),
            &[
                sink("user's messages", 2, show_user_messages),
                sink("answers", 2, answer),
                sink("calls and results", 4, calls::show_call),
                sink("reports", 4, reports::show_failures),
            ],
        )
    },
    scene("copied", (60, 8), &[sink("last answer", 1, copy_answer)]),
    scene("calls", (90, 60), calls::CALLS),
    scene("calls, unfolded", (90, 70), calls::UNFOLDED),
    scene("streamed calls", (60, 24), calls::WRITTEN),
    scene("calls of extensions", (90, 40), calls::HOSTED),
    scene("reports", (90, 70), reports::REPORTS),
    scene("summaries, unfolded", (60, 24), reports::SUMMARIES),
    scene("the shell", (60, 24), reports::SHELL),
];

pub(super) fn time() -> Rfc3339Time {
    Rfc3339Time("2026-01-02T03:04:05Z".to_owned())
}

pub(super) fn show_user_messages(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    for text in texts {
        stage.event(AgentEvent::UserMessage {
            content: vec![ContentBlock::text(text.clone())],
            time: time(),
            entry: None,
        });
    }
    Ok(())
}

pub(super) fn image(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    for text in texts {
        let content =
            vec![ContentBlock::Image(Image { mime_type: text.clone(), data: text.as_str().into() })];
        stage.event(AgentEvent::UserMessage { content, time: time(), entry: None });
    }
    Ok(())
}

fn send_answer(stage: &mut HeadlessInterface, content: Vec<AssistantBlock>) {
    stage.event(AgentEvent::AssistantStart);
    stage.event(AgentEvent::AssistantMessage { content, time: time(), entry: None });
    stage.event(AgentEvent::TurnEnd { stop: StopCause::End, error: None });
}

fn block(text: &str) -> AssistantBlock {
    AssistantBlock::Text { text: text.to_owned() }
}

pub(super) fn answer(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    send_answer(stage, texts.iter().map(|text| block(text)).collect());
    Ok(())
}

/// Splits a text into pieces of one to three characters.
fn split_pieces(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for (at, c) in text.chars().enumerate() {
        if at % 3 != 1
            && let Some(last) = pieces.last_mut()
        {
            last.push(c);
        } else {
            pieces.push(c.to_string());
        }
    }
    pieces
}

fn stream_answer(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    stage.event(AgentEvent::AssistantStart);
    for delta in texts.iter().flat_map(|text| split_pieces(text)) {
        stage.event(AgentEvent::TextDelta { delta });
    }
    Ok(())
}

fn replace_answer(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [before, after] = texts else { return Ok(()) };
    stream_answer(stage, std::slice::from_ref(before))?;
    stage.draw();
    // The streamed text is no longer visible; the scene `said` shows that it was visible before.
    let both = format!("{after} {before}");
    stage.event(AgentEvent::AssistantMessage { content: vec![block(&both)], time: time(), entry: None });
    Ok(())
}

fn stream_thinking(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    stage.event(AgentEvent::AssistantStart);
    for delta in texts.iter().flat_map(|text| split_pieces(text)) {
        stage.event(AgentEvent::ThinkingDelta { delta });
    }
    Ok(())
}

fn show_thinking(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    stage.answer(setting("tui.thinking", "shown"));
    let [streamed, whole] = texts else { return Ok(()) };
    stream_thinking(stage, std::slice::from_ref(streamed))?;
    let text = format!("{streamed}\n\n{whole}");
    stage.event(AgentEvent::AssistantMessage {
        content: vec![AssistantBlock::Thinking { text }],
        time: time(),
        entry: None,
    });
    Ok(())
}

/// Returns the answer that changes a setting.
pub(super) fn setting(name: &str, value: &str) -> BackendReply {
    BackendReply::Set(Ok(super::lists::setting_row(name, value, &[])))
}

const BLOCKS: [&str; 14] = [
    "# T",
    "- T",
    "1. T",
    "> T",
    "| a | b |\n|---|---|\n| T | x |",
    "| T | b |\n|:--|--:|\n| y | x |",
    "[T](http://x/)",
    "[x](<http://T>)",
    "![T](x.png)",
    "`T`",
    "***T*** ~~x~~",
    "```T\n```\nT",
    "    T",
    "<b>T</b>\n\n<!-- x -->",
];

fn markdown_blocks(texts: &[String]) -> String {
    let blocks = texts.iter().zip(BLOCKS.iter().cycle());
    blocks.map(|(text, block)| block.replace('T', text)).collect::<Vec<_>>().join("\n\n")
}

fn markdown(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    // Each block is in a separate message, so that none affects the next one.
    let blocks: Vec<_> = texts.iter().zip(BLOCKS).map(|(text, of)| block(&of.replace('T', text))).collect();
    blocks.into_iter().for_each(|block| send_answer(stage, vec![block]));
    Ok(())
}

fn markdown_streamed(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    stream_answer(stage, &[markdown_blocks(texts)])
}

fn code(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let languages = ["rust", "json", "sh", "python", "diff", "html"];
    for (text, language) in texts.iter().zip(languages) {
        send_answer(stage, vec![block(&format!("```{language}\nlet a = \"{text}\";\n{text}\n```"))]);
    }
    Ok(())
}

fn restore_session(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [asked, thought, said, command, output] = texts else { return Ok(()) };
    let args = RawJson::from_value(&serde_json::json!({ "command": command }))?;
    let call = ToolCall { id: ToolCallId::new("1"), name: "bash".to_owned(), args };
    let thinking = AssistantBlock::Thinking { text: thought.clone() };
    let content = vec![thinking, block(&format!("{thought} {said}")), AssistantBlock::ToolCall(call)];
    let messages = vec![
        Message::User { content: vec![ContentBlock::text(asked.clone())], time: time() },
        Message::Assistant(AssistantMessage::new(content, time())),
        Message::Tool(
            ToolMessage::new(
                ToolCallId::new("1"),
                "bash".to_owned(),
                vec![ContentBlock::text(output.clone())],
                time(),
            )
            .with_extension(around::extension_name("x")),
        ),
    ];
    stage.answer(BackendReply::Conversation(SESSION.to_owned(), Ok(messages.into())));
    Ok(())
}

/// Selects everything visible and copies it.
fn select_and_copy(stage: &mut HeadlessInterface) -> Result<()> {
    use haft_tui::app::{MouseAction, MouseKind};

    stage.draw();
    for (kind, column, row) in
        [(MouseKind::Press, 0, 0), (MouseKind::Drag, 50, 18), (MouseKind::Release, 50, 18)]
    {
        stage.update(UiEvent::Mouse(MouseAction { kind, column, row }));
    }
    Ok(())
}

fn copy_answer(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    answer(stage, texts)?;
    stage.keys("alt+c")
}
