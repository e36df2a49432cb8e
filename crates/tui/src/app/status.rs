//! The status line: the last row of the screen.

mod extension_items;

use std::time::Instant;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::{Line, Span};

use crate::clean::{CleanLine, columns, span};
use crate::draw_context::DrawContext;
use crate::humanize;
use crate::keys::{Browse, Keymap, Prompt};
use crate::theme::{Role, Theme};
use crate::timeouts;
use haft_protocol::thinking::ThinkingLevel;

use super::component::draw_line;
use super::search::progress_text;
use super::session::CurrentSession;

/// The percentage of the context window from which its use is shown as a warning.
const FULL: u64 = 80;

/// The percentage of the context window from which its use is shown as an error.
const OVERFULL: u64 = 95;

/// The level at which the tools may do everything.
const FULL_ACCESS: &str = "full";

/// The separator of items.
const BETWEEN: &str = " · ";

const LONGEST: usize = 40;

/// The last row of the screen: a short message, or the items of the session.
#[derive(Debug, Default)]
pub(super) struct StatusBar {
    /// The level of the tools' sandbox.
    sandbox: Option<String>,
    /// True if the machine cannot enforce a part of the sandbox.
    has_sandbox_gap: bool,
    branch: Option<String>,
    flash: Option<FlashMessage>,
    /// The time until which a second press of the key quits.
    quits_until: Option<Instant>,
}

/// A short message that disappears by itself.
#[derive(Debug)]
struct FlashMessage {
    text: String,
    until: Instant,
}

/// The parts of the interface that the row shows.
#[derive(Debug, Clone, Copy)]
pub(super) struct StatusBarSources<'s> {
    pub(super) session: &'s CurrentSession,
    pub(super) keymap: &'s Keymap,
    /// The tools that need approval before each call.
    pub(super) approve: &'s [String],
    /// The progress, in percent, of a search without an open search field.
    pub(super) searching: Option<u8>,
    pub(super) browses: bool,
    pub(super) works: bool,
    /// The number of dialogs behind the one that is shown.
    pub(super) questions: usize,
}

impl StatusBar {
    /// Returns the level of the tools' sandbox, with the network if it is open.
    pub(super) fn branch(&self) -> Option<&str> {
        self.branch.as_deref()
    }

    /// True if the machine cannot enforce a part of the sandbox.
    pub(super) fn has_sandbox_gap(&self) -> bool {
        self.has_sandbox_gap
    }

    pub(super) fn sandbox_label(&self) -> Option<&str> {
        self.sandbox.as_deref()
    }

    pub(super) fn new(sandbox: Option<String>, has_sandbox_gap: bool) -> Self {
        Self { sandbox, has_sandbox_gap, ..Self::default() }
    }

    pub(super) fn set_branch(&mut self, branch: Option<String>) {
        self.branch = branch;
    }

    pub(super) fn flash(&mut self, text: String, now: Instant) {
        self.flash = Some(FlashMessage { text, until: now + timeouts::FLASH });
    }

    /// Disarms the quit key, because another key was pressed. Returns the time until which it was armed.
    pub(super) fn disarm_quit(&mut self) -> Option<Instant> {
        self.quits_until.take()
    }

    /// Returns true if this is the second press of the quit key. Otherwise arms the key.
    pub(super) fn confirm_quit(&mut self, armed: Option<Instant>, now: Instant) -> bool {
        if armed.is_some_and(|until| now <= until) {
            return true;
        }
        self.quits_until = Some(now + timeouts::QUIT_AGAIN);
        self.flash = None;
        false
    }

    pub(super) fn expire_messages(&mut self, now: Instant) {
        self.flash.take_if(|word| word.until <= now);
        self.quits_until.take_if(|until| *until <= now);
    }

    pub(super) fn wakes_at(&self) -> Option<Instant> {
        let word = self.flash.as_ref().map(|word| word.until);
        [word, self.quits_until].into_iter().flatten().min()
    }

