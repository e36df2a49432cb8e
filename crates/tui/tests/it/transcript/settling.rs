//! Tests of inline mode: finished items are printed once, and unfinished ones are drawn below.

use haft_protocol::event::AgentEvent as E;
use haft_protocol::message::{AssistantBlock, Message, StopCause};
use haft_tui::clean::CleanLine;
use haft_tui::draw_context::DrawContext;
use haft_tui::transcript::LocalMessage;
use insta::assert_snapshot;
use proptest::prelude::*;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;
use ratatui_core::widgets::Widget as _;

use super::random::{conversation, told};
use super::{
    Shown, answer, answers, block, call, called, delta, progress, result, said, start, text, thinks,
};

/// A terminal with a number of rows for unfinished items.
struct Paper {
    shown: Shown,
    room: usize,
    printed: Vec<String>,
}

impl Paper {
    fn new(width: u16, room: usize) -> Self {
        Self { shown: Shown::new(width, 200), room, printed: Vec::new() }
    }

    fn look(&self) -> DrawContext {
        DrawContext { theme: self.shown.theme.clone(), now: self.shown.now, images: None }
    }

    fn settle(&mut self) {
        let look = self.look();
        let rows = self.shown.transcript.take_settled_rows(self.shown.size.0, self.room, &look);
        self.print(&rows);
    }

