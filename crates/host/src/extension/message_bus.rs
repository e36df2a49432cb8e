//! The way of a message on the bus from one extension to the others.

use std::fmt;
use std::sync::OnceLock;

use haft_protocol::ext::BusMessage;

type SendMessage = dyn Fn(&BusMessage) + Send + Sync;

/// Sends messages to the extensions of a host, once the host exists.
#[derive(Default)]
pub(crate) struct MessageBus(OnceLock<Box<SendMessage>>);

impl MessageBus {
    /// Connects the bus. Later connections have no effect.
    pub(crate) fn connect(&self, send: impl Fn(&BusMessage) + Send + Sync + 'static) {
        self.0.get_or_init(|| Box::new(send));
    }

    /// Sends a message to the extensions that subscribed, except its sender. Never waits.
    pub(crate) fn publish_message(&self, message: &BusMessage) {
        if let Some(send) = self.0.get() {
            send(message);
        }
    }
}

impl fmt::Debug for MessageBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MessageBus").field(&self.0.get().is_some()).finish()
    }
}
