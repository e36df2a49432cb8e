//! Themes: the styles of everything that is drawn. a style for each role, from a built-in theme or a `theme.json` over
//! one.
//!
//! `docs/themes.md` describes the file. Reading it from the disk, finding out how many colours the terminal has and
//! whether it is dark is for others: all of that comes in as values.

mod builtin;
mod color;
mod draft;
mod file;
mod problem;
mod role;
mod spec;
mod zot;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ratatui_core::style::{Modifier, Style};

use crate::clean::CleanLine;
use crate::timeouts;

pub use problem::{FieldError, ThemeError, ThemeProblem};
pub use role::Role;

/// The appearance of a terminal's background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Appearance {
    /// Light letters on a dark ground.
    #[default]
    Dark,
    /// Dark letters on a light ground.
    Light,
}

/// The number of colours a terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColorDepth {
    /// None, or none that the user wants (`NO_COLOR`). Bold, italic and the like stay.
    None,
    /// The sixteen that have names.
    Sixteen,
    /// 256.
    Indexed,
    /// Every red, green and blue.
    True,
}

/// A theme. A copy costs nothing and is known to be [the same](Self::is_same).
#[derive(Debug, Clone)]
pub struct Theme(Arc<ThemeStyles>);

#[derive(Debug, Clone)]
struct ThemeStyles {
    name: CleanLine,
    description: CleanLine,
    appearance: Appearance,
    spinner: SpinnerStyle,
    written: Vec<Style>,
    /// By role: with what it takes from whom it follows.
    styles: Vec<Style>,
}

/// The spinner that moves while haft works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpinnerStyle {
    /// The pictures, one after the other.
    pub frames: Vec<CleanLine>,
    /// The messages beside them; one is chosen for a turn.
    pub messages: Vec<CleanLine>,
    /// The time of each picture.
    pub interval: Duration,
}

impl SpinnerStyle {
    pub(crate) fn frame_at(&self, elapsed: Duration) -> CleanLine {
        let turn = elapsed.as_nanos() / self.interval.as_nanos().max(1);
        let at = usize::try_from(turn).unwrap_or_default() % self.frames.len().max(1);
        self.frames.get(at).cloned().unwrap_or_else(|| "●".into())
    }

    pub(crate) fn next_frame_at(&self, began: Instant, now: Instant) -> Option<Instant> {
        let turns = now.saturating_duration_since(began).as_nanos() / self.interval.as_nanos().max(1) + 1;
        began.checked_add(self.interval.checked_mul(u32::try_from(turns).ok()?)?)
    }
}

/// A theme that was read, and what of its file did not count.
#[derive(Debug, Clone)]
pub struct ParsedTheme {
    /// The theme.
    pub theme: Theme,
    /// In the order of the file.
    pub problems: Vec<ThemeProblem>,
}

impl Theme {
    /// The built-in theme for dark backgrounds.
    pub fn dark() -> Self {
        Self::new("dark".into(), Appearance::Dark, builtin::styles_from_colors(builtin::DARK))
    }

    /// The built-in theme for light backgrounds.
    pub fn light() -> Self {
        Self::new("light".into(), Appearance::Light, builtin::styles_from_colors(builtin::LIGHT))
    }

    /// The built-in theme for a background.
    pub fn built_in(appearance: Appearance) -> Self {
        match appearance {
            Appearance::Dark => Self::dark(),
            Appearance::Light => Self::light(),
        }
    }

    /// Reads a `theme.json`, haft's or zot's, over the built-in theme for the background that the terminal has. A field
    /// that says nothing useful is left out and named; a theme is never lost for one.
    ///
    /// # Errors
    /// [`ThemeError`] when the whole cannot be read.
    pub fn parse(text: &str, appearance: Appearance) -> Result<ParsedTheme, ThemeError> {
        file::parse(text, appearance)
    }

    fn new(name: CleanLine, appearance: Appearance, written: Vec<Style>) -> Self {
        let styles = resolve_styles(&written);
        let description = CleanLine::default();
        let inner =
            ThemeStyles { name, description, appearance, spinner: SpinnerStyle::default(), written, styles };
        Self(Arc::new(inner))
    }

    /// Its name.
    pub fn name(&self) -> &CleanLine {
        &self.0.name
    }

    /// Returns the author's description; may be empty.
    pub fn description(&self) -> &CleanLine {
        &self.0.description
    }

    /// Returns the background it is made for.
    pub fn appearance(&self) -> Appearance {
        self.0.appearance
    }

    /// Returns the spinner that moves while haft works.
    pub fn spinner(&self) -> &SpinnerStyle {
        &self.0.spinner
    }

    /// The style of a role, with what it takes from whom it follows.
    pub fn style(&self, role: Role) -> Style {
        self.0.styles.get(role.index()).copied().unwrap_or_default()
    }

    /// Returns the style that is written for a role alone: to be laid over the style of what is around it.
    pub fn own_style(&self, role: Role) -> Style {
        self.0.written.get(role.index()).copied().unwrap_or_default()
    }

    /// True if both are one and the same, so that what was drawn with one need not be drawn again.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The theme for a terminal with so many colours.
    #[must_use]
    pub fn with_color_depth(&self, depth: ColorDepth) -> Self {
        if depth == ColorDepth::True {
            return self.clone();
        }
        let reduce = |(role, style): (&Role, &Style)| reduce_style(*role, *style, depth);
        let all = |styles: &[Style]| Role::ALL.iter().zip(styles).map(reduce).collect();
        let (written, styles) = (all(&self.0.written), all(&self.0.styles));
        Self(Arc::new(ThemeStyles { written, styles, ..ThemeStyles::clone(&self.0) }))
    }
}

impl Default for SpinnerStyle {
    fn default() -> Self {
        let frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"].map(CleanLine::from);
        Self { frames: frames.into(), messages: vec!["working".into()], interval: timeouts::SPINNER }
    }
}

/// Each with what it takes from whom it follows, who stands before it.
fn resolve_styles(written: &[Style]) -> Vec<Style> {
    let mut styles: Vec<Style> = Vec::with_capacity(written.len());
    for (role, own) in Role::ALL.iter().zip(written) {
        let parent = role.follows().and_then(|parent| styles.get(parent.index())).copied();
        styles.push(parent.unwrap_or_default().patch(*own));
    }
    styles
}

fn reduce_style(role: Role, style: Style, depth: ColorDepth) -> Style {
    let fg = style.fg.and_then(|color| color::reduce_color(color, depth, false));
    let bg = style.bg.and_then(|color| color::reduce_color(color, depth, true));
    let lost = style.bg.is_some() && bg.is_none();
    let plain = Style { fg, bg, ..style };
    if lost && matches!(role, Role::Selection | Role::SearchMatch) {
        // What stands out by its ground alone would not stand out any more.
        plain.add_modifier(Modifier::REVERSED)
    } else if fg.is_some() && fg == bg {
        // A ground and letters of one colour would be a blank.
        Style { bg: None, ..plain }
    } else {
        plain
    }
}
