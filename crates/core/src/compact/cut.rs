//! Where the kept part begins.

use std::collections::HashSet;
use std::sync::Arc;

use haft_protocol::ids::ToolCallId;
use haft_protocol::message::Message;

use super::{message_of, tokens_of};
use crate::session::entry::Entry;

/// How much is kept word for word, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Keep {
    /// As much as this.
    pub(crate) usual: u64,
    /// And when the last step alone takes more, up to this.
    pub(crate) at_most: u64,
}

/// The first entry that is kept; the end of the branch if nothing can be. The kept part is as long as it may be. What
/// the user said last is kept however long it is: no summary of it would be what was asked.
pub(crate) fn cut(branch: &[Arc<Entry>], keep: Keep) -> usize {
    let mut behind = vec![0; branch.len() + 1];
    let mut sum = 0;
    for (at, entry) in branch.iter().enumerate().rev() {
        sum += tokens_of(entry);
        if let Some(slot) = behind.get_mut(at) {
            *slot = sum;
        }
    }
    let tokens = |at: usize| behind.get(at).copied().unwrap_or_default();
    let points: Vec<usize> = points(branch).collect();
    if let Some(at) = points.iter().copied().find(|at| tokens(*at) <= keep.usual) {
        return at;
    }
    let last = points.last().copied().unwrap_or(branch.len());
    let by_user = branch.get(last).is_some_and(|entry| is_user(entry));
    if tokens(last) <= keep.at_most || by_user { last } else { branch.len() }
}

/// Where a kept part may begin, in order: with a message that is no tool's result, while no call waits for one. So a
/// turn may be cut between its steps.
pub(super) fn points(branch: &[Arc<Entry>]) -> impl Iterator<Item = usize> + '_ {
    let mut open: HashSet<ToolCallId> = HashSet::new();
    branch.iter().enumerate().filter_map(move |(at, entry)| match message_of(entry)?.as_ref() {
        Message::Tool(result) => {
            open.remove(&result.call_id);
            None
        }
        Message::User { .. } => open.is_empty().then_some(at),
        Message::Assistant(said) => {
            // What an earlier message's calls lack is made up by whoever reads the branch.
            open = said.tool_calls().map(|call| call.id.clone()).collect();
            Some(at)
        }
    })
}

fn is_user(entry: &Entry) -> bool {
    message_of(entry).is_some_and(|message| matches!(*message, Message::User { .. }))
}
