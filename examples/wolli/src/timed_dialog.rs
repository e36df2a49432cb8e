//! A question with a time limit.

use haft_sdk::protocol::ext::ConfirmCall;
use haft_sdk::{AskCall, AskEnd, Extension, Host, HostError, Response, UiAnswer};

pub(crate) fn build() -> Extension {
    Extension::new("timed_dialog", "1.0.0").command(
        "risk",
        "Ask for a short time.",
        |_, host: Host| async move {
            let question = AskCall::Confirm(ConfirmCall {
                title: "Timed Confirmation".to_owned(),
                message: "This dialog closes soon. Confirm?".to_owned(),
                timeout_ms: Some(300),
            });
            let answer = host.ui().ask_person(&question).await?;
            Ok::<_, HostError>(Response::display(match (answer.answer, answer.why) {
                (UiAnswer::Confirmed(true), _) => "confirmed",
                (_, AskEnd::Timeout) => "timed out",
                _ => "canceled",
            }))
        },
    )
}
