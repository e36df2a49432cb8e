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
    Text "text": "text without another role";
    Background "background": "the whole screen; only its `bg` is used";
    Muted "muted": "secondary text: hints, times, folded content";
    Accent "accent": "highlights: markers, the active item";
    Ok "ok": "success";
    Warning "warning": "warnings, for example a context that is nearly full";
    Error "error": "failures and refusals";
    Border "border" follows Muted: "frames of panels and dialogs";
    BorderFocused "border_focused" follows Accent: "the frame of the focused panel or dialog";
    Selection "selection": "the selected row, and selected text";
    SearchMatch "search_match": "matches of a search";
    Status "status" follows Muted: "the status line";
    Spinner "spinner" follows Accent: "the animation while the agent works";
    Prompt "prompt" follows Accent: "the mark before the composer and other text fields";
    Placeholder "placeholder" follows Muted: "the hint in an empty composer";
    User "user" follows Accent: "the mark before your messages";
    UserMessage "user_message" follows Text: "the text of your messages";
    Assistant "assistant" follows Accent: "a label of the model's messages; not drawn at present";
    Thinking "thinking" follows Muted: "the model's thinking";
    Extension "extension" follows Accent: "the name of an extension";
    Note "note" follows Text: "the text of a note";
    ToolTitle "tool_title" follows Accent: "the name of a tool";
    ToolOutput "tool_output" follows Muted: "the output of a tool";
    DiffHeader "diff_header" follows Muted: "file names and hunk headers of a diff";
    DiffAdded "diff_added" follows Ok: "added lines";
    DiffRemoved "diff_removed" follows Error: "removed lines";
    DiffContext "diff_context" follows Text: "unchanged lines around a change";
    LineNumber "line_number" follows Muted: "line numbers";
    Heading "heading" follows Accent: "Markdown headings";
    Emphasis "emphasis" follows Text: "`*emphasis*`; added to the surrounding style";
    Strong "strong" follows Text: "`**strong**`; added to the surrounding style";
    Strikethrough "strikethrough" follows Text: "`~~struck~~`; added to the surrounding style";
    Link "link" follows Accent: "the text of a link";
    LinkAddress "link_address" follows Muted: "the address of a link";
    Quote "quote" follows Muted: "block quotes, and the bar before them";
    ListMarker "list_marker" follows Accent: "bullets, numbers and check boxes of lists";
    Rule "rule" follows Border: "horizontal rules, and the lines of tables";
    CodeInline "code_inline" follows Accent: "code in a sentence";
    CodeLabel "code_label" follows Muted: "the language above a code block";
    Code "code" follows Text: "code blocks: text without a role below";
    CodeKeyword "code_keyword" follows Code: "keywords";
    CodeType "code_type" follows Code: "types and classes";
    CodeFunction "code_function" follows Code: "function names";
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
