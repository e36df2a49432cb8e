//! Hook before a run ends.

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::UNNAMED_HOOK;

/// The number of times that hooks can make one run go on, so that two hooks cannot keep it going for ever.
pub const MAX_CONTINUATIONS: u32 = 10;

/// Hook before a run ends because the model has answered and no message waits. Not asked if the run failed or was
/// stopped, or after [`MAX_CONTINUATIONS`]. The first hook that makes the run go on decides. A panic lets the run end.
///
/// ```
/// use async_trait::async_trait;
/// use haft_core::hooks::{BeforeSettle, CancellationToken, SettleDecision, SettlingRun};
///
/// /// Has the model check its work once.
/// struct CheckOnce;
///
/// #[async_trait]
/// impl BeforeSettle for CheckOnce {
///     async fn before_settle(&self, _: &CancellationToken, run: &SettlingRun) -> SettleDecision {
///         match run.continued {
///             0 => SettleDecision::GoOn { text: "Run the tests.".into() },
///             _ => SettleDecision::Settle,
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait BeforeSettle: Send + Sync {
    /// Decides whether the run ends.
    async fn before_settle(&self, cancel: &CancellationToken, run: &SettlingRun) -> SettleDecision;

    /// Returns the name of the hook, see the [module](super#names).
    fn name(&self) -> &str {
        UNNAMED_HOOK
    }
}

/// A run that is about to end.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SettlingRun {
    /// The text of the model's last answer.
    pub text: String,
    /// The number of times that hooks have already made this run go on.
    pub continued: u32,
}

impl SettlingRun {
    /// Creates the input of a hook.
    pub fn new(text: impl Into<String>, continued: u32) -> Self {
        Self { text: text.into(), continued }
    }
}

/// The decision about the end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettleDecision {
    /// The run ends, unless another hook decides otherwise.
    Settle,
    /// The run continues with this message, as with a follow-up of the user. An empty text ends the run.
    GoOn {
        /// The text for the model.
        text: String,
    },
}
