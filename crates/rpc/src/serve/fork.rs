//! Forks: a session of its own with the conversation of another one.

use haft_core::Agent;
use haft_core::session::entry::Name;
use haft_core::session::{Durability, Session};
use haft_protocol::rpc::{Failure, Fork};

use super::outcome::off_thread;
use super::session::{self, named_entry, of_session};
use crate::sessions::Which;

/// Copies the conversation of an agent into a session of its own.
pub(super) async fn copy_of(agent: Agent, wish: Fork) -> Result<Which, Failure> {
    let (of, at) = (agent.session().clone(), wish.entry.clone());
    let copy = off_thread(move || copy(&of, at.as_deref())).await?;
    if wish.entry.is_none() {
        // What was set since the last request, too: the model of the copy is the one that is asked here.
        agent.note_setup(&copy).await.map_err(|error| of_session(&error))?;
    }
    let (name, copy) = off_thread(move || Ok((session::name(&copy), copy))).await?;
    if let Some(name) = name {
        let named = Name { name: name_of_copy(&name) };
        copy.append(named, Durability::Soon).await.map_err(|error| of_session(&error))?;
    }
    Ok(Which::Given(copy))
}

/// What a copy is called, so that nobody takes it for what it comes from.
fn name_of_copy(name: &str) -> String {
    let (of, number) = match name.strip_suffix(')').and_then(|name| name.rsplit_once(" (fork")) {
        Some((of, "")) => (of, Some(2)),
        Some((of, number)) => {
            (of, number.trim().parse::<u32>().ok().and_then(|number| number.checked_add(1)))
        }
        None => (name, None),
    };
    match number {
        Some(number) => format!("{of} (fork {number})"),
        None => format!("{name} (fork)"),
    }
}

/// A session of its own with the conversation up to an entry.
fn copy(session: &Session, entry: Option<&str>) -> Result<Session, Failure> {
    let at = entry.map(|named| named_entry(session, named)).transpose()?;
    session.fork(at).map_err(|error| of_session(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expect: &str) {
        assert_eq!(name_of_copy(name), expect);
    }

    #[test]
    fn a_copy_has_a_name_of_its_own() {
        check("tidy", "tidy (fork)");
        check("tidy (fork)", "tidy (fork 2)");
        check("tidy (fork 9)", "tidy (fork 10)");
        check("tidy (fork x)", "tidy (fork x) (fork)");
        check("tidy (again)", "tidy (again) (fork)");
        check("(fork)", "(fork) (fork)");
    }
}
