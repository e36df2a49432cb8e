//! Gates that keep failing: the number of failures in a row, and the person's decision about each gate.
//!
//! Keyed by the extension's name, which outlives its process and a reload. This module itself asks no one.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_protocol::ids::ExtensionName;

use crate::agent::policy;
use crate::extension::frontend::{FailingGate, GateChoice};

/// The number of failures in a row after which the person is asked.
const FAILURES_BEFORE_QUESTION: u32 = 3;

#[derive(Debug, Default)]
pub(crate) struct GateMonitor(Mutex<HashMap<ExtensionName, GateHealth>>);

/// The subject of a gate's decision. Each subject is counted separately: a hook may answer one well and
/// always fail at the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DecisionSubject {
    Call,
    /// The approval of a call that all gates allowed.
    Approval,
}

#[derive(Debug, Default)]
struct GateHealth {
    /// The failures in a row for each subject.
    failures: BTreeMap<DecisionSubject, u32>,
    /// The reason of the last failure, as the person sees it.
    reason: String,
    user_decision: UserDecision,
}

/// The person's decision about an extension's gates.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum UserDecision {
    #[default]
    Unasked,
    BeingAsked,
    /// The decision, which holds for the whole session.
    Given(GateChoice),
}

/// The consequence of a block after a failure.
#[derive(Debug)]
pub(crate) enum FailureConsequence<'a> {
    Nothing,
    Ask(GateQuestion<'a>),
    Stop { reason: String },
}

impl GateMonitor {
    pub(crate) fn record_failure(&self, name: &ExtensionName, deciding: DecisionSubject, reason: &str) {
        let mut all = self.lock();
        let health = all.entry(name.clone()).or_default();
        *health.failures.entry(deciding).or_default() += 1;
        health.reason = policy::user_facing_failure(name, reason);
    }

    pub(crate) fn record_answer(&self, name: &ExtensionName, deciding: DecisionSubject) {
        if let Some(health) = self.lock().get_mut(name) {
            health.failures.remove(&deciding);
        }
    }

    /// True if the person chose to continue without the extension.
    pub(crate) fn is_disabled(&self, name: &ExtensionName) -> bool {
        let off = UserDecision::Given(GateChoice::ContinueWithout);
        self.lock().get(name).is_some_and(|health| health.user_decision == off)
    }

    /// Returns the consequence of the latest failure. The person is asked once for each extension and
    /// session: callers that arrive during the question or after an answer do not ask again.
    pub(crate) fn consequence_of_failure(&self, name: &ExtensionName) -> FailureConsequence<'_> {
        let mut all = self.lock();
        let Some(health) =
            all.get_mut(name).filter(|health| health.max_failures() >= FAILURES_BEFORE_QUESTION)
        else {
            return FailureConsequence::Nothing;
        };
        let (reason, failures) = (health.reason.clone(), health.max_failures());
        match health.user_decision {
            UserDecision::Unasked => {
                health.user_decision = UserDecision::BeingAsked;
                let failing = FailingGate { extension: name.clone(), reason, failures };
                FailureConsequence::Ask(GateQuestion { gates: self, failing, choice: None })
            }
            UserDecision::Given(GateChoice::Stop) => FailureConsequence::Stop { reason },
            UserDecision::BeingAsked
            | UserDecision::Given(GateChoice::Restart | GateChoice::ContinueWithout) => {
                FailureConsequence::Nothing
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ExtensionName, GateHealth>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GateHealth {
    fn max_failures(&self) -> u32 {
        self.failures.values().copied().max().unwrap_or_default()
    }
}

/// The duty to ask the person. If it is dropped without an answer, for example on cancellation, another
/// caller may ask.
#[derive(Debug)]
#[must_use = "the person must be asked"]
pub(crate) struct GateQuestion<'a> {
    gates: &'a GateMonitor,
    failing: FailingGate,
    choice: Option<GateChoice>,
}

impl GateQuestion<'_> {
    pub(crate) fn failing_gate(&self) -> &FailingGate {
        &self.failing
    }

    pub(crate) fn record_choice(mut self, choice: GateChoice) {
        self.choice = Some(choice);
    }
}

impl Drop for GateQuestion<'_> {
    fn drop(&mut self) {
        let mut all = self.gates.lock();
        let Some(health) = all.get_mut(&self.failing.extension) else { return };
        health.user_decision = self.choice.map_or(UserDecision::Unasked, UserDecision::Given);
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

    fn failing(times: u32) -> GateMonitor {
        let gates = GateMonitor::default();
        for time in 1..=times {
            gates.record_failure(&guard(), DecisionSubject::Call, &format!("late {time}"));
        }
        gates
    }

    #[test]
    fn asks_after_third_failure_in_a_row() {
        let gates = failing(2);
        assert!(matches!(gates.consequence_of_failure(&guard()), FailureConsequence::Nothing));
        gates.record_answer(&guard(), DecisionSubject::Call);
        gates.record_failure(&guard(), DecisionSubject::Call, "late");
        assert!(matches!(gates.consequence_of_failure(&guard()), FailureConsequence::Nothing));
        let gates = failing(3);
        let FailureConsequence::Ask(asking) = gates.consequence_of_failure(&guard()) else {
            panic!("expected a question")
        };
        let expect = FailingGate { extension: guard(), reason: "late 3".into(), failures: 3 };
        assert_eq!(asking.failing_gate(), &expect);
        assert!(
            matches!(gates.consequence_of_failure(&guard()), FailureConsequence::Nothing),
            "asked twice at once"
        );
    }

    #[test]
    fn counts_failures_per_subject() {
        let gates = GateMonitor::default();
        for _ in 0..2 {
            gates.record_failure(&guard(), DecisionSubject::Approval, "late");
            gates.record_answer(&guard(), DecisionSubject::Call);
        }
        gates.record_failure(&guard(), DecisionSubject::Call, "late");
        assert!(
            matches!(gates.consequence_of_failure(&guard()), FailureConsequence::Nothing),
            "three, but not in a row"
        );
        gates.record_failure(&guard(), DecisionSubject::Approval, "late");
        assert!(matches!(gates.consequence_of_failure(&guard()), FailureConsequence::Ask(_)));
    }

    #[test]
    fn keeps_decision_for_the_session() {
        for choice in [GateChoice::Restart, GateChoice::ContinueWithout, GateChoice::Stop] {
            let gates = failing(3);
            let FailureConsequence::Ask(asking) = gates.consequence_of_failure(&guard()) else {
                panic!("expected a question")
            };
            asking.record_choice(choice);
            for _ in 0..3 {
                gates.record_failure(&guard(), DecisionSubject::Call, "late");
            }
            let stops = matches!(gates.consequence_of_failure(&guard()), FailureConsequence::Stop { .. });
            assert_eq!(
                (stops, gates.is_disabled(&guard())),
                (choice == GateChoice::Stop, choice == GateChoice::ContinueWithout)
            );
        }
    }

    #[test]
    fn asks_again_when_question_was_dropped() {
        let gates = failing(3);
        drop(gates.consequence_of_failure(&guard()));
        assert!(matches!(gates.consequence_of_failure(&guard()), FailureConsequence::Ask(_)));
    }
}
