//! Facts about a model that are known before a request: limits, prices, thinking levels.

use haft_protocol::message::TokenUsage;
use haft_protocol::thinking::ThinkingLevel;

/// The known facts of a model; `None` for unknown values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelFacts {
    /// The display name.
    pub name: Option<String>,
    /// The context window in tokens.
    pub window: Option<u64>,
    /// The maximum length of an answer in tokens.
    pub max_output: Option<u64>,
    /// The supported thinking levels, lowest first. They include [`ThinkingLevel::Off`] if thinking can be disabled. A
    /// model that cannot think has only [`ThinkingLevel::Off`].
    pub thinking: Option<Vec<ThinkingLevel>>,
    /// True if the model accepts images.
    pub images: Option<bool>,
    /// The prices of its tokens.
    pub prices: Option<TokenPrices>,
}

/// The prices per million tokens, in US dollars.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenPrices {
    /// Uncached input.
    pub input: f64,
    /// Output, including thinking.
    pub output: f64,
    /// Input read from the provider's cache; defaults to [`TokenPrices::input`].
    pub cache_read: Option<f64>,
    /// Input written to the provider's cache; defaults to [`TokenPrices::input`].
    pub cache_write: Option<f64>,
}

impl ModelFacts {
    /// Returns these facts, with unknown values filled from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            name: self.name.or(other.name),
            window: self.window.or(other.window),
            max_output: self.max_output.or(other.max_output),
            thinking: self.thinking.or(other.thinking),
            images: self.images.or(other.images),
            prices: self.prices.or(other.prices),
        }
    }

    /// Returns the supported level nearest to `wanted`; `wanted` itself if the levels are unknown.
    pub fn clamp_thinking(&self, wanted: ThinkingLevel) -> ThinkingLevel {
        self.thinking.as_ref().map_or(wanted, |levels| wanted.clamp_to(levels))
    }
}

impl TokenPrices {
    /// Returns the cost of these tokens in US dollars, ignoring the cost field of `usage`.
    pub fn cost(&self, usage: &TokenUsage) -> f64 {
        let priced = [
            (usage.input, self.input),
            (usage.output, self.output),
            (usage.cache_read, self.cache_read.unwrap_or(self.input)),
            (usage.cache_write, self.cache_write.unwrap_or(self.input)),
        ];
        // Token counts stay far below 2^53, so no precision is lost.
        priced.into_iter().map(|(tokens, price)| tokens as f64 * price / 1e6).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_token_has_its_price() {
        let usage = TokenUsage {
            input: 1_000_000,
            output: 100_000,
            cache_read: 500_000,
            cache_write: 10_000,
            cost_usd: 9.0,
        };
        let prices = TokenPrices { input: 3.0, output: 15.0, cache_read: Some(0.3), cache_write: Some(3.75) };
        assert!((prices.cost(&usage) - (3.0 + 1.5 + 0.15 + 0.0375)).abs() < 1e-9);
        let plain = TokenPrices { cache_read: None, cache_write: None, ..prices };
        assert!((plain.cost(&usage) - (3.0 + 1.5 + 1.5 + 0.03)).abs() < 1e-9);
        assert_eq!(prices.cost(&TokenUsage::default()), 0.0);
    }

    #[test]
    fn the_first_facts_win() {
        let own = ModelFacts { window: Some(1), ..ModelFacts::default() };
        let other = ModelFacts { window: Some(2), max_output: Some(3), ..ModelFacts::default() };
        assert_eq!(
            own.or(other),
            ModelFacts { window: Some(1), max_output: Some(3), ..ModelFacts::default() }
        );
    }

    #[test]
    fn unknown_levels_are_not_clamped() {
        let levels = vec![ThinkingLevel::Off, ThinkingLevel::Low];
        let known = ModelFacts { thinking: Some(levels), ..ModelFacts::default() };
        assert_eq!(known.clamp_thinking(ThinkingLevel::XHigh), ThinkingLevel::Low);
        assert_eq!(ModelFacts::default().clamp_thinking(ThinkingLevel::XHigh), ThinkingLevel::XHigh);
    }
}
