//! All paths on which external text reaches the screen of the interactive mode and its terminal.
//!
//! A [`ScreenScene`] is the whole interface with something open, and has sinks: paths for texts into the interface. One
//! frame takes random texts for each sink, is drawn, and passes through the program's own painter. Then no cell may
//! contain terminal commands, and the bytes may contain only the painter's own commands. The same is checked for
//! terminals with images, for the inline mode, and for line output, which has no commands at all. Harmless words, which
//! must be readable on the screen, prove that every sink reaches the screen.

mod around;
mod dialogs;
mod inline;
mod lists;
mod painting;
mod pictures;
mod printed;
mod stage;
mod transcript;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, bail};
use haft_test_support::terminal::{ATTACKS, HostileTexts, OutputKind, forbidden_actions};
use haft_tui::terminal::output::{InlineViewport, ScreenPainter};
use haft_tui::theme::ColorDepth;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use painting::{RenderTarget, hostile_cell};
use stage::HeadlessInterface;

/// The number of frames on one stage; a stage keeps its texts, like a session.
const FRAMES: u64 = 100;

/// The number of frames that a thread takes at a time.
const CHUNK: u64 = 1_000;

/// A path for texts into the interface.
struct ScreenSink {
    what: &'static str,
    /// The number of texts for a frame.
    texts: usize,
    /// Passes the texts to the interface.
    put: fn(&mut HeadlessInterface, &[String]) -> Result<()>,
}

const fn sink(
    what: &'static str,
    texts: usize,
    put: fn(&mut HeadlessInterface, &[String]) -> Result<()>,
) -> ScreenSink {
    ScreenSink { what, texts, put }
}

/// The interface with something open.
#[derive(Clone, Copy)]
struct ScreenScene {
    what: &'static str,
    place: RenderTarget,
    size: (u16, u16),
    sinks: &'static [ScreenSink],
    /// The action before the frame is drawn.
    then: fn(&mut HeadlessInterface) -> Result<()>,
}

const fn scene(what: &'static str, size: (u16, u16), sinks: &'static [ScreenSink]) -> ScreenScene {
    ScreenScene { what, place: RenderTarget::Screen, size, sinks, then: |_| Ok(()) }
}

fn all_scenes() -> Vec<ScreenScene> {
    let drawn = [around::SCENES, transcript::SCENES, dialogs::SCENES, lists::SCENES].concat();
    let (inline, printed) = (inline::scenes(&drawn), printed::scenes(&drawn));
    [drawn, inline, printed, pictures::scenes()].concat()
}

/// The findings.
#[derive(Debug, Default)]
pub(super) struct ScreenReport {
    pub(super) sinks: usize,
    pub(super) frames: u64,
    pub(super) texts: u64,
    /// The number of failing frames, or of single texts if one text is the cause.
    pub(super) failures: u64,
    /// The first few findings.
    pub(super) broken: Vec<String>,
}

/// The largest number of findings in a report.
const QUOTED: usize = 10;

impl ScreenReport {
    fn add(&mut self, other: Self) {
        self.frames += other.frames;
        self.texts += other.texts;
        self.failures += other.failures;
        self.broken.extend(other.broken);
        self.broken.truncate(QUOTED);
    }
}

impl fmt::Display for ScreenReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.failures)?;
        self.broken.iter().try_for_each(|broken| write!(f, "\n       {broken}"))
    }
}

