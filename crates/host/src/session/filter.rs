//! The tools that a subscription names, and the role for each.

use std::collections::BTreeSet;

use haft_protocol::ext::InterceptRole;
use haft_protocol::limits::MAX_NAME;
use haft_protocol::names::selected_tools;

/// The maximum number of names in one filter; a longer filter matches every tool.
const MAX_TOOLS_NAMED: usize = 512;

/// The role of an interceptor, from its manifest and its subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InterceptorRole {
    /// No role was given: all kinds of answers are allowed.
    Plain,
    /// A gate can only allow or block.
    Gate,
    Rewrite,
    /// A redactor removes text that the user must not see.
    Redactor,
}

/// A set of tools, or all tools. Names are case-insensitive, as in the catalog, and may be aliases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ToolFilter {
    /// Only these tools, in lower case.
    Only(BTreeSet<String>),
    All,
}

impl Default for ToolFilter {
    fn default() -> Self {
        Self::Only(BTreeSet::new())
    }
}

impl ToolFilter {
    /// Adds the tools of one subscription; an empty list means all tools. A filter that becomes too long
    /// matches all tools, because a gate must not lose a tool.
    pub(crate) fn add(&mut self, tools: &[String]) {
        let Self::Only(names) = self else { return };
        names.extend(tools.iter().flat_map(|name| selected_tools(name)));
        let too_much = names.len() > MAX_TOOLS_NAMED || names.iter().any(|name| name.len() > MAX_NAME);
        if tools.is_empty() || too_much {
            *self = Self::All;
        }
    }

    pub(crate) fn contains(&self, tool: &str) -> bool {
        match self {
            Self::Only(names) => names.contains(&tool.to_ascii_lowercase()),
            Self::All => true,
        }
    }
}

/// The subscriptions of one extension to tool calls, combined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ToolCallRoles {
    plain: ToolFilter,
    rewrite: ToolFilter,
    gate: ToolFilter,
}

impl ToolCallRoles {
    pub(crate) fn add(&mut self, role: Option<InterceptRole>, tools: &[String]) {
        match role {
            None | Some(InterceptRole::Wait) => self.plain.add(tools),
            Some(InterceptRole::Rewrite) => self.rewrite.add(tools),
            Some(InterceptRole::Gate) => self.gate.add(tools),
            // An observer is not queried.
            Some(InterceptRole::Observe) => {}
        }
    }

    /// True if the extension is asked in order about calls of some tools, so that it may answer them.
    pub(crate) fn has_ordered_role(&self) -> bool {
        [&self.plain, &self.rewrite].into_iter().any(|tools| *tools != ToolFilter::default())
    }

    /// Returns the role for calls of this tool, if the extension takes part in them. An extension is one
    /// interceptor: a gate that also rewrites a tool runs in order, like every rewriter.
    pub(crate) fn role_for(&self, tool: &str) -> Option<InterceptorRole> {
        if self.plain.contains(tool) {
            Some(InterceptorRole::Plain)
        } else if self.rewrite.contains(tool) {
            Some(InterceptorRole::Rewrite)
        } else {
            self.gate.contains(tool).then_some(InterceptorRole::Gate)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combines_subscriptions_to_most_powerful_role() {
        let mut roles = ToolCallRoles::default();
        assert_eq!(roles.role_for("bash"), None);
        roles.add(Some(InterceptRole::Gate), &["Bash".into(), "edit".into()]);
        roles.add(Some(InterceptRole::Observe), &[]);
        assert_eq!((roles.role_for("bash"), roles.role_for("read")), (Some(InterceptorRole::Gate), None));
        roles.add(Some(InterceptRole::Rewrite), &["edit".into()]);
        assert_eq!(
            (roles.role_for("BASH"), roles.role_for("edit")),
            (Some(InterceptorRole::Gate), Some(InterceptorRole::Rewrite))
        );
        roles.add(None, &[]);
        assert_eq!(roles.role_for("edit"), Some(InterceptorRole::Plain));
    }

    #[test]
    fn alias_selects_built_in_tool() {
        let mut filter = ToolFilter::default();
        filter.add(&["Shell".into()]);
        assert!(filter.contains("bash") && filter.contains("shell") && !filter.contains("read"));
    }

    #[test]
    fn overlong_filter_matches_all_tools() {
        let mut filter = ToolFilter::default();
        let names: Vec<String> = (0..MAX_TOOLS_NAMED).map(|n| format!("t{n}")).collect();
        filter.add(&names);
        assert!(filter.contains("t7") && !filter.contains("bash"));
        filter.add(&["one_more".into()]);
        assert!(filter.contains("bash"));
        let mut filter = ToolFilter::default();
        filter.add(&["x".repeat(65)]);
        assert!(filter.contains("bash"));
    }
}
