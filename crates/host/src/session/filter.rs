//! Which tools somebody wants to hear of, and in which role.

use std::collections::BTreeSet;

use haft_protocol::ext::InterceptRole;
use haft_protocol::limits::MAX_NAME;

/// Names one filter may list; a longer one counts as every tool.
const MAX_TOOLS_NAMED: usize = 512;

/// The role of an interceptor, as its manifest and its subscription say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InterceptorRole {
    /// Nothing was said: it may do everything.
    Plain,
    /// It says yes or no.
    Gate,
    Rewrite,
    /// It takes out what the user shall not see.
    Redactor,
}

/// Some tools, or all of them. Upper and lower case are one, as they are where names are given away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ToolFilter {
    /// These, in lower case.
    Only(BTreeSet<String>),
    All,
}

impl Default for ToolFilter {
    fn default() -> Self {
        Self::Only(BTreeSet::new())
    }
}

impl ToolFilter {
    /// Adds what one subscription says; nothing said means all. What is too much to keep counts as all, too: a gate
    /// must not lose a tool.
    pub(crate) fn add(&mut self, tools: &[String]) {
        let Self::Only(names) = self else { return };
        names.extend(tools.iter().map(|name| name.to_ascii_lowercase()));
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

/// The subscriptions of one extension to tool calls. Subscriptions add up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ToolCallRoles {
    plain: ToolFilter,
    rewrite: ToolFilter,
    gate: ToolFilter,
}

impl ToolCallRoles {
    pub(crate) fn add(&mut self, role: Option<InterceptRole>, tools: &[String]) {
        match role {
            None => self.plain.add(tools),
            Some(InterceptRole::Rewrite) => self.rewrite.add(tools),
            Some(InterceptRole::Gate) => self.gate.add(tools),
            // Whoever only watches is not asked.
            Some(InterceptRole::Observe) => {}
        }
    }

    /// In which role it is asked about calls of this tool, if at all. An extension is one interceptor: who is a gate
    /// and a rewriter for one tool is asked in order, as a rewriter must be.
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
    fn subscriptions_add_up_and_the_more_powerful_role_counts() {
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
    fn a_filter_that_is_too_long_leaves_nothing_out() {
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
