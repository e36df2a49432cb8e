//! The table of all actions with names, keys and descriptions.

use std::fmt::Write as _;

/// An action in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionBinding {
    /// The action.
    pub action: Action,
    /// The section.
    pub section: Section,
    /// The name in the keybindings file.
    pub name: &'static str,
    /// The default keys.
    pub keys: &'static [&'static str],
    /// True if the keys cannot be removed.
    pub fixed: bool,
    /// The description: an imperative of at most 60 characters that ends with a period.
    pub help: &'static str,
}

/// Declares the sections, their actions, and the table of all actions.
macro_rules! actions {
    ($(
        $(#[doc = $about:literal])+
        $section:ident = $prefix:literal {
            $($(#[$fixed:ident])? $variant:ident = $name:literal [$($key:literal),+] $help:literal;)+
        }
    )+) => {
        $(
            $(#[doc = $about])+
            #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub enum $section {
                $(#[doc = $help] $variant,)+
            }

            impl From<$section> for Action {
                fn from(action: $section) -> Self {
                    Self::$section(action)
                }
            }
        )+

        /// Everything that a key can do.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Action {
            $($(#[doc = $about])+ $section($section),)+
        }

        /// A group of actions.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Section {
            $($(#[doc = $about])+ $section,)+
        }

        impl Section {
            /// All sections, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$section),+];

            /// Returns the prefix of the names of its actions.
            pub fn prefix(self) -> &'static str {
                match self {
                    $(Self::$section => $prefix,)+
                }
            }

            /// Returns its description, as lines of text.
            pub fn about(self) -> &'static str {
                match self {
                    $(Self::$section => concat!($($about, "\n"),+),)+
                }
            }
        }

        /// Every action, in the order of the documentation.
        pub const ACTIONS: &[ActionBinding] = &[$($(ActionBinding {
            action: Action::$section($section::$variant),
            section: Section::$section,
            name: concat!($prefix, ".", $name),
            keys: &[$($key),+],
            fixed: actions!(@is $($fixed)?),
            help: $help,
        },)+)+];
    };
    (@is) => { false };
    (@is fixed) => { true };
}

actions! {
    /// Keys for editing text, in the composer and in every text field.
    Edit = "editor" {
        CharLeft = "char_left" ["left", "ctrl+b"] "Move one character left.";
        CharRight = "char_right" ["right", "ctrl+f"] "Move one character right.";
        WordLeft = "word_left" ["alt+b", "alt+left", "ctrl+left"] "Move to the beginning of the word.";
        WordRight = "word_right" ["alt+f", "alt+right", "ctrl+right"] "Move to the end of the word.";
        LineStart = "line_start" ["ctrl+a", "home"] "Move to the beginning of the line.";
        LineEnd = "line_end" ["ctrl+e", "end"] "Move to the end of the line.";
        RowUp = "row_up" ["up", "ctrl+p"] "Move one row up; from the first row, to an older prompt.";
        RowDown = "row_down" ["down", "ctrl+n"] "Move one row down; from the last row, to a newer prompt.";
        TextStart = "text_start" ["alt+<", "ctrl+home"] "Move to the beginning of the text.";
        TextEnd = "text_end" ["alt+>", "ctrl+end"] "Move to the end of the text.";
        Newline = "newline" ["shift+enter", "ctrl+j"] "Insert a line break.";
        DeleteBack = "delete_back" ["backspace", "ctrl+h", "shift+backspace"] "Delete the character before the cursor.";
        DeleteForward = "delete_forward" ["delete"] "Delete the character after the cursor.";
        DeleteOrQuit = "delete_or_quit" ["ctrl+d"] "Delete the character after the cursor; quit if empty.";
        KillWordBack = "kill_word_back" ["ctrl+w", "alt+backspace", "ctrl+backspace"] "Cut to the beginning of the word.";
        KillWordForward = "kill_word_forward" ["alt+d", "alt+delete", "ctrl+delete"] "Cut to the end of the word.";
        KillLineStart = "kill_line_start" ["ctrl+u"] "Cut to the beginning of the line.";
        KillLineEnd = "kill_line_end" ["ctrl+k"] "Cut to the end of the line, or the line break.";
        Yank = "yank" ["ctrl+y"] "Paste the text cut last.";
        YankPop = "yank_pop" ["alt+y"] "Replace the pasted text with an earlier cut.";
        Undo = "undo" ["ctrl+_", "ctrl+/"] "Undo the last change.";
        Redo = "redo" ["alt+_", "alt+/", "ctrl+shift+z"] "Redo the last undone change.";
    }

    /// Keys for sending prompts and stopping the agent.
    Prompt = "prompt" {
        Send = "send" ["enter"] "Send the prompt; while the agent works, at its next step.";
        FollowUp = "follow_up" ["alt+enter"] "Send the prompt when the agent is idle.";
        #[fixed] Abort = "abort" ["esc"] "Stop the agent and return queued messages to the composer.";
        TakeBack = "take_back" ["alt+up"] "Return queued messages to the composer.";
        #[fixed] ClearOrQuit = "clear_or_quit" ["ctrl+c"] "Clear the composer; press twice when empty to quit.";
        SearchHistory = "search_history" ["ctrl+r"] "Search earlier prompts.";
        Complete = "complete" ["tab"] "Complete the command or path at the cursor.";
        OpenEditor = "open_editor" ["ctrl+g"] "Open the text in your editor.";
        Paste = "paste" ["ctrl+v"] "Paste the text or the image of the clipboard.";
    }

    /// Keys for scrolling the conversation, from the composer and while browsing.
    Scroll = "scroll" {
        PageUp = "page_up" ["pageup"] "Scroll one page up.";
        PageDown = "page_down" ["pagedown"] "Scroll one page down.";
        LineUp = "line_up" ["shift+up"] "Scroll one line up.";
        LineDown = "line_down" ["shift+down"] "Scroll one line down.";
        MessageUp = "message_up" ["alt+pageup"] "Scroll to the previous message.";
        MessageDown = "message_down" ["alt+pagedown"] "Scroll to the next message.";
        Top = "top" ["shift+home"] "Scroll to the first message.";
        Bottom = "bottom" ["shift+end"] "Scroll to the end and follow new output.";
        Search = "search" ["ctrl+s"] "Search the conversation.";
        Browse = "browse" ["alt+s"] "Browse the conversation to select and copy text.";
        CopyAnswer = "copy_answer" ["alt+c"] "Copy the last answer.";
    }

    /// Keys for the whole program.
    App = "app" {
        #[fixed] Quit = "quit" ["ctrl+q"] "Quit haft.";
        Suspend = "suspend" ["ctrl+z"] "Suspend haft; `fg` in the shell resumes it.";
        Redraw = "redraw" ["ctrl+l"] "Redraw the screen.";
        Help = "help" ["f1"] "Show the keys and commands.";
        Expand = "expand" ["ctrl+o"] "Show or fold the full output of tool calls.";
        ShowThinking = "show_thinking" ["ctrl+t"] "Show or fold the model's thinking.";
        NextThinking = "next_thinking" ["shift+tab"] "Switch to the next thinking level.";
        PickModel = "pick_model" ["alt+m"] "Select a model.";
        PickSession = "pick_session" ["alt+r"] "Select a session to continue.";
        PickBranch = "pick_branch" ["alt+t"] "Select an entry of this session to jump to.";
    }

    /// Keys while suggestions are open. All other keys work as usual.
    Completion = "completion" {
        Next = "next" ["down", "ctrl+n"] "Select the next suggestion.";
        Previous = "previous" ["up", "ctrl+p"] "Select the previous suggestion.";
        Accept = "accept" ["tab"] "Insert the suggestion.";
        AcceptAndSend = "accept_and_send" ["enter"] "Insert the suggestion; run a command without arguments.";
        #[fixed] Close = "close" ["esc"] "Close the suggestions.";
    }

    /// Keys in lists. Other text that you type filters the list.
    Picker = "picker" {
        Next = "next" ["down", "ctrl+n"] "Move to the next row.";
        Previous = "previous" ["up", "ctrl+p"] "Move to the previous row.";
        PageDown = "page_down" ["pagedown", "ctrl+v"] "Move one page down.";
        PageUp = "page_up" ["pageup", "alt+v"] "Move one page up.";
        First = "first" ["ctrl+home", "alt+<"] "Move to the first row.";
        Last = "last" ["ctrl+end", "alt+>"] "Move to the last row.";
        Accept = "accept" ["enter"] "Select the row.";
        Toggle = "toggle" ["tab"] "Mark or open the row.";
        Rename = "rename" ["alt+r"] "Rename the row.";
        Delete = "delete" ["alt+d"] "Delete the row, after a confirmation.";
        #[fixed] Close = "close" ["esc", "ctrl+c"] "Close the list.";
    }

    /// Keys in dialogs. Text that you type goes into the text field.
    Dialog = "dialog" {
        Next = "next" ["down", "tab", "ctrl+n"] "Move to the next choice.";
        Previous = "previous" ["up", "shift+tab", "ctrl+p"] "Move to the previous choice.";
        Accept = "accept" ["enter"] "Answer with the selected choice or the typed text.";
        PageDown = "page_down" ["pagedown", "ctrl+v"] "Scroll the question one page down.";
        PageUp = "page_up" ["pageup", "alt+v"] "Scroll the question one page up.";
        OpenEditor = "open_editor" ["ctrl+g"] "Open the text in your editor.";
        #[fixed] Close = "close" ["esc", "ctrl+c"] "Close the dialog without an answer.";
    }

    /// Keys in yes-or-no dialogs, in addition to the keys of dialogs.
    Confirm = "confirm" {
        Yes = "yes" ["y"] "Answer yes.";
        No = "no" ["n"] "Answer no.";
        Other = "other" ["left", "right"] "Move to the other choice.";
        ReadOn = "read_on" ["space"] "Scroll the question one page down.";
        First = "first" ["home"] "Scroll to the beginning of the question.";
        Last = "last" ["end"] "Scroll to the end of the question.";
        LineUp = "line_up" ["k"] "Scroll the question one line up.";
        LineDown = "line_down" ["j"] "Scroll the question one line down.";
        View = "view" ["v"] "Show a long question on the whole screen, or less of it.";
    }

    /// Keys while you search earlier prompts or the conversation.
    Search = "search" {
        Older = "older" ["ctrl+r", "up", "ctrl+p"] "Move to the previous match.";
        Newer = "newer" ["ctrl+s", "down", "ctrl+n"] "Move to the next match.";
        Accept = "accept" ["enter", "tab"] "Close the search and keep the match.";
        #[fixed] Close = "close" ["esc", "ctrl+c"] "Cancel the search and return to the previous state.";
    }

    /// Keys while you browse the conversation.
    Browse = "browse" {
        Up = "up" ["up", "k", "ctrl+p"] "Move one line up.";
        Down = "down" ["down", "j", "ctrl+n"] "Move one line down.";
        Left = "left" ["left", "h", "ctrl+b"] "Move one character left.";
        Right = "right" ["right", "l", "ctrl+f"] "Move one character right.";
        LineStart = "line_start" ["home", "0", "ctrl+a"] "Move to the beginning of the line.";
        LineEnd = "line_end" ["end", "$", "ctrl+e"] "Move to the end of the line.";
        Mark = "mark" ["space", "v", "ctrl+space"] "Start or end a selection.";
        MarkLines = "mark_lines" ["V"] "Start a selection of whole lines.";
        Copy = "copy" ["enter", "y", "alt+w"] "Copy the selection, or else the message.";
        NextMatch = "next_match" ["n"] "Move to the next match.";
        PreviousMatch = "previous_match" ["N"] "Move to the previous match.";
        Expand = "expand" ["tab", "o"] "Show or fold the full output of this tool call.";
        #[fixed] Close = "close" ["esc", "ctrl+c", "q"] "Return to the composer.";
    }

    /// Keys while an extension's panel has the focus. All other keys go to the extension.
    Panel = "panel" {
        #[fixed] Close = "close" ["esc", "ctrl+c"] "Close the panel.";
    }
}

/// Formats the table as Markdown: the description of each section, and a row for each action.
pub fn markdown() -> String {
    let mut out = String::new();
    for section in Section::ALL {
        let about = section.about().split_whitespace().collect::<Vec<_>>().join(" ");
        // Writing to a string does not fail.
        let _ =
            write!(out, "### `{}`\n\n{about}\n\n| action | keys | does |\n|---|---|---|\n", section.prefix());
        for entry in ACTIONS.iter().filter(|entry| entry.section == *section) {
            let keys = entry.keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(" ");
            let fixed = if entry.fixed { " (fixed)" } else { "" };
            let _ = writeln!(out, "| `{}` | {keys}{fixed} | {} |", entry.name, entry.help);
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_has_a_row() {
        let text = markdown();
        assert!(ACTIONS.iter().all(|entry| text.contains(entry.name)));
        assert!(text.lines().filter(|line| line.starts_with('|')).all(|line| line.matches('|').count() == 4));
        insta::assert_snapshot!(text.split("\n### ").last().unwrap(), @"
        `panel`

        Keys while an extension's panel has the focus. All other keys go to the extension.

        | action | keys | does |
        |---|---|---|
        | `panel.close` | `esc` `ctrl+c` (fixed) | Close the panel. |
        ");
    }
}