    fn print(&mut self, rows: &[Line<'static>]) {
        for row in rows {
            let mut buffer = Buffer::empty(Rect::new(0, 0, self.shown.size.0, 1));
            row.render(buffer.area, &mut buffer);
            self.printed.push(text(&buffer));
        }
    }

    fn events(&mut self, events: &[E]) {
        for event in events {
            self.shown.event(event);
            self.settle();
        }
    }

    /// Draws the unfinished items in the available rows.
    fn live(&mut self) -> String {
        let rows = u16::try_from(self.shown.transcript.live_rows()).unwrap();
        let mut buffer = Buffer::empty(Rect::new(0, 0, self.shown.size.0, rows));
        let look = self.look();
        self.shown.transcript.draw_live(buffer.area, &mut buffer, &look);
        text(&buffer)
    }

    fn end(&mut self) {
        let look = self.look();
        let rows = self.shown.transcript.take_remaining_rows(self.shown.size.0, &look);
        self.print(&rows);
    }

    /// Returns the printed rows and, below a line, the unfinished items.
    fn both(&mut self) -> String {
        let live = self.live();
        format!("{}\n--\n{live}", self.printed.join("\n"))
    }

    /// Compares the whole with a transcript that is not printed.
    fn is_whole(&mut self) -> Result<(), TestCaseError> {
        let live = self.live();
        let both = [self.printed.join("\n"), live].join("\n");
        self.shown.size.1 = 400;
        let whole = self.shown.draw();
        prop_assert_eq!(seen(&both), seen(&whole));
        Ok(())
    }
}

/// Removes zero-width characters from a text: a cell drops a mark at the beginning of a row.
fn seen(text: &str) -> String {
    text.trim()
        .chars()
        .filter(|&c| c == '\n' || CleanLine::new(c.encode_utf8(&mut [0; 4])).columns() > 0)
        .collect()
}

#[test]
fn prints_finished_items_in_order() {
    let mut paper = Paper::new(40, 10);
    paper.events(&[said("hi"), E::AssistantStart, thinks("hm"), delta("Look.")]);
    assert_snapshot!(paper.both(), @r"
    › hi
    --

    ∴ thought

    Look.
    ");
    paper.events(&[answer(&[AssistantBlock::Thinking { text: "hm".into() }, block("Look.")])]);
    paper.events(&[
        call("bash", "{\"command\":\"ls\"}"),
        start("bash", "{\"command\":\"ls\"}"),
        progress("a\n"),
    ]);
    paper.shown.transcript.push_local(LocalMessage::Info("meanwhile".into()));
    paper.settle();
    assert_snapshot!(paper.both(), @r"
    › hi

    ∴ thought

    Look.
    --

    ⠋ bash  ls
      a
    · meanwhile
    ");
    paper.events(&[result("bash", "a\nb", false)]);
    assert_snapshot!(paper.both(), @r"
    › hi

    ∴ thought

    Look.

    ● bash  ls
      a
      b
    · meanwhile
    --
    ");
}

#[test]
fn prints_long_answer_by_blocks() {
    let mut paper = Paper::new(40, 4);
    let pieces = ["one\n\n", "two\n\n", "three\n\n", "four\n\n", "fi"].map(delta);
    paper.events(&[said("count"), E::AssistantStart]);
    paper.events(&pieces);
    assert_eq!(paper.printed.join("\n"), "› count\n\none\n\ntwo\n\nthree");
    assert_eq!(paper.live().trim(), "four\n\nfi");
    paper.events(&[delta("ve"), answer(&[block("one\n\ntwo\n\nthree\n\nfour\n\nfive")])]);
    assert_eq!(paper.printed.join("\n"), "› count\n\none\n\ntwo\n\nthree\n\nfour\n\nfive");
    assert_eq!(paper.live(), "");
}

#[test]
fn reprints_text_replaced_after_printing() {
    let begin = [
        E::AssistantStart,
        delta("one\n\ntwo\n\nthree\n\nfour"),
        E::ModelResponse { text_bytes: 21, tool_calls: 0, thinking: false },
    ];
    let mut paper = Paper::new(40, 3);
    paper.events(&begin);
    assert_eq!(paper.printed.join("\n"), "one\n\ntwo");
    // The beginning is the same, so only the rest is printed.
    paper.events(&[answer(&[block("one\n\ntwo\n\nfive")])]);
    assert_eq!(paper.printed.join("\n"), "one\n\ntwo\n\nfive\n\n· an extension changed the answer");
    let mut paper = Paper::new(40, 3);
    paper.events(&begin);
    paper.events(&[answer(&[block("six")])]);
    assert_eq!(paper.printed.join("\n"), "one\n\ntwo\nsix\n\n· an extension changed the answer");
}

#[test]
fn running_command_does_not_block_printing_without_room() {
    let mut paper = Paper::new(40, 6);
    paper.shown.transcript.start_shell(1, "serve", false, paper.shown.now);
    paper.events(&answers("Short."));
    assert_eq!(paper.printed, [""; 0]);
    paper.events(&answers("one\n\ntwo\n\nthree"));
    assert_eq!(paper.printed.join("\n").trim(), "Short.\n\none");
    assert_eq!(paper.live(), "⠋ shell  serve  not sent to the model\n\ntwo\n\nthree");
    paper.shown.transcript.finish_shell(1, Ok(Some(0)), paper.shown.now);
    paper.settle();
    assert_eq!(
        paper.printed.join("\n").trim(),
        "Short.\n\none\n● shell  serve  not sent to the model\n\ntwo\n\nthree"
    );
}

#[test]
fn prints_end_of_long_conversation() {
    let mut paper = Paper::new(60, 10);
    let message = |number: usize| Message::User {
        content: vec![haft_protocol::content::ContentBlock::text(number.to_string())],
        time: super::time(),
    };
    let messages: Vec<Message> = (0..100_000).map(message).collect();
    paper.shown.transcript.restore(&messages);
    paper.settle();
    assert_eq!(paper.printed[..3], ["… 99950 earlier entries · ctrl+o show", "", "› 99950"]);
    assert_eq!(paper.printed.last().map(String::as_str), Some("› 99999"));
    assert!(paper.shown.transcript.layout_count() <= 60, "{}", paper.shown.transcript.layout_count());
    assert_eq!(paper.live(), "");
}

#[test]
fn exit_prints_unfinished_items() {
    let mut paper = Paper::new(60, 10);
    paper.events(&[said("hi"), E::AssistantStart, delta("So f")]);
    paper.end();
    assert_eq!(paper.printed, ["› hi", "", "So f"]);
    paper.end();
    assert_eq!(paper.printed.len(), 3);
}

#[test]
fn reprints_items_changed_after_printing() {
    let mut paper = Paper::new(60, 10);
    let retry = |attempt| E::Retry {
        attempt,
        delay_ms: 500,
        message: "busy".into(),
        max_attempts: None,
        reason: None,
    };
    paper.events(&[said("hi"), E::AssistantStart, retry(2), retry(3), delta("Well.")]);
    paper.events(&[answer(&[block("Well.")]), E::TurnEnd { stop: StopCause::End, error: None }, E::Done]);
    assert_snapshot!(paper.both(), @r"
    › hi

    ! attempt 2 in 0.5s: busy
    ! attempt 3 in 0.5s: busy

    Well.
    --
    ");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn printed_and_live_rows_are_the_whole(
        messages in conversation(),
        width in 8_u16..60,
        room in 0_usize..20,
        seldom in 1_usize..8,
        open in any::<bool>(),
    ) {
        let mut paper = Paper::new(width, room);
        if open {
            paper.shown.transcript.toggle_calls();
            paper.shown.transcript.toggle_thinking();
        }
        for (at, event) in messages.iter().flat_map(told).enumerate() {
            paper.shown.event(&event);
            if at % seldom == 0 {
                paper.settle();
                paper.is_whole()?;
            }
        }
        paper.events(&[E::Done]);
        paper.is_whole()?;
        prop_assert_eq!(paper.live(), "");
        paper.events(&called("bash", "{}", "x"));
        paper.is_whole()?;
    }
}
