//! The tool, through the harness.

use haft_example_weather::extension;
use haft_sdk::testing::{Harness, host_info};
use haft_sdk::{ExtensionConfig, HostInfo, RawJson, ToolResult};
use serde_json::json;

#[tokio::test]
async fn weather_is_the_same_every_time() {
    let harness = Harness::start(extension()).await;
    for (city, expect) in [
        ("Berlin", "Berlin: 16°C, fog"),
        ("  berlin ", "berlin: 16°C, fog"),
        ("Paris", "Paris: 13°C, snow"),
        ("東京", "東京: 3°C, cloudy"),
    ] {
        assert_eq!(harness.tool("weather", json!({ "city": city })).await, ToolResult::text(expect));
    }
}

#[tokio::test]
async fn the_user_chooses_the_units() {
    let told = async |config: &str| {
        let config = ExtensionConfig::new(RawJson::parse(config).unwrap());
        let harness = Harness::start_with(extension(), HostInfo { config, ..host_info() }).await;
        harness.tool("weather", json!({ "city": "Berlin" })).await
    };
    assert_eq!(told(r#"{"units":"fahrenheit"}"#).await, ToolResult::text("Berlin: 60°F, fog"));
    let expect = "units: expected `celsius` or `fahrenheit`; correct [extension.NAME] in config.toml";
    assert_eq!(told(r#"{"units":"kelvin"}"#).await, ToolResult::error(expect));
}

#[tokio::test]
async fn bad_arguments_are_errors_the_model_can_read() {
    let harness = Harness::start(extension()).await;
    for (args, expect) in [
        (json!({}), "arguments do not fit: missing field `city`"),
        (json!({"city": 7}), "argument \"city\" does not fit: invalid type: integer `7`, expected a string"),
        (json!({"city": " "}), "city must not be empty"),
    ] {
        assert_eq!(harness.tool("weather", args).await, ToolResult::error(expect));
    }
}

#[tokio::test]
async fn model_sees_how_to_call_the_tool() {
    let harness = Harness::start(extension()).await;
    let tools = harness.tools();
    insta::assert_snapshot!(serde_json::to_string(&tools).unwrap(), @r#"[{"name":"weather","description":"Get the current weather for a city.","schema":{"type":"object","properties":{"city":{"type":"string","description":"Name of the city, for example `Berlin`."}},"required":["city"]},"guidelines":["Call `weather` for the weather of a city instead of guessing it."]}]"#);
}
