//! What lets pass what a gate would otherwise stop: people see it before they agree, and in every list.

use haft_config::{Config, Grant, Granted, HookProcess, OnTimeout, ProcessHook};

/// How far a gate is loosened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Loosened {
    /// Where it does not decide in time, the call is made.
    pub(crate) lets_pass: bool,
    /// For which tools it may answer without approval.
    pub(crate) vouches: Vec<String>,
}

impl Loosened {
    /// A hook that runs, with what the user grants it.
    pub(crate) fn of(config: &Config, hook: &ProcessHook) -> Self {
        let lets_pass = hook.on_timeout == OnTimeout::Allow || by_grant(config, &hook.name);
        Self { lets_pass, vouches: hook.vouches.clone() }
    }

    /// A hook as it is written, whether it runs or not.
    pub(crate) fn written(process: &HookProcess) -> Self {
        Self {
            lets_pass: process.on_timeout == Some(OnTimeout::Allow),
            vouches: process.vouches.clone().unwrap_or_default(),
        }
    }

    /// With what a grant of the user's adds.
    pub(crate) fn with(self, grant: Option<&Grant>) -> Self {
        let granted = grant.and_then(|grant| grant.on_timeout) == Some(OnTimeout::Allow);
        Self { lets_pass: self.lets_pass || granted, ..self }
    }

    /// As settings, each with what it means; none where nothing is loosened.
    pub(crate) fn lines(&self) -> Vec<String> {
        let passes = "on_timeout = \"allow\": a call that it does not decide about in time is made";
        let tools = self.vouches.iter().map(|tool| format!("{tool:?}")).collect::<Vec<_>>().join(", ");
        let vouches =
            format!("vouches = [{tools}]: its answers in place of these tools count without approval");
        let all = [(self.lets_pass, passes.to_owned()), (!self.vouches.is_empty(), vouches)];
        all.into_iter().filter_map(|(holds, line)| holds.then_some(line)).collect()
    }
}

/// Whether the user's `[grant.NAME]` says that its silence allows.
pub(crate) fn by_grant(config: &Config, name: &str) -> bool {
    let said = config.grant.get(name).and_then(|granted: &Granted| granted.on_timeout.as_ref());
    said.is_some_and(|said| said.value == OnTimeout::Allow)
}
