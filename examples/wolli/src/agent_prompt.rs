//! A message for the model before each prompt, and a section of the system prompt.

use haft_sdk::protocol::rpc::SendMessage;
use haft_sdk::{
    BeforeAgentStartDecision, Extension, Host, HostError, InputDecision, InterceptBeforeAgentStart,
};

pub(crate) fn build() -> Extension {
    Extension::new("agent_prompt", "1.0.0")
        .intercept_input(|_, host: Host| async move {
            let message = SendMessage::new("my-extension", "Additional context for the model");
            host.session().send_message(message).await?;
            Ok::<_, HostError>(InputDecision::Unchanged)
        })
        .before_agent_start(|start: InterceptBeforeAgentStart, host| async move {
            host.log(format_args!("System prompt length: {}", start.system_prompt.chars().count()));
            BeforeAgentStartDecision::append("Extra instructions for this run.")
        })
}
