//! Which way a terminal takes images.

/// A way to send images to a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Kitty's: the terminal keeps images, and shows them above the cells.
    Kitty,
    /// iTerm2's: a file between the text.
    Iterm,
    /// Sixel: points of a palette.
    Sixel,
}

/// By how the name in `TERM` begins. Ssh hands it on.
const BY_TERM: &[(&str, Protocol)] = &[
    ("xterm-kitty", Protocol::Kitty),
    ("xterm-ghostty", Protocol::Kitty),
    ("ghostty", Protocol::Kitty),
    ("wezterm", Protocol::Iterm),
    ("rio", Protocol::Iterm),
    ("mintty", Protocol::Iterm),
    ("foot", Protocol::Sixel),
    ("contour", Protocol::Sixel),
    ("mlterm", Protocol::Sixel),
];

/// By the name in `TERM_PROGRAM`. A name that is not here is one of a terminal that shows none.
const BY_PROGRAM: &[(&str, Protocol)] = &[
    ("kitty", Protocol::Kitty),
    ("ghostty", Protocol::Kitty),
    ("iTerm.app", Protocol::Iterm),
    ("WezTerm", Protocol::Iterm),
    ("rio", Protocol::Iterm),
    ("mintty", Protocol::Iterm),
    ("contour", Protocol::Sixel),
];

/// By a variable that is there. They are inherited by whatever is started in the terminal, so they count last.
const BY_VARIABLE: &[(&str, Protocol)] = &[
    ("WEZTERM_PANE", Protocol::Iterm),
    ("WEZTERM_EXECUTABLE", Protocol::Iterm),
    ("KITTY_WINDOW_ID", Protocol::Kitty),
    ("GHOSTTY_RESOURCES_DIR", Protocol::Kitty),
    ("WT_SESSION", Protocol::Sixel),
];

/// Whoever shares a terminal among programs hands no images on, or puts them in the wrong place.
const SHARING: &[&str] = &["TMUX", "STY", "ZELLIJ"];

impl Protocol {
    /// Reads the variables; an empty one counts as absent.
    pub(in crate::terminal) fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
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
    fn check(variables: &[(&str, &str)], expect: Option<Protocol>) {
        let of =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        assert_eq!(Protocol::of(of), expect, "{variables:?}");
    }

    #[test]
    fn terminals() {
        check(&[], None);
        check(&[("TERM", "xterm-256color")], None);
        check(&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")], None);
        check(&[("TERM", "xterm-kitty")], Some(Protocol::Kitty));
        check(&[("TERM", "xterm-ghostty")], Some(Protocol::Kitty));
        check(&[("TERM", "xterm-256color"), ("KITTY_WINDOW_ID", "1")], Some(Protocol::Kitty));
        check(&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "iTerm.app")], Some(Protocol::Iterm));
        check(&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "WezTerm")], Some(Protocol::Iterm));
        check(&[("TERM", "xterm-256color"), ("LC_TERMINAL", "iTerm2")], Some(Protocol::Iterm));
        check(&[("TERM", "xterm-256color"), ("WEZTERM_PANE", "0")], Some(Protocol::Iterm));
        check(&[("TERM", "foot")], Some(Protocol::Sixel));
        check(&[("TERM", "foot-direct")], Some(Protocol::Sixel));
        check(&[("WT_SESSION", "a-b")], Some(Protocol::Sixel));
    }

    #[test]
    fn a_terminal_in_a_terminal_counts() {
        check(&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "vscode"), ("KITTY_WINDOW_ID", "1")], None);
        check(
            &[("TERM", "xterm-256color"), ("TERM_PROGRAM", "Apple_Terminal"), ("LC_TERMINAL", "iTerm2")],
            None,
        );
        check(&[("TERM", "foot"), ("KITTY_WINDOW_ID", "1")], Some(Protocol::Sixel));
        check(&[("TERM", "tmux-256color"), ("KITTY_WINDOW_ID", "1")], None);
        check(&[("TERM", "screen"), ("TERM_PROGRAM", "iTerm.app")], None);
        check(&[("TERM", "xterm-kitty"), ("TMUX", "/tmp/x")], None);
        check(&[("TERM", "xterm-kitty"), ("STY", "1.x")], None);
        check(&[("TERM", "xterm-kitty"), ("ZELLIJ", "0")], None);
        check(&[("TERM", "dumb"), ("KITTY_WINDOW_ID", "1")], None);
        check(&[("TERM", "linux"), ("KITTY_WINDOW_ID", "1")], None);
    }
}
