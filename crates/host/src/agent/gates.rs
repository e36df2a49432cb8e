//! Gates that keep failing: how often each has failed in a row, and what the person decided about it.
//!
//! By the name of the extension, because that outlives its process and a reload. Asks nobody itself.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_protocol::ids::ExtensionName;

use crate::agent::policy;
use crate::extension::frontend::{GateChoice, GateFailing};

/// After so many failures in a row the person is asked.
const PATIENCE: u32 = 3;

#[derive(Debug, Default)]
pub(crate) struct Gates(Mutex<HashMap<ExtensionName, Health>>);

/// The subject of a gate's decision. One question has nothing to do with the other: a hook may answer the first well
/// and fail at the second each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Deciding {
    Call,
    /// The approval of a call that gates have let pass.
    Approval,
}

#[derive(Debug, Default)]
struct Health {
    /// In a row, up to now, at each question.
    failures: BTreeMap<Deciding, u32>,
    /// Of the last one, as the person is told it.
    reason: String,
    verdict: Opinion,
}

/// The person's decision about an extension's gates.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Opinion {
    #[default]
    Unasked,
    BeingAsked,
    /// This, for the whole session.
    Given(GateChoice),
}

/// The consequence of a block by failure.
#[derive(Debug)]
pub(crate) enum Due<'a> {
    Nothing,
    Ask(Asking<'a>),
    Stop { reason: String },
}

impl Gates {
    pub(crate) fn failed(&self, name: &ExtensionName, deciding: Deciding, reason: &str) {
        let mut all = self.lock();
        let health = all.entry(name.clone()).or_default();
        *health.failures.entry(deciding).or_default() += 1;
        health.reason = policy::for_the_person(name, reason);
    }

    pub(crate) fn answered(&self, name: &ExtensionName, deciding: Deciding) {
        if let Some(health) = self.lock().get_mut(name) {
            health.failures.remove(&deciding);
        }
    }

    /// True if the person goes on without it.
    pub(crate) fn is_off(&self, name: &ExtensionName) -> bool {
        let off = Opinion::Given(GateChoice::ContinueWithout);
        self.lock().get(name).is_some_and(|health| health.verdict == off)
    }

    /// Returns the consequence of its latest failure. The person is asked once an extension and session: whoever comes
    /// while somebody asks, or after an answer, does not ask again.
    pub(crate) fn due(&self, name: &ExtensionName) -> Due<'_> {
        let mut all = self.lock();
        let Some(health) = all.get_mut(name).filter(|health| health.longest() >= PATIENCE) else {
            return Due::Nothing;
        };
        let (reason, failures) = (health.reason.clone(), health.longest());
        match health.verdict {
            Opinion::Unasked => {
                health.verdict = Opinion::BeingAsked;
                let failing = GateFailing { extension: name.clone(), reason, failures };
                Due::Ask(Asking { gates: self, failing, choice: None })
            }
            Opinion::Given(GateChoice::Stop) => Due::Stop { reason },
            Opinion::BeingAsked | Opinion::Given(GateChoice::Restart | GateChoice::ContinueWithout) => {
                Due::Nothing
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ExtensionName, Health>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Health {
    fn longest(&self) -> u32 {
        self.failures.values().copied().max().unwrap_or_default()
    }
}

/// The duty to ask the person. Dropped without an answer, as when the run is cancelled, somebody else may ask.
#[derive(Debug)]
#[must_use = "the person has to be asked"]
pub(crate) struct Asking<'a> {
    gates: &'a Gates,
    failing: GateFailing,
    choice: Option<GateChoice>,
}

impl Asking<'_> {
    pub(crate) fn failing(&self) -> &GateFailing {
        &self.failing
    }

    pub(crate) fn decided(mut self, choice: GateChoice) {
        self.choice = Some(choice);
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let mut all = self.gates.lock();
        let Some(health) = all.get_mut(&self.failing.extension) else { return };
        health.verdict = self.choice.map_or(Opinion::Unasked, Opinion::Given);
        if self.choice == Some(GateChoice::Restart) {
            health.failures.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard() -> ExtensionName {
        ExtensionName::new("guard")
    }

    fn failing(times: u32) -> Gates {
        let gates = Gates::default();
        for time in 1..=times {
            gates.failed(&guard(), Deciding::Call, &format!("late {time}"));
        }
        gates
    }

    #[test]
    fn the_third_failure_in_a_row_asks_and_an_answer_starts_over() {
        let gates = failing(2);
        assert!(matches!(gates.due(&guard()), Due::Nothing));
        gates.answered(&guard(), Deciding::Call);
        gates.failed(&guard(), Deciding::Call, "late");
        assert!(matches!(gates.due(&guard()), Due::Nothing));
        let gates = failing(3);
        let Due::Ask(asking) = gates.due(&guard()) else { panic!("nobody asks") };
        let expect = GateFailing { extension: guard(), reason: "late 3".into(), failures: 3 };
        assert_eq!(asking.failing(), &expect);
        assert!(matches!(gates.due(&guard()), Due::Nothing), "asked twice at once");
    }

    #[test]
    fn a_good_answer_to_one_question_makes_up_for_no_failure_at_another() {
        let gates = Gates::default();
        for _ in 0..2 {
            gates.failed(&guard(), Deciding::Approval, "late");
            gates.answered(&guard(), Deciding::Call);
        }
        gates.failed(&guard(), Deciding::Call, "late");
        assert!(matches!(gates.due(&guard()), Due::Nothing), "three, but not in a row");
        gates.failed(&guard(), Deciding::Approval, "late");
        assert!(matches!(gates.due(&guard()), Due::Ask(_)));
    }

    #[test]
    fn an_answer_holds_for_the_session() {
        for choice in [GateChoice::Restart, GateChoice::ContinueWithout, GateChoice::Stop] {
            let gates = failing(3);
            let Due::Ask(asking) = gates.due(&guard()) else { panic!("nobody asks") };
            asking.decided(choice);
            for _ in 0..3 {
                gates.failed(&guard(), Deciding::Call, "late");
            }
            let stops = matches!(gates.due(&guard()), Due::Stop { .. });
            assert_eq!(
                (stops, gates.is_off(&guard())),
                (choice == GateChoice::Stop, choice == GateChoice::ContinueWithout)
            );
        }
    }

    #[test]
    fn a_question_that_was_given_up_is_asked_again() {
        let gates = failing(3);
        drop(gates.due(&guard()));
        assert!(matches!(gates.due(&guard()), Due::Ask(_)));
    }
}
