//! Texts on the screen: status, line of work, title, input field.

use haft_sdk::{Extension, Host, Response, SetWorkingCall};

pub(crate) fn build() -> Extension {
    Extension::new("screen", "1.0.0")
        .command("show", "Change the screen.", |_, host: Host| async move {
            host.set_status("my-ext", "Processing...");
            let frames = Some(["·", "•", "●", "•"].map(str::to_owned).to_vec());
            let text = Some("Thinking deeply...".to_owned());
            let interval_ms = Some(120);
            host.ui().set_working(SetWorkingCall { text, frames, interval_ms, ..SetWorkingCall::default() });
            host.ui().set_title("wolli - my-agent");
            host.ui().set_editor_text("Prefill text");
            host.ui().insert_text(", pasted");
            Response::Noop
        })
        .command("restore", "Restore the screen.", |_, host: Host| async move {
            host.clear_status("my-ext");
            host.ui().set_working(SetWorkingCall::reset());
            host.ui().set_title("");
            Response::Noop
        })
}
