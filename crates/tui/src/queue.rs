//! What is typed while the agent works.
//!
//! Enter steers: the agent reads it at its next step. Alt+enter is for when it is done. Esc ends what it does, and what
//! waits comes back into the editor, pastes folded and images attached as they were. What waits is what the agent says
//! of it, [`AgentEvent::QueueUpdate`]; who typed it is known here.

use haft_protocol::event::AgentEvent;

use crate::editor::{Content, Submission};
use crate::keys::Prompt;

/// How many prompts are remembered that were sent and not seen waiting.
const MOST_SENT: usize = 64;

/// When the agent shall read a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At once: nothing is worked on.
    Now,
    /// At its next step.
    Steer,
    /// When it is done.
    FollowUp,
}

impl When {
    /// What a key sends, while the agent works or does not. None for keys that send nothing.
    pub fn of(action: Prompt, works: bool) -> Option<Self> {
        match action {
            Prompt::Send | Prompt::FollowUp if !works => Some(Self::Now),
            Prompt::Send => Some(Self::Steer),
            Prompt::FollowUp => Some(Self::FollowUp),
            Prompt::Abort | Prompt::TakeBack | Prompt::ClearOrQuit => None,
            Prompt::SearchHistory | Prompt::Complete | Prompt::OpenEditor => None,
        }
    }
}

/// A prompt that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting<'q> {
    /// What it waits for.
    pub when: When,
    /// Its text; an image is a word.
    pub text: &'q str,
}

/// What waits, and what it was in the editor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Queue {
    steering: Vec<String>,
    follow_up: Vec<String>,
    sent: Vec<Sent>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Sent {
    text: String,
    content: Content,
    /// Whether the agent has said that it waits.
    seen: bool,
}

impl Queue {
    /// A prompt goes to the agent to wait there.
    pub fn sent(&mut self, prompt: &Submission) {
        let (text, content) = (prompt.text.clone(), prompt.content.clone());
        self.sent.push(Sent { text, content, seen: false });
        let too_many = self.sent.len().saturating_sub(MOST_SENT);
        self.sent.drain(..too_many);
    }

    /// What the agent says of what waits. Other events change nothing.
    pub fn update(&mut self, event: &AgentEvent) {
        #[expect(clippy::wildcard_enum_match_arm, reason = "there are many events, and one is about queues")]
        let (steering, follow_up) = match event {
            AgentEvent::QueueUpdate { steering, follow_up, next_turn: _ } => (steering, follow_up),
            _ => return,
        };
        (self.steering, self.follow_up) = (steering.clone(), follow_up.clone());
        let mut waiting: Vec<&str> = steering.iter().chain(follow_up).map(String::as_str).collect();
        // One that has not been seen waiting may be on its way.
        self.sent.retain_mut(|sent| {
            let at = waiting.iter().position(|text| is_of(sent, text));
            if let Some(at) = at {
                waiting.remove(at);
                sent.seen = true;
            }
            at.is_some() || !sent.seen
        });
    }

    /// What waits, in the order in which the agent reads it.
    pub fn waiting(&self) -> impl Iterator<Item = Waiting<'_>> {
        let of = |when| move |text| Waiting { when, text };
        let steering = self.steering.iter().map(String::as_str).map(of(When::Steer));
        steering.chain(self.follow_up.iter().map(String::as_str).map(of(When::FollowUp)))
    }

    /// Everything that waits, for [`Editor::put_before`](crate::editor::Editor::put_before), in the order in which the
    /// agent would have read it. The agent is to be told to forget it.
    pub fn take_back(&mut self) -> Vec<Content> {
        let Self { steering, follow_up, mut sent } = std::mem::take(self);
        let own = steering.into_iter().chain(follow_up).map(|text| {
            let at = sent.iter().position(|sent| is_of(sent, &text));
            at.map_or_else(|| Content::of_text(&text), |at| sent.remove(at).content)
        });
        own.collect()
    }
}

/// Whether the agent's words for what waits are about this prompt: images are words behind its text.
fn is_of(sent: &Sent, text: &str) -> bool {
    text.strip_prefix(sent.text.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::editor::Editor;

    fn event(steering: &[&str], follow_up: &[&str]) -> AgentEvent {
        let own = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        AgentEvent::QueueUpdate { steering: own(steering), follow_up: own(follow_up), next_turn: Vec::new() }
    }

    fn prompt(text: &str) -> Submission {
        Content::of_text(text).submission()
    }

    fn texts(contents: &[Content]) -> Vec<String> {
        contents.iter().map(|content| content.submission().text).collect()
    }

    #[test]
    fn a_key_means_what_the_agent_does() {
        assert_eq!(When::of(Prompt::Send, false), Some(When::Now));
        assert_eq!(When::of(Prompt::FollowUp, false), Some(When::Now));
        assert_eq!(When::of(Prompt::Send, true), Some(When::Steer));
        assert_eq!(When::of(Prompt::FollowUp, true), Some(When::FollowUp));
        assert_eq!(When::of(Prompt::Abort, true), None);
    }

    #[test]
    fn everything_that_waits_comes_back_as_it_was_written() {
        let mut editor = Editor::new();
        editor.insert("see ");
        editor.paste(&"x\n".repeat(20), |_| false);
        let (long, short) = (editor.take(), prompt("then this"));
        let mut queue = Queue::default();
        queue.sent(&short);
        queue.sent(&long);
        queue.update(&event(&[&long.text], &["then this", "of an extension"]));
        let waiting: Vec<_> = queue.waiting().map(|waiting| (waiting.when, waiting.text.len())).collect();
        assert_eq!(waiting, [(When::Steer, long.text.len()), (When::FollowUp, 9), (When::FollowUp, 15)]);
        let back = queue.take_back();
        assert_eq!(texts(&back), [long.text.as_str(), "then this", "of an extension"]);
        assert_eq!(back[0], long.content);
        assert_eq!(queue, Queue::default());
    }

    #[test]
    fn what_the_agent_took_does_not_come_back() {
        let mut queue = Queue::default();
        queue.sent(&prompt("one"));
        queue.update(&event(&["one"], &[]));
        queue.sent(&prompt("two"));
        // Said before the second arrived.
        queue.update(&event(&[], &[]));
        assert_eq!(texts(&queue.take_back()), Vec::<String>::new());
        queue.sent(&prompt("two"));
        queue.update(&event(&["two\n[image]"], &[]));
        assert_eq!(texts(&queue.take_back()), ["two"]);
        queue.update(&AgentEvent::AssistantStart);
        assert_eq!(queue, Queue::default());
    }
}
