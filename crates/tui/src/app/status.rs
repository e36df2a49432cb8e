//! `StatusBar`: the last row of the screen.

mod said;

use std::time::Instant;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::{Line, Span};

use crate::clean::{CleanLine, columns, span};
use crate::figures;
use crate::keys::{Browse, Keymap, Prompt};
use crate::look::DrawContext;
use crate::theme::{Role, Theme};
use crate::timeouts;
use haft_protocol::thinking::ThinkingLevel;

use super::component::put;
use super::search::progress;
use super::session::Session;

/// From here on, in hundredths of the window, the use of the context is a warning.
const FULL: u64 = 80;

/// From here on it is an error.
const OVERFULL: u64 = 95;

/// The separator of items.
const BETWEEN: &str = " · ";

const LONGEST: usize = 40;

/// The last row of the screen: a word about what was done, or the items of the session.
#[derive(Debug, Default)]
pub(super) struct StatusBar {
    branch: Option<String>,
    word: Option<Word>,
    /// The time until which the key that was pressed quits, pressed again.
    quits_until: Option<Instant>,
}

/// A word about what was done.
#[derive(Debug)]
struct Word {
    text: String,
    until: Instant,
}

/// The parts of the interface that the row shows.
#[derive(Debug, Clone, Copy)]
pub(super) struct StatusFacts<'s> {
    pub(super) session: &'s Session,
    pub(super) keymap: &'s Keymap,
    /// The progress of a search that no field shows, in hundredths.
    pub(super) searching: Option<u8>,
    pub(super) browses: bool,
    pub(super) works: bool,
    /// The questions behind the one that is shown.
    pub(super) questions: usize,
}

impl StatusBar {
    pub(super) fn set_branch(&mut self, branch: Option<String>) {
        self.branch = branch;
    }

    pub(super) fn flash(&mut self, text: String, now: Instant) {
        self.word = Some(Word { text, until: now + timeouts::FLASH });
    }

    /// Takes the time until which the key that was pressed quits: another key comes between.
    pub(super) fn disarm(&mut self) -> Option<Instant> {
        self.quits_until.take()
    }

    /// Quits with the next press of the key. Returns true if this press was the second one.
    pub(super) fn quits(&mut self, armed: Option<Instant>, now: Instant) -> bool {
        if armed.is_some_and(|until| now <= until) {
            return true;
        }
        self.quits_until = Some(now + timeouts::QUIT_AGAIN);
        self.word = None;
        false
    }

    pub(super) fn settle(&mut self, now: Instant) {
        self.word.take_if(|word| word.until <= now);
        self.quits_until.take_if(|until| *until <= now);
    }

    pub(super) fn wakes_at(&self) -> Option<Instant> {
        let word = self.word.as_ref().map(|word| word.until);
        [word, self.quits_until].into_iter().flatten().min()
    }

    pub(super) fn draw(&self, facts: StatusFacts<'_>, area: Rect, buffer: &mut Buffer, look: &DrawContext) {
        if area.is_empty() {
            return;
        }
        let theme = &look.theme;
        let width = usize::from(area.width);
        let word = facts.searching.map(progress).or_else(|| Some(self.word.as_ref()?.text.clone()));
        let hint =
            |text: &str, role: Role| vec![span(CleanLine::new(text).truncate_to_width(width), theme.style(role))];
        let left = match word {
            Some(word) => hint(&word, Role::Accent),
            None if self.quits_until.is_some() => hint(&quit_offer(facts.keymap, facts.works), Role::Accent),
            None if facts.browses => hint(&browsing(facts.keymap), Role::Status),
            None => with_said(fitting(self.left(facts, theme), width), facts.session, width, theme),
        };
        let left = joined(left, theme);
        let used = columns_of(&left);
        put(buffer, area, 0, &Line::from(left));
        // What is on the right has the room that is left.
        let right = right(facts.session, width.saturating_sub(used + 2));
        let taken = u16::try_from(right.columns()).unwrap_or(u16::MAX);
        if taken > 0 && taken <= area.width {
            let place = Rect { x: area.x + area.width - taken, width: taken, ..area };
            put(buffer, place, 0, &Line::from(span(right, theme.style(Role::Status))));
        }
    }

