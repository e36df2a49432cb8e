//! Thinking levels: the effort of a model before an answer.

use std::fmt;
use std::str::FromStr;

use crate::named_enum::named_enum;

named_enum! {
    /// The effort of a model before an answer, in increasing order. The lower-case name is used on
    /// the wire and in files.
    #[derive(Default)]
    pub enum ThinkingLevel {
        /// The default of the provider.
        #[default]
        Default = "default",
        /// No thinking.
        Off = "off",
        /// The minimum of the model.
        Minimal = "minimal",
        /// Low effort.
        Low = "low",
        /// Medium effort.
        Medium = "medium",
        /// High effort.
        High = "high",
        /// The maximum of the model.
        XHigh = "xhigh",
    }
}

/// The name of a level that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownThinkingLevel(pub String);

impl fmt::Display for UnknownThinkingLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown thinking level {:?}; use {}", self.0, ThinkingLevel::NAMES.join(", "))
    }
}

impl std::error::Error for UnknownThinkingLevel {}

impl ThinkingLevel {
    /// The names of all levels.
    pub const NAMES: [&str; 7] = ["default", "off", "minimal", "low", "medium", "high", "xhigh"];

    /// Returns the nearest level that a model supports: the next lower level with thinking, or else
    /// the next higher one. If the model cannot think, the level is [`ThinkingLevel::Off`]; if it
    /// always thinks, its lowest level. [`ThinkingLevel::Default`] stays unchanged.
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
    fn clamps_to_the_nearest_level() {
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
