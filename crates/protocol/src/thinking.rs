//! Thinking levels: the effort of a model before it answers.

use std::str::FromStr;

use crate::named_enum::named_enum;

named_enum! {
    /// How much a model should think before it answers; more is greater. On the wire and in files the lower-case name.
    #[derive(Default)]
    pub enum ThinkingLevel {
        /// Whatever the provider does by default.
        #[default]
        Default = "default",
        /// Not at all.
        Off = "off",
        /// As little as the model can.
        Minimal = "minimal",
        /// A little.
        Low = "low",
        /// Some.
        Medium = "medium",
        /// A lot.
        High = "high",
        /// As much as the model can.
        XHigh = "xhigh",
    }
}

/// A level that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown thinking level {0:?}; use {names}", names = ThinkingLevel::NAMES.join(", "))]
pub struct UnknownThinkingLevel(pub String);

impl ThinkingLevel {
    /// All levels as they are written.
    pub const NAMES: [&str; 7] = ["default", "off", "minimal", "low", "medium", "high", "xhigh"];

    /// The level nearest to this one among those a model has: the next lower one at which it thinks, or else the next
    /// higher one; [`Thinking::Off`] where the model cannot think, and its least where it cannot be kept from it.
    /// [`Thinking::Default`] stays what it is.
    pub fn clamp_to(self, levels: &[Self]) -> Self {
        if self == Self::Default || levels.contains(&self) {
            return self;
        }
        let thinks = || levels.iter().copied().filter(|level| *level > Self::Off);
        let lower = thinks().filter(|level| *level < self).max();
        let nearest = if self == Self::Off { thinks().min() } else { lower.or_else(|| thinks().min()) };
        nearest.unwrap_or(Self::Off)
    }
}

impl FromStr for ThinkingLevel {
    type Err = UnknownThinkingLevel;

    fn from_str(text: &str) -> Result<Self, UnknownThinkingLevel> {
        Self::from_name(text).ok_or_else(|| UnknownThinkingLevel(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for (level, name) in ThinkingLevel::ALL.iter().zip(ThinkingLevel::NAMES) {
            assert_eq!((level.name(), name.parse()), (name, Ok(*level)));
            assert_eq!(serde_json::to_string(&level).unwrap(), format!("{name:?}"));
        }
        let error = "lots".parse::<ThinkingLevel>().unwrap_err().to_string();
        assert!(error.contains("\"lots\"") && error.contains("minimal, low"), "{error}");
    }

    #[track_caller]
    fn check(wanted: ThinkingLevel, levels: &[ThinkingLevel], expect: ThinkingLevel) {
        assert_eq!(wanted.clamp_to(levels), expect);
    }

    #[test]
    fn the_nearest_level_is_taken() {
        use ThinkingLevel::{Default, High, Low, Medium, Minimal, Off, XHigh};
        let usual = [Off, Low, Medium, High];
        check(Medium, &usual, Medium);
        check(XHigh, &usual, High);
        check(Minimal, &usual, Low);
        check(Default, &usual, Default);
        check(Medium, &[Low, High], Low);
        check(Off, &[Low, High], Low);
        check(Off, &[], Off);
        check(High, &[Off], Off);
        check(High, &[], Off);
    }
}
