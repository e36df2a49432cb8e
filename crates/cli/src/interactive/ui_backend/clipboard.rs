//! The clipboard of the desktop, read with the programs of the system.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use super::UiContext;
use crate::timeouts::CLIPBOARD;
use crate::token::VARIABLES as TOKEN_VARIABLES;

/// The most bytes of a text or of an encoded image.
const MAX_CONTENT: u64 = 32 * 1024 * 1024;

/// The first bytes of a PNG file.
const PNG_START: &[u8] = b"\x89PNG";

const NO_PROGRAM: &str = "cannot read the clipboard: no program for it works here; paste with the terminal, often with \
                          ctrl+shift+v, or install wl-clipboard (Wayland) or xclip (X11)";

/// The commands that print a clipboard.
struct ClipboardCommands {
    text: &'static [&'static str],
    image: &'static [&'static str],
    image_form: ImageForm,
}

/// The form in which a command prints an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ImageForm {
    Png,
    Base64,
    /// The value of AppleScript: `«data PNGf89504E47…»`.
    AppleScript,
}

const WAYLAND: ClipboardCommands = ClipboardCommands {
    text: &["wl-paste", "--no-newline", "--type", "text/plain"],
    image: &["wl-paste", "--type", "image/png"],
    image_form: ImageForm::Png,
};

const X11: ClipboardCommands = ClipboardCommands {
    text: &["xclip", "-selection", "clipboard", "-o"],
    image: &["xclip", "-selection", "clipboard", "-t", "image/png", "-o"],
    image_form: ImageForm::Png,
};

const MACOS: ClipboardCommands = ClipboardCommands {
    text: &["pbpaste"],
    image: &["osascript", "-e", "the clipboard as «class PNGf»"],
    image_form: ImageForm::AppleScript,
};

const WINDOWS: ClipboardCommands = ClipboardCommands {
    text: &[
        "powershell.exe",
        "-NoProfile",
        "-Command",
        "[Console]::OutputEncoding = [Text.Encoding]::UTF8; [Console]::Out.Write((Get-Clipboard -Raw))",
    ],
    image: &[
        "powershell.exe",
        "-NoProfile",
        "-Sta",
        "-Command",
        "Add-Type -AssemblyName System.Windows.Forms; \
         $image = [Windows.Forms.Clipboard]::GetImage(); \
         if ($image) { $png = New-Object IO.MemoryStream; \
         $image.Save($png, [Drawing.Imaging.ImageFormat]::Png); [Convert]::ToBase64String($png.ToArray()) }",
    ],
    image_form: ImageForm::Base64,
};

/// Returns the commands for the desktop of this environment, the likeliest first.
fn find_commands(variable: impl Fn(&str) -> bool) -> Vec<&'static ClipboardCommands> {
    // Over ssh, the desktop is on another machine.
    if variable("SSH_CONNECTION") {
        return Vec::new();
    }
    if cfg!(target_os = "macos") {
        return vec![&MACOS];
    }
    if cfg!(windows) {
        return vec![&WINDOWS];
    }
    let desktops =
        [("WAYLAND_DISPLAY", &WAYLAND), ("DISPLAY", &X11), ("WSL_DISTRO_NAME", &WINDOWS)].into_iter();
    desktops.filter(|(name, _)| variable(name)).map(|(_, commands)| commands).collect()
}

/// Returns the text of the clipboard, or the path of a new file with its image.
///
/// # Errors
/// The clipboard is empty, or no program can read it.
pub(super) async fn read_clipboard(context: &UiContext) -> anyhow::Result<String> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let mut worked = false;
    for commands in find_commands(is_set) {
        if let Some(text) = print_clipboard(commands.text).await {
            worked = true;
            let text = String::from_utf8_lossy(&text);
            if !text.trim_end_matches(['\r', '\n']).is_empty() {
                return Ok(text.into_owned());
            }
        }
        let image = print_clipboard(commands.image).await;
        if let Some(image) = image.and_then(|printed| decode_image(&printed, commands.image_form)) {
            return save_image(&context.home.results_dir(), &image);
        }
    }
    bail!(if worked { "the clipboard has neither a text nor an image" } else { NO_PROGRAM })
}

