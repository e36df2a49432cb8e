//! The table of roles: the name in `theme.json`, the description, and the parent.

/// Generates the enum and the table of its descriptions.
macro_rules! roles {
    ($($role:ident $name:literal $(follows $parent:ident)?: $about:literal;)*) => {
        /// The role of a piece of text in the theme.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Role {
            $(#[doc = $about] $role,)*
        }

        impl Role {
            /// Every role. A role's parent precedes it.
            pub const ALL: &[Self] = &[$(Self::$role,)*];

            /// Returns the name in `theme.json`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$role => $name,)* }
            }

            /// Returns the description.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$role => $about,)* }
            }

            /// Returns the parent, whose style it inherits.
            pub const fn follows(self) -> Option<Self> {
                match self { $(Self::$role => roles!(@parent $($parent)?),)* }
            }
        }
    };
    (@parent) => { None };
    (@parent $parent:ident) => { Some(Self::$parent) };
}

roles! {
    Text "text": "what has no other role";
    Background "background": "the whole screen; only its `bg` counts";
    Muted "muted": "what matters less: hints, times, what is folded";
    Accent "accent": "what catches the eye: the prompt, markers, what is active";
    Ok "ok": "what went well";
    Warning "warning": "what needs attention: a context that is nearly full";
    Error "error": "what failed or was refused";
    Border "border" follows Muted: "frames of panels and dialogs";
    BorderFocused "border_focused" follows Accent: "the frame that has the keys";
    Selection "selection": "the chosen row, and selected text";
    SearchMatch "search_match": "what a search found";
    Status "status" follows Muted: "the status line";
    Spinner "spinner" follows Accent: "the picture that moves while haft works";
    Prompt "prompt" follows Accent: "the mark before the editor";
    Placeholder "placeholder" follows Muted: "what stands in an empty editor";
    User "user" follows Accent: "who speaks: you";
    UserMessage "user_message" follows Text: "what you said";
    Assistant "assistant" follows Accent: "who speaks: the model";
    Thinking "thinking" follows Muted: "what the model thinks";
    Extension "extension" follows Accent: "the name of an extension, before what it says";
    Note "note" follows Text: "what an extension says";
    ToolTitle "tool_title" follows Accent: "the name of a tool";
    ToolOutput "tool_output" follows Muted: "what a tool says";
    DiffHeader "diff_header" follows Muted: "names of files, and where a part of a diff begins";
    DiffAdded "diff_added" follows Ok: "lines that were added";
    DiffRemoved "diff_removed" follows Error: "lines that were removed";
    DiffContext "diff_context" follows Text: "lines around a change";
    LineNumber "line_number" follows Muted: "numbers of lines";
    Heading "heading" follows Accent: "headings of Markdown";
    Emphasis "emphasis" follows Text: "`*emphasis*`; added to the text around it";
    Strong "strong" follows Text: "`**strong**`; added to the text around it";
    Strikethrough "strikethrough" follows Text: "`~~struck~~`; added to the text around it";
    Link "link" follows Accent: "the text of a link";
    LinkAddress "link_address" follows Muted: "where a link leads";
    Quote "quote" follows Muted: "what is quoted, and the bar before it";
    ListMarker "list_marker" follows Accent: "bullets, numbers and boxes of lists";
    Rule "rule" follows Border: "lines across, and those of tables";
    CodeInline "code_inline" follows Accent: "code within a sentence";
    CodeLabel "code_label" follows Muted: "the language above a block of code";
    Code "code" follows Text: "blocks of code, as far as nothing below is meant";
    CodeKeyword "code_keyword" follows Code: "keywords";
    CodeType "code_type" follows Code: "types and classes";
    CodeFunction "code_function" follows Code: "names of functions";
    CodeString "code_string" follows Code: "strings";
    CodeEscape "code_escape" follows CodeString: "escapes in strings, regular expressions";
    CodeNumber "code_number" follows Code: "numbers and constants";
    CodeComment "code_comment" follows Code: "comments";
    CodeAttribute "code_attribute" follows Code: "attributes, decorators, macros, tags";
    CodeOperator "code_operator" follows Code: "operators";
    CodePunctuation "code_punctuation" follows Code: "brackets and commas";
}

impl Role {
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|role| role.name() == name)
    }

    pub(super) const fn index(self) -> usize {
        self as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_precede_roles() {
        for (at, role) in Role::ALL.iter().enumerate() {
            assert_eq!(role.index(), at);
            assert_eq!(Role::from_name(role.name()), Some(*role));
            assert!(
                role.follows().is_none_or(|parent| parent.index() < at),
                "{role:?} stands before whom it follows"
            );
        }
    }
}
