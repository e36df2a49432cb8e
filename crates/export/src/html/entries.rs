//! Entries as they stand on a page.

use std::collections::HashMap;
use std::fmt::Write as _;

use haft_core::session::EntryId;
use haft_core::session::entry::*;
use haft_core::session::intervention::{Intervention, OWNER};
use haft_protocol::content::{Content, joined_text};
use haft_protocol::message::{AssistantBlock, Message, Stop};

use super::blocks::{picture, plain, pre};
use super::facts::count;
use super::text::{markdown, moment, short, text};
use super::thread::{Item, Step, Thread};
use super::tool;

/// Writes threads, and remembers what the table of contents needs.
pub(super) struct Writer<'a> {
    pub(super) out: String,
    /// The prompts of the main thread: their anchors, and how they begin.
    pub(super) prompts: Vec<(usize, String)>,
    labels: HashMap<EntryId, &'a str>,
    /// Inside a branch that is not the main one.
    aside: usize,
    anchors: usize,
}

impl<'a> Writer<'a> {
    pub(super) fn new(entries: &'a [Entry]) -> Self {
        let mut labels = HashMap::new();
        for entry in entries {
            if let EntryBody::Label(label) = &entry.body {
                match &label.label {
                    Some(words) => labels.insert(label.target, words.as_str()),
                    None => labels.remove(&label.target),
                };
            }
        }
        Self { out: String::new(), prompts: Vec::new(), labels, aside: 0, anchors: 0 }
    }

    pub(super) fn thread(&mut self, thread: &Thread<'_>) {
        for item in &thread.items {
            match item {
                Item::Entry(entry) => self.entry(entry),
                Item::Said(step) => self.step(step),
                Item::Branches(sides) => self.branches(sides),
                Item::Hidden(1) => self.row("Another branch begins here; it is not in this page."),
                Item::Hidden(many) => {
                    self.row(&format!("{many} other branches begin here; they are not in this page."))
                }
            }
        }
    }

