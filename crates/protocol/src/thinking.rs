//! How much a model thinks before it answers.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How much a model should think before it answers; more is greater. On the wire and in files the lower-case name.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Thinking {
    /// Whatever the provider does by default.
    #[default]
    Default,
    /// Not at all.
    Off,
    /// As little as the model can.
    Minimal,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// A lot.
    High,
    /// As much as the model can.
    XHigh,
}

/// A level that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown thinking level {0:?}; use {names}", names = Thinking::NAMES.join(", "))]
pub struct UnknownThinking(pub String);

impl Thinking {
    /// All levels, least first.
    pub const ALL: [Self; 7] =
        [Self::Default, Self::Off, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::XHigh];

    /// All levels as they are written.
    pub const NAMES: [&str; 7] = ["default", "off", "minimal", "low", "medium", "high", "xhigh"];

    /// The level as it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Off => "off",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
        }
    }

    /// The level nearest to this one among those a model has: the next lower one at which it thinks, or else the next
    /// higher one; [`Thinking::Off`] where the model cannot think, and its least where it cannot be kept from it.
    /// [`Thinking::Default`] stays what it is.
    pub fn clamped(self, levels: &[Self]) -> Self {
        if self == Self::Default || levels.contains(&self) {
            return self;
        }
        let thinks = || levels.iter().copied().filter(|level| *level > Self::Off);
        let lower = thinks().filter(|level| *level < self).max();
        let nearest = if self == Self::Off { thinks().min() } else { lower.or_else(|| thinks().min()) };
        nearest.unwrap_or(Self::Off)
    }
}

impl fmt::Display for Thinking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Thinking {
    type Err = UnknownThinking;

    fn from_str(text: &str) -> Result<Self, UnknownThinking> {
        let found = Self::ALL.into_iter().find(|level| level.name() == text);
        found.ok_or_else(|| UnknownThinking(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for (level, name) in Thinking::ALL.into_iter().zip(Thinking::NAMES) {
            assert_eq!((level.name(), name.parse()), (name, Ok(level)));
            assert_eq!(serde_json::to_string(&level).unwrap(), format!("{name:?}"));
        }
        let error = "lots".parse::<Thinking>().unwrap_err().to_string();
        assert!(error.contains("\"lots\"") && error.contains("minimal, low"), "{error}");
    }

    #[track_caller]
    fn check(wanted: Thinking, levels: &[Thinking], expect: Thinking) {
        assert_eq!(wanted.clamped(levels), expect);
    }

    #[test]
    fn the_nearest_level_is_taken() {
        use Thinking::{Default, High, Low, Medium, Minimal, Off, XHigh};
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
