//! The title of the window and the line of work, as extensions set them.

use std::time::Duration;

use haft_protocol::ext::SetWorkingCall;
use haft_protocol::ids::ExtensionName;

use crate::clean::CleanLine;
use crate::theme::SpinnerStyle;
use crate::timeouts::{SPINNER_MAX, SPINNER_MIN};

/// The maximum columns of the title and of the text beside the spinner, and of a frame of the spinner.
const LONGEST_TEXT: usize = 60;
const LONGEST_FRAME: usize = 12;

/// The maximum number of frames of the spinner.
const MOST_FRAMES: usize = 64;

/// The changes of extensions. For each part, the latest extension counts.
#[derive(Debug, Default)]
pub(super) struct ExtensionScreen {
    title: Option<(ExtensionName, CleanLine)>,
    working: Option<WorkingLine>,
}

/// The line of work, as an extension set it.
#[derive(Debug)]
struct WorkingLine {
    owner: ExtensionName,
    text: Option<CleanLine>,
    hidden: bool,
    frames: Vec<CleanLine>,
    interval: Option<Duration>,
    thinking: Option<CleanLine>,
}

impl ExtensionScreen {
    /// Sets the title. An empty title of the extension that set the current one removes it.
    pub(super) fn set_title(&mut self, owner: ExtensionName, text: &str) {
        let text = CleanLine::new(text).truncate_to_width(LONGEST_TEXT);
        if !text.as_str().trim().is_empty() {
            self.title = Some((owner, text));
        } else if self.title.as_ref().is_some_and(|(current, _)| *current == owner) {
            self.title = None;
        }
    }

    /// Returns the title with the name of its extension.
    pub(super) fn title(&self) -> Option<String> {
        self.title.as_ref().map(|(owner, text)| format!("{} [{owner}]", text.as_str().trim()))
    }

    /// Changes the line of work.
    pub(super) fn set_working(&mut self, owner: ExtensionName, change: SetWorkingCall) {
        let before = self.working.take();
        if change == SetWorkingCall::reset() {
            // Another extension may have changed the line since.
            self.working = before.filter(|line| line.owner != owner);
            return;
        }
        let line = self.working.insert(before.filter(|line| line.owner == owner).unwrap_or(WorkingLine {
            owner,
            text: None,
            hidden: false,
            frames: Vec::new(),
            interval: None,
            thinking: None,
        }));
        let SetWorkingCall { text, visible, frames, interval_ms, thinking } = change;
        if let Some(text) = text {
            line.text = one_line(&text);
        }
        if let Some(thinking) = thinking {
            line.thinking = one_line(&thinking);
        }
        line.hidden = visible.map_or(line.hidden, |visible| !visible);
        if let Some(frames) = frames {
            let frames = frames.iter().take(MOST_FRAMES);
            line.frames =
                frames.map(|frame| CleanLine::new(frame).truncate_to_width(LONGEST_FRAME)).collect();
        }
        if let Some(interval) = interval_ms {
            line.interval = Some(Duration::from_millis(interval).clamp(SPINNER_MIN, SPINNER_MAX));
        }
    }

    /// Returns the text beside the spinner with the name of its extension.
    pub(super) fn working_text(&self) -> Option<String> {
        let line = self.working.as_ref()?;
        Some(format!("{} [{}]", line.text.as_ref()?.as_str(), line.owner))
    }

    /// Returns the text shown for hidden thoughts, with the name of its extension.
    pub(super) fn thinking_label(&self) -> Option<CleanLine> {
        let line = self.working.as_ref()?;
        Some(CleanLine::new(&format!("{} [{}]", line.thinking.as_ref()?.as_str(), line.owner)))
    }

    /// True if the line of work is hidden.
    pub(super) fn hides_work(&self) -> bool {
        self.working.as_ref().is_some_and(|line| line.hidden)
    }

    /// Returns the spinner: the theme's, with the changes.
    pub(super) fn spinner(&self, of_theme: &SpinnerStyle) -> SpinnerStyle {
        let mut spinner = of_theme.clone();
        if let Some(line) = &self.working {
            if !line.frames.is_empty() {
                spinner.frames.clone_from(&line.frames);
            }
            spinner.interval = line.interval.unwrap_or(spinner.interval);
        }
        spinner
    }
}

/// Returns the text as a short line; `None` if it is blank.
fn one_line(text: &str) -> Option<CleanLine> {
    Some(CleanLine::new(text).truncate_to_width(LONGEST_TEXT)).filter(|text| !text.as_str().trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> ExtensionName {
        ExtensionName::new(name)
    }

    #[test]
    fn latest_extension_counts_and_only_its_owner_removes() {
        let mut screen = ExtensionScreen::default();
        screen.set_title(name("a"), "one");
        screen.set_title(name("b"), "two\u{1b}]2;x");
        screen.set_title(name("a"), "");
        assert!(screen.title().is_some_and(|title| title.starts_with("two") && title.ends_with("[b]")));
        screen.set_title(name("b"), " ");
        assert_eq!(screen.title(), None);
    }

    #[test]
    fn absent_fields_keep_their_values_until_the_reset() {
        let mut screen = ExtensionScreen::default();
        let text = |text: &str| SetWorkingCall { text: Some(text.into()), ..SetWorkingCall::default() };
        screen.set_working(name("a"), text("Baking"));
        let frames = SetWorkingCall {
            frames: Some(vec!["o".into(), "O".into()]),
            interval_ms: Some(1),
            visible: Some(false),
            ..SetWorkingCall::default()
        };
        screen.set_working(name("a"), frames);
        assert_eq!((screen.working_text().as_deref(), screen.hides_work()), (Some("Baking [a]"), true));
        let theme = SpinnerStyle { frames: vec!["*".into()], messages: Vec::new(), interval: SPINNER_MAX };
        let spinner = screen.spinner(&theme);
        assert_eq!((spinner.frames.len(), spinner.interval), (2, SPINNER_MIN));
        screen.set_working(name("b"), SetWorkingCall::reset());
        assert!(screen.hides_work());
        screen.set_working(name("a"), SetWorkingCall::reset());
        assert_eq!((screen.working_text(), screen.hides_work()), (None, false));
        assert_eq!(screen.spinner(&theme), theme);
        screen.set_working(name("b"), text(""));
        assert_eq!(screen.working_text(), None);
    }
}