/// Sends the listed texts, and `each` random ones, through every sink.
pub(super) fn survey(each: u64, seed: u64) -> Result<ScreenReport> {
    let scenes = all_scenes();
    let mut jobs = Vec::new();
    for (number, scene) in (0..).zip(&scenes) {
        let least = scene.sinks.iter().map(|sink| sink.texts).min().context("a scene has sinks")?;
        let frames = each.div_ceil(u64::try_from(least)?);
        for (chunk, from) in (0..).zip((0..frames).step_by(usize::try_from(CHUNK)?)) {
            let seed = seed ^ (number << 48) ^ (chunk << 16);
            jobs.push((*scene, seed, CHUNK.min(frames - from), chunk == 0));
        }
    }
    let next = AtomicUsize::new(0);
    let work = || -> Result<ScreenReport> {
        let mut report = ScreenReport::default();
        while let Some((scene, seed, frames, first)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let found = scene.survey(*seed, *frames, *first);
            report.add(found.with_context(|| format!("play {}", scene.what))?);
        }
        Ok(report)
    };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let reports: Vec<Result<ScreenReport>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let panicked = |_| Err(anyhow::anyhow!("a thread panicked"));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect()
    });
    let mut all =
        ScreenReport { sinks: scenes.iter().map(|scene| scene.sinks.len()).sum(), ..ScreenReport::default() };
    for report in reports {
        all.add(report?);
    }
    Ok(all)
}

/// A sink and its texts for a frame.
type SinkTexts<'s> = (&'s ScreenSink, Vec<String>);

impl ScreenScene {
    fn survey(&self, seed: u64, frames: u64, listed: bool) -> Result<ScreenReport> {
        let mut report = ScreenReport::default();
        let mut hostile = HostileTexts::new(seed);
        let mut attacks = ATTACKS.iter().map(|(_, attack)| (*attack).to_owned()).collect::<Vec<_>>();
        if !listed {
            attacks.clear();
        }
        let most = self.sinks.iter().map(|sink| sink.texts).max().unwrap_or(1).max(1);
        let first =
            attacks.chunks(most).map(|texts| self.assign_texts(|at| texts.get(at % texts.len()).cloned()));
        let first: Vec<_> = first.collect();
        let mut first = first.into_iter();
        let mut size = self.size;
        let mut stage = HeadlessInterface::new(self.place, size, false)?;
        for frame in 0.. {
            if frame >= frames && first.len() == 0 {
                break;
            }
            if frame % FRAMES == FRAMES - 1 {
                size = self.size_of(frame / FRAMES);
                stage = HeadlessInterface::new(self.place, size, false)?;
            }
            let given = first.next().unwrap_or_else(|| self.assign_texts(|_| Some(hostile.next_lossy())));
            report.frames += 1;
            report.texts += u64::try_from(given.iter().map(|(_, texts)| texts.len()).sum::<usize>())?;
            let found = self.play_frame(&mut stage, &given)?;
            if !found.is_empty() {
                self.find_culprit(size, &given, &found, &mut report)?;
                stage = HeadlessInterface::new(self.place, size, false)?;
            }
        }
        Ok(report)
    }

    /// Returns the size of a stage; some stages are too small for the whole interface.
    fn size_of(&self, stage: u64) -> (u16, u16) {
        let (columns, rows) = self.size;
        match stage % 8 {
            2 | 6 => (columns / 2, rows / 2),
            4 => (20, 6),
            _ => self.size,
        }
    }