    /// The items in the order in which they stand, each with how much it matters: what matters less goes first where there
    /// is no room.
    fn left(&self, facts: StatusFacts<'_>, theme: &Theme) -> Vec<(u8, Span<'static>)> {
        let session = facts.session;
        let mut items = Vec::new();
        let mut item = |matters: u8, text: String, role: Role| {
            if !text.is_empty() {
                items.push((matters, span(CleanLine::new(&text).truncate_to_width(LONGEST), theme.style(role))));
            }
        };
        match facts.questions {
            0 => {}
            1 => item(6, "1 more question".to_owned(), Role::Warning),
            more => item(6, format!("{more} more questions"), Role::Warning),
        }
        item(5, session.model.clone(), Role::Status);
        if session.thinking != ThinkingLevel::Default {
            item(1, format!("thinking {}", session.thinking.name()), Role::Status);
        }
        let role = match session.percent() {
            Some(percent) if percent >= OVERFULL => Role::Error,
            Some(percent) if percent >= FULL => Role::Warning,
            Some(_) | None => Role::Status,
        };
        item(4, context(session), role);
        if session.usage.cost_usd > 0.0 {
            item(2, format!("${:.2}", session.usage.cost_usd), Role::Status);
        }
        item(0, self.branch.clone().unwrap_or_default(), Role::Status);
        let failing = session.not_ready().map(|info| match info.gates_off {
            true => format!("{} off", info.name),
            false => format!("{} {}", info.name, info.state),
        });
        item(3, failing.collect::<Vec<_>>().join(", "), Role::Warning);
        items
    }
}

/// The words while the same key once more quits.
pub(super) fn quit_offer(keymap: &Keymap, works: bool) -> String {
    let key = |action: Prompt| keymap.keys(action).first().map_or_else(String::new, ToString::to_string);
    let again = format!("{} again quits", key(Prompt::ClearOrQuit));
    match works {
        true => format!("{} stops the agent; {again}", key(Prompt::Abort)),
        false => again,
    }
}

fn browsing(keymap: &Keymap) -> String {
    let does: [(&[Browse], &str); 4] = [
        (&[Browse::Up, Browse::Down], "move"),
        (&[Browse::Mark], "marks"),
        (&[Browse::Copy], "copies"),
        (&[Browse::Close], "goes back"),
    ];
    let said = does.iter().filter_map(|(actions, does)| {
        let keys = actions.iter().filter_map(|action| keymap.keys(*action).first());
        let keys = keys.map(ToString::to_string).collect::<Vec<_>>().join(" ");
        (!keys.is_empty()).then(|| format!("{keys} {does}"))
    });
    format!("browsing: {}", said.collect::<Vec<_>>().join(" · "))
}

/// `34k/200k (17 %)`
fn context(session: &Session) -> String {
    match (session.context, session.window, session.percent()) {
        (0, _, _) => String::new(),
        (tokens, Some(window), Some(percent)) => {
            format!("{}/{} ({percent} %)", figures::format_tokens(tokens), figures::format_tokens(window))
        }
        (tokens, _, _) => figures::format_tokens(tokens),
    }
}

fn fitting(mut items: Vec<(u8, Span<'static>)>, width: usize) -> Vec<Span<'static>> {
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

/// Fills the room that haft's own items leave with those of extensions.
fn with_said(
    mut items: Vec<Span<'static>>,
    session: &Session,
    width: usize,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let used = columns_of(&items) + columns(BETWEEN) * items.len();
    items.extend(said::fitting(session.said.values(), width.saturating_sub(used), theme));
    items
}

fn columns_of(spans: &[Span<'static>]) -> usize {
    spans.iter().map(|span| columns(&span.content)).sum()
}

fn joined(items: Vec<Span<'static>>, theme: &Theme) -> Vec<Span<'static>> {
    let mut line = Vec::new();
    for item in items {
        if !line.is_empty() {
            line.push(span(BETWEEN, theme.style(Role::Status)));
        }
        line.push(item);
    }
    line
}

/// The session's name and the directory, as far as there is room.
fn right(session: &Session, room: usize) -> CleanLine {
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
    fn numbers_are_short() {
        assert_eq!(
            [7, 1000, 34_512, 200_000, 1_048_576].map(figures::format_tokens),
            ["7", "1k", "34k", "200k", "1.0M"]
        );
    }
}
