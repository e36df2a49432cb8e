//! Messages typed while the agent works.
//!
//! Enter steers: the agent reads the message at its next step. Alt+enter sends it when the agent is done. Esc aborts,
//! and the queued messages return to the editor, with folded pastes and attached images. The agent reports the queue
//! with [`AgentEvent::QueueUpdate`]; this module knows the editor content of each message.

use haft_protocol::event::AgentEvent;

use crate::editor::{EditorContent, Submission};
use crate::keys::Prompt;

/// The number of remembered prompts that were sent and not yet reported as queued.
const MOST_SENT: usize = 64;

/// The time at which the agent reads a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryTime {
    /// At once: the agent is idle.
    Now,
    /// At its next step.
    Steer,
    /// When it is done.
    FollowUp,
}

impl DeliveryTime {
    /// Returns the delivery time of a key. `None` for keys that do not send.
    pub fn from_action(action: Prompt, works: bool) -> Option<Self> {
        match action {
            Prompt::Send | Prompt::FollowUp if !works => Some(Self::Now),
            Prompt::Send => Some(Self::Steer),
            Prompt::FollowUp => Some(Self::FollowUp),
            Prompt::Abort | Prompt::TakeBack | Prompt::ClearOrQuit => None,
            Prompt::SearchHistory | Prompt::Complete | Prompt::OpenEditor | Prompt::Paste => None,
        }
    }
}

/// A queued prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingMessage<'q> {
    /// The delivery time.
    pub when: DeliveryTime,
    /// The text, with a word for each image.
    pub text: &'q str,
    /// True for the output of a command of the person; the text is the command.
    pub shell: bool,
}

/// The messages taken out of the queue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RestoredMessages {
    /// The prompts, for [`Editor::prepend_prompts`](crate::editor::Editor::prepend_prompts).
    pub prompts: Vec<EditorContent>,
    /// The output of the person's commands, in the same order.
    pub printed: Vec<QueuedShellOutput>,
}

/// The output of a command of the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedShellOutput {
    /// The command.
    pub command: String,
    /// The message for the agent.
    pub message: String,
}

