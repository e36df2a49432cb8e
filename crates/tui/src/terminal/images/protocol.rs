//! Which way a terminal takes images.

/// A way to send images to a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageProtocol {
    /// Kitty's: the terminal keeps images, and shows them above the cells.
    Kitty,
    /// iTerm2's: a file between the text.
    Iterm,
    /// Sixel: points of a palette.
    Sixel,
}

/// By how the name in `TERM` begins. Ssh hands it on.
const BY_TERM: &[(&str, ImageProtocol)] = &[
    ("xterm-kitty", ImageProtocol::Kitty),
    ("xterm-ghostty", ImageProtocol::Kitty),
    ("ghostty", ImageProtocol::Kitty),
    ("wezterm", ImageProtocol::Iterm),
    ("rio", ImageProtocol::Iterm),
    ("mintty", ImageProtocol::Iterm),
    ("foot", ImageProtocol::Sixel),
    ("contour", ImageProtocol::Sixel),
    ("mlterm", ImageProtocol::Sixel),
];

/// By the name in `TERM_PROGRAM`. A name that is not here is one of a terminal that shows none.
const BY_PROGRAM: &[(&str, ImageProtocol)] = &[
    ("kitty", ImageProtocol::Kitty),
    ("ghostty", ImageProtocol::Kitty),
    ("iTerm.app", ImageProtocol::Iterm),
    ("WezTerm", ImageProtocol::Iterm),
    ("rio", ImageProtocol::Iterm),
    ("mintty", ImageProtocol::Iterm),
    ("contour", ImageProtocol::Sixel),
];

/// By a variable that is there. They are inherited by whatever is started in the terminal, so they count last.
const BY_VARIABLE: &[(&str, ImageProtocol)] = &[
    ("WEZTERM_PANE", ImageProtocol::Iterm),
    ("WEZTERM_EXECUTABLE", ImageProtocol::Iterm),
    ("KITTY_WINDOW_ID", ImageProtocol::Kitty),
    ("GHOSTTY_RESOURCES_DIR", ImageProtocol::Kitty),
    ("WT_SESSION", ImageProtocol::Sixel),
];

/// Whoever shares a terminal among programs hands no images on, or puts them in the wrong place.
const SHARING: &[&str] = &["TMUX", "STY", "ZELLIJ"];

impl ImageProtocol {
    /// Reads the variables; an empty one counts as absent.
    pub(in crate::terminal) fn detect(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let term = variable("TERM").unwrap_or_default();
        let shared = SHARING.iter().any(|name| variable(name).is_some());
        if shared
            || term == "dumb"
            || term == "linux"
            || term.starts_with("tmux")
            || term.starts_with("screen")
        {
            return None;
        }
        let find = |table: &[(&str, Self)], fits: &dyn Fn(&str) -> bool| {
            table.iter().find(|(name, _)| fits(name)).map(|(_, protocol)| *protocol)
        };
        if let Some(protocol) = find(BY_TERM, &|name| term.starts_with(name)) {
            return Some(protocol);
        }
        if let Some(program) = variable("TERM_PROGRAM") {
            return find(BY_PROGRAM, &|name| name == program);
        }
        if variable("LC_TERMINAL").as_deref() == Some("iTerm2") {
            return Some(Self::Iterm);
        }
        find(BY_VARIABLE, &|name| variable(name).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(variables: &[(&str, &str)], expect: Option<ImageProtocol>) {
        let of =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        assert_eq!(ImageProtocol::detect(of), expect, "{variables:?}");
    }

    #[test]
    fn terminals() {
        check(&[], None);
        check(&[("TERM", "xterm-256color")], None);
        check(&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")], None);
        check(&[("TERM", "xterm-kitty")], Some(ImageProtocol::Kitty));
        check(&[("TERM", "xterm-ghostty")], Some(ImageProtocol::Kitty));
        check(&[("TERM", "xterm-256color"), ("KITTY_WINDOW_ID", "1")], Some(ImageProtocol::Kitty));
        check(&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "iTerm.app")], Some(ImageProtocol::Iterm));
        check(&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "WezTerm")], Some(ImageProtocol::Iterm));
        check(&[("TERM", "xterm-256color"), ("LC_TERMINAL", "iTerm2")], Some(ImageProtocol::Iterm));
        check(&[("TERM", "xterm-256color"), ("WEZTERM_PANE", "0")], Some(ImageProtocol::Iterm));
        check(&[("TERM", "foot")], Some(ImageProtocol::Sixel));
        check(&[("TERM", "foot-direct")], Some(ImageProtocol::Sixel));
        check(&[("WT_SESSION", "a-b")], Some(ImageProtocol::Sixel));
    }

    #[test]
    fn a_terminal_in_a_terminal_counts() {
        check(&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "vscode"), ("KITTY_WINDOW_ID", "1")], None);
        check(
            &[("TERM", "xterm-256color"), ("TERM_PROGRAM", "Apple_Terminal"), ("LC_TERMINAL", "iTerm2")],
            None,
        );
        check(&[("TERM", "foot"), ("KITTY_WINDOW_ID", "1")], Some(ImageProtocol::Sixel));
        check(&[("TERM", "tmux-256color"), ("KITTY_WINDOW_ID", "1")], None);
        check(&[("TERM", "screen"), ("TERM_PROGRAM", "iTerm.app")], None);
        check(&[("TERM", "xterm-kitty"), ("TMUX", "/tmp/x")], None);
        check(&[("TERM", "xterm-kitty"), ("STY", "1.x")], None);
        check(&[("TERM", "xterm-kitty"), ("ZELLIJ", "0")], None);
        check(&[("TERM", "dumb"), ("KITTY_WINDOW_ID", "1")], None);
        check(&[("TERM", "linux"), ("KITTY_WINDOW_ID", "1")], None);
    }
}
