//! Messages to and from other extensions.

use haft_sdk::{BusMessage, Extension, Host, NoteLevel, Response};

pub(crate) fn build() -> Extension {
    Extension::new("event_bus", "1.0.0")
        .on_bus(|message: BusMessage, host: Host| async move {
            host.notify(NoteLevel::Info, format!("{}: {} {}", message.from, message.channel, message.data));
        })
        .command("announce", "Tell the other extensions.", |text, host: Host| async move {
            host.emit_message("my:event", &text).map(|()| Response::Noop)
        })
}