    fn assign_texts(&self, mut next: impl FnMut(usize) -> Option<String>) -> Vec<SinkTexts<'_>> {
        let texts = |sink: &ScreenSink| (0..sink.texts).map(|at| next(at).unwrap_or_default()).collect();
        let mut texts = texts;
        self.sinks.iter().map(|sink| (sink, texts(sink))).collect()
    }

    /// Draws one frame and returns its defects.
    fn play_frame(&self, stage: &mut HeadlessInterface, given: &[SinkTexts<'_>]) -> Result<Vec<String>> {
        for (sink, texts) in given {
            (sink.put)(stage, texts).with_context(|| format!("{}: {texts:?}", sink.what))?;
        }
        (self.then)(stage)?;
        stage.draw();
        Ok(stage.take_found())
    }

    /// Finds the text that causes the failure, each alone on a new stage, or reports all of them.
    fn find_culprit(
        &self,
        size: (u16, u16),
        given: &[SinkTexts<'_>],
        found: &[String],
        report: &mut ScreenReport,
    ) -> Result<()> {
        let before = report.failures;
        for (sink, texts) in given {
            for (at, text) in texts.iter().enumerate() {
                let mut alone = vec![String::new(); texts.len()];
                alone[at].clone_from(text);
                let found =
                    self.play_frame(&mut HeadlessInterface::new(self.place, size, false)?, &[(sink, alone)])?;
                if !found.is_empty() {
                    report.failures += 1;
                    report.broken.push(format!(
                        "{}, {}: {text:?}: {}",
                        self.what,
                        sink.what,
                        found.join(", ")
                    ));
                }
            }
        }
        if report.failures == before {
            report.failures += 1;
            let texts: Vec<_> = given.iter().map(|(sink, texts)| (sink.what, texts)).collect();
            report.broken.push(format!("{}, together: {texts:?}: {}", self.what, found.join(", ")));
        }
        report.broken.truncate(QUOTED);
        Ok(())
    }

    /// Returns the sinks that lead to no visible text: harmless words must be readable where they lead.
    fn find_unseen_sinks(&self) -> Result<Vec<String>> {
        let mut stage = HeadlessInterface::new(self.place, self.size, true)?;
        let mut number = 0;
        let given = self.assign_texts(|_| {
            number += 1;
            Some(format!("q{number:02}z"))
        });
        let found = self.play_frame(&mut stage, &given)?;
        if !found.is_empty() {
            bail!("{} has defects with harmless texts: {}", self.what, found.join(", "));
        }
        let shown = stage.drawn.clone() + &stage.take_said();
        let shown = shown.to_lowercase();
        let mut unseen: Vec<_> = pictures::missing_image(self, &shown).into_iter().collect();
        for (sink, texts) in &given {
            let missing: Vec<_> = texts.iter().filter(|text| !shown.contains(text.as_str())).collect();
            if !missing.is_empty() {
                unseen.push(format!("{}, {}: {missing:?} in\n{}", self.what, sink.what, stage.drawn));
            }
        }
        Ok(unseen)
    }
}

/// Returns the sinks whose texts do not reach the screen, and which would prove nothing.
pub(super) fn unseen_sinks() -> Result<Vec<String>> {
    let unseen: Result<Vec<_>> = all_scenes().iter().map(ScreenScene::find_unseen_sinks).collect();
    Ok(unseen?.concat())
}

/// Counts the unsanitized texts that the oracles find in a cell, in the output for a screen, and in the output for the
/// inline mode.
pub(super) fn count_control_findings(texts: u64, seed: u64) -> [u64; 3] {
    const PLACE: &str = "PLACE";
    let area = Rect::new(0, 0, 60, 8);
    let (mut hostile, mut found) = (HostileTexts::new(seed), [0; 3]);
    let place = |buffer: &mut Buffer| {
        buffer.set_string(0, 0, PLACE, ratatui_core::style::Style::new());
        None
    };
    for _ in 0..texts {
        let text = hostile.next_lossy();
        let mut raw = Buffer::empty(area);
        if let Some(cell) = raw.cell_mut((0, 1)) {
            cell.set_symbol(&text);
        }
        // The painter never gets such a cell, so the text is inserted into its bytes.
        let frame =
            ScreenPainter::default().render_frame(area, |_, buffer| place(buffer)).replace(PLACE, &text);
        let size = (area.width, area.height);
        let strip =
            InlineViewport::default().render_frame(size, &[], ColorDepth::True, |_, buffer| place(buffer));
        let strip = strip.replace(PLACE, &text);
        let whole = OutputKind::Frame(size.0, size.1);
        let below = OutputKind::Inline { columns: size.0, rows: size.1, before: size.1 };
        let oversteps = |bytes: &str, written| !forbidden_actions(bytes.as_bytes(), written).is_empty();
        let all = [hostile_cell(&raw).is_some(), oversteps(&frame, whole), oversteps(&strip, below)];
        found.iter_mut().zip(all).for_each(|(found, is)| *found += u64::from(is));
    }
    found
}
