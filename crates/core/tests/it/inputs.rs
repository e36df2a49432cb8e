//! Tests of the hooks for the user's input.

use async_trait::async_trait;
use haft_core::Agent;
use haft_core::hooks::{CancellationToken, OnInput, UserInput, UserInputDecision};
use haft_protocol::content::InputSource;

use crate::fake::Script;

/// Answers by the text: appends its name, handles, panics, or waits for ever.
struct Marks(&'static str);

#[async_trait]
impl OnInput for Marks {
    async fn on_input(&self, _: &CancellationToken, input: &UserInput) -> UserInputDecision {
        match input.text.as_str() {
            "ping" => UserInputDecision::Handled,
            "boom" => panic!("boom"),
            "empty" => UserInputDecision::Change(UserInput::new(" ", InputSource::Rpc)),
            "wait" => std::future::pending().await,
            "keep" => UserInputDecision::Keep,
            text => UserInputDecision::Change(UserInput::new(format!("{text} {}", self.0), InputSource::Rpc)),
        }
    }
}

fn agent() -> Agent {
    Script::new(vec![]).agent().on_input(Marks("a")).on_input(Marks("b")).build().unwrap()
}

async fn review_text(text: &str) -> Option<String> {
    let input = UserInput::new(text, InputSource::Print);
    let input = agent().review_input(&CancellationToken::new(), input).await?;
    assert_eq!(input.source, InputSource::Print, "a hook cannot change the source");
    Some(input.text)
}

#[tokio::test]
async fn input_hooks_change_the_input_in_order() {
    assert_eq!(review_text("hi").await.as_deref(), Some("hi a b"));
    assert_eq!(review_text("keep").await.as_deref(), Some("keep"));
    assert_eq!(review_text("boom").await.as_deref(), Some("boom"), "a panic changes nothing");
}

#[tokio::test]
async fn handled_and_emptied_inputs_make_no_prompt() {
    assert_eq!(review_text("ping").await, None);
    assert_eq!(review_text("empty").await, None);
    let cancel = CancellationToken::new();
    cancel.cancel();
    assert_eq!(agent().review_input(&cancel, UserInput::new("wait", InputSource::Rpc)).await, None);
}

#[tokio::test]
async fn agent_without_input_hooks_keeps_every_input() {
    let agent = Script::new(vec![]).agent().build().unwrap();
    assert!(!agent.reviews_input());
    let empty = UserInput::new("", InputSource::Rpc);
    assert_eq!(agent.review_input(&CancellationToken::new(), empty.clone()).await, Some(empty));
}
