//! The careful scan: serde_json reads the text, and the first mistake gets its error code.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::defense::{self, Defense};
use crate::error::{DecodeError, without_position};
use crate::scan::ScanLimits;

/// Checks one JSON text without building a value.
///
/// # Errors
/// The first mistake.
pub(crate) fn scan(text: &str, limits: ScanLimits) -> Result<(), DecodeError> {
    // serde_json's own limit (128) is above this one, so this count decides and the stack stays
    // small.
    let mut state = ScanState { limits, nodes: 0, fault: None };
    let mut reader = serde_json::Deserializer::from_str(text);
    let outcome =
        NodeChecker { state: &mut state, depth: 0 }.deserialize(&mut reader).and_then(|()| reader.end());
    match (outcome, state.fault) {
        (Ok(()), _) => Ok(()),
        (Err(_), Some(fault)) => Err(fault),
        (Err(error), None) => Err(classify_error(&error)),
    }
}

/// Classifies the error by its text, because serde_json has no kind for it. A test below guards the
/// text.
fn classify_error(error: &serde_json::Error) -> DecodeError {
    match without_position(error) {
        detail if detail == "number out of range" => DecodeError::NumberOutOfRange,
        detail => DecodeError::NotJson { detail },
    }
}

struct ScanState {
    limits: ScanLimits,
    nodes: usize,
    fault: Option<DecodeError>,
}

struct NodeChecker<'a> {
    state: &'a mut ScanState,
    depth: usize,
}

impl NodeChecker<'_> {
    fn count<E: serde::de::Error>(&mut self) -> Result<(), E> {
        self.state.nodes += 1;
        if self.state.nodes > self.state.limits.nodes {
            let limit = self.state.limits.nodes;
            return Err(self.record_fault(DecodeError::TooManyNodes { limit }));
        }
        Ok(())
    }

    fn enter_level<E: serde::de::Error>(&mut self) -> Result<usize, E> {
        let depth = self.depth + 1;
        if depth > self.state.limits.depth {
            let limit = self.state.limits.depth;
            return Err(self.record_fault(DecodeError::TooDeep { limit }));
        }
        Ok(depth)
    }

    fn record_fault<E: serde::de::Error>(&mut self, fault: DecodeError) -> E {
        let error = E::custom(&fault);
        self.state.fault.get_or_insert(fault);
        error
    }
}

impl<'de> DeserializeSeed<'de> for NodeChecker<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(mut self, deserializer: D) -> Result<(), D::Error> {
        self.count()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NodeChecker<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        let depth = self.enter_level()?;
        while seq.next_element_seed(NodeChecker { state: &mut *self.state, depth })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let depth = self.enter_level()?;
        let mut keys = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            self.count::<A::Error>()?;
            if keys.contains(&key) && defense::is_up(Defense::DuplicateKeys) {
                return Err(self.record_fault(DecodeError::DuplicateKey { key }));
            }
            keys.insert(key);
            map.next_value_seed(NodeChecker { state: &mut *self.state, depth })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let got = match scan(text, ScanLimits { depth: 3, nodes: 8 }) {
            Ok(()) => "ok",
            Err(error) => error.code(),
        };
        assert_eq!(got, expect, "{text}");
    }

    #[test]
    fn names_the_first_fault() {
        check("[[[1]]]", "ok");
        check("[[[[1]]]]", "frame_too_deep");
        check("[1,2,3,4,5,6,7]", "ok");
        check("[1,2,3,4,5,6,7,8]", "frame_too_deep");
        check(r#"{"a":{"b":1,"b":2}}"#, "frame_duplicate_key");
        check(r#"{"type":1,"t\u0079pe":2}"#, "frame_duplicate_key");
        check("1e400", "frame_invalid");
        check("NaN", "frame_not_json");
        check("{} {}", "frame_not_json");
        check("{\"a\":\"\0\"}", "frame_not_json");
    }

    #[test]
    fn a_hundred_thousand_levels_do_not_reach_the_stack() {
        let text = "[".repeat(100_000);
        assert_eq!(scan(&text, ScanLimits::default()).unwrap_err().code(), "frame_too_deep");
    }
}
