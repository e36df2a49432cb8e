//! HTML of the entries of a session.

use std::collections::HashMap;
use std::fmt::Write as _;

use haft_core::session::EntryId;
use haft_core::session::entry::*;
use haft_core::session::intervention::{HookIntervention, OWNER};
use haft_protocol::content::{ContentBlock, joined_text, written_text};
use haft_protocol::message::{AssistantBlock, Message, StopCause};

use super::blocks::{write_content_blocks, write_image, write_pre};
use super::facts::token_count_text;
use super::text::{html_text, markdown, short_text, time_element};
use super::thread::{EntryThread, Step, ThreadItem};
use super::tool;

/// Writes threads and collects the table of contents.
pub(super) struct ThreadWriter<'a> {
    pub(super) out: String,
    /// The prompts of the main thread: their anchors and the beginning of their text.
    pub(super) prompts: Vec<(usize, String)>,
    labels: HashMap<EntryId, &'a str>,
    /// The nesting depth of side branches.
    aside: usize,
    anchors: usize,
}

impl<'a> ThreadWriter<'a> {
    pub(super) fn new(entries: &'a [SessionEntry]) -> Self {
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

    pub(super) fn write_thread(&mut self, thread: &EntryThread<'_>) {
        for item in &thread.items {
            match item {
                ThreadItem::Entry(entry) => self.write_entry(entry),
                ThreadItem::Step(step) => self.write_step(step),
                ThreadItem::Branches(sides) => self.write_branches(sides),
                ThreadItem::Hidden(1) => {
                    self.write_row("Another branch begins here; it is not included in this page.")
                }
                ThreadItem::Hidden(many) => self.write_row(&format!(
                    "{many} other branches begin here; they are not included in this page."
                )),
            }
        }
    }

    fn write_branches(&mut self, sides: &[EntryThread<'_>]) {
        self.aside += 1;
        for side in sides {
            let messages = side.steps().count();
            let _ = write!(
                self.out,
                "<details class=\"branch\"><summary>Another branch from here <span class=\"soft\">{messages} {}</span>\
                 </summary><div class=\"inside\">",
                if messages == 1 { "answer" } else { "answers" }
            );
            self.write_thread(side);
            self.out.push_str("</div></details>");
        }
        self.aside -= 1;
    }

    fn write_entry(&mut self, entry: &SessionEntry) {
        match &entry.body {
            EntryBody::MessageEntry(MessageEntry { message: Message::User { content, .. }, .. }) => {
                self.write_prompt(entry, content)
            }
            EntryBody::MessageEntry(MessageEntry { message: Message::Tool(result), .. }) => {
                tool::write_orphan_result(&mut self.out, result)
            }
            EntryBody::ModelChange(change) => {
                self.write_row(&format!(
                    "Model: <b>{}/{}</b>",
                    html_text(&change.provider),
                    html_text(&change.model)
                ));
            }
            EntryBody::ThinkingChange(change) => {
                self.write_row(&format!("Thinking: <b>{}</b>", html_text(&change.level)))
            }
            EntryBody::ToolsChange(change) => {
                let tools = match change.active.as_deref() {
                    None => "all".to_owned(),
                    Some([]) => "none".to_owned(),
                    Some(names) => html_text(&names.join(", ")),
                };
                self.write_row(&format!("Tools: <b>{tools}</b>"));
            }
            EntryBody::Compaction(compaction) => self.write_compaction(entry, compaction),
            EntryBody::BranchSummary(branch) => {
                self.write_summary(entry, "Summary of an abandoned branch", &branch.summary, "");
            }
            EntryBody::Custom(custom) => match HookIntervention::from_custom(custom) {
                Some(it) => self.write_intervention(&it),
                None => self.write_custom_entry(custom),
            },
            EntryBody::CustomMessage(custom) => self.write_custom_message(entry, custom),
            EntryBody::Unknown(unknown) => {
                let line = format!(
                    "An entry of type <code>{}</code>, which this page cannot show",
                    html_text(&unknown.kind)
                );
                self.write_row(&line);
            }
            // Shown elsewhere: with their tool calls, in the page's header, or as labels.
            EntryBody::MessageEntry(_)
            | EntryBody::ToolStart(_)
            | EntryBody::Label(_)
            | EntryBody::Tags(_)
            | EntryBody::Name(_) => {}
        }
        if !matches!(&entry.body, EntryBody::MessageEntry(MessageEntry { message: Message::User { .. }, .. }))
        {
            self.write_label(entry);
        }
    }

    fn write_prompt(&mut self, entry: &SessionEntry, content: &[ContentBlock]) {
        self.anchors += 1;
        if self.aside == 0 {
            self.prompts.push((self.anchors, short_text(&written_text(content), 70)));
        }
        let _ = write!(
            self.out,
            "<section class=\"user\" id=\"p{}\"><h2 class=\"who\">You <span class=\"soft\">{}</span></h2>",
            self.anchors,
            time_element(&entry.time)
        );
        self.write_label(entry);
        for block in content {
            match block {
                ContentBlock::Text { text } => {
                    let _ = write!(self.out, "<div class=\"said\">{}</div>", html_text(text.trim_end()));
                }
                ContentBlock::Image(image) => write_image(&mut self.out, image),
            }
        }
        self.out.push_str("</section>");
    }

    fn write_step(&mut self, step: &Step<'_>) {
        let model = step.answer.map_or("Model", |answer| answer.model.as_str());
        let _ = write!(
            self.out,
            "<section class=\"model\"><h2 class=\"who\">{} <span class=\"soft\">{}{}</span></h2>",
            html_text(model),
            time_element(&step.entry.time),
            step.answer.map(usage_text).unwrap_or_default()
        );
        self.write_label(step.entry);
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
                        short_text(text, 80),
                        markdown(text)
                    );
                }
                AssistantBlock::ToolCall(_) => {
                    if let Some(call) = calls.next() {
                        tool::write_call(&mut self.out, call);
                    }
                }
            }
        }
        for it in &step.interventions {
            self.write_intervention(it);
        }
        if let Some(ended) = step.answer.and_then(|answer| stop_text(answer.stop)) {
            let _ = write!(self.out, "<p class=\"note error\">{ended}</p>");
        }
        self.out.push_str("</section>");
    }

    fn write_compaction(&mut self, entry: &SessionEntry, compaction: &Compaction) {
        let by = compaction.by.as_deref().map(|by| format!(" by {}", html_text(by))).unwrap_or_default();
        let title =
            format!("Compacted{by}: {} tokens summarized", token_count_text(compaction.tokens_before));
        let mut files = String::new();
        for (what, names) in [("Read", &compaction.files_read), ("Changed", &compaction.files_modified)] {
            if !names.is_empty() {
                let _ = write!(files, "<p class=\"soft\">{what}: {}</p>", html_text(&names.join(", ")));
            }
        }
        self.write_summary(entry, &title, &compaction.summary, &files);
    }

    fn write_summary(&mut self, entry: &SessionEntry, title: &str, summary: &str, below: &str) {
        let _ = write!(
            self.out,
            "<details class=\"summary\"><summary>{title} <span class=\"soft\">{}</span></summary>\
             <div class=\"inside\">{}{below}</div></details>",
            time_element(&entry.time),
            markdown(summary)
        );
    }

    fn write_intervention(&mut self, it: &HookIntervention) {
        let _ = write!(
            self.out,
            "<p class=\"note\"><span class=\"badge extension\">{} {}</span> {}</p>",
            it.action.verb(),
            tool::intervention_names(it),
            tool::intervention_sentence(it)
        );
    }

    /// Writes the state of an extension, or of haft itself.
    fn write_custom_entry(&mut self, custom: &Custom) {
        let whose = if custom.owner == OWNER {
            "haft".to_owned()
        } else {
            format!("extension {}", html_text(&custom.owner))
        };
        let _ = write!(
            self.out,
            "<details class=\"row\"><summary>{} stored by {whose}</summary><div class=\"inside\">",
            html_text(&custom.kind)
        );
        write_pre(&mut self.out, "", custom.data.as_str());
        self.out.push_str("</div></details>");
    }

    fn write_custom_message(&mut self, entry: &SessionEntry, custom: &CustomMessage) {
        let hidden = if custom.display { "" } else { " · not shown to the user" };
        let _ = write!(
            self.out,
            "<section class=\"told\"><h2 class=\"who\">Extension {} <span class=\"soft\">{} · {}{hidden}</span></h2>",
            html_text(&custom.owner),
            html_text(&custom.kind),
            time_element(&entry.time)
        );
        let texts = joined_text(&custom.content);
        self.out.push_str(&markdown(&texts));
        let images: Vec<ContentBlock> =
            custom.content.iter().filter(|block| block.as_text().is_none()).cloned().collect();
        write_content_blocks(&mut self.out, &images);
        self.out.push_str("</section>");
    }

    fn write_row(&mut self, html: &str) {
        let _ = write!(self.out, "<p class=\"row\">{html}</p>");
    }

    fn write_label(&mut self, entry: &SessionEntry) {
        if let Some(label) = self.labels.get(&entry.id) {
            let _ = write!(self.out, "<p class=\"mark\">{}</p>", html_text(label));
        }
    }
}

fn usage_text(answer: &ResponseMetadata) -> String {
    let usage = &answer.usage;
    match usage.input + usage.output + usage.cache_read + usage.cache_write {
        0 => String::new(),
        _ => format!(
            " · {} in, {} out",
            token_count_text(usage.input + usage.cache_read + usage.cache_write),
            token_count_text(usage.output)
        ),
    }
}

fn stop_text(stop: StopCause) -> Option<&'static str> {
    match stop {
        StopCause::End | StopCause::ToolUse => None,
        StopCause::Length => Some("The answer was cut off: it reached the model's limit."),
        StopCause::Error => Some("The answer ended with an error."),
        StopCause::Aborted => Some("The user stopped the answer."),
    }
}
