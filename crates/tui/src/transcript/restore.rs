//! A conversation of before, as items.

use haft_protocol::message::{Message, ToolMessage};

use super::Transcript;
use super::answer::put;
use super::item::{Kind, User};

impl Transcript {
    pub(super) fn read(&mut self, message: &Message) {
        match message {
            Message::User { content, .. } => {
                self.push(Kind::User(Box::new(User::new(content))));
            }
            Message::Assistant(message) => {
                for block in &message.content {
                    if let Some(item) = put(None, block) {
                        let at = self.items.len();
                        self.items.push(item);
                        if let haft_protocol::message::AssistantBlock::ToolCall(call) = block {
                            self.calls.insert(call.id.clone(), at);
                        }
                    }
                }
            }
            Message::Tool(message) => self.read_result(message),
        }
    }

    fn read_result(&mut self, message: &ToolMessage) {
        self.with_call(&message.call_id, &message.name, |call| {
            call.result(&message.content, message.is_error, message.details.as_ref());
            call.owned_by(message.extension.as_ref());
        });
    }
}
