//! A message for the model after each prompt, and a section of the system prompt.

use haft_sdk::{BeforeAgentStartDecision, Extension, InterceptBeforeAgentStart, StartMessage};

pub(crate) fn build() -> Extension {
    Extension::new("agent_prompt", "1.0.0").before_agent_start(
        |start: InterceptBeforeAgentStart, host| async move {
            host.log(format_args!("System prompt length: {}", start.system_prompt.chars().count()));
            BeforeAgentStartDecision::append("Extra instructions for this run.")
                .with_message(StartMessage::new("my-extension", "Additional context for the model"))
        },
    )
}
