//! The demands on the answers of a run: a schema, and calls that only the first answer must have.

use std::sync::{Arc, OnceLock};

use crate::model::{OutputSchema, RequestOptions, ToolChoice};
use crate::tool::ToolSpec;

/// The place of a run's schema, which is set before the run starts.
pub(crate) type OutputSlot = Arc<OnceLock<Arc<OutputSchema>>>;

/// The number of times that a model may correct its answer.
const MAX_CORRECTIONS: u32 = 2;

/// The demands on the answers of one run.
#[derive(Debug, Default)]
pub(super) struct AnswerDemand {
    /// The schema of the last answer.
    pub(super) output: Option<Arc<OutputSchema>>,
    /// True after the first answer of the model.
    pub(super) is_answered: bool,
    corrections: u32,
}

impl AnswerDemand {
    pub(super) fn new(output: &OutputSlot) -> Self {
        Self { output: output.get().cloned(), ..Self::default() }
    }

    /// Returns the message that asks the model to correct its last answer; `None` if the answer fits, or was corrected
    /// often enough.
    pub(super) fn next_correction(&mut self, answer: &str) -> Option<String> {
        let output = self.output.as_ref().filter(|_| self.corrections < MAX_CORRECTIONS)?;
        let mistake = output.check(answer).err()?;
        self.corrections += 1;
        Some(output.correction_message(&mistake))
    }

    /// Returns the options of the next request. Calls are demanded until the first answer only: otherwise the run would
    /// never end.
    pub(super) fn request_options(
        &self,
        configured: &RequestOptions,
        tools: &[Arc<ToolSpec>],
    ) -> RequestOptions {
        let mut options = configured.clone();
        let demands = matches!(options.tool_choice, Some(ToolChoice::Required | ToolChoice::Tool(_)));
        if tools.is_empty() || (demands && self.is_answered) {
            options.tool_choice = None;
        }
        options
    }
}