    fn branches(&mut self, sides: &[Thread<'_>]) {
        self.aside += 1;
        for side in sides {
            let messages = side.steps().count();
            let _ = write!(
                self.out,
                "<details class=\"branch\"><summary>Another branch from here <span class=\"soft\">{messages} {}</span>\
                 </summary><div class=\"inside\">",
                if messages == 1 { "answer" } else { "answers" }
            );
            self.thread(side);
            self.out.push_str("</div></details>");
        }
        self.aside -= 1;
    }

    fn entry(&mut self, entry: &Entry) {
        match &entry.body {
            EntryBody::Said(Said { message: Message::User { content, .. }, .. }) => {
                self.prompt(entry, content)
            }
            EntryBody::Said(Said { message: Message::Tool(result), .. }) => {
                tool::orphan(&mut self.out, result)
            }
            EntryBody::ModelChange(change) => {
                self.row(&format!("Model: <b>{}/{}</b>", text(&change.provider), text(&change.model)));
            }
            EntryBody::ThinkingChange(change) => {
                self.row(&format!("Thinking: <b>{}</b>", text(&change.level)))
            }
            EntryBody::ToolsChange(change) => {
                let tools = match change.active.as_deref() {
                    None => "all".to_owned(),
                    Some([]) => "none".to_owned(),
                    Some(names) => text(&names.join(", ")),
                };
                self.row(&format!("Tools: <b>{tools}</b>"));
            }
            EntryBody::Compaction(compaction) => self.compaction(entry, compaction),
            EntryBody::BranchSummary(branch) => {
                self.summary(entry, "A branch that was left, summed up", &branch.summary, "");
            }
            EntryBody::Custom(custom) => match Intervention::of(custom) {
                Some(it) => self.intervention(&it),
                None => self.state(custom),
            },
            EntryBody::CustomMessage(custom) => self.told(entry, custom),
            EntryBody::Unknown(unknown) => {
                let line = format!(
                    "An entry of the type <code>{}</code>, which this page cannot show",
                    text(&unknown.kind)
                );
                self.row(&line);
            }
            // Shown elsewhere: with their calls, as the page's head, as marks.
            EntryBody::Said(_)
            | EntryBody::ToolStart(_)
            | EntryBody::Label(_)
            | EntryBody::Tags(_)
            | EntryBody::Name(_) => {}
        }
        if !matches!(&entry.body, EntryBody::Said(Said { message: Message::User { .. }, .. })) {
            self.mark(entry);
        }
    }

    fn prompt(&mut self, entry: &Entry, content: &[Content]) {
        self.anchors += 1;
        if self.aside == 0 {
            self.prompts.push((self.anchors, short(&joined_text(content), 70)));
        }
        let _ = write!(
            self.out,
            "<section class=\"user\" id=\"p{}\"><h2 class=\"who\">You <span class=\"soft\">{}</span></h2>",
            self.anchors,
            moment(&entry.time)
        );
        self.mark(entry);
        for block in content {
            match block {
                Content::Text { text: said } => {
                    let _ = write!(self.out, "<div class=\"said\">{}</div>", text(said.trim_end()));
                }
                Content::Image(image) => picture(&mut self.out, image),
            }
        }
        self.out.push_str("</section>");
    }

    fn step(&mut self, step: &Step<'_>) {
        let model = step.answer.map_or("Model", |answer| answer.model.as_str());
        let _ = write!(
            self.out,
            "<section class=\"model\"><h2 class=\"who\">{} <span class=\"soft\">{}{}</span></h2>",
            text(model),
            moment(&step.entry.time),
            step.answer.map(used).unwrap_or_default()
        );
        self.mark(step.entry);
        let mut calls = step.calls.iter();
        for block in &step.message.content {
            match block {
                AssistantBlock::Text { text } => self.out.push_str(&markdown(text)),
                AssistantBlock::Thinking { text } if text.trim().is_empty() => {}
                AssistantBlock::Thinking { text } => {
                    let _ = write!(
                        self.out,
                        "<details class=\"thinking\"><summary>Thinking <span class=\"soft\">{}</span></summary>\
                         <div class=\"inside\">{}</div></details>",
                        short(text, 80),
                        markdown(text)
                    );
                }
                AssistantBlock::ToolCall(_) => {
                    if let Some(call) = calls.next() {
                        tool::call(&mut self.out, call);
                    }
                }
            }
        }
        for it in &step.interventions {
            self.intervention(it);
        }
        if let Some(ended) = step.answer.and_then(|answer| ended(answer.stop)) {
            let _ = write!(self.out, "<p class=\"note error\">{ended}</p>");
        }
        self.out.push_str("</section>");
    }

    fn compaction(&mut self, entry: &Entry, compaction: &Compaction) {
        let by = compaction.by.as_deref().map(|by| format!(" by {}", text(by))).unwrap_or_default();
        let title = format!("Compacted{by}: {} tokens summed up", count(compaction.tokens_before));
        let mut files = String::new();
        for (what, names) in [("Read", &compaction.files_read), ("Changed", &compaction.files_modified)] {
            if !names.is_empty() {
                let _ = write!(files, "<p class=\"soft\">{what}: {}</p>", text(&names.join(", ")));
            }
        }
        self.summary(entry, &title, &compaction.summary, &files);
    }

    fn summary(&mut self, entry: &Entry, title: &str, summary: &str, below: &str) {
        let _ = write!(
            self.out,
            "<details class=\"summary\"><summary>{title} <span class=\"soft\">{}</span></summary>\
             <div class=\"inside\">{}{below}</div></details>",
            moment(&entry.time),
            markdown(summary)
        );
    }

    fn intervention(&mut self, it: &Intervention) {
        let _ = write!(
            self.out,
            "<p class=\"note\"><span class=\"badge extension\">{} {}</span> {}</p>",
            it.action.verb(),
            tool::names(it),
            tool::sentence(it)
        );
    }

    /// State of an extension; what haft keeps itself is no extension's.
    fn state(&mut self, custom: &Custom) {
        let whose = if custom.owner == OWNER {
            "haft".to_owned()
        } else {
            format!("extension {}", text(&custom.owner))
        };
        let _ = write!(
            self.out,
            "<details class=\"row\"><summary>{} kept by {whose}</summary><div class=\"inside\">",
            text(&custom.kind)
        );
        pre(&mut self.out, "", custom.data.as_str());
        self.out.push_str("</div></details>");
    }

    fn told(&mut self, entry: &Entry, custom: &CustomMessage) {
        let hidden = if custom.display { "" } else { " · the user was not shown this" };
        let _ = write!(
            self.out,
            "<section class=\"told\"><h2 class=\"who\">Extension {} <span class=\"soft\">{} · {}{hidden}</span></h2>",
            text(&custom.owner),
            text(&custom.kind),
            moment(&entry.time)
        );
        let texts = joined_text(&custom.content);
        self.out.push_str(&markdown(&texts));
        let images: Vec<Content> =
            custom.content.iter().filter(|block| block.as_text().is_none()).cloned().collect();
        plain(&mut self.out, &images);
        self.out.push_str("</section>");
    }

    fn row(&mut self, html: &str) {
        let _ = write!(self.out, "<p class=\"row\">{html}</p>");
    }

    fn mark(&mut self, entry: &Entry) {
        if let Some(label) = self.labels.get(&entry.id) {
            let _ = write!(self.out, "<p class=\"mark\">{}</p>", text(label));
        }
    }
}

fn used(answer: &Answer) -> String {
    let usage = &answer.usage;
    match usage.input + usage.output + usage.cache_read + usage.cache_write {
        0 => String::new(),
        _ => format!(
            " · {} in, {} out",
            count(usage.input + usage.cache_read + usage.cache_write),
            count(usage.output)
        ),
    }
}

fn ended(stop: Stop) -> Option<&'static str> {
    match stop {
        Stop::End | Stop::ToolUse => None,
        Stop::Length => Some("The answer was cut off: it reached the model's limit."),
        Stop::Error => Some("The answer ended with an error."),
        Stop::Aborted => Some("The user stopped the answer."),
    }
}
