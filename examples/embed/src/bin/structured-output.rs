//! An answer as a value of a Rust type. `cargo run -p haft-example-embed --bin structured-output`

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use haft_core::Agent;
use haft_example_embed::scripted;

/// The fields tell the model what to answer.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Review {
    /// One sentence.
    summary: String,
    /// From 1 (bad) to 5 (good).
    #[schemars(range(min = 1, max = 5))]
    stars: u8,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The first answer has six stars. haft tells the model, which then corrects its answer.
    let model = scripted(
        r#"[{"say": [{"text": "{\"summary\": \"A sturdy pot.\", \"stars\": 6}"}]},
            {"when": {"contains": "does not fit"}, "say": [{"text": "{\"summary\": \"A sturdy pot.\", \"stars\": 5}"}]}]"#,
    )?;
    let agent = Agent::builder(model).build()?;
    let review: Review = agent.prompt("Review the teapot.").answer_as().await?;
    println!("{} {}", "*".repeat(review.stars.into()), review.summary);
    Ok(())
}
