//! The table of all actions with names, keys and descriptions.

use std::fmt::Write as _;

/// An action in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
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
    /// The description, as a sentence.
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
        pub const ACTIONS: &[Entry] = &[$($(Entry {
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
    /// Moving and changing text, wherever text is typed.
    Edit = "editor" {
        CharLeft = "char_left" ["left", "ctrl+b"] "One character back.";
        CharRight = "char_right" ["right", "ctrl+f"] "One character on.";
        WordLeft = "word_left" ["alt+b", "alt+left", "ctrl+left"] "To where the word begins.";
        WordRight = "word_right" ["alt+f", "alt+right", "ctrl+right"] "To where the word ends.";
        LineStart = "line_start" ["ctrl+a", "home"] "To the beginning of the line.";
        LineEnd = "line_end" ["ctrl+e", "end"] "To the end of the line.";
        RowUp = "row_up" ["up", "ctrl+p"] "One row up; from the first row, to the prompt before.";
        RowDown = "row_down" ["down", "ctrl+n"] "One row down; from the last row, to the prompt after.";
        TextStart = "text_start" ["alt+<", "ctrl+home"] "To the beginning of the text.";
        TextEnd = "text_end" ["alt+>", "ctrl+end"] "To the end of the text.";
        Newline = "newline" ["shift+enter", "ctrl+j"] "Begins a new line.";
        DeleteBack = "delete_back" ["backspace", "ctrl+h", "shift+backspace"] "Deletes the character before the cursor.";
        DeleteForward = "delete_forward" ["delete"] "Deletes the character behind the cursor.";
        DeleteOrQuit = "delete_or_quit" ["ctrl+d"] "Deletes the character behind the cursor; quits where there is no text.";
        KillWordBack = "kill_word_back" ["ctrl+w", "alt+backspace", "ctrl+backspace"] "Cuts to where the word begins.";
        KillWordForward = "kill_word_forward" ["alt+d", "alt+delete", "ctrl+delete"] "Cuts to where the word ends.";
        KillLineStart = "kill_line_start" ["ctrl+u"] "Cuts to the beginning of the line.";
        KillLineEnd = "kill_line_end" ["ctrl+k"] "Cuts to the end of the line, or the newline there.";
        Yank = "yank" ["ctrl+y"] "Puts in what was cut last.";
        YankPop = "yank_pop" ["alt+y"] "Puts in what was cut before that, instead.";
        Undo = "undo" ["ctrl+_", "ctrl+/"] "Takes the last change back.";
        Redo = "redo" ["alt+_", "alt+/", "ctrl+shift+z"] "Makes the change again that was taken back.";
    }

    /// What is said to the agent.
    Prompt = "prompt" {
        Send = "send" ["enter"] "Sends the prompt; while the agent works, it is told at its next step.";
        FollowUp = "follow_up" ["alt+enter"] "Sends the prompt for when the agent is done.";
        #[fixed] Abort = "abort" ["esc"] "Ends what the agent does; what was queued comes back into the editor.";
        TakeBack = "take_back" ["alt+up"] "Takes what was queued back into the editor.";
        #[fixed] ClearOrQuit = "clear_or_quit" ["ctrl+c"] "Clears the editor; twice where there is no text, quits.";
        SearchHistory = "search_history" ["ctrl+r"] "Searches the prompts of before.";
        Complete = "complete" ["tab"] "Completes the command or the file at the cursor.";
        OpenEditor = "open_editor" ["ctrl+g"] "Opens the text in your own editor.";
    }

    /// What moves the transcript without leaving the editor.
    Scroll = "scroll" {
        PageUp = "page_up" ["pageup", "alt+v"] "One page up.";
        PageDown = "page_down" ["pagedown", "ctrl+v"] "One page down.";
        LineUp = "line_up" ["shift+up"] "One line up.";
        LineDown = "line_down" ["shift+down"] "One line down.";
        MessageUp = "message_up" ["alt+pageup"] "To the message before.";
        MessageDown = "message_down" ["alt+pagedown"] "To the message after.";
        Top = "top" ["shift+home"] "To the first message.";
        Bottom = "bottom" ["shift+end"] "To the end, and along with what comes.";
        Search = "search" ["ctrl+s"] "Searches the transcript.";
        Browse = "browse" ["alt+s"] "Moves into the transcript, to select and copy.";
        CopyAnswer = "copy_answer" ["alt+c"] "Copies the last answer.";
    }

    /// What concerns the whole program.
    App = "app" {
        #[fixed] Quit = "quit" ["ctrl+q"] "Quits.";
        Suspend = "suspend" ["ctrl+z"] "Stops the program; `fg` in the shell goes on with it.";
        Redraw = "redraw" ["ctrl+l"] "Draws the screen anew.";
        Help = "help" ["f1"] "Shows the keys and commands.";
        Expand = "expand" ["ctrl+o"] "Shows tool calls in full, or folds them.";
        ShowThinking = "show_thinking" ["ctrl+t"] "Shows what the model thinks, or folds it.";
        NextThinking = "next_thinking" ["shift+tab"] "The next thinking level.";
        PickModel = "pick_model" ["alt+m"] "Picks a model.";
        PickSession = "pick_session" ["alt+r"] "Picks a session to go on with.";
        PickBranch = "pick_branch" ["alt+t"] "Picks a place in this session's tree.";
    }

    /// While candidates are shown at the cursor; everything else does what it does without them.
    Completion = "completion" {
        Next = "next" ["down", "ctrl+n"] "The next candidate.";
        Previous = "previous" ["up", "ctrl+p"] "The candidate before.";
        Accept = "accept" ["tab"] "Puts the candidate in.";
        AcceptAndSend = "accept_and_send" ["enter"] "Puts the candidate in; a command that takes no more is run.";
        #[fixed] Close = "close" ["esc"] "Goes on without candidates.";
    }

    /// In lists to pick from, whose filter is typed as any text.
    Picker = "picker" {
        Next = "next" ["down", "ctrl+n"] "The next row.";
        Previous = "previous" ["up", "ctrl+p"] "The row before.";
        PageDown = "page_down" ["pagedown", "ctrl+v"] "One page down.";
        PageUp = "page_up" ["pageup", "alt+v"] "One page up.";
        First = "first" ["ctrl+home", "alt+<"] "The first row.";
        Last = "last" ["ctrl+end", "alt+>"] "The last row.";
        Accept = "accept" ["enter"] "Takes the row.";
        Toggle = "toggle" ["tab"] "Marks the row, or opens it.";
        Rename = "rename" ["alt+r"] "Gives the row's thing another name.";
        Delete = "delete" ["alt+d"] "Deletes the row's thing, after a question.";
        #[fixed] Close = "close" ["esc", "ctrl+c"] "Leaves the list.";
    }

    /// In dialogs; text in them is typed as any text.
    Dialog = "dialog" {
        Next = "next" ["down", "tab", "ctrl+n"] "The next choice.";
        Previous = "previous" ["up", "shift+tab", "ctrl+p"] "The choice before.";
        Accept = "accept" ["enter"] "Answers with what is chosen or typed.";
        PageDown = "page_down" ["pagedown", "ctrl+v"] "Shows more of what is asked about.";
        PageUp = "page_up" ["pageup", "alt+v"] "Shows what stands before that.";
        OpenEditor = "open_editor" ["ctrl+g"] "Opens the text in your own editor.";
        #[fixed] Close = "close" ["esc", "ctrl+c"] "Leaves the dialog without an answer.";
    }

    /// In dialogs that ask for yes or no, beside the keys of dialogs.
    Confirm = "confirm" {
        Yes = "yes" ["y"] "Yes.";
        No = "no" ["n"] "No.";
        Other = "other" ["left", "right"] "The other choice.";
        ReadOn = "read_on" ["space"] "Shows more of what is asked about.";
        First = "first" ["home"] "To the beginning of what is asked about.";
        Last = "last" ["end"] "To its end.";
    }

    /// While text is searched for, in the prompts of before or in the transcript.
    Search = "search" {
        Older = "older" ["ctrl+r", "up", "ctrl+p"] "The match before.";
        Newer = "newer" ["ctrl+s", "down", "ctrl+n"] "The match after.";
        Accept = "accept" ["enter", "tab"] "Goes on with the match.";
        #[fixed] Close = "close" ["esc", "ctrl+c"] "Goes back to what was there.";
    }

    /// In the transcript, to select and copy.
    Browse = "browse" {
        Up = "up" ["up", "k", "ctrl+p"] "One line up.";
        Down = "down" ["down", "j", "ctrl+n"] "One line down.";
        Left = "left" ["left", "h", "ctrl+b"] "One character back.";
        Right = "right" ["right", "l", "ctrl+f"] "One character on.";
        LineStart = "line_start" ["home", "0", "ctrl+a"] "To the beginning of the line.";
        LineEnd = "line_end" ["end", "$", "ctrl+e"] "To the end of the line.";
        Mark = "mark" ["space", "v", "ctrl+space"] "Begins a selection here, or ends it.";
        MarkLines = "mark_lines" ["V"] "Begins a selection of whole lines.";
        Copy = "copy" ["enter", "y", "alt+w"] "Copies what is selected, or the message.";
        NextMatch = "next_match" ["n"] "The next match of the search.";
        PreviousMatch = "previous_match" ["N"] "The match before.";
        Expand = "expand" ["tab", "o"] "Shows this tool call in full, or folds it.";
        #[fixed] Close = "close" ["esc", "ctrl+c", "q"] "Goes back to the editor.";
    }

    /// While an extension's panel has the keyboard; every other key goes to the extension.
    Panel = "panel" {
        #[fixed] Close = "close" ["esc", "ctrl+c"] "Closes the panel.";
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
            let kept = if entry.fixed { " (kept)" } else { "" };
            let _ = writeln!(out, "| `{}` | {keys}{kept} | {} |", entry.name, entry.help);
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

        While an extension's panel has the keyboard; every other key goes to the extension.

        | action | keys | does |
        |---|---|---|
        | `panel.close` | `esc` `ctrl+c` (kept) | Closes the panel. |
        ");
    }
}