/// The queued messages with their editor content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageQueue {
    steering: Vec<String>,
    follow_up: Vec<String>,
    sent: Vec<SentMessage>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SentMessage {
    text: String,
    what: SentContent,
    /// True if the agent has reported it as queued.
    seen: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum SentContent {
    Prompt(EditorContent),
    /// The output of this command of the person.
    Shell(String),
}

impl MessageQueue {
    /// Records a prompt that is sent to the agent's queue.
    pub fn push_prompt(&mut self, prompt: &Submission) {
        // The text as the agent reports it.
        let text = prompt.text.clone() + &"\n[image]".repeat(prompt.images.len());
        self.push(text, SentContent::Prompt(prompt.content.clone()));
    }

    /// Queues the output of a command of the person.
    pub fn push_shell_output(&mut self, printed: &QueuedShellOutput) {
        self.push(printed.message.clone(), SentContent::Shell(printed.command.clone()));
    }

    fn push(&mut self, text: String, what: SentContent) {
        self.sent.push(SentMessage { text, what, seen: false });
        let too_many = self.sent.len().saturating_sub(MOST_SENT);
        self.sent.drain(..too_many);
    }

    /// Removes a prompt that failed to reach the agent.
    pub fn remove_prompt(&mut self, prompt: &Submission) {
        let is_it =
            |what: &SentContent| matches!(what, SentContent::Prompt(content) if *content == prompt.content);
        let at = self.sent.iter().position(|sent| !sent.seen && is_it(&sent.what));
        at.map(|at| self.sent.remove(at));
    }

    /// Handles the agent's events about queued and read messages. Ignores other events.
    pub fn update(&mut self, event: &AgentEvent) {
        if let AgentEvent::QueueUpdate { steering, follow_up, .. } = event {
            (self.steering, self.follow_up) = (steering.clone(), follow_up.clone());
            self.forget_taken();
        }
        if let AgentEvent::UserMessage { content, .. } = event {
            let text = haft_core::Prompt::from(content.clone()).summary();
            let read = self.sent.iter().position(|sent| !sent.seen && sent.text == text);
            read.map(|at| self.sent.remove(at));
        }
    }

    fn forget_taken(&mut self) {
        let mut waiting: Vec<&String> = self.steering.iter().chain(&self.follow_up).collect();
        self.sent.retain_mut(|sent| {
            let at = waiting.iter().position(|text| **text == sent.text);
            if let Some(at) = at {
                waiting.remove(at);
                sent.seen = true;
            }
            // A message that was not reported yet may still be on its way.
            at.is_some() || !sent.seen
        });
    }

    /// True if no message is queued or on its way.
    pub fn is_empty(&self) -> bool {
        self.steering.is_empty() && self.follow_up.is_empty() && self.sent.is_empty()
    }

    /// Returns the queued messages, in the order in which the agent reads them.
    pub fn waiting_messages(&self) -> impl Iterator<Item = WaitingMessage<'_>> {
        let steering = self.steering.iter().map(|text| (DeliveryTime::Steer, text));
        let all = steering.chain(self.follow_up.iter().map(|text| (DeliveryTime::FollowUp, text)));
        all.map(|(when, text)| match self.shell_command_of(text) {
            Some(command) => WaitingMessage { when, text: command, shell: true },
            None => WaitingMessage { when, text, shell: false },
        })
    }

    fn shell_command_of(&self, text: &str) -> Option<&str> {
        self.sent.iter().find_map(|sent| match &sent.what {
            SentContent::Shell(command) if sent.text == text => Some(command.as_str()),
            SentContent::Shell(_) | SentContent::Prompt(_) => None,
        })
    }

    /// Takes all queued messages in the agent's order, and then those on their way. The caller tells the agent to
    /// drop them.
    pub fn take_back(&mut self) -> RestoredMessages {
        let mut back = self.take_waiting();
        std::mem::take(&mut self.sent).into_iter().filter(|sent| !sent.seen).for_each(|sent| back.push(sent));
        back
    }

    fn take_waiting(&mut self) -> RestoredMessages {
        let mut back = RestoredMessages::default();
        for text in self.steering.drain(..).chain(self.follow_up.drain(..)) {
            let at = self.sent.iter().position(|sent| sent.text == text);
            match at.map(|at| self.sent.remove(at)) {
                Some(sent) => back.push(sent),
                None => back.prompts.push(EditorContent::from_text(&text)),
            }
        }
        back
    }

    /// Takes the messages that the agent returned: all that had arrived and were not read.
    pub fn take_returned(&mut self, steering: Vec<String>, follow_up: Vec<String>) -> RestoredMessages {
        let next_turn = Vec::new();
        self.update(&AgentEvent::QueueUpdate { steering, follow_up, next_turn });
        self.take_waiting()
    }
}

impl RestoredMessages {
    fn push(&mut self, sent: SentMessage) {
        let SentMessage { text: message, what, .. } = sent;
        match what {
            SentContent::Prompt(content) => self.prompts.push(content),
            SentContent::Shell(command) => self.printed.push(QueuedShellOutput { command, message }),
        }
    }
}

#[cfg(test)]
mod tests {
    use haft_protocol::content::ContentBlock as Block;
    use haft_protocol::message::Rfc3339Time;

    use super::*;
    use crate::editor::Editor;

    fn event(steering: &[&str], follow_up: &[&str]) -> AgentEvent {
        let own = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        AgentEvent::QueueUpdate { steering: own(steering), follow_up: own(follow_up), next_turn: Vec::new() }
    }

    fn prompt(text: &str) -> Submission {
        EditorContent::from_text(text).submission()
    }

    fn texts(contents: &[EditorContent]) -> Vec<String> {
        contents.iter().map(|content| content.submission().text).collect()
    }

    #[test]
    fn delivery_time_depends_on_agent_state() {
        assert_eq!(DeliveryTime::from_action(Prompt::Send, false), Some(DeliveryTime::Now));
        assert_eq!(DeliveryTime::from_action(Prompt::FollowUp, false), Some(DeliveryTime::Now));
        assert_eq!(DeliveryTime::from_action(Prompt::Send, true), Some(DeliveryTime::Steer));
        assert_eq!(DeliveryTime::from_action(Prompt::FollowUp, true), Some(DeliveryTime::FollowUp));
        assert_eq!(DeliveryTime::from_action(Prompt::Abort, true), None);
    }

