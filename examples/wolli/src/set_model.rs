//! A command that selects a model.

use haft_sdk::{Extension, Host, Response};

pub(crate) fn build() -> Extension {
    Extension::new("set_model", "1.0.0").command("use", "Select a model.", |model, host: Host| async move {
        match host.session().set_model(model).await {
            Ok(now) => Response::display(format!("now {}/{}", now.provider, now.model)),
            Err(error) => Response::error(error.to_string()),
        }
    })
}
