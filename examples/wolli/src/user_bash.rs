//! Commands of the person: run with a profile, or answered by the extension.

use haft_sdk::{Extension, InterceptUserBash, UserBashDecision};

pub(crate) fn build() -> Extension {
    Extension::new("user_bash", "1.0.0").intercept_user_bash(|bash: InterceptUserBash, _host| async move {
        match bash.command.as_str() {
            "ping" => UserBashDecision::answer("pong\n", 0),
            command => UserBashDecision::replace(format!(". ./profile\n{command}")),
        }
    })
}