    #[test]
    fn restores_queued_messages_unchanged() {
        let mut editor = Editor::new();
        editor.insert("see ");
        editor.paste(&"x\n".repeat(20), |_| false);
        let (long, short) = (editor.take(), prompt("then this"));
        let mut queue = MessageQueue::default();
        queue.push_prompt(&short);
        queue.push_prompt(&long);
        queue.update(&event(&[&long.text], &["then this", "of an extension"]));
        let waiting: Vec<_> =
            queue.waiting_messages().map(|waiting| (waiting.when, waiting.text.len())).collect();
        assert_eq!(
            waiting,
            [
                (DeliveryTime::Steer, long.text.len()),
                (DeliveryTime::FollowUp, 9),
                (DeliveryTime::FollowUp, 15)
            ]
        );
        let back = queue.take_back().prompts;
        assert_eq!(texts(&back), [long.text.as_str(), "then this", "of an extension"]);
        assert_eq!(back[0], long.content);
        assert_eq!(queue, MessageQueue::default());
    }

    #[test]
    fn does_not_restore_messages_read_by_agent() {
        let mut queue = MessageQueue::default();
        queue.push_prompt(&prompt("one"));
        queue.update(&event(&["one"], &[]));
        queue.update(&event(&[], &[]));
        assert_eq!(texts(&queue.take_back().prompts), Vec::<String>::new());
        // The agent read it before it could report it as queued.
        queue.push_prompt(&prompt("two"));
        let content = vec![Block::text("two")];
        queue.update(&AgentEvent::UserMessage { content, time: Rfc3339Time(String::new()), entry: None });
        assert_eq!(texts(&queue.take_back().prompts), Vec::<String>::new());
        queue.update(&AgentEvent::AssistantStart);
        assert_eq!(queue, MessageQueue::default());
    }

    #[test]
    fn restores_messages_in_transit() {
        let mut queue = MessageQueue::default();
        queue.push_prompt(&prompt("one"));
        queue.update(&event(&["one"], &[]));
        queue.push_prompt(&prompt("two"));
        // Reported before the second message arrived.
        queue.update(&event(&["one"], &[]));
        assert_eq!(texts(&queue.take_back().prompts), ["one", "two"]);
    }

    #[test]
    fn restores_images() {
        let mut editor = Editor::new();
        editor.insert("look ");
        editor.paste("/a.png", |_| true);
        assert!(editor.fold_images("/a.png", vec!["/a.png".into()]));
        let sent = editor.take();
        let mut queue = MessageQueue::default();
        queue.push_prompt(&sent);
        queue.update(&event(&["look [image #1: a.png]\n[image]"], &[]));
        assert_eq!(queue.take_back().prompts, [sent.content]);
    }

    #[test]
    fn failed_message_is_not_restored_twice() {
        let mut queue = MessageQueue::default();
        queue.push_prompt(&prompt("a"));
        queue.push_prompt(&prompt("b"));
        queue.remove_prompt(&prompt("a"));
        let back: Vec<_> =
            queue.take_back().prompts.iter().map(|content| content.submission().text).collect();
        assert_eq!(back, ["b"]);
    }

    #[test]
    fn command_output_is_identified_by_command() {
        let printed = QueuedShellOutput { command: "ls".to_owned(), message: "I ran `ls`: a".to_owned() };
        let mut queue = MessageQueue::default();
        queue.push_prompt(&prompt("one"));
        queue.push_shell_output(&printed);
        queue.update(&event(&["I ran `ls`: a"], &["one"]));
        let waiting: Vec<_> = queue.waiting_messages().map(|waiting| (waiting.text, waiting.shell)).collect();
        assert_eq!(waiting, [("ls", true), ("one", false)]);
        let mut left = queue.clone();
        left.push_prompt(&prompt("two"));
        let back = left.take_returned(vec!["I ran `ls`: a".to_owned()], Vec::new());
        assert_eq!(
            back,
            RestoredMessages { prompts: Vec::new(), printed: vec![printed.clone()] },
            "the first message was read"
        );
        left.update(&event(&["two"], &[]));
        assert_eq!(texts(&left.take_back().prompts), ["two"], "the message arrived afterwards");
        let back = queue.take_back();
        assert_eq!((texts(&back.prompts), back.printed), (vec!["one".to_owned()], vec![printed]));
    }
}
