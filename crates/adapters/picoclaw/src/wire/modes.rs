//! The interception points of a hook, the modes that follow from them, and their configuration.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Method;
use super::observed_events::{ObservedEvents, UnsupportedEvent};
use haft_protocol::ext::InterceptKind;
use haft_protocol::foreign::named_enum;

/// A mode of a hook, as in `hook.hello`. The order is that of `modes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HookMode {
    /// Receives events.
    Observe,
    /// Called before and after every request to the model.
    Llm,
    /// Called before and after every tool call.
    Tool,
    /// Approves or denies tool calls.
    Approve,
}

named_enum! {
    /// An entry of `intercept` in a hook's configuration.
    pub enum InterceptPoint {
        /// `before_llm`.
        BeforeLlm = "before_llm",
        /// `after_llm`.
        AfterLlm = "after_llm",
        /// `before_tool`.
        BeforeTool = "before_tool",
        /// `after_tool`.
        AfterTool = "after_tool",
        /// `approve_tool`.
        ApproveTool = "approve_tool",
    }
}

impl InterceptPoint {
    /// Returns the mode of the point. A mode enables all its points.
    pub const fn mode(self) -> HookMode {
        match self {
            Self::BeforeLlm | Self::AfterLlm => HookMode::Llm,
            Self::BeforeTool | Self::AfterTool => HookMode::Tool,
            Self::ApproveTool => HookMode::Approve,
        }
    }

    /// Returns the native hook at the same point.
    pub const fn hook(self) -> InterceptKind {
        match self {
            Self::BeforeLlm => InterceptKind::Context,
            Self::AfterLlm => InterceptKind::MessageEnd,
            Self::BeforeTool => InterceptKind::ToolCall,
            Self::AfterTool => InterceptKind::ToolResult,
            Self::ApproveTool => InterceptKind::Approve,
        }
    }

    /// Returns the point of a native hook.
    pub fn from_hook(hook: InterceptKind) -> Option<Self> {
        Self::ALL.iter().copied().find(|point| point.hook() == hook)
    }

    /// Returns the method that is called at the point.
    pub const fn method(self) -> Method {
        match self {
            Self::BeforeLlm => Method::BeforeLlm,
            Self::AfterLlm => Method::AfterLlm,
            Self::BeforeTool => Method::BeforeTool,
            Self::AfterTool => Method::AfterTool,
            Self::ApproveTool => Method::ApproveTool,
        }
    }
}

/// The subscriptions of one hook: `observe` and `intercept` of its configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSubscriptions {
    /// The subscribed events.
    pub observed: ObservedEvents,
    /// The interception points of the configuration.
    pub intercepts: BTreeSet<InterceptPoint>,
}

/// The reasons why the configuration of a hook is invalid. The texts are PicoClaw's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WatchError {
    /// An entry of `intercept` is not one of the five points.
    #[error("unsupported intercept {name:?}")]
    UnsupportedIntercept {
        /// The entry.
        name: String,
    },
    /// An entry of `observe` is not an event.
    #[error(transparent)]
    UnsupportedEvent(#[from] UnsupportedEvent),
    /// The configuration enables neither points nor events.
    #[error("no hook modes enabled")]
    Nothing,
}

impl HookSubscriptions {
    /// Reads both lists. An empty entry of `intercept` is skipped; an empty entry of `observe`
    /// means every event.
    ///
    /// # Errors
    /// The first unknown entry, or that both lists are empty.
    pub fn parse<S: AsRef<str>>(observe: &[S], intercept: &[S]) -> Result<Self, WatchError> {
        let observed = ObservedEvents::parse(observe)?;
        let points = intercept.iter().map(AsRef::as_ref).filter(|name| !name.is_empty());
        let read = |name: &str| {
            let point = InterceptPoint::from_name(name);
            point.ok_or_else(|| WatchError::UnsupportedIntercept { name: name.to_owned() })
        };
        let intercepts = points.map(read).collect::<Result<_, _>>()?;
        let watch = Self { observed, intercepts };
        if watch.modes().is_empty() { Err(WatchError::Nothing) } else { Ok(watch) }
    }

    /// Returns the modes, in the order of `hook.hello`.
    pub fn modes(&self) -> Vec<HookMode> {
        let observe = (!self.observed.is_empty()).then_some(HookMode::Observe);
        let asked: BTreeSet<HookMode> = self.intercepts.iter().map(|point| point.mode()).collect();
        observe.into_iter().chain(asked).collect()
    }

    /// True if the hook is called at this point. As in PicoClaw, one point of a mode enables the
    /// others.
    pub fn is_asked_at(&self, point: InterceptPoint) -> bool {
        self.intercepts.iter().any(|asked| asked.mode() == point.mode())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(observe: &[&str], intercept: &[&str], expect: Result<&str, &str>) {
        let modes = HookSubscriptions::parse(observe, intercept)
            .map(|watch| serde_json::to_string(&watch.modes()).unwrap());
        let modes = modes.map_err(|error| error.to_string());
        assert_eq!(modes.as_deref().map_err(String::as_str), expect, "{observe:?} {intercept:?}");
    }

    #[test]
    fn modes_follow_from_both_lists() {
        check(&[], &["approve_tool", "after_tool"], Ok(r#"["tool","approve"]"#));
        check(&["turn_end"], &["", "after_llm", "before_llm"], Ok(r#"["observe","llm"]"#));
        check(&[""], &[""], Ok(r#"["observe"]"#));
        check(&[], &[], Err("no hook modes enabled"));
        check(&[], &[""], Err("no hook modes enabled"));
        check(&[], &["before_llm", "before_turn"], Err("unsupported intercept \"before_turn\""));
        check(&["turn_middle"], &["before_turn"], Err("unsupported observe event \"turn_middle\""));
    }

    #[test]
    fn point_enables_all_points_of_its_mode() {
        let watch = HookSubscriptions::parse(&[], &["after_tool"]).unwrap();
        let asked: Vec<_> = InterceptPoint::ALL.iter().filter(|point| watch.is_asked_at(**point)).collect();
        assert_eq!(asked, [&InterceptPoint::BeforeTool, &InterceptPoint::AfterTool]);
    }

    #[test]
    fn point_names_match_method_names() {
        for point in InterceptPoint::ALL {
            assert_eq!(point.method().name(), format!("hook.{}", point.name()));
        }
    }
}
