//! Reads the tokens and the cost of an answer.

use haft_protocol::message::TokenUsage;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::{count, read_lenient, text_of};
use crate::wire::AnswerBuilder;

/// xAI counts the cost in this part of a US dollar.
const TICKS: f64 = 1e10;

#[derive(Deserialize)]
struct ReportedUsage<'a> {
    #[serde(borrow)]
    prompt_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    completion_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    total_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt_tokens_details: Option<&'a RawValue>,
    /// Mistral.
    #[serde(borrow)]
    num_cached_tokens: Option<&'a RawValue>,
    /// DeepSeek.
    #[serde(borrow)]
    prompt_cache_hit_tokens: Option<&'a RawValue>,
    /// OpenRouter: US dollars.
    #[serde(borrow)]
    cost: Option<&'a RawValue>,
    #[serde(borrow)]
    cost_in_usd_ticks: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct PromptDetails<'a> {
    #[serde(borrow)]
    cached_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    cache_write_tokens: Option<&'a RawValue>,
}

/// The cost in an object: of Venice, or of Perplexity.
#[derive(Deserialize)]
struct CostObject {
    usd: Option<f64>,
    total_cost: Option<f64>,
}

/// Reads the usage so far. Servers that send it several times repeat all of it.
pub(super) fn read(usage: Option<&RawValue>, cost: Option<&RawValue>, answer: &mut AnswerBuilder) {
    let usage: Option<ReportedUsage<'_>> = read_lenient(usage);
    if let Some(usage) = &usage {
        read_tokens(usage, answer);
    }
    let ticks = || read_lenient::<f64>(usage.as_ref()?.cost_in_usd_ticks).map(|ticks| ticks / TICKS);
    let own = usage.as_ref().and_then(|usage| read_dollars(usage.cost));
    let said =
        own.or_else(ticks).or_else(|| read_dollars(cost)).filter(|cost| cost.is_finite() && *cost >= 0.0);
    answer.cost_usd = said.or(answer.cost_usd);
}

fn read_tokens(usage: &ReportedUsage<'_>, answer: &mut AnswerBuilder) {
    let (input, output) = (count(usage.prompt_tokens), count(usage.completion_tokens));
    let total = count(usage.total_tokens);
    if input.or(output).or(total).is_none() {
        return;
    }
    let input = input.unwrap_or(0);
    let details: Option<PromptDetails<'_>> = read_lenient(usage.prompt_tokens_details);
    let detail = |pick: fn(&PromptDetails<'_>) -> Option<u64>| details.as_ref().and_then(pick);
    let cache_read = detail(|details| count(details.cached_tokens))
        .or_else(|| count(usage.num_cached_tokens))
        .or_else(|| count(usage.prompt_cache_hit_tokens))
        .unwrap_or(0);
    let cache_write = detail(|details| count(details.cache_write_tokens)).unwrap_or(0);
    answer.usage = TokenUsage::default()
        .with_input(input.saturating_sub(cache_read).saturating_sub(cache_write))
        .with_output(output.or(total.map(|total| total.saturating_sub(input))).unwrap_or(0))
        .with_cache_read(cache_read)
        .with_cache_write(cache_write)
        .with_cost_usd(0.0);
}

/// Returns a cost that is a number, a text with a number, or an object.
fn read_dollars(cost: Option<&RawValue>) -> Option<f64> {
    let object = read_lenient::<CostObject>(cost).and_then(|cost| cost.usd.or(cost.total_cost));
    object.or_else(|| text_of(cost?)?.trim().parse().ok())
}
