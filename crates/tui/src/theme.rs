//! Themes: a style for each role, from a built-in theme or from a `theme.json` on top of one.
//!
//! `docs/themes.md` describes the file. The caller reads the file and detects the terminal's color depth and
//! appearance; all of that is passed in as values.

mod builder;
mod builtin;
mod color;
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
    /// Light text on a dark background.
    #[default]
    Dark,
    /// Dark text on a light background.
    Light,
}

/// The number of colors a terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColorDepth {
    /// No colors, or none that the user wants (`NO_COLOR`). Bold, italic and similar attributes stay.
    None,
    /// The sixteen named colors.
    Sixteen,
    /// 256 colors.
    Indexed,
    /// 24-bit colors.
    True,
}

/// A theme. Cloning is cheap, and a clone is known to be [the same](Self::is_same).
#[derive(Debug, Clone)]
pub struct Theme(Arc<ThemeStyles>);

#[derive(Debug, Clone)]
struct ThemeStyles {
    name: CleanLine,
    description: CleanLine,
    appearance: Appearance,
    spinner: SpinnerStyle,
    written: Vec<Style>,
    /// The styles by role, including inherited attributes.
    styles: Vec<Style>,
}

/// The spinner shown while haft works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpinnerStyle {
    /// The frames of the animation.
    pub frames: Vec<CleanLine>,
    /// The messages beside the spinner; each turn uses one.
    pub messages: Vec<CleanLine>,
    /// The duration of a frame.
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

/// A parsed theme, and the ignored parts of its file.
#[derive(Debug, Clone)]
pub struct ParsedTheme {
    /// The theme.
    pub theme: Theme,
    /// The problems, in the order of the file.
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

    /// Returns the built-in theme for an appearance.
    pub fn built_in(appearance: Appearance) -> Self {
        match appearance {
            Appearance::Dark => Self::dark(),
            Appearance::Light => Self::light(),
        }
    }

    /// Parses a `theme.json` of haft or zot on top of the built-in theme for the terminal's appearance. An invalid
    /// field is ignored and reported; the rest of the theme is used.
    ///
    /// # Errors
    /// [`ThemeError`] if the file as a whole is invalid.
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

    /// Returns the name.
    pub fn name(&self) -> &CleanLine {
        &self.0.name
    }

    /// Returns the author's description, possibly empty.
    pub fn description(&self) -> &CleanLine {
        &self.0.description
    }

    /// Returns the appearance that the theme is made for.
    pub fn appearance(&self) -> Appearance {
        self.0.appearance
    }

    /// Returns the spinner shown while haft works.
    pub fn spinner(&self) -> &SpinnerStyle {
        &self.0.spinner
    }

    /// Returns the style of a role, including inherited attributes.
    pub fn style(&self, role: Role) -> Style {
        self.0.styles.get(role.index()).copied().unwrap_or_default()
    }

    /// Returns the style of a role without inherited attributes, to be combined with the surrounding style.
    pub fn own_style(&self, role: Role) -> Style {
        self.0.written.get(role.index()).copied().unwrap_or_default()
    }

    /// True if both are the same theme, so drawings with one remain valid for the other.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the theme reduced to a color depth.
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

/// Resolves inherited attributes. A role's parent precedes it.
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
        // Text that only its background highlights would not be highlighted any more.
        plain.add_modifier(Modifier::REVERSED)
    } else if fg.is_some() && fg == bg {
        // Equal text and background colors would hide the text.
        Style { bg: None, ..plain }
    } else {
        plain
    }
}
