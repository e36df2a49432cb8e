//! The image protocols, and their detection.

/// A way to send images to a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageProtocol {
    /// The Kitty protocol: the terminal stores images and shows them above the cells.
    Kitty,
    /// The iTerm2 protocol: a file embedded in the text.
    Iterm,
    /// Sixel: pixels of a palette.
    Sixel,
}

/// Protocols by prefix of `TERM`, which ssh forwards.
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

/// Protocols by `TERM_PROGRAM`. A terminal with another name shows no images.
const BY_PROGRAM: &[(&str, ImageProtocol)] = &[
    ("kitty", ImageProtocol::Kitty),
    ("ghostty", ImageProtocol::Kitty),
    ("iTerm.app", ImageProtocol::Iterm),
    ("WezTerm", ImageProtocol::Iterm),
    ("rio", ImageProtocol::Iterm),
    ("mintty", ImageProtocol::Iterm),
    ("contour", ImageProtocol::Sixel),
];

/// Protocols by the presence of a variable. Child processes inherit these variables, so they count last.
const BY_VARIABLE: &[(&str, ImageProtocol)] = &[
    ("WEZTERM_PANE", ImageProtocol::Iterm),
    ("WEZTERM_EXECUTABLE", ImageProtocol::Iterm),
    ("KITTY_WINDOW_ID", ImageProtocol::Kitty),
    ("GHOSTTY_RESOURCES_DIR", ImageProtocol::Kitty),
    ("WT_SESSION", ImageProtocol::Sixel),
];

/// Variables of terminal multiplexers, which do not forward images or misplace them.
const SHARING: &[&str] = &["TMUX", "STY", "ZELLIJ"];

impl ImageProtocol {
    /// Detects the protocol from variables. An empty variable counts as unset.
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
    fn detects_protocols_of_terminals() {
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
    fn inner_terminal_decides_protocol() {
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