    pub(super) fn draw(
        &self,
        facts: StatusBarSources<'_>,
        area: Rect,
        buffer: &mut Buffer,
        look: &DrawContext,
    ) {
        if area.is_empty() {
            return;
        }
        let theme = &look.theme;
        let width = usize::from(area.width);
        let word = facts.searching.map(progress_text).or_else(|| Some(self.flash.as_ref()?.text.clone()));
        let hint = |text: &str, role: Role| {
            vec![vec![span(CleanLine::new(text).truncate_to_width(width), theme.style(role))]]
        };
        let left = match word {
            Some(word) => hint(&word, Role::Accent),
            None if self.quits_until.is_some() => hint(&quit_hint(facts.keymap, facts.works), Role::Accent),
            None if facts.browses => hint(&browsing_hint(facts.keymap), Role::Status),
            None => append_extension_items(
                fit_items(self.left_items(facts, theme), width),
                facts.session,
                width,
                theme,
            ),
        };
        let left = join_items(left, theme);
        let used = total_columns(&left);
        draw_line(buffer, area, 0, &Line::from(left));
        // The right part gets the remaining room.
        let right = right_text(facts.session, width.saturating_sub(used + 2));
        let taken = u16::try_from(right.columns()).unwrap_or(u16::MAX);
        if taken > 0 && taken <= area.width {
            let place = Rect { x: area.x + area.width - taken, width: taken, ..area };
            draw_line(buffer, place, 0, &Line::from(span(right, theme.style(Role::Status))));
        }
    }

    /// Returns the items from left to right with their priorities. Without enough room, the lowest priorities are
    /// omitted first.
    fn left_items(&self, facts: StatusBarSources<'_>, theme: &Theme) -> Vec<(u8, Span<'static>)> {
        let session = facts.session;
        let mut items = Vec::new();
        let mut item = |matters: u8, text: String, role: Role| {
            if !text.is_empty() {
                items.push((
                    matters,
                    span(CleanLine::new(&text).truncate_to_width(LONGEST), theme.style(role)),
                ));
            }
        };
        match facts.questions {
            0 => {}
            1 => item(6, "1 more question".to_owned(), Role::Warning),
            more => item(6, format!("{more} more questions"), Role::Warning),
        }
        item(5, session.model_name().to_owned(), Role::Status);
        if session.thinking != ThinkingLevel::Default {
            item(1, format!("thinking {}", session.thinking.name()), Role::Status);
        }
        let role = match session.context_percent() {
            Some(percent) if percent >= OVERFULL => Role::Error,
            Some(percent) if percent >= FULL => Role::Warning,
            Some(_) | None => Role::Status,
        };
        item(4, context_text(session), role);
        if session.usage.cost_usd > 0.0 {
            item(2, format!("${:.2}", session.usage.cost_usd), Role::Status);
        }
        if let Some(level) = &self.sandbox {
            // Without a limit, the level is as important as a failing extension.
            let is_weak = level == FULL_ACCESS || self.has_sandbox_gap;
            let (matters, role) = if is_weak { (3, Role::Warning) } else { (1, Role::Status) };
            let gap = if self.has_sandbox_gap { ", incomplete" } else { "" };
            item(matters, format!("sandbox {level}{gap}"), role);
        }
        match session.running_jobs() {
            0 => {}
            1 => item(3, "1 job".to_owned(), Role::Accent),
            more => item(3, format!("{more} jobs"), Role::Accent),
        }
        if !facts.approve.is_empty() {
            item(1, format!("asks: {}", facts.approve.join(", ")), Role::Status);
        }
        item(0, self.branch.clone().unwrap_or_default(), Role::Status);
        let failing = session.unready_extensions().map(|info| match info.gates_off {
            true => format!("{} gates off", info.name),
            false => format!("{} {}", info.name, info.state),
        });
        item(3, failing.collect::<Vec<_>>().join(", "), Role::Warning);
        items
    }
}