/// Runs a command and returns its output; `None` if it fails, is too slow or prints too much.
#[expect(clippy::disallowed_methods, reason = "a program of the system, which is killed when it is too slow")]
async fn print_clipboard(command: &[&str]) -> Option<Vec<u8>> {
    let (program, args) = command.split_first()?;
    let mut command = Command::new(program);
    TOKEN_VARIABLES.iter().for_each(|name| _ = command.env_remove(name));
    let mut child = command
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .ok()?;
    let mut output = Vec::new();
    let stdout = child.stdout.take()?;
    let ended = async {
        let read = stdout.take(MAX_CONTENT + 1).read_to_end(&mut output).await;
        (read, child.wait().await)
    };
    let (read, status) = timeout(CLIPBOARD, ended).await.ok()?;
    let fits = read.ok()? as u64 <= MAX_CONTENT;
    (fits && status.ok()?.success()).then_some(output)
}

/// Returns the bytes of a PNG file; `None` if a command printed something else.
fn decode_image(printed: &[u8], form: ImageForm) -> Option<Vec<u8>> {
    let image = match form {
        ImageForm::Png => printed.to_vec(),
        ImageForm::Base64 => BASE64.decode(printed.trim_ascii()).ok()?,
        ImageForm::AppleScript => {
            let text = std::str::from_utf8(printed).ok()?.trim();
            decode_hex(text.strip_prefix("«data PNGf")?.strip_suffix('»')?)?
        }
    };
    image.starts_with(PNG_START).then_some(image)
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

/// Writes an image beside the long results of tools, which a later run removes after a week.
fn save_image(dir: &Path, image: &[u8]) -> anyhow::Result<String> {
    let write = || {
        fs::create_dir_all(dir)?;
        let mut file = tempfile::Builder::new().prefix("haft-clipboard-").suffix(".png").tempfile_in(dir)?;
        file.write_all(image)?;
        file.keep().map_err(|error| error.error)
    };
    let (_, path) = write().with_context(|| format!("cannot save the image in {}", dir.display()))?;
    Ok(path.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

    #[test]
    fn chooses_programs_of_the_desktop() {
        let programs = |set: &[&str]| -> Vec<&str> {
            let found = find_commands(|name| set.contains(&name));
            found.iter().filter_map(|commands| commands.text.first().copied()).collect()
        };
        if cfg!(target_os = "linux") {
            assert_eq!(programs(&["DISPLAY", "WAYLAND_DISPLAY"]), ["wl-paste", "xclip"]);
            assert_eq!(programs(&["WSL_DISTRO_NAME"]), ["powershell.exe"]);
            assert_eq!(programs(&[]), [""; 0]);
            assert_eq!(programs(&["SSH_CONNECTION", "DISPLAY"]), [""; 0], "the desktop is elsewhere");
        }
    }

    #[test]
    fn decodes_each_form_of_an_image() {
        let read = |printed: &[u8], form| decode_image(printed, form);
        assert_eq!(read(PNG, ImageForm::Png).as_deref(), Some(PNG));
        assert_eq!(read(b"iVBORw0KGgo=\r\n", ImageForm::Base64).as_deref(), Some(PNG));
        let script = "«data PNGf89504E470D0A1A0A»\n".as_bytes();
        assert_eq!(read(script, ImageForm::AppleScript).as_deref(), Some(PNG));
        for (printed, form) in [
            (&b"no image"[..], ImageForm::Png),
            (b"", ImageForm::Base64),
            (b"bm8gaW1hZ2U=", ImageForm::Base64),
            ("«data PNGf8»".as_bytes(), ImageForm::AppleScript),
            ("«data PNGfé0»".as_bytes(), ImageForm::AppleScript),
        ] {
            assert_eq!(read(printed, form), None, "{form:?}");
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn returns_output_only_of_a_command_that_succeeds() {
        assert_eq!(print_clipboard(&["printf", "a text"]).await.as_deref(), Some(&b"a text"[..]));
        assert_eq!(print_clipboard(&["sh", "-c", "printf half; exit 1"]).await, None);
        assert_eq!(print_clipboard(&["haft-has-no-such-program"]).await, None);
        assert_eq!(print_clipboard(&["head", "-c", "40000000", "/dev/zero"]).await, None);
    }
}
