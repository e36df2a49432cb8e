//! The ids of calls that a model accepts. A session has the ids of the model that made the calls.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The ids that a model accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallIdRule {
    Any,
    /// OpenAI: at most 40 characters.
    Short,
    /// Claude behind a gateway: at most 64 letters, digits, `_` and `-`.
    Claude,
    /// Mistral: 9 letters and digits (<https://mistralai.github.io/mistral-common/usage/tools/>).
    Mistral,
}

impl CallIdRule {
    /// Returns the id, or another one that is always the same for it.
    pub(super) fn apply(self, id: &str) -> Cow<'_, str> {
        let usual = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let accepted = match self {
            Self::Any => true,
            Self::Short => id.chars().count() <= 40,
            Self::Claude => id.len() <= 64 && id.chars().all(usual),
            Self::Mistral => id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric()),
        };
        if accepted {
            return id.into();
        }
        let mut other = match self {
            Self::Any | Self::Mistral => String::new(),
            Self::Short | Self::Claude => {
                let begin = id.chars().map(|c| if usual(c) { c } else { '_' });
                begin.take(28).chain(['_']).collect()
            }
        };
        let digits = if self == Self::Mistral { 9 } else { 11 };
        let _ = write!(other, "{:0digits$x}", stable_hash(id) % (1 << (4 * digits)));
        other.into()
    }
}

/// Returns the FNV-1a hash, which is the same in every version of haft: other ids would invalidate the cache of the
/// provider.
fn stable_hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rule: CallIdRule, id: &str, expect: &str) {
        assert_eq!(rule.apply(id), expect);
        assert_eq!(rule.apply(expect), expect, "an accepted id does not change");
    }

    #[test]
    fn ids_of_other_models_are_replaced() {
        use CallIdRule::{Any, Claude, Mistral, Short};
        let long = "toolu_01ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghij";
        check(Any, long, long);
        check(Any, "functions.f:0", "functions.f:0");
        check(Short, "functions.f:0", "functions.f:0");
        check(Short, long, "toolu_01ABCDEFGHIJKLMNOPQRST_754d5bf2ef4");
        check(Claude, long, long);
        check(Claude, "functions.f:0", "functions_f_0_962e9dcd7b8");
        check(Mistral, "abc123XYZ", "abc123XYZ");
        check(Mistral, "call_abc123", "205cbd602");
        check(Mistral, "", "484222325");
    }

    #[test]
    fn different_ids_stay_different() {
        for rule in [CallIdRule::Short, CallIdRule::Claude, CallIdRule::Mistral] {
            let ids = (0..1_000).map(|number| rule.apply(&format!("{number:.>70}")).into_owned());
            let ids: std::collections::HashSet<String> = ids.collect();
            assert_eq!(ids.len(), 1_000, "{rule:?}");
        }
    }
}
