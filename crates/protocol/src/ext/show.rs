//! Calls of `host_call` that change the screen: `set_title`, `set_working`, `set_editor`, `insert`
//! and `open_panel`.
//! They require the capability `shows` and the permission `ui`. They have no value, so they need no
//! `id`.
//!
//! ```json
//! {"type":"host_call","call":"set_working","args":{"text":"Baking"}}
//! ```

use serde::{Deserialize, Serialize};

use super::{HostCallKind, Panel};
use crate::error::without_position;
use crate::json::RawJson;

/// A change of the screen, with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "call", content = "args", rename_all = "snake_case")]
pub enum ShowCall {
    /// Sets the title of the terminal window.
    SetTitle(SetTitleCall),
    /// Changes the line that shows that the agent works.
    SetWorking(SetWorkingCall),
    /// Replaces the text in the input field.
    SetEditor(SetEditorCall),
    /// Inserts text into the input field, at the cursor.
    Insert(InsertCall),
    /// Opens a panel, as a command does.
    OpenPanel(Panel),
}

/// The arguments of `set_title`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetTitleCall {
    /// The title: one line. Empty for haft's own.
    pub text: String,
}

/// The arguments of `set_working`. Absent fields keep their values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetWorkingCall {
    /// The text beside the spinner: one line. Empty for haft's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// False hides the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visible: Option<bool>,
    /// The frames of the spinner, shown in turn. Empty for haft's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<Vec<String>>,
    /// The duration of a frame in milliseconds, 40 to 5,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ms: Option<u64>,
    /// The text shown for hidden thoughts, from the next ones on: one line. Empty for haft's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
}

/// The arguments of `set_editor`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetEditorCall {
    /// The new text.
    pub text: String,
}

/// The arguments of `insert`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InsertCall {
    /// The text.
    pub text: String,
}

impl SetWorkingCall {
    /// Returns the call that restores haft's own line.
    pub fn reset() -> Self {
        Self {
            text: Some(String::new()),
            visible: Some(true),
            frames: Some(Vec::new()),
            interval_ms: None,
            thinking: Some(String::new()),
        }
    }
}

impl ShowCall {
    /// Reads the arguments of a call. Returns `None` for calls that do not change the screen.
    ///
    /// # Errors
    /// The invalid argument, as text.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other calls do not change the screen")]
    pub fn read(kind: HostCallKind, args: &RawJson) -> Option<Result<Self, String>> {
        let read = match kind {
            HostCallKind::SetTitle => args.read().map(Self::SetTitle),
            HostCallKind::SetWorking => args.read().map(Self::SetWorking),
            HostCallKind::SetEditor => args.read().map(Self::SetEditor),
            HostCallKind::Insert => args.read().map(Self::Insert),
            HostCallKind::OpenPanel => args.read().map(Self::OpenPanel),
            _ => return None,
        };
        Some(read.map_err(|error| without_position(&error)))
    }

    /// Returns the kind of the call.
    pub const fn kind(&self) -> HostCallKind {
        match self {
            Self::SetTitle(_) => HostCallKind::SetTitle,
            Self::SetWorking(_) => HostCallKind::SetWorking,
            Self::SetEditor(_) => HostCallKind::SetEditor,
            Self::Insert(_) => HostCallKind::Insert,
            Self::OpenPanel(_) => HostCallKind::OpenPanel,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: HostCallKind, args: &str, expect: Result<&str, &str>) {
        let read = ShowCall::read(kind, &RawJson::parse(args).unwrap()).unwrap();
        let read = read.map(|show| serde_json::to_string(&show).unwrap());
        assert_eq!(read.as_deref(), expect.map_err(str::to_owned).as_ref().map(|text| *text));
    }

    #[test]
    fn arguments_of_shows_are_checked() {
        check(
            HostCallKind::SetWorking,
            r#"{"visible":false,"later":1}"#,
            Ok(r#"{"call":"set_working","args":{"visible":false}}"#),
        );
        check(HostCallKind::SetTitle, "{}", Err("missing field `text`"));
        assert_eq!(ShowCall::read(HostCallKind::Confirm, &RawJson::empty_object()), None);
    }

    #[test]
    fn kinds_of_shows_have_the_screen_as_target() {
        for kind in HostCallKind::ALL {
            let args = RawJson::parse(r#"{"text":"x","id":"p"}"#).unwrap();
            let shows = ShowCall::read(*kind, &args);
            assert_eq!(shows.is_some(), kind.target() == crate::ext::HostCallTarget::Screen, "{kind}");
            assert!(shows.is_none_or(|show| show.unwrap().kind() == *kind));
        }
    }
}
