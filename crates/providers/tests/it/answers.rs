//! Tests of answers: text, thinking, tool calls and usage, in every dialect and with every split of the stream.

use haft_core::model::{ModelEvent, TokenPrices, wrap_invalid_args};
use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantBlock, StopCause};
use haft_providers::HttpModel;
use haft_test_support::model_server::{Scenario, TokenCounts, WireFormat};

use crate::support::{ask, config, each};

const TEXT: &str = "Grüße aus Zürich, 天气很好 🌤️ – und “das” ist alles.";
const ARGS: &str = r#"{"city": "Z\u00fcrich \"天\"\n\\ 🌤️", "n": 9007199254740993}"#;

fn call(id: &str, args: RawJson) -> AssistantBlock {
    AssistantBlock::ToolCall(ToolCall { id: ToolCallId::new(id), name: "weather".into(), args })
}

fn text(text: &str) -> AssistantBlock {
    AssistantBlock::Text { text: text.into() }
}

fn joined(events: &[ModelEvent], pick: impl Fn(&ModelEvent) -> Option<&str>) -> String {
    events.iter().filter_map(pick).collect()
}

#[tokio::test]
async fn text_survives_every_cut() {
    for cut in [1, 2, 3, 7, 37, 0] {
        each(vec![Scenario::text(TEXT).cut_every(cut)], async |wire, _, model| {
            let (events, answer) = ask(&model, "hello").await;
            let answer = answer.unwrap();
            assert_eq!(answer.content, [text(TEXT)], "{wire:?} cut every {cut}");
            assert_eq!(answer.stop, StopCause::End);
            let deltas = joined(&events, |event| match event {
                ModelEvent::Text(delta) => Some(delta),
                _ => None,
            });
            assert_eq!(deltas, TEXT);
            assert!(events.len() > 3, "{wire:?} streams");
        })
        .await;
    }
}

#[tokio::test]
async fn accepts_slow_answers() {
    let pause = std::time::Duration::from_millis(1);
    each(vec![Scenario::text(TEXT).cut_every(500).pause(pause)], async |wire, _, model| {
        assert_eq!(ask(&model, "hello").await.1.unwrap().content, [text(TEXT)], "{wire:?}");
    })
    .await;
}

#[tokio::test]
async fn tool_calls_keep_the_models_bytes_and_ids() {
    let scenario = Scenario::text("Looking.").tool("call_a", "weather", ARGS).tool("call_b", "weather", "{}");
    for cut in [1, 37] {
        each(vec![scenario.clone().cut_every(cut)], async |wire, _, model| {
            let (events, answer) = ask(&model, "weather?").await;
            let answer = answer.unwrap();
            let first = RawJson::parse(ARGS).unwrap();
            let expect = [text("Looking."), call("call_a", first), call("call_b", RawJson::empty_object())];
            assert_eq!(answer.content, expect, "{wire:?}");
            assert_eq!(answer.stop, StopCause::ToolUse);
            let deltas = joined(&events, |event| match event {
                ModelEvent::ToolCallArgs { id, delta } if id.as_str() == "call_a" => Some(delta),
                _ => None,
            });
            assert_eq!(deltas, ARGS, "{wire:?}");
            let starts = events.iter().filter(|event| matches!(event, ModelEvent::ToolCallStart { .. }));
            let ends = events.iter().filter(|event| matches!(event, ModelEvent::ToolCallEnd { .. }));
            assert_eq!((starts.count(), ends.count()), (2, 2), "{wire:?}");
        })
        .await;
    }
}

#[tokio::test]
async fn keeps_arguments_that_are_not_an_object_as_text() {
    for (args, expect) in [
        ("", RawJson::empty_object()),
        ("[1]", wrap_invalid_args("[1]")),
        (r#"{"city":"#, wrap_invalid_args(r#"{"city":"#)),
        (r#"{"a":1,"a":2}"#, wrap_invalid_args(r#"{"a":1,"a":2}"#)),
    ] {
        each(vec![Scenario::new().tool("call_a", "weather", args)], async |wire, _, model| {
            let (_, answer) = ask(&model, "weather?").await;
            assert_eq!(answer.unwrap().content, [call("call_a", expect.clone())], "{wire:?} {args}");
        })
        .await;
    }
}

#[tokio::test]
async fn separates_thinking_from_text() {
    let scenario = Scenario::new().think("Let me see 🤔", "c2lnbmVk").say("Done.");
    each(vec![scenario], async |wire, _, model| {
        let (events, answer) = ask(&model, "think").await;
        let thinking = AssistantBlock::Thinking { text: "Let me see 🤔".into() };
        assert_eq!(answer.unwrap().content, [thinking, text("Done.")], "{wire:?}");
        let deltas = joined(&events, |event| match event {
            ModelEvent::Thinking(delta) => Some(delta),
            _ => None,
        });
        assert_eq!(deltas, "Let me see 🤔", "{wire:?}");
    })
    .await;
}

#[tokio::test]
async fn usage_separates_cached_and_fresh_input() {
    let tokens = TokenCounts { input: 100, output: 20, cache_read: 50, cache_write: 7 };
    each(vec![Scenario::text("hi").usage(tokens)], async |wire, _, model| {
        let usage = ask(&model, "hello").await.1.unwrap().usage;
        let written = if wire == WireFormat::Anthropic { 7 } else { 0 };
        assert_eq!(
            (usage.input, usage.output, usage.cache_read, usage.cache_write),
            (100, 20, 50, written),
            "{wire:?}"
        );
        assert!(usage.cost_usd > 0.0, "{wire:?} is priced");
    })
    .await;
}

#[tokio::test]
async fn reports_the_output_limit() {
    each(vec![Scenario::text("I was going to").out_of_tokens()], async |wire, _, model| {
        assert_eq!(ask(&model, "hello").await.1.unwrap().stop, StopCause::Length, "{wire:?}");
    })
    .await;
}

#[tokio::test]
async fn user_prices_override_known_prices() {
    let tokens = TokenCounts { input: 1_000_000, output: 200_000, cache_read: 500_000, cache_write: 0 };
    each(vec![Scenario::text("hi").usage(tokens)], async |wire, server, _| {
        for provider in ["nobody", "anthropic"] {
            server.push(Scenario::text("hi").usage(tokens));
            let mut config = config(&server, wire, "claude-sonnet-4-6");
            config.provider = provider.into();
            let prices = TokenPrices::new(1.0, 10.0).with_cache_read(0.5);
            config.facts.prices = Some(prices);
            let usage = ask(&HttpModel::new(config).unwrap(), "hello").await.1.unwrap().usage;
            assert!((usage.cost_usd - 3.25).abs() < 1e-9, "{wire:?} {provider}: {}", usage.cost_usd);
        }
    })
    .await;
}
