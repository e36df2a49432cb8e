//! The interactive mode: the time from a key press to the screen, and the wake-ups while idle.
//!
//! The program runs in a terminal, with a conversation of 100,000 messages, while the model writes 500 tokens a second.
//! There is no base: a person does not notice less than a frame of the display. The figures include the terminal
//! emulator, which reads all output.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use haft_core::session::Durability;
use haft_core::session::entry::{EntryBody, MessageEntry, ResponseMetadata};
use haft_core::session::store::SessionStore;
use haft_protocol::content::ContentBlock;
use haft_protocol::message::{AssistantBlock, AssistantMessage, Message, Rfc3339Time, StopCause, TokenUsage};
use haft_test_support::pty::{Pty, PtySetup};

use crate::children::find_haft;
use crate::method::EffortLevel;
use crate::model::PacedModel;
use crate::report::{LineGoal, Report, Unit};

const MESSAGES: usize = 100_000;

const TOKENS_PER_SECOND: u32 = 500;

/// The number of key presses, in a full run and in a quick run.
const KEYS: (usize, usize) = (1_000, 200);

/// The number of keys typed before the editor is cleared.
const BURST: usize = 20;

/// The pause between two key presses; it spreads them over all offsets within a frame.
const BETWEEN: [Duration; 5] = [
    Duration::from_millis(13),
    Duration::from_millis(29),
    Duration::from_millis(17),
    Duration::from_millis(41),
    Duration::from_millis(23),
];

/// The search texts, used alternately: one occurs in every message, the other in none, which requires reading all
/// messages.
const SEARCHED: [&str; 2] = ["message", "nowhere"];

/// The time without input while wake-ups are counted.
const IDLE: Duration = Duration::from_secs(10);

/// The duration of a frame on most displays.
const FRAME: LineGoal = LineGoal { goal: 16e-3, gate: 32e-3 };

const WAKES: LineGoal = LineGoal { goal: 2.0, gate: 4.0 };

/// The beginning of the editor's line in this row; the model never writes it.
const MARK: &str = "key";

pub(super) fn measure(report: &mut Report) -> Result<()> {
    let Some(haft) = find_haft()? else {
        report.skip("haft is not built; run `cargo build --release -p haft`");
        return Ok(());
    };
    let dir = tempfile::tempdir().context("create a directory")?;
    let (home, work) = (dir.path().join("home"), dir.path().join("work"));
    std::fs::create_dir_all(&home).and_then(|()| std::fs::create_dir(&work)).context("create a directory")?;
    std::fs::write(home.join("config.toml"), "[compaction]\nauto = false\n").context("write the settings")?;
    long_session(&home, &work)?;
    let model = PacedModel::start(TOKENS_PER_SECOND)?;
    let setup =
        PtySetup::new(&haft).args(["-c", "--provider", "anthropic", "--no-ext"]).cwd(&work).size(120, 40);
    let setup = setup.env("HOME", dir.path()).env("HAFT_HOME", &home).env("ANTHROPIC_API_KEY", "sk-bench");
    let begun = Instant::now();
    let screen = setup.env("ANTHROPIC_BASE_URL", model.base_url()).spawn();
    screen.wait_for(&format!("message {}", MESSAGES - 1));
    report.add_figure("100,000 messages, to screen", Unit::Seconds, begun.elapsed().as_secs_f64(), None);
    measure_idle(report, "idle, wake-ups a second", &screen);
    screen.send("go on\r");
    screen.wait_for("item");
    let keys = if report.effort == EffortLevel::Quick { KEYS.1 } else { KEYS.0 };
    let times = time_key_presses(&screen, keys);
    report.add_figure("key to screen, p50", Unit::Seconds, percentile(&times, 50), None);
    report.add_figure("key to screen, p99", Unit::Seconds, percentile(&times, 99), Some(FRAME));
    report.add_figure("key to screen, slowest", Unit::Seconds, percentile(&times, 100), None);
    let times = time_searches(&screen, keys / 10);
    report.add_figure("search key to screen, p99", Unit::Seconds, percentile(&times, 99), Some(FRAME));
    model.stop();
    screen.wait_gone("esc to stop");
    measure_idle(report, "idle after it, wake-ups/s", &screen);
    screen.send("\x11");
    let ended = screen.wait_for_end();
    ensure!(ended.code == 0, "haft ended with {ended:?}");
    Ok(())
}

/// Writes a conversation that haft resumes in the work directory.
fn long_session(home: &Path, work: &Path) -> Result<()> {
    let session = SessionStore::new(home.join("sessions")).create(work);
    let time = || Rfc3339Time("2026-01-02T03:04:05.678Z".to_owned());
    for number in 0..MESSAGES {
        let text = format!("message {number}");
        let said = if number % 2 == 0 {
            EntryBody::from(Message::User { content: vec![ContentBlock::text(text)], time: time() })
        } else {
            let content = vec![AssistantBlock::Text { text }];
            let message = Message::Assistant(AssistantMessage::new(content, time()));
            let answer = ResponseMetadata::new(
                "anthropic".to_owned(),
                "bench".to_owned(),
                StopCause::End,
                TokenUsage::default(),
            );
            EntryBody::MessageEntry(MessageEntry::new(message).with_answer(answer))
        };
        drop(session.append(said, Durability::Soon));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(session.flush())?;
    Ok(())
}

/// Counts the wake-ups of the program while it is idle.
fn measure_idle(report: &mut Report, what: &str, screen: &Pty) {
    // Work that has already started must finish first.
    screen.printed_within(Duration::from_secs(1));
    let Some(wakes) = screen.wake_ups_within(IDLE) else { return };
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let wakes = wakes as f64 / IDLE.as_secs_f64();
    report.add_figure(what, Unit::Count, wakes, Some(WAKES));
}

/// Presses keys and returns for each the seconds until it appeared on the screen.
fn time_key_presses(screen: &Pty, keys: usize) -> Vec<f64> {
    let mut times = Vec::with_capacity(keys);
    let mut typed = String::new();
    for (number, pause) in (0..keys).zip(BETWEEN.into_iter().cycle()) {
        if number % BURST == 0 {
            screen.press(&["ctrl+u"]);
            screen.send(MARK);
            screen.wait_for(MARK);
            MARK.clone_into(&mut typed);
        }
        screen.printed_within(pause);
        let key = char::from(b'a' + u8::try_from(number % 26).unwrap_or_default());
        typed.push(key);
        let start = Instant::now();
        screen.send(key.to_string());
        screen.wait_for(&typed);
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    times
}

/// Returns the percentile of sorted times.
fn percentile(times: &[f64], percent: usize) -> f64 {
    times.get(times.len().saturating_sub(1) * percent / 100).copied().unwrap_or(f64::NAN)
}

/// Searches the conversation and returns for each key the seconds until it appeared on the screen.
fn time_searches(screen: &Pty, keys: usize) -> Vec<f64> {
    let mut times = Vec::with_capacity(keys);
    screen.press(&["ctrl+u"]);
    for word in SEARCHED.into_iter().cycle() {
        screen.press(&["ctrl+s"]);
        screen.wait_for("search:");
        let mut typed = "search: ".to_owned();
        for (key, pause) in word.chars().zip(BETWEEN.into_iter().cycle()) {
            screen.printed_within(pause);
            typed.push(key);
            let start = Instant::now();
            screen.send(key.to_string());
            screen.wait_for(&typed);
            times.push(start.elapsed().as_secs_f64());
        }
        screen.press(&["esc"]);
        screen.wait_gone("search:");
        if times.len() >= keys {
            break;
        }
    }
    times.sort_by(f64::total_cmp);
    times
}
