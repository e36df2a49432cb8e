//! Creates the pictures of `docs/screens`: tests write the screens as HTML pages, and a browser renders them.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::{ci, repo};

/// Browsers that render pages; the first installed one is used.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// The size of the browser window in pixels, large enough for the screens of the tests.
const WINDOW: &str = "--window-size=859,496";

/// Creates all pictures.
pub(crate) fn run() -> Result<()> {
    let browser = find_browser()?;
    let pages = repo::target_dir()?.join("screens");
    if pages.exists() {
        fs::remove_dir_all(&pages).context("remove the old pages")?;
    }
    let filter = "e2e::interactive::screens::";
    let tests = ["nextest", "run", "--package", "haft", "--test", "it", filter];
    ci::finish(repo::cargo().args(tests).env("HAFT_SCREENS", &pages), &tests.join(" "))?;
    let pictures = repo::root().join("docs/screens");
    fs::create_dir_all(&pictures).with_context(|| format!("create {}", pictures.display()))?;
    let mut taken = 0;
    for page in fs::read_dir(&pages).context("read the pages")? {
        let page = page.context("read the pages")?.path();
        let name = page.file_stem().unwrap_or(OsStr::new("screen"));
        take_screenshot(browser, &page, &pictures.join(name).with_extension("png"))?;
        taken += 1;
    }
    println!("{taken} pictures in docs/screens; review each of them before a commit");
    Ok(())
}

fn find_browser() -> Result<&'static str> {
    let is_there = |name: &&&str| repo::command(name).arg("--version").output().is_ok();
    match BROWSERS.iter().find(is_there) {
        Some(name) => Ok(name),
        None => bail!("no supported browser is installed; install chromium"),
    }
}

fn take_screenshot(browser: &str, page: &Path, to: &Path) -> Result<()> {
    let output = repo::command(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--hide-scrollbars",
            "--disable-gpu",
            "--disable-lcd-text",
            WINDOW,
        ])
        .arg(format!("--screenshot={}", to.display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .with_context(|| format!("start {browser}"))?;
    if !output.status.success() || !to.is_file() {
        bail!(
            "{browser} created no picture of {}: {}",
            page.display(),
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(())
}
