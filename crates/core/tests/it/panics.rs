//! Tests of panics in models and observers: they do not reach the task that polls the run.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures::{StreamExt, stream};
use haft_core::compact::CompactError;
use haft_core::model::{
    Model, ModelError, ModelErrorKind, ModelEvent, ModelId, ModelRequest, ModelResponse, ModelStream,
};
use haft_core::{Agent, CancellationToken, TurnError};
use haft_protocol::event::AgentEvent;
use haft_protocol::message::Rfc3339Time;

use crate::fake::{Script, run, says, transcript};

/// Panics before its stream, in the stream, or not at all.
#[derive(Clone, Copy, PartialEq)]
enum Broken {
    Request,
    Stream,
    Nowhere,
}

#[async_trait]
impl Model for Broken {
    fn info(&self) -> ModelId {
        ModelId { provider: "own".into(), model: "broken".into() }
    }

    async fn stream(&self, _: CancellationToken, _: ModelRequest) -> Result<ModelStream, ModelError> {
        assert!(*self != Self::Request, "no request");
        if *self == Self::Nowhere {
            return Ok(ModelResponse::text("Hello!").into_stream());
        }
        let piece = stream::iter([Ok(ModelEvent::Text("Hel".into()))]);
        Ok(piece.chain(stream::once(async { panic!("no {}", "stream") })).boxed())
    }
}

fn agent(model: Broken) -> Agent {
    Agent::builder(model).clock(|| Rfc3339Time("T".into())).build().unwrap()
}

fn unavailable(outcome: Result<(), TurnError>, message: &str) {
    let expect = ModelError::new(ModelErrorKind::Unavailable, message);
    assert_eq!(outcome.unwrap_err().kind, haft_core::error::TurnErrorKind::Model(expect));
}

#[tokio::test]
async fn panic_of_a_model_is_an_error_of_the_run() {
    unavailable(run(&agent(Broken::Request)).await.1, "own/broken panicked: no request");

    let agent = agent(Broken::Stream);
    unavailable(run(&agent).await.1, "own/broken panicked: no stream");
    assert_eq!(transcript(&agent), ["user go", "assistant Hel "]);
    agent.set_model(Broken::Nowhere);
    run(&agent).await.1.unwrap();
}

#[tokio::test]
async fn panic_of_a_model_is_an_error_of_a_compaction() {
    let agent = agent(Broken::Nowhere);
    for _ in 0..40 {
        agent.prompt("x".repeat(2_000)).await.unwrap();
    }
    agent.set_model(Broken::Request);
    let error = agent.compact(CancellationToken::new(), None).await.unwrap_err();
    assert!(matches!(error, CompactError::Model(_)) && error.to_string().contains("panicked"), "{error:?}");
}

#[tokio::test]
async fn observer_that_panics_receives_the_next_event() {
    let seen = Arc::new(AtomicUsize::new(0));
    let count = seen.clone();
    let agent = Script::new(vec![says("ok")]).agent().observe(move |event| {
        count.fetch_add(1, Ordering::Relaxed);
        assert!(matches!(event, AgentEvent::Done), "no");
    });
    let agent = agent.build().unwrap();
    run(&agent).await.1.unwrap();
    let in_run = seen.load(Ordering::Relaxed);
    assert!(in_run > 5, "{in_run}");
    agent.set_model(Broken::Nowhere);
    assert_eq!(seen.load(Ordering::Relaxed), in_run + 1);
}