/// Returns the hint that the same key quits when pressed again.
pub(super) fn quit_hint(keymap: &Keymap, works: bool) -> String {
    let key = |action: Prompt| keymap.keys(action).first().map_or_else(String::new, ToString::to_string);
    let again = format!("{} again to quit", key(Prompt::ClearOrQuit));
    match works {
        true => format!("{} to stop the agent · {again}", key(Prompt::Abort)),
        false => again,
    }
}

fn browsing_hint(keymap: &Keymap) -> String {
    let does: [(&[Browse], &str); 4] = [
        (&[Browse::Up, Browse::Down], "move"),
        (&[Browse::Mark], "mark"),
        (&[Browse::Copy], "copy"),
        (&[Browse::Close], "back"),
    ];
    let said = does.iter().filter_map(|(actions, does)| {
        let keys = actions.iter().filter_map(|action| keymap.keys(*action).first());
        let keys = keys.map(ToString::to_string).collect::<Vec<_>>().join(" ");
        (!keys.is_empty()).then(|| format!("{keys} {does}"))
    });
    format!("browsing: {}", said.collect::<Vec<_>>().join(" · "))
}

/// `34k/200k (17 %)`
fn context_text(session: &CurrentSession) -> String {
    match (session.context, session.window, session.context_percent()) {
        (0, _, _) => String::new(),
        (tokens, Some(window), Some(percent)) => {
            format!("{}/{} ({percent} %)", humanize::format_tokens(tokens), humanize::format_tokens(window))
        }
        (tokens, _, _) => format!("{} tokens", humanize::format_tokens(tokens)),
    }
}

fn fit_items(mut items: Vec<(u8, Span<'static>)>, width: usize) -> Vec<Span<'static>> {
    let needed = |items: &[(u8, Span<'static>)]| {
        let texts: usize = items.iter().map(|(_, item)| columns(&item.content)).sum();
        texts + columns(BETWEEN) * items.len().saturating_sub(1)
    };
    while needed(&items) > width {
        let least = (0..items.len()).min_by_key(|at| items.get(*at).map(|(matters, _)| *matters));
        let Some(least) = least else { break };
        items.remove(least);
    }
    items.into_iter().map(|(_, item)| item).collect()
}

/// Adds items of extensions in the remaining room.
fn append_extension_items(
    items: Vec<Span<'static>>,
    session: &CurrentSession,
    width: usize,
    theme: &Theme,
) -> Vec<Vec<Span<'static>>> {
    let used = total_columns(&items) + columns(BETWEEN) * items.len();
    let mut items: Vec<_> = items.into_iter().map(|item| vec![item]).collect();
    items.extend(extension_items::fit_extension_items(
        session.status_items.values(),
        width.saturating_sub(used),
        theme,
    ));
    items
}

fn total_columns(spans: &[Span<'static>]) -> usize {
    spans.iter().map(|span| columns(&span.content)).sum()
}

/// Joins items, each of some spans.
fn join_items(items: Vec<Vec<Span<'static>>>, theme: &Theme) -> Vec<Span<'static>> {
    let mut line = Vec::new();
    for item in items {
        if !line.is_empty() {
            line.push(span(BETWEEN, theme.style(Role::Status)));
        }
        line.extend(item);
    }
    line
}

/// Returns the session's name and the directory, as far as they fit.
fn right_text(session: &CurrentSession, room: usize) -> CleanLine {
    let dir = session.cwd.rsplit(['/', '\\']).find(|name| !name.is_empty()).unwrap_or_default();
    let name = session.name.as_deref().unwrap_or_default();
    let both = [name, dir].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(BETWEEN);
    let both = CleanLine::new(&both);
    if both.columns() <= room {
        return both;
    }
    let dir = CleanLine::new(dir);
    if dir.columns() <= room { dir } else { CleanLine::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_tokens_briefly() {
        assert_eq!(
            [7, 1000, 34_512, 200_000, 1_048_576].map(humanize::format_tokens),
            ["7", "1k", "34k", "200k", "1.0M"]
        );
    }
}
